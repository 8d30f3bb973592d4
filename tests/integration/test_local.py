"""`lockstep run --local`: all that a job needs, for one command."""

import contextlib
import glob
import json
import os
import shutil
import signal
import subprocess
import tempfile
import unittest

from fleet import BIN, ROOM_OF_STORES, Fleet, files_job, wait_for


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
        job = files_job(self.data, duration="1500ms", workload=", max_iops: 500")
        words = ("--workers", "2", "--allow", self.data)
        done = self.run_local(job, *words, "--set", "labels.try=1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(": running for 1.5 s\n", done.stderr)
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
        # A directory that the command names itself is compared before anything starts.
        for words in (
            ("preset", "dd", "--directory", self.data),
            ("sysbench", "--directory", self.data, "fileio", "prepare"),
        ):
            done = lockstep(*words, "--local", "--state-dir", self.state)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(f"with --local, give --allow {self.data}, too", done.stderr)
            self.assertEqual([], os.listdir(self.data))
        # Not more than the disk has, either.
        big = files_job(self.data, hosts=1, size="1PiB")
        done = self.run_local(big, "--allow", self.data)
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn("refused before anything was written", done.stdout)
        self.assertEqual([], os.listdir(self.data))

    def test_settings_and_observing_need_flags_of_their_own(self):
        job = files_job(self.data, hosts=1, duration="1s")
        sets = job.replace("    run:\n", "    run:\n      environment: {scheduler: none}\n")
        self.assertNotEqual(sets, job)
        allow = ("--allow", self.data)
        for flags, names in (((), "nothing"), (("--allow-settings", self.data), self.data)):
            done = self.run_local(sets, *allow, *flags)
            self.assertEqual(done.returncode, 3, done.stdout)
            text = " ".join(done.stdout.split())
            self.assertIn(f"this worker's --allow-settings names {names}", text)
        watch = "name: watch\nphases:\n  - {name: watch, observe: {duration: 1s}}\n"
        done = self.run_local(watch, *allow, "--observe", "all", "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        seen = {device["name"] for device in json.loads(done.stdout)["phases"][0]["devices"]}
        with open("/proc/diskstats", encoding="ascii") as text:
            disks = {line.split()[2] for line in text}
        self.assertTrue(seen)
        self.assertLessEqual(seen, disks)

    def test_a_store_that_is_in_use_names_its_controller(self):
        with Fleet(0) as fleet:
            job = files_job(self.data, hosts=1, duration="1s")
            done = self.run_local(job, "--allow", self.data, state=fleet.state)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(f"the controller at {fleet.address} uses this store", done.stderr)
            self.assertEqual(fleet.lockstep("status").status, 0)

    def start_local(self, job, state):
        """It begins in a session of its own, as under a terminal. Its own processes end with it."""
        words = ("run", "-", "--local", "--state-dir", state, "--allow", self.data)
        environment = {**os.environ, "NO_COLOR": "1"}
        process = subprocess.Popen(
            [f"{BIN}/lockstep", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            text=True,
            start_new_session=True,
        )
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        process.stdin.write(job)
        process.stdin.close()
        process.stdin = None
        return process

    @staticmethod
    def processes_of(state):
        """Whose arguments name the state directory."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as text:
                if state.encode() in text.read():
                    found.append(int(pid))
        return found

    def assert_ended(self, process, state):
        out, err = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 130, out + err)
        self.assertEqual([], self.processes_of(state))
        self.assertEqual([], [name for name in os.listdir(state) if name.endswith(".ready")])

    def test_a_terminal_that_hangs_up_leaves_nothing_behind(self):
        job = files_job(self.data, hosts=1, duration="300s")
        process = self.start_local(job, self.state)
        wait_for("its files", lambda: os.listdir(self.data))
        process.send_signal(signal.SIGHUP)
        self.assert_ended(process, self.state)
        self.assertEqual([], os.listdir(self.data))

    def test_ctrl_c_while_the_store_is_made_ends_all_of_it(self):
        state = os.path.join(self.state, "fresh")
        process = self.start_local(files_job(self.data, hosts=1), state)
        wait_for("initdb", lambda: glob.glob(f"{state}/postgres/initdb.*[0-9]"))
        process.send_signal(signal.SIGINT)
        self.assert_ended(process, state)
        self.assertEqual([], glob.glob(f"{state}/postgres/initdb.*[0-9]"))

    def test_paths_may_be_relative_and_have_blanks(self):
        state = os.path.join(self.state, "a b 'c'")
        job = files_job(self.data, hosts=1, duration="200ms")
        done = subprocess.run(
            [f"{BIN}/lockstep", "run", "-", "--local", "--state-dir", "a b 'c'"]
            + ["--allow", os.path.relpath(self.data, self.state)],
            input=job,
            env={**os.environ, "NO_COLOR": "1"},
            cwd=self.state,
            capture_output=True,
            text=True,
            timeout=300,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(os.stat(f"{state}/workers").st_mode & 0o777, 0o700)
        done = self.run_local(job, "--allow", self.data, state=self.state + "/x\ny")
        self.assertEqual(done.returncode, 1)
        self.assertIn("comma or control characters", done.stderr)
        done = self.run_local(job, "--allow", "")
        self.assertEqual(done.returncode, 1)
        self.assertIn("--allow: is empty", done.stderr)

    def test_a_state_directory_that_cannot_be_written_is_named(self):
        job = files_job(self.data, hosts=1)
        done = self.run_local(job, "--allow", self.data, state="/proc/sys")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/proc/sys: the state directory", done.stderr)

    def test_its_flags_need_it(self):
        done = lockstep("run", "-", "--allow", self.data, stdin="")
        self.assertEqual(done.returncode, 1)
        self.assertIn("--local", done.stderr)
        for flag in (("--allow-settings", "/dev/null"), ("--observe", "all")):
            done = lockstep("run", "-", *flag, stdin="")
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"{flag[0]} is for --local or --ssh", done.stderr)
