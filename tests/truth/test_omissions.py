"""What a closed loop hides while it stands still: the share of its time, and its p99."""

import html
import json
import math
import re

from test_loads import pulses
from test_stalls import StillTest, null_job, on
from truth import situation

# A gap is a stall above 20 × the median of 1 ms. Gaps are counted in classes of powers of two, of
# which this is the first that is longer as a whole.
STALL_NS = 2**25


def percentile(counts, percent):
    """The value of rank ceil(percent / 100 × n) among {value: count}."""
    rank = math.ceil(percent / 100 * sum(counts.values()))
    for value in sorted(counts):
        rank -= counts[value]
        if rank <= 0:
            return value
    raise AssertionError(counts)


def with_missing(counts, expected=None):
    """HdrHistogram's correction: beside L stand L - E, L - 2E, …, down to E (the median)."""
    expected = expected or percentile(counts, 50)
    added = dict(counts)
    for value, count in counts.items():
        while (value := value - expected) >= expected:
            added[value] = added.get(value, 0) + count
    return added


class Stalls(StillTest):
    def latencies(self, workload, host=None):
        """The measured I/Os of a workload, or of one host of it, {nanoseconds: count}."""
        table = "interval_latency" if host else "phase_latency"
        rows = self.rows(
            f"SELECT b.midpoint_ns AS ns, sum(b.count) AS n FROM {table} l, "
            "hist_buckets(l.latencies) b WHERE run_id = last_run() AND phase_name = 'mix' AND "
            f"workload = '{workload}'" + (f" AND host = '{host}'" if host else "") + " GROUP BY 1"
        )
        return {float(row["ns"]): int(row["n"]) for row in rows}

    def stood_still(self, workload, host=None):
        """Share of the time of a loop of depth 1, whose gaps are the latencies of its I/Os."""
        counts = self.latencies(workload, host)
        long = sum(ns * n for ns, n in counts.items() if ns >= STALL_NS)
        return long / sum(ns * n for ns, n in counts.items())

    def hosts(self, phase):
        return {host["host"]: host for host in phase["hosts"]}

    def check_outputs(self, mix):
        """Each output has the shares, and the corrected p99 beside the p99."""
        rows = {
            (row["host"], row["workload"]): row
            for row in self.rows("SELECT * FROM phase_stalls WHERE run_id = last_run()")
        }
        (summary,) = self.rows(
            "SELECT stalled_ratio, p99_ms, corrected_p99_ms FROM phase_summary "
            "WHERE run_id = last_run() AND phase_name = 'mix'"
        )
        self.assertEqual(summary, {name: rows["", ""][name] for name in summary})
        have = {("", ""): mix}
        have.update({("", w["name"]): w for w in mix["workloads"] if "stalledRatio" in w})
        have.update({(h["host"], ""): h for h in mix["hosts"] if "stalledRatio" in h})
        self.assertEqual(rows.keys(), have.keys())
        for key, figures in have.items():
            row = rows[key]
            self.assertAlmostEqual(float(row["stalled_ratio"]), figures["stalledRatio"], msg=key)
            if not row["corrected_p99_ms"]:  # no I/O took longer than the p99
                self.assertNotIn("correctedP99Ns", figures)
                continue
            corrected = float(row["corrected_p99_ms"])
            self.assertAlmostEqual(corrected, figures["correctedP99Ns"] / 1e6, msg=key)
            self.assertGreaterEqual(corrected, float(row["p99_ms"]))
        detail = self.ok(self.fleet.lockstep("report", "last", "--detail")).text
        markdown = html.unescape(self.report("markdown")).replace("\\", "")
        for w in mix["workloads"]:
            if "stalledRatio" not in w:
                continue
            said = f"for {100 * w['stalledRatio']:.1f} % of the threads' time nothing completed"
            self.assertIn(f"stalls: {said}", detail)
            self.assertEqual(f"mix, {w['name']}: {said}" in markdown, w["stalledRatio"] >= 0.01)
            if "correctedP99Ns" not in w:
                continue
            # Two workloads may have the same share.
            found = re.findall(re.escape(said) + r"; p99 \S+ \S+, with [^\d]* ([\d.]+) ms", detail)
            truth = w["correctedP99Ns"] / 1e6
            nearest = min(found, key=lambda shown, to=truth: abs(float(shown) - to))
            self.assert_near(nearest, truth, 0.01, "as printed")
        shares = [host.get("stalledRatio", 0) for host in mix["hosts"]]
        self.assertEqual("p99 corrected p99 stalled" in detail, max(shares) >= 0.01)

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
        self.check_outputs(mix)

    @situation("18", "one workload on 3 hosts; node3 is stopped for 0.1 of each 0.5 s")
    def test_a_host_that_stands_still_among_others(self):
        """Its gaps are a twentieth of the time of all threads, and a sixth of its own. An I/O that
        waits is one of hundreds, so that no p99 shows it.
        """
        job = null_job({"even": ""}, ["name: w, targets: [even]"], duration="5s")
        running = self.fleet.start_lockstep("run", "-", "--format", "json", stdin=job)
        self.fleet.await_seconds(1)
        with pulses(self.fleet.workers["node3"].pid, still=0.1, runs=0.4):
            out, err = running.communicate(timeout=300)
        self.assertEqual(running.returncode, 0, err)
        mix = self.phase(json.loads(out))
        (workload,) = mix["workloads"]
        hosts = self.hosts(mix)
        shares = {name: host["stalledRatio"] for name, host in hosts.items()}
        self.says(f"{shares}; {[found['sentence'] for found in mix['omissions']]}")
        (omission,) = mix["omissions"]
        self.assertIn("node3", omission["hosts"])
        own = self.latencies("w", "node3")
        self.assertGreater(shares["node3"], 0.08)
        self.assertAlmostEqual(shares["node3"], self.stood_still("w", "node3"), delta=0.03)
        corrected = percentile(with_missing(own), 99)
        self.assert_near(hosts["node3"]["correctedP99Ns"], corrected, 0.03, "corrected p99")
        self.assertGreater(corrected, 10 * percentile(own, 99))
        self.assertAlmostEqual(workload["stalledRatio"], sum(shares.values()) / 3, delta=0.01)
        self.check_outputs(mix)
        # Busy neighbours may make another one stand still, too.
        if omission["hosts"] != ["node3"]:
            return
        self.assertEqual(omission["stalledRatio"], shares["node3"])
        self.assert_near(omission["p99Ns"], percentile(own, 99), 0.02, "its own p99")
        self.assertIn("on node3 completed nothing", omission["sentence"])

    @situation("18", "a limit of 500/s, depth 1; the device stands still for 0.3 of every second")
    def test_the_share_and_the_p99_of_a_loop_with_a_limit(self):
        """At 500/s 1,400 of 2,000 I/Os are measured, and 600 would have waited, evenly for up to
        300 ms: a hundredth of all for 290 ms.
        """
        job = null_job(
            {"still": ", stall_every: 1s, stall: 300ms"},
            [on("node1", "still", ", max_iops: 500")],
            hosts=1,
        )
        mix = self.phase(self.run_report(job))
        (host,) = mix["hosts"]
        self.says(f"stalled {host['stalledRatio']:.2f}; {mix['omissions']}")
        counts = self.latencies("node1")
        long = sum(ns * n for ns, n in counts.items() if ns >= 2**27)
        self.assertAlmostEqual(long / 4e9, 0.3, delta=0.06)  # the situation is as it is meant
        self.assertAlmostEqual(host["stalledRatio"], long / 4e9, delta=0.03)
        (omission,) = mix["omissions"]
        self.assert_near(omission["p99Ns"], percentile(counts, 99), 0.02, "p99")
        corrected = percentile(with_missing(counts, 2e6), 99)
        self.assert_near(omission["correctedP99Ns"], corrected, 0.05, "corrected p99")
        self.assert_near(corrected, 290e6, 0.1, "the theory's p99")
        self.check_outputs(mix)

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

    @situation("18", "even closed loops that think, one by one or in bursts, and with rate limits")
    def test_an_honest_load_is_not_flagged(self):
        """Pauses that the job asks for are no stalls of the storage, also where they are longer
        than 20 times the mean time of an I/O.
        """
        job = null_job(
            {"even": ""},
            [
                on("node1", "even", ", queue_depth: 8, threads: 2"),
                on("node2", "even", ", think_time: 60ms"),
                on("node3", "even", ", max_iops: 12"),
                "name: bursts, targets: [even], hosts: {names: [node2]}, think_time: 250ms, "
                "think_every: 100",
                "name: reads, targets: [even], hosts: {names: [node3]}, read: 1%, "
                "read_limit: {iops: 4}",
            ],
        )
        report = self.run_report(job)
        mix = self.phase(report)
        self.says({name: host.get("stalledRatio") for name, host in self.hosts(mix).items()})
        self.assertEqual((mix["omissions"], mix["outages"]), ([], []))
        self.assertEqual([w["name"] for w in mix["workloads"] if "stalledRatio" not in w], [])
        self.assertLess(max(host["stalledRatio"] for host in mix["hosts"]), 0.08)
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


if __name__ == "__main__":
    import unittest

    unittest.main()
