"""bench agree: the same I/O with Lockstep and with fio, alternated, on the same file: are the
figures the same?

Where the device is the limit the IOPS must lie within 10 % of fio's; where the processor is (fio's
thread is busy for more than 85 % of the time), at least 0.9 times. /proc/diskstats must show the
same I/O for both. Medians of the rounds' ratios count. fio submits in batches of 8 as Lockstep does
with direct I/O: the block layer merges neighbours within a batch, so that another batch is another
I/O.
"""

import argparse
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration"))
sys.path.insert(0, HERE)
from fleet import Fleet  # noqa: E402
from machine import MIB, read_through, write_random  # noqa: E402


def disk_of(path):
    """The name in /proc/diskstats of the disk underneath; None where there is none."""
    number = os.stat(path).st_dev
    link = f"/sys/dev/block/{os.major(number)}:{os.minor(number)}"
    if not os.path.exists(link):
        return None
    real = os.path.realpath(link)
    if os.path.exists(real + "/partition"):
        real = os.path.dirname(real)
    return os.path.basename(real)


def disk_bytes(disk, kind):
    with open("/proc/diskstats", encoding="ascii") as text:
        for line in text:
            words = line.split()
            if words[2] == disk:
                return int(words[5 if kind == "read" else 9]) * 512
    return 0


class Case:
    def __init__(self, direct, size, order, kind, depth):
        self.direct, self.size, self.order, self.kind, self.depth = direct, size, order, kind, depth

    def __str__(self):
        return (
            f"{'direct' if self.direct else 'buffered'} {self.size // 1024:>4}k "
            f"{self.order:<10} {self.kind:<5} depth {self.depth:<2}"
        )


def run_fio(case, path, seconds):
    mode = ("rand" if case.order == "random" else "") + case.kind
    done = subprocess.run(
        [
            "fio",
            "--name=agree",
            f"--filename={path}",
            "--ioengine=io_uring",
            f"--direct={int(case.direct)}",
            f"--rw={mode}",
            f"--bs={case.size}",
            f"--iodepth={case.depth}",
            *(
                [
                    "--iodepth_batch_submit=8",
                    "--iodepth_batch_complete_min=1",
                    f"--iodepth_batch_complete_max={case.depth}",
                ]
                if case.depth > 1
                else []
            ),
            f"--runtime={seconds}",
            "--time_based",
            "--norandommap",
            "--randrepeat=0",
            "--output-format=json",
            "--fallocate=none",
            "--invalidate=0",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    job = json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]
    return (
        job[case.kind]["iops"],
        job[case.kind]["io_bytes"],
        (job["usr_cpu"] + job["sys_cpu"]) / 100,
    )


def run_lockstep(fleet, case, path, seconds):
    job = f"""name: agree
expendable: ["{path}"]
targets:
  - {{name: file, file: {{path: "{path}", size: {os.path.getsize(path)}}}, sharing: overlapped}}
phases:
  - run:
      duration: {int(seconds * 1000)}ms
      workloads:
        - block_size: {case.size}
          pattern: {case.order}
          read: {100 if case.kind == 'read' else 0}%
          queue_depth: {case.depth}
          direct: {str(case.direct).lower()}
"""
    done = fleet.run_job(job, "--format", "json")
    if done.status != 0:
        raise RuntimeError(str(done))
    phase = done.json()["phases"][0]
    total = sum(
        int(row[0])
        for row in fleet.sql("SELECT bytes FROM interval_operations WHERE run_id = last_run()")
    )
    return phase["total"]["iops"], total


def measured(disk, kind, body):
    """Returns the result of `body`, and the bytes that the disk moved during that time."""
    before = disk_bytes(disk, kind)
    result = body()
    return result, disk_bytes(disk, kind) - before


def settle():
    os.sync()


def bench_case(fleet, case, path, disk, options):
    ratios, ours_all, fio_all, busy_all, same = [], [], [], [], True
    for number in range(options.rounds):

        def fio():
            settle()
            (iops, moved, busy), device = measured(
                disk, case.kind, lambda: run_fio(case, path, options.seconds)
            )
            return iops, moved, device, busy

        def ours():
            settle()
            (iops, moved), device = measured(
                disk, case.kind, lambda: run_lockstep(fleet, case, path, options.seconds)
            )
            return iops, moved, device

        # The order changes from round to round, so that a drift of the machine favours nobody.
        if number % 2 == 0:
            f, o = fio(), ours()
        else:
            o, f = ours(), fio()
        ratios.append(o[0] / f[0])
        ours_all.append(o[0])
        fio_all.append(f[0])
        busy_all.append(f[3])
        # Buffered writes reach the device when the kernel likes; all else must be the same I/O.
        for _, moved, device in (o[:3], f[:3]):
            if case.direct:
                same = same and abs(device - moved) <= 0.02 * moved + (8 << 20)
            elif case.kind == "read":
                same = same and device <= 0.01 * moved + (8 << 20)
    ratio, busy = statistics.median(ratios), statistics.median(busy_all)
    cpu_bound = busy > 0.85
    met = same and (ratio >= 0.9 if cpu_bound else 0.9 <= ratio <= 1.1)
    print(
        f"{case}  {statistics.median(fio_all):>9.0f}  {statistics.median(ours_all):>9.0f}  "
        f"{ratio:5.2f} ({min(ratios):.2f}–{max(ratios):.2f})  "
        f"{'cpu' if cpu_bound else 'device':<6}  {'same' if same else 'DIFFERS':<7}  "
        f"{'met' if met else 'NOT MET'}",
        flush=True,
    )
    return met


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--only", default="", help="only cases whose text contains this")
    parser.add_argument("--directory", default="/tmp", help="where the file lies")
    options = parser.parse_args()
    work = tempfile.mkdtemp(prefix="ls-agree", dir=options.directory)
    met = total = 0
    try:
        disk = disk_of(work)
        path = os.path.join(work, "file")
        write_random(path, 512 * MIB)
        print(
            f"file of 512 MiB on {disk}; {options.rounds} alternated rounds of "
            f"{options.seconds} s; fio and Lockstep with io_uring, one thread"
        )
        print(f"{'':<41}  {'fio IOPS':>9}  {'ours':>9}  ratio (range)       limit   I/O")
        with Fleet(1, allow=[work], worker_flags=["--allow-expendable", path]) as fleet:
            # Once of each, unmeasured: the programs themselves are read from the disk the first
            # time.
            warm_up = Case(True, 4096, "random", "read", 1)
            run_fio(warm_up, path, 0.5)
            run_lockstep(fleet, warm_up, path, 0.5)
            for direct, size, order, kind, depth in itertools.product(
                (True, False), (4096, 1 << 20), ("random", "sequential"), ("read", "write"), (1, 32)
            ):
                case = Case(direct, size, order, kind, depth)
                if options.only not in " ".join(str(case).split()):
                    continue
                if not direct and kind == "read":
                    read_through(path)
                total += 1
                met += bench_case(fleet, case, path, disk, options)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(f"bench agree: {met} of {total} targets met")
    return 0 if met == total and total > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
