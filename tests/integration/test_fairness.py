"""Fairness in time: who is slow, since when, and why; and nobody where all are equal."""

import os
import unittest

from fleet import Fleet, FleetTest, files_job, needs_root

BLKIO = "/sys/fs/cgroup/blkio"


class Equal(FleetTest):
    workers = 4

    def test_nobody_is_named_where_all_are_equal(self):
        """Null targets: what four hosts do is equal but for chance."""
        job = (
            "name: equal\ninterval: 200ms\nhosts: {count: 4}\n"
            "targets: [{name: n, null: {latency: 1ms}}]\n"
            "phases:\n  - {name: load, run: {duration: 1400ms, workloads: "
            "[{engine: 'null', queue_depth: 4}], sweep: {repeat: 20}}}\n"
        )
        self.ok(self.fleet.run_job(job))
        report = self.fleet.lockstep("report", "last", "--format", "json").json()
        self.assertEqual(len(report["phases"]), 20)
        for phase in report["phases"]:
            self.assertEqual(phase["stragglers"], [], phase["name"])
            self.assertEqual(phase["starvations"], [], phase["name"])
            # Against its definition: how equal this machine is to four hosts is not ours to say.
            rates = [host["iops"] for host in phase["hosts"]]
            jain = sum(rates) ** 2 / (len(rates) * sum(rate**2 for rate in rates))
            self.assertAlmostEqual(phase["fairness"][0]["jain"], jain, places=6)
            self.assertEqual([d["findings"] for d in phase["devices"] if d["findings"]], [])


@needs_root
@unittest.skipUnless(os.path.isdir(BLKIO), "needs the blkio controller of cgroup v1")
class Throttled(unittest.TestCase):
    def test_a_throttled_host_is_named_with_its_share_and_cause(self):
        with Fleet(4) as fleet:
            # A rate that the disk has beside other tests, too, so that nobody else is slow.
            job = files_job(fleet.data, hosts=4, duration="6s", workload=", max_iops: 800")
            free = fleet.lockstep("run", "-", "--format", "json", stdin=job).json()
            mix = next(p for p in free["phases"] if p["name"] == "mix")
            slow = mix["hosts"][2]
            device = mix["devices"][0]["name"]
            with open(f"/sys/class/block/{device}/dev", encoding="ascii") as text:
                numbers = text.read().strip()
            self.assertEqual([s["host"] for s in mix["stragglers"]], [])
            group = os.path.join(BLKIO, f"lockstep-test-{os.getpid()}")
            os.mkdir(group)
            process = fleet.workers[slow["host"]]
            try:
                reads = slow["iops"] * 0.7 / 2
                with open(f"{group}/blkio.throttle.read_iops_device", "w", encoding="ascii") as out:
                    out.write(f"{numbers} {int(reads / 2)}")
                with open(f"{group}/cgroup.procs", "w", encoding="ascii") as out:
                    out.write(str(process.pid))
                done = fleet.lockstep("run", "-", "--format", "json", stdin=job).json()
                text = fleet.lockstep("report", "last").out
            finally:
                with open(f"{BLKIO}/cgroup.procs", "w", encoding="ascii") as out:
                    out.write(str(process.pid))
                os.rmdir(group)
            mix = next(p for p in done["phases"] if p["name"] == "mix")
            self.assertEqual([s["host"] for s in mix["stragglers"]], [slow["host"]])
            straggler = mix["stragglers"][0]
            self.assertEqual(straggler["cause"], "I/O throttle")
            self.assertIn("blkio.throttle.read_iops_device " + device, straggler["reason"])
            self.assertLess(straggler["share"], 0.75)
            self.assertGreaterEqual(straggler["slowSeconds"], 4)
            self.assertIn(f"{slow['host']} is a straggler", text)
            self.assertIn("likely cause: I/O throttle", text)
