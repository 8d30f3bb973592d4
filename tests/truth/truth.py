"""A situation whose truth is known, and what Lockstep says of it.

    class Throttled(TruthTest):
        @situation("8", "a quota of 2 % of a processor on node2")
        def test_quota(self):
            ...
            self.says(mix["limitedBy"])
            self.assertIn("CPU quota", mix["limitedBy"])

Every test of this folder is a situation. After the last one, pytest prints the table: line of the
specification, situation, truth, what was said (conftest.py). A situation that the machine could not
make is in the table, too, as skipped and with the reason. A test makes its situation by a script
(null targets), a cgroup, a signal or a file system that delays, never by a real time that passes,
and holds every output that says something of it against the truth and each other.
"""

import csv
import functools
import io
import signal

from fleet import FleetTest, wait_for

said = []  # of the test that runs


def situation(lines, truth):
    """`lines`: numbers of the statements that it checks. `truth`: what really happens, in words."""

    def decorate(function):
        @functools.wraps(function)
        def run(self, *words):
            said[:] = []
            return function(self, *words)

        run.situation = {"lines": lines, "truth": truth}
        return run

    return decorate


class TruthTest(FleetTest):
    """Tests that share one fleet, with the outputs of a run at hand."""

    def says(self, text):
        """Into the table: the words or figures that the outputs gave."""
        said.append(" ".join(str(text).split()))

    def run_and_lose_node2(self, job, *words):
        """Kills the worker of node2 while phase `mix` of a job runs that goes on without it, then
        ends the phase; the exit status, and what was printed.
        """
        running = self.fleet.start_lockstep("run", "-", *words, stdin=job)
        self.fleet.await_seconds(2)
        self.fleet.workers["node2"].send_signal(signal.SIGKILL)
        wait_for(
            "the loss to be noticed",
            lambda: self.fleet.sql("SELECT 1 FROM lost_workers WHERE run_id = last_run()"),
        )
        self.ok(self.fleet.lockstep("stop", "--phase"))
        out, err = running.communicate(timeout=300)
        return running.returncode, out, err

    def run_report(self, job, *words, status=0):
        """The JSON report of a job that ends with `status`."""
        return self.ok(self.fleet.run_job(job, *words, "--format", "json"), status).json()

    def report(self, form="text"):
        """Returns the report of the last run."""
        return self.ok(self.fleet.lockstep("report", "last", "--format", form)).out

    def rows(self, query):
        """Rows of a query as dictionaries; numbers are text."""
        done = self.ok(self.fleet.lockstep("sql", "--csv", "-c", query))
        return list(csv.DictReader(io.StringIO(done.out)))

    def phase(self, report, name="mix"):
        return next(phase for phase in report["phases"] if phase["name"] == name)

    def assert_near(self, figure, truth, share, what=""):
        """Within `share` of the truth (0.05: 5 %)."""
        self.assertLessEqual(abs(float(figure) - truth), share * abs(truth), f"{what}: {figure}")
