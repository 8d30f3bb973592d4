"""Percentiles: what few I/Os can tell, and what nobody may print."""

import json
import math
import re
from fractions import Fraction

from truth import TruthTest, situation

COUNTS = {"w99": 99, "w100": 100, "w999": 999, "w1000": 1000}
SQL_PERCENTS = {"p50_ms": "50", "p95_ms": "95", "p99_ms": "99", "p999_ms": "99.9"}
SCALES = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}
CSV_PERCENTS = {f"p{p}_ns": p for p in ("50", "90", "95", "99", "99.9", "99.99")}


def above(percent, count):
    """How many of so many I/Os have a higher rank than the percentile, in whole numbers."""
    return count - max(1, math.ceil(Fraction(str(percent)) / 100 * count))


def job(workloads, latency="1ms", duration="2s", more=""):
    return f"""name: few
targets: [{{name: n, null: {{latency: {latency}}}}}]
phases:
  - name: mix
    run:
      duration: {duration}
      workloads:
{"".join(f"        - {{engine: 'null', {w}}}{chr(10)}" for w in workloads)}{more}"""


class Percentiles(TruthTest):
    workers = 2

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        done = cls.fleet.run_job(
            job(
                [f"name: {name}, operations: {count}" for name, count in COUNTS.items()],
                # All together are enough for this one.
                more="      expect: {p99: 60s}\n",
            ),
            *("--format", "json"),
        )
        assert done.status == 0, str(done)
        made = done.json()
        cls.run_id = made["run"]["runId"]
        cls.mix = made["phases"][0]

    def printed(self, form, *words):
        return self.ok(self.fleet.lockstep("report", self.run_id, "--format", form, *words)).out

    def check_list(self, operation):
        """Each percentile of an operation against the rule, by its number of I/Os alone."""
        count = int(operation["operations"])
        for p in operation["percentiles"] + operation["tail"]:
            beyond = above(p["percent"], count)
            what = (operation["kind"], count, p)
            self.assertEqual(p["above"], beyond, what)
            self.assertEqual("latencyNs" in p, beyond > 0, what)
            self.assertEqual("missing" in p, beyond == 0, what)
            self.assertEqual(p.get("isUncertain", False), 0 < beyond < 10, what)
            if beyond == 0:
                self.assertIn(f"p{p['percent']:g} needs at least", p["missing"])
            else:
                least, most = operation["latencyMinNs"], operation["latencyMaxNs"]
                self.assertTrue(least <= p["latencyNs"] <= most, what)

    def check_cell(self, cell, percent, count):
        """A cell of the text or of Markdown."""
        beyond = above(percent, count)
        what = (cell, percent, count)
        self.assertEqual(cell == "–", beyond == 0, what)
        self.assertEqual(cell.startswith("~"), 0 < beyond < 10, what)

    @situation("5", "99, 100, 999 and 1,000 I/Os: 0, 1, 9 and 10 of them above the p99")
    def test_each_percentile_knows_how_many_are_above(self):
        for workload in self.mix["workloads"]:
            self.check_list(workload["total"])
            self.check_list(workload["operations"][0])
        self.check_list(self.mix["total"])
        for host in self.mix["hosts"]:
            for workload in host["workloads"]:
                self.check_list(workload["operations"][0] | {"tail": []})
        text = self.printed("text", "--detail")
        for name, count in COUNTS.items():
            line = re.search(rf"^  {name}: .*?^ +(read .*?)$", text, re.S | re.M)[1]
            cells = re.split(r"  +", line)[4:8]
            self.says(f"{count}: p99 {cells[2]}, p99.9 {cells[3]}")
            for cell, percent in zip(cells, ("50", "95", "99", "99.9"), strict=True):
                self.check_cell(cell, percent, count)
        rows = [
            [cell.strip() for cell in line.split("|")[1:]]
            for line in self.printed("markdown").splitlines()
            if line.startswith("| mix | w")
        ]
        self.assertEqual([row[1] for row in rows], list(COUNTS))
        for row in rows:
            for cell, percent in zip(row[6:9], ("50", "99", "99.9"), strict=True):
                self.check_cell(cell, percent, COUNTS[row[1]])

    @situation("5", "the same I/Os: a percentile that is not there has no value in SQL and CSV")
    def test_sql_and_csv_have_no_value(self):
        wrong = []

        def check(where, row, percents, count):
            for column, percent in percents.items():
                if (row[column] != "") != (above(percent, count) > 0):
                    wrong.append(f"{where} {count} I/Os {column} {row[column] or 'NULL'}")

        lines = self.printed("csv").splitlines()
        head = lines[0].split(",")
        for line in lines[1:]:
            row = dict(zip(head, line.split(","), strict=True))
            check("csv", row, CSV_PERCENTS, int(row["operations"]))
        for view in ("phase_summary", "host_operations", "phase_latency", "phase_latency_all"):
            found = self.rows(f"SELECT * FROM {view} WHERE run_id = '{self.run_id}'")
            self.assertTrue(found, view)
            for row in found:
                check(view, row, SQL_PERCENTS, int(row["operations"]))
        self.says("; ".join(wrong) or "no value where none is above")
        self.assertEqual(wrong, [])

    @situation("5", "20 I/Os per second: no second, and no host's, has a p99")
    def test_no_moment_and_no_host_has_a_p99_of_few(self):
        done = self.ok(self.fleet.run_job(job(["max_iops: 20"]), "--format", "json"))
        mix = done.json()["phases"][0]
        self.assertTrue(all(h["total"]["operations"] < 100 for h in mix["hosts"]))
        wrong = [f"hosts.p99Ns {h['p99Ns']}" for h in mix["hosts"] if h.get("p99Ns")]
        wrong += [f"fairness of {f['of']}" for f in mix["fairness"] if "p99" in f["of"]]
        wrong += [
            f"{key} {mix[key]}" for key in ("p99SpreadMedian", "p99SpreadWorst") if key in mix
        ]
        wrong += [f"live: {p99}" for p99 in re.findall(r"IOPS .*(p99 +\d.*)", done.err)]
        for source in (
            "fleet_timeline WHERE run_id = last_run() AND operations > 0",
            "phase_series(last_run(), 0, 1)",
        ):
            for row in self.rows(f"SELECT * FROM {source}"):
                for column in ("p99_ms", "p999_ms"):
                    self.assertLess(int(row["operations"]), 100)
                    if row.get(column):
                        wrong.append(f"{source.split()[0]} {column} {row[column]}")
        self.says("; ".join(wrong) or "none")
        self.assertEqual(wrong, [])

    @situation("5", "the same I/Os in fio's form: its readers want a whole number everywhere")
    def test_fio_s_form_keeps_its_shape(self):
        jobs = json.loads(self.printed("fio"))["jobs"]
        self.assertEqual([j["jobname"] for j in jobs], [f"mix {name}" for name in COUNTS])
        wanted = {f"{p['percent']:.6f}" for p in self.mix["total"]["percentiles"]}
        for one, count in zip(jobs, COUNTS.values(), strict=True):
            self.assertEqual(one["read"]["total_ios"], count)
            self.assertEqual(set(one), set(jobs[-1]))
            for times in (one["read"]["clat_ns"], one["read"]["lat_ns"]):
                self.assertEqual(times["N"], count)
                self.assertEqual(sum(times["bins"].values()), count)
                self.assertEqual(set(times["percentile"]), wanted)
                in_order = [times["percentile"][key] for key in sorted(wanted, key=float)]
                self.assertTrue(all(isinstance(ns, int) for ns in in_order), in_order)
                self.assertEqual(in_order, sorted(in_order))
                self.assertEqual(in_order[-1], max(map(int, times["bins"])))
        self.says(f"{len(wanted)} whole numbers for each of {len(jobs)} jobs")
        self.assertIn("95th percentile", self.printed("sysbench"))

    @situation("5", "49 I/Os of 1 ms, of which a p99 below 60 s is expected")
    def test_an_expected_p99_that_is_not_there_is_not_met(self):
        """60 s would hold of every I/O: only the missing percentile can fail it."""
        few = job(["operations: 49"], more="      expect: {p50: 60s, p95: 60s, p99: 60s}\n")
        report = self.run_report(few, status=4)
        phase = report["phases"][0]
        found = {e["text"].split()[0]: e for e in phase["expectations"]}
        self.says(found["p99"]["found"])
        self.assertEqual({k: e["met"] for k, e in found.items()}, {"p50": 1, "p95": 1, "p99": 0})
        self.assertIn("p99 needs at least 100, here are 49", found["p99"]["found"])
        self.assertFalse(report["expectationsMet"])
        self.assertEqual(report["verdict"]["word"], "expectations failed")
        again = self.ok(self.fleet.lockstep("report", "last"), 4).text
        self.assertIn("FAILED: p99 <= 60 s; found no p99 (no I/O took longer", again)
        self.assertIn("2 of 3 met", again)
        self.assertNotIn("FAILED: p95", again)
        markdown = self.ok(self.fleet.lockstep("report", "last", "--format", "markdown"), 4).out
        self.assertIn("found no p99", markdown)
        self.assertIn("expectations failed", markdown.splitlines()[0])
        # The expectation of setUpClass, on enough I/Os, is met.
        self.assertEqual([e["met"] for e in self.mix["expectations"]], [True])

    @situation("5", "I/Os of 20 ms, abort_if p99 over 5 ms: 20 per interval, then 1,600")
    def test_abort_if_ignores_an_interval_without_a_p99(self):
        """Every I/O is above the limit: with enough of them the same condition ends the run."""
        limit = "      abort_if: {p99: 5ms}\n"
        report = self.run_report(job(["max_iops: 20"], latency="20ms", duration="3s", more=limit))
        self.assertEqual(report["phases"][0]["state"], "done")
        self.assertEqual(report["verdict"]["word"], "done")
        self.assertGreaterEqual(report["phases"][0]["total"]["latencyMinNs"], 20e6)
        self.assertNotIn("abort_if", self.report())
        many = self.run_report(
            job(["queue_depth: 16"], latency="20ms", duration="4s", more=limit), status=3
        )
        self.says(f"20: {report['run']['state']}; 1,600: {many['run']['state']}")
        self.says(many["run"]["outcome"])
        self.assertEqual(many["run"]["state"], "aborted")
        self.assertRegex(many["run"]["outcome"], r"abort_if\.p99: [\d.]+ m?s in interval")

    @situation("5", "one I/O, which one of two hosts does")
    def test_one_io_has_no_percentile_and_no_fairness(self):
        """0 is a figure, and 1 is perfect fairness: of one I/O nobody measured either."""
        report = self.run_report(job(["operations: 1"], duration="9s"))
        mix = report["phases"][0]
        did, idle = sorted(mix["hosts"], key=lambda h: -h["total"]["operations"])
        self.assertEqual([h["total"]["operations"] for h in (did, idle)], [1, 0])
        for host in (did, idle):
            self.assertEqual({"p50Ns", "p99Ns"} & set(host), set(), host)
        self.assertNotIn("latencyMaxNs", idle["total"])
        self.assertNotIn("lastDoneSeconds", idle)
        # One host that began has no spread, and shares with nobody.
        self.assertEqual(mix["startSkewHosts"], 1)
        self.assertNotIn("startSkewNs", mix)
        (spread,) = self.rows(
            "SELECT o.start_skew_ns, o.start_skew_bound_ns, s.jain_iops FROM phase_overview o "
            "JOIN phase_summary s USING (run_id, phase) WHERE run_id = last_run()"
        )
        self.assertEqual(set(spread.values()), {""})
        text, markdown = self.printed_last("text"), self.printed_last("markdown")
        self.says(" ".join(text.split("mix", 1)[1].split("\n")[0].split()))
        for form in (text, markdown, self.printed_last("text", "--detail")):
            # The one I/O of one thread is sysbench's average of 1.0000 events for each thread.
            self.assertNotIn("1.0000", form.replace("(avg/stddev) 1.0000/0.00", ""))

    @situation("5", "a stall from the first I/O on, longer than the phase: none completes")
    def test_a_load_without_a_completion_has_no_figure(self):
        stalled = job(["name: w"], latency="1ms, stall_every: 60s, stall: 4s")
        report = self.run_report(stalled, status=3)
        self.assertEqual(report["verdict"]["word"], "nothing measured")
        mix = report["phases"][0]
        total = mix["total"]
        self.assertEqual(total["operations"], 0)
        latencies = {"latencyMinNs", "latencyAvgNs", "latencyMaxNs"}
        self.assertEqual(latencies & set(total), set())
        self.assertEqual([f for f in mix["fairness"] if "jain" in f or "maxOverMin" in f], [])
        self.assertEqual({"jainMin", "jainMax", "p99SpreadMedian"} & set(mix), set())
        self.assertEqual({"iops", "bytesPerSecond"} & set(report["run"]), set())
        detail = self.printed_last("text", "--detail", status=3)
        self.says("; ".join(report["verdict"]["warnings"][:1]))
        self.assertIn("NOTHING MEASURED", detail)
        self.assertNotIn("Jain", detail)
        markdown = self.printed_last("markdown", status=3).splitlines()
        (row,) = (r for r in markdown if "| mix | all |" in r)
        self.assertEqual([c.strip() for c in row.split("|")][6:11], ["–"] * 5)
        (figures,) = self.rows(
            "SELECT mean_ms, p50_ms, p99_ms, max_ms, jain_iops, max_over_min_iops "
            "FROM phase_summary WHERE run_id = last_run()"
        )
        self.assertEqual(set(figures.values()), {""})

    @situation("5", "points of 20, 60 and 400 I/Os; only the last one has a p99")
    def test_a_point_of_a_sweep_without_a_p99_is_not_the_best(self):
        sweep = "      sweep: {axes: [{field: operations, values: [20, 60, 400]}]}\n"
        report = self.run_report(job(["name: w"], duration="9s", more=sweep))
        points = report["sweeps"][0]["points"]
        self.assertEqual(["p99Ns" in point for point in points], [False, False, True])
        self.assertTrue(all(point["p50Ns"] > 0 for point in points))
        for text in (self.printed_last("text"), self.printed_last("markdown")):
            rows = [line for line in text.splitlines() if re.match(r"    (20|60|400) ", line)]
            self.says(" ".join(rows[0].split()))
            # The mark is of the best, and of one value there is no best.
            cells = [re.split(r"  +", row.strip())[4] for row in rows]
            self.assertEqual(cells[:2], ["–", "–"])
            # Four of 400 I/Os took longer.
            self.assertRegex(cells[2], r"^~[\d.]+ [mµ]s$")
        # A line with nothing but an absent value would be none in CSV.
        columns = (
            "SELECT number, p99_ms FROM sweep_points WHERE run_id = last_run() ORDER BY number"
        )
        self.assertEqual([row["p99_ms"] == "" for row in self.rows(columns)], [True, True, False])

    def printed_last(self, form, *words, status=0):
        done = self.fleet.lockstep("report", "last", "--format", form, *words)
        return self.ok(done, status).out

    @situation("5", "runs of 50 I/Os, until the mean of their p99 is known to 90 %")
    def test_repetitions_do_not_take_the_largest_latency_for_a_p99(self):
        sweep = "      sweep: {repeat: 4, until: {figure: p99, within: 90%}}\n"
        report = self.run_report(job(["operations: 50"], more=sweep))
        (found,) = report["sweeps"]
        self.says(f"{len(report['phases'])} runs: {found['ended']}")
        self.assertEqual(len(report["phases"]), 4)
        self.assertEqual(found["ended"], "too few of them to know how well the figures are known")

    @situation("5", "rounds of 20 I/Os each, until their p99 is steady")
    def test_rounds_of_few_ios_are_not_steady_by_their_p99(self):
        steady = (
            "      until_steady: {figure: percentile, round: 500ms, window: 3, range: 90%, "
            "slope: 90%}\n      expect: {steady: true}\n"
        )
        few = job(["max_iops: 40"], more=steady).replace("name: few", "name: few\ninterval: 500ms")
        report = self.run_report(few, status=4)
        mix = report["phases"][0]
        self.says(next(remark for remark in mix["remarks"] if "STEADY" in remark))
        self.assertFalse(mix["steady"]["steady"])
        self.assertIn("NOT KNOWN TO BE STEADY: no 3 rounds in a row", " ".join(mix["remarks"]))
        self.assertEqual(mix["expectations"][0]["found"], "not known")

    def check_rows(self, percentiles, rows, key, known):
        """Intervals in JSON and in SQL, and whether there are any."""
        for p in percentiles:
            row = rows[(*key, p["percent"])]
            self.assertEqual("lowNs" in p, known and "latencyNs" in p, (key, p))
            for field, column in (("lowNs", "low_ms"), ("highNs", "high_ms")):
                if field in p:
                    self.assert_near(row[column], p[field] / 1e6, 1e-6, key)
                else:
                    self.assertEqual(row[column], "", (key, p))

    def check_cell_of_interval(self, cell, percentiles, percent):
        """A cell of --detail: `1.2 ms to 1.4 ms`, `from 1.2 ms`, or a dash."""
        p = next(p for p in percentiles if p["percent"] == percent)
        bounds = [
            float(number) * SCALES[unit]
            for number, unit in re.findall(r"([\d.]+) (ns|µs|ms|s)\b", cell)
        ]
        wanted = [p[field] for field in ("lowNs", "highNs") if field in p]
        self.assertEqual(len(bounds), len(wanted), (cell, p))
        for bound, ns in zip(bounds, wanted, strict=True):
            self.assert_near(bound, ns, 0.01, cell)

    def check_intervals_of_hosts(self, report, detail):
        rows = {
            (
                row["phase_name"],
                row["host"],
                row["workload"],
                row["kind"],
                float(row["percent"]),
            ): row
            for row in self.rows("SELECT * FROM host_percentiles WHERE run_id = last_run()")
        }
        for phase in report["phases"]:
            known = phase["name"] == "mix"
            self.assertEqual(len(phase["hosts"]), 2)
            for host in phase["hosts"]:
                place = (phase["name"], host["host"])
                self.check_rows(host["total"]["percentiles"], rows, (*place, "", "total"), known)
                for workload in host["workloads"]:
                    percentiles = workload["operations"][0]["percentiles"]
                    self.check_rows(percentiles, rows, (*place, workload["name"], "read"), known)
        table = re.search(r"^ +95 % interval +p50 +p99\n((?: +node\d .*\n)+)", detail, re.M)[1]
        hosts = {host["host"]: host for host in self.phase(report)["hosts"]}
        lines = [re.split(r"  +", line.strip()) for line in table.splitlines()]
        self.assertEqual([line[0] for line in lines], list(hosts))
        for name, *cells in lines:
            for cell, percent in zip(cells, (50, 99), strict=True):
                self.check_cell_of_interval(cell, hosts[name]["total"]["percentiles"], percent)
        first = lines[0]
        self.says(f"p50 of {first[0]} {first[1]}")

    def check_intervals_of_service_times(self, report, detail):
        rows = {
            (
                row["phase_name"],
                row["workload"],
                row["metric"],
                row["kind"],
                float(row["percent"]),
            ): row
            for row in self.rows(
                "SELECT * FROM phase_percentiles_all WHERE run_id = last_run() AND NOT is_reported"
            )
        }
        cells = re.findall(r"^ +read service +(.* to .*|from .*)$", detail, re.M)
        workloads = self.phase(report)["workloads"]
        self.assertEqual(len(cells), len(workloads), cells)
        for workload, line in zip(workloads, cells, strict=True):
            percentiles = workload["serviceTimes"][0]["percentiles"]
            key = ("mix", workload["name"], "service time", "read")
            self.check_rows(percentiles, rows, key, True)
            for cell, percent in zip(re.split(r"  +", line), (50, 95, 99, 99.9), strict=True):
                self.check_cell_of_interval(cell, percentiles, percent)

    @situation("5", "250 ms of 200 I/Os each; stalls that half of them have, and all, and too few")
    def test_an_interval_is_wide_where_seconds_differ(self):
        """Two loads of as many I/Os: a stall makes every second quarter of a second of the one
        unlike the others, so that its intervals are worth as few values as there are stalls.
        """
        targets = (
            "targets:\n  - {name: even, null: {latency: 1ms}}\n"
            "  - {name: stalls, null: {latency: 1ms, stall_every: 500ms, stall: 100ms}}\n"
        )
        loop = "engine: 'null', open_loop: {rate: 800, arrival: fixed}, queue_depth: 200"
        text = (
            f"name: intervals\ninterval: 250ms\n{targets}phases:\n  - name: mix\n    run:\n"
            "      duration: 3s\n      workloads:\n"
            f"        - {{name: even, targets: [even], {loop}}}\n"
            f"        - {{name: stalls, targets: [stalls], {loop}}}\n"
            "  - name: short\n    run:\n      duration: 700ms\n      workloads:\n"
            f"        - {{name: even, targets: [even], {loop}}}\n"
        )
        report = self.run_report(text)
        rows = {
            (row["phase_name"], row["workload"], row["kind"], float(row["percent"])): row
            for row in self.rows("SELECT * FROM phase_percentiles WHERE run_id = last_run()")
        }
        for phase in report["phases"]:
            for workload in phase["workloads"]:
                for p in workload["operations"][0]["percentiles"]:
                    row = rows[phase["name"], workload["name"], "read", p["percent"]]
                    for key, column in (("lowNs", "low_ms"), ("highNs", "high_ms")):
                        if key in p:
                            self.assert_near(row[column], p[key] / 1e6, 1e-6)
                        else:
                            self.assertEqual(row[column], "")
                    if "latencyNs" in p and phase["name"] == "mix":
                        self.assertLessEqual(p["lowNs"], p["latencyNs"])
                        self.assertGreaterEqual(p.get("highNs", math.inf), p["latencyNs"])
                    else:
                        self.assertNotIn("lowNs", p)
        at = {
            workload["name"]: next(
                p for p in workload["operations"][0]["percentiles"] if p["percent"] == 90
            )
            for workload in self.phase(report)["workloads"]
        }
        # Without an upper end where the machine's own stalls leave too few values above it.
        high = {name: p.get("highNs", math.inf) for name, p in at.items()}
        self.says(
            "; ".join(
                f"p90 of {name} {p['lowNs'] / 1e6:.3g} to {high[name] / 1e6:.3g} ms"
                for name, p in at.items()
            )
        )
        # 20 % of the I/Os of `stalls` come during one: of 2,400 independent ones the p90 would be
        # known to 6 % of a stall's 100 ms.
        self.assertGreater(high["stalls"] - at["stalls"]["lowNs"], 8e6)
        detail = self.ok(self.fleet.lockstep("report", "--detail")).out
        # Two workloads and their hosts; the short phase has three intervals.
        self.assertEqual(detail.count("95 % interval"), 3)
        self.check_intervals_of_hosts(report, detail)
        self.check_intervals_of_service_times(report, detail)
