"""Requests about runs that are over: lists, comparisons, trends, labels, pruning."""

import json
import os
import re
import xml.etree.ElementTree as ET

from fleet import BIN, ROOT, Fleet, FleetTest, stop
from test_exports import READERS, outside

HOSTILE = 'it\'s "x"; DROP TABLE runs; -- <b>&'


def null_job(name="nightly", latency="1ms", build="1", extra=""):
    return (
        f"name: {name}\nlabels: {{build: '{build}', array: a7{extra}}}\n"
        f"targets: [{{name: n, null: {{latency: {latency}}}}}]\nphases:\n"
        "  - {name: load, run: {duration: 1s, workloads: "
        "[{engine: 'null', queue_depth: 4, read: 70%}]}}\n"
    )


class History(FleetTest):
    workers = 2

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for build, latency in (("1", "1ms"), ("2", "4ms"), ("3", "1ms")):
            for _ in range(5):
                done = cls.fleet.run_job(null_job(latency=latency, build=build))
                assert done.status == 0, str(done)

    def compared(self, *words, status=0):
        return self.ok(self.fleet.lockstep("compare", *words, "--format", "json"), status).json()

    def test_compare_names_only_what_is_slower(self):
        slower = self.compared("build=1", "build=2", "--job", "nightly")
        figures = {f["figure"]: f for f in slower["figures"] if not f["workload"]}
        self.assertEqual(figures["iops"]["values"][1]["verdict"], "CHANGE_WORSE")
        self.assertAlmostEqual(figures["iops"]["values"][1]["change"], -0.73, delta=0.12)
        self.assertEqual(figures["p50"]["values"][1]["verdict"], "CHANGE_WORSE")
        self.assertEqual([len(s["runs"]) for s in slower["sets"]], [5, 5])
        text = self.ok(self.fleet.lockstep("compare", "build=1", "build=2", "build=3")).out
        self.assertIn("against build=3: 5 runs", text)
        self.assertIn("worse", text)

    def test_gate_says_by_its_status_and_in_junit_what_it_found(self):
        base = ["--baseline", "build=1", "--job", "nightly"]
        file = os.path.join(self.fleet.directory, "gate.xml")
        found = self.fleet.lockstep("gate", "build=2", *base, "--junit", file)
        self.ok(found, 4)
        self.assertIn("regressed", found.err)
        suite = ET.parse(file).getroot().find("testsuite")
        failed = [case.get("name") for case in suite if case.find("failure") is not None]
        self.assertEqual(len(failed), int(suite.get("failures")))
        self.assertTrue(any(name.startswith("iops") for name in failed), failed)
        # A larger regression is accepted.
        loose = self.fleet.lockstep(
            "gate", "build=2", *base, "--max-regression", "90%", "--format", "json"
        ).json()
        iops = next(f for f in loose["figures"] if f["figure"] == "iops" and not f["workload"])
        self.assertEqual(iops["values"][1]["verdict"], "CHANGE_WORSE")
        self.assertFalse(iops["values"][1]["regression"])
        few = self.fleet.lockstep(
            "gate", self.runs("--label", "build=2")[0], "--baseline", self.runs()[0]
        )
        self.ok(few, 5)
        self.ok(self.fleet.lockstep("gate", "build=2", "--baseline", "00000000"), 1)
        five = self.fleet.lockstep("gate", "build=2", *base, "--max-regression", "5")
        self.assertIn("write 5%", five.err)
        self.assertIn("too few runs", few.out + few.err)

    def test_gate_without_a_baseline_cannot_tell(self):
        file = os.path.join(self.fleet.directory, "first.xml")
        words = ("gate", "build=2", "--baseline", "build=0", "--junit", file, "--format", "json")
        first = self.fleet.lockstep(*words)
        self.ok(first, 5)
        reason = "no run matches build=0, the baseline: cannot tell"
        self.assertIn(reason, first.err)
        found = first.json()
        self.assertEqual(found["conclusions"], [reason])
        self.assertEqual([s["name"] for s in found["sets"]], ["build=0"])
        suite = ET.parse(file).getroot().find("testsuite")
        self.assertEqual(
            [case.find("skipped").get("message") for case in suite if case.tag == "testcase"],
            [reason],
        )
        for form in ("text", "markdown", "github"):
            said = self.fleet.lockstep(*words[:4], "--format", form)
            self.ok(said, 5)
            self.assertIn("no run matches build=0", said.out, form)

    def test_gate_does_not_take_a_typo_for_a_missing_baseline(self):
        self.ok(self.fleet.lockstep("gate", "build=0", "--baseline", "build=2"), 1)
        for words in (
            ("build=2", "--baseline", "build=1", "--job", "nightyl"),
            ("biuld=2", "--baseline", "biuld=1"),
        ):
            wrong = self.fleet.lockstep("gate", *words)
            self.ok(wrong, 1)
            self.assertIn(f"no run matches {words[0]}", wrong.err)
        empty = self.fleet.lockstep("gate", "build=2", "--baseline", "build=")
        self.ok(empty, 1)
        self.assertIn("'build=' has no value after the =", empty.err)

    def test_where_the_time_went_stands_beside_the_others(self):
        text = self.ok(self.fleet.lockstep("compare", "build=1", "build=2")).out
        self.assertRegex(text, r"(?m)^load +context_switches_per_io .* not judged$")
        self.assertRegex(text, r"(?m)^load +limited by +no storage +no storage +- +- +the same$")
        found = self.compared("build=1", "build=2")
        self.assertEqual(
            found["limits"], [{"phase": "load", "values": ["no storage", "no storage"]}]
        )
        figures = {f["figure"]: f for f in found["figures"] if not f["workload"]}
        waits = figures["wait_ratio"]
        self.assertEqual(waits["direction"], "DIRECTION_NEITHER")
        self.assertFalse(waits["judged"])
        self.assertNotIn("pValue", waits["values"][1])
        self.assertEqual(waits["values"][1]["verdict"], "CHANGE_UNSPECIFIED")
        self.assertNotIn("fsync_ratio", figures, "a load without syncs")
        self.assertNotIn("amplification", figures, "a null target has no device")
        query = (
            "SELECT context_switches_per_io, wait_ratio, amplification, limited_by "
            f"FROM phase_summary WHERE run_id = '{found['sets'][0]['runs'][0]}'"
        )
        switches, wait, amplification, limit = self.fleet.sql(query)[0]
        for figure, value in (("context_switches_per_io", switches), ("wait_ratio", wait)):
            first = figures[figure]["values"][0]
            self.assertTrue(first["least"] <= float(value) <= first["most"], (figure, value))
        self.assertEqual((amplification, limit), ("", "no storage"))

    def test_gate_judges_a_figure_that_it_is_asked_for(self):
        words = ["gate", "build=2", "--baseline", "build=1", "--format", "json", "--judge"]
        found = self.fleet.lockstep(*words, "cpu_per_io,context_switches_per_io")
        self.ok(found, 4)
        figures = {f["figure"]: f for f in found.json()["figures"] if not f["workload"]}
        for name in ("cpu_per_io", "context_switches_per_io"):
            self.assertTrue(figures[name]["judged"], name)
            self.assertIn("pValue", figures[name]["values"][1], name)
        self.assertFalse(figures["interrupts_per_io"]["judged"])
        # A figure that nobody knows must not pass: build 3 is as fast as the baseline.
        words[1] = "build=3"
        unknown = self.fleet.lockstep(*words, "amplification", "--max-regression", "100%")
        self.ok(unknown, 5)
        self.assertEqual(unknown.json()["missing"], 1)
        self.assertIn("no phase has amplification in all runs", unknown.out)
        for name in ("wait_ratio", "iops", "x"):
            refused = self.fleet.lockstep(*words, name)
            self.ok(refused, 1)
            self.assertIn(f"'{name}' is no figure to be judged on request; those are", refused.err)

    def runs(self, *words):
        listed = self.ok(self.fleet.lockstep("history", *words, "--format", "json")).json()
        return [run["runId"] for run in listed["runs"]]

    def test_what_cannot_be_compared_is_refused_in_words(self):
        one = self.runs("-n", "1")[0]
        for words, said in (
            ([one], "At least 2"),
            ([one, one], "in two of the sets"),
            ([f"{one},{one}", "build=1"], "named twice"),
            (["build=none", "build=1"], "no run matches"),
            (["zz", "build=1"], "no run's id"),
            ([",", "build=1"], "neither runs nor a filter"),
        ):
            done = self.fleet.lockstep("compare", *words)
            self.assertNotEqual(done.status, 0)
            self.assertIn(said, done.err, words)

    def test_history_is_filtered_and_paged(self):
        self.assertEqual(len(self.runs("--label", "build=2")), 5)
        self.assertEqual(len(self.runs("--label", "build=2", "--label", "array=a7")), 5)
        self.assertEqual(self.runs("--label", "build=9"), [])
        host = self.fleet.sql("SELECT host FROM run_workers WHERE run_id = last_run()")[0][0]
        everything = self.runs("-n", "1000")
        self.assertEqual(self.runs("-n", "1000", "--host", host), everything)
        self.assertEqual(self.runs("--host", "elsewhere"), [])
        self.assertEqual(self.runs("--device", "sdz"), [])
        self.assertEqual(self.runs("--state", "aborted"), [])
        self.assertEqual(self.runs("--until", "2020-01-01"), [])
        self.assertEqual(self.runs("-n", "3", "--offset", "2"), everything[2:5])
        text = self.ok(self.fleet.lockstep("history", "-n", "3")).out
        self.assertIn("more; --offset 3 shows the next ones", text)
        for words, said in (
            (["--state", "gone"], "is none of"),
            (["--since", "yesterday"], "is no time"),
            (["--label", "build"], "key=value"),
            (["--job", ""], "is empty"),
            (["--label", b"a=\xff"], "is not valid UTF-8"),
        ):
            done = self.fleet.lockstep("history", *words)
            self.assertNotEqual(done.status, 0)
            self.assertIn(said, done.err, words)

    def test_trends_draw_each_figure(self):
        trends = self.ok(
            self.fleet.lockstep("history", "--job", "nightly", "--trends", "--format", "json")
        ).json()["trends"]
        iops = next(t for t in trends if t["figure"] == "iops" and not t["workload"])
        self.assertEqual(len(iops["points"]), 15)
        found = [change["index"] for change in iops["changes"]]
        self.assertEqual(len(found), 2, found)
        # A run beside busy neighbours may count to the other side.
        for index, true in zip(found, (5, 10), strict=True):
            self.assertAlmostEqual(index, true, delta=1)
        self.assertEqual({point["limitedBy"] for point in iops["points"]}, {"no storage"})
        waits = next(t for t in trends if t["figure"] == "wait_ratio")
        self.assertEqual(len(waits["points"]), 15)
        self.assertEqual(waits["direction"], "DIRECTION_NEITHER")
        self.assertNotIn("fsync_ratio", [t["figure"] for t in trends])
        text = self.ok(self.fleet.lockstep("history", "--job", "nightly", "--trends")).out
        self.assertRegex(text, "[▁▂▃▄▅▆▇█]{15}")
        self.assertRegex(text, r"(?m)^nightly +load +limited by +15 +no storage +no storage$")

    def test_labels_are_changed_and_found(self):
        run = self.runs("--label", "build=3")[0]
        said = self.ok(self.fleet.lockstep("label", run, f"note={HOSTILE}", "array-")).out
        self.assertIn("build=3", said)
        self.assertNotIn("array", said)
        self.assertEqual(self.runs("--label", f"note={HOSTILE}"), [run])
        self.assertEqual(self.runs("--label", "note=it's"), [])
        report = self.ok(self.fleet.lockstep("report", run, "--format", "json")).json()
        self.assertEqual(report["run"]["labels"]["note"], HOSTILE)
        self.ok(self.fleet.lockstep("label", run, "note-", "array=a7"))
        self.assertEqual(self.runs("--label", f"note={HOSTILE}"), [])
        for words, said in ((["x"], "key=value"), (["=x"], "key=value")):
            done = self.fleet.lockstep("label", run, *words)
            self.assertEqual(done.status, 1)
            self.assertIn(said, done.err)
        long = self.fleet.lockstep("label", run, "k=" + "x" * 10240)
        self.assertEqual(long.status, 1)
        self.assertIn("labels.k: has 10240 bytes; the maximum is 256", long.err)


class Pruning(FleetTest):
    workers = 1

    def rows(self, run):
        return [
            int(self.fleet.sql(f"SELECT count(*) FROM {table} WHERE run_id = '{run}'")[0][0])
            for table in ("interval_operations", "phase_operations", "phase_figures", "runs")
        ]

    def test_prune_removes_samples_then_runs_and_nothing_else(self):
        ids = []
        for build in ("old", "kept"):
            done = self.ok(self.fleet.run_job(null_job(build=build), "--format", "json"))
            ids.append(done.json()["run"]["runId"])
        old, kept = ids
        before = self.rows(kept)
        first = self.ok(self.fleet.lockstep("report", old, "--format", "json")).json()
        self.assertTrue(all(before), before)
        self.assertIn("say which runs", self.fleet.lockstep("prune", "--yes").err)
        would = self.ok(self.fleet.lockstep("prune", "--label", "build=old", "--samples"))
        self.assertIn("the samples of 1 run would be removed; --yes removes them", would.out)
        self.assertTrue(all(self.rows(old)))
        self.ok(self.fleet.lockstep("prune", "--label", "build=old", "--samples", "--yes"))
        samples, *results = self.rows(old)
        self.assertEqual(samples, 0)
        self.assertTrue(all(results), results)
        said = self.ok(self.fleet.lockstep("report", old, "--format", "json")).json()
        self.assertTrue(said.pop("samplesPruned"))
        first.pop("samplesPruned")
        self.assertEqual(said, first)
        report = self.ok(self.fleet.lockstep("report", old)).out
        self.assertIn("were pruned", report)
        again = self.ok(self.fleet.lockstep("prune", "--label", "build=old", "--samples", "--yes"))
        self.assertIn("0 runs", again.out)
        none = self.ok(self.fleet.lockstep("prune", "--older-than", "1d", "--yes")).out
        self.assertIn("0 runs removed", none)
        self.ok(self.fleet.lockstep("prune", "--label", "build=old", "--yes"))
        self.assertEqual(self.rows(old), [0, 0, 0, 0])
        self.assertEqual(self.rows(kept), before)
        self.assertEqual(self.fleet.lockstep("report", old).status, 1)

    def test_a_run_in_progress_stays(self):
        job = null_job(build="now").replace("duration: 1s", "duration: 30s")
        run = self.ok(self.fleet.lockstep("submit", "-", stdin=job)).out.strip()
        self.fleet.await_phase("load")
        self.assertIn(
            "0 runs removed",
            self.ok(self.fleet.lockstep("prune", "--label", "build=now", "--yes")).out,
        )
        self.ok(self.fleet.lockstep("stop", run, "--now"))
        self.fleet.lockstep("watch", run)


class Cookbook(FleetTest):
    """Every query of docs/reference/sql-cookbook.md, against real runs."""

    workers = 2

    def test_every_query_answers(self):
        job = null_job(latency="200us").replace(
            "read: 70%}]}}",
            "read: 70%}]}}\n  - {name: rate, run: {duration: 2s, workloads: "
            "[{engine: 'null', queue_depth: 32, open_loop: {rate: 2000}}]}}",
        )
        for build in ("1", "1", "2", "2"):
            self.ok(self.fleet.run_job(job.replace("'1'", f"'{build}'")))
        with open(f"{ROOT}/docs/reference/sql-cookbook.md", encoding="utf-8") as text:
            blocks = re.findall(r"\n\*\*(.*?)\*\*\n\n```sql\n(.*?)```", text.read(), re.DOTALL)
        self.assertGreaterEqual(len(blocks), 30)
        for question, query in blocks:
            with self.subTest(question=question):
                done = self.ok(self.fleet.lockstep("sql", "--csv", "-c", query))
                rows = done.out.splitlines()
                # Nothing went wrong in these runs: some questions have no row as their answer.
                self.assertTrue(len(rows) > 1 or "(none" in question, done.out)


def made_up(fleet, iops):
    """A worker whose figures are made up: no neighbour of the test disturbs them."""
    words = [f"{BIN}/lockstep-worker", "--controller", fleet.address, "--simulate", "1"]
    process = fleet.spawn("made-up", [*words, "--simulate-iops", str(iops)])
    fleet.wait_attached(1)
    return process


class Changes(FleetTest):
    """A level that falls and comes back, seen by Lockstep and by Otava on the same figures."""

    workers = 0
    fleet_options = {"controller_flags": ["--lease", "2"]}

    def test_otava_finds_the_same_changes(self):
        # Otava finds nothing where nothing varies: each level does, by one percent.
        job = "interval: 100ms\n" + null_job().replace("1s", "300ms")
        for iops in (10000, 1000, 10000):
            worker = made_up(self.fleet, iops)
            for _ in range(10):
                self.ok(self.fleet.run_job(job))
            stop(worker)
            self.fleet.wait_attached(0)
        trends = self.ok(self.fleet.lockstep("history", "--trends", "--format", "json")).json()[
            "trends"
        ]
        ours = next(t for t in trends if t["figure"] == "iops" and not t["workload"])
        ours = [change["index"] for change in ours["changes"]]
        series = os.path.join(self.fleet.directory, "series.csv")
        # It reads whole seconds alone, and one run in each.
        query = (
            "SELECT to_char(timestamp '2026-01-01' + row_number() OVER (ORDER BY submitted_at) * "
            "interval '1 hour', 'YYYY-MM-DD HH24:MI:SS') || '+00:00' AS time, run_id AS run, iops "
            "FROM phase_summary ORDER BY 1"
        )
        with open(series, "w", encoding="ascii") as out:
            out.write(self.ok(self.fleet.lockstep("sql", "--csv", "-c", query)).out)
        config = os.path.join(self.fleet.directory, "otava.yaml")
        with open(config, "w", encoding="ascii") as out:
            out.write(
                f"tests: {{ours: {{type: csv, file: {series}, time_column: time, "
                "attributes: [run], metrics: {iops: {column: iops, direction: 1}}}}\n"
            )
        printed = outside(
            *(f"{READERS}/otava", "analyze", "ours", "--since", "2020-01-01", "--output", "json"),
            env={**os.environ, "OTAVA_CONFIG": config},
        )
        theirs = json.loads(printed[printed.index("{") :])["ours"]
        theirs = [change["index"] for at in theirs for change in at["changes"]]
        for true in (10, 20):
            self.assertTrue(any(abs(index - true) <= 1 for index in theirs), printed)
            self.assertTrue(any(abs(index - true) <= 1 for index in ours), ours)


class TwoStores(FleetTest):
    """The same job in two stores, in one of them 8 % slower: an export brings them together."""

    workers = 0

    def test_gate_finds_what_is_slower_in_the_other_store(self):
        with Fleet(0) as other:
            for fleet, iops, build in ((self.fleet, 4000, "1"), (other, 3680, "2")):
                made_up(fleet, iops)
                for _ in range(5):
                    self.ok(fleet.run_job(null_job(build=build)))
            archive = os.path.join(self.fleet.directory, "other.lockstep")
            self.ok(other.lockstep("export", "--label", "build=2", "--output", archive))
        self.assertEqual(self.ok(self.fleet.lockstep("import", archive)).out.count("imported"), 5)
        found = self.fleet.lockstep("gate", "build=2", "--baseline", "build=1", "--format", "json")
        self.ok(found, 4)
        figures = {
            f["figure"]: f["values"][1] for f in found.json()["figures"] if not f["workload"]
        }
        self.assertTrue(figures["iops"]["regression"], figures["iops"])
        self.assertAlmostEqual(figures["iops"]["change"], -0.08, delta=0.03)
