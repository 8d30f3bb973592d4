"""The interfaces that carry the traffic of targets: a LUN of a real target (tgt) behind a line,
with and without a limit of its rate.
"""

import unittest

from fleet import needs_root
from veth import HAS_TC, LunBehindALine

RATE = 16_000_000  # bits per second
WRITES = "block_size: 64KiB, queue_depth: 16, read: 0%, pattern: sequential"
READS = "block_size: 4KiB, queue_depth: 4, max_iops: 100"


@needs_root
@unittest.skipUnless(HAS_TC, "needs tc (iproute2)")
class Network(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lun = LunBehindALine()
        cls.addClassCleanup(cls.lun.close)
        cls.lun.__enter__()
        cls.fleet, cls.line = cls.lun.fleet, cls.lun.line

    def tearDown(self):
        self.line.unlimit()

    def ok(self, done, status=0):
        self.assertEqual(done.status, status, str(done))
        return done

    def run_phase(self, workload, **words):
        job = self.lun.job(workload, **words)
        return self.ok(self.fleet.run_job(job, "--format", "json")).json()["phases"][0]

    def detail(self):
        return self.ok(self.fleet.lockstep("report", "last", "--detail")).out

    def test_the_route_to_the_portal_is_sampled_interval_by_interval(self):
        before = self.line.sent_bytes()
        phase = self.run_phase(READS)
        sent = self.line.sent_bytes() - before
        (interface,) = phase["interfaces"]
        self.assertEqual(interface["name"], "eth0")
        self.assertEqual(interface["hosts"], ["node1"])
        self.assertEqual(interface["carries"], [f"iscsi {self.line.gateway}"])
        # All that was read came through it, and requests went out.
        moved = phase["total"]["bytesPerSecond"]
        self.assertGreater(interface["receivedBytesPerSecond"], 0.9 * moved)
        self.assertGreater(interface["sentPacketsPerSecond"], 0)
        # A veth has a speed that limits nothing.
        self.assertNotIn("receivedRatio", interface)
        self.assertNotIn("sentRatio", interface)
        self.assertRegex(self.detail(), r"eth0 +node1 +rx +[\d.]+ +not known +\d")
        routes = self.fleet.sql(
            "SELECT host, target, protocol, server, interfaces[1], not_sampled, no_line_rate[1] "
            "FROM storage_routes WHERE run_id = last_run()"
        )
        (why,) = [route.pop() for route in routes]
        self.assertEqual(routes, [["node1", "0", "iscsi", self.line.gateway, "eth0", ""]])
        self.assertEqual(why, "a virtual interface (veth) has no line rate of its own")
        self.assertEqual(interface["noLineRate"], why)
        ((rows, total, shares),) = self.fleet.sql(
            "SELECT count(*), sum(sent_bytes), count(txutil) FROM network_timeline "
            "WHERE run_id = last_run() AND interface = 'eth0'"
        )
        self.assertGreaterEqual(int(rows), 4)
        self.assertLessEqual(float(total), sent)
        self.assertEqual(int(shares), 0)

    def test_a_load_that_the_line_carries_is_not_limited_by_it(self):
        (workload,) = self.run_phase(WRITES, duration="2s")["workloads"]
        self.assertNotIn("network", workload["limitedBy"], workload["limitedBecause"])

    def test_a_limit_of_one_direction_is_no_limit_of_the_other(self):
        self.line.limit("16mbit")
        phase = self.run_phase(READS, duration="2s")
        (interface,) = phase["interfaces"]
        self.assertEqual(interface["sendSpeedBitsPerSecond"], RATE)
        self.assertNotIn("receiveSpeedBitsPerSecond", interface)
        self.assertLess(interface["sentRatio"], 0.5)
        self.assertNotEqual(phase["workloads"][0]["limitedBy"], "network")

    def test_a_line_that_is_full_is_the_limit(self):
        self.line.limit("16mbit")
        phase = self.run_phase(WRITES)
        (interface,) = phase["interfaces"]
        (workload,) = phase["workloads"]
        if interface["sentRatio"] < 0.9:
            self.skipTest("the load got too little of the processors to fill the line")
        self.assertEqual(workload["limitedBy"], "network", workload["limitedBecause"])
        self.assertRegex(
            workload["limitedBecause"], r"^eth0 sent at \d+ % of its line rate of 16 Mbit/s$"
        )
        self.assertRegex(self.detail(), r" tx +[\d.]+ +\d+ % of 16 Mbit/s")
        ((limit,),) = self.fleet.sql(
            "SELECT limited_by FROM phase_overview WHERE run_id = last_run() AND name = 'mix'"
        )
        self.assertEqual(limit, "network")

    def test_what_was_sent_outlives_the_samples_and_an_archive(self):
        job = self.lun.job(READS, duration="2s", name="kept")
        self.assertIn("labels: {lab: 'yes'", job)
        self.ok(self.fleet.run_job(job.replace("lab: 'yes'", "lab: 'yes', network: kept")))
        run = self.fleet.sql("SELECT last_run()")[0][0]
        query = (
            "SELECT class, sum(sent_bytes), sum(received_packets), sum(intervals) "
            f"FROM network_timeline WHERE run_id = '{run}' GROUP BY class ORDER BY class"
        )
        before = self.fleet.sql(query)
        self.assertTrue(before)
        self.ok(self.fleet.lockstep("prune", "--label", "network=kept", "--samples", "--yes"))
        self.assertEqual(
            self.fleet.sql(f"SELECT count(*) FROM interface_samples WHERE run_id = '{run}'"),
            [["0"]],
        )
        self.assertEqual(self.fleet.sql(query), before)
        archive = f"{self.fleet.directory}/network.lockstep"
        self.ok(self.fleet.lockstep("export", run, "--output", archive))
        self.ok(self.fleet.lockstep("prune", "--label", "network=kept", "--yes"))
        self.assertEqual(self.fleet.sql(query), [])
        self.ok(self.fleet.lockstep("import", archive))
        self.assertEqual(self.fleet.sql(query), before)

    def test_readers_see_the_views(self):
        for view in ("network_timeline", "nfs_timeline", "storage_routes", "nfs_samples"):
            self.ok(self.fleet.lockstep("sql", "-c", f"SELECT * FROM {view}"))


if __name__ == "__main__":
    unittest.main()
