"""A line between a host and its LUN whose rate is known: it limits, or it does not."""

import unittest

from fleet import needs_root
from parts import BEGIN, DURATION, END, PartTest
from san import EXPENDABLE_FLAGS
from truth import situation
from veth import HAS_TC, Line, LunBehindALine

WRITES = "block_size: 64KiB, queue_depth: 16, read: 0%, pattern: sequential"
RATE = 16_000_000  # bits per second


class LinesTest(PartTest):
    """On a LUN that is reached through `lun.line`."""

    @classmethod
    def setUpClass(cls):
        cls.lun = LunBehindALine()
        cls.addClassCleanup(cls.lun.close)
        cls.lun.__enter__()
        cls.fleet = cls.lun.fleet


@needs_root
@unittest.skipUnless(HAS_TC, "needs tc (iproute2)")
class Lines(LinesTest):
    def run_writes(self, workload=WRITES):
        """The phase, its only interface and its only workload."""
        # Where a busy machine let the samples begin or end more than a tenth of the load beside
        # it, the report has no rates of interfaces.
        for _ in range(5):
            phase = self.phase(self.run_report(self.lun.job(workload)))
            if phase["interfaces"]:
                break
        else:
            self.skipTest("the samples were late beside the load, five times")
        (interface,) = phase["interfaces"]
        (workload,) = phase["workloads"]
        text = self.ok(self.fleet.lockstep("report", "last", "--detail")).text
        self.assertIn(f"limited by: {workload['limitedBy']} ({workload['limitedBecause']})", text)
        self.says(f"{workload['limitedBy']} ({workload['limitedBecause']})")
        # The interface sent the engine's writes, and headers; its first and last samples are a
        # scheduler's delay away from the load's ends.
        (row,) = self.rows(
            "SELECT sum(sent_bytes) AS bytes, max(txutil) AS most FROM network_timeline WHERE "
            "run_id = last_run() AND phase_name = 'mix'"
        )
        (engine,) = self.rows(
            "SELECT sum(bytes) AS bytes FROM fleet_timeline WHERE run_id = last_run() AND "
            "phase_name = 'mix'"
        )
        self.assertGreaterEqual(float(row["bytes"]), 0.9 * float(engine["bytes"]))
        return phase, interface, workload

    @situation("8", "a LUN behind a line that sends 16 Mbit/s, written with 16 I/Os in flight")
    def test_a_full_line_is_the_limit(self):
        self.lun.line.limit("16mbit")
        self.addCleanup(self.lun.line.unlimit)
        phase, interface, workload = self.run_writes()
        self.assertEqual(interface["sendSpeedBitsPerSecond"], RATE)
        # A token bucket lets its burst of 256 KiB through once.
        seconds = interface["seconds"]
        self.assertLessEqual(8 * interface["sentBytesPerSecond"] * seconds, RATE * seconds + 2.5e6)
        if interface["sentRatio"] < 0.9:
            self.skipTest("the load got too little of the processors to fill the line")
        self.assertEqual(workload["limitedBy"], "network")
        self.assertLess(phase["total"]["bytesPerSecond"], 1.2 * RATE / 8)

    @situation("8", "the same line at 16 Mbit/s, and a load that asks for a tenth of it")
    def test_a_line_with_room_is_not_the_limit(self):
        self.lun.line.limit("16mbit")
        self.addCleanup(self.lun.line.unlimit)
        _, interface, workload = self.run_writes(f"{WRITES}, max_throughput: 200kB")
        self.assertLess(interface["sentRatio"], 0.5)
        self.assertNotEqual(workload["limitedBy"], "network")

    @situation("8", "the same LUN over a veth without a limit")
    def test_a_line_of_unknown_speed_is_not_the_limit(self):
        _, interface, workload = self.run_writes()
        self.assertNotIn("sentRatio", interface)
        self.assertNotIn("network", workload["limitedBy"])


@needs_root
@unittest.skipUnless(HAS_TC, "needs tc (iproute2)")
class ForAPart(LinesTest):
    """Two hosts with lines of their own, each of which writes half of the LUN."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.other = Line()
        cls.addClassCleanup(cls.other.close)
        cls.other.__enter__()
        # To the LUN's portal, which is an address of the first line.
        cls.other.inside("ip", "route", "add", "default", "via", cls.other.gateway)
        cls.other.start_worker(cls.fleet, "node2", [cls.lun.tgt.url(1)], EXPENDABLE_FLAGS)
        cls.fleet.wait_attached(2)

    @situation("10", f"node1's line sends 4 of 200 Mbit/s from {BEGIN} to {END} of {DURATION} s")
    def test_a_line_that_is_full_for_a_part_is_named_for_that_part(self):
        for line in (self.lun.line, self.other):
            line.limit("200mbit")
        # 16 Mbit/s of each host.
        writes = "block_size: 64KiB, queue_depth: 4, read: 0%, pattern: sequential, max_iops: 60"
        job = self.lun.job(writes, duration=f"{DURATION}s").replace("count: 1", "count: 2")
        line = self.lun.line
        mix = self.run_with_part(job, lambda: line.limit("4mbit"), lambda: line.limit("200mbit"))
        found = self.straggler_of_part(mix, "node1")
        # Over the whole phase the line was far from full.
        self.assertLess(max(i["sentRatio"] for i in mix["interfaces"]), 0.5)
        self.assertEqual(found["cause"], "network")
        self.assertIn("of its line rate of 4 Mbit/s", found["reason"])
        self.assertIn(" before, the others' lines were at ", found["reason"])


if __name__ == "__main__":
    unittest.main()
