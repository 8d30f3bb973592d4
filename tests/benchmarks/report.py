"""bench report: what the report of a long run takes in memory and time, and whether another run's
start waits for it. A run of synthetic hosts is stretched to hours of seconds in the store itself.
"""

import argparse
import os
import statistics
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration"))
sys.path.insert(0, HERE)
import verdict  # noqa: E402
from fleet import BIN, Fleet  # noqa: E402
from scale import JOB, memory_mib  # noqa: E402

MIB_LIMIT = 200
START_LIMIT = 1.5  # a run's start beside reports, over one in peace

SMALL = """name: small
hosts: {count: 1, labels: {kind: real}}
targets: [{name: d, null: {latency: 1ms}}]
phases: [{name: load, run: {duration: 1s, workloads: [{engine: null, queue_depth: 1}]}}]
"""

# The run's last measured interval, again and again.
STRETCH = """
SET search_path = lockstep;
CREATE TEMP TABLE last AS SELECT max(interval) AS number, (max(interval) + 1) * 1000000000::bigint
  AS end_ns FROM interval_operations WHERE run_id = '{run}' AND interval_class = 2;
CREATE TEMP TABLE counters AS SELECT c.* FROM interval_operations c, last
  WHERE run_id = '{run}' AND interval = number AND interval_class = 2;
CREATE TEMP TABLE hosts AS SELECT h.* FROM host_samples h, last
  WHERE run_id = '{run}' AND interval = number AND interval_class = 2;
INSERT INTO interval_operations SELECT run_id, started_at, operations, bytes, latency_sum_ns,
  (number + k)::integer, worker_index, phase, attempt, workload, interval_class, kind, errors,
  short_transfers, begin_ns, counters.end_ns, service_time, response_time, submission_latency
  FROM generate_series(1::bigint, {seconds}) k, counters, last;
INSERT INTO host_samples SELECT started_at, run_id, phase, attempt, worker_index,
  (number + k)::integer, interval_class, last.end_ns + (k - 1) * 1000000000,
  last.end_ns + k * 1000000000,
  context_switches, interrupts, run_queue, blocked, user_ratio, system_ratio, idle_ratio,
  iowait_ratio, steal_ratio, swap_in_pages, swap_out_pages, free_bytes, cached_bytes, dirty_bytes,
  cpu_busy_ns FROM generate_series(1::bigint, {seconds}) k, hosts, last;
DELETE FROM interval_operations WHERE run_id = '{run}' AND interval_class = 3;
DELETE FROM host_samples WHERE run_id = '{run}' AND interval_class = 3;
UPDATE worker_results SET result = jsonb_set(result, '{{lastIoNs}}', to_jsonb(
  ((result ->> 'lastIoNs')::bigint + {seconds}::bigint * 1000000000)::text))
  WHERE run_id = '{run}';
ANALYZE interval_operations, host_samples;
"""


def stretch(fleet, run, seconds):
    fleet.owner_sql(STRETCH.format(run=run, seconds=seconds))


def start_seconds(fleet):
    """From the submission of a small run to its go."""
    run = fleet.lockstep("run", "-", "--format", "json", stdin=SMALL).json()["run"]["runId"]
    found = fleet.sql(
        "SELECT extract(epoch FROM p.go_at - r.submitted_at) FROM runs r JOIN phases p USING "
        f"(run_id) WHERE r.run_id = '{run}'"
    )
    return float(found[0][0])


def reset_peak(pid):
    with open(f"/proc/{pid}/clear_refs", "w", encoding="ascii") as out:
        out.write("5")


def measure(flags):
    with Fleet(0) as fleet:
        fleet.processes.append(
            subprocess.Popen(
                [f"{BIN}/lockstep-worker", "--controller", fleet.address, "--simulate"]
                + [str(flags.hosts)],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )
        fleet.wait_attached(flags.hosts)
        done = fleet.lockstep(
            "run", "-", "--format", "json", stdin=JOB.format(count=flags.hosts, seconds=3)
        )
        run = done.json()["run"]["runId"]
        stretch(fleet, run, flags.hours * 3600)
        fleet.start_worker("real", ["--label", "kind=real"])
        fleet.wait_attached(flags.hosts + 1)
        rows = fleet.sql(f"SELECT count(*) FROM interval_operations WHERE run_id = '{run}'")[0][0]
        pid = fleet.controller.pid
        before = memory_mib(pid)
        reset_peak(pid)
        began = time.monotonic()
        report = fleet.lockstep("report", run, "--format", "json", timeout=600).json()
        took = time.monotonic() - began
        peak = memory_mib(pid, "VmHWM")
        phase = report["phases"][0]
        points = [len(host["iopsByInterval"]) for host in phase["hosts"]]
        print(f"{flags.hosts} hosts × {flags.hours} h × 2 kinds: {int(rows):,} rows")
        print(f"  window {phase['windowEndSeconds'] - phase['windowBeginSeconds']:,.0f} s", end="")
        print(f", {points[0]} points of {phase['intervalsPerPoint']} s for each host")
        print(f"  report: {took:.1f} s; controller {before:.0f} MiB before, {peak:.0f} MiB at most")
        assert phase["windowEndSeconds"] >= flags.hours * 3600
        peace, beside = [], []
        over = threading.Event()

        def keep_reporting():
            while not over.is_set():
                fleet.lockstep("report", run, "--format", "json", timeout=600)

        for _ in range(flags.starts):
            peace.append(start_seconds(fleet))
        reporter = threading.Thread(target=keep_reporting)
        reporter.start()
        try:
            for _ in range(flags.starts):
                beside.append(start_seconds(fleet))
        finally:
            over.set()
            reporter.join()
        ratio = statistics.median(beside) / statistics.median(peace)
        print(
            f"  submit to go: {statistics.median(peace):.3f} s in peace, "
            f"{statistics.median(beside):.3f} s beside reports (×{ratio:.2f})"
        )
        return [
            (f"controller with the report <= {MIB_LIMIT} MiB", peak <= MIB_LIMIT),
            (f"another run's start <= ×{START_LIMIT}", ratio <= START_LIMIT),
        ]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=16)
    parser.add_argument("--hours", type=int, default=8)
    parser.add_argument("--starts", type=int, default=7, help="runs started in peace, and beside")
    targets = measure(parser.parse_args())
    return verdict.say("report", targets)


if __name__ == "__main__":
    sys.exit(main())
