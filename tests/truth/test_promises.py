"""A promised maximum: the share of it that a load reaches, and the cause of more."""

import re
import subprocess

from fleet import Fleet, needs_root
from loops import MIB, mount_ext4
from truth import TruthTest, situation


def call(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


@needs_root
class Promises(TruthTest):
    """On a file system of its own, on a loop device, so that nobody else moves anything on it."""

    workers = 1

    @classmethod
    def setUpClass(cls):
        directory = call("mktemp", "-d", "/tmp/lspromisesXXXXXX")
        cls.addClassCleanup(call, "rm", "-rf", directory)
        cls.mount = f"{directory}/mount"
        cls.loop = mount_ext4(cls.addClassCleanup, f"{directory}/image", cls.mount, 64 * MIB)
        cls.start_fleet(Fleet(cls.workers, allow=[cls.mount]))

    def job(self, target, workload, promised):
        prepare = "  - prepare:\n" if target.startswith("file") else ""
        return (
            f"name: promises\ntargets: [{{name: t, {target}}}]\nphases:\n{prepare}"
            f"  - {{name: mix, run: {{duration: 2s, promised: {promised}, "
            f"workloads: [{{name: w, {workload}}}]}}}}\n"
        )

    def file(self):
        return f'file: {{path: "{self.mount}/{{host}}/file", size: 4MiB}}'

    def promise(self, job):
        """The only promise of a run that ends well; the same in all outputs."""
        report = self.run_report(job)
        self.assertEqual(report["verdict"]["word"], "done")
        mix = self.phase(report)
        (promise,) = mix["promised"]
        self.assertEqual(promise["found"], mix["total"]["iops"])
        self.assertAlmostEqual(promise["ratio"], promise["found"] / promise["promised"])
        self.says(promise["text"])
        rows = self.rows(
            "SELECT share, cause, sentence FROM phase_findings WHERE run_id = last_run() AND "
            "kind = 'promise'"
        )
        warnings = " ".join(report["verdict"]["warnings"])
        if promise["exceeded"]:
            (row,) = rows
            self.assertEqual(row["cause"], promise["cause"])
            self.assertEqual(row["sentence"], promise["text"])
            self.assert_near(row["share"], promise["ratio"], 1e-6)
            self.assertIn(promise["text"], warnings)
        else:
            self.assertEqual((rows, promise["cause"]), ([], ""))
            self.assertNotIn("promised", warnings)
        text = self.ok(self.fleet.lockstep("report", "last")).text
        self.assertIn(promise["text"], " ".join(text.split()))
        self.assertIn(promise["text"].split(" promised")[0], self.report("markdown"))
        return promise

    @situation("9", "reads of a file of 4 MiB that is in the page cache; 10 IOPS were promised")
    def test_what_the_page_cache_served_is_the_cause(self):
        workload = "block_size: 4KiB, direct: false, engine: sync"
        # The first rate of the device would be beyond the promise, too.
        warm = f"  - run: {{workloads: [{{{workload}, passes: 1}}]}}\n  - {{name: mix"
        job = self.job(self.file(), workload, "{iops: 10}").replace("  - {name: mix", warm)
        promise = self.promise(job)
        self.assertTrue(promise["exceeded"])
        self.assertGreater(promise["ratio"], 100)
        said = re.fullmatch(r"(\d+) % of the reads came from the page cache", promise["cause"])
        self.assertIsNotNone(said, promise["cause"])
        # The device can have read the file once, at most.
        self.assertGreater(int(said[1]), 50)

    @situation("9", "direct reads, 200/s of a device for which 1/s was promised")
    def test_a_device_that_gives_more_is_named(self):
        workload = "block_size: 4KiB, max_iops: 200"
        promise = self.promise(self.job(self.file(), workload, "{iops: 1}"))
        self.assertTrue(promise["exceeded"], promise)
        # Not where the file system spreads over several devices.
        said = r"\S+( devices)? served them, by its own counters|what served them is not known"
        self.assertRegex(promise["cause"], f"^({said})$")

    @situation("9", "a limit of 500/s where 2,000/s were promised")
    def test_a_load_below_the_promise_has_a_share(self):
        null = "null: {size: 1GiB, latency: 1ms}"
        workload = "engine: 'null', max_iops: 500"
        promise = self.promise(self.job(null, workload, "{iops: 2k}"))
        self.assertFalse(promise["exceeded"])
        self.assertLess(promise["ratio"], 0.27)
        self.assertRegex(promise["text"], r"^\d+ of 2,000 IOPS promised: \d+ %$")

    @situation("9", "a null target of which 1/s was promised, at a rate of 500/s")
    def test_a_null_target_is_no_storage(self):
        null = "null: {size: 1GiB, latency: 1ms}"
        workload = "engine: 'null', max_iops: 500"
        promise = self.promise(self.job(null, workload, "{iops: 1}"))
        self.assertTrue(promise["exceeded"], promise)
        self.assertIn("null targets", promise["cause"])
