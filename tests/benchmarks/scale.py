"""bench scale: what a worker costs the controller, and how many this machine holds. Synthetic
workers (lockstep-worker --simulate), the controller and PostgreSQL share the machine; 1 s
intervals, two histograms each, at 1,000, 10,000 and 50,000 I/Os per second.
"""

import argparse
import contextlib
import os
import re
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration"))
sys.path.insert(0, HERE)
import verdict  # noqa: E402
from fleet import BIN, Fleet, wait_for  # noqa: E402

TICK = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid, with_ended=False):
    """`with_ended`: and of its children that it has waited for."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as text:
        words = text.read().rsplit(")", 1)[1].split()
    return sum(int(word) for word in words[11 : 15 if with_ended else 13]) / TICK


def memory_mib(pid, field="VmRSS"):
    with open(f"/proc/{pid}/status", encoding="ascii") as text:
        return int(re.search(rf"{field}:\s+(\d+)", text.read()).group(1)) / 1024


def postgres_cpu(fleet):
    """Returns the processor time of all its processes, also those that have ended."""
    with open(
        os.path.join(fleet.state, "postgres", "data", "postmaster.pid"), encoding="ascii"
    ) as text:
        postmaster = int(text.readline())
    pids = [postmaster] + [
        int(p)
        for p in subprocess.run(
            ["pgrep", "-P", str(postmaster)], capture_output=True, text=True, check=False
        ).stdout.split()
    ]
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            total += cpu_seconds(pid, with_ended=pid == postmaster)
    return total


JOB = """name: scale
hosts: {{count: {count}}}
targets: [{{name: d, null: {{}}}}]
phases:
  - name: load
    run: {{duration: {seconds}s, workloads: [{{name: mix, block_size: 4KiB, read: 70%}}]}}
"""


class Point:
    """One fleet's run."""

    def __init__(self, count, seconds):
        self.count, self.seconds = count, seconds
        with Fleet(0) as fleet:
            workers = fleet.spawn(
                "synthetic",
                [f"{BIN}/lockstep-worker", "--controller", fleet.address, "--simulate", str(count)],
            )
            wait_for(
                "the workers",
                lambda: f"{count} of {count} synthetic workers are attached"
                in fleet.log("synthetic"),
                120,
            )
            time.sleep(3)
            running = fleet.start_lockstep(
                "run", "-", "--format", "json", stdin=JOB.format(count=count, seconds=seconds)
            )
            reader = threading.Thread(target=running.communicate, daemon=True)
            reader.start()
            wait_for(
                "the load",
                lambda: fleet.sql(
                    "SELECT 1 FROM phases WHERE run_id = last_run() AND state = 'running'"
                ),
                60,
            )
            time.sleep(3)
            behind = []
            began, cpu, store, theirs = (
                time.monotonic(),
                cpu_seconds(fleet.controller.pid),
                postgres_cpu(fleet),
                cpu_seconds(workers.pid),
            )
            while time.monotonic() - began < seconds - 5:
                time.sleep(min(5, max(0.5, seconds / 10)))
                # Intervals that every worker's cursor has passed, against those that are over.
                rows = fleet.sql(
                    "SELECT extract(epoch FROM clock_timestamp() - p.go_at), min(c.sequence) "
                    "FROM phases p JOIN cursors c USING (run_id, phase, attempt) "
                    "WHERE run_id = last_run() GROUP BY 1"
                )
                elapsed, committed = float(rows[0][0]), int(rows[0][1])
                if elapsed < seconds:
                    behind.append(elapsed - committed)
            span = time.monotonic() - began
            self.cpu = (cpu_seconds(fleet.controller.pid) - cpu) / span
            self.store_cpu = (postgres_cpu(fleet) - store) / span
            self.worker_cpu = (cpu_seconds(workers.pid) - theirs) / span
            self.memory = memory_mib(fleet.controller.pid, "VmHWM")
            reader.join(300)
            # An interval ends before it can be late: one second of `behind` is its own length.
            self.late = max(behind) - 1 if behind else float("nan")
            rows = fleet.sql(
                "SELECT count(*), coalesce(min(n), 0), coalesce(max(n), 0) FROM (SELECT "
                "worker_index, count(DISTINCT interval) AS n FROM interval_operations "
                "WHERE run_id = last_run() GROUP BY 1) x"
            )
            self.lost = count * seconds - int(
                fleet.sql(
                    "SELECT count(DISTINCT (worker_index, interval)) FROM interval_operations "
                    "WHERE run_id = last_run()"
                )[0][0]
            )
            self.whole = rows[0] == [str(count), str(seconds), str(seconds)]
            went = re.search(r"go reached all \d+ within ([\d.]+) ms", fleet.log("synthetic"))
            self.go_ms = float(went.group(1)) if went else float("nan")
            self.status = running.returncode

    def holds(self):
        return [
            ("no interval lost", self.whole and self.lost == 0 and self.status == 0),
            ("none late by more than 2 s", self.late <= 2),
            ("go delivered within 500 ms", self.go_ms <= 500),
            ("memory <= 1 GiB", self.memory <= 1024),
            ("CPU <= 1 core", self.cpu <= 1),
        ]

    def row(self):
        missed = [words for words, ok in self.holds() if not ok]
        return (
            f"{self.count:>7} {self.seconds:>8} {self.cpu:>8.3f} "
            f"{1e6 * self.cpu / self.count:>12.0f} {self.memory:>8.0f} "
            f"{self.store_cpu:>10.2f} {self.worker_cpu:>9.2f} "
            f"{self.go_ms:>7.0f} {self.late:>8.2f} {self.lost:>5}  "
            + ("does not: " + ", ".join(missed) if missed else "holds")
        )


def fit(points):
    """Least squares of CPU over workers: slope, intercept and R squared."""
    n = len(points)
    mx, my = sum(p.count for p in points) / n, sum(p.cpu for p in points) / n
    sxx = sum((p.count - mx) ** 2 for p in points)
    slope = sum((p.count - mx) * (p.cpu - my) for p in points) / sxx
    rest = sum((p.cpu - my - slope * (p.count - mx)) ** 2 for p in points)
    whole = sum((p.cpu - my) ** 2 for p in points)
    return slope, my - slope * mx, 1 - rest / whole if whole else 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--seconds", type=int, default=600, help="of the run of 2,000 workers that must hold"
    )
    parser.add_argument("--short", type=int, default=30, help="seconds of the others")
    parser.add_argument("--counts", type=int, nargs="*", default=[100, 500, 1000, 2000])
    parser.add_argument(
        "--no-search", action="store_true", help="do not look for the largest fleet"
    )
    flags = parser.parse_args()
    if len(set(flags.counts)) < 2:
        parser.error("--counts: a line needs two different numbers of workers")
    print(
        f"{'workers':>7} {'seconds':>8} {'cores':>8} {'us/worker/s':>12} {'MiB':>8} "
        f"{'PostgreSQL':>10} {'workers':>9} {'go ms':>7} {'late s':>8} {'lost':>5}"
    )
    points = []
    for count in flags.counts:
        points.append(Point(count, flags.short))
        print(points[-1].row(), flush=True)
    slope, base, r2 = fit(points)
    print(f"cores = {base:.3f} + {1e6 * slope:.0f}e-6 x workers, R2 = {r2:.4f}")
    long_run = Point(2000, flags.seconds)
    print(long_run.row(), flush=True)
    targets = [(f"2,000 workers, {flags.seconds} s: {words}", ok) for words, ok in long_run.holds()]
    targets.append(("the cost is linear: R2 >= 0.98", r2 >= 0.98))
    if not flags.no_search:
        largest = 2000 if all(ok for _, ok in long_run.holds()) else 0
        for count in (2500, 3000, 3500, 4000, 5000, 6000, 8000):
            try:
                point = Point(count, flags.short)
            except (AssertionError, subprocess.SubprocessError) as error:
                print(f"{count:>7} does not come up: {str(error).splitlines()[0]}")
                break
            print(point.row(), flush=True)
            if not all(ok for _, ok in point.holds()):
                break
            largest = count
        print(f"the largest fleet that holds here: {largest}")
    return verdict.say("scale", targets)


if __name__ == "__main__":
    sys.exit(main())
