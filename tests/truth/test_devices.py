"""Devices: bytes that are known to reach one, by its counters per interval and when they are
pruned.
"""

import os
import shutil
import signal
import subprocess
import tempfile

from fleet import needs_root
from loops import MIB, LoopDevice
from truth import TruthTest, situation

OPERATIONS, BLOCK = 1200, 64 << 10
TRUTH = OPERATIONS * BLOCK


@needs_root
class Devices(TruthTest):
    """On a file system of its own, on a loop device, which nobody else uses."""

    workers = 1

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="lsdevices", dir="/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        loop = LoopDevice(cls.directory, 256 * MIB)
        loop.__enter__()
        cls.addClassCleanup(loop.__exit__)
        # Nothing is left to be initialised in the background.
        lazy = "lazy_itable_init=0,lazy_journal_init=0"
        subprocess.run(["mkfs.ext4", "-q", "-E", lazy, loop.path], check=True)
        mount = os.path.join(cls.directory, "mount")
        os.mkdir(mount)
        subprocess.run(["mount", loop.path, mount], check=True)
        cls.addClassCleanup(subprocess.run, ["umount", mount], check=True)
        cls.device, cls.mount = os.path.basename(loop.path), mount
        cls.fleet_options = {"allow": [mount]}
        super().setUpClass()

    def job(self):
        load = f"block_size: 64KiB, queue_depth: 4, max_iops: 400, operations: {OPERATIONS}"
        phases = "".join(
            f"  - name: {name}\n"
            f"    run: {{duration: 60s, workloads: [{{{load}, read: {share}}}]}}\n"
            for name, share in (("reading", "100%"), ("writing", "0%"))
        )
        return (
            "name: known\ninterval: 500ms\nlabels: {truth: devices}\nhosts: {count: 1}\n"
            f'targets: [{{name: f, file: {{path: "{self.mount}/{{host}}/file", size: 64MiB}}}}]\n'
            f"phases:\n  - prepare:\n{phases}  - cleanup:\n"
        )

    def bytes_of(self, phase):
        """Returns the bytes that the device moved in the phase's direction, and their rows."""
        column = {"reading": "read_bytes", "writing": "write_bytes"}[phase]
        (row,) = self.rows(
            f"SELECT sum({column}) AS bytes, count(*) AS rows FROM device_timeline "
            f"WHERE run_id = last_run() AND phase_name = '{phase}' AND device = '{self.device}'"
        )
        return float(row["bytes"]), int(row["rows"])

    @situation("1", "1,200 direct I/Os of 64 KiB on a loop device, 400/s: read, then written")
    def test_a_device_s_intervals_add_up_to_what_was_done(self):
        report = self.run_report(self.job())
        before = {}
        for name, letter, kind in (("reading", "r", "read"), ("writing", "w", "write")):
            moved, rows = before[name] = self.bytes_of(name)
            self.says(f"{name}: {moved / TRUTH:.4f} of the truth in {rows} rows")
            self.assert_near(moved, TRUTH, 0.02, name)
            self.assertGreater(rows, 4)
            (engine,) = self.rows(
                "SELECT sum(bytes) AS bytes FROM fleet_timeline WHERE run_id = last_run() "
                f"AND phase_name = '{name}'"
            )
            self.assertEqual(float(engine["bytes"]), TRUTH)
            devices = self.phase(report, name)["devices"]
            device = next(d for d in devices if d["name"] == self.device)
            self.assertEqual(device[f"device{kind.capitalize()}Bytes"], moved)
            # Requests of the load's blocks; a journal adds few and small ones.
            (size,) = self.rows(
                f"SELECT sum({kind}_bytes) / sum({kind}s) / 1024 AS kib, avg({letter}_await) AS ms "
                "FROM device_timeline WHERE run_id = last_run() "
                f"AND phase_name = '{name}' AND {letter}_s > 0 AND device = '{self.device}'"
            )
            self.assert_near(size["kib"], 64, 0.1, "the size of requests")
            self.assertGreater(float(size["ms"]), 0)
        detail = self.ok(self.fleet.lockstep("report", "last", "--detail")).out
        self.assertRegex(detail, rf"{self.device} +read +\d+ .*\d+ %\n +write +")
        self.ok(self.fleet.lockstep("prune", "--label", "truth=devices", "--samples", "--yes"))
        for name, (moved, rows) in before.items():
            left, fewer = self.bytes_of(name)
            self.assertEqual(left, moved, f"{name}, pruned")
            self.assertLess(fewer, rows)

    @situation("1", "a direct copy of 64 MiB in blocks of 256 KiB, on one loop device")
    def test_a_copy_reads_and_writes_each_byte_once(self):
        size = 64 * MIB
        targets = ", ".join(
            f'{{name: {name}, file: {{path: "{self.mount}/{{host}}/{name}", size: 64MiB}}}}'
            for name in ("source", "copied")
        )
        workload = "copy: {from: source, to: copied}, block_size: 256KiB, queue_depth: 4"
        report = self.run_report(
            f"name: copy\nhosts: {{count: 1}}\ntargets: [{targets}]\nphases:\n  - prepare:\n"
            f"  - name: mix\n    run: {{workloads: [{{{workload}, max_iops: 400}}]}}\n"
        )
        with (
            open(f"{self.mount}/node1/source", "rb") as source,
            open(f"{self.mount}/node1/copied", "rb") as copied,
        ):
            self.assertEqual(source.read(), copied.read())
        mix = self.phase(report)
        kinds = {one["kind"]: one for one in mix["workloads"][0]["operations"]}
        (device,) = (d for d in mix["devices"] if d["name"] == self.device)
        for kind in ("read", "write"):
            self.assertEqual(kinds[kind]["bytes"], size)
            moved = device[f"device{kind.capitalize()}Bytes"]
            self.says(f"{kind}: {moved / size:.4f} of the file's bytes")
            self.assert_near(moved, size, 0.02, kind)
        self.assertIn(device["crossCheck"]["verdict"], ("VERDICT_AGREE", "VERDICT_COALESCED"))
        self.ok(
            self.fleet.run_job(
                f"name: gone\nhosts: {{count: 1}}\ntargets: [{targets}]\nphases:\n  - cleanup:\n"
            )
        )

    @situation("13", "500 direct reads/s of 4 KiB beside dd's reads of 64 KiB: nobody amplifies")
    def test_bytes_of_others_are_no_amplification(self):
        foreign = os.path.join(self.mount, "foreign")
        self.addCleanup(os.unlink, foreign)
        words = [f"if=/dev/zero of={foreign} oflag=direct", f"if={foreign} of=/dev/null"]
        fill, again = (f"dd bs=64K count=512 status=none {which}" for which in words)
        subprocess.run(["sh", "-c", fill], check=True)
        loop = f"while {again} iflag=direct; do :; done"
        with subprocess.Popen(["sh", "-c", loop], start_new_session=True) as other:
            self.addCleanup(other.wait)
            try:
                report = self.run_report(
                    "name: beside\nhosts: {count: 1}\ntargets: [{name: f, file: {path: "
                    f'"{self.mount}/{{host}}/file", size: 64MiB}}}}]\nphases:\n  - prepare:\n'
                    "  - name: mix\n    run: {duration: 2s, workloads: [{max_iops: 500}]}\n"
                    "  - cleanup:\n"
                )
            finally:
                os.killpg(other.pid, signal.SIGTERM)
        mix = self.phase(report)
        device = next(d for d in mix["devices"] if d["name"] == self.device)
        share = device["deviceReadBytes"] / device["engineReadBytes"]
        self.says(f"×{share:.1f}: {device['crossCheck']['reason']}")
        if share < 2:
            self.skipTest("the other program got too little of the device")
        self.assertEqual(device["crossCheck"]["verdict"], "VERDICT_NOT_ATTRIBUTABLE")
        self.assertIn("other programs read them", device["crossCheck"]["reason"])
        self.assertNotIn("amplification", mix["timeSpent"])
        detail = self.ok(self.fleet.lockstep("report", "last", "--detail")).out
        self.assertNotIn("amplif", detail)
        findings = "SELECT kind FROM phase_findings WHERE run_id = last_run()"
        self.assertNotIn("amplified", [row["kind"] for row in self.rows(findings)])

    @situation("8", "an open loop of depth 2, at 300,000/s: far more than a loop device serves")
    def test_what_waits_for_its_slot_is_not_in_flight(self):
        """Its response times are seconds, and no layer above the device holds anything up."""
        load = "block_size: 4KiB, queue_depth: 2, open_loop: {rate: 300000, arrival: fixed}"
        report = self.run_report(
            "name: behind\nhosts: {count: 1}\ntargets: [{name: f, file: {path: "
            f'"{self.mount}/{{host}}/file", size: 64MiB}}}}]\nphases:\n  - prepare:\n'
            f"  - name: mix\n    run: {{duration: 2s, workloads: [{{{load}}}]}}\n  - cleanup:\n"
        )
        mix = self.phase(report)
        device = next(d for d in mix["devices"] if d["name"] == self.device)
        mean = mix["total"]["latencyAvgNs"]
        self.says(f"responses of {mean / 1e6:,.0f} ms, {device['engineQueueSize']:.2f} in flight")
        self.assertGreater(mean, 1e8)
        self.assertTrue(0 < device["engineQueueSize"] <= 2.1, device["engineQueueSize"])
        self.assertNotIn("queue", [finding["kind"] for finding in device["findings"]])
        self.assertNotIn("waited above", self.ok(self.fleet.lockstep("report", "last")).text)
