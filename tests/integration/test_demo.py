"""lockstep demo: four hosts, as network namespaces where that is possible."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

import pytest
from fleet import BIN, needs_root


@pytest.mark.alone  # what others do on the device is held against it
class Demo(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="lsdemo", dir="/tmp")
        os.chmod(self.directory, 0o755)
        self.addCleanup(shutil.rmtree, self.directory)
        os.mkdir(self.directory + "/files")

    def demo(self, *prefix):
        return subprocess.run(
            [
                *prefix,
                f"{BIN}/lockstep",
                "demo",
                "--format",
                "json",
                "--state-dir",
                self.directory + "/state",
                "--directory",
                self.directory + "/files",
            ],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    @needs_root
    def test_four_namespaces_on_one_kernel_are_summed(self):
        done = self.demo()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("each a host of its own (network namespace)", done.stderr)
        report = json.loads(done.stdout)
        mix = report["phases"][1]
        self.assertEqual([h["host"] for h in mix["hosts"]], ["node1", "node2", "node3", "node4"])
        (device,) = [device for device in mix["devices"] if not device["nested"]]
        self.assertEqual(len(device["hosts"]), 4)
        # Other tests may use the same disk too; a host that is not summed would be a quarter.
        check = device["crossCheck"]
        if check["verdict"] == "VERDICT_NOT_ATTRIBUTABLE":
            self.assertRegex(check["reason"], "more: other programs|may be theirs")
        else:
            verdicts = ("VERDICT_AGREE", "VERDICT_COALESCED", "VERDICT_AMPLIFIED")
            self.assertIn(check["verdict"], verdicts, check)
        self.assertGreater(check["factor"], 0.95)
        self.assertLess(check["factor"], 1.25)
        (kernel,) = mix["kernels"]
        self.assertEqual(len(kernel["hosts"]), 4)
        self.assertEqual(os.listdir(self.directory + "/files"), [])
        left = subprocess.run(
            ["pgrep", "-af", self.directory], capture_output=True, text=True, check=False
        ).stdout
        self.assertEqual(left, "")
        self.assertNotIn(
            "ls-bridge",
            subprocess.run(["ip", "link"], capture_output=True, text=True, check=True).stdout,
        )

    @needs_root
    def test_an_ordinary_user_gets_plain_processes(self):
        shutil.chown(self.directory, "nobody")
        shutil.chown(self.directory + "/files", "nobody")
        done = self.demo("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("as plain processes", done.stderr)
        self.assertEqual(len(json.loads(done.stdout)["phases"][1]["hosts"]), 4)
