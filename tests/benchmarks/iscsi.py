"""bench iscsi: random 4 KiB reads of a LUN of tgt, by Lockstep's iscsi engine and by iscsi-perf,
which uses the same library; alternated, on the same LUN.

The I/Os per second must be at least those of iscsi-perf, and the processor's time per I/O less, at
32 and at 128 in flight. Medians of the rounds' ratios count. The target takes the same processors,
so that both are bound by it. iscsi-perf keeps no latencies; Lockstep records every one.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration"))
sys.path.insert(0, HERE)
from fleet import Fleet  # noqa: E402
from machine import write_random  # noqa: E402
from san import Tgt  # noqa: E402
from verdict import say  # noqa: E402

SIZE = 64 << 20


def run_perf(url, depth, seconds):
    """IOPS and the processor's nanoseconds per I/O of iscsi-perf."""
    before = os.times()
    done = subprocess.run(
        ["iscsi-perf", "-r", "-m", str(depth), "-b", "8", "-t", str(seconds), url],
        capture_output=True,
        text=True,
        check=False,
    )
    after = os.times()
    text = done.stdout + done.stderr
    averages = re.findall(r"iops average (\d+)", text)
    if not averages:
        raise RuntimeError(f"iscsi-perf: {text}")
    iops = float(averages[-1])
    spent = after.children_user + after.children_system
    spent -= before.children_user + before.children_system
    return iops, spent * 1e9 / (iops * seconds)


def run_ours(fleet, url, depth, seconds):
    job = (
        f"name: bench\ntargets: [{{name: lun, iscsi: {{url: '{url}'}}}}]\nphases:\n"
        f"  - {{name: load, run: {{duration: {seconds}s, workloads: "
        f"[{{block_size: 4KiB, queue_depth: {depth}}}]}}}}\n"
    )
    done = fleet.run_job(job, "--format", "json")
    if done.status != 0:
        raise RuntimeError(str(done))
    phase = done.json()["phases"][0]
    total = phase["total"]
    cpu = phase["workerCpuUserNsPerIo"] + phase["workerCpuSystemNsPerIo"]
    p99 = next(p["latencyNs"] for p in total["percentiles"] if p["percent"] == 99)
    return total["iops"], cpu, p99


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    options = parser.parse_args()
    targets = []
    print(
        "4 KiB random reads      IOPS ours  iscsi-perf   ratio   ns CPU per I/O ours  iscsi-perf"
        "   p99 us"
    )
    with Tgt(luns=1, size=SIZE) as tgt, Fleet(1, allow=[tgt.url(1)]) as fleet:
        write_random(tgt.image(1), SIZE, "r+b")
        for depth in (32, 128):
            rounds = []
            for number in range(options.rounds):
                pair = [None, None]
                for side in (0, 1) if number % 2 == 0 else (1, 0):
                    pair[side] = (
                        run_ours(fleet, tgt.url(1), depth, options.seconds)
                        if side == 0
                        else run_perf(tgt.url(1), depth, options.seconds)
                    )
                rounds.append(pair)
            median = statistics.median
            ratio = median(ours[0] / perf[0] for ours, perf in rounds)
            cheaper = median(ours[1] / perf[1] for ours, perf in rounds)
            print(
                f"{depth:>4} in flight          {median(o[0] for o, _ in rounds):>10.0f}"
                f"{median(p[0] for _, p in rounds):>12.0f}{ratio:>8.2f}"
                f"{median(o[1] for o, _ in rounds):>22.0f}{median(p[1] for _, p in rounds):>12.0f}"
                f"{median(o[2] for o, _ in rounds) / 1000:>9.0f}"
            )
            targets.append((f"{depth} in flight: {ratio:.2f} x the IOPS of iscsi-perf", ratio >= 1))
            words = f"{depth} in flight: {cheaper:.2f} x its processor time per I/O"
            targets.append((words, cheaper < 1))
    return say("iscsi", targets)


if __name__ == "__main__":
    sys.exit(main())
