"""A run outlives its store. Real processes, killed and stopped for real."""

import glob
import json
import os
import signal
import unittest

from fleet import Fleet, files_job, wait_for
from intervals import whole
from processes import io_thread


def is_unavailable(fleet):
    """Whether the status says so. It is asked for when the log has it: that costs less."""
    return (
        "the store is unavailable" in fleet.log("controller")
        and "THE STORE IS UNAVAILABLE" in fleet.lockstep("status").out
    )


class Stores(unittest.TestCase):
    def test_a_killed_postgres_is_started_again_and_nothing_is_lost(self):
        with Fleet(2) as fleet:
            running = fleet.start_lockstep(
                "run", "-", "--format", "json", stdin=files_job(fleet.data, duration="6s")
            )
            fleet.await_phase("mix")
            os.kill(fleet.postmaster(), signal.SIGKILL)
            out, err = running.communicate(timeout=300)
            self.assertEqual(running.returncode, 0, err)
            self.assertIn("has died; starting it again", fleet.log("controller"))
            whole(self, fleet, json.loads(out), 6)

    def test_a_store_that_hangs_is_unavailable_too(self):
        with Fleet(2) as fleet:
            running = fleet.start_lockstep(
                "run", "-", "--format", "json", stdin=files_job(fleet.data, duration="4s")
            )
            fleet.await_phase("mix")
            # Its connections stay open, and it says nothing.
            fleet.pause_postgres()
            wait_for("the controller to notice", lambda: is_unavailable(fleet), 60)
            wait_for(
                "something in the spool",
                lambda: any(
                    os.path.getsize(f) > 0
                    for f in glob.glob(os.path.join(fleet.state, "spool", "*", "*.spool"))
                ),
                60,
            )
            self.assertIsNone(running.poll())
            self.assertRegex(fleet.lockstep("status").out, "small +running")
            fleet.resume_postgres()
            out, err = running.communicate(timeout=300)
            self.assertEqual(running.returncode, 0, err)
            self.assertIn("the store is unavailable", err)
            report = json.loads(out)
            whole(self, fleet, report, 4)
            # Events bear the time at which they happened, not that at which they could be stored.
            lost = [
                event["at"]
                for event in report["events"]
                if "the store is unavailable" in event["message"]
            ][0]
            back = [
                event["at"] for event in report["events"] if "the store is back" in event["message"]
            ][0]
            self.assertLess(lost, back)

    def test_a_load_is_stopped_though_the_store_hangs(self):
        with Fleet(1) as fleet:
            running = fleet.start_lockstep(
                "run", "-", stdin=files_job(fleet.data, hosts=1, duration="120s")
            )
            fleet.await_phase("mix")
            run_id = fleet.sql("SELECT last_run()")[0][0]
            fleet.pause_postgres()
            stopped = fleet.lockstep("stop", run_id[:8])
            self.assertEqual(
                (stopped.status, stopped.out), (0, f"stopping run {run_id} (small)\n"), str(stopped)
            )
            self.assertIn("the store is unavailable", stopped.err)

            worker = fleet.workers["node1"].pid
            wait_for("the load to end", lambda: io_thread(worker) is None)
            fleet.resume_postgres()
            _, err = running.communicate(timeout=300)
            self.assertEqual(running.returncode, 130, err)

    def test_a_stop_outlives_a_controller_that_could_not_store_it(self):
        with Fleet(2, controller_flags=["--lease", "4"]) as fleet:
            running = fleet.start_lockstep(
                "run", "-", "--format", "json", stdin=files_job(fleet.data, duration="120s")
            )
            fleet.await_phase("mix")
            run_id = fleet.sql("SELECT last_run()")[0][0]
            fleet.pause_postgres()
            stopped = fleet.lockstep("stop", run_id[:8], "--reason", "the array complains")
            self.assertEqual(stopped.status, 0, str(stopped))
            self.assertIn("does not have this yet", stopped.err)
            loads = [worker.pid for worker in fleet.workers.values()]
            wait_for("the loads to end", lambda: not any(io_thread(pid) for pid in loads))
            fleet.controller.send_signal(signal.SIGKILL)
            fleet.controller.wait()
            fleet.resume_postgres()
            self.assertEqual(
                fleet.owner_sql("SELECT state, coalesce(ending_state, '') FROM lockstep.runs"),
                ["running|"],
            )
            fleet.start_controller(listen=fleet.address)
            out, err = running.communicate(timeout=300)
            self.assertEqual(running.returncode, 130, err)
            report = json.loads(out)
            self.assertEqual(report["run"]["state"], "cancelled")
            self.assertIn("the array complains", report["run"]["outcome"])
            mix = [phase for phase in report["phases"] if phase["name"] == "mix"][0]
            self.assertEqual(mix["state"], "cancelled")

    def test_a_stop_of_a_waiting_run_is_answered_when_stored(self):
        with Fleet(1) as fleet:
            job = files_job(fleet.data, hosts=1, duration="120s")
            first = fleet.lockstep("submit", "-", stdin=job).out.split()[0]
            fleet.await_phase("mix")
            second = fleet.lockstep("submit", "-", stdin=job).out.split()[0]
            fleet.pause_postgres()
            stopped = fleet.lockstep("stop", second)
            self.assertNotEqual(stopped.status, 0, str(stopped))
            self.assertIn("the stop is lost", stopped.err)
            fleet.resume_postgres()
            wait_for(
                "the stop to be stored",
                lambda: (
                    fleet.sql(f"SELECT state FROM runs WHERE run_id = '{second}'")[0][0]
                    == "cancelled"
                ),
            )
            self.assertEqual(fleet.lockstep("stop", first, "--now").status, 0)

    def test_a_controller_whose_store_hangs_can_be_ended(self):
        with Fleet(1) as fleet:
            running = fleet.start_lockstep(
                "run", "-", stdin=files_job(fleet.data, hosts=1, duration="30s")
            )
            fleet.await_phase("mix")
            fleet.pause_postgres()
            wait_for("it to miss answers", lambda: is_unavailable(fleet), 60)
            fleet.controller.terminate()
            wait_for(
                "it to give its own PostgreSQL up, too",
                lambda: "does not stop" in fleet.log("controller"),
                120,
            )
            self.assertEqual(fleet.controller.wait(60), 0)
            fleet.resume_postgres()
            running.kill()
            running.communicate()

    def test_the_phase_goes_on_without_its_store_and_says_so(self):
        with Fleet(2) as fleet:
            running = fleet.start_lockstep(
                "run", "-", "--format", "json", stdin=files_job(fleet.data, duration="4s")
            )
            fleet.await_phase("mix")
            # Killed, with the directory moved away, so that it cannot be started again for a while.
            data = os.path.join(fleet.state, "postgres", "data")
            postmaster = fleet.postmaster()
            os.rename(data, data + ".away")
            os.kill(postmaster, signal.SIGKILL)
            wait_for("the controller to notice", lambda: is_unavailable(fleet), 20)

            def spool():
                return glob.glob(os.path.join(fleet.state, "spool", "*", "*.spool"))

            wait_for(
                "something in the spool", lambda: any(os.path.getsize(f) > 0 for f in spool()), 20
            )
            self.assertIn("no new one starts", fleet.lockstep("status").out)
            loads = [worker.pid for worker in fleet.workers.values()]
            wait_for("the loads to end", lambda: not any(io_thread(pid) for pid in loads))
            self.assertIsNone(running.poll())  # cleanup has not begun: its phase cannot be recorded
            os.rename(data + ".away", data)
            out, err = running.communicate(timeout=300)
            self.assertEqual(running.returncode, 0, err)
            self.assertIn("the store is unavailable", err)
            self.assertEqual(spool(), [])
            self.assertNotIn("THE STORE IS UNAVAILABLE", fleet.lockstep("status").out)
            whole(self, fleet, json.loads(out), 4)

    def test_a_full_spool_stops_the_run_and_loses_nothing(self):
        with Fleet(2, controller_flags=["--spool-mib", "0.004"]) as fleet:
            running = fleet.start_lockstep(
                "run", "-", "--format", "json", stdin=files_job(fleet.data, duration="30s")
            )
            fleet.await_seconds(1)
            data = os.path.join(fleet.state, "postgres", "data")
            postmaster = fleet.postmaster()
            os.rename(data, data + ".away")
            os.kill(postmaster, signal.SIGKILL)
            # The spool is full before the load's time is over, and ends it.
            loads = [worker.pid for worker in fleet.workers.values()]
            wait_for("the loads to end", lambda: not any(io_thread(pid) for pid in loads))
            os.rename(data + ".away", data)
            out, err = running.communicate(timeout=300)
            self.assertEqual(running.returncode, 3, err)
            report = json.loads(out)
            self.assertEqual(report["run"]["state"], "aborted")
            self.assertIn("is full", report["run"]["outcome"])
            intervals = fleet.sql(
                "SELECT worker_index, max(interval) + 1 - count(DISTINCT interval) FROM "
                "interval_operations WHERE run_id = last_run() AND interval_class = 2 "
                "GROUP BY 1 ORDER BY 1"
            )
            self.assertEqual(intervals, [["0", "0"], ["1", "0"]])  # no gap
            results = fleet.sql(
                "SELECT count(*) FROM worker_results r JOIN phase_overview p USING (run_id, "
                "phase, attempt) WHERE run_id = last_run() AND p.name = 'mix'"
            )
            self.assertEqual(results, [["2"]])
