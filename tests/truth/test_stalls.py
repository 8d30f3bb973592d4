"""Loads that stand still: what a closed loop hides, and what an outage is."""

import html
import json
import math
import os
import re
import signal
import subprocess
import tempfile

from fleet import ROOT, Fleet, needs_root, stop, wait_for
from truth import TruthTest, situation

# A gap is a stall above 20 × the median of 1 ms. Gaps are counted in classes of powers of two, of
# which this is the first that is longer as a whole.
STALL_NS = 2**25


def null_job(targets, workloads, duration="4s", interval="1s", hosts=3, more=""):
    """A phase `mix` on null targets, whose I/Os take 1 ms and that stall by their scripts."""
    targets = "".join(
        f"  - {{name: {name}, null: {{size: 1GiB, latency: 1ms{script}}}}}\n"
        for name, script in targets.items()
    )
    workloads = "".join(f"        - {{engine: 'null', {words}}}\n" for words in workloads)
    return f"""name: stalls
interval: {interval}
hosts: {{count: {hosts}}}
targets:
{targets}phases:
  - name: mix
    run:
      duration: {duration}
{more}      workloads:
{workloads}"""


def on(host, target, words=""):
    """A workload named like its host."""
    return f"name: {host}, targets: [{target}], hosts: {{names: [{host}]}}{words}"


def percentile(counts, percent):
    """The value of rank ceil(percent / 100 × n) among {value: count}."""
    rank = math.ceil(percent / 100 * sum(counts.values()))
    for value in sorted(counts):
        rank -= counts[value]
        if rank <= 0:
            return value
    raise AssertionError(counts)


def with_missing(counts):
    """HdrHistogram's correction: beside L stand L - E, L - 2E, …, down to E (the median)."""
    expected = percentile(counts, 50)
    added = dict(counts)
    for value, count in counts.items():
        while (value := value - expected) >= expected:
            added[value] = added.get(value, 0) + count
    return added


def spans(mix):
    return [[o["beginSeconds"], o["endSeconds"]] for o in mix["outages"]]


class StillTest(TruthTest):
    workers = 3

    def found(self, kind):
        """Rows of this kind in phase_findings."""
        return self.rows(
            "SELECT * FROM phase_findings WHERE run_id = last_run() AND "
            f"kind = '{kind}' ORDER BY begin_seconds"
        )

    def silences(self, host, intervals, interval):
        """[begin, end] of the intervals without a completion, from the stored samples."""
        rows = self.rows(
            "SELECT DISTINCT interval AS i FROM interval_latency WHERE run_id = last_run() AND "
            f"host = '{host}' AND operations > 0"
        )
        busy = {int(row["i"]) for row in rows}
        found = []
        for i in (i for i in range(intervals) if i not in busy):
            if found and found[-1][1] == i * interval:
                found[-1][1] = (i + 1) * interval
            else:
                found.append([i * interval, (i + 1) * interval])
        return found


class Stalls(StillTest):
    def latencies(self, workload):
        """The measured I/Os of a workload, {nanoseconds: count}."""
        rows = self.rows(
            "SELECT b.midpoint_ns AS ns, b.count AS n FROM phase_latency l, "
            "hist_buckets(l.latencies) b WHERE run_id = last_run() AND "
            f"phase_name = 'mix' AND workload = '{workload}'"
        )
        return {float(row["ns"]): int(row["n"]) for row in rows}

    def stood_still(self, workload):
        """Share of the time of a loop of depth 1, whose gaps are the latencies of its I/Os."""
        counts = self.latencies(workload)
        long = sum(ns * n for ns, n in counts.items() if ns >= STALL_NS)
        return long / sum(ns * n for ns, n in counts.items())

    def hosts(self, phase):
        return {host["host"]: host for host in phase["hosts"]}

    @situation("18", "node1 stands still for 75 of each 500 ms, node2 and node3 do not")
    def test_the_share_and_the_p99_of_a_closed_loop(self):
        """The correction is computed anew from the stored histogram, and by theory: of 500
        slots of 1 ms, 75 wait from 1 to 75 ms, so that the p99 is 70 ms.
        """
        job = null_job(
            {"still": ", stall_every: 500ms, stall: 75ms", "even": ""},
            [on("node1", "still"), on("node2", "even"), on("node3", "even")],
        )
        report = self.run_report(job)
        mix = self.phase(report)
        # A busy machine can make the others stand still, too.
        (omission,) = (found for found in mix["omissions"] if found["workload"] == "node1")
        self.says(omission["sentence"])
        shares = {name: host["stalledRatio"] for name, host in self.hosts(mix).items()}
        # The machine's own stalls, which the other hosts have, too, are on top of it.
        others = min(shares["node2"], shares["node3"])
        self.assertAlmostEqual(shares["node1"] - others, 0.15, delta=0.05)
        self.assertAlmostEqual(shares["node1"], omission["stalledRatio"], places=6)
        for name in shares:  # one more stall may begin with the end
            self.assertAlmostEqual(shares[name], self.stood_still(name), delta=0.03, msg=name)
        counts = self.latencies("node1")
        self.assert_near(omission["p99Ns"], percentile(counts, 99), 0.02, "p99")
        corrected = percentile(with_missing(counts), 99)
        self.assert_near(omission["correctedP99Ns"], corrected, 0.03, "corrected p99")
        self.assert_near(corrected, 70e6, 0.2, "the theory's p99")
        for said in (report["verdict"]["warnings"], [self.report()], [self.report("markdown")]):
            text = " ".join(" ".join(said).split())
            self.assertIn(f"completed nothing for {100 * shares['node1']:.0f} %", text)
            shown = re.search(r"p99 would be about ([\d.]+) ms", text)[1]
            self.assert_near(shown, corrected / 1e6, 0.03, "as printed")
        (row,) = (r for r in self.found("omission") if r["sentence"] == omission["sentence"])
        self.assertAlmostEqual(float(row["share"]), shares["node1"], places=6)

    @situation("18", "node2 stands still for 400 ms of each second, node1 does not")
    def test_every_output_names_the_host_that_stood_still(self):
        """A share over all threads does not say whose storage it was."""
        job = null_job(
            {"even": "", "still": ", stall_every: 1s, stall: 400ms"},
            [on("node1", "even"), "name: b, targets: [still], hosts: {names: [node2]}"],
            hosts=2,
        ).replace("latency: 1ms", "latency: 3ms")  # busy neighbours seldom cost 20 times that
        mix = self.phase(self.run_report(job))
        shares = {name: host["stalledRatio"] for name, host in self.hosts(mix).items()}
        self.assertAlmostEqual(shares["node2"], 0.4, delta=0.1)
        (row,) = self.found("omission")
        self.says(f"JSON {shares}; SQL hosts {row['hosts']}; {row['sentence']}")
        self.assertEqual(row["hosts"], "{node2}")
        self.assertIn("node2", row["sentence"])

    @situation("18, 19", "a closed loop stands still for 1 of 2 s, and says so on one screen")
    def test_the_detailed_text_says_what_the_screen_says(self):
        job = null_job(
            {"still": ", stall_every: 1300ms, stall: 600ms"},
            [on("node1", "still")],
            duration="2s",
            interval="250ms",
            hosts=1,
        )
        said = self.run_report(job)["verdict"]["warnings"]
        warnings = [w for w in said if "NO I/O COMPLETED" in w or "coordinated omission" in w]
        self.assertEqual(len(warnings), 2, said)
        screen = " ".join(self.report().split())
        self.assertEqual([warning for warning in warnings if warning not in screen], [])
        detail = self.ok(self.fleet.lockstep("report", "last", "--detail")).text
        lacks = [warning for warning in warnings if warning not in detail]
        self.says(f"{len(warnings)} warnings on the screen; --detail lacks {lacks}")
        self.assertEqual(lacks, [])

    @situation("18", "a closed loop stands still for the first 2 of 4 s, and never again")
    def test_a_stall_at_the_begin_counts(self):
        """The first gap is the one before the first completion."""
        job = null_job({"still": ", stall_every: 1h, stall: 2s"}, [on("node1", "still")], hosts=1)
        mix = self.phase(self.run_report(job))
        (host,) = mix["hosts"]
        self.says(f"stalled {host['stalledRatio']:.2f}, silent {host['silentRatio']:.2f}")
        self.assertAlmostEqual(self.stood_still("node1"), 0.5, delta=0.1)
        self.assertAlmostEqual(host["silentRatio"], 0.5, delta=0.01)
        self.assertAlmostEqual(host["stalledRatio"], self.stood_still("node1"), delta=0.05)

    @situation("18", "stalls in the ramp and after the end; the measured 2 s are even")
    def test_stalls_outside_of_the_measured_time(self):
        """Neither the ramp nor the drain is a part of any figure."""
        job = null_job(
            {"still": ", stall_every: 3s, stall: 900ms"},
            [on("node1", "still")],
            duration="2s",
            hosts=1,
            more="      ramp: 4s\n",
        )
        report = self.run_report(job)
        mix = self.phase(report)
        (host,) = mix["hosts"]
        self.says(f"stalled {host['stalledRatio']:.3f}, own count {self.stood_still('node1'):.3f}")
        self.assertLess(percentile(self.latencies("node1"), 100), 0.8e9, "the script's stalls")
        self.assertEqual((mix["outages"], mix["omissions"], host["silentRatio"]), ([], [], 0))
        self.assertAlmostEqual(host["stalledRatio"], self.stood_still("node1"), delta=0.05)

    @situation("18", "an even closed loop, one that thinks, one with a rate limit, depths 1 and 8")
    def test_an_honest_load_is_not_flagged(self):
        """Pauses that the job asks for are no stalls of the storage."""
        job = null_job(
            {"even": ""},
            [
                on("node1", "even", ", queue_depth: 8, threads: 2"),
                on("node2", "even", ", think_time: 60ms"),
                on("node3", "even", ", max_iops: 12"),
            ],
        )
        report = self.run_report(job)
        mix = self.phase(report)
        self.says({name: host.get("stalledRatio") for name, host in self.hosts(mix).items()})
        self.assertEqual((mix["omissions"], mix["outages"]), ([], []))
        # Gaps of loads that wait by themselves are not judged.
        self.assertLess(max(host.get("stalledRatio", 0) for host in mix["hosts"]), 0.08)
        self.assertNotIn("omission", self.report() + self.report("markdown"))
        self.assertEqual(self.found("omission") + self.found("outage"), [])

    @situation("18", "an open loop (500/s) and a closed one with the same stalls: 300 ms of 2 s")
    def test_an_open_loop_is_not_corrected_twice(self):
        """Its response time has the waiting already; the closed loop's corrected p99 is its. The
        stalls are long, so that what a busy machine adds to them is little.
        """
        still = ", stall_every: 2s, stall: 300ms"
        job = null_job(
            {"a": still, "b": still},
            [
                on("node1", "a"),
                on("node2", "b", ", queue_depth: 256, open_loop: {rate: 500, arrival: fixed}"),
            ],
            hosts=2,
        )
        mix = self.phase(self.run_report(job))
        is_open = next(w for w in mix["workloads"] if w["name"] == "node2")["total"]
        p99 = next(p["latencyNs"] for p in is_open["percentiles"] if p["percent"] == 99)
        (omission,) = mix["omissions"]
        self.says(f"open p99 {p99 / 1e6:.1f} ms; {omission['sentence']}")
        self.assertEqual((omission["workload"], is_open["metric"]), ("node1", "response_time"))
        self.assert_near(p99, percentile(self.latencies("node2"), 99), 0.02, "as counted")
        self.assert_near(p99, 280e6, 0.2, "15 % of the I/Os wait evenly up to 300 ms")
        self.assert_near(omission["correctedP99Ns"], p99, 0.2, "closed against open")
        self.assertNotIn("stalledRatio", mix["hosts"][1])
        (row,) = self.found("omission")
        self.assertNotIn("node2", row["sentence"])


class Outages(StillTest):
    def check_outputs(self, report):
        """Text, Markdown and SQL say what the JSON report says, and say it first."""
        mix = self.phase(report)
        sentence = mix["outageSummary"]["sentence"]
        self.says(sentence)
        self.assertEqual(report["verdict"]["warnings"][0], sentence)
        self.assertIn(sentence, " ".join(self.report().split()))
        warnings = self.report("markdown").split("**Warnings**")[1]
        first = next(line for line in warnings.splitlines() if line.startswith("- "))
        self.assertEqual(html.unescape(first[2:]).replace("\\", ""), sentence)
        rows = self.found("outage")
        outages = mix["outages"]
        self.assertEqual(
            [(r["hosts"], float(r["begin_seconds"]), float(r["end_seconds"])) for r in rows],
            [
                ("{" + ",".join(o["hosts"]) + "}", o["beginSeconds"], o["endSeconds"])
                for o in outages
            ],
        )
        lengths = [o["endSeconds"] - o["beginSeconds"] for o in outages]
        summary = mix["outageSummary"]
        self.assertEqual(summary["count"], len(outages))
        self.assertEqual([float(row["seconds"]) for row in rows], lengths)
        for name, length in (("longest", max), ("shortest", min), ("total", sum)):
            self.assertAlmostEqual(summary[name + "Seconds"], length(lengths))
        self.assertEqual(summary["longestIoNs"], mix["total"]["latencyMaxNs"])
        return mix

    @situation("19", "node1 stands still from 0 to 1, from 2 to 3 and from 4 to 5 of 5 s")
    def test_an_outage_of_one_host(self):
        job = null_job(
            {"still": ", stall_every: 2s, stall: 1s", "even": ""},
            # At rates that busy neighbours leave them: nothing but the script moves the fleet's.
            [
                on(host, target, ", max_iops: 300")
                for host, target in (("node1", "still"), ("node2", "even"), ("node3", "even"))
            ],
            duration="5s",
            interval="250ms",
        )
        mix = self.check_outputs(self.run_report(job))
        own = self.silences("node1", 20, 0.25)
        self.assertEqual(len(own), 3)
        self.assertEqual(spans(mix), own)
        self.assertEqual([o["hosts"] for o in mix["outages"]], [["node1"]] * 3)
        summary = mix["outageSummary"]
        self.assertEqual((summary["hosts"], summary["ofHosts"], summary["totalCount"]), (1, 3, 0))
        self.assertRegex(summary["sentence"], r"on 1 of 3 hosts .* each, 3 times.*until the end")
        first, *others = (host["silentRatio"] for host in mix["hosts"])
        self.assertAlmostEqual(first, sum(e - b for b, e in own) / 5, places=3)
        self.assertEqual(others, [0, 0])
        # Back at 95 % of the mean of the five points before, by the report's own points.
        points = mix["iopsByInterval"]
        begin, end = (round(edge / 0.25) for edge in own[1])
        before = [p for i, p in enumerate(points[:begin]) if i * 0.25 >= own[0][1]][-5:]
        bar = 0.95 * sum(before) / len(before)
        back = next(i for i in range(end, len(points)) if points[i] >= bar)
        self.assertAlmostEqual(mix["outages"][1]["recoverySeconds"], 0.25 * (back - end))

    @situation("19", "node1 and node2 stand still together for 1.5 s, node3 never")
    def test_an_outage_of_some_hosts(self):
        still = ", stall_every: 1h, stall: 1500ms"
        job = null_job(
            {"a": still, "b": still, "even": ""},
            [on("node1", "a"), on("node2", "b"), on("node3", "even")],
            duration="3s",
            interval="500ms",
        )
        mix = self.check_outputs(self.run_report(job))
        both = [self.silences(host, 6, 0.5) for host in ("node1", "node2")]
        self.assertEqual(both, [[[0, 1.5]]] * 2)
        self.assertEqual(spans(mix), [[0, 1.5]])
        self.assertEqual(mix["outages"][0]["hosts"], ["node1", "node2"])
        summary = mix["outageSummary"]
        self.assertEqual((summary["hosts"], summary["ofHosts"], summary["totalCount"]), (2, 3, 0))
        self.assertRegex(summary["sentence"], "on 2 of 3 hosts for 1.5.* s, from 0 s; never on all")

    @situation("19", "node1 stands still for 3 s; node2 for 1 s, works for 1 s, stands for 1 s")
    def test_outages_that_overlap_twice(self):
        """Twice nothing completed anywhere, although the hosts' outages differ in length."""
        job = null_job(
            {"a": ", stall_every: 1h, stall: 3s", "b": ", stall_every: 2s, stall: 1s"},
            [on("node1", "a"), on("node2", "b")],
            duration="3500ms",
            interval="250ms",
            hosts=2,
        )
        mix = self.check_outputs(self.run_report(job))
        dead = [round(i * 0.25, 2) for i, p in enumerate(mix["iopsByInterval"]) if p == 0]
        self.says(f"no completion in the fleet in the intervals from {dead}")
        timeline = self.rows(
            "SELECT interval * 0.25 AS at FROM fleet_timeline WHERE run_id = last_run() AND "
            "operations = 0 AND interval < 14 ORDER BY 1"
        )
        self.assertEqual([float(row["at"]) for row in timeline], dead)
        self.assertGreaterEqual(len(dead), 6)
        summary = mix["outageSummary"]
        self.assertNotIn("never on all hosts", summary["sentence"])
        self.assertGreaterEqual(summary["totalCount"], 1)

    @situation("19", "the process of node3 is stopped for two intervals or more, once")
    def test_a_host_that_is_paused(self):
        job = null_job(
            {"even": ""},
            [on(f"node{n}", "even") for n in (1, 2, 3)],
            duration="6s",
            interval="500ms",
        )
        running = self.fleet.start_lockstep("run", "-", "--format", "json", stdin=job)
        self.fleet.await_seconds(2)

        def intervals():
            counted = "SELECT count(DISTINCT interval) FROM interval_operations WHERE run_id = "
            return int(self.fleet.sql(counted + "last_run() AND worker_index = 0")[0][0])

        self.fleet.workers["node3"].send_signal(signal.SIGSTOP)
        try:
            seen = intervals()
            wait_for("three more intervals of node1", lambda: intervals() >= seen + 3)
        finally:
            self.fleet.workers["node3"].send_signal(signal.SIGCONT)
        out, err = running.communicate(timeout=300)
        self.assertEqual(running.returncode, 0, err)
        mix = self.check_outputs(json.loads(out))
        self.assertEqual([o["hosts"] for o in mix["outages"]], [["node3"]])
        self.assertEqual(spans(mix), self.silences("node3", 12, 0.5))
        # The stopped I/O took at least as long as nothing completed.
        (outage,) = mix["outages"]
        lasted = outage["endSeconds"] - outage["beginSeconds"]
        self.assertGreaterEqual(lasted, 1)
        self.assertGreaterEqual(mix["outageSummary"]["longestIoNs"], 0.99e9 * lasted)

    @situation(
        "19", "an end after 1,500 I/Os, stalls of 0.6 intervals, 5 I/Os an interval, think time"
    )
    def test_an_even_load_has_no_outage(self):
        job = null_job(
            {"even": "", "short": ", stall_every: 1s, stall: 150ms"},
            [
                on("node1", "short", ", operations: 1500"),
                on("node2", "even", ", open_loop: {rate: 20, arrival: poisson}, queue_depth: 4"),
                on("node3", "even", ", think_time: 600ms"),
            ],
            duration="4s",
            interval="250ms",
        )
        report = self.run_report(job)
        mix = self.phase(report)
        self.says(f"outages {mix['outages']}, warnings {report['verdict']['warnings']}")
        self.assertEqual((mix["outages"], mix.get("outageSummary")), ([], None))
        self.assertNotIn("NO I/O", self.report() + self.report("markdown"))
        self.assertEqual(self.found("outage"), [])


@needs_root
class Blocking(StillTest):
    """Files on a FUSE file system whose reads hang for as long as the test says."""

    @classmethod
    def setUpClass(cls):
        cls.point = tempfile.mkdtemp(prefix="lsstalls", dir="/tmp")
        cls.addClassCleanup(os.rmdir, cls.point)
        command = [os.path.join(ROOT, "bazel-bin/tests/faults/faultfs"), "-f", cls.point]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        cls.addClassCleanup(stop, process, 9)
        cls.addClassCleanup(subprocess.run, ["umount", "-l", cls.point], check=False)
        wait_for("the file system to be mounted", lambda: os.path.ismount(cls.point))
        cls.fleet = Fleet(3, allow=[cls.point])
        cls.addClassCleanup(cls.fleet.__exit__)
        cls.fleet.__enter__()

    @classmethod
    def tearDownClass(cls):
        """The clean-ups do it, in their order."""

    def fault(self, text):
        with open(self.point + "/.fault", "w", encoding="ascii") as out:
            out.write(text + "\n")

    def intervals(self, worker):
        """In how many intervals of the second phase it has completed I/Os so far."""
        counted = (
            "SELECT count(DISTINCT interval) FROM interval_operations WHERE run_id = last_run() "
            f"AND phase = 1 AND worker_index = {worker}"
        )
        return int(self.fleet.sql(counted)[0][0])

    def await_intervals(self, more, *workers):
        """Until each of the workers has had so many more intervals."""
        seen = {worker: self.intervals(worker) for worker in workers}
        wait_for(
            f"{more} more intervals of {workers}",
            lambda: all(self.intervals(worker) >= n + more for worker, n in seen.items()),
        )

    @situation("19", "reads hang for the same time on node1 (io_uring) and node2 (sync: it blocks)")
    def test_an_outage_is_dated_alike_on_a_blocking_engine(self):
        """The I/Os that node2 completed before the read that hangs belong to an interval that had
        I/Os: a thread that is inside a system call cannot hand it over itself.
        """
        workloads = "".join(
            f"        - {{name: {host}, hosts: {{names: [{host}]}}, engine: {engine}, targets: "
            f"{target}, block_size: 4KiB, queue_depth: 1, max_iops: 200}}\n"
            for host, engine, target in (
                ("node1", "io_uring", "d"),
                ("node2", "sync", "d"),
                ("node3", "'null'", "even"),
            )
        )
        job = f"""name: stalls
interval: 500ms
hosts: {{count: 3}}
targets:
  - {{name: d, file: {{path: "{self.point}/{{host}}", size: 1MiB}}}}
  - {{name: even, null: {{size: 1GiB, latency: 1ms}}}}
phases:
  - prepare:
  - name: mix
    run:
      duration: 600s
      workloads:
{workloads}"""
        running = self.fleet.start_lockstep("run", "-", "--format", "json", stdin=job)
        self.addCleanup(self.fault, "")
        self.fleet.await_seconds(3)
        self.fault("read hang")
        self.await_intervals(5, 2)
        self.fault("")
        self.await_intervals(3, 0, 1)
        whole = self.intervals(2)
        self.ok(self.fleet.lockstep("stop", "--phase"))
        out, err = running.communicate(timeout=300)
        self.assertEqual(running.returncode, 0, err)
        mix = self.phase(json.loads(out))
        one, two = (self.silences(host, whole, 0.5) for host in ("node1", "node2"))
        self.says(f"node1 {one}, node2 {two}, longest {mix['total']['latencyMaxNs'] / 1e9:.2f} s")
        ((begin, end),) = two
        self.assertEqual(one, two)
        (outage,) = mix["outages"]
        self.assertEqual((outage["beginSeconds"], outage["endSeconds"]), (begin, end))
        self.assertEqual(outage["hosts"], ["node1", "node2"])
        # The read that hung took at least as long as nothing completed.
        self.assertGreaterEqual(mix["total"]["latencyMaxNs"], 0.99e9 * (end - begin))
        # No interval has more than its own I/Os.
        rows = self.rows(
            "SELECT host, max(operations) AS most FROM interval_latency WHERE "
            "run_id = last_run() AND phase_name = 'mix' GROUP BY host"
        )
        for row in rows:
            self.assertLessEqual(int(row["most"]), 125, row["host"])
