"""A worker that nobody can tell to end: --end-when-alone, and what a killed one leaves."""

import signal
import subprocess
import time
import unittest

from fleet import BIN, Fleet, stop, wait_for


class Alone(unittest.TestCase):
    def test_a_worker_without_a_controller_ends(self):
        with Fleet(0) as fleet:
            worker = fleet.start_worker("node1", ["--end-when-alone", "2"])
            fleet.wait_attached(1)
            # A controller that is there counts, however long it has nothing to do.
            time.sleep(4)
            self.assertIsNone(worker.poll(), fleet.log("node1"))
            stop(fleet.controller, signal.SIGKILL)
            wait_for("the worker to end", lambda: worker.poll() is not None)
            self.assertEqual(worker.returncode, 0, fleet.log("node1"))
            self.assertIn("this worker ends", fleet.log("node1"))

    def test_settings_of_a_running_worker_are_its_own(self):
        with Fleet(1) as fleet:
            words = [f"{BIN}/lockstep-worker", "--restore-settings"]
            state = ["--state-dir", f"{fleet.directory}/worker-node1"]
            busy = subprocess.run([*words, *state], capture_output=True, text=True, check=False)
            self.assertEqual(busy.returncode, 1, busy)
            stop(fleet.workers["node1"])
            done = subprocess.run([*words, *state], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
