"""Processor quotas of control groups that hold a host back for a part of a phase, or never."""

import os
import time
import unittest

from fleet import needs_root
from test_loads import GROUPS, group, null_job, read, write
from truth import TruthTest, situation

PERIOD = 250_000  # µs
SMALL = 1000  # the smallest quota that the kernel takes, µs in each period
BEGIN, LENGTH, DURATION = 3, 7, 13  # seconds


@needs_root
@unittest.skipUnless(os.path.exists(f"{GROUPS}/cpu/cpu.cfs_quota_us"), "needs cpu of cgroup v1")
class Quotas(TruthTest):
    workers = 3

    def run_in_group(self, quotas):
        """Three equal hosts, of which node3 has a quota of its own. `quotas`: seconds after the
        start of the load, and the quota from then on. The phase, node3 in its report, its
        stragglers named node3, and the counters of its group over the run.
        """
        job = null_job("latency: 100us", "queue_depth: 16", f"{DURATION}s", hosts=3)
        pid = self.fleet.workers["node3"].pid
        limits = {"cpu.cfs_period_us": PERIOD, "cpu.cfs_quota_us": quotas[0][1]}
        with group("cpu", limits, pid) as path:
            running = self.fleet.start_lockstep("run", "-", "--format", "json", stdin=job)
            self.fleet.await_seconds(1)
            begin = time.monotonic() - 1
            for at, quota in quotas[1:]:
                time.sleep(max(0, begin + at - time.monotonic()))
                write(f"{path}/cpu.cfs_quota_us", quota)
            out, err = running.communicate(timeout=300)
            words = read(f"{path}/cpu.stat").split()
        self.assertEqual(running.returncode, 0, err)
        report = self.ok(self.fleet.lockstep("report", "last", "--format", "json")).json()
        mix = self.phase(report)
        (host,) = [host for host in mix["hosts"] if host["host"] == "node3"]
        found = [s for s in mix["stragglers"] if s["host"] == "node3"]
        return mix, host, found, dict(zip(words[::2], map(int, words[1::2]), strict=True))

    def timeline(self):
        """The rows of the quota of each worker, with figures as numbers."""
        rows = self.rows(
            "SELECT host, begin_seconds, throttled_ratio, throttled_periods, periods "
            "FROM quota_timeline WHERE run_id = last_run() AND phase_name = 'mix' "
            "ORDER BY host, interval"
        )
        self.assertEqual({row["host"] for row in rows} - {"node3"}, set(), "others have no quota")
        return [{k: v if k == "host" else float(v or 0) for k, v in row.items()} for row in rows]

    @situation("10", f"node3 has 0.4 % of a processor for {LENGTH} of {DURATION} s, then all again")
    def test_a_quota_is_the_cause_of_the_stretch_in_which_it_holds(self):
        mix, host, found, stat = self.run_in_group([(0, -1), (BEGIN, SMALL), (BEGIN + LENGTH, -1)])
        self.says(f"{stat['nr_throttled']} periods were throttled, {len(found)} stragglers")
        if stat["nr_throttled"] < 0.5 * LENGTH * 1e6 / PERIOD or not found:
            self.skipTest("the machine gave node3 too little to use its quota up")
        (straggler,) = found
        self.says(
            f"{straggler['beginSeconds']:g}-{straggler['endSeconds']:g} s: {straggler['cause']} "
            f"({straggler['reason']})"
        )
        self.assertEqual(straggler["cause"], "CPU quota", straggler["reason"])
        self.assertIn("of this time, and for", straggler["reason"])
        self.assertLessEqual(abs(straggler["beginSeconds"] - BEGIN), 2)
        # SQL has the same stretch, and as many periods as the kernel counted in it.
        rows = self.timeline()
        self.assertLessEqual(sum(r["throttled_periods"] for r in rows), stat["nr_throttled"])
        self.assert_near(sum(r["throttled_periods"] for r in rows), stat["nr_throttled"], 0.15)
        for row in rows:
            if row["throttled_ratio"] > 0:
                self.assertGreaterEqual(row["begin_seconds"], BEGIN - 2, row)
                self.assertLessEqual(row["begin_seconds"], BEGIN + LENGTH + 2, row)
        # The whole phase is made of the same intervals.
        self.assert_near(
            host["throttledRatio"], stat["nr_throttled"] * PERIOD / DURATION / 1e6, 0.15
        )
        self.assertGreater(host["throttledRatioMax"], host["throttledRatio"])
        detail = self.ok(self.fleet.lockstep("report", "last", "--detail")).text
        self.assertIn("CPU quota used up: node3 for", " ".join(detail.split()))

    @situation("9,10", "node3 has a quota of 150 % of a processor, which it never uses up")
    def test_a_quota_that_is_not_reached_is_no_cause(self):
        mix, host, found, stat = self.run_in_group([(0, PERIOD * 3 // 2)])
        self.says(f"{stat['nr_throttled']} of {stat['nr_periods']} periods: {found}")
        if stat["nr_throttled"] > 0:
            self.skipTest("node3 used its quota up")
        self.assertEqual(host["throttledRatio"], 0)
        self.assertEqual([s for s in found if s["cause"] == "CPU quota"], [])
        self.assertNotEqual(mix["workloads"][0]["limitedBy"], "CPU quota")
        rows = self.timeline()
        self.assertTrue(rows, "the quota is there")
        self.assertEqual({row["throttled_ratio"] for row in rows}, {0})
