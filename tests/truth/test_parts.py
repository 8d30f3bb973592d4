"""What is so of a part of a phase or of a fleet only: a throttle, a late begin, another device."""

import contextlib
import json
import os
import re
import tempfile

from fleet import Fleet, needs_root
from loops import MIB, mount_ext4
from parts import BEGIN, DURATION, END, READ_IOPS, PartTest, needs_blkio
from test_loads import group, read
from test_stories_answered import call
from truth import situation

LIMIT = 40  # reads per second


class Parts(PartTest):
    def host(self, mix, name):
        (host,) = [host for host in mix["hosts"] if host["host"] == name]
        return host

    def jain(self, rates):
        return sum(rates) ** 2 / len(rates) / sum(rate * rate for rate in rates)

    def findings(self, kind):
        return self.rows(
            "SELECT cause, hosts::text, sentence, begin_seconds, end_seconds FROM phase_findings "
            f"WHERE run_id = last_run() AND phase_name = 'mix' AND kind = '{kind}'"
        )


@needs_root
@needs_blkio
class Throttled(Parts):
    workers = 3

    @situation("10", f"node3 may do {LIMIT} reads/s from the {BEGIN}th to the {END}th of 18 s only")
    def test_a_throttle_of_a_part_is_named_for_that_part(self):
        numbers = os.stat(self.fleet.data).st_dev
        path = os.path.realpath(f"/sys/dev/block/{os.major(numbers)}:{os.minor(numbers)}")
        if not os.path.isdir(path):
            self.skipTest("the test's files are on no block device")
        path = os.path.dirname(path) if os.path.exists(f"{path}/partition") else path
        # A rate that every host has beside busy neighbours, too.
        job = f"""name: part
targets: [{{name: d, file: {{path: "{self.fleet.data}/{{host}}/f", size: 16MiB}}}}]
phases:
  - prepare:
  - name: mix
    run: {{duration: {DURATION}s, workloads: [{{name: w, queue_depth: 4, max_iops: 480}}]}}
"""
        limits = {READ_IOPS: f"{read(f'{path}/dev')} {LIMIT}"}
        pid = self.fleet.workers["node3"].pid
        with contextlib.ExitStack() as limited:
            mix = self.run_with_part(
                job, lambda: limited.enter_context(group("blkio", limits, pid)), limited.close
            )
        straggler = self.straggler_of_part(mix, "node3")
        self.assertEqual(straggler["cause"], "I/O throttle")
        self.assertIn(f"{READ_IOPS} {os.path.basename(path)} {LIMIT}", straggler["reason"])
        # From the first reading with the limit to the last one, within the stretch.
        found = re.search(r"is limited from (\d+) to (\d+) s", straggler["reason"])
        self.assertIsNotNone(found, straggler["reason"])
        self.assertLessEqual(abs(int(found[1]) - BEGIN), 2)
        self.assertLessEqual(abs(int(found[2]) - END), 2)
        # It limits neither the phase nor the others.
        self.assertNotEqual(mix["workloads"][0]["limitedBy"], "I/O throttle")
        self.assertEqual([h["host"] for h in mix["hosts"] if h["throttles"]], ["node3"])
        (row,) = self.findings("straggler")
        self.assertEqual((row["cause"], row["hosts"]), ("I/O throttle", "{node3}"))
        self.assertIn("likely cause: I/O throttle", " ".join(self.report().split()))


class Late(Parts):
    workers = 4

    @situation(
        "1", "node4 begins after 4 of 8 s; the device serves each host alike, 4 I/Os in 16 ms"
    )
    def test_a_host_that_begins_late(self):
        """250/s of each host that runs."""
        load = "engine: 'null', queue_depth: 4"
        job = f"""name: late
targets: [{{name: n, null: {{latency: 16ms}}}}]
phases:
  - name: mix
    run:
      duration: 8s
      workloads:
        - {{name: early, {load}, hosts: {{names: [node1, node2, node3]}}}}
        - {{name: late, {load}, hosts: {{names: [node4]}}, start_delay: 4s}}
"""
        mix = self.phase(self.run_report(job))
        rates = [host["iops"] for host in mix["hosts"]]
        self.says(
            f"{', '.join(f'{rate:.0f}' for rate in rates)} IOPS over "
            f"{mix['windowBeginSeconds']:g}-{mix['windowEndSeconds']:g} s, Jain "
            f"{mix['fairness'][0]['jain']:.4f}, over time {mix['jainMin']:.4f} to "
            f"{mix['jainMax']:.4f}; stragglers: {mix['stragglers']}"
        )
        self.assertAlmostEqual(mix["windowBeginSeconds"], 4, delta=0.05)
        self.assertAlmostEqual(mix["windowEndSeconds"], 8, delta=0.05)
        # Its rate is over its own time, not over the phase.
        self.assertGreater(self.host(mix, "node4")["iops"], 0.7 * max(rates))
        self.assert_near(mix["total"]["iops"], sum(rates), 0.01)
        self.assert_near(mix["fairness"][0]["jain"], self.jain(rates), 0.001)
        # It shared nothing with the others before it began, and stood still at no time.
        series = [host["iopsByInterval"] for host in mix["hosts"]]
        self.assertEqual(series[3][:3], [0, 0, 0])
        together = [self.jain(rates) for rates in zip(*(one[4:8] for one in series), strict=True)]
        self.assertAlmostEqual(mix["jainMin"], min(together), delta=0.001)
        self.assertAlmostEqual(mix["jainMax"], max(together), delta=0.001)
        self.assertEqual([o for o in mix["outages"] if "node4" in o["hosts"]], [])
        self.assertEqual([s for s in mix["stragglers"] if s["host"] == "node4"], [])
        self.assertNotIn("node4", " ".join(row["hosts"] for row in self.findings("starvation")))
        (row,) = self.rows(
            "SELECT jain_iops FROM phase_fairness WHERE run_id = last_run() AND "
            "phase_name = 'mix'"
        )
        self.assertAlmostEqual(float(row["jain_iops"]), mix["fairness"][0]["jain"], places=4)
        detail = self.ok(self.fleet.lockstep("report", "last", "--detail")).text
        self.assertRegex(detail, r"rates over 4\.0\d–[78]\.\d+ s after T, when all ran")
        self.assertRegex(detail, r"late: random 4 KiB reads, .*?, from 4 s")
        least, most = f"{mix['jainMin']:.4f}", f"{mix['jainMax']:.4f}"
        self.assertIn(f"over time: Jain from {least} to {most}", detail)


class Joined(Parts):
    workers = 3

    @situation("1", "node4 attaches while a job for all hosts runs on three; the next job has four")
    def test_a_host_that_joins_during_a_phase(self):
        job = """name: joined
targets: [{name: n, null: {latency: 16ms}}]
phases:
  - {name: mix, run: {duration: 600s, workloads: [{name: w, engine: 'null', queue_depth: 4}]}}
"""
        running = self.fleet.start_lockstep("run", "-", "--format", "json", stdin=job)
        self.fleet.await_seconds(1)
        self.fleet.start_worker("node4")
        self.fleet.wait_attached(4)
        (at,) = self.fleet.sql(
            "SELECT count(DISTINCT interval) FROM interval_latency " "WHERE run_id = last_run()"
        )
        self.fleet.await_seconds(int(at[0]) + 2)
        self.ok(self.fleet.lockstep("stop", "last", "--phase"))
        out, err = running.communicate(timeout=300)
        self.assertEqual(running.returncode, 0, err)
        report = json.loads(out)
        mix = self.phase(report)
        rates = [host["iops"] for host in mix["hosts"]]
        jain = mix["fairness"][0]
        self.says(
            f"{[h['host'] for h in mix['hosts']]}, Jain {jain['jain']:.4f} of {jain['count']}"
        )
        self.assertEqual([h["host"] for h in mix["hosts"]], ["node1", "node2", "node3"])
        self.assert_near(mix["total"]["iops"], sum(rates), 0.01)
        self.assertEqual(jain["count"], 3)
        # It is neither lost nor slow: it is no part of this run.
        self.assertEqual((mix["workers"], mix.get("workersLost", 0)), (3, 0))
        for text in (out, self.report(), self.report("markdown")):
            self.assertNotIn("node4", text)
        rows = self.rows(
            "SELECT DISTINCT host FROM interval_latency WHERE run_id = last_run() ORDER BY 1"
        )
        self.assertEqual([row["host"] for row in rows], ["node1", "node2", "node3"])
        again = self.phase(self.run_report(job.replace("600s", "2s")))
        self.says(f"then {len(again['hosts'])} hosts")
        self.assertEqual(len(again["hosts"]), 4)


class Unlike(Parts):
    workers = 4

    @situation(
        "10,11", "the null device of node4 takes 32 ms for each I/O, those of the others 8 ms"
    )
    def test_a_null_device_that_is_slower(self):
        """Two workloads: nobody is a straggler among hosts that have no other with their work."""
        load = "engine: 'null', queue_depth: 2"
        job = f"""name: unlike
targets: [{{name: fast, null: {{latency: 8ms}}}}, {{name: slow, null: {{latency: 32ms}}}}]
phases:
  - name: mix
    run:
      duration: 4s
      workloads:
        - {{name: a, {load}, targets: [fast], hosts: {{names: [node1, node2, node3]}}}}
        - {{name: b, {load}, targets: [slow], hosts: {{names: [node4]}}}}
"""
        mix = self.phase(self.run_report(job))
        rates = [host["iops"] for host in mix["hosts"]]
        b = next(w for w in mix["workloads"] if w["name"] == "b")
        mean = b["total"]["latencyAvgNs"] / 1e6
        self.says(
            f"{', '.join(f'{rate:.0f}' for rate in rates)} IOPS, b {mean:.1f} ms, Jain "
            f"{mix['fairness'][0]['jain']:.4f}; stragglers: {mix['stragglers']}"
        )
        # No I/O is faster than its device.
        self.assertGreaterEqual(b["total"]["latencyAvgNs"], 32e6)
        self.assertLessEqual(rates[3], 2 / 0.032 * 1.03)
        self.assert_near(mix["fairness"][0]["jain"], self.jain(rates), 0.001)
        self.assertEqual(mix["stragglers"], [])
        self.assertEqual(self.findings("straggler"), [])
        text = " ".join(self.report().split())
        self.assertRegex(text, r"\ba read .*\bb read ")


@needs_root
class Blocks(Parts):
    """Each host has a file system of its own; that of node4 has blocks of 4 KiB, and is small."""

    workers = 4

    @classmethod
    def setUpClass(cls):
        directory = tempfile.mkdtemp(prefix="lsparts", dir="/tmp")
        cls.addClassCleanup(call, "rm", "-rf", "--one-file-system", directory)
        cls.root = f"{directory}/mounts"
        cls.loops = {}
        for number in range(1, 5):
            host = f"node{number}"
            loop = mount_ext4(
                cls.addClassCleanup,
                f"{directory}/{host}",
                f"{cls.root}/{host}",
                (48 if number == 4 else 128) * MIB,
                attached=["--direct-io=on", "-b", "4096" if number == 4 else "512"],
            )
            cls.loops[host] = os.path.basename(loop)
        cls.start_fleet(Fleet(cls.workers, allow=[cls.root]))

    def job(self, workload, size="16MiB"):
        return f"""name: blocks
targets: [{{name: d, file: {{path: "{self.root}/{{host}}/f", size: {size}}}}}]
phases:
  - prepare:
  - {{name: mix, run: {{duration: 3s, workloads: [{{name: w, {workload}}}]}}}}
  - cleanup:
"""

    @situation("10", "reads of 512 bytes; the device of node4 has logical blocks of 4 KiB")
    def test_a_device_with_larger_blocks(self):
        """The kernel would refuse direct reads of a part of a block (open(2), O_DIRECT)."""
        job = self.job("block_size: 512, queue_depth: 1, max_iops: 400")
        done = self.ok(self.fleet.run_job(job), 3)
        found = re.search(r"refused before anything was written: [^;]*", done.text)
        self.assertIsNotNone(found, done.text)
        self.says(found[0])
        self.assertIn("node4: phase mix, workload w, target d: block_size 512 B", found[0])
        self.assertIn(f"logical block of its device ({self.loops['node4']}), 4 KiB", found[0])
        # No other host is blamed, and no host has a file.
        self.assertNotRegex(done.text, r"node[123]: phase")
        for number in range(1, 5):
            self.assertFalse(os.path.exists(f"{self.root}/node{number}/f"))

    @situation("10", "files of 64 MiB, where the file system of node4 has 48 MiB in all")
    def test_a_device_that_is_too_small(self):
        done = self.ok(self.fleet.run_job(self.job("queue_depth: 1", size="64MiB")), 3)
        found = re.search(r"refused before anything was written: [^;]*? need 64 MiB", done.text)
        self.assertIsNotNone(found, done.text)
        self.says(found[0])
        self.assertIn(f"node4: {self.root}/node4/f", found[0])
        self.assertNotRegex(found[0], r"node[123]:")
        for number in range(1, 5):
            self.assertFalse(os.path.exists(f"{self.root}/node{number}/f"))
