"""device_timeline and kernel_timeline: iostat's and vmstat's figures of each interval, held against
the samples, and what is left of them when the samples are pruned.
"""

import csv
import io

from fleet import FleetTest, files_job

COUNTERS = (
    "reads read_merges read_bytes read_time_ms writes write_merges write_bytes write_time_ms "
    "discards discard_merges discard_bytes discard_time_ms flushes flush_time_ms busy_time_ms "
    "queue_time_ms"
).split()


def over(part, whole):
    """NULL where there is nothing to divide by."""
    return part / whole if whole else None


def iostat(sample, seconds):
    """The columns of iostat -x, by the formulas of its manual page."""
    found = {}
    for letter, one, many in (
        ("r", "read", "reads"),
        ("w", "write", "writes"),
        ("d", "discard", "discards"),
    ):
        count, merges = sample[many], sample[f"{one}_merges"]
        found[f"{letter}_s"] = count / seconds
        found[f"{letter}mib_s"] = sample[f"{one}_bytes"] / seconds / 1048576
        found[f"{letter}rqm_s"] = merges / seconds
        found[f"{letter}rqm"] = over(100 * merges, count + merges)
        found[f"{letter}_await"] = over(sample[f"{one}_time_ms"], count)
        found[f"{letter}areq_sz"] = over(sample[f"{one}_bytes"] / 1024, count)
    found["f_s"] = sample["flushes"] / seconds
    found["f_await"] = over(sample["flush_time_ms"], sample["flushes"])
    found["aqu_sz"] = sample["queue_time_ms"] / 1000 / seconds
    found["util"] = min(100, sample["busy_time_ms"] / 10 / seconds)
    return found


def vmstat(sample, seconds):
    """The columns of vmstat, in its units: KiB, KiB/s and percent."""
    kib = {
        "swpd": "swap_used_bytes",
        "free": "free_bytes",
        "buff": "buffers_bytes",
        "dirty": "dirty_bytes",
        "dirty_max": "dirty_bytes",
        "writeback": "writeback_bytes",
    }
    found = {name: sample[column] / 1024 for name, column in kib.items()}
    found["cache"] = (sample["cached_bytes"] + sample["slab_reclaimable_bytes"]) / 1024
    found["r"], found["b"] = sample["run_queue"], sample["blocked"]
    for name, column in (("si", "swap_in_pages"), ("so", "swap_out_pages")):
        found[name] = sample[column] * sample["page_bytes"] / 1024 / seconds
    for name, column in (("bi", "block_in_bytes"), ("bo", "block_out_bytes")):
        found[name] = sample[column] / 1024 / seconds
    found["in"], found["cs"] = sample["interrupts"] / seconds, sample["context_switches"] / seconds
    ratios = {"us": "user", "sy": "system", "id": "idle", "wa": "iowait", "st": "steal"}
    known = sum(sample[f"{name}_ratio"] for name in ratios.values()) > 0
    for name, ratio in ratios.items():
        found[name] = 100 * sample[f"{ratio}_ratio"] if known else None
    return found


class Timelines(FleetTest):
    workers = 2

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        job = files_job(
            cls.fleet.data,
            duration="3s",
            extra="interval: 500ms\nlabels: {timelines: kept}",
            workload=", max_iops: 400, fsync: {every_ios: 50}",
        ).replace("duration: 3s", "duration: 3s\n      ramp: 1s")
        done = cls.fleet.run_job(job)
        assert done.status == 0, str(done)
        cls.run_id = cls.fleet.sql("SELECT last_run()")[0][0]

    def rows(self, query):
        """As the reading role sees them; NULL is None."""
        done = self.ok(self.fleet.lockstep("sql", "--csv", "-c", query))
        for row in csv.DictReader(io.StringIO(done.out)):
            yield {name: value if value != "" else None for name, value in row.items()}

    def samples(self, table):
        query = (
            f"SELECT s.* FROM {table} s JOIN phase_overview p USING (run_id, phase, attempt) "
            f"WHERE run_id = '{self.run_id}'"
        )
        texts = ("started_at", "run_id", "device", "nested")
        for row in self.rows(query):
            yield {
                name: value if name in texts or value is None else float(value)
                for name, value in row.items()
            }

    def assert_row(self, row, wanted):
        for name, value in wanted.items():
            if value is None:
                self.assertIsNone(row[name], name)
            else:
                self.assertAlmostEqual(float(row[name]), value, delta=1e-6 + abs(value) * 1e-6)

    def compare(self, table, view, formulas, key):
        seen = {key(row): row for row in self.rows(f"SELECT * FROM {view}{self.of_run()}")}
        samples = list(self.samples(table))
        self.assertEqual(len(seen), len(samples))
        classes = {1: "ramp", 2: "measured", 3: "drain"}
        for sample in samples:
            row = seen[key(sample)]
            self.assertEqual(row["class"], classes[sample["interval_class"]])
            self.assertEqual(row["intervals"], "1")
            seconds = (sample["end_ns"] - sample["begin_ns"]) / 1e9
            self.assertAlmostEqual(float(row["seconds"]), seconds)
            # A rest of less than a tenth of an interval has no rate.
            if seconds >= 0.05:
                self.assert_row(row, formulas(sample, seconds))
        return samples

    def of_run(self):
        return f" WHERE run_id = '{self.run_id}'"

    def test_devices_are_shown_as_iostat_shows_them(self):
        if not self.fleet.sql("SELECT 1 FROM device_samples" + self.of_run()):
            self.skipTest("the test's files are on no block device")

        def key(row):
            return int(row["phase"]), int(row["worker_index"]), row["device"], int(row["interval"])

        samples = self.compare("device_samples", "device_timeline", iostat, key)
        self.assertGreater(sum(sample["flushes"] + sample["writes"] for sample in samples), 0)
        self.assertEqual({int(sample["interval_class"]) for sample in samples} & {1, 2}, {1, 2})
        known = self.fleet.sql(
            "SELECT DISTINCT device, identity FROM run_targets"
            f"{self.of_run()} AND identity <> '' ORDER BY 1"
        )
        shown = self.fleet.sql(
            "SELECT DISTINCT device, identity FROM device_timeline"
            f"{self.of_run()} AND identity IS NOT NULL ORDER BY 1"
        )
        self.assertEqual(shown, known)

    def test_kernels_are_shown_as_vmstat_shows_them(self):
        def key(row):
            return int(row["phase"]), int(row["worker_index"]), int(row["interval"])

        samples = self.compare("host_samples", "kernel_timeline", vmstat, key)
        # Both workers are on one kernel, which one of them samples.
        self.assertEqual(len({sample["worker_index"] for sample in samples}), 1)
        self.assertGreater(sum(sample["context_switches"] for sample in samples), 0)
        self.assertTrue(all(sample["free_bytes"] > 0 for sample in samples))

    def test_the_report_has_vmstat_s_averages(self):
        report = self.ok(self.fleet.lockstep("report", self.run_id, "--format", "json")).json()
        mix = next(phase for phase in report["phases"] if phase["name"] == "mix")
        (kernel,) = mix["kernels"]
        (mean,) = self.rows(
            "SELECT avg(free) AS free, avg(cache) AS cache, max(dirty) AS most, "
            "sum(bo * seconds) / sum(seconds) AS bo FROM kernel_timeline"
            f"{self.of_run()} AND phase_name = 'mix' AND class = 'measured'"
        )
        self.assert_row(
            mean,
            {
                "free": kernel["freeBytesAvg"] / 1024,
                "cache": kernel["cacheBytesAvg"] / 1024,
                "most": kernel["dirtyBytesMax"] / 1024,
                "bo": kernel["blockOutBytesPerSecond"] / 1024,
            },
        )
        detail = self.ok(self.fleet.lockstep("report", self.run_id, "--detail")).text
        for name in ("swpd ", "free ", "buff ", "cache ", "dirty ", "writeback ", "bo ", " in/s"):
            self.assertIn(name, detail)

    def test_what_prune_leaves_of_them_adds_up_to_the_same(self):
        job = files_job(
            self.fleet.data, duration="2s", extra="interval: 100ms\nlabels: {timelines: pruned}"
        )
        self.ok(self.fleet.run_job(job))
        run = self.fleet.sql("SELECT last_run()")[0][0]
        counted = ", ".join(f"sum({name})" for name in COUNTERS)
        sums = f"SELECT host, device, class, {counted}, sum(intervals) FROM device_timeline "
        queries = [
            f"{sums} WHERE run_id = '{run}' GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
            "SELECT class, sum(intervals), max(dirty_max) FROM kernel_timeline "
            f"WHERE run_id = '{run}' GROUP BY 1 ORDER BY 1",
        ]
        before = [self.fleet.sql(query) for query in queries]
        measured = (
            f"SELECT * FROM device_statistics WHERE run_id = '{run}' ORDER BY phase, host, device"
        )
        statistics = list(self.rows(measured))
        rows = f"SELECT count(*) FROM kernel_timeline WHERE run_id = '{run}'"
        many = int(self.fleet.sql(rows)[0][0])
        self.ok(self.fleet.lockstep("prune", "--label", "timelines=pruned", "--samples", "--yes"))
        self.assertEqual(
            self.fleet.sql(f"SELECT count(*) FROM host_samples WHERE run_id = '{run}'"), [["0"]]
        )
        self.assertEqual([self.fleet.sql(query) for query in queries], before)
        after = list(self.rows(measured))
        self.assertEqual(len(after), len(statistics))
        for row, wanted in zip(after, statistics, strict=True):
            for name, value in wanted.items():
                if value is None or name in (
                    *("run_id", "phase_name", "host", "device", "nested"),
                ):
                    self.assertEqual(row[name], value, name)
                else:
                    self.assertAlmostEqual(float(row[name]), float(value), places=6)
        # Two seconds are less than ten: a row for each class.
        few = int(self.fleet.sql(rows)[0][0])
        self.assertLessEqual(few, 3)
        self.assertGreater(many, 15)
        # Tables that are not thinned stay as they were.
        kept = f"SELECT count(*) FROM host_samples WHERE run_id = '{self.run_id}'"
        self.assertNotEqual(self.fleet.sql(kept), [["0"]])

    def test_an_archive_of_a_pruned_run_has_what_is_left(self):
        job = files_job(self.fleet.data, duration="1s", extra="labels: {timelines: moved}")
        self.ok(self.fleet.run_job(job))
        run = self.fleet.sql("SELECT last_run()")[0][0]
        self.ok(self.fleet.lockstep("prune", "--label", "timelines=moved", "--samples", "--yes"))
        query = f"SELECT * FROM kernel_timeline WHERE run_id = '{run}' ORDER BY interval"
        before = self.fleet.sql(query)
        self.assertTrue(before)
        archive = f"{self.fleet.directory}/pruned.lockstep"
        self.ok(self.fleet.lockstep("export", run, "--output", archive))
        self.ok(self.fleet.lockstep("prune", "--label", "timelines=moved", "--yes"))
        self.assertEqual(self.fleet.sql(query), [])
        self.ok(self.fleet.lockstep("import", archive))
        self.assertEqual(self.fleet.sql(query), before)

    def test_readers_see_them_and_roll_nothing_up(self):
        for what in ("device_rollups", "host_rollups", "device_timeline", "kernel_timeline"):
            self.ok(self.fleet.lockstep("sql", "-c", f"SELECT * FROM {what}"))
        refused = self.fleet.lockstep(
            "sql", "-c", f"SELECT roll_up_samples(ARRAY['{self.run_id}']::uuid[])"
        )
        self.assertIn("permission denied for function roll_up_samples", refused.err)
