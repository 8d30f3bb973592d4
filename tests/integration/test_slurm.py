"""examples/slurm: one script runs a job on the nodes of a real Slurm, and leaves nothing there."""

import unittest

import pytest
from bare_root import run
from fleet import ROOT, needs_root, wait_for
from slurm import Cluster, is_installed

SCRIPT = f"{ROOT}/examples/slurm/lockstep.sbatch"
JOB = """name: slurm
targets: [{name: data, file: {path: "/scratch/{host}", size: 4MiB}}]
phases:
  - prepare:
  - name: mix
    run:
      duration: DURATION
      workloads: [{read: 70%, queue_depth: 4, direct: false, max_iops: 500}]
      expect: {errors: 0}
  - cleanup:
"""


def job(duration):
    return JOB.replace("DURATION", duration)


class Script(unittest.TestCase):
    def test_it_says_how_it_is_used_and_has_no_errors(self):
        run("shellcheck", SCRIPT)
        run("bash", "-n", SCRIPT)
        with self.assertRaises(AssertionError) as refused:
            run("bash", SCRIPT, "job.yaml")
        self.assertIn("usage: sbatch", str(refused.exception))


class SlurmTest(unittest.TestCase):
    """A cluster for all tests of a class."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        cls.addClassCleanup(cls.cluster.__exit__, None, None, None)
        cls.cluster.__enter__()
        with open(SCRIPT, encoding="utf-8") as text:
            cls.cluster.write("lockstep.sbatch", text.read())

    def submit(self, text, *words, options=""):
        """Returns the number of the Slurm job."""
        self.cluster.write("job.yaml", text)
        command = f"LOCKSTEP_BIN=/opt/lockstep sbatch --parsable --nodes=2 {options}"
        arguments = " ".join(["job.yaml", *(words or ("--allow", "/scratch"))])
        return self.cluster.run(f"{command} lockstep.sbatch {arguments}").strip()

    def state(self, number):
        return self.cluster.run(f"scontrol show job {number} | grep -o 'JobState=[A-Z]*'").strip()

    def output(self, number):
        return self.cluster.call(f"cat lockstep-{number}.out").stdout

    def await_end(self, number):
        over = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT")
        wait_for(
            "the Slurm job's end", lambda: self.state(number).split("=")[1] in over, seconds=120
        )
        wait_for("its processes' end", self.is_idle)
        return self.state(number).split("=")[1]

    def is_idle(self):
        return self.cluster.is_idle() and not self.cluster.call("pgrep -l lockstep").stdout

    def assert_nothing_is_left(self):
        left = self.cluster.run("ls -A /scratch /tmp", user="root").split()
        self.assertEqual(left, ["/scratch:", "/tmp:"])


@needs_root
@unittest.skipUnless(is_installed(), "needs slurmctld, slurmd and munge")
class OneSlurmJob(SlurmTest):
    """In every test run."""

    def test_a_job_on_two_nodes_leaves_a_report_and_nothing_else(self):
        number = self.submit(job("1s"), options="--export=ALL,LOCKSTEP_EXPORT=run.lockstep")
        self.assertEqual(self.await_end(number), "COMPLETED", self.output(number))
        said = self.output(number)
        self.assertIn("Lockstep: slurm   PASSED", said)
        self.assertIn("1 of 1 met", said)
        self.assertIn("prepare: 2 files made", said)
        self.assertGreater(int(self.cluster.run("stat --format=%s run.lockstep")), 1000)
        self.assert_nothing_is_left()


@needs_root
@pytest.mark.long
@unittest.skipUnless(is_installed(), "needs slurmctld, slurmd and munge")
class Slurm(SlurmTest):
    def test_an_expectation_that_is_not_met_fails_the_job(self):
        number = self.submit(job("1s").replace("errors: 0", "iops: 1000000"))
        self.assertEqual(self.await_end(number), "FAILED", self.output(number))
        self.assertIn("FAILED", self.output(number))
        self.assert_nothing_is_left()

    def start_long(self):
        number = self.submit(job("600s"))
        wait_for("the load", lambda: self.cluster.call("ls /scratch/n2").returncode == 0)
        wait_for("the load's figures", lambda: "IOPS" in self.output(number))
        return number

    def test_keys_are_for_the_user_alone(self):
        number = self.start_long()
        found = self.cluster.run("find /tmp -name key.pem -perm 600", user="root").split()
        self.assertGreaterEqual(len(found), 3, found)
        open_ones = "find /tmp -mindepth 1 -maxdepth 1 -perm /077 -o -name '*key*' -perm /077"
        self.assertEqual(self.cluster.run(open_ones, user="root"), "")
        # Everybody on a node reads the words of commands.
        words = self.cluster.run("cat /proc/[0-9]*/cmdline | tr '\\0' ' '", user="root")
        self.assertNotIn("PRIVATE" + " KEY", words)
        self.cluster.run(f"scancel --batch --signal=TERM {number}")
        self.await_end(number)
        self.assert_nothing_is_left()

    def test_the_time_limit_ends_the_run_with_its_cleanup(self):
        number = self.start_long()
        # slurmctld sends this two minutes before the limit.
        self.cluster.run(f"scancel --batch --signal=TERM {number}")
        self.await_end(number)
        self.assertIn("the time limit of Slurm", self.output(number))
        self.assert_nothing_is_left()

    def test_a_cancelled_job_leaves_nothing_but_its_files(self):
        number = self.start_long()
        self.cluster.run(f"scancel {number}")
        self.assertEqual(self.await_end(number), "CANCELLED")
        self.cluster.run("rm -f /scratch/n1* /scratch/n2*", user="root")
        self.assert_nothing_is_left()

    def test_what_a_worker_cannot_use_is_said(self):
        number = self.submit(job("1s"), "--allow", "/none")
        self.assertEqual(self.await_end(number), "FAILED")
        self.assertIn("/none", self.output(number))
        self.assert_nothing_is_left()


if __name__ == "__main__":
    unittest.main()
