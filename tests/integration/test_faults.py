"""Devices that fail for real: a FUSE file system that returns errors, short transfers, lies, hangs
and goes away.
"""

import contextlib
import glob
import os
import re
import subprocess

from fleet import ROOT, FleetTest, needs_root, stop, wait_for

FAULTFS = os.path.join(ROOT, "bazel-bin/tests/faults/faultfs")


# Longer than any test takes: a load ends when its test ends it, or by its fault.
UNTIL_ENDED = "600s"


def job(point, workload, extra="", drain="5s", tail=""):
    return f"""name: faults
deadlines: {{drain: {drain}}}
targets: [{{name: data, file: {{path: "{point}/file", size: 4MiB}}}}]
phases:
  - prepare:
  - name: load
    run: {{duration: {UNTIL_ENDED}, workloads: [{{max_iops: 1000, {workload}}}]{extra}}}
{tail}"""


@needs_root
class Faults(FleetTest):
    workers = 0
    # Each test waits until the worker of the one before is forgotten.
    fleet_options = {"controller_flags": ["--lease", "4"]}

    def gone(self):
        """Workers that were forgotten so far: the log costs less than to ask for the status."""
        return self.fleet.log("controller").count(" is lost: ")

    def setUp(self):
        self.gone_before = self.gone()
        self.point = os.path.join(self.fleet.directory, "mnt" + self.id().rsplit(".", 1)[1][:40])
        os.mkdir(self.point)
        self.process = subprocess.Popen([FAULTFS, "-f", self.point], stderr=subprocess.DEVNULL)
        self.addCleanup(self.unmount)
        wait_for("the file system to be mounted", lambda: os.path.ismount(self.point))
        self.fleet.allow = [self.point]
        self.worker = self.fleet.start_worker(self.id().rsplit(".", 1)[1])
        self.addCleanup(stop, self.worker, 9)
        self.fleet.wait_attached(1)

    def tearDown(self):
        # Before the worker is stopped: a process that hangs in a system call cannot be killed.
        if self.process.poll() is None and os.path.ismount(self.point):
            with contextlib.suppress(OSError):  # it went away, as the test wanted
                self.fault("")

    def unmount(self):
        subprocess.run(["umount", "-l", self.point], check=False)
        stop(self.process, 9)
        wait_for("a worker to be gone", lambda: self.gone() > self.gone_before)
        wait_for(
            "the worker to be forgotten",
            lambda: not self.fleet.lockstep("status", "--format", "json").json()["workers"],
        )

    def fault(self, text):
        with open(self.point + "/.fault", "w", encoding="ascii") as out:
            out.write(text + "\n")

    def run_faulty(self, text, fault, status, ends_itself=False):
        """Runs the job; the fault begins during the load, which is ended an interval later unless
        the fault ends it.
        """
        running = self.fleet.start_lockstep("run", "-", "--format", "json", stdin=text)
        self.fleet.await_phase("load")
        self.fault(fault)
        if not ends_itself:
            self.ok(self.fleet.lockstep("stop", "--phase"))
        out, err = running.communicate(timeout=300)
        self.assertEqual(running.returncode, status, out + err)
        return self.fleet.lockstep("report", "--format", "json").json()

    def load_of(self, report):
        return next(phase for phase in report["phases"] if phase["name"] == "load")

    def test_errors_of_the_medium_are_counted_and_named(self):
        load = self.load_of(
            self.run_faulty(
                job(self.point, "block_size: 4KiB, queue_depth: 4, error_limit: 10000000"),
                "read EIO 200",
                0,
            )
        )
        self.assertEqual(load["state"], "done")
        self.assertGreater(load["total"]["errors"], 0)
        self.assertIn("Input/output error", load["workloads"][0]["errors"][0])
        self.assertIn(f"of {self.point}/file", load["workloads"][0]["errors"][0])
        self.assertIn("read of 4096 bytes at offset", load["workloads"][0]["errors"][0])

    def test_beyond_the_error_limit_the_phase_stops(self):
        report = self.run_faulty(
            job(self.point, "block_size: 4KiB, error_limit: 10"), "read EIO", 3, True
        )
        self.assertIn("10 failed I/Os, the workload's error_limit", report["run"]["outcome"])
        self.assertEqual(self.load_of(report)["total"]["errors"], 10)

    def test_no_space_stops_the_phase_and_says_where(self):
        report = self.run_faulty(
            job(self.point, "block_size: 4KiB, read: 0%"), "write ENOSPC 100", 3, True
        )
        self.assertIn("No space left on device", report["run"]["outcome"])
        self.assertIn("write of 4096 bytes at offset", report["run"]["outcome"])

    def test_what_the_kernel_asks_to_repeat_is_repeated(self):
        load = self.load_of(
            self.run_faulty(job(self.point, "block_size: 4KiB, engine: sync"), "read EINTR 50", 0)
        )
        self.assertEqual(load["total"]["errors"], 0)
        self.assertGreater(load["workloads"][0]["retries"], 0)

    def test_short_reads_are_counted_as_such(self):
        load = self.load_of(
            self.run_faulty(job(self.point, "block_size: 8KiB"), "read short 100", 0)
        )
        self.assertGreater(load["total"]["shortTransfers"], 0)
        self.assertIn("short, 4096 bytes", load["workloads"][0]["errors"][0])
        self.assertTrue(any("moved fewer bytes" in remark for remark in load["remarks"]))

    def test_a_failed_fsync_is_an_error_of_its_own_kind(self):
        load = self.load_of(
            self.run_faulty(
                job(
                    self.point,
                    "block_size: 4KiB, read: 0%, fsync: {every: 10}, error_limit: 10000000",
                ),
                "fsync EIO 5",
                0,
            )
        )
        kinds = {operation["kind"]: operation for operation in load["workloads"][0]["operations"]}
        self.assertGreater(kinds["fsync"]["errors"], 0)
        self.assertEqual(kinds["write"]["errors"], 0)

    def hang(self, engine):
        running = self.fleet.start_lockstep(
            "run",
            "-",
            "--detail",
            stdin=job(self.point, f"block_size: 4KiB, engine: {engine}, stuck_after: 300ms"),
        )
        self.fleet.await_phase("load")
        self.fault("read hang")
        stuck = "SELECT message FROM events WHERE run_id = last_run() AND message LIKE '%STUCK%'"
        wait_for("the stuck I/O to be reported", lambda: self.fleet.sql(stuck))
        self.assertIsNone(running.poll())  # while it is stuck
        self.assertIn(f"of {self.point}/file is in flight for", self.fleet.sql(stuck)[0][0])
        self.fault("")
        back = "SELECT 1 FROM events WHERE run_id = last_run() AND message LIKE '%has come back%'"
        wait_for("its return to be reported", lambda: self.fleet.sql(back))
        self.ok(self.fleet.lockstep("stop"))
        out, err = running.communicate(timeout=300)
        self.assertIn("4 KiB reads", out, err)

    def test_stuck_io_is_reported_while_it_is_stuck(self):
        self.hang("io_uring")

    def test_a_system_call_that_hangs_is_reported_while_it_hangs(self):
        self.hang("sync")

    def test_io_that_never_returns_fails_the_phase_only(self):
        for engine in ("io_uring", "sync"):
            with self.subTest(engine=engine):
                self.fault("")
                report = self.run_faulty(
                    job(
                        self.point,
                        f"block_size: 4KiB, engine: {engine}, queue_depth: "
                        f"{1 if engine == 'sync' else 4}",
                        drain="1s",
                    ),
                    "read hang",
                    3,
                )
                self.assertRegex(
                    report["run"]["outcome"],
                    "did not complete within the drain deadline|hangs in an I/O",
                )
                self.assertIn(f"{self.point}/file", report["run"]["outcome"])
                self.assertIsNone(self.worker.poll())
                self.assertEqual(
                    len(self.fleet.lockstep("status", "--format", "json").json()["workers"]), 1
                )

    def test_a_target_that_goes_away_stops_the_phase(self):
        running = self.fleet.start_lockstep("run", "-", stdin=job(self.point, "block_size: 4KiB"))
        self.fleet.await_phase("load")
        connection = os.stat(self.point).st_dev
        control = f"/sys/fs/fuse/connections/{os.minor(connection)}/abort"
        if not os.path.exists(control):
            stop(self.process, 9)  # its death has the same effect
        else:
            with open(control, "w", encoding="ascii") as out:
                out.write("1")
        out, err = running.communicate(timeout=300)
        self.assertEqual(running.returncode, 3, out + err)
        self.assertRegex(
            self.fleet.lockstep("report").text,
            "Software caused connection abort|endpoint is not connected|Input/output error",
        )

    def test_lies_are_found_by_verification_and_both_blocks_saved(self):
        text = job(self.point, "block_size: 4KiB, read: 50%, verify: true")
        load = self.load_of(self.run_faulty(text, "read flip 20", 6))
        found = load["workloads"][0]["verification"]
        self.assertGreater(found["checked"], 0)
        self.assertGreater(found["mismatches"], 0)
        self.assertIn("corrupt", found["byVerdict"])
        self.assertTrue(any("VERIFICATION FAILED" in remark for remark in load["remarks"]))
        saved = glob.glob(
            os.path.join(
                self.fleet.directory,
                "worker-" + self.id().rsplit(".", 1)[1],
                "mismatches",
                "*",
                "*",
            )
        )
        expected = sorted(name for name in saved if name.endswith(".expected"))
        self.assertTrue(expected)
        with (
            open(expected[0], "rb") as a,
            open(expected[0].replace(".expected", ".found"), "rb") as b,
        ):
            one, other = a.read(), b.read()
        differing = [i for i in range(112, 4096) if one[i] != other[i]]
        self.assertEqual(differing, [2048])

    def test_a_forgotten_write_is_found_stale_by_the_verify_phase(self):
        text = job(self.point, "block_size: 4KiB, read: 0%, verify: true", tail="  - verify:\n")
        report = self.run_faulty(text, "write drop 100", 6)
        verify = next(phase for phase in report["phases"] if phase["kind"] == "verify")
        found = verify["workloads"][0]["verification"]
        self.assertEqual(found["checked"] + found["notCheckable"], 1024)
        self.assertGreater(found["mismatches"], 0)
        self.assertRegex(found["byVerdict"], "stale|corrupt")
        rows = self.fleet.sql(
            "SELECT checked, stale + corrupt FROM verification WHERE run_id = "
            "last_run() AND phase = 2"
        )
        self.assertEqual(int(rows[0][1]), int(found["mismatches"]))

    def lies(self):
        """Returns the offsets and the kinds of the file system's lies."""
        with open(self.point + "/.lies", encoding="ascii") as text:
            return [(line.split()[0], int(line.split()[1])) for line in text]

    def test_a_host_that_reads_beside_a_writer_finds_lost_writes(self):
        other = self.fleet.start_worker("reader" + self.id().rsplit(".", 1)[1])
        self.addCleanup(stop, other, 9)
        self.fleet.wait_attached(2)
        # One host writes all of it twice and stops; all read it all the time, until long after each
        # of them knows what was written.
        for fault, passes in (("write drop 317", 2), ("write swap 317", 2), ("", 1000000)):
            with self.subTest(fault):
                self.fault("")
                lied_before = len(self.lies())
                name = "beside-" + (fault.replace(" ", "-") or "honest")
                self.fault(fault)
                text = (
                    "name: beside\nhosts: {count: 2}\n"
                    f"targets: [{{name: data, file: {{path: '{self.point}/{name}', size: 4MiB}}, "
                    "sharing: owned}]\nphases:\n  - prepare:\n"
                    "  - {name: load, run: {duration: 6s, workloads: ["
                    "{name: writer, block_size: 4KiB, read: 0%, pattern: shuffled, verify: true, "
                    f"max_iops: 1500, passes: {passes}, hosts: {{count: 1}}}}, {{name: readers, "
                    "block_size: 4KiB, pattern: random, max_iops: 2000, verify: true}]}}\n"
                )
                done = self.fleet.run_job(text, "--format", "json")
                self.fault("")
                told = {offset for _, offset in self.lies()[lied_before:]}
                load = next(p for p in done.json()["phases"] if p["name"] == "load")
                check = load["workloads"][1]["verification"]
                self.assertGreater(check["checked"], 0, str(check))
                rows = self.fleet.sql(
                    "SELECT host, checked FROM verification WHERE run_id = last_run() AND "
                    "workload = 'readers' AND checked > 0"
                )
                self.assertEqual(len(rows), 2, "each host knows enough to check something")
                if not fault:
                    self.assertEqual((done.status, check["mismatches"]), (0, 0), str(check))
                    continue
                self.assertEqual(done.status, 6)
                self.assertTrue(told)
                writer, reader = sorted(
                    w["hello"]["host"]["name"]
                    for w in self.fleet.lockstep("status", "--format", "json").json()["workers"]
                )
                others = [d for d in check["details"] if d.startswith(reader)]
                self.assertTrue(others, check)
                for detail in check["details"]:
                    offset = int(re.search(r"at offset (\d+) of", detail).group(1))
                    self.assertIn(offset, told, detail)
                for detail in others:
                    # The missing write, its writer, and its time.
                    self.assertRegex(
                        detail,
                        rf"generation [12] or newer.*; worker 0 \({writer}\) wrote that in phase 1 "
                        r"between 2\d{3}-\S+Z and 2\d{3}-\S+Z by its clock",
                    )

    def test_every_lie_is_found_by_the_other_host_with_its_writer(self):
        block = 4096
        other = self.fleet.start_worker("reader" + self.id().rsplit(".", 1)[1])
        self.addCleanup(stop, other, 9)
        self.fleet.wait_attached(2)
        for fault, passes in (
            ("write drop 317", 1),
            ("write tear 317", 1),
            ("write misdirect 317", 1),
            ("write swap 317", 1),
            ("read old 317", 2),
            ("", 2),
        ):
            with self.subTest(fault):
                self.fault("")
                lied_before = len(self.lies())
                name = fault.replace(" ", "-") or "honest"
                self.fault(fault)
                text = (
                    "name: lies\nhosts: {count: 2}\n"
                    f"targets: [{{name: data, file: {{path: '{self.point}/{name}', size: 8MiB}}, "
                    "sharing: sliced}]\nphases:\n  - prepare:\n"
                    "  - run: {workloads: [{block_size: 4KiB, read: 0%, pattern: shuffled, "
                    f"passes: {passes}, verify: true}}]}}\n"
                    "  - verify: {readers: ring}\n"
                )
                done = self.fleet.run_job(text, "--format", "json")
                self.fault("")
                lies = self.lies()[lied_before:]
                report = done.json()
                check = next(p for p in report["phases"] if p["kind"] == "verify")
                check = check["workloads"][0]["verification"]
                self.assertEqual(check["checked"], 2048, str(check))
                if not fault:
                    self.assertEqual((done.status, lies, check["mismatches"]), (0, [], 0))
                    continue
                self.assertEqual(done.status, 6, str(done))
                self.assertTrue(lies)
                found = {}
                for detail in check["details"]:
                    host, offset = re.match(r"(\S+): [\w ]+ at offset (\d+) of", detail).groups()
                    found[int(offset)] = (host, detail)
                self.assertEqual(len(found), check["mismatches"], check)
                told = {offset for _, offset in lies}
                self.assertLessEqual(told, set(found), check)
                for offset, (host, detail) in found.items():
                    # A block that went astray may have hit its neighbour; nothing else is told.
                    near = {offset, offset - block} if "misdirect" in fault else {offset}
                    self.assertTrue(near & told, detail)
                    # Each half is written by one and read by the other one, and both are named.
                    half = offset // (4 << 20)
                    writers = sorted(
                        w["hello"]["host"]["name"]
                        for w in self.fleet.lockstep("status", "--format", "json").json()["workers"]
                    )
                    self.assertEqual(host, writers[1 - half], detail)
                    self.assertIn(f", by {writers[half]};", detail)
                    self.assertRegex(detail, rf"\({writers[half]}\) wrote that in phase 1 between ")
