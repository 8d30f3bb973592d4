"""The page in a real browser: its words, figures and data against the truth and the reports."""

import base64
import contextlib
import json
import os
import re
import struct

from test_percentiles import above
from test_web import browse
from truth import TruthTest, situation

FIGURES = """name: figures
interval: 250ms
hosts: {count: 2}
targets:
  - {name: even, null: {latency: 1ms}}
  - {name: still, null: {latency: 1ms, stall_every: 1h, stall: 1s}}
phases:
  - name: early
    run:
      duration: 1200ms
      workloads:
        - {name: a, engine: 'null', targets: [even], queue_depth: 2, operations: 1200}
        - {name: b, engine: 'null', targets: [even], max_iops: 200}
  - name: few
    run:
      duration: 1s
      workloads: [{name: w, engine: 'null', targets: [even], operations: 49}]
  - name: some
    run:
      duration: 10s
      expect: {p50: 60s}
      workloads: [{name: w, engine: 'null', targets: [even], operations: 500}]
  - name: uneven
    run:
      duration: 1s
      workloads:
        - {name: a, engine: 'null', targets: [even], max_iops: 400, hosts: {names: [node1]}}
        - {name: b, engine: 'null', targets: [even], max_iops: 40, hosts: {names: [node2]}}
  - name: still
    run:
      duration: 1500ms
      workloads: [{name: w, engine: 'null', targets: [still]}]
  - name: level
    run:
      duration: 3s
      workloads:
        - {name: a, engine: 'null', targets: [even], max_iops: 100}
        - {name: b, engine: 'null', targets: [still], max_iops: 300}
  - name: points
    run:
      duration: 1s
      sweep: {axes: [{field: queue_depth, values: [1, 2]}]}
      workloads: [{name: w, engine: 'null', targets: [even], operations: 49}]
"""
UNMET = """name: unmet
targets: [{name: n, null: {latency: 1ms}}]
phases:
  - name: mix
    run:
      duration: 300ms
      expect: {iops: 1000000, p50: 60s}
      workloads: [{name: w, engine: 'null'}]
"""
SLOW = """name: slow
interval: 250ms
hosts: {count: 2}
on_worker_loss: continue
targets: [{name: n, null: {latency: 1ms}}]
phases:
  - name: mix
    run: {duration: 600s, workloads: [{name: w, engine: 'null', max_iops: 160}]}
"""
BLOCKS = """name: blocks
hosts: {count: 1}
targets:
  - {name: d, file: {path: "DATA/{host}", size: 64KiB}}
  - {name: n, null: {latency: 1ms}}
phases:
"""
WRITE = """  - prepare:
  - run:
      workloads: [{targets: [d], read: 0%, pattern: shuffled, passes: 1, verify: true}]
"""
ABORT = """  - verify: {of_run: RUN}
  - name: mix
    run:
      duration: 60s
      abort_if: {p99: 1ns}
      workloads: [{engine: 'null', targets: [n], queue_depth: 64}]
"""


def shown(rate):
    """As all outputs print a rate that is below 99,999."""
    # Halves are rounded up, as JavaScript does.
    return f"{rate:.1f}" if rate < 100 and rate != int(rate) else f"{int(rate + 0.5):,}"


def halves(text):
    """The upper halves of 32-bit floats."""
    content = base64.b64decode(text)
    return [struct.unpack("<f", b"\0\0" + content[i : i + 2])[0] for i in range(0, len(content), 2)]


class Seen:
    """The texts of the page in one view, and the JSON that it fetched for that."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as text:
            found = json.load(text)
        self.json = found["json"]
        self.head, *self.sections = found["sections"]

    def section(self, name):
        return next(section for section in self.sections if section["name"] == name)

    @staticmethod
    def words(section):
        return [part for part in section["parts"] if isinstance(part, str)]

    @staticmethod
    def tables(section, first):
        """Rows, by column, of the tables whose first column has this title."""
        return [
            [dict(zip(part["head"], row, strict=True)) for row in part["rows"]]
            for part in section["parts"]
            if isinstance(part, dict) and part["head"][0] == first
        ]

    def fetched(self, pattern):
        return next(answer for url, answer in self.json.items() if re.search(pattern, url))


class Page(TruthTest):
    workers = 2
    fleet_options = {"http": True, "controller_flags": ["--lease", "4"]}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.browser = browse(cls.fleet, "truth_test.cjs", cls.fleet.directory)
        cls.addClassCleanup(cls.end_browser)
        cls().make()

    @classmethod
    def end_browser(cls):
        """With no more views to look at it ends Chromium, too."""
        with contextlib.suppress(BrokenPipeError):
            cls.browser.stdin.close()
        cls.browser.stdout.read()
        cls.browser.stdout.close()
        cls.browser.wait()

    def ask(self, view):
        """The browser looks while the next run goes on."""
        with contextlib.suppress(BrokenPipeError):  # answer() tells why
            self.browser.stdin.write(view + "\n")
            self.browser.stdin.flush()

    def answer(self):
        line = self.browser.stdout.readline()
        if not line.startswith("page: /"):
            with contextlib.suppress(BrokenPipeError):
                self.browser.stdin.close()
            raise AssertionError(line + self.browser.stdout.read())
        return Seen(line.split()[1])

    def make(self):
        """All runs, and what the page says of them."""
        cls = type(self)
        reports = {"figures": self.run_report(FIGURES)}
        self.ask("run " + reports["figures"]["run"]["runId"])
        reports["unmet"] = self.run_report(UNMET, status=4)
        running = self.fleet.start_lockstep("run", "-", "--format", "json", stdin=SLOW)
        self.fleet.await_seconds(2)
        self.ask("run " + reports["unmet"]["run"]["runId"])
        self.ask("live " + self.fleet.sql("SELECT last_run()")[0][0])
        seen = [self.answer() for _ in range(3)]
        cls.live = seen.pop()
        self.ok(self.fleet.lockstep("stop", "--phase"))
        reports["slow"] = json.loads(running.communicate(timeout=300)[0])
        self.ask("run " + reports["slow"]["run"]["runId"])
        reports["blocks"] = self.corrupted()
        self.ask("run " + reports["blocks"]["run"]["runId"])
        reports["lost"] = json.loads(self.run_and_lose_node2(SLOW, "--format", "json")[1])
        self.ask("run " + reports["lost"]["run"]["runId"])
        self.ask("runs")
        seen += [self.answer() for _ in range(4)]
        cls.runs = seen.pop()
        self.browser.stdin.close()
        self.assertEqual(self.browser.stdout.read(), "page: ok\n")
        cls.reports = reports
        cls.seen = dict(zip(reports, seen, strict=True))

    def corrupted(self):
        """The report of a run that finds a block of zeros, and is then aborted for its p99."""
        job = BLOCKS.replace("DATA", self.fleet.data)
        run = self.run_report(job + WRITE)["run"]["runId"]
        with open(os.path.join(self.fleet.data, "node1"), "r+b") as file:
            file.seek(8192)
            file.write(bytes(4096))
            os.fsync(file.fileno())
        return self.run_report(job + ABORT.replace("RUN", run), status=6)

    def run_id(self, name):
        return self.reports[name]["run"]["runId"]

    def listed(self, name):
        """The run's row in the list: the newest is the first."""
        ids = [run["runId"] for run in self.runs.fetched(r"/api/runs\?")["runs"]]
        return self.runs.tables(self.runs.head, "compare")[0][ids.index(self.run_id(name))]

    def live_words(self, pattern):
        return next(word for word in self.live.words(self.live.head) if re.search(pattern, word))

    def number(self, cell):
        return float(cell.replace(",", ""))

    def row(self, name, phase, which=0):
        """The first row of a workload's table, by column."""
        seen = self.seen[name]
        return seen.tables(seen.section(phase), "operation")[which][0]

    def check_cell(self, cell, percent, count):
        """A cell of a percentile against the rule, by the number of I/Os alone."""
        beyond = above(percent, count)
        self.assertEqual(cell == "–", beyond == 0, (cell, percent, count))
        self.assertEqual(cell.startswith("~"), 0 < beyond < 10, (cell, percent, count))

    @situation("1", "1,200 I/Os of 2 × depth 2 × 1 ms (at most 4,000/s) beside 200/s for 1.2 s")
    def test_a_workload_that_ends_early(self):
        early = self.phase(self.reports["figures"], "early")
        seen = self.seen["figures"]
        rates = [w["total"]["iops"] for w in early["workloads"]] + [early["total"]["iops"]]
        cells = [self.row("figures", "early", which=i)["IOPS"] for i in range(3)]
        self.says(f"a {cells[0]}, b {cells[1]}, all {cells[2]} IOPS")
        self.assertEqual(cells, [shown(rate) for rate in rates])
        a, b, total = map(self.number, cells)
        self.assertLessEqual(a, 4040)
        self.assertLessEqual(b, 202)
        self.assertGreaterEqual(total, a)
        hosts = seen.tables(seen.section("early"), "host")[0]
        self.assertEqual([h["IOPS"] for h in hosts], [shown(h["iops"]) for h in early["hosts"]])
        self.assert_near(sum(self.number(h["IOPS"]) for h in hosts), total, 0.01, "the hosts")
        # The page was given the report.
        (fetched,) = [p for p in seen.fetched(r"/runs/[^/?]+$")["phases"] if p["name"] == "early"]
        self.assertEqual(fetched["workloads"], early["workloads"])
        self.assertEqual(fetched["total"], early["total"])
        series = seen.fetched(r"/series\?phase=0&")
        spans = zip(*(series["spans"][f"{edge}Seconds"] for edge in ("begin", "end")), strict=True)
        done = sum(
            (end - begin) * iops
            for (begin, end), iops in zip(spans, series["fleet"]["iops"], strict=True)
        )
        self.assert_near(done, early["total"]["operations"], 0.002, "the I/Os of the chart")

    @situation(
        "1", "a load that ends after 0.3 of 1.2 s, and one that does not: times of their rates"
    )
    def test_the_time_that_a_rate_is_over(self):
        early = self.phase(self.reports["figures"], "early")
        b = early["workloads"][1]
        self.assertGreater(b["windowEndSeconds"], early["windowEndSeconds"])
        own = f"of b over {b['windowBeginSeconds']:.2f}–{b['windowEndSeconds']:.2f} s"
        detail = self.ok(self.fleet.lockstep("report", self.run_id("figures"), "--detail")).text
        self.assertIn(own, detail)
        seen = self.seen["figures"]
        (said,) = [w for w in seen.words(seen.section("early")) if w.startswith("latency is")]
        self.says(said)
        self.assertIn(own, said)

    @situation("5", "49 and 500 I/Os: 0 and 5 of them above the p99, none above the p99.9")
    def test_a_percentile_that_is_not_there(self):
        for phase, count in (("few", 49), ("some", 500)):
            row = self.row("figures", phase)
            total = self.phase(self.reports["figures"], phase)["total"]
            self.assertEqual(total["operations"], count)
            self.says(f"{count}: p95 {row['p95']}, p99 {row['p99']}, p99.9 {row['p99.9']}")
            for percent in ("50", "90", "95", "99", "99.9", "99.99"):
                self.check_cell(row[f"p{percent}"], percent, count)
            self.assertNotIn(row["max"], ("–", "0"))
            # The sentence above the table has the marks of the table.
            section = self.seen["figures"].section(phase)
            words = " ".join(self.seen["figures"].words(section))
            (said,) = re.findall(r"p99 (–|~?[0-9.,]+ \S+), Jain", words)
            self.assertEqual(said[0] in "–~", row["p99"][0] in "–~", (said, row["p99"]))

    @situation("5", "24, 25 and 250 I/Os of a host: 0, 0 and 2 of them above the p99")
    def test_a_percentile_that_is_not_there_of_a_host(self):
        wrong = []
        for phase in ("few", "some"):
            seen = self.seen["figures"]
            rows = seen.tables(seen.section(phase), "host")[0]
            hosts = self.phase(self.reports["figures"], phase)["hosts"]
            for row, host in zip(rows, hosts, strict=True):
                for percent in ("50", "99"):
                    count = int(host["total"]["operations"])
                    beyond, cell = above(percent, count), row[f"p{percent}"]
                    mark = "–" if beyond == 0 else "~" if beyond < 10 else ""
                    if (cell[0] if cell[0] in "–~" else "") != mark:
                        wrong.append(f"{count} I/Os: p{percent} {cell}, not {mark}")
        self.says("; ".join(wrong) or "dashes and ~")
        self.assertEqual(wrong, [])

    @situation("5", "a sweep of 49 I/Os a point, and 40 I/Os an interval seen live")
    def test_a_percentile_that_is_not_there_of_a_point_and_live(self):
        points = self.seen["figures"].tables(
            self.seen["figures"].section("Sweep of points"), "queue_depth"
        )
        found = {f"point {point['queue_depth']}": point["p99"] for point in points[0]}
        found["live facts"] = re.search(r"p99\.9 (\S+)", self.live_words(r"p99\.9 "))[1]
        found["live tile"] = re.fullmatch(r"(.+)p99", self.live_words("p99$"))[1]
        self.says(found)
        self.assertEqual(found, dict.fromkeys(found, "–"))

    @situation("5", "less than 100 I/Os in an interval: what the charts draw")
    def test_no_moment_has_a_percentile_of_few(self):
        wrong = []
        for name, phase in (("figures", 1), ("figures", 2), ("figures", 3), ("slow", 0)):
            of = self.seen[name]
            series = of.fetched(rf"/series\?phase={phase}&")
            begins, ends = (series["spans"][f"{edge}Seconds"] for edge in ("begin", "end"))
            for i, (begin, end) in enumerate(zip(begins, ends, strict=True)):
                count = round((end - begin) * series["fleet"]["iops"][i])
                for percent, key in (("99", "p99Ns"), ("99.9", "p999Ns")):
                    if above(percent, max(count, 1)) == 0 and series["fleet"][key][i]:
                        wrong.append(f"{name} {phase}: {key} {series['fleet'][key][i]} of {count}")
        # A host has less than 100 I/Os in each interval.
        hosts = self.seen["slow"].fetched(r"/hosts\?phase=0&")["hosts"]["hosts"]
        wrong += [f"{h['host']}: {v}" for h in hosts for v in halves(h["p99Ns"]) if v > 0]
        self.says("; ".join(wrong) or "none")
        self.assertEqual(wrong, [])

    @situation("19", "both hosts stand still from 0 to 1 of 1.5 s")
    def test_an_outage(self):
        report = self.reports["figures"]
        still = self.phase(report, "still")
        seen = self.seen["figures"]
        words = seen.words(seen.head)
        said = next(word for word in words if "still: NO I/O COMPLETED" in word)
        self.says(said)
        loud, *rest = still["outageSummary"]["sentence"].split(";")
        self.assertTrue(said.startswith(f"✗ still: {loud}"), said)
        self.assertTrue(all(part.strip() in said for part in rest), said)
        self.assertRegex(loud, "on 2 of 2 hosts for 1.* from 0 s$")
        # Before all figures.
        self.assertLess(words.index(said), next(i for i, w in enumerate(words) if "IOPS" in w))
        series = seen.fetched(rf"/series\?phase={still['index']}&")
        ends, rates = series["spans"]["endSeconds"], series["fleet"]["iops"]
        self.assertEqual([r for end, r in zip(ends, rates, strict=True) if end < 1.01], [0] * 4)
        self.assertGreater(max(rates), 0)

    @situation("18", "closed loops of both hosts stand still from 0 to 1 of 1.5 s")
    def test_the_share_of_stalls_and_the_p99(self):
        still = self.phase(self.reports["figures"], "still")
        section = self.seen["figures"].section("still")
        (said,) = [w for w in self.seen["figures"].words(section) if w.startswith("stalls: ")]
        self.says(said)
        detail = self.ok(self.fleet.lockstep("report", self.run_id("figures"), "--detail")).text
        self.assertIn(said, detail)
        share = f"{100 * still['workloads'][0]['stalledRatio']:.1f} %"
        self.assertIn(f"for {share} of the threads' time nothing completed", said)
        rows = self.seen["figures"].tables(section, "host")[0]
        for host, row in zip(still["hosts"], rows, strict=True):
            self.assertAlmostEqual(100 * host["stalledRatio"], float(row["stalled"][:-2]), places=1)
            self.assertNotEqual(row["corrected p99"], row["p99"])

    @situation("6", "a second workload joins after 1 of 3 s: four times the rate")
    def test_a_change_of_the_level(self):
        level = self.phase(self.reports["figures"], "level")
        hosts = [host["iopsByInterval"] for host in level["hosts"]]
        rates = [sum(rates) for rates in zip(*hosts, strict=True)]
        # Beside busy neighbours the workloads may be far from their rates: there is no step then.
        if 2 * max(rates[:3]) > min(rates[5:]):
            self.skipTest(f"no step of the rate: {rates}")
        change = level["levelChanges"][0]
        self.assertAlmostEqual(change["atSeconds"], 1, delta=0.3)
        seen = self.seen["figures"]
        # The phase does not repeat it.
        words = seen.words(seen.head) + seen.words(seen.section("level"))
        (said,) = [word for word in words if "means of different states" in word]
        self.assertIn(change["sentence"], said)
        self.says(said)
        self.assertIn("IOPS rose from", said)

    @situation("6", "met, not met, nothing expected, and a lost host: the head, and the list")
    def test_the_word_of_the_verdict(self):
        words = {"figures": "passed", "unmet": "expectations failed", "slow": "done"}
        words["lost"] = "degraded"
        for name, word in words.items():
            report = self.reports[name]
            self.assertEqual(report["verdict"]["word"], word)
            pills = [self.seen[name].head["pills"][0], [self.listed(name)["verdict"]]]
            self.says(f"{name}: {pills}")
            self.assertEqual([pill[0] for pill in pills], [word, word])
            self.assertEqual(pills[0][1] == "good", report["verdict"]["good"], name)
            self.assertIn(f"{shown(report['run']['iops'])} IOPS", self.listed(name)["result"])
        said = " ".join(self.seen["lost"].words(self.seen["lost"].head))
        for reason in self.reports["lost"]["verdict"]["reasons"]:
            self.assertIn(reason, said)
        seen = self.seen["unmet"]
        (failed, met) = self.phase(self.reports["unmet"])["expectations"]
        rows = seen.tables(seen.head, "expectation")[0]
        self.assertEqual(
            [(row["expectation"], row["found"], row["met"]) for row in rows],
            [("IOPS", failed["found"], "✗ missed"), ("p50", met["found"], "✓ met")],
        )
        self.assertEqual(seen.section("mix")["pills"], [["expectations failed", "bad"]])

    @situation("20", "a block of zeros, in a run that is aborted after it was found")
    def test_corrupted_data_in_a_run_that_is_aborted(self):
        report = self.reports["blocks"]
        word = report["verdict"]["word"]
        self.assertEqual((word, report["run"]["state"]), ("data corrupted", "aborted"))
        seen = self.seen["blocks"]
        self.assertEqual(seen.head["pills"], [["data corrupted", "corrupt"]])
        words = seen.words(seen.head)
        self.assertTrue(words[0].startswith("✗ DATA CORRUPTED: 1 block on node1"), words[0])
        # Contents, place and last writer.
        self.assertTrue(any("corrupt at offset 8192 of" in word for word in words), words)
        self.says(f"head {seen.head['pills'][0][0]}, list {self.listed('blocks')['verdict']}")
        self.assertEqual(self.listed("blocks")["verdict"], "data corrupted")

    @situation("3", "one of two hosts is killed; both have the same share of 160/s")
    def test_a_lost_host(self):
        report = self.reports["lost"]
        mix = self.phase(report)
        seen = self.seen["lost"]
        section = seen.section("mix")
        kept, lost = seen.tables(section, "host")[0]
        self.says(lost)
        self.assertEqual((kept["host"], lost["host"]), ("node1", "node2 (lost)"))
        columns = ("p50", "p99", "errors", "done", "start")
        self.assertEqual([lost[column] for column in columns], ["–"] * len(columns))
        self.assertEqual(lost["straggler"], "")
        # Its rate is that of the samples that came, and in no sum.
        self.assertEqual(lost["IOPS"], shown(mix["hosts"][1]["iops"]))
        self.assertEqual(self.row("lost", "mix")["IOPS"], kept["IOPS"])
        self.assertLessEqual(self.number(kept["IOPS"]), 81)
        self.assertEqual(section["pills"], [["degraded", "warn"]])
        words = seen.words(section)
        self.assertTrue(any(word.startswith("1 host of 2 lost; samples of all") for word in words))
        said = words + seen.words(seen.head)
        self.assertTrue(any("DEGRADED: results of 1 of 2" in word for word in said))
        self.assertFalse(any(word.startswith("fairness of IOPS over hosts") for word in words))
        # If the hosts differ, that section has the events, too.
        events = [word for one in seen.sections for word in seen.words(one)]
        self.assertTrue(any("worker on node2 was lost in phase mix" in event for event in events))

    def heights(self, name, phase):
        """Returns the points of each line of hosts over time, from 0 to 1."""
        (table,) = [
            part
            for part in self.seen[name].section(phase)["parts"]
            if isinstance(part, dict) and part["head"][0] == "host"
        ]
        points = [[p.split(",") for p in line.split()] for line in table["lines"]]
        return [[(float(x) / 100, (19 - float(y)) / 18) for x, y in line] for line in points]

    @situation("4", "400/s on node1 beside 40/s on node2, for 1 s in samples of 250 ms")
    def test_lines_of_hosts_have_one_scale(self):
        """As in the text, where the slow host's line is low."""
        slow = max(height for _, height in self.heights("figures", "uneven")[1])
        self.says(f"the line of node2 reaches {100 * slow:.0f} % of the height")
        self.assertLess(slow, 0.5)

    @situation("4", "four samples of 250 ms, and what the drain leaves of some ms")
    def test_lines_of_hosts_are_of_whole_samples(self):
        """The charts beside them leave out the rate of a moment (wholeSpans())."""
        phase = self.phase(self.reports["figures"], "uneven")
        spans = self.seen["figures"].fetched(rf"/hosts\?phase={phase['index']}&")["spans"]
        ends = zip(spans["beginSeconds"], spans["endSeconds"], strict=True)
        # Not of the drain, after the measured time.
        measured = [(begin, end) for begin, end in ends if begin < spans["measuredToSeconds"]]
        lengths = [round(end - begin, 3) for begin, end in measured]
        whole = sum(length >= 0.125 for length in lengths)
        points = [len(line) for line in self.heights("figures", "uneven")]
        self.says(f"samples of {lengths} s, points {points}")
        self.assertEqual(points, [whole] * 2)

    @situation("3", "one of two hosts is killed: for how long there are samples of both, in words")
    def test_the_time_with_samples_of_all_hosts(self):
        mix = self.phase(self.reports["lost"])
        span = f"from {mix['validFromSeconds']:.2f} to {mix['validToSeconds']:.2f} s"
        seen = self.seen["lost"]
        said = [word for word in seen.words(seen.section("mix")) if "amples of all" in word]
        self.says("; ".join(said))
        self.assertEqual([word for word in said if span not in word], [])

    @situation("3", "a host that was lost after some of many samples")
    def test_the_line_of_a_lost_host_ends_with_it(self):
        hosts = self.seen["lost"].fetched(r"/hosts\?phase=0&")["hosts"]["hosts"]
        values = halves(hosts[1]["iops"])
        there = sum(value == value for value in values) / len(values)
        reaches = self.heights("lost", "mix")[1][-1][0]
        self.says(f"there for {100 * there:.0f} % of the samples, drawn over {100 * reaches:.0f} %")
        self.assertLess(there, 0.8)
        self.assertLessEqual(reaches, there + 0.1)
