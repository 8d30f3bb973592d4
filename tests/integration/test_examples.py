"""The jobs in examples/ and examples/stories/: each is planned, and run in the shorter form that
its own head gives.
"""

import contextlib
import glob
import os
import re
import subprocess
import tempfile

from fleet import ROOT, FleetTest, needs_root
from loops import LoopDevice

LUN = "/dev/disk/by-id/wwn-0x5000c500a1b2c3d4"


# Those that a test of their own runs.
APART = ("array", "iozone")


def jobs_in(folder):
    return {
        os.path.basename(path).removesuffix(".yaml"): path
        for path in sorted(glob.glob(os.path.join(ROOT, folder, "*.yaml")))
    }


def examples():
    return jobs_in("examples")


def stories():
    return jobs_in("examples/stories")


def text_of(path):
    with open(path, encoding="utf-8") as text:
        return text.read()


def sets(job, title):
    """The --set options in the job's head, below this title."""
    part = re.search(rf"^# {title}:\n((?:#   .*\n)+)", job, re.MULTILINE)
    return re.findall(r"--set \S+", part.group(1)) if part else []


def shorter(job):
    """The same as words of a command."""
    return [word for option in sets(job, "Shorter") for word in option.split(" ", 1)]


class RunsJobs(FleetTest):
    def run_shortly(self, job):
        """Plans and runs it in its shorter form; the report."""
        words = shorter(job)
        self.assertTrue(words, "its head has no shorter form")
        self.ok(self.fleet.lockstep("plan", "-", *words, stdin=job))
        report = self.ok(self.fleet.run_job(job, *words, "--format", "json")).json()
        self.assertEqual(report["run"]["state"], "done")
        # Every phase with load has measured something.
        loads = [p for p in report["phases"] if p["kind"] in ("run", "precondition")]
        self.assertTrue(loads)
        for phase in loads:
            self.assertGreater(phase["total"]["operations"], 0, phase["name"])
        return report

    def says(self, *patterns):
        """The first screen of the last run's report has them."""
        screen = " ".join(self.ok(self.fleet.lockstep("report", "last")).out.split())
        for pattern in patterns:
            self.assertRegex(screen, pattern)


class Examples(RunsJobs):
    def job(self, name):
        return text_of(examples()[name]).replace("/mnt/test", self.fleet.data)

    def test_there_are_twenty(self):
        self.assertGreaterEqual(len(examples()), 20)
        for name in examples():
            self.assertIn(f"name: {name}\n", self.job(name))

    def runs(self, names):
        for name in names:
            with self.subTest(name=name):
                self.run_shortly(self.job(name))

    def test_the_first_half_runs(self):
        self.runs([name for name in examples() if name not in APART][::2])

    def test_the_second_half_runs(self):
        self.runs([name for name in examples() if name not in APART][1::2])

    def test_iozone_has_iozones_columns(self):
        report = self.run_shortly(self.job("iozone"))
        self.assertEqual([len(sweep["points"]) for sweep in report["sweeps"]], 6 * [1])
        text = self.ok(self.fleet.lockstep("report", "last", "--format", "iozone")).out
        columns = ("Writer", "Re-writer", "Reader", "Re-Reader", "Random read", "Random write")
        # 1 MiB in records of 64 KiB; a number of kB/s.
        pattern = "".join(rf'"{c} report"\n +"64"\n"1024"  [1-9]\d*\n\n' for c in columns)
        self.assertRegex(text, f"^{pattern}$")


# In their shorter forms sweeps have a single round.
NO_BEST = r"(?i)no point can be called best after 1 round"


def spread(report, figure):
    """The smallest and the largest of a figure of time over the points of all sweeps."""
    values = [
        point["timeSpent"][figure]
        for sweep in report["sweeps"]
        for point in sweep["points"]
        if figure in point.get("timeSpent", {})
    ]
    return (min(values), max(values)) if values else (0, 0)


class Stories(RunsJobs):
    workers = 1
    # On files in memory there is no device, and syncs cost nothing.
    ANSWERS = {
        "busy-is-not-full": NO_BEST,
        "dd-and-iostat": r"your dd: (no device|1 device on 1 host)",
        "how-many-threads": NO_BEST,
        "small-sequential-writes": NO_BEST,
        "tool-as-bottleneck": r"tool: no storage: these are the load generator's own figures",
        "which-figure": r"[\d.,]+ ?[kM]? of 5,400 IOPS promised",
    }

    def job(self, name):
        return text_of(stories()[name]).replace("/mnt/test", self.fleet.data)

    def test_there_are_seven(self):
        self.assertEqual(len(stories()), 7)
        guide = text_of(os.path.join(ROOT, "docs/guide/stories.md"))
        for name, path in stories().items():
            self.assertIn(f"name: {name}\n", text_of(path))
            self.assertIn(f"examples/stories/{name}.yaml", guide)

    def test_they_are_jobs_in_the_stories_sizes_too(self):
        for name in stories():
            with self.subTest(name=name):
                options = sets(self.job(name), "As large as in the story")
                self.assertTrue(options)
                words = [word for option in options for word in option.split(" ", 1)]
                self.ok(self.fleet.lockstep("check", "-", *words, stdin=self.job(name)))

    def test_they_run(self):
        for name in stories():
            if name == "which-scheduler":  # needs a mount of its own
                continue
            with self.subTest(name=name):
                report = self.run_shortly(self.job(name))
                self.says(self.ANSWERS[name])
                # What the points differ in is said, too.
                least, most = spread(report, "contextSwitchesPerIo")
                if most > 1.6 * least > 0:
                    self.says(r"[\d.,]+ ?[kM]? context switches/s, [\d.,e+-]+ ?[kM]? per I/O")
                least, most = spread(report, "fsyncRatio")
                if most - least > 0.12:
                    self.says(r"the threads spent \d+ % of their time in fsync; .*?: \d+ %")


@needs_root
class DeviceStories(RunsJobs):
    """On a file system of its own, whose device is seen and whose settings change."""

    workers = 1

    @classmethod
    def setUpClass(cls):
        cls.stack = contextlib.ExitStack()
        try:
            folder = cls.stack.enter_context(tempfile.TemporaryDirectory())
            loop = cls.stack.enter_context(LoopDevice(folder))
            subprocess.run(["mkfs.ext4", "-q", loop.path], check=True)
            cls.mount = os.path.join(folder, "mount")
            os.mkdir(cls.mount)
            subprocess.run(["mount", loop.path, cls.mount], check=True)
            cls.stack.callback(subprocess.run, ["umount", cls.mount], check=True)
            cls.fleet_options = {
                "allow": [cls.mount],
                "worker_flags": ["--allow-settings", cls.mount, "--allow-settings", loop.path],
            }
            super().setUpClass()
        except BaseException:
            cls.stack.close()
            raise

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.stack.close()

    def test_the_schedulers_run(self):
        job = text_of(stories()["which-scheduler"]).replace("/mnt/test", self.mount)
        report = self.run_shortly(job)
        self.says(NO_BEST)
        self.assertEqual(len(report["sweeps"][0]["points"]), 6)
        for phase in report["phases"]:
            for setting in phase.get("settings", []):
                self.assertEqual(setting["notRestored"], "", setting)

    def test_devices_are_seen(self):
        for name, answer in (
            (
                "busy-is-not-full",
                r"loop\d+ was busy for \d+ % of the time, at [\d.,]+ [KMG]?i?B/s; ",
            ),
            ("dd-and-iostat", r"your dd: 1 device on 1 host"),
        ):
            with self.subTest(name=name):
                self.run_shortly(text_of(stories()[name]).replace("/mnt/test", self.mount))
                self.says(answer)


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
        job = text_of(examples()["array"])
        self.assertIn(LUN, job)
        done = self.ok(
            self.fleet.run_job(job.replace(LUN, self.lun.path), *shorter(job), "--format", "json")
        )
        self.assertEqual(done.json()["run"]["state"], "done")
