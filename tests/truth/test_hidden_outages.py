"""Outages that other workloads, pauses, low rates or a host's whole time could hide."""

import re

from test_stalls import StillTest, null_job, on, spans
from truth import situation

EVEN = ", max_iops: 300"  # a rate that busy neighbours leave them


class HiddenOutages(StillTest):
    def check(self, report):
        """Text, Markdown, JSON and SQL have the same outages; returns the phase."""
        mix = self.phase(report)
        sentence = mix["outageSummary"]["sentence"]
        self.says(sentence)
        self.assertEqual(report["verdict"]["warnings"][0], sentence)
        for form in ("text", "markdown"):
            said = " ".join(self.report(form).replace("\\", "").split())
            self.assertIn(sentence, said.replace("&#39;", "'"))
        self.assertEqual(
            [
                (row["hosts"], float(row["begin_seconds"]), float(row["end_seconds"]))
                for row in self.found("outage")
            ],
            [
                ("{" + ",".join(o["hosts"]) + "}", o["beginSeconds"], o["endSeconds"])
                for o in mix["outages"]
            ],
        )
        self.assertEqual(mix["outageSummary"]["count"], len(mix["outages"]))
        return mix

    def check_node1(self, job, intervals):
        """Of intervals of 250 ms: node1 has outages where its samples have no I/O, and only it.
        Where the machine itself stood still, so that others have true ones, it is done again.
        """
        for _ in range(3):
            mix = self.check(self.run_report(job))
            others = [o for o in mix["outages"] if o["hosts"] != ["node1"]]
            if not others:
                break
            for outage in others:
                begin, end = outage["beginSeconds"], outage["endSeconds"]
                for host in outage["hosts"]:
                    seen = self.silences(host, intervals, 0.25)
                    self.assertTrue(any(b <= begin and end <= e for b, e in seen), (outage, seen))
        else:
            self.skipTest("the machine itself stood still in three runs")
        own = self.silences("node1", intervals, 0.25)
        self.assertEqual(spans(mix), own)
        self.assertEqual([o["hosts"] for o in mix["outages"]], [["node1"]] * len(own))
        (silent,) = (h["silentRatio"] for h in mix["hosts"] if h["host"] == "node1")
        self.assertAlmostEqual(silent, sum(e - b for b, e in own) / (0.25 * intervals), places=3)
        return own

    @situation("19", "a loop that thinks for 1 ms stands still for 1 of 2 s; others think for 600")
    def test_think_time_hides_no_outage(self):
        job = null_job(
            {"still": ", stall_every: 2s, stall: 1s", "even": ""},
            [
                on("node1", "still", ", think_time: 1ms, queue_depth: 4"),
                on("node2", "even", ", think_time: 600ms"),
                on("node3", "even", EVEN),
            ],
            duration="5s",
            interval="250ms",
        )
        self.assertEqual(len(self.check_node1(job, 20)), 3)

    @situation("19", "node1 stands still at 2 and 4 s; a workload beside it was done at 0.2 s")
    def test_a_workload_that_has_ended_hides_no_outage(self):
        job = null_job(
            {"still": ", stall_every: 2s, stall: 1s", "even": ""},
            [
                on("node1", "still", EVEN),
                "name: early, targets: [even], hosts: {names: [node1]}, operations: 200",
                on("node2", "even", EVEN),
                on("node3", "even", EVEN),
            ],
            duration="5s",
            interval="250ms",
        )
        own = self.check_node1(job, 20)
        self.assertEqual(len(own), 3)
        self.assertGreaterEqual(own[0][0], 0.25, "the other workload's I/Os")

    @situation("19", "node1 stands still at 0 and 2 s; a workload beside it begins at 4 s")
    def test_a_workload_that_has_not_begun_hides_no_outage(self):
        """The stall from 4 to 5 s is none of the host: the other workload works."""
        job = null_job(
            {"still": ", stall_every: 2s, stall: 1s", "even": ""},
            [
                on("node1", "still", EVEN),
                "name: late, targets: [even], hosts: {names: [node1]}, start_delay: 4s" + EVEN,
                on("node2", "even", EVEN),
                on("node3", "even", EVEN),
            ],
            duration="5s",
            interval="250ms",
        )
        own = self.check_node1(job, 20)
        self.assertEqual(len(own), 2)
        self.assertLessEqual(own[-1][1], 3.25)

    @situation("19", "a host with 3.5 I/Os an interval stands still for 10 of 20 intervals, twice")
    def test_a_low_rate_hides_no_outage(self):
        """The live line knows of the second one. During the first one nothing was known yet of a
        host whose rate the job limits.
        """
        job = null_job(
            {"still": ", stall_every: 5s, stall: 2500ms", "even": ""},
            [
                on("node1", "still", ", max_iops: 14"),
                on("node2", "even", EVEN),
                on("node3", "even", EVEN),
            ],
            duration="10s",
            interval="250ms",
        )
        done = self.ok(self.fleet.run_job(job, "--format", "json"))
        mix = self.check(done.json())
        # An interval or two without an I/O are chance.
        own = [[b, e] for b, e in self.silences("node1", 40, 0.25) if e - b > 1.25]
        self.assertEqual(len(own), 2)
        self.assertEqual(spans(mix), own)
        live = [
            float(re.search(r"([\d.]+) s", line)[1])
            for line in done.err.splitlines()
            if "no I/O completed on 1 of 3 hosts" in line
        ]
        self.says(f"live at {live}")
        self.assertTrue(live, done.err)
        self.assertGreater(min(live), own[1][0])
        # A line has one digit after the point.
        self.assertLessEqual(max(live), own[1][1] + 0.05)

    def check_none_at_all(self, report, seconds):
        """node3 had an outage of all the measured time, and its share was none."""
        mix = self.check(report)
        (outage,) = mix["outages"]
        self.assertEqual(outage["hosts"], ["node3"])
        self.assertAlmostEqual(outage["endSeconds"] - outage["beginSeconds"], seconds)
        summary = mix["outageSummary"]
        self.assertEqual((summary["hosts"], summary["ofHosts"], summary["totalCount"]), (1, 3, 0))
        self.assertIn("; node3 completed none at all", summary["sentence"])
        rates = [host["iops"] for host in mix["hosts"]]
        self.assertEqual([rate > 0 for rate in rates], [True, True, False])
        (hosts,) = (f for f in mix["fairness"] if f["of"] == "IOPS over hosts")
        self.assertEqual(hosts["count"], 3)
        jain = sum(rates) ** 2 / (3 * sum(rate**2 for rate in rates))
        self.assertAlmostEqual(hosts["jain"], jain, places=6)
        self.assert_near(jain, 2 / 3, 0.05, "two of three hosts share it")
        self.assertEqual(mix["hosts"][2]["silentRatio"], 1)

    @situation("19", "node3 does I/O from 2.5 to 3 s, in the ramp of 3.5 s, and then none for 2 s")
    def test_a_host_that_did_io_in_the_ramp_alone(self):
        """Its next stall lasts from 3 to 5.5 s after its first I/O, which may be late by 0.5 s."""
        job = null_job(
            {"still": ", stall_every: 3s, stall: 2500ms", "even": ""},
            [on("node1", "even", EVEN), on("node2", "even", EVEN), on("node3", "still")],
            duration="2s",
            interval="250ms",
            more="      ramp: 3500ms\n",
        )
        self.check_none_at_all(self.run_report(job), 2)
        (ramp,) = self.rows(
            "SELECT sum(operations) AS n FROM interval_operations WHERE run_id = last_run() AND "
            "worker_index = 2 AND interval < 14"
        )
        self.assertGreater(int(ramp["n"]), 20)

    @situation("19", "the only I/O of node3 completes after the measured time")
    def test_a_host_whose_io_completes_in_the_drain_alone(self):
        job = null_job(
            {"still": ", stall_every: 1h, stall: 3s", "even": ""},
            [on("node1", "even", EVEN), on("node2", "even", EVEN), on("node3", "still")],
            duration="2s",
            interval="250ms",
        )
        self.check_none_at_all(self.run_report(job), 2)

    @situation("19", "a host that never had a workload, and one whose limit is one I/O in 100 s")
    def test_a_host_of_which_nothing_was_due_has_no_outage(self):
        job = null_job(
            {"even": "", "slow": ", stall_every: 1h, stall: 3s"},
            [on("node1", "even", EVEN), on("node2", "slow", ", max_iops: 0.01")],
            duration="2s",
            interval="250ms",
        )
        report = self.run_report(job)
        mix = self.phase(report)
        self.says(f"outages {mix['outages']}, warnings {report['verdict']['warnings']}")
        self.assertEqual((mix["outages"], mix.get("outageSummary")), ([], None))
        self.assertEqual(self.found("outage"), [])
        self.assertNotIn("NO I/O COMPLETED", self.report() + self.report("markdown"))
