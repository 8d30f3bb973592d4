"""Limits near a rate that something else makes, and queues that are full: devices whose speed is
that of a file system which delays each read.
"""

import os
import subprocess
import tempfile
import unittest

from fleet import ROOT, Fleet, needs_root, stop, wait_for
from loops import MIB, mount_ext4
from parts import BEGIN, DURATION, END, READ_IOPS, PartTest, needs_blkio
from test_loads import group, read, write
from test_stories_answered import call
from truth import situation

FAULTFS = os.path.join(ROOT, "bazel-bin/tests/faults/faultfs")
SLOW = "read slow"  # each takes 20 ms
LIMIT = 50  # reads per second
# A rate that every host has beside busy neighbours, too.
RATE = "queue_depth: 1, max_iops: 480"


@needs_root
@needs_blkio
class Delays(PartTest):
    """Each host has a file system of its own, on a loop device over a file that delays reads."""

    workers = 3

    @classmethod
    def setUpClass(cls):
        directory = tempfile.mkdtemp(prefix="lslimits", dir="/tmp")
        cls.addClassCleanup(call, "rm", "-rf", "--one-file-system", directory)
        cls.root = f"{directory}/mounts"
        cls.points, cls.devices = {}, {}
        for number in range(1, cls.workers + 1):
            cls.make_device(f"{directory}/delays{number}", f"node{number}")
        cls.start_fleet(Fleet(cls.workers, allow=[cls.root]))

    @classmethod
    def make_device(cls, point, host):
        os.mkdir(point)
        process = subprocess.Popen([FAULTFS, "-f", point], stderr=subprocess.DEVNULL)
        cls.addClassCleanup(stop, process, 9)
        cls.addClassCleanup(subprocess.run, ["umount", "-l", point], check=False)
        wait_for("the file system to be mounted", lambda: os.path.ismount(point))
        loop = mount_ext4(
            cls.addClassCleanup,
            f"{point}/image",
            f"{cls.root}/{host}",
            32 * MIB,
            made=["-b", "4096"],
        )
        cls.points[host], cls.devices[host] = point, os.path.basename(loop)

    def delay(self, host, fault):
        with open(f"{self.points[host]}/.fault", "w", encoding="ascii") as out:
            out.write(fault + "\n")

    def setUp(self):
        # The files are laid out without a delay.
        self.run_report(self.job("queue_depth: 1", "100ms"))

    def tearDown(self):
        for host in self.points:
            self.delay(host, "")

    def job(self, workload, duration, hosts="[node1, node2, node3]"):
        return f"""name: limits
targets: [{{name: d, file: {{path: "{self.root}/{{host}}/f", size: 8MiB}}}}]
phases:
  - prepare:
  - name: mix
    run:
      duration: {duration}
      workloads: [{{name: w, block_size: 4KiB, {workload}, hosts: {{names: {hosts}}}}}]
"""

    def numbers(self, host):
        return read(f"/sys/block/{self.devices[host]}/dev")

    def limited(self):
        """Runs node3 with its limit, beside the others and alone: why it is slower than they are,
        and what limits it alone.
        """
        limits = {READ_IOPS: f"{self.numbers('node3')} {LIMIT}"}
        with group("blkio", limits, self.fleet.workers["node3"].pid):
            mix = self.phase(self.run_report(self.job(RATE, "5s")))
            cause = self.straggler(mix, "node3")["cause"]
            alone = self.phase(self.run_report(self.job("queue_depth: 1", "4s", "[node3]")))
        (host,) = [host for host in mix["hosts"] if host["host"] == "node3"]
        self.assertIn(f"{READ_IOPS} {self.devices['node3']} {LIMIT}", " ".join(host["throttles"]))
        (workload,) = alone["workloads"]
        self.says(f"alone {workload['limitedBy']} ({workload['limitedBecause']})")
        self.assertLessEqual(host["iops"], 1.1 * LIMIT)
        return cause, workload["limitedBy"]

    @situation("9", f"node3 may do {LIMIT} reads/s; its device takes 20 ms for each, one at a time")
    def test_a_limit_near_the_rate_of_a_slow_device_is_no_cause(self):
        """It does nearly as many as it may do, and would do no more if it might."""
        self.delay("node3", SLOW)
        cause, limit = self.limited()
        self.assertEqual(cause, "device")
        self.assertNotEqual(limit, "I/O throttle")

    @situation("9", f"node3 may do {LIMIT} reads/s; its device is as fast as the others'")
    def test_the_same_limit_of_a_fast_device_is_the_cause(self):
        self.assertEqual(self.limited(), ("I/O throttle", "I/O throttle"))

    @situation("10", f"reads of node3's device take 20 ms from {BEGIN} to {END} of {DURATION} s")
    def test_a_device_that_is_slow_for_a_part_is_named_for_that_part(self):
        job = self.job(RATE, f"{DURATION}s")
        mix = self.run_with_part(
            job, lambda: self.delay("node3", SLOW), lambda: self.delay("node3", "")
        )
        found = self.straggler_of_part(mix, "node3")
        self.assertEqual(found["cause"], "device")
        self.assertIn(" before, the others' ", found["reason"])

    @situation("8", "64 reads in flight on a device whose queue has 8 places, never empty")
    def test_what_waits_for_the_queue_waits_for_the_device(self):
        path = f"/sys/block/{self.devices['node1']}/queue/nr_requests"
        self.addCleanup(write, path, read(path))
        write(path, 8)
        self.delay("node1", SLOW)
        # io_uring(7): a submission waits itself where the queue is full. One thread would have
        # few I/Os in flight.
        load = "queue_depth: 2, threads: 32"
        mix = self.phase(self.run_report(self.job(load, "4s", "[node1]")))
        (workload,) = mix["workloads"]
        (device,) = [d for d in mix["devices"] if d["name"] == self.devices["node1"]]
        found = {f["kind"]: f["sentence"] for f in device["findings"]}
        self.says(f"{workload['limitedBy']} ({workload['limitedBecause']}); {found.get('queue')}")
        self.assertGreater(device["engineQueueSize"], 2.5 * device["queueSize"])
        self.assertEqual(workload["limitedBy"], "device")
        self.assertRegex(
            found["queue"],
            r"the device's queue was full \(\d requests, nr_requests 8, busy \d+ %\)",
        )
        self.assertNotIn("waited above the device", found["queue"])
        (row,) = self.rows(
            "SELECT sentence FROM phase_findings WHERE run_id = last_run() AND phase_name = 'mix' "
            "AND kind = 'queue'"
        )
        self.assertEqual(row["sentence"], found["queue"])


if __name__ == "__main__":
    unittest.main()
