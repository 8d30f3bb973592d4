"""The questions of the seven stories (docs/guide/stories.md), each answered by a sentence on the
report's first screen. What is true is scripted: counts of I/Os, files in memory, mount options,
null targets.
"""

import contextlib
import json
import os
import re
import signal
import subprocess

from fleet import MEMORY, Fleet, needs_root, wait_for
from loops import attach, detach, unmount
from test_loads import read, write
from truth import TruthTest, situation

MIB = 1 << 20
SWEPT = "order: random, repeat: 5"
# As the report writes one: 9,312; 128k.
NUMBER = r"[\d.,]+ ?[kM]?"


def call(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def options_of(mount):
    with open("/proc/self/mountinfo", encoding="utf-8") as table:
        fields = next(line.split() for line in table if line.split()[4] == mount)
    return fields[5] + ";" + fields[-1]


class Screens(TruthTest):
    workers = 1

    def answered(self, pattern):
        """The sentence on the first screen of the last run."""
        screen = " ".join(self.report().split())
        # On a machine that others use there are more warnings than the screen has room for.
        if " more in --detail" in screen:
            detail = self.ok(self.fleet.lockstep("report", "last", "--detail")).out
            screen += " " + " ".join(detail.split())
        found = re.search(pattern, screen)
        self.assertIsNotNone(found, f"no '{pattern}' in:\n{screen}")
        self.says(found.group(0))
        return found

    def checked(self, phase, verdict, pattern):
        """Finds the cross-check of a phase's device, on the first screen or in --detail."""
        return self.answered(
            rf"(?:{phase}: {self.device}: |{self.device} against the engines of 1 host: {verdict} "
            rf"(?:×[\d.]+ )?\()[^!]*?{pattern}"
        )

    def not_said(self, pattern):
        self.assertNotRegex(" ".join(self.report().split()), pattern)


@needs_root
class Storage(Screens):
    """On a file system of its own, on a loop device in memory, that nobody else uses."""

    @classmethod
    def setUpClass(cls):
        directory = call("mktemp", "-d", f"{MEMORY}/lsstoriesXXXXXX")
        cls.addClassCleanup(call, "rm", "-rf", directory)
        image = f"{directory}/image"
        with open(image, "wb") as out:
            out.truncate(128 * MIB)
        cls.loop = attach(image)
        cls.addClassCleanup(detach, cls.loop)
        # Merged writes are to be larger than another program's requests beside them leave them.
        queue = f"/sys/block/{os.path.basename(cls.loop)}/queue"
        write(f"{queue}/max_sectors_kb", min(1280, int(read(f"{queue}/max_hw_sectors_kb"))))
        # A page of the cache is a block: smaller file systems have blocks of 1 KiB by default.
        options = ("-b", "4096", "-E", "lazy_itable_init=0,lazy_journal_init=0")
        call("mkfs.ext4", "-q", *options, cls.loop)
        cls.mount = f"{directory}/mount"
        os.mkdir(cls.mount)
        call("mount", cls.loop, cls.mount)
        cls.addClassCleanup(unmount, cls.mount)
        cls.device = os.path.basename(cls.loop)
        flags = ["--allow-settings", cls.mount, "--allow-settings", cls.loop]
        cls.start_fleet(Fleet(cls.workers, allow=[cls.mount], worker_flags=flags))

    def job(self, *phases, size="size: 4MiB"):
        """Phases on one target, whose files each of them finds laid out."""
        lines = "".join(f"  - {phase}\n" for phase in phases)
        return (
            "name: story\ninterval: 100ms\n"
            f'targets: [{{name: data, file: {{path: "{self.mount}/{{host}}/{{file}}", {size}}}}}]\n'
            f"phases:\n  - prepare:\n{lines}  - cleanup:\n"
        )

    @situation("1", "12,000 reads of 4 MiB that memory can hold; 1 IOPS was promised")
    def test_which_figure_is_real(self):
        """The device reads the 4 MiB once at most, of 188 MiB that the load reads."""
        job = f"""name: story
interval: 100ms
targets:
  - {{name: files, file: {{path: "{self.mount}/{{host}}/files/{{file}}", total_size: 4MiB}}}}
  - {{name: one, file: {{path: "{self.mount}/{{host}}/one", size: 4MiB}}}}
phases:
  - name: buffered
    run:
      promised: {{iops: 1}}
      workloads:
        - targets: [files]
          block_size: 16KiB
          read: 60%
          engine: sync
          direct: false
          operations: 20000
          fsync: {{every_ios: 100, all_files: true}}
      sweep: {{repeat: 3, axes: [{{field: targets.files.file.count, values: [16, 1]}}]}}
  - prepare: {{targets: [one]}}
  - name: direct
    run:
      duration: 2s
      promised: {{iops: 250}}
      workloads: [{{targets: [one], block_size: 16KiB, max_iops: 200}}]
  - cleanup: {{targets: [one]}}
"""
        self.run_report(job)
        # Sixteen syncs of files with new blocks after every hundred I/Os, against one.
        per_io = rf"{NUMBER} context switches/s, [\d.e+-]+ per I/O"
        self.answered(rf"16 files: {per_io}; one file: {NUMBER}, [\d.e+-]+")
        found = self.answered(
            rf"buffered targets\.files\.file\.count=\d+.*?: {NUMBER} of 1 IOPS promised \(\d+ %\): "
            r"(\d+) % of the reads came from the page cache"
        )
        self.assertGreater(int(found.group(1)), 90)
        found = self.answered(r"direct: [\d.]+ of 250 IOPS promised: (\d+) %")
        self.assertLess(int(found.group(1)), 85)
        self.answered(rf"devices under the load: {self.device} of node1")

    @situation("2", "a mount with `sync`, where every write is durable, and one without")
    def test_which_scheduler(self):
        before = options_of(self.mount)
        report = self.run_report(
            self.job(
                "name: mix\n    run: {duration: 300ms, "
                f"environment: {{remount: [{{path: '{self.mount}', options: async}}]}}, "
                "workloads: [{block_size: 4KiB, read: 0%, engine: sync, direct: false, "
                "threads: 16, fsync: {every: 50}}], "
                f"sweep: {{{SWEPT}, axes: ["
                "{field: environment.scheduler, values: [none, mq-deadline]}, "
                "{field: environment.remount.0.options, values: [async, sync]}]}}"
            )
        )
        options = r"environment\.scheduler=\S+ environment\.remount\.0\.options="
        # Beside busy neighbours five rounds may be too few to tell anything apart.
        self.answered(
            rf"{options}async reaches {NUMBER} IOPS.*?{options}sync "
            r"(is [\d.]+ % slower|(and \S+ \S+ )?are not distinguishable from it \(5 rounds)"
        )
        shares = r"environment\.scheduler=\S+, environment\.remount\.0\.options="
        # If writes are durable at once, a sync has nothing left to do.
        found = self.answered(
            rf"{shares}async: the threads spent (\d+) % of their time in fsync; {shares}sync: (\d+)"
        )
        self.assertGreater(int(found.group(1)), int(found.group(2)))
        (sweep,) = report["sweeps"]
        for point in sweep["points"]:
            self.assertGreater(point["threadJain"], 0)
            self.assertIn("waitRatio", point["timeSpent"])
        rows = self.rows(
            "SELECT setting, value, not_restored FROM phase_settings WHERE run_id = last_run() "
            "AND setting IN ('scheduler', 'mount options')"
        )
        self.assertEqual(len(rows), 2 * 20)
        self.assertEqual({row["not_restored"] for row in rows}, {""})
        schedulers = {row["value"] for row in rows if row["setting"] == "scheduler"}
        self.assertEqual(schedulers, {"none", "mq-deadline"})
        self.assertEqual(options_of(self.mount), before)

    @situation("3", "9,600 writes of 64 KiB through the page cache, synced at times; then past it")
    def test_dd_and_iostat(self):
        load = "block_size: 64KiB, read: 0%, pattern: sequential, engine: sync, operations: 9600"
        report = self.run_report(
            self.job(
                f"name: buffered\n    run: {{workloads: [{{{load}, direct: false, "
                "fsync: {every: 64, at_end: true}}]}",
                f"name: direct\n    run: {{workloads: [{{{load}}}]}}",
                size="size: 20MiB",
            )
        )
        self.merged()
        self.not_said(rf"direct: {self.device}: agrees in bytes")
        (device,) = self.phase(report, "direct")["devices"]
        self.assertEqual(device["crossCheck"]["verdict"], "VERDICT_AGREE")

    def merged(self):
        """The report says how large the requests of phase `buffered` were."""
        found = self.checked(
            "buffered",
            "coalesced",
            r"(?:agrees in bytes, but in requests of \S+ [KM]iB instead of 64 KiB \(merged |"
            r"the engines' blocks of 64 KiB reached the device in requests of at least \S+ [KM]iB "
            r"on average \(merged at least )×([\d.]+)\): this is \S+( device's)? rate for large "
            r"requests, not for blocks of 64 KiB",
        )
        self.assertGreater(float(found.group(1)), 1.5)

    @contextlib.contextmanager
    def writer(self):
        """Another program that writes 8 MiB and syncs them, again and again."""
        path = f"{self.mount}/other"
        loop = f"while dd if=/dev/zero of={path} bs=1M count=8 conv=fsync status=none; do :; done"
        with subprocess.Popen(["sh", "-c", loop], start_new_session=True) as other:
            try:
                yield
            finally:
                os.killpg(other.pid, signal.SIGTERM)
                other.wait()
                os.unlink(path)

    @situation("3", "the same through the page cache, beside a program that writes large blocks")
    def test_dd_beside_a_program_that_writes(self):
        """All that was dirtied was synced, so that it reached the device, in no more requests than
        the device had in all.
        """
        load = "block_size: 64KiB, read: 0%, pattern: sequential, engine: sync, operations: 9600"
        with self.writer():
            report = self.run_report(
                self.job(
                    f"name: buffered\n    run: {{workloads: [{{{load}, direct: false, "
                    "fsync: {every: 64, at_end: true}}]}",
                    size="size: 20MiB",
                )
            )
        (device,) = self.phase(report, "buffered")["devices"]
        share = device["deviceWriteBytes"] / device["engineWriteBytes"]
        self.says(f"×{share:.2f}: {device['crossCheck']['reason']}")
        if share < 1.1:
            self.skipTest("the other program got too little of the device")
        self.merged()

    @situation("3", "two dd side by side, each of 64 writes of 64 KiB past the page cache")
    def test_dd_beside_an_observed_device(self):
        """The device's counters are what iostat prints; dd names its writes."""
        paths = [f"{self.mount}/dd{number}" for number in range(2)]
        for path in paths:
            self.addCleanup(os.unlink, path)
            # Their blocks are there, so that the file system writes little else later.
            call("dd", "if=/dev/zero", f"of={path}", "bs=64K", "count=64", "conv=fsync")
        call("sync", "--file-system", self.mount)
        job = (
            "name: story\ninterval: 100ms\nphases:\n"
            f"  - {{name: your dd, observe: {{duration: 600s, devices: [{self.mount}]}}}}\n"
        )
        samples = (
            "SELECT count(*) FROM device_samples WHERE run_id = last_run() "
            f"AND device = '{self.device}'"
        )

        def await_more():
            before = int(self.fleet.sql(samples)[0][0])
            wait_for("an interval", lambda: int(self.fleet.sql(samples)[0][0]) > before + 1)

        running = self.fleet.start_lockstep("run", "-", "--format", "json", stdin=job)
        await_more()
        words = ("bs=64K", "count=64", "conv=notrunc", "oflag=direct", "status=none")
        writers = [subprocess.Popen(["dd", "if=/dev/zero", f"of={p}", *words]) for p in paths]
        self.assertEqual([writer.wait() for writer in writers], [0, 0])
        await_more()
        self.ok(self.fleet.lockstep("stop", "last", "--phase"))
        out, err = running.communicate(timeout=300)
        self.assertEqual(running.returncode, 0, err)
        (device,) = json.loads(out)["phases"][0]["devices"]
        self.assertGreaterEqual(device["deviceWriteBytes"], 8 * MIB)
        self.assertLess(device["deviceReadBytes"], MIB)
        # Beside the 128 writes there are a few of the file system, which are smaller.
        found = self.answered(
            r"your dd: 1 device on 1 host, \d+ % reads: [^;]*?writes of ([\d.]+) KiB in \S+ [µm]s; "
            rf"[\d.]+ requests in their queues; the busiest, {self.device}, for \d+ % of the time"
        )
        self.assertGreater(float(found.group(1)), 40)
        self.assertLessEqual(float(found.group(1)), 64)

    @situation("4", "3,000 writes of 1 KiB, each with a sync; reads at two sizes of an I/O")
    def test_busy_is_not_full(self):
        report = self.run_report(
            self.job(
                "name: synced\n    run: {workloads: [{block_size: 1KiB, read: 0%, engine: sync, "
                "direct: false, operations: 3000, fsync: {every: 1}}]}",
                "name: sizes\n    run: {duration: 500ms, workloads: [{queue_depth: 8}], "
                "sweep: {axes: [{field: block_size, values: [4KiB, 64KiB]}]}}",
                size="size: 2MiB",
            )
        )
        # A page of 4 KiB and the journal's blocks, for 1 KiB. Beside other programs' I/O nothing is
        # said, since the bytes may be theirs.
        synced = self.phase(report, "synced")
        (device,) = synced["devices"]
        more = (
            r"the device wrote \S+ MiB where the engines asked for 2\.93 MiB, \S+ MiB more: "
            # Beside busy neighbours the counters may be read too late for such a short load.
            "(the file system's journal and metadata|the counters are of|other programs of this)"
        )
        self.assertRegex(device["crossCheck"]["reason"], more)
        if device["crossCheck"]["verdict"] == "VERDICT_AMPLIFIED":
            # Reads beyond the load, such as metadata, are reported before it.
            self.checked("synced", "amplified", more)
        if "other programs" not in device["crossCheck"]["reason"].split("more:")[-1]:
            self.assertGreater(device["crossCheck"]["factor"], 3)
        self.busy_is_explained(report)

    def busy_is_explained(self, report):
        """The kernel's own counts say whether the device was busy, and what it moved in that time:
        beside busy neighbours it waits for the load.
        """
        phases = {phase["index"]: phase for phase in report["phases"]}
        points = []
        for size, point in zip(("4KiB", "64KiB"), report["sweeps"][0]["points"], strict=True):
            (device,) = phases[point["phases"][0]]["devices"]
            if not device.get("busyRatio"):
                self.skipTest(f"the counters have no busy time: {device.get('notRated')}")
            rate = device["readBytesPerSecond"] + device["writeBytesPerSecond"]
            points.append((rate / device["busyRatio"], rate, device["busyRatio"], size))
        most = max(points, key=lambda point: point[1])
        # A device whose "busy" were its load could never move more than this.
        limits = sorted(point for point in points if point[2] >= 0.5)
        if not limits or most[1] < 1.25 * limits[0][0]:
            self.answered(r"Whether a busy device can do more is not shown: [^.]+")
            return
        _, _, busy, size = limits[0]
        said = r"[\d.]+ [KMG]iB/s"
        because = "A device that is busy all the time can" if busy >= 0.95 else 'If "busy" were the'
        self.answered(
            rf"block_size={size}: {self.device} was busy for \d+ % of the time, at {said}; "
            rf"block_size={most[3]}: for \d+ %, at {said}\. {because}"
        )

    @situation("5", "writes with a sync after each, and without any")
    def test_small_sequential_writes(self):
        report = self.run_report(
            self.job(
                "name: writes\n    run: {duration: 300ms, workloads: [{block_size: 4KiB, "
                "read: 0%, pattern: {sequential: {shared: true}}, engine: sync, direct: false, "
                "threads: 4, fsync: {every: 1, at_end: true}}], "
                f"sweep: {{{SWEPT}, axes: [{{field: fsync.every, values: [1, 0]}}]}}}}"
            )
        )
        self.answered(rf"fsync\.every=0 reaches {NUMBER} IOPS.*?fsync\.every=1 is [\d.]+ % slower")
        found = self.answered(
            r"fsync\.every=1: the threads spent (\d+) % of their time in fsync; fsync\.every=0: "
            r"(\d+) %"
        )
        self.assertGreater(int(found.group(1)), 50)
        self.assertEqual(report["sweeps"][0]["points"][0]["limitedBy"], "fsync")
        # In a column of its own, or below the table where wide figures leave no space for it.
        self.assertRegex(self.report(), r"(?m)^ +1 .* fsync$|limited by: fsync at 1\b")

    @situation("6", "reads of /dev/zero, and of a file on the loop device")
    def test_the_tool_as_bottleneck(self):
        job = self.job(
            "{name: tool, run: {duration: 300ms, workloads: [{targets: [zero], engine: sync, "
            "block_size: 64KiB, max_iops: 1000}]}}",
            "{name: storage, run: {duration: 300ms, workloads: [{targets: [data], engine: sync, "
            "block_size: 64KiB, max_iops: 1000}]}}",
        ).replace("targets: [", "targets: [{name: zero, null: {device: zero}}, ", 1)
        self.run_report(job)
        self.answered(r"tool: no storage: these are the load generator's own figures")
        self.answered(rf"devices under the load: {self.device} of node1")
        self.not_said("storage: no storage")

    @situation("7", "a copy of 12 MiB in blocks of 1 MiB: twelve reads and twelve writes")
    def test_the_copy_is_a_check(self):
        job = f"""name: story
interval: 100ms
targets:
  - {{name: data, file: {{path: "{self.mount}/{{host}}/data", size: 12MiB}}}}
  - {{name: copied, file: {{path: "{self.mount}/{{host}}/copied", size: 12MiB}}}}
phases:
  - prepare: {{targets: [data]}}
  - name: copy
    run:
      workloads:
        - copy: {{from: data, to: copied}}
          block_size: 1MiB
          create: true
          fsync: {{at_end: true}}
  - cleanup:
"""
        phase = self.phase(self.run_report(job), "copy")
        (workload,) = phase["workloads"]
        counts = {o["kind"]: (o["operations"], o["bytes"]) for o in workload["operations"]}
        self.assertEqual(counts["read"], (12, 12 * MIB))
        self.assertEqual(counts["write"], (12, 12 * MIB))
        self.answered(rf"copy read {NUMBER} [\d.,]+ .*? write {NUMBER} [\d.,]+")
        (device,) = phase["devices"]
        for key in ("deviceReadBytes", "deviceWriteBytes"):
            self.assertGreaterEqual(device[key], 12 * MIB, key)
            self.assertLess(device[key], 14 * MIB, key)


class Threads(Screens):
    @situation("7", "16 ms for each I/O, and no more than 200 of them in a second")
    def test_how_many_threads(self):
        """Four threads could do 250."""
        job = (
            "name: story\ninterval: 100ms\ntargets: [{name: n, null: {latency: 16ms}}]\nphases:\n"
            "  - name: threads\n    run: {duration: 500ms, "
            "workloads: [{engine: 'null', max_iops: 200}],\n"
            f"      sweep: {{{SWEPT}, axes: [{{field: threads, values: [1, 2, 4, 8, 16]}}]}}}}\n"
        )
        self.run_report(job)
        # Beside busy neighbours an I/O takes longer, and more of them are needed.
        self.answered(
            r"threads=(4|8|16) reaches [\d.]+ IOPS.*?threads beyond (2|4|8) adds (nothing|at most)"
        )
