"""Observe phases: the devices' own figures beside other programs, and nothing opened or written."""

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import tempfile
import unittest

from device_jobs import call
from fleet import ROOT, Fleet, needs_root, wait_for
from loops import MIB, LoopDevice, unmount
from test_layers import disk_of

SECTOR = 512


def counted(device):
    """Bytes read and written since the device was attached, by /proc/diskstats."""
    with open("/proc/diskstats", encoding="ascii") as text:
        for line in text:
            fields = line.split()
            if fields[2] == os.path.basename(device):
                return int(fields[5]) * SECTOR, int(fields[9]) * SECTOR
    raise AssertionError(f"{device} is not in /proc/diskstats")


def job(duration="1s", more=""):
    return f"name: watch\nphases:\n  - {{name: watch, observe: {{duration: {duration}{more}}}}}\n"


def content(path):
    with open(path, "rb") as image:
        return hashlib.sha256(image.read()).hexdigest()


def mounts_at(directory):
    with open("/proc/self/mountinfo", encoding="utf-8") as table:
        return any(line.split()[4] == directory for line in table)


@contextlib.contextmanager
def mounted(device, options="rw"):
    """A file system of the device, which writes nothing by itself."""
    directory = tempfile.mkdtemp(prefix="lsobs", dir="/tmp")
    lazy = "lazy_itable_init=0,lazy_journal_init=0"
    call("mkfs.ext4", "-q", "-F", "-E", lazy, device)
    call("mount", "-o", options, device, directory)
    try:
        yield directory
    finally:
        unmount(directory)
        os.rmdir(directory)


class Base(unittest.TestCase):
    def ok(self, done, status=0):
        self.assertEqual(done.status, status, str(done))
        return done

    def setUp(self):
        directory = tempfile.mkdtemp(prefix="lsobs", dir="/tmp")
        self.addCleanup(os.rmdir, directory)
        self.device = LoopDevice(directory)
        self.device.__enter__()
        self.addCleanup(self.device.__exit__)
        self.path = self.device.path
        self.name = os.path.basename(self.path)

    def fleet(self, workers=1, **options):
        fleet = Fleet(workers, **options)
        self.addCleanup(fleet.__exit__)
        fleet.__enter__()
        return fleet

    def await_samples(self, fleet, intervals=1):
        samples = (
            "SELECT count(*) FROM device_samples WHERE run_id = last_run() AND "
            f"device = '{self.name}'"
        )
        wait_for(f"{intervals} samples", lambda: int(fleet.sql(samples)[0][0]) >= intervals)

    def await_moved(self, fleet, read=0, written=0):
        """Until the samples have so many MiB of the device."""
        moved = (
            "SELECT coalesce(sum(read_bytes), 0), coalesce(sum(write_bytes), 0) FROM "
            f"device_samples WHERE run_id = last_run() AND device = '{self.name}'"
        )

        def have_come():
            return all(
                int(have) >= MIB * wanted
                for have, wanted in zip(fleet.sql(moved)[0], (read, written), strict=True)
            )

        wait_for(f"{read} MiB read and {written} MiB written", have_come)

    def device_in(self, report):
        (found,) = [d for d in report["phases"][0]["devices"] if d["name"] == self.name]
        return found


def copy(source, target, count, *flags):
    """So many MiB, by another program."""
    words = [f"if={source}", f"of={target}", "bs=1M", f"count={count}", "status=none", *flags]
    subprocess.run(["dd", *words], check=True)


@needs_root
class BesideOthers(Base):
    def test_bytes_are_those_of_the_program_beside_it(self):
        with mounted(self.path) as directory:
            fleet = self.fleet(allow=[self.path])
            before = counted(self.path)
            running = fleet.start_lockstep(
                "run", "-", "--format", "json", stdin=job("600s", f', devices: ["{directory}"]')
            )
            self.await_samples(fleet)
            copy("/dev/zero", f"{directory}/file", 32, "oflag=direct")
            copy(f"{directory}/file", "/dev/null", 16, "iflag=direct")
            self.await_moved(fleet, read=16, written=32)
            self.ok(fleet.lockstep("stop", "last", "--phase"))
            out, err = running.communicate(timeout=300)
            self.assertEqual(running.returncode, 0, err)
            after = counted(self.path)
        report = json.loads(out)
        found = self.device_in(report)
        # Beside the two copies there is the file system's metadata, which the device counts, too.
        for key, least, all_of_it in (
            ("deviceReadBytes", 16 * MIB, after[0] - before[0]),
            ("deviceWriteBytes", 32 * MIB, after[1] - before[1]),
        ):
            self.assertGreaterEqual(found[key], least, key)
            self.assertLessEqual(found[key], all_of_it, key)
        sums = fleet.sql(
            "SELECT sum(read_bytes), sum(write_bytes) FROM device_samples WHERE "
            "run_id = last_run() AND NOT nested"
        )
        self.assertEqual(
            [float(value) for value in sums[0]],
            [found["deviceReadBytes"], found["deviceWriteBytes"]],
        )
        total = report["phases"][0]["observed"]["total"]
        self.assertEqual(total["devices"], 1)
        self.assertGreater(total["readBytesPerSecond"], 0)
        self.assertGreater(total["writeRequestBytes"], 4096)
        self.assertEqual(report["run"]["state"], "done")

    def test_a_mounted_device_is_seen_and_nothing_is_written(self):
        with mounted(self.path, "ro") as directory:
            fleet = self.fleet(allow=[self.path])
            watch = job(more=f", devices: [{self.path}]")
            before, image = counted(self.path), content(self.device.file)
            plan = self.ok(fleet.lockstep("plan", "-", stdin=watch))
            self.assertIn("opens no device and writes nothing", plan.text)
            self.assertIn(f"node1: watch observes {self.name}", plan.text)
            self.assertIn("; nothing is written to them", plan.text)
            done = self.ok(fleet.run_job(watch, "--detail"))
            self.assertIn(f"node1/{self.name}", done.text)
            self.assertTrue(mounts_at(directory))
            self.assertEqual(counted(self.path)[1], before[1])
            self.assertEqual(content(self.device.file), image)

    def test_the_stack_is_shown_as_of_a_load(self):
        disk = disk_of(os.path.dirname(self.device.file))
        with mounted(self.path) as directory:
            fleet = self.fleet(allow=[directory])
            # By --allow the disk of the workers' own directories is asked for, too, and it would
            # count in place of the loop device.
            watch = job(more=f', devices: ["{directory}"]')
            report = self.ok(fleet.run_job(watch, "--format", "json")).json()
            device = self.device_in(report)
            self.assertEqual(device["filesystems"], [f"ext4 on {directory}"])
            self.assertEqual((device["kind"], device["depth"]), ("loop", 1))
            self.assertFalse(device["nested"])
            self.assertEqual(device["underneath"], [disk] if disk else [])
            phase = report["phases"][0]
            self.assertEqual(phase["observed"]["total"]["devices"], 1)
            layers = fleet.sql("SELECT kind, device FROM device_layers WHERE run_id = last_run()")
            self.assertIn(["ext4", ""], layers)
            self.assertIn(["loop", self.name], layers)
            if disk is None:
                return
            (below,) = [d for d in phase["devices"] if d["name"] == disk]
            self.assertTrue(below["nested"])
            detail = self.ok(fleet.lockstep("report", "last", "--detail")).out
            self.assertIn(f" {disk} (", detail)

    def test_a_killed_controller_is_replaced_and_it_goes_on(self):
        fleet = self.fleet(allow=[self.path], controller_flags=["--lease", "4"])
        watch = job("600s", f", devices: [{self.path}]")
        running = fleet.start_lockstep("run", "-", "--format", "json", stdin=watch)
        self.await_samples(fleet)
        fleet.controller.send_signal(signal.SIGKILL)
        fleet.controller.wait()
        fleet.start_controller(listen=fleet.address)
        fleet.wait_attached(1)
        copy("/dev/zero", self.path, 8, "oflag=direct")
        self.await_moved(fleet, written=8)
        self.ok(fleet.lockstep("stop", "last", "--phase"))
        out, err = running.communicate(timeout=300)
        self.assertEqual(running.returncode, 0, err)
        report = json.loads(out)
        self.assertEqual((report["run"]["state"], report["run"]["degraded"]), ("done", False))
        self.assertEqual(self.device_in(report)["deviceWriteBytes"], 8 * MIB)


@needs_root
class Figures(Base):
    def test_the_job_of_the_guide_runs(self):
        with open(os.path.join(ROOT, "docs/guide/observe.md"), encoding="utf-8") as text:
            watch = text.read().split("```yaml\n")[1].split("```")[0]
        fleet = self.fleet(2, allow=[self.path])
        shorter = watch.replace("60s", "1s")
        report = self.ok(fleet.run_job(shorter, "--format", "json")).json()
        # Two workers of one kernel: its devices are sampled once.
        self.assertEqual(self.device_in(report)["hosts"], ["node1", "node2"])
        self.assertEqual(len(report["phases"][0]["observed"]["hosts"]), 1)

    def test_engine_figures_are_dashes_and_never_nought(self):
        fleet = self.fleet(allow=[self.path])
        watch = job("2s", f", devices: [{self.path}]")
        done = self.ok(fleet.run_job(watch))
        (row,) = [line for line in done.out.splitlines() if "device reads" in line]
        self.assertGreaterEqual(row.split().count("–"), 5, row)
        report = self.ok(fleet.lockstep("report", "last", "--format", "json")).json()
        (phase,) = report["phases"]
        self.assertEqual((phase["kind"], phase["state"]), ("observe", "done"))
        self.assertNotIn("total", phase)
        self.assertEqual((phase["workloads"], phase["hosts"], phase["threads"]), ([], [], []))
        for name in ("crossCheck", "engineIops", "engineReadBytes"):
            self.assertNotIn(name, self.device_in(report))
        self.assertNotIn("readAwaitMs", phase["observed"]["total"])
        self.assertNotIn("cpuNsPerIo", phase["kernels"][0])
        for view in ("phase_summary", "host_operations", "host_timeline", "phase_percentiles"):
            rows = fleet.sql(f"SELECT 1 FROM {view} WHERE run_id = last_run()")
            self.assertEqual(rows, [], view)
        self.assertEqual(
            fleet.sql(
                "SELECT DISTINCT iops IS NULL, errors IS NULL, p99_ms IS NULL, busy_ratio IS NULL "
                "FROM fleet_timeline WHERE run_id = last_run()"
            ),
            [["t", "t", "t", "f"]],
        )

    def test_comparisons_have_devices_and_trends_have_loads(self):
        fleet = self.fleet(allow=[self.path])
        both = (
            "name: both\ntargets: [{name: n, null: {latency: 1ms}}]\nphases:\n"
            "  - {name: watch, observe: {duration: 1s}}\n"
            "  - {name: load, run: {duration: 1s, workloads: [{engine: 'null', queue_depth: 4}]}}\n"
        )
        for _ in range(2):
            self.ok(fleet.run_job(both))
        listed = self.ok(fleet.lockstep("history", "--job", "both", "--format", "json")).json()
        runs = [run["runId"] for run in listed["runs"]]
        found = self.ok(fleet.lockstep("compare", *runs, "--format", "json")).json()
        self.assertEqual({figure["phase"] for figure in found["figures"]}, {"load"})
        words = ("history", "--job", "both", "--trends", "--format", "json")
        trends = self.ok(fleet.lockstep(*words)).json()["trends"]
        self.assertEqual({trend["phase"] for trend in trends}, {"load"})
        for view in ("phase_summary", "phase_time", "phase_fairness"):
            rows = fleet.sql(f"SELECT DISTINCT phase_name FROM {view}")
            self.assertLessEqual({row[0] for row in rows}, {"load"}, view)
        # Runs that only observe are compared device by device, and a gate judges none of it.
        state = "SELECT state FROM run_overview WHERE run_id = last_run()"
        for _ in range(2):
            running = fleet.start_lockstep(
                "run", "-", stdin=job("600s", f", devices: [{self.path}]")
            )
            # Runs before this one have ended.
            wait_for("the run", lambda: fleet.sql(state) == [["running"]])
            self.await_samples(fleet)
            copy("/dev/zero", self.path, 8, "oflag=direct")
            self.await_moved(fleet, written=8)
            self.ok(fleet.lockstep("stop", "last", "--phase"))
            _, err = running.communicate(timeout=300)
            self.assertEqual(running.returncode, 0, err)
        listed = self.ok(fleet.lockstep("history", "--job", "watch", "--format", "json")).json()
        watched = [run["runId"] for run in listed["runs"]]
        found = self.ok(fleet.lockstep("compare", *watched, "--format", "json")).json()
        self.assertEqual(found["figures"], [])
        (writes,) = [
            figure
            for figure in found["observed"]
            if (figure["devices"], figure["kind"], figure["figure"])
            == (2 * [self.name], "write", "requests_per_second")
        ]
        self.assertEqual((writes["phase"], writes["host"]), ("watch", "node1"))
        self.assertNotEqual(writes["identity"], "")
        for value in writes["values"]:
            self.assertEqual(value["runs"], 1)
            self.assertGreater(value["median"], 0)
        hosts = {figure["figure"] for figure in found["observed"] if not figure["devices"]}
        self.assertLessEqual({"cpu", "context_switches_per_second"}, hosts)
        self.assertIn("one run each proves nothing", found["conclusions"][0])
        for form in ("text", "markdown"):
            done = self.ok(fleet.lockstep("compare", *watched, "--format", form))
            self.assertIn("write await", done.out)
        gate = ("gate", watched[0], "--baseline", watched[1], "--max-regression", "5%")
        self.assertIn("the runs only observe", self.ok(fleet.lockstep(*gate), 5).err)
        # The cookbook puts their devices side by side.
        with open(os.path.join(ROOT, "docs/reference/sql-cookbook.md"), encoding="utf-8") as text:
            asked = text.read().split("**What did observed devices ")[1]
        query = asked.split("```sql\n")[1].split(";")[0].replace("'array-at-night'", "'watch'")
        rows = fleet.sql(query)
        own = [row[1:4] for row in rows if row[3] == self.name]
        self.assertEqual(own, 2 * [["watch", "node1", self.name]])

    def test_sql_and_exports_have_the_devices(self):
        disk = disk_of(os.path.dirname(self.device.file))
        fleet = self.fleet(allow=[self.path])
        watch = job("2s", f", devices: [{self.path}]")
        self.ok(fleet.run_job(watch))
        rows = fleet.sql(
            "SELECT host, device, busy_ratio <= 1 FROM device_statistics WHERE "
            "run_id = last_run() AND NOT nested"
        )
        self.assertEqual(rows, [["node1", self.name, "t"]])
        sampled = [[self.name], *([[disk]] if disk else [])]
        rows = fleet.sql("SELECT device FROM device_statistics WHERE run_id = last_run()")
        self.assertCountEqual(rows, sampled)
        found = fleet.sql(
            "SELECT device FROM phase_findings WHERE run_id = last_run() AND kind = 'observed'"
        )
        self.assertCountEqual(found, sampled)
        seconds = fleet.sql("SELECT count(*) FROM host_samples WHERE run_id = last_run()")
        self.assertEqual(seconds, [["2"]])
        # No target of the run lies on the device, and its identity is known all the same.
        report = self.ok(fleet.lockstep("report", "last", "--format", "json")).json()
        rows = fleet.sql(
            "SELECT DISTINCT identity FROM device_timeline WHERE run_id = last_run() AND "
            f"device = '{self.name}'"
        )
        self.assertEqual(rows, [[self.device_in(report)["identity"]]])
        self.assertNotEqual(rows, [[""]])
        csv = self.ok(fleet.lockstep("report", "last", "--format", "csv")).out
        self.assertEqual(csv.count("device read,"), len(sampled))
        self.assertIn(f",{self.name},false\n", csv.replace("\r\n", "\n"))
        markdown = self.ok(fleet.lockstep("report", "last", "--format", "markdown")).out
        self.assertIn("| device reads |", markdown)
        html = self.ok(fleet.lockstep("report", "last", "--format", "html")).out
        self.assertIn("/series?phase=0", html)
        self.assertNotIn("/latency?phase=0", html)


def load(name, workload):
    return f"  - {{name: {name}, run: {{duration: 1s, workloads: [{workload}]}}}}\n"


@needs_root
class Compared(Base):
    """With a limit that an earlier run measured on the same device."""

    def measuring(self):
        """A fleet that may write to the device."""
        flags = ["--allow-expendable", self.device.identity]
        return self.fleet(allow=[self.path], worker_flags=flags)

    def measure(self, fleet, name, workload):
        """The id of a run that puts this load on the device."""
        limit = (
            f"name: limit\nexpendable: [{self.device.identity}]\n"
            f"targets: [{{name: t, device: {{path: {self.path}}}}}]\n"
            f"phases:\n{load(name, workload)}"
        )
        report = self.ok(fleet.run_job(limit, "--format", "json")).json()
        return report["run"]["runId"]

    def observe(self, fleet, run, copied):
        """The report of a phase beside what `copied` does, and of an earlier run."""
        watch = job("600s", f", devices: [{self.path}], compare_with: {run}")
        running = fleet.start_lockstep("run", "-", "--format", "json", stdin=watch)
        # Until then the last run is the earlier one, which has samples of the device, too.
        wait_for("the run", lambda: fleet.sql("SELECT last_run()") != [[run]])
        self.await_samples(fleet)
        copied()
        self.await_moved(fleet, read=4)
        self.ok(fleet.lockstep("stop", "last", "--phase"))
        out, err = running.communicate(timeout=300)
        self.assertEqual(running.returncode, 0, err)
        return json.loads(out)

    def test_the_share_is_that_of_the_earlier_run(self):
        fleet = self.measuring()
        reads = "{block_size: 16KiB, read: 100%, queue_depth: 4}"
        run = self.measure(fleet, "reads", reads)
        report = self.observe(
            fleet, run, lambda: copy(self.path, "/dev/null", 256, "iflag=direct", "bs=16K")
        )
        # The disk underneath is sampled in both runs, and neither compared nor missed.
        (share,) = report["phases"][0]["observed"]["shares"]
        self.assertEqual(report["phases"][0]["observed"]["notMeasured"], "")
        limit = self.ok(fleet.lockstep("report", run, "--format", "json")).json()["phases"][0]
        (device,) = [d for d in limit["devices"] if d["name"] == self.name]
        self.assertAlmostEqual(
            share["limitIops"], device["readsPerSecond"] + device["writesPerSecond"]
        )
        self.assertIn("share", share, share["sentence"])
        self.assertAlmostEqual(share["share"], share["iops"] / share["limitIops"])
        self.assertEqual((share["comparedRun"], share["comparedPhase"]), (run, "reads"))
        self.assertEqual(share["latencies"], [])
        screen = " ".join(self.ok(fleet.lockstep("report", "last")).text.split())
        self.assertRegex(
            screen,
            rf"{self.name} of node1: [\d.]+ % of the [\d.,]+ ?[kM]? IOPS that this device gave on "
            rf"\d+ \w+ \d+ \(run {run[:8]}, phase reads\), if the pattern is as random",
        )
        rows = fleet.sql(
            "SELECT device, compared_run, share = iops / limit_iops FROM device_shares "
            "WHERE run_id = last_run()"
        )
        self.assertEqual(rows, [[self.name, run, "t"]])
        rows = fleet.sql(
            "SELECT count(*) FROM phase_findings WHERE run_id = last_run() AND kind = 'share'"
        )
        self.assertEqual(rows, [["1"]])
        # It is kept with the job, and outlives the run that measured it.
        self.ok(fleet.lockstep("label", run, "prune=yes"))
        self.ok(fleet.lockstep("prune", "--label", "prune=yes", "--yes"))
        kept = self.ok(fleet.lockstep("report", "last", "--format", "json")).json()
        self.assertEqual(kept["phases"][0]["observed"]["shares"], [share])

    def test_other_requests_are_refused_with_the_difference(self):
        fleet = self.measuring()
        run = self.measure(fleet, "writes", "{block_size: 4KiB, read: 0%}")
        report = self.observe(fleet, run, lambda: copy(self.path, "/dev/null", 8, "iflag=direct"))
        (share,) = report["phases"][0]["observed"]["shares"]
        self.assertNotIn("share", share)
        self.assertIn("% of the requests are reads here, 0 % there", share["sentence"])

    def test_runs_that_show_no_limit_of_the_device_are_refused(self):
        fleet = self.measuring()
        refused = self.ok(fleet.run_job(job(more=", compare_with: ffffffff")), 2)
        self.assertIn("compare_with", refused.err)
        self.ok(fleet.run_job(job()))
        refused = self.ok(fleet.run_job(job(more=", compare_with: last")), 2)
        self.assertIn("no whole run phase with load on a device", refused.err)
        run = self.measure(fleet, "held", "{block_size: 4KiB, read: 100%, max_iops: 10}")
        refused = self.ok(fleet.run_job(job(more=f", compare_with: {run}")), 2)
        self.assertIn("held to a rate", refused.err)
        run = self.measure(fleet, "reads", "{block_size: 4KiB, read: 100%}")
        directory = tempfile.mkdtemp(prefix="lsobs", dir="/tmp")
        self.addCleanup(os.rmdir, directory)
        with LoopDevice(directory) as other:
            fleet.allow = [other.path]
            fleet.start_worker("node2")
            fleet.wait_attached(2)
            elsewhere = job(more=f", compare_with: {run}").replace(
                "phases:", "hosts: {names: [node2]}\nphases:"
            )
            plan = self.ok(fleet.lockstep("plan", "-", stdin=elsewhere), 2)
            self.assertIn("which measured other devices", " ".join(str(plan).split()))
            self.ok(fleet.run_job(elsewhere), 3)


@needs_root
class Permission(Base):
    def memory(self):
        directory = tempfile.mkdtemp(prefix="lsobs", dir="/dev/shm")
        self.addCleanup(os.rmdir, directory)
        return directory

    def worker_with(self, allow, *flags):
        """A fleet whose only worker allows just this."""
        fleet = self.fleet(0)
        fleet.allow = allow
        fleet.start_worker("node1", flags=list(flags))
        fleet.wait_attached(1)
        return fleet

    def test_without_an_allowed_device_it_is_refused(self):
        directory = self.memory()
        fleet = self.worker_with([directory])
        done = self.ok(fleet.run_job(job()), 3)
        words = " ".join(done.text.split())
        self.assertIn("no mount of a server lies under what this worker's --allow names", words)
        self.assertIn(f"--allow {directory}: lies on tmpfs", done.text)
        self.assertIn("--observe all", done.text)
        plan = self.ok(fleet.lockstep("plan", "-", stdin=job()), 2)
        self.assertIn("no mount of a server lies under", " ".join(plan.err.split()))

    def test_a_job_cannot_widen_what_the_worker_shows(self):
        fleet = self.worker_with([self.memory()])
        watch = job(more=f", devices: [{self.path}]")
        done = self.ok(fleet.run_job(watch), 3)
        self.assertIn(f"{self.path}: is on {self.name}, which this worker does not", done.text)

    def test_files_beneath_allow_alone_are_looked_for(self):
        with mounted(self.path) as directory:
            fleet = self.worker_with([self.memory()], "--observe", "all")
            for name in ("lost+found", "missing"):
                watch = job(more=f', devices: ["{directory}/{name}"]')
                done = self.ok(fleet.run_job(watch), 3)
                words = " ".join(done.text.split())
                self.assertIn(f"{name}: is neither a block device nor a mount point", words)
                self.assertIn(f"name the mount point {directory}", words)
            watch = job(more=f', devices: ["{directory}"]')
            report = self.ok(fleet.run_job(watch, "--format", "json")).json()
            self.assertEqual(self.device_in(report)["hosts"], ["node1"])

    def test_observe_all_shows_devices_that_are_not_allowed(self):
        fleet = self.worker_with([self.memory()], "--observe", "all")
        report = self.ok(fleet.run_job(job(), "--format", "json")).json()
        self.assertEqual(self.device_in(report)["hosts"], ["node1"])
        # To see a device is no permission to use it.
        load = (
            f"name: load\ntargets: [{{name: t, device: {{path: {self.path}}}}}]\nphases:\n"
            "  - run: {duration: 1s, workloads: [{name: w}]}\n"
        )
        done = self.ok(fleet.run_job(load), 3)
        self.assertIn("outside of what this worker's --allow permits", done.text)

    def test_conditions_on_an_engine_are_refused(self):
        fleet = self.fleet(0)
        for more, words in (
            (", expect: {iops: 1}", "an observe phase does no I/O of its own"),
            (", workloads: [{name: w}]", "an observe phase does no I/O of its own"),
            (", abort_if: {p99: 1ms}", "cannot be a condition of an observe phase"),
            (", abort_if: {errors: 1}", "cannot be a condition of an observe phase"),
            (", devices: [sda]", "is not an absolute path"),
        ):
            with self.subTest(more):
                done = self.ok(fleet.run_job(job(more=more)), 2)
                self.assertIn(words, " ".join(done.err.split()))
        check = fleet.lockstep("check", "-", stdin=job(more=", abort_if: {device_await: 1s}"))
        self.ok(check)


if __name__ == "__main__":
    unittest.main()
