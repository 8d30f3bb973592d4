"""Loads that stand still for whole intervals: what an outage is."""

import html
import json
import os
import signal
import subprocess
import tempfile

from fleet import ROOT, Fleet, needs_root, stop, wait_for
from truth import TruthTest, situation


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
        cls.start_fleet(Fleet(3, allow=[cls.point]))

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
