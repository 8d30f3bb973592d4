"""bench honest: what one host wrote, another one reads and verifies; an honest storage gives no
finding, whatever the number of blocks.

Two workers share a file in memory, in blocks of 512 bytes. First each reads, again and again, the
part that the other one wrote; then both read while one of them writes.
"""

import argparse
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration"))
sys.path.insert(0, HERE)
from fleet import Fleet  # noqa: E402
from verdict import say  # noqa: E402

SIZE = 1 << 30
BLOCK = 512

JOB = """name: honest
hosts: {{count: 2}}
targets: [{{name: d, file: {{path: '{path}', size: {size}}}, sharing: {sharing}}}]
phases:
  - prepare:
{phases}  - cleanup:
"""

BESIDE = """  - name: load
    run:
      duration: {seconds}s
      workloads:
        - {{name: writer, block_size: 512, read: 0%, direct: false, verify: true,
           hosts: {{count: 1}}}}
        - {{name: readers, block_size: 512, direct: false, threads: 2, verify: true}}
"""


def ring(blocks):
    rounds = max(1, -(-blocks // (SIZE // BLOCK)))
    write = "  - precondition: {block_size: 512, verify: true, random: true, direct: false}\n"
    read = "  - {{name: ring{}, verify: {{block_size: 512, readers: ring, direct: false}}}}\n"
    return write + "".join(read.format(i) for i in range(rounds))


def found_by(fleet, sharing, phases, limit):
    """Blocks that were checked, those that could not be, and mismatches, over the whole run."""
    path = f"/dev/shm/lockstep-honest-{os.getpid()}"
    job = JOB.format(path=path, size=SIZE, sharing=sharing, phases=phases)
    done = fleet.run_job(job, "--format", "json", timeout=limit)
    if done.status not in (0, 4):
        raise RuntimeError(str(done))
    checked = unchecked = mismatches = 0
    for phase in done.json()["phases"]:
        for workload in phase["workloads"]:
            found = workload.get("verification", {})
            checked += found.get("checked", 0)
            unchecked += found.get("notCheckable", 0)
            mismatches += found.get("mismatches", 0)
    return checked, unchecked, mismatches


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--blocks", type=float, default=1e8, help="read by the other host")
    parser.add_argument("--seconds", type=int, default=120, help="read while one host writes")
    options = parser.parse_args()
    targets = []
    with Fleet(2, allow=["/dev/shm"]) as fleet:
        checked, _, mismatches = found_by(fleet, "sliced", ring(int(options.blocks)), 3600)
        targets.append(
            (
                f"read by the other host: {checked:,.0f} blocks checked, {mismatches} mismatches",
                mismatches == 0 and checked >= options.blocks,
            )
        )
        beside = BESIDE.format(seconds=options.seconds)
        checked, unchecked, mismatches = found_by(fleet, "owned", beside, 3600)
        targets.append(
            (
                f"read while one host writes: {checked:,.0f} blocks checked, {unchecked:,.0f} not "
                f"checkable, {mismatches} mismatches",
                mismatches == 0 and checked > 0,
            )
        )
    return say("honest", targets)


if __name__ == "__main__":
    sys.exit(main())
