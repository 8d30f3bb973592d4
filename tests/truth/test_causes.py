"""Causes that limit a load or slow it down: real quotas, throttles, devices and neighbours."""

import contextlib
import os
import re
import subprocess
import unittest

from fleet import Fleet, needs_root
from loops import attach, detach, unmount
from test_loads import GROUPS, READER, group, program, pulses, read, write
from truth import TruthTest, situation

READ_IOPS = "blkio.throttle.read_iops_device"
WRITE_BPS = "blkio.throttle.write_bps_device"
HELD = ("CPU quota", "I/O throttle")  # what no free host is held by
MIB = 1 << 20

# A program whose child reads FILE and ends at once, but is waited for only after a line.
PARENT = """
import subprocess, sys
child = subprocess.Popen(["dd", f"if={sys.argv[1]}", "of=/dev/null", "bs=1M", "iflag=direct"],
                         stderr=subprocess.PIPE)
child.stderr.read()
print("read", flush=True)
sys.stdin.readline()
child.wait()
print("waited", flush=True)
sys.stdin.readline()
"""


def call(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


class Causes(TruthTest):
    """The steps that all these situations share."""

    def limit_of(self, name="mix"):
        """Returns the limit of the only workload of a phase of the last run, the same in all
        outputs; and the phase.
        """
        report = self.ok(self.fleet.lockstep("report", "last", "--format", "json")).json()
        phase = self.phase(report, name)
        (workload,) = phase["workloads"]
        limit = workload["limitedBy"]
        (row,) = self.rows(
            f"SELECT limited_by FROM phase_overview WHERE run_id = last_run() AND name = '{name}'"
        )
        self.assertEqual(row["limited_by"], limit, "SQL")
        text = self.ok(self.fleet.lockstep("report", "last", "--detail")).text
        self.assertIn(f"limited by: {limit} ({workload['limitedBecause']})", text)
        self.assertIn(limit, self.ok(self.fleet.lockstep("report", "last")).text)
        self.says(f"{limit} ({workload['limitedBecause']})")
        # A verdict never contradicts a finding of the same report.
        for device in phase["devices"]:
            above = [f for f in device["findings"] if "waited above the device" in f["sentence"]]
            self.assertFalse(limit == "device" and above, above)
        return limit, workload["limitedBecause"], phase

    def pids(self, *hosts):
        return [self.fleet.workers[host].pid for host in hosts or self.fleet.workers]


@needs_root
@unittest.skipUnless(os.path.exists(f"{GROUPS}/blkio/{READ_IOPS}"), "needs blkio of cgroup v1")
@unittest.skipUnless(os.path.exists(f"{GROUPS}/cpu/cpu.cfs_quota_us"), "needs cpu of cgroup v1")
class Hosts(Causes):
    workers = 3

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        numbers = os.stat(cls.fleet.data).st_dev
        path = os.path.realpath(f"/sys/dev/block/{os.major(numbers)}:{os.minor(numbers)}")
        if not os.path.isdir(path):
            cls.tearDownClass()
            raise unittest.SkipTest("the test's files are on no block device")
        # Throttles are of whole disks.
        path = os.path.dirname(path) if os.path.exists(f"{path}/partition") else path
        cls.device, cls.numbers = os.path.basename(path), read(f"{path}/dev")

    def job(self, workload="block_size: 4KiB, queue_depth: 16", hosts=2, duration="3s", tail=""):
        return f"""name: causes
hosts: {{count: {hosts}}}
targets: [{{name: d, file: {{path: "{self.fleet.data}/{{host}}/file", size: 16MiB}}}}]
phases:
  - prepare:
  - {{name: mix, run: {{duration: {duration}, workloads: [{{name: w, {workload}}}]}}}}
{tail}"""

    def straggler(self, job, reads):
        """Stops node3, one of three hosts, again and again, with a limit of `reads`."""
        (pid,) = self.pids("node3")
        with group("blkio", {READ_IOPS: f"{self.numbers} {reads}"}, pid), pulses(pid):
            mix = self.phase(self.run_report(job))
        # The report sees the limit, and node3 was slow.
        (host,) = [host for host in mix["hosts"] if host["host"] == "node3"]
        self.assertIn(f"{READ_IOPS} {self.device} {reads}", " ".join(host["throttles"]))
        found = [s for s in mix["stragglers"] if s["host"] == "node3"]
        if not found:
            self.skipTest("the machine kept the other hosts as slow as node3")
        self.says(f"node3 {host['iops']:,.0f} IOPS: {found[0]['cause']} ({found[0]['reason']})")
        (row,) = self.rows(
            "SELECT cause FROM phase_findings WHERE run_id = last_run() AND "
            "kind = 'straggler' AND hosts = ARRAY['node3']"
        )
        self.assertEqual(row["cause"], found[0]["cause"])
        return found[0]["cause"], host

    @situation("8", "two free hosts with direct reads on the machine's own disk")
    def test_a_free_host_is_not_called_throttled(self):
        self.run_report(self.job())
        limit, _, mix = self.limit_of()
        self.assertNotIn(limit, HELD)
        for host in mix["hosts"]:
            self.assertEqual((host["throttledRatio"], host["throttles"]), (0, []), host["host"])
        self.assertEqual([s for s in mix["stragglers"] if s["cause"] in HELD], [])

    @situation("8", "both workers in a control group that has 4 % of a processor")
    def test_a_quota_is_the_limit(self):
        self.run_report(self.job())  # lays the files out
        limits = {"cpu.cfs_period_us": 100000, "cpu.cfs_quota_us": 4000}
        with group("cpu", limits, *self.pids("node1", "node2")) as path:
            self.run_report(self.job("block_size: 4KiB, queue_depth: 32"))
            words = read(f"{path}/cpu.stat").split()
        stat = dict(zip(words[::2], map(int, words[1::2]), strict=True))
        truth = stat["nr_throttled"] / stat["nr_periods"]
        limit, because, mix = self.limit_of()
        if truth < 0.6:
            self.skipTest("the disk was too slow for the load to use the quota up")
        self.assertEqual(limit, "CPU quota", because)
        for host in mix["hosts"]:
            # The kernel's count is of the whole command.
            self.assertGreaterEqual(host["throttledRatio"], truth - 0.25, host["host"])

    @situation("8", "two hosts that may do 200 reads/s each, and write 1 MiB/s each")
    def test_a_throttle_is_the_limit(self):
        tail = (
            "  - {name: writes, run: {duration: 3s, workloads: "
            "[{name: w, block_size: 64KiB, queue_depth: 16, read: 0%}]}}\n"
        )
        limits = {READ_IOPS: f"{self.numbers} 200", WRITE_BPS: f"{self.numbers} {MIB}"}
        # The files are laid out without the limit.
        self.run_report(self.job(duration="100ms"))
        one, two = self.pids("node1", "node2")
        with group("blkio", limits, one), group("blkio", limits, two, name="b"):
            self.run_report(self.job(tail=tail))
        limit, because, mix = self.limit_of()
        self.assertLess(mix["total"]["iops"], 450)
        if mix["total"]["iops"] < 360:
            self.skipTest("the load got too little of the processors to reach its limit")
        self.assertEqual(limit, "I/O throttle", because)
        self.assertIn(f"{READ_IOPS} {self.device} 200", because)
        # Equal hosts: none is a straggler because of a limit that all have.
        self.assertEqual([s for s in mix["stragglers"] if s["cause"] in HELD], [])
        limit, because, writes = self.limit_of("writes")
        self.assertLess(writes["total"]["bytesPerSecond"], 3 * MIB)
        self.assertEqual(limit, "I/O throttle", because)
        self.assertIn(f"{WRITE_BPS} {self.device} {MIB}", because)

    @situation("8", "two workers in one control group that may do 200 reads/s in all")
    def test_a_limit_that_hosts_share_is_reached(self):
        """Each host alone has half of the limit: a limit is of all that is in its group."""
        limits = {READ_IOPS: f"{self.numbers} 200"}
        self.run_report(self.job(duration="100ms"))
        with group("blkio", limits, *self.pids("node1", "node2")):
            self.run_report(self.job())
        limit, because, mix = self.limit_of()
        self.assertLess(mix["total"]["iops"], 250)
        self.assertEqual(limit, "I/O throttle", because)

    @situation("9", "a limit of 20 reads/s of the group above, which version 1 does not apply")
    def test_a_limit_that_is_exceeded_holds_nobody(self):
        """The throttle of version 1 is of the processes in the very group (blkio-controller.rst,
        "Hierarchical Cgroups"). What runs at many times a limit is not held by it.
        """
        limits = {READ_IOPS: f"{self.numbers} 20"}
        self.run_report(self.job(duration="100ms"))
        with group("blkio", limits, *self.pids("node1", "node2"), beneath="inner"):
            self.run_report(self.job())
        limit, because, mix = self.limit_of()
        if mix["total"]["iops"] < 200:
            self.skipTest("this kernel applies the limit, or its disk is very slow")
        self.says(f"at {mix['total']['iops']:,.0f} IOPS")
        self.assertNotEqual(limit, "I/O throttle", because)

    @situation("9", "node3 may do 1,000,000 reads/s; it is slow as a signal stops it")
    def test_a_limit_that_is_never_reached_is_no_cause(self):
        job = self.job("block_size: 4KiB, queue_depth: 1", hosts=3, duration="4s")
        cause, _ = self.straggler(job, 1000000)
        self.assertNotIn(cause, HELD)
        self.assertNotEqual(self.limit_of()[0], "I/O throttle")

    @situation("9", "node3 may read a disk 10 times/s; its load is on a null target, and stopped")
    def test_a_limit_of_another_device_is_no_cause(self):
        """The load never touches the disk, and does many times the limit."""
        job = (
            "name: causes\nhosts: {count: 3}\ntargets: [{name: n, null: {latency: 1ms}}]\n"
            "phases:\n  - {name: mix, run: {duration: 4s, workloads: "
            "[{name: w, engine: 'null', queue_depth: 4}]}}\n"
        )
        cause, host = self.straggler(job, 10)
        self.assertGreater(host["iops"], 50)
        self.assertNotIn(cause, HELD)
        self.assertEqual(self.limit_of()[0], "no storage")


@needs_root
@unittest.skipUnless(os.path.exists(f"{GROUPS}/blkio/{READ_IOPS}"), "needs blkio of cgroup v1")
class Devices(Causes):
    """On a file system of its own, on a loop device, so that nobody else moves anything on it."""

    workers = 2

    @classmethod
    def setUpClass(cls):
        directory = call("mktemp", "-d", "/tmp/lscausesXXXXXX")
        cls.addClassCleanup(call, "rm", "-rf", directory)
        image = f"{directory}/image"
        with open(image, "wb") as out:
            out.truncate(640 * MIB)
        cls.loop = attach(image, "--direct-io=on")
        cls.addClassCleanup(detach, cls.loop)
        cls.name = os.path.basename(cls.loop)
        # Large enough for reads of 256 KiB, whatever an earlier user of the device left here.
        queue = f"/sys/block/{cls.name}/queue"
        write(f"{queue}/max_sectors_kb", min(1280, int(read(f"{queue}/max_hw_sectors_kb"))))
        call("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", cls.loop)
        cls.mount = f"{directory}/mount"
        os.mkdir(cls.mount)
        call("mount", cls.loop, cls.mount)
        cls.addClassCleanup(unmount, cls.mount)
        # A file for reads of other programs.
        cls.foreign = f"{cls.mount}/foreign"
        call("dd", "if=/dev/zero", f"of={cls.foreign}", "bs=1M", "count=100", "oflag=direct")
        cls.start_fleet(Fleet(cls.workers, allow=[cls.mount]))

    def job(self, workload, hosts=2, duration="3s"):
        return f"""name: causes
hosts: {{count: {hosts}}}
targets: [{{name: d, file: {{path: "{self.mount}/{{host}}/file", size: 64MiB}}}}]
phases:
  - prepare:
  - {{name: mix, run: {{duration: {duration}, workloads: [{{name: w, {workload}}}]}}}}
"""

    def device_of(self, mix, name="mix"):
        """The only device of the phase beside those underneath it, and its findings, which SQL
        has, too.
        """
        (device,) = [device for device in mix["devices"] if not device["nested"]]
        self.assertEqual(device["name"], self.name)
        findings = {f["kind"]: f["sentence"] for f in device["findings"]}
        in_sql = self.rows(
            "SELECT kind, sentence FROM phase_findings WHERE run_id = last_run() AND "
            f"phase_name = '{name}' AND device = '{self.name}'"
        )
        in_sql = {row["kind"]: row["sentence"] for row in in_sql}
        self.assertEqual({kind: in_sql.get(kind) for kind in findings}, findings)
        return device, findings

    @contextlib.contextmanager
    def reader(self, threads=1, limits=None):
        """Another program that reads 4 KiB at random, with limits of its own."""
        words = (READER, self.foreign, str(100 * MIB), str(threads))
        with program(*words) as other, group("blkio", limits or {}, other.pid, name="reader"):
            yield

    @situation("8", "a device that has 64 large reads in its queue all the time")
    def test_a_device_at_its_limit_is_the_limit(self):
        self.run_report(self.job("block_size: 64KiB, queue_depth: 32"))
        limit, because, mix = self.limit_of()
        device, _ = self.device_of(mix)
        if device["queueSize"] < 16:
            self.skipTest("the load got too little of the processors to fill the queue")
        self.assertEqual(limit, "device", because)

    @situation("8", "a limit of 100 reads/s on the disk beneath the loop device of the files")
    def test_a_throttle_beneath_the_device_is_the_limit(self):
        """The loop device passes on whose I/O it is: its requests wait for the throttle."""
        numbers = os.stat(os.path.dirname(self.mount)).st_dev
        numbers = f"{os.major(numbers)}:{os.minor(numbers)}"
        if not os.path.isdir(f"/sys/dev/block/{numbers}/queue"):
            self.skipTest("the image is on no whole disk")
        self.run_report(self.job("queue_depth: 16", duration="100ms"))
        limits = {READ_IOPS: f"{numbers} 100"}
        one, two = self.pids()
        with group("blkio", limits, one), group("blkio", limits, two, name="b"):
            self.run_report(self.job("block_size: 4KiB, queue_depth: 16"))
        limit, because, mix = self.limit_of()
        self.says(f"at {mix['total']['iops']:,.0f} IOPS")
        if mix["total"]["iops"] > 300:
            self.skipTest("this kernel's loop devices do not pass on whose I/O it is")
        self.assertEqual(limit, "I/O throttle", because)

    @situation("8,13", "a limit of 40 requests/s under reads of 4 MiB, each of several requests")
    def test_a_limit_of_requests_is_reached_by_fewer_reads(self):
        """The kernel counts requests. Nobody else is on the device: its bytes are the engines'."""
        limits = {READ_IOPS: f"{read(f'/sys/block/{self.name}/dev')} 40"}
        self.run_report(self.job("queue_depth: 1", hosts=1, duration="100ms"))
        with group("blkio", limits, *self.pids("node1")):
            self.run_report(self.job("block_size: 4MiB, queue_depth: 4", hosts=1))
        limit, because, mix = self.limit_of()
        device, found = self.device_of(mix)
        requests = device["readsPerSecond"]
        self.says(f"{mix['total']['iops']:.1f} IOPS, {requests:.1f} requests/s: {found}")
        self.assertLess(requests, 45)
        self.assertLess(device["deviceReadBytes"] - device["engineReadBytes"], MIB)
        self.assertEqual((limit, "interference" in found), ("I/O throttle", False), because)

    SPLIT = "block_size: 256KiB, queue_depth: 2, max_throughput: 32MiB"
    LARGE = (
        "  - {name: large, run: {duration: 3s, workloads: [{name: w, block_size: 1MiB, "
        "queue_depth: 2, max_throughput: 32MiB}]}}\n"
    )

    def splits(self, report):
        """Returns the requests for each read of 256 KiB and of 1 MiB, and the report's words."""
        found = []
        for name in ("mix", "large"):
            device, findings = self.device_of(self.phase(report, name), name)
            said = re.search(r"\(×([\d.]+)\)", findings.get("split", ""))
            ratio = device["readsPerSecond"] / device["engineIops"]
            found.append((ratio, float(said[1]) if said else 1))
        return found

    @situation("12", "32 MiB/s of reads beside another program's 76 reads/s of 4 KiB")
    def test_requests_of_others_are_no_splits(self):
        """Those are less than 1 % of the bytes, and more than half as many as the requests."""
        job = self.job(self.SPLIT) + self.LARGE
        alone = self.splits(self.run_report(job))
        with self.reader(limits={READ_IOPS: f"{read(f'/sys/block/{self.name}/dev')} 76"}):
            beside = self.splits(self.run_report(job))
        self.says([f"×{ratio:.2f}, said ×{said:g}" for ratio, said in alone + beside])
        for (ratio, said), (_, said_beside) in zip(alone, beside, strict=True):
            # Unsaid is true, too: what splits an I/O in two is told from half as much again.
            self.assertLessEqual(said, 1.1 * ratio)
            self.assertLessEqual(said_beside, 1.1 * ratio)

    @situation("12", "a queue that takes 64 KiB at a time, under reads of 256 KiB")
    def test_requests_that_the_queue_splits_are_splits(self):
        path = f"/sys/block/{self.name}/queue/max_sectors_kb"
        before = read(path)
        self.addCleanup(write, path, before)
        write(path, 64)
        mix = self.phase(self.run_report(self.job(self.SPLIT)))
        found = self.device_of(mix)[1]
        self.says(found)
        self.assertIn("I/Os of 256 KiB", found["split"])
        size, ratio = re.search(r"requests of ([\d.]+) KiB \(×([\d.]+)\)", found["split"]).groups()
        # Two samples are not taken at the same instants as the engine's intervals end.
        self.assert_near(size, 64, 0.1, "the requests, the journal's among them")
        self.assert_near(ratio, 4, 0.1, "requests for each I/O")
        self.assertIn("takes at most 64 KiB", found["split"])

    @situation(
        "12", "reads of 4 MiB from a queue that takes 1,280 KiB, and 128 segments, at a time"
    )
    def test_a_limit_of_the_queue_is_named_where_it_explains_a_split(self):
        queue = f"/sys/block/{self.name}/queue"
        sectors, segments = (int(read(f"{queue}/max_{of}")) for of in ("sectors_kb", "segments"))
        # The longer, the fewer small requests can hide in what was moved between two samples.
        job = self.job("block_size: 4MiB, queue_depth: 1", duration="12s")
        mix = self.phase(self.run_report(job))
        device, found = self.device_of(mix)
        ratio = device["readsPerSecond"] / device["engineIops"]
        split = found.get("split", "")
        self.says(f"×{ratio:.1f} under {sectors} KiB and {segments} segments: {split}")
        if device["engineIops"] < 10:
            self.skipTest("the disk is too slow for ten reads of 4 MiB in a second")
        self.assertIn("I/Os of 4 MiB", split)
        # The worker's memory decides how many pages adjoin, and with that which limit holds.
        by_sectors = -(-4096 // sectors)
        by_segments = 4 * -(-1024 // min(1024, 4 * segments))
        if "max_sectors_kb" in split:
            self.assertLessEqual(ratio, 1.3 * by_sectors)
        elif "max_segments" in split:
            self.assertIn(f"at most {segments} pieces of memory", split)
            self.assertGreater(ratio, by_sectors)
            self.assertLessEqual(ratio, 1.3 * by_segments)
        else:
            self.assertTrue(split.endswith("by what is not known"), split)
            self.assertGreater(ratio, 1.2 * by_sectors)

    @situation("13", "one program reads 8 MiB/s, another one waits for a child that read before")
    def test_what_a_child_read_before_is_not_its_parent_s(self):
        """/proc/PID/io adds all that a child has ever done when its parent waits for it."""
        job = self.job("block_size: 64KiB, queue_depth: 4, max_throughput: 32MiB", duration="6s")
        self.run_report(self.job("queue_depth: 1", duration="100ms"))
        limits = {READ_IOPS: f"{read(f'/sys/block/{self.name}/dev')} 2048"}
        with program(PARENT, self.foreign) as parent, self.reader(limits=limits):
            self.assertEqual(parent.stdout.readline(), "read\n")
            running = self.fleet.start_lockstep("run", "-", "--format", "json", stdin=job)
            self.fleet.await_seconds(1)
            parent.stdin.write("wait\n")
            parent.stdin.flush()
            self.assertEqual(parent.stdout.readline(), "waited\n")
            out, err = running.communicate()
            self.assertEqual(running.returncode, 0, err)
        report = self.ok(self.fleet.lockstep("report", "last", "--format", "json")).json()
        mix = self.phase(report)
        device, found = self.device_of(mix)
        others = device["deviceReadBytes"] - device["engineReadBytes"]
        self.says(f"others moved {others / MIB:.0f} MiB: {found.get('interference')}")
        self.says(mix["kernels"][0]["others"])
        interference = found.get("interference", "")
        said = [interference, *mix["kernels"][0]["others"]]
        wrong = [text for text in said if f"[{parent.pid}]" in text]  # it read nothing then
        # All programs together did no more on the device than it moved beyond the engines.
        for moved in re.findall(r"others moved ([\d.]+) MiB", interference):
            named = sum(map(float, re.findall(r" read ([\d.]+) MiB", interference)))
            if max(named, float(moved)) * MIB > 1.1 * others:
                wrong.append(f"{named:.0f} MiB by name of {moved} MiB")
        self.assertEqual(wrong, [])

    @situation("13", "60 reads, in about a millisecond; another program reads all the time")
    def test_a_load_of_a_millisecond_gets_nothing_of_others(self):
        load = "block_size: 4KiB, queue_depth: 4, operations: 60"
        # On a busy machine 60 reads can take as long as the worker's samples of them, which then
        # fit. The counters are read from 4 ms before T, so that up to 20 ms they cannot fit.
        with self.reader(threads=4):
            for _ in range(5):
                mix = self.phase(self.run_report(self.job(load, hosts=1)))
                if mix["durationSeconds"] < 0.02:
                    break
        device, found = self.device_of(mix)
        self.says(f"{1000 * mix['durationSeconds']:.3g} ms: {device.get('notRated')} {found}")
        if mix["durationSeconds"] >= 0.02:
            self.skipTest("the load got too little of the processors, five times")
        self.assertIn("the measured time of", device["notRated"])
        self.assertNotIn("interference", found)
        self.assertEqual(mix.get("kernels", []), [])

    @situation("13", "1,000 reads/s of the page cache beside another program's of the device")
    def test_bytes_of_another_reader_are_no_agreement(self):
        buffered = "block_size: 4KiB, direct: false, engine: sync"
        warm = f"  - {{name: warm, run: {{workloads: [{{name: w, {buffered}, passes: 1}}]}}}}\n"
        job = self.job(f"{buffered}, max_iops: 1000", hosts=1)
        job = job.replace("  - {name: mix", warm + "  - {name: mix")
        limits = {READ_IOPS: f"{read(f'/sys/block/{self.name}/dev')} 1000"}
        with self.reader(limits=limits):
            mix = self.phase(self.run_report(job))
        device, _ = self.device_of(mix)
        share = device["deviceReadBytes"] / device["engineReadBytes"]
        self.says(f"{100 * share:.0f} %: {device['crossCheck']}")
        if share < 0.9:
            self.skipTest("the other program got too little of the device")
        self.assertNotEqual(device["crossCheck"]["verdict"], "VERDICT_AGREE")

    @situation("13", "buffered reads of depth 1; another program has 32 reads in flight")
    def test_a_queue_of_others_is_no_write_back(self):
        buffered = "block_size: 4KiB, direct: false, engine: sync"
        with self.reader(threads=32):
            mix = self.phase(self.run_report(self.job(buffered, hosts=1)))
        device, found = self.device_of(mix)
        self.says(f"queue {device['queueSize']:.1f}: {found}")
        if device["queueSize"] < 4:
            self.skipTest("the other program got too little of the processors")
        self.assertIn("another program fills it", found["queue"])
        self.assertNotIn("write-back", found["queue"])


@needs_root
class Layers(Causes):
    """On btrfs, whose files have no number of a device."""

    workers = 1

    @classmethod
    def setUpClass(cls):
        directory = call("mktemp", "-d", "/tmp/lscausesXXXXXX")
        cls.addClassCleanup(call, "rm", "-rf", "--one-file-system", directory)
        image = f"{directory}/image"
        with open(image, "wb") as out:
            out.truncate(256 * MIB)
        cls.loop = attach(image, "--direct-io=on")
        cls.addClassCleanup(detach, cls.loop)
        cls.name = os.path.basename(cls.loop)
        call("mkfs.btrfs", "-q", "-f", cls.loop)
        cls.mount = f"{directory}/mount"
        os.mkdir(cls.mount)
        call("mount", "-t", "btrfs", cls.loop, cls.mount)
        cls.addClassCleanup(unmount, cls.mount)
        cls.start_fleet(Fleet(cls.workers, allow=[cls.mount]))

    @situation("8", "2,000 direct reads of 4 KiB on btrfs over a loop device")
    def test_a_file_system_without_a_number_has_its_device(self):
        job = f"""name: causes
targets: [{{name: d, file: {{path: "{self.mount}/{{host}}/file", size: 16MiB}}}}]
phases:
  - prepare:
  - name: mix
    run: {{workloads: [{{name: w, block_size: 4KiB, operations: 2000, max_iops: 4000}}]}}
"""
        plan = self.ok(self.fleet.lockstep("plan", "-", stdin=job)).text
        mix = self.phase(self.run_report(job))
        limit, _, _ = self.limit_of()
        text = self.ok(self.fleet.lockstep("report", "last", "--detail")).text
        for said in (plan, text):
            self.assertNotIn("memory or a network", said)
        self.assertNotEqual(limit, "page cache")
        (device,) = [device for device in mix["devices"] if not device["nested"]]
        self.assertEqual(
            (device["name"], device["filesystems"]), (self.name, [f"btrfs on {self.mount}"])
        )
        engine, moved = device["engineReadBytes"], device["deviceReadBytes"]
        self.says(f"{self.name} moved {moved / 4096:,.0f} blocks of {engine / 4096:,.0f}")
        self.assertEqual(engine, 2000 * 4096)
        self.assertGreaterEqual(moved, 0.95 * engine)
        (row,) = self.rows(
            "SELECT reads_per_second > 0 AS reads, nested FROM device_statistics WHERE "
            f"run_id = last_run() AND phase_name = 'mix' AND device = '{self.name}'"
        )
        self.assertEqual((row["reads"], row["nested"]), ("t", "f"))
