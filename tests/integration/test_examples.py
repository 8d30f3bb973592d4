"""The jobs in examples/: each is planned as it stands, and run in the shorter form that its own
head gives.
"""

import contextlib
import glob
import os
import re
import tempfile

from fleet import ROOT, FleetTest, needs_root
from loops import LoopDevice

LUN = "/dev/disk/by-id/wwn-0x5000c500a1b2c3d4"


def examples():
    return {
        os.path.basename(path).removesuffix(".yaml"): path
        for path in sorted(glob.glob(os.path.join(ROOT, "examples", "*.yaml")))
    }


def shorter(job):
    """The --set options in the job's head."""
    head = "\n".join(line for line in job.splitlines() if line.startswith("#"))
    return re.findall(r"--set (\S+)", head)


class Examples(FleetTest):
    def job(self, name):
        with open(examples()[name], encoding="utf-8") as text:
            return text.read().replace("/mnt/test", self.fleet.data)

    def test_there_are_twenty(self):
        self.assertGreaterEqual(len(examples()), 20)
        for name in examples():
            self.assertIn(f"name: {name}\n", self.job(name))

    def runs(self, names):
        for name in names:
            with self.subTest(name=name):
                job = self.job(name)
                self.assertTrue(shorter(job), "its head has no shorter form")
                words = [word for wanted in shorter(job) for word in ("--set", wanted)]
                self.ok(self.fleet.lockstep("plan", "-", *words, stdin=job))
                done = self.ok(self.fleet.run_job(job, *words, "--format", "json"))
                report = done.json()
                self.assertEqual(report["run"]["state"], "done")
                # Every phase with load has measured something.
                loads = [p for p in report["phases"] if p["kind"] in ("run", "precondition")]
                self.assertTrue(loads)
                for phase in loads:
                    self.assertGreater(phase["total"]["operations"], 0, phase["name"])

    def test_the_first_half_runs(self):
        self.runs([name for name in examples() if name != "array"][::2])

    def test_the_second_half_runs(self):
        self.runs([name for name in examples() if name != "array"][1::2])


@needs_root
class ArrayExample(FleetTest):
    """The example that needs a device: a loop device in place of the LUN."""

    @classmethod
    def setUpClass(cls):
        cls.stack = contextlib.ExitStack()
        try:
            cls.folder = cls.stack.enter_context(tempfile.TemporaryDirectory())
            cls.lun = cls.stack.enter_context(LoopDevice(cls.folder))
            cls.fleet_options = {"allow": [cls.lun.path]}
            super().setUpClass()
        except BaseException:
            cls.stack.close()
            raise

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.stack.close()

    def test_the_array_runs(self):
        with open(examples()["array"], encoding="utf-8") as text:
            job = text.read()
        self.assertIn(LUN, job)
        words = [word for wanted in shorter(job) for word in ("--set", wanted)]
        done = self.ok(
            self.fleet.run_job(job.replace(LUN, self.lun.path), *words, "--format", "json")
        )
        self.assertEqual(done.json()["run"]["state"], "done")
