"""The seven stories of tests that misled somebody: each is an experiment here, and the report names
its trap. On a file system of its own, on a loop device, so that no neighbour is in the figures.
"""

import os
import re
import subprocess
import unittest

from fleet import Fleet, needs_root
from loops import attach, detach, unmount


def call(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def load(name, workload, run="duration: 3s"):
    return (
        f"  - {{name: {name}, run: {{{run}, workloads: "
        f"[{{name: w, targets: [files], {workload}}}]}}}}\n"
    )


DD = "block_size: 64KiB, pattern: sequential, read: 0%"
BUFFERED = "direct: false, engine: sync"


@needs_root
class Stories(unittest.TestCase):
    """One run has all that needs storage; each test reads a phase of it."""

    @classmethod
    def setUpClass(cls):
        cls.directory = call("mktemp", "-d", "/tmp/lsstoriesXXXXXX")
        cls.addClassCleanup(call, "rm", "-rf", cls.directory)
        image = os.path.join(cls.directory, "image")
        with open(image, "wb") as out:
            out.truncate(1 << 30)
        cls.loop = attach(image, "--direct-io=on")
        cls.addClassCleanup(detach, cls.loop)
        # Nothing is left to be initialised in the background.
        call("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", cls.loop)
        mount = os.path.join(cls.directory, "mount")
        os.mkdir(mount)
        call("mount", cls.loop, mount)
        cls.addClassCleanup(unmount, mount)
        name = os.path.basename(cls.loop)
        with open(f"/sys/block/{name}/queue/max_sectors_kb", "w", encoding="ascii") as out:
            out.write("128")
        cls.fleet = Fleet(2, allow=[mount])
        cls.addClassCleanup(cls.fleet.__exit__)
        cls.fleet.__enter__()
        job = (
            "name: stories\nhosts: {count: 2}\ntargets:\n"
            f'  - {{name: files, file: {{path: "{mount}/{{host}}/file", size: 64MiB}}}}\n'
            "phases:\n  - prepare:\n"
            + load(
                "which figure",
                f"{BUFFERED}, block_size: 16KiB, read: 60%, fsync: {{every_ios: 100}}",
                "duration: 3s, expect: {iops: 100000000}",
            )
            + load("honest", "block_size: 16KiB, read: 100%, queue_depth: 1")
            + load(
                "dd",
                f"{BUFFERED}, {DD}, fsync: {{every_ios: 64}}",
            )
            + load("dd direct", f"{DD}, queue_depth: 1")
            + load("busy", f"{BUFFERED}, block_size: 1KiB, read: 0%, fsync: {{every_ios: 1}}")
            + load(
                "small writes",
                f"{BUFFERED}, block_size: 4KiB, pattern: sequential, read: 0%, threads: 4, "
                "fsync: {every_ios: 100, mode: fdatasync}",
            )
            + load("split", "block_size: 1MiB, read: 100%, queue_depth: 2")
            + "  - cleanup:\n"
        )
        done = cls.fleet.run_job(job, "--format", "json", timeout=300)
        cls.report = done.json()
        cls.text = cls.fleet.lockstep("report", "last", "--detail").text
        cls.status = done.status

    def phase(self, name):
        return next(p for p in self.report["phases"] if p["name"] == name)

    def device(self, name):
        phase = self.phase(name)
        return next(d for d in phase["devices"] if d["name"] == os.path.basename(self.loop))

    def verdict(self, name):
        return self.device(name)["crossCheck"]["verdict"]

    def findings(self, name):
        return {f["kind"]: f["sentence"] for f in self.device(name)["findings"]}

    def test_which_figure_is_real(self):
        phase = self.phase("which figure")
        self.assertEqual(self.verdict("which figure"), "VERDICT_PAGE_CACHE")
        # Beside busy neighbours copying takes most of the time, or the disk is never idle.
        limits = ("fsync", "page cache", "device", "queue depth")
        self.assertIn(phase["workloads"][0]["limitedBy"], limits)
        self.assertGreater(phase["kernels"][0]["contextSwitchesPerSecond"], 0)
        self.assertEqual([e["met"] for e in phase["expectations"]], [False])
        self.assertNotEqual(self.status, 0)
        remarks = " ".join(phase["remarks"])
        self.assertIn("these are memory's figures, not the device's", remarks)
        self.assertIn("Files of twice the memory, or direct I/O, show the device", remarks)

    def test_an_honest_test_says_nothing(self):
        phase = self.phase("honest")
        self.assertEqual(self.verdict("honest"), "VERDICT_AGREE")
        self.assertEqual(self.findings("honest"), {})
        # Beside busy neighbours the processors may be named.
        self.assertEqual([r for r in phase["remarks"] if "processors" not in r], [])
        # Nor what is so of any device that busy neighbours share: that it stood still.
        self.assertEqual(
            self.fleet.sql(
                "SELECT count(*) FROM phase_findings WHERE run_id = last_run() "
                "AND phase_name = 'honest' AND kind NOT IN ('straggler', 'starvation', "
                "'omission', 'outage')"
            ),
            [["0"]],
        )

    def test_where_the_threads_time_went_is_told(self):
        for thread in self.phase("busy")["threads"]:
            self.assertGreater(thread["fsyncRatio"], 0.5)

    def holds(self, phase, verdict):
        """Whether that is the verdict. Beside other programs' I/O, wherever that goes, the bytes
        may be theirs, and the report says so."""
        check = self.device(phase)["crossCheck"]
        beside = r"may be theirs|other programs' \(|bytes of other programs"
        if check["verdict"] == "VERDICT_NOT_ATTRIBUTABLE" and re.search(beside, check["reason"]):
            return False
        self.assertEqual(check["verdict"], verdict, check["reason"])
        return True

    def test_dd_through_the_page_cache_is_told_from_the_device(self):
        if self.holds("dd", "VERDICT_COALESCED"):
            self.assertIn("not for blocks of 64 KiB", self.device("dd")["crossCheck"]["reason"])
        self.assertEqual(self.verdict("dd direct"), "VERDICT_AGREE")

    def test_a_device_that_is_busy_writes_more_than_it_was_asked_for(self):
        # If so little was written that the verdict's own slack hides it, there is none.
        too_few = self.phase("busy")["total"]["bytes"] < 2 << 20
        if not too_few and self.holds("busy", "VERDICT_AMPLIFIED"):
            self.assertGreater(self.device("busy")["crossCheck"]["factor"], 2)
        self.assertIn("the load's syncs", self.findings("busy")["flushes"])

    def test_small_writes_are_limited_by_their_syncs(self):
        workload = self.phase("small writes")["workloads"][0]
        self.assertEqual(workload["limitedBy"], "fsync", workload["limitedBecause"])

    def test_requests_that_the_queue_splits_are_told(self):
        self.assertIn("takes at most 128 KiB", self.findings("split")["split"])

    def test_the_device_that_was_touched_is_named(self):
        self.assertIn(os.path.basename(self.loop), self.text)
        self.assertEqual(
            {d["name"] for p in self.report["phases"] for d in p["devices"] if not d["nested"]},
            {os.path.basename(self.loop)},
        )

    def test_sql_has_what_the_report_concludes(self):
        rows = self.fleet.sql(
            "SELECT phase_name, kind, count(*) FROM phase_findings WHERE run_id = last_run() AND "
            "device <> '' GROUP BY 1, 2 ORDER BY 1, 2"
        )
        wanted = {}
        words = {
            "VERDICT_PAGE_CACHE": "page cache",
            "VERDICT_COALESCED": "coalesced",
            "VERDICT_AMPLIFIED": "amplified",
            "VERDICT_NOT_ATTRIBUTABLE": "not attributable",
        }
        for phase in self.report["phases"]:
            for device in phase["devices"]:
                kinds = [f["kind"] for f in device["findings"]]
                # A device underneath the loop device has no verdict.
                verdict = device.get("crossCheck", {}).get("verdict")
                kinds += [words[verdict]] if verdict in words else []
                for kind in kinds:
                    key = (phase["name"], kind)
                    wanted[key] = wanted.get(key, 0) + 1
        self.assertEqual(rows, [[name, kind, str(n)] for (name, kind), n in sorted(wanted.items())])


class Generator(unittest.TestCase):
    """Without storage: the generator and the number of threads."""

    def test_the_tool_as_bottleneck_and_the_knee_are_told(self):
        with Fleet(1) as fleet:
            job = (
                "name: generator\ntargets: [{name: n, null: {}}, "
                "{name: slow, null: {latency: 5ms}}]\nphases:\n"
                "  - {name: tool, run: {duration: 1s, workloads: "
                "[{targets: [n], engine: 'null', queue_depth: 32}]}}\n"
                "  - {name: threads, run: {duration: 1s, workloads: "
                "[{targets: [slow], engine: 'null', queue_depth: 1, max_iops: 500}],\n"
                "     sweep: {axes: [{field: threads, values: [1, 2, 4, 8, 16]}]}}}\n"
            )
            done = fleet.run_job(job, "--format", "json")
            self.assertEqual(done.status, 0, str(done))
            report = done.json()
            self.assertEqual(report["phases"][0]["workloads"][0]["limitedBy"], "no storage")
            self.assertIn(
                "no storage: these are the load generator's own figures",
                report["phases"][0]["remarks"],
            )
            self.assertEqual([k["of"] for k in report["sweeps"][0]["knees"]], ["threads"])
