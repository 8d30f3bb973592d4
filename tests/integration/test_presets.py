"""`lockstep preset`: jobs that come with Lockstep."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from device_jobs import call, digest
from fleet import BIN, ROOM_OF_STORES, ROOT, Fleet, FleetTest, needs_root
from loops import LoopDevice
from test_docs import blocks


def lockstep(*words, stdin=None):
    return subprocess.run(
        [f"{BIN}/lockstep", *words],
        input=stdin,
        env={**os.environ, "NO_COLOR": "1", "LOCKSTEP_CONTROLLER": "127.0.0.1:1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


class Presets(unittest.TestCase):
    def names(self):
        done = lockstep("preset")
        self.assertEqual(done.returncode, 0, done.stderr)
        return re.findall(r"^(\S+)  +\S", done.stdout, re.M)

    def test_what_is_shown_is_a_valid_job(self):
        names = self.names()
        self.assertEqual(len(names), 13)
        with open(os.path.join(ROOT, "docs/guide/presets.md"), encoding="utf-8") as guide:
            text = guide.read()
        for name in names:
            with self.subTest(name):
                self.assertIn(f"`{name}`", text)
                shown = lockstep("preset", name, "--directory", "/mnt/x", "--hosts", "3", "--show")
                self.assertEqual(shown.returncode, 0, shown.stderr)
                self.assertIn(f"name: {name}\nhosts: {{count: 3}}\n", shown.stdout)
                checked = lockstep("check", "-", stdin=shown.stdout)
                self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_overrides_are_shown(self):
        override = "phases.1.run.duration=2s"
        done = lockstep("preset", "oltp", "--directory", "/mnt/x", "--set", override, "--show")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.startswith("# A database: pages at random,"), done.stdout)
        self.assertIn(f"duration: 2s  # --set {override}\n", done.stdout)
        self.assertIn('path: "/mnt/x/{host}/oltp-log"', done.stdout)
        checked = lockstep("check", "-", stdin=done.stdout)
        self.assertEqual(checked.returncode, 0, checked.stderr)
        wrong = lockstep(
            "preset", "oltp", "--directory", "/mnt/x", "--set", "phases.9.run=x", "--show"
        )
        self.assertEqual((wrong.returncode, wrong.stdout), (2, ""))

    def test_what_is_missing_is_said(self):
        done = lockstep("preset", "oltp")
        self.assertEqual(done.returncode, 2)
        self.assertIn("needs --device PATH or --directory DIR", done.stderr)
        done = lockstep("preset", "oltq", "--directory", "/mnt/x")
        self.assertEqual(done.returncode, 2)
        self.assertIn("'oltq' is no preset; the presets are: backup-window, dd,", done.stderr)

    def test_one_command_runs_one_on_this_machine(self):
        data = tempfile.mkdtemp(prefix="ls", dir="/tmp")
        self.addCleanup(shutil.rmtree, data)
        state = tempfile.mkdtemp(prefix="ls", dir=ROOM_OF_STORES)
        self.addCleanup(shutil.rmtree, state)
        os.chmod(state, 0o755)
        small = ("--set", "targets.0.file.size=2MiB")
        where = ("--local", "--state-dir", state, "--allow", data)
        done = lockstep("preset", "dd", "--directory", data, *small, *where)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for phase in ("conv=fsync", "oflag=direct", "oflag=dsync", "iflag=direct"):
            self.assertIn(phase, done.stdout)
        self.assertEqual([], [name for _, _, names in os.walk(data) for name in names])


ICF = """Version 1.1.0
'TEST SETUP ====
'Run Time
'	hours	minutes	seconds
	0	0	1
'Queue Depth Cycling
'	start	end	step	step type
	1	4	4	EXPONENTIAL
'Test Type
	CYCLE_OUTSTANDING_IOS
'END test setup
'ACCESS SPECIFICATIONS ====
'Access specification name,default assignment
	mail,NONE
'size,% of size,% reads,% random,delay,burst,align,reply
	4096,70,60,100,0,1,4096,0
	65536,30,0,0,5,8,4096,0
'END access specifications
'MANAGER LIST ====
'Manager ID, manager name
	1,NODE1
'Manager network address

'Worker
	W1
'Worker type
	DISK
'Default target settings for worker
'Number of outstanding IOs,test connection rate,transactions per connection
	16,DISABLED,1
'Disk maximum size,starting sector,Data pattern
	8192,0,1
'End default target settings for worker
'Assigned access specs
	mail
'End assigned access specs
'Target assignments
'Target
	sdb
'Target type
	DISK
'End target
'End target assignments
'End worker
'End manager
'END manager list
"""
PARAMETERS = "sd=sd1,lun=/dev/sdb,size=4m\nwd=w,sd=sd1,xfersize=8k\nrd=r,wd=w,iorate=max\n"


class OtherTools(unittest.TestCase):
    def test_a_file_of_iometer_runs_on_this_machine(self):
        data = tempfile.mkdtemp(prefix="ls", dir="/tmp")
        self.addCleanup(shutil.rmtree, data)
        state = tempfile.mkdtemp(prefix="ls", dir=ROOM_OF_STORES)
        self.addCleanup(shutil.rmtree, state)
        os.chmod(state, 0o755)
        path = os.path.join(data, "mail.icf")
        with open(path, "w", encoding="utf-8") as file:
            file.write(ICF)
        where = ("--local", "--state-dir", state, "--allow", data, "--directory", data)
        done = lockstep("run", path, *where, "--format", "json")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        (sweep,) = json.loads(done.stdout)["sweeps"]
        self.assertEqual(sweep["axes"][0]["values"], ["1", "4"])
        self.assertEqual(len(sweep["points"]), 2)

    def test_the_guide(self):
        with tempfile.TemporaryDirectory() as directory:
            for name, text in (("mail.icf", ICF), ("oltp.parm", PARAMETERS)):
                with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
                    file.write(text)
            (script,) = blocks("docs/guide/coming-from-iometer.md", "sh")
            done = subprocess.run(
                ["bash", "-ec", script],
                cwd=directory,
                env={**os.environ, "PATH": BIN + ":" + os.environ["PATH"]},
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Ladder(FleetTest):
    workers = 1

    def test_it_ends_where_blocks_are_few(self):
        words = ("--set", "targets.0.file.size=8MiB", "--set", "phases.1.run.duration=200ms")
        # So many IOPS are no point's: the first one ends it.
        words += ("--set", "phases.1.run.sweep.stop_at_iops=900000000", "--set", "interval=100ms")
        words += ("--set", "phases.1.run.sweep.axes.0.values=[64KiB, 128KiB, 256KiB]")
        words += ("--set", "store_filesystem=true", "--format", "json")
        done = self.ok(
            self.fleet.lockstep("preset", "iops-ladder", "--directory", self.fleet.data, *words)
        )
        (sweep,) = done.json()["sweeps"]
        self.assertEqual(len(sweep["points"]), 1)
        self.assertIn("2 points were left out", " ".join(sweep["remarks"]))

    def test_the_guide(self):
        with tempfile.TemporaryDirectory() as directory:
            for block in blocks("docs/guide/presets.md", "sh"):
                script = block.replace("/mnt/test", self.fleet.data).replace("64MiB", "2MiB")
                script = script.replace("run.duration=2s", "run.duration=100ms")
                # Store and targets may share a disk here.
                script = re.sub(
                    r"(?m)^(lockstep preset (?:dd|four-corners)) ",
                    r"\1 --set store_filesystem=true --set interval=100ms ",
                    script,
                )
                for phase in range(1, 5):
                    script = script.replace(
                        f"--set phases.{phase}.run.duration",
                        f"--set phases.{phase}.run.ramp=0s --set phases.{phase}.run.duration",
                    )
                done = subprocess.run(
                    ["bash", "-ec", script],
                    cwd=directory,
                    env={**self.fleet.environment(), "PATH": BIN + ":" + os.environ["PATH"]},
                    capture_output=True,
                    text=True,
                    check=False,
                )
                self.assertEqual(done.returncode, 0, f"{script}\n{done.stdout}{done.stderr}")


@needs_root
class Consent(unittest.TestCase):
    def test_a_preset_gives_none(self):
        directory = tempfile.mkdtemp(prefix="ls", dir="/tmp")
        self.addCleanup(shutil.rmtree, directory)
        with LoopDevice(directory) as device, Fleet(1, allow=[device.path]) as fleet:
            call("mkfs.ext4", "-q", device.path)
            before = digest(device.file)
            for words in ((), ("--set", f"expendable={device.identity}")):
                size = ("--set", "targets.0.device.size=32MiB")
                done = fleet.lockstep("preset", "dd", "--device", device.path, *size, *words)
                self.assertNotEqual(done.status, 0, str(done))
                self.assertEqual(digest(device.file), before)
