"""`lockstep preset`: jobs that Lockstep brings along."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

from fleet import BIN, ROOM_OF_STORES, ROOT, Fleet, FleetTest, needs_root
from loops import LoopDevice
from test_docs import blocks
from test_guard import call, digest


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
