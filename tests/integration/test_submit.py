"""A job is submitted once, although the connection to the controller breaks before the answer."""

import contextlib
import json
import signal
import unittest

import pytest
from fleet import Fleet, wait_for
from relay import Relay

JOB = """name: once
targets: [{name: none, null: {latency: 1ms}}]
phases:
  - {name: load, run: {duration: 2s, workloads: [{engine: 'null'}]}}
"""
WAITS = (
    "the job is submitted again with the same key, so that it runs once; waiting for it, or one "
    "that takes over, for 60 s"
)
FOUND = "the controller has the job from before the connection broke"
UNKNOWN = "it is not known whether the job was submitted"


class SubmitOnce(unittest.TestCase):
    @staticmethod
    def runs(fleet):
        return [row[0] for row in fleet.sql("SELECT run_id FROM runs ORDER BY submitted_at")]

    @contextlib.contextmanager
    def submitting(self, fleet, *words):
        """A client whose job has reached the controller, whose store does not take it before the
        end of the block. No answer comes back until the relay's connections are cut.
        """
        with Relay(lambda: fleet.address) as relay, contextlib.ExitStack() as lock:
            is_waiting = lock.enter_context(fleet.locked("runs"))
            client = fleet.start_lockstep(*words, "--controller", relay.address, stdin=JOB)
            wait_for("the submission", is_waiting)
            relay.holding = True
            yield client, relay, lock.close

    @staticmethod
    def cut(relay):
        relay.holding = False
        relay.cut()

    @staticmethod
    def kill(fleet):
        fleet.controller.send_signal(signal.SIGKILL)
        fleet.controller.wait()

    def test_a_controller_that_dies_after_the_commit(self):
        with Fleet(1, controller_flags=["--lease", "4"]) as fleet:
            with self.submitting(fleet, "run", "-", "--format", "json") as (client, relay, commit):
                commit()
                wait_for("the run", lambda: self.runs(fleet))
                self.kill(fleet)
                self.cut(relay)
                fleet.start_controller(listen=fleet.address)
                out, err = client.communicate(timeout=300)
            self.assertEqual(client.returncode, 0, err)
            self.assertIn(WAITS, err)
            self.assertIn(FOUND, err)
            self.assertEqual(self.runs(fleet), [json.loads(out)["run"]["runId"]])

    def test_a_controller_that_dies_before_the_commit(self):
        with Fleet(1, controller_flags=["--lease", "4"]) as fleet:
            with self.submitting(fleet, "run", "-", "--format", "json") as (client, relay, commit):
                self.kill(fleet)
                commit()
                self.cut(relay)
                # The worker is not attached at once.
                fleet.start_controller(listen=fleet.address)
                out, err = client.communicate(timeout=300)
            self.assertEqual(client.returncode, 0, err)
            self.assertIn(WAITS, err)
            self.assertNotIn(FOUND, err)
            self.assertEqual(self.runs(fleet), [json.loads(out)["run"]["runId"]])

    def test_a_connection_that_breaks_while_the_controller_goes_on(self):
        with Fleet(1) as fleet:
            with self.submitting(fleet, "submit", "-") as (client, relay, commit):
                # The first call waits for the store when the second one comes.
                self.cut(relay)
                wait_for("the second call", lambda: WAITS in client.stderr.readline())
                commit()
                out, err = client.communicate(timeout=300)
            self.assertEqual(client.returncode, 0, err)
            self.assertEqual(self.runs(fleet), [out.strip()])

    @pytest.mark.long
    def test_a_controller_that_does_not_come_back(self):
        with Fleet(1) as fleet:
            with self.submitting(fleet, "submit", "-") as (client, relay, commit):
                commit()
                wait_for("the run", lambda: self.runs(fleet))
                self.kill(fleet)
                self.cut(relay)
                out, err = client.communicate(timeout=300)
            self.assertEqual((client.returncode, out), (1, ""), err)
            self.assertIn(UNKNOWN, err)
            self.assertIn("lockstep history --limit 5", err)
            fleet.start_controller(listen=fleet.address)
            (run,) = self.runs(fleet)
            self.assertIn(run[:8], fleet.lockstep("history", "--limit", "5").out)


if __name__ == "__main__":
    unittest.main()
