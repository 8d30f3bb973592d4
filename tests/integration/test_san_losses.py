"""LUNs of a target that dies, and reservations that keep a lost worker from writing."""

import hashlib
import os
import signal
import sys
import unittest

from device_jobs import call
from fleet import ROOT, Fleet, needs_root, wait_for
from loops import LoopDevice
from san import EXPENDABLE, EXPENDABLE_FLAGS, Tgt, lun_job

sys.path.insert(0, os.path.join(ROOT, "tests", "benchmarks"))

MIB = 1 << 20


@needs_root
class Losses(unittest.TestCase):
    def test_a_target_that_dies_and_is_back_costs_a_stall_and_no_i_o(self):
        with Tgt(luns=1) as tgt, Fleet(2, allow=[tgt.url(1)]) as fleet:
            job = lun_job(
                tgt.url(1),
                "block_size: 4KiB, read: 50%, queue_depth: 4, max_iops: 200",
                hosts=2,
                run="duration: 600s",
            )
            process = fleet.start_lockstep("run", "-", "--format", "json", stdin=job)
            fleet.await_seconds(2, "load")
            tgt.kill()
            tgt.start()
            back = (
                "SELECT count(DISTINCT host) FROM events WHERE run_id = last_run() AND message "
                "LIKE '%is back after%'"
            )
            wait_for("both hosts to be back", lambda: fleet.sql(back) == [["2"]])
            fleet.lockstep("stop", "--phase")
            out, err = process.communicate(timeout=300)
            self.assertEqual(process.returncode, 0, out + err)
            events = [
                row[0]
                for row in fleet.sql(
                    "SELECT replace(message, ',', ';') FROM events WHERE run_id = last_run()"
                )
            ]
            self.assertTrue(any("is back after" in e for e in events), events)
            self.assertTrue(any("it is tried again for 30 s" in e for e in events), events)

    def test_a_target_that_stays_away_fails_the_phase_in_words(self):
        with Tgt(luns=1) as tgt, Fleet(1, allow=[tgt.url(1)]) as fleet:
            job = lun_job(
                tgt.url(1),
                "block_size: 4KiB, queue_depth: 4, max_iops: 500",
                hosts=1,
                run="duration: 60s",
                target=", reconnect: 2s",
            )
            process = fleet.start_lockstep("run", "-", stdin=job)
            fleet.await_seconds(1, "load")
            tgt.kill()
            out, err = process.communicate(timeout=300)
            self.assertEqual(process.returncode, 3, out + err)
            self.assertIn(tgt.url(1), out + err)
            wait_for("the worker to be idle", lambda: fleet.workers["node1"].poll() is None)


@needs_root
class Fences(unittest.TestCase):
    """`fence: reservation`: the storage itself keeps a lost worker from writing."""

    def job(self, tgt, run, hosts=2, head="", workload=""):
        return lun_job(
            tgt.url(1),
            f"block_size: 4KiB, read: 0%, queue_depth: 4, threads: 2, max_iops: 200{workload}",
            hosts=hosts,
            run=run,
            extra=", fence: reservation",
            head=f"{EXPENDABLE}\n{head}",
        )

    @staticmethod
    def half(tgt, which):
        """A digest of one of the two workers' slices."""
        with open(tgt.image(1), "rb") as image:
            image.seek(which * 32 * MIB)
            return hashlib.sha256(image.read(32 * MIB)).hexdigest()

    def test_the_storage_refuses_a_paused_workers_late_writes(self):
        with (
            Tgt(luns=1) as tgt,
            Fleet(
                2,
                allow=[tgt.url(1)],
                worker_flags=EXPENDABLE_FLAGS,
                controller_flags=["--lease", "2"],
            ) as fleet,
        ):
            job = self.job(tgt, "duration: 300s", head="on_worker_loss: continue")
            running = fleet.start_lockstep("run", "-", stdin=job)
            fleet.await_seconds(1, "load")
            paused = fleet.workers["node2"].pid
            os.kill(paused, signal.SIGSTOP)
            try:
                events = "SELECT 1 FROM events WHERE run_id = last_run() AND message LIKE "
                wait_for("the fence", lambda: fleet.sql(events + "'%%was fenced off%%'"))
                before = self.half(tgt, 1)
                other = self.half(tgt, 0)
            finally:
                os.kill(paused, signal.SIGCONT)
            # It goes on where it was, has half a minute of its load left, and is told no.
            wait_for("it to be told", lambda: "this worker was fenced off" in fleet.log("node2"))
            wait_for("the other one to go on", lambda: self.half(tgt, 0) != other)
            self.assertEqual(self.half(tgt, 1), before)
            self.assertEqual(fleet.lockstep("stop", "last").status, 0)
            running.communicate(timeout=300)
            self.assertEqual(self.half(tgt, 1), before)
            # The run is over, and with it the reservation: the LUN is anybody's again.
            wait_for(
                "the worker to be idle",
                lambda: fleet.run_job(
                    self.job(tgt, "duration: 200ms", head="interval: 100ms")
                ).status
                == 0,
            )

    def test_others_than_the_run_s_workers_write_nothing_meanwhile(self):
        with (
            Tgt(luns=1) as tgt,
            Fleet(1, allow=[tgt.url(1)], worker_flags=EXPENDABLE_FLAGS) as fleet,
            Fleet(1, allow=[tgt.url(1)], worker_flags=EXPENDABLE_FLAGS) as strangers,
        ):
            # The contents stay the same, so that the strangers' plans hold.
            zeros = self.job(tgt, "duration: 300s", hosts=1, workload=", content: zeros")
            running = fleet.start_lockstep("run", "-", stdin=zeros)
            fleet.await_seconds(1, "load")
            plain = lun_job(
                tgt.url(1),
                "block_size: 4KiB, read: 0%, operations: 500",
                hosts=1,
                run="ramp: 0s",
                head=EXPENDABLE,
            )
            done = strangers.run_job(plain)
            self.assertEqual(done.status, 3, str(done))
            self.assertIn("Invalid exchange", done.text)
            done = strangers.run_job(self.job(tgt, "duration: 1s", hosts=1))
            self.assertEqual(done.status, 3, str(done))
            self.assertIn("of no worker of this run", done.text)
            self.assertEqual(fleet.lockstep("stop", "last").status, 0)
            running.communicate(timeout=300)
            wait_for("it to be free", lambda: strangers.run_job(plain).status == 0)

    def test_a_fenced_load_outlives_lost_sessions(self):
        with (
            Tgt(luns=1) as tgt,
            Fleet(1, allow=[tgt.url(1)], worker_flags=EXPENDABLE_FLAGS) as fleet,
        ):
            running = fleet.start_lockstep(
                "run", "-", stdin=self.job(tgt, "duration: 300s", hosts=1)
            )
            fleet.await_seconds(1, "load")
            tgt.kill()
            tgt.start()  # which keeps no reservations
            out, err = running.communicate(timeout=300)
            self.assertEqual(running.returncode, 3, out + err)
            self.assertIn("its registration is gone", " ".join((out + err).split()))

    def test_a_device_without_reservations_says_so(self):
        directory = call("mktemp", "-d", "/tmp/lsfenceXXXXXX")
        self.addCleanup(os.rmdir, directory)
        with LoopDevice(directory) as device, Fleet(1, allow=[device.path]) as fleet:
            job = (
                "name: fenced\nhosts: {count: 1}\n"
                f"targets: [{{name: disk, device: {{path: {device.path}}}, fence: reservation}}]\n"
                "phases: [{run: {duration: 1s, workloads: [{read: 0%}]}}]\n"
            )
            done = fleet.run_job(job)
            self.assertEqual(done.status, 3, str(done))
            self.assertIn("the device has no persistent reservations", done.text)
            done = fleet.run_job(job.replace(f"device: {{path: {device.path}}}", "null: {}"))
            self.assertEqual(done.status, 2, str(done))
