"""A run outlives its controllers and its workers. Real processes, killed and stopped for real."""

import json
import os
import signal
import socket
import sys
import unittest

from fleet import BIN, Fleet, files_job, needs_root, stop, wait_for
from intervals import whole


def last_interval(fleet):
    """Returns the last measured interval of the last run."""
    rows = fleet.sql(
        "SELECT max(interval) FROM interval_operations WHERE run_id = last_run() AND "
        "interval_class = 2"
    )
    return int(rows[0][0])


class Controllers(unittest.TestCase):
    def test_a_killed_controller_is_replaced_and_the_run_goes_on(self):
        with Fleet(2, controller_flags=["--lease", "4"]) as fleet:
            running = fleet.start_lockstep(
                "run", "-", "--format", "json", stdin=files_job(fleet.data, duration="600s")
            )
            fleet.await_seconds(1)
            fleet.controller.send_signal(signal.SIGKILL)
            fleet.controller.wait()
            fleet.start_controller(listen=fleet.address)
            self.assertIn("adopting the PostgreSQL that runs", fleet.log("controller"))
            self.assertIn(
                "is taken over in phase mix (attempt 1, running)", fleet.log("controller")
            )
            fleet.wait_attached(2)
            ended = fleet.lockstep("stop", "--phase")
            self.assertEqual(ended.status, 0, str(ended))
            out, err = running.communicate(timeout=300)
            self.assertEqual(running.returncode, 0, err)
            self.assertIn("the workers go on with their phase; waiting for it", err)
            report = json.loads(out)
            self.assertEqual((report["run"]["state"], report["run"]["degraded"]), ("done", False))
            self.assertTrue(
                any("the controller was replaced" in e["message"] for e in report["events"])
            )
            whole(self, fleet, report, last_interval(fleet) + 1)

    def test_a_controller_killed_between_phases_keeps_its_plan(self):
        job = """name: planned
targets: [{name: none, null: {latency: 1ms}}]
phases:
  - name: full
    run: {duration: 2s, workloads: [{engine: null, queue_depth: 2}]}
  - name: curve
    run:
      duration: 3s
      curve: {share: [25%, 50%, 75%]}
      workloads:
        - {engine: null, queue_depth: 8, open_loop: {measured: {phase: full}, arrival: fixed}}
"""
        with Fleet(2, controller_flags=["--lease", "4"]) as fleet:
            running = fleet.start_lockstep("run", "-", "--format", "json", stdin=job)
            for step in ("curve 25 %", "curve 50 %"):
                fleet.await_phase(step)
                fleet.controller.send_signal(signal.SIGKILL)
                fleet.controller.wait()
                fleet.start_controller(listen=fleet.address)
            out, err = running.communicate(timeout=300)
            self.assertEqual(running.returncode, 0, err)
            phases = json.loads(out)["phases"]
            self.assertEqual(
                [phase["name"] for phase in phases],
                ["full", "curve 25 %", "curve 50 %", "curve 75 %"],
            )
            # Every step's rate is its share of the one figure that the store has of the first.
            rows = fleet.sql(
                "SELECT p.figures ->> 'iops', w.spec -> 'openLoop' ->> 'ratePerSecond' FROM "
                "phases p LEFT JOIN workloads w USING (run_id, phase) WHERE run_id = last_run() "
                "ORDER BY p.phase"
            )
            full = float(rows[0][0])
            for share, (_, rate) in zip((0.25, 0.5, 0.75), rows[1:], strict=True):
                self.assertAlmostEqual(float(rate), share * full, delta=1e-6 * full)
            events = json.loads(out)["events"]
            self.assertTrue(any("IOPS of phase full are" in e["message"] for e in events))

    def test_a_load_ends_at_one_interval_and_the_run_goes_on(self):
        with Fleet(2, controller_flags=["--lease", "4"]) as fleet:
            running = fleet.start_lockstep(
                "run", "-", "--format", "json", stdin=files_job(fleet.data, duration="300s")
            )
            fleet.await_seconds(1)
            done = fleet.lockstep("stop", "last", "--phase", "--reason", "enough")
            self.assertEqual(done.status, 0, str(done))
            # The answered end is in the store: a controller that comes after it ends the load at
            # the same interval.
            fleet.controller.send_signal(signal.SIGKILL)
            fleet.controller.wait()
            fleet.start_controller(listen=fleet.address)
            out, err = running.communicate(timeout=300)
            self.assertEqual(running.returncode, 0, err)
            report = json.loads(out)
            self.assertEqual([p["state"] for p in report["phases"]], ["done"] * 3)
            last = fleet.sql(
                "SELECT worker_index, max(interval), (SELECT end_of_load FROM phases WHERE run_id "
                "= last_run() AND name = 'mix') FROM interval_operations WHERE run_id = last_run() "
                "AND interval_class = 2 GROUP BY 1"
            )
            self.assertEqual(len(last), 2)
            for _, interval, decided in last:
                self.assertEqual(interval, decided)
            mix = report["phases"][1]
            self.assertIn("ended by command after interval", " ".join(mix["remarks"]))
            self.assertTrue(any("enough" in e["message"] for e in report["events"]))
            whole(self, fleet, report, int(last[0][1]) + 1)

    def test_a_load_that_ends_by_itself_sooner_is_left_alone(self):
        job = (
            "name: one\ninterval: 30s\ntargets: [{name: none, null: {latency: 1ms}}]\nphases:\n"
            "  - {name: load, run: {duration: 30s, workloads: [{engine: 'null'}]}}\n"
        )
        with Fleet(1) as fleet:
            running = fleet.start_lockstep("run", "-", stdin=job)
            fleet.await_phase("load")
            done = fleet.lockstep("stop", "last", "--phase")
            self.assertNotEqual(done.status, 0, str(done))
            self.assertIn("phase load ends by itself", str(done))
            self.assertEqual(fleet.sql("SELECT 1 FROM phases WHERE end_of_load IS NOT NULL"), [])
            self.assertEqual(fleet.lockstep("stop", "last", "--now").status, 0)
            running.communicate(timeout=300)

    def test_killed_again_and_again_at_any_time_it_still_ends(self):
        with Fleet(2, controller_flags=["--lease", "4"]) as fleet:
            running = fleet.start_lockstep(
                "run", "-", "--format", "json", stdin=files_job(fleet.data, duration="5s")
            )
            # Before its answer the client does not know that there is a run to wait for.
            self.assertTrue(any(line.startswith("run ") for line in running.stderr))
            for rows in (
                "runs WHERE run_id = last_run()",
                "phases WHERE run_id = last_run() AND name = 'prepare'",
                "phases WHERE run_id = last_run() AND name = 'mix'",
                "interval_operations WHERE run_id = last_run() AND interval = 1",
                "interval_operations WHERE run_id = last_run() AND interval = 3",
            ):
                wait_for(rows, lambda rows=rows: fleet.sql(f"SELECT 1 FROM {rows} LIMIT 1"))
                fleet.controller.send_signal(signal.SIGKILL)
                fleet.controller.wait()
                fleet.start_controller(listen=fleet.address)
            out, err = running.communicate(timeout=300)
            self.assertEqual(running.returncode, 0, err)
            whole(self, fleet, json.loads(out), 5)

    def test_a_report_is_read_from_the_controller_that_comes_back(self):
        with Fleet(1) as fleet:
            done = fleet.run_job(
                "name: short\ntargets: [{name: none, 'null': {}}]\nphases:\n  - {name: load, run: "
                "{duration: 1s, workloads: [{engine: 'null', max_iops: 1000}]}}\n"
            )
            self.assertEqual(done.status, 0, str(done))
            with fleet.locked("thread_results") as somebody_waits:
                watching = fleet.start_lockstep("watch", "last", "--format", "json")
                wait_for("the report to be asked for", somebody_waits)
                fleet.controller.send_signal(signal.SIGKILL)
                fleet.controller.wait()
            fleet.start_controller(listen=fleet.address)
            out, err = watching.communicate(timeout=300)
            self.assertEqual(watching.returncode, 0, err)
            self.assertIn("the controller is lost", err)
            self.assertEqual(json.loads(out)["run"]["state"], "done")

    def test_a_controller_that_is_ended_ends_its_runs_and_says_so(self):
        with Fleet(1) as fleet:
            running = fleet.start_lockstep(
                "run", "-", stdin=files_job(fleet.data, hosts=1, duration="60s")
            )
            fleet.await_phase("mix")
            fleet.controller.terminate()
            out, err = running.communicate(timeout=300)
            self.assertEqual(running.returncode, 3, err)
            self.assertIn("the controller was shut down", out + err)
            self.assertEqual(fleet.controller.wait(60), 0)

    def start_second(self, fleet, name, listen, store, flags=()):
        """Another controller of the fleet's store."""
        words = [f"{BIN}/lockstep-controller", "--listen", listen, "--store", store]
        words += ["--state-dir", f"{fleet.directory}/state-{name}", "--lease", "4", *flags]
        return fleet.spawn(name, words)

    def test_a_standby_takes_over_when_the_active_one_dies(self):
        with Fleet(0, controller_flags=["--lease", "4"]) as fleet:
            store = f"host={fleet.state}/postgres/run port=5432 user=lockstep dbname=lockstep"
            # The first controller runs the embedded server; the second uses it as an external one,
            # and waits. Nobody else listens at its address.
            with socket.create_server(("127.0.0.83", 0)) as free:
                second = f"127.0.0.83:{free.getsockname()[1]}"
            ready = os.path.join(fleet.directory, "ready2")
            self.start_second(fleet, "standby", second, store, ["--ready-file", ready])
            wait_for("the standby", lambda: "standby: " in fleet.log("standby"))
            self.assertFalse(os.path.exists(ready))
            for name in ("node1", "node2"):
                fleet.start_worker(name, flags=["--controller", second])
            fleet.wait_attached(2)
            first = fleet.address
            fleet.address = f"{first},{second}"
            running = fleet.start_lockstep(
                "run", "-", "--format", "json", stdin=files_job(fleet.data, duration="8s")
            )
            fleet.await_seconds(1)
            fleet.controller.send_signal(signal.SIGKILL)
            fleet.controller.wait()
            wait_for("the standby to become active", lambda: os.path.exists(ready), 30)
            out, err = running.communicate(timeout=300)
            self.assertEqual(running.returncode, 0, err)
            report = json.loads(out)
            self.assertEqual(report["run"]["state"], "done")
            whole(self, fleet, report, 8)
            # The one that comes back waits in its turn.
            back = self.start_second(fleet, "back", first, store)
            wait_for("the first one to stand by", lambda: "standby: " in fleet.log("back"))
            stop(back)


# Binds 1,500 directories to themselves, and becomes the program that the arguments name.
MANY_MOUNTS = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
for i in range(1500):
    path = os.path.join(sys.argv[1], str(i))
    os.mkdir(path)
    if libc.mount(path.encode(), path.encode(), None, 4096, None) != 0:
        sys.exit(os.strerror(ctypes.get_errno()))
os.execv(sys.argv[2], sys.argv[2:])
"""


class Workers(unittest.TestCase):
    @needs_root
    def test_a_host_with_thousands_of_mounts_takes_part(self):
        with Fleet(0) as fleet:
            folder = os.path.join(fleet.directory, "mounts")
            os.mkdir(folder)
            words = [f"{BIN}/lockstep-worker", "--controller", fleet.address, "--name", "node1"]
            words += ["--state-dir", os.path.join(fleet.directory, "worker-node1")]
            words += ["--allow", fleet.data]
            private = ["unshare", "--mount", sys.executable, "-c", MANY_MOUNTS, folder]
            fleet.workers["node1"] = fleet.spawn("node1", private + words)
            fleet.wait_attached(1)
            done = fleet.run_job(files_job(fleet.data, hosts=1, duration="200ms"))
            self.assertEqual(done.status, 0, str(done))
            stop(fleet.controller, signal.SIGKILL)
            fleet.start_controller(listen=fleet.address)
            fleet.wait_attached(1)

    def test_retry_repeats_the_phase_with_the_returned_worker(self):
        with Fleet(2, controller_flags=["--lease", "3"]) as fleet:
            running = fleet.start_lockstep(
                "run",
                "-",
                "--format",
                "json",
                stdin=files_job(fleet.data, duration="5s", extra="on_worker_loss: retry"),
            )
            fleet.await_seconds(1)
            fleet.workers["node2"].send_signal(signal.SIGKILL)
            fleet.workers["node2"].wait()
            fleet.start_worker("node2")
            out, err = running.communicate(timeout=300)
            self.assertEqual(running.returncode, 0, err)
            report = json.loads(out)
            self.assertEqual((report["run"]["state"], report["run"]["degraded"]), ("done", False))
            attempts = fleet.sql(
                "SELECT attempt, state FROM phase_attempts WHERE run_id = last_run() AND "
                "name = 'mix' ORDER BY 1"
            )
            self.assertEqual(attempts, [["1", "void"], ["2", "done"]])
            whole_rows = fleet.sql(
                "SELECT count(DISTINCT worker_index) FROM interval_operations WHERE run_id = "
                "last_run() AND attempt = 2"
            )
            self.assertEqual(whole_rows, [["2"]])

    def test_retry_goes_on_without_a_worker_that_stays_away(self):
        with Fleet(2, controller_flags=["--lease", "2"]) as fleet:
            running = fleet.start_lockstep(
                "run",
                "-",
                "--format",
                "json",
                stdin=files_job(
                    fleet.data,
                    duration="4s",
                    extra="on_worker_loss: retry\ndeadlines: {rejoin: 2s}",
                ),
            )
            fleet.await_phase("mix")
            fleet.workers["node2"].send_signal(signal.SIGKILL)
            out, err = running.communicate(timeout=300)
            self.assertEqual(running.returncode, 0, err)
            report = json.loads(out)
            self.assertEqual((report["run"]["state"], report["run"]["degraded"]), ("done", True))

    def test_a_lost_workers_files_wait_for_its_hard_stop(self):
        with Fleet(2, controller_flags=["--lease", "2"]) as fleet:
            shared = (
                files_job(
                    fleet.data,
                    duration="8s",
                    extra="on_worker_loss: continue\ndeadlines: {drain: 1s}",
                    tail="",
                )
                .replace("{host}/file", "shared")
                .replace("size: 8MiB}", "size: 8MiB}\n    sharing: sliced")
            )
            running = fleet.start_lockstep("run", "-", "--format", "json", stdin=shared)
            fleet.await_phase("mix")
            stopped = fleet.workers["node2"]
            stopped.send_signal(signal.SIGSTOP)
            try:
                out, err = running.communicate(timeout=300)
                report = json.loads(out)
                self.assertEqual(
                    (report["run"]["state"], report["run"]["degraded"]), ("done", True), err
                )
                self.assertTrue(any("silent for" in e["message"] for e in report["events"]))
                # node1 alone may not have the file before node2's hard stop, drain and the clocks'
                # bound.
                after = fleet.start_lockstep(
                    "run",
                    "-",
                    stdin=shared.replace("count: 2", "count: 1").replace(
                        "duration: 8s", "duration: 1s"
                    ),
                )
                out, err = after.communicate(timeout=300)
                self.assertEqual(after.returncode, 0, err)
                self.assertIn("waiting until run", out + err)
                waited = fleet.sql(
                    "SELECT extract(epoch FROM r.started_at - p.go_at) FROM phases p, runs r WHERE "
                    f"p.run_id = '{report['run']['runId']}' AND p.name = 'mix' AND "
                    "r.run_id = last_run()"
                )
                self.assertGreater(float(waited[0][0]), 8)
            finally:
                stopped.send_signal(signal.SIGCONT)

    def test_a_short_stop_within_the_lease_costs_nothing(self):
        with Fleet(2) as fleet:
            running = fleet.start_lockstep(
                "run", "-", "--format", "json", stdin=files_job(fleet.data, duration="5s")
            )
            fleet.await_phase("mix")
            fleet.workers["node2"].send_signal(signal.SIGSTOP)
            others = "SELECT count(*) FROM interval_operations WHERE worker_index = 0"
            stored = int(fleet.sql(others)[0][0])
            # Two seconds of the other worker: two kinds in each.
            wait_for("two seconds", lambda: int(fleet.sql(others)[0][0]) >= stored + 4)
            fleet.workers["node2"].send_signal(signal.SIGCONT)
            out, err = running.communicate(timeout=300)
            self.assertEqual(running.returncode, 0, err)
            whole(self, fleet, json.loads(out), 5)
