"""`lockstep run --local`: all that a job needs, for one command."""

import os
import shutil
import subprocess
import tempfile
import unittest

from fleet import BIN, ROOM_OF_STORES, Fleet, files_job


def lockstep(*words, stdin=None):
    environment = {**os.environ, "NO_COLOR": "1", "LOCKSTEP_CONTROLLER": "127.0.0.1:1"}
    return subprocess.run(
        [f"{BIN}/lockstep", *words],
        input=stdin,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


class Local(unittest.TestCase):
    def setUp(self):
        self.data = tempfile.mkdtemp(prefix="ls", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.data)
        self.state = tempfile.mkdtemp(prefix="ls", dir=ROOM_OF_STORES)
        self.addCleanup(shutil.rmtree, self.state)
        os.chmod(self.state, 0o755)

    def run_local(self, job, *words, state=None):
        words = ("run", "-", "--local", "--state-dir", state or self.state, *words)
        return lockstep(*words, stdin=job)

    def test_one_command_runs_a_job_and_keeps_its_result(self):
        job = files_job(self.data, duration="1s", workload=", max_iops: 500")
        words = ("--workers", "2", "--allow", self.data)
        done = self.run_local(job, *words, "--set", "labels.try=1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 hosts", done.stdout)
        self.assertEqual([], os.listdir(self.data), "the job's cleanup removes its files")
        done = self.run_local(job, *words, "--ab", os.devnull)
        self.assertEqual(done.returncode, 2, "an empty job file")
        # The first run is in the store.
        fleet = Fleet(0, copies_store=False)
        fleet.state = self.state
        with fleet:
            self.assertEqual(fleet.sql("SELECT state, labels ->> 'try' FROM runs"), [["done", "1"]])

    def test_it_consents_to_nothing(self):
        job = files_job(self.data, hosts=1, duration="1s")
        done = self.run_local(job)
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn(f"--allow permits ({self.state}/data)", " ".join(done.stdout.split()))
        self.assertEqual([], os.listdir(self.data))
        done = self.run_local(job, "--allow", self.data + "/nothing")
        self.assertEqual(done.returncode, 1)
        self.assertIn("make it first", done.stderr)
        # Not more than the disk has, either.
        big = files_job(self.data, hosts=1, size="1PiB")
        done = self.run_local(big, "--allow", self.data)
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn("refused before anything was written", done.stdout)
        self.assertEqual([], os.listdir(self.data))

    def test_a_store_that_is_in_use_names_its_controller(self):
        with Fleet(0) as fleet:
            job = files_job(self.data, hosts=1, duration="1s")
            done = self.run_local(job, "--allow", self.data, state=fleet.state)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(f"the controller at {fleet.address} uses this store", done.stderr)
            self.assertEqual(fleet.lockstep("status").status, 0)

    def test_its_flags_need_it(self):
        done = lockstep("run", "-", "--allow", self.data, stdin="")
        self.assertEqual(done.returncode, 1)
        self.assertIn("--local", done.stderr)
