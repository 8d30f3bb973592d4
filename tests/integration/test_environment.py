"""Settings of the kernel that a phase changes: they hold, are told, and are restored however the
phase ends."""

import os
import random
import signal
import subprocess
import unittest

from device_jobs import call
from fleet import ROOT, Fleet, needs_root, stop, wait_for
from loops import LoopDevice, unmount

SCHEDULERS = ("none", "mq-deadline", "kyber", "bfq")


def queue(device, name):
    with open(f"/sys/block/{os.path.basename(device)}/queue/{name}", encoding="ascii") as text:
        value = text.read().strip()
    return value[value.index("[") + 1 : value.index("]")] if "[" in value else value


def options_of(mount):
    """Returns the options of the topmost mount there."""
    found = None
    with open("/proc/self/mountinfo", encoding="utf-8") as table:
        for line in table:
            fields = line.split()
            if fields[4] == mount:
                found = fields[5] + ";" + fields[-1]
    return found


def load(
    target, environment, run="duration: 1s", workload="block_size: 4KiB, max_iops: 500", head=""
):
    return (
        f"name: settings\nhosts: {{count: 1}}\n{head}\ntargets: [{{name: t, {target}}}]\nphases:\n"
        f"  - {{name: load, run: {{{run}, environment: {{{environment}}}, "
        f"workloads: [{{name: w, {workload}}}]}}}}\n"
    )


@needs_root
class Settings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = call("mktemp", "-d", "/tmp/lsenvXXXXXX")
        cls.addClassCleanup(os.rmdir, cls.directory)
        cls.device = LoopDevice(cls.directory)
        cls.device.__enter__()
        cls.addClassCleanup(cls.device.__exit__)
        cls.path = cls.device.path
        cls.target = f"device: {{path: {cls.path}}}"
        cls.fleet = Fleet(1, allow=[cls.path], worker_flags=["--allow-settings", cls.path])
        cls.addClassCleanup(cls.fleet.__exit__)
        cls.fleet.__enter__()

    def setUp(self):
        self.before = self.all()

    def all(self):
        names = ("scheduler", "nr_requests", "read_ahead_kb", "max_sectors_kb", "write_cache")
        return {name: queue(self.path, name) for name in names}

    def ok(self, done, status=0):
        self.assertEqual(done.status, status, str(done))
        return done

    def test_schedulers_are_a_field_to_sweep(self):
        job = load(
            self.target,
            "nr_requests: 32",
            "duration: 1s, sweep: {axes: [{field: environment.scheduler, values: "
            f"[{', '.join(SCHEDULERS)}]}}]}}",
            "block_size: 4KiB, queue_depth: 8, threads: 2, max_iops: 2000",
        )
        done = self.ok(self.fleet.run_job(job, "--detail"))
        lines = [line.split() for line in done.out.splitlines() if line.strip()]
        rows = {}
        for words in lines:
            if words[0] in SCHEDULERS:
                rows.setdefault(words[0], words)  # of the first table
        self.assertEqual(list(rows), list(SCHEDULERS))
        title = " ".join(lines[lines.index(rows["none"]) - 1])
        for word in ("MiB/s", "p99", "thread Jain"):
            self.assertIn(word, title)
        # The kernel's value during that time is in the result, and no longer in the kernel.
        rows = self.fleet.sql(
            "SELECT phase, thing, value, not_restored FROM phase_settings "
            "WHERE run_id = last_run() AND setting = 'scheduler' ORDER BY phase"
        )
        name = os.path.basename(self.path)
        self.assertEqual(rows, [[str(i), name, s, ""] for i, s in enumerate(SCHEDULERS)])
        counts = self.fleet.sql(
            "SELECT DISTINCT value FROM phase_settings "
            "WHERE run_id = last_run() AND setting = 'nr_requests'"
        )
        self.assertEqual(counts, [["32"]])
        self.assertEqual(self.all(), self.before)

    def test_every_setting_of_a_queue_holds_while_the_load_runs(self):
        wanted = {
            "scheduler": "mq-deadline",
            "nr_requests": "48",
            "read_ahead_kb": "64",
            "max_sectors_kb": "16",
            "write_cache": "write through",
        }
        job = load(
            self.target,
            "scheduler: mq-deadline, nr_requests: 48, read_ahead: 64KiB, max_sectors: 16KiB, "
            "write_cache: write_through",
            "duration: 60s",
        )
        running = self.fleet.start_lockstep("run", "-", stdin=job)
        self.fleet.await_phase("load")
        self.assertEqual(self.all(), wanted)
        self.ok(self.fleet.lockstep("stop", "last"))
        running.communicate(timeout=300)
        self.assertEqual(running.returncode, 130)
        self.assertEqual(self.all(), self.before)
        self.assertFalse(os.path.exists(f"{self.fleet.directory}/worker-node1/settings.json"))

    def test_the_plan_names_the_settings_and_changes_none(self):
        job = load(self.target, "scheduler: kyber, read_ahead: 1MiB")
        text = self.ok(self.fleet.lockstep("plan", "-", stdin=job)).text
        self.assertIn("with scheduler kyber, read-ahead 1 MiB, restored afterwards", text)
        self.assertEqual(self.all(), self.before)

    def test_what_the_host_lacks_is_refused_before_opening(self):
        for environment, message in (
            ("scheduler: round-robin", "has no scheduler round-robin: it offers none"),
            ("max_sectors: 512MiB", "is more than the device takes"),
            ("remount: [{path: /, options: noatime}]", "--allow-settings names"),
            ("remount: [{path: /nowhere, options: noatime}]", "--allow-settings names"),
        ):
            done = self.fleet.run_job(load(self.target, environment))
            self.ok(done, 3)
            self.assertIn(message, done.text)
        for environment, message in (
            ("scheduler: ../../x", "no name of an I/O scheduler"),
            ("scheduler: cfq", "write bfq"),
            ("scheduler: deadline", "write mq-deadline"),
            ("scheduler: noop", "write none"),
            ("read_ahead: 5KiB", "multiple of 4 KiB"),
            ("remount: [{path: x, options: noatime}]", "is not an absolute path"),
        ):
            done = self.fleet.run_job(load(self.target, environment))
            self.ok(done, 2)
            self.assertIn(message, done.err)
        with Fleet(1, allow=[self.path]) as stranger:
            done = self.ok(stranger.run_job(load(self.target, "scheduler: kyber")), 3)
            self.assertIn("--allow-settings names nothing", " ".join(done.out.split()))
        self.assertEqual(self.all(), self.before)

    def test_settings_return_when_the_controller_is_lost(self):
        with Fleet(1, allow=[self.path], worker_flags=["--allow-settings", self.path]) as fleet:
            process = fleet.start_lockstep(
                "run", "-", stdin=load(self.target, "scheduler: kyber", "duration: 3s")
            )
            fleet.await_phase("load")
            self.assertEqual(queue(self.path, "scheduler"), "kyber")
            stop(fleet.controller, signal.SIGKILL)
            process.kill()
            process.communicate()
            wait_for("the setting to be back", lambda: self.all() == self.before)

    def test_settings_return_after_a_kill_at_any_instant(self):
        """A campaign of fifty: the worker is killed before, while, and after it changes them."""
        chance = random.Random(13)
        journal = "settings.json"
        changed = 0
        job = load(
            self.target,
            "scheduler: kyber, nr_requests: 24, read_ahead: 64KiB, max_sectors: 32KiB",
            "duration: 100ms",
            head="interval: 100ms",
        )
        flags = ["--allow-settings", self.path]
        with Fleet(1, allow=[self.path], worker_flags=flags) as fleet:
            for _ in range(50):
                submitted = self.ok(fleet.lockstep("submit", "-", stdin=job))
                worker = fleet.workers["node1"]
                seen = f"{fleet.directory}/worker-node1/{journal}"
                run = submitted.out.strip()
                ended = f"SELECT 1 FROM runs WHERE run_id = '{run}' AND ended_at IS NOT NULL"
                # On a busy machine it may be gone before it is seen.
                wait_for(
                    "the journal, or the run's end",
                    lambda seen=seen, ended=ended: os.path.exists(seen) or fleet.sql(ended),
                )
                # Somewhere between the first change and the last one that is restored.
                for _ in range(chance.randrange(40000)):
                    os.path.exists(seen)
                worker.kill()
                worker.wait()
                changed += self.all() != self.before
                fleet.start_worker("node1")
                wait_for("the settings to be back", lambda: self.all() == self.before)
                wait_for("the journal to be gone", lambda seen=seen: not os.path.exists(seen))
                wait_for("the run's end", lambda ended=ended: fleet.sql(ended))
                # Until then the one that was killed may be attached, too.
                fleet.wait_attached(1)
        # Otherwise nothing was shown.
        self.assertGreater(changed, 5)


@needs_root
class Mounts(unittest.TestCase):
    @staticmethod
    def documented(mount):
        """The job of docs/reference/operations.md, shorter, there."""
        with open(os.path.join(ROOT, "docs/reference/operations.md"), encoding="utf-8") as text:
            job = text.read().split("```yaml\n")[1].split("```")[0]
        for old, new in (
            ("/mnt/san", mount),
            ("size: 1GiB, count: 16", "size: 256KiB, count: 2"),
            ("threads: 16", "threads: 2"),
            ("duration: 60s", "duration: 100ms"),
            ("targets:", "interval: 100ms\nhosts: {names: node2}\ntargets:"),
        ):
            assert old in job, old
            job = job.replace(old, new)
        return job

    def test_a_file_system_is_mounted_with_other_options_for_a_phase(self):
        directory = call("mktemp", "-d", "/tmp/lsenvXXXXXX")
        self.addCleanup(os.rmdir, directory)
        with LoopDevice(directory) as device:
            call("mkfs.ext4", "-q", device.path)
            mount = os.path.join(directory, "mount")
            os.mkdir(mount)
            self.addCleanup(os.rmdir, mount)
            call("mount", "-o", "noatime,commit=7", device.path, mount)
            self.addCleanup(subprocess.run, ["umount", mount], check=False)
            before = options_of(mount)
            with Fleet(1, allow=[mount], worker_flags=["--allow-settings", mount]) as fleet:
                file = f"file: {{path: '{mount}/file', size: 4MiB}}"

                def job(options, run="duration: 60s"):
                    remount = f"remount: [{{path: '{mount}', options: '{options}'}}]"
                    writes = "block_size: 4KiB, read: 0%, max_iops: 500"
                    return load(file, remount, run, writes).replace(
                        "phases:\n", "phases:\n  - prepare:\n"
                    )

                options = "strictatime,sync,nobarrier,discard,commit=1"
                running = fleet.start_lockstep("run", "-", stdin=job(options))
                fleet.await_phase("load")
                now = options_of(mount)
                for word in ("nobarrier", "discard", "commit=1", "sync"):
                    self.assertIn(word, now)
                self.assertNotIn("noatime", now)
                self.assertEqual(fleet.lockstep("stop", "last").status, 0)
                running.communicate(timeout=300)
                self.assertEqual(options_of(mount), before)
                # Two values of one axis.
                sweep = (
                    "duration: 200ms, sweep: {axes: [{field: environment.remount.0.options, "
                    "values: [barrier, nobarrier]}]}"
                )
                done = fleet.run_job("interval: 100ms\n" + job("", sweep), "--detail")
                self.assertEqual(done.status, 0, str(done))
                self.assertIn("nobarrier", done.out)
                self.assertEqual(options_of(mount), before)
                for bad in ("ro", "data=journal", "exec", "commit=x"):
                    done = fleet.run_job(job(bad))
                    self.assertEqual(done.status, 3, str(done))
                    self.assertIn("cannot be restored with certainty", " ".join(done.out.split()))
                fleet.start_worker(
                    "node2", ["--allow-settings", mount, "--allow-settings", device.path]
                )
                fleet.wait_attached(2)
                done = fleet.run_job(self.documented(mount), "--format", "json")
                self.assertEqual(done.status, 0, str(done))
                self.assertEqual(len(done.json()["sweeps"][0]["points"]), 8)
                self.assertEqual(options_of(mount), before)
                self.assertEqual(queue(device.path, "scheduler"), "none")
                # Killed in the middle: the next start restores it.
                fleet.start_lockstep("submit", "-", stdin=job("nobarrier")).communicate()
                fleet.await_phase("load")
                self.assertIn("nobarrier", options_of(mount))
                fleet.workers["node1"].kill()
                fleet.workers["node1"].wait()
                fleet.start_worker("node1")
                wait_for("the options to be back", lambda: options_of(mount) == before)


@needs_root
class SharedMounts(unittest.TestCase):
    """One file system at two mount points, of two runs, and another one that takes its place."""

    def setUp(self):
        self.directory = call("mktemp", "-d", "/tmp/lsenvXXXXXX")
        self.addCleanup(os.rmdir, self.directory)
        self.device = self.loop_device("device")
        self.mount = self.folder("mount")
        self.other = self.folder("other")
        call("mount", self.device.path, self.mount)
        call("mount", "--bind", self.mount, self.other)
        self.before = options_of(self.mount)

    def loop_device(self, name):
        folder = self.folder(name)
        device = LoopDevice(folder)
        device.__enter__()
        self.addCleanup(device.__exit__)
        call("mkfs.ext4", "-q", device.path)
        return device

    def folder(self, name):
        path = os.path.join(self.directory, name)
        os.mkdir(path)
        self.addCleanup(os.rmdir, path)
        self.addCleanup(subprocess.run, ["umount", "-q", path], check=False)
        return path

    @staticmethod
    def job(host, mount, options, duration):
        writes = "block_size: 4KiB, read: 0%, max_iops: 500"
        job = load(
            f"file: {{path: '{mount}/{host}', size: 4MiB}}",
            f"remount: [{{path: '{mount}', options: '{options}'}}]",
            f"duration: {duration}",
            writes,
        )
        job = job.replace("hosts: {count: 1}", f"hosts: {{names: {host}}}")
        return job.replace("phases:\n", "phases:\n  - prepare:\n")

    def flags(self):
        return ["--allow-settings", self.mount, "--allow-settings", self.other]

    def test_a_run_on_the_other_mount_point_waits(self):
        with Fleet(2, allow=[self.mount, self.other], worker_flags=self.flags()) as fleet:
            for options in ("barrier", "nobarrier"):
                first = fleet.lockstep(
                    "submit", "-", stdin=self.job("node1", self.mount, "nobarrier", "60s")
                ).out.strip()
                fleet.await_phase("load")
                second = fleet.lockstep(
                    "submit", "-", stdin=self.job("node2", self.other, options, "1s")
                ).out.split()[0]
                text = f"run {second} waits until {first} or its lost"
                wait_for("it to wait", lambda text=text: text in fleet.log("controller"))
                self.assertIn("nobarrier", options_of(self.mount))
                self.assertEqual(fleet.lockstep("stop", first).status, 0)
                ended = f"SELECT state FROM runs WHERE run_id = '{second}' AND ended_at IS NOT NULL"
                wait_for("its end", lambda ended=ended: fleet.sql(ended))
                self.assertEqual(fleet.sql(ended), [["done"]])
                self.assertEqual(options_of(self.mount), self.before)
                rows = fleet.sql(
                    f"SELECT replace(before, ',', '+'), not_restored FROM phase_settings "
                    f"WHERE run_id = '{second}'"
                )
                self.assertEqual(rows, [[self.before.replace(",", "+"), ""]])

    def test_what_is_mounted_there_since_a_kill_is_left_alone(self):
        usurper = self.loop_device("usurper")
        unmount(self.other)
        with Fleet(1, allow=[self.mount], worker_flags=self.flags()) as fleet:
            job = self.job("node1", self.mount, "nobarrier", "60s")
            self.assertEqual(fleet.lockstep("submit", "-", stdin=job).status, 0)
            fleet.await_phase("load")
            self.assertIn("nobarrier", options_of(self.mount))
            fleet.workers["node1"].kill()
            fleet.workers["node1"].wait()
            unmount(self.mount)
            call("mount", "-o", "noatime,commit=77", usurper.path, self.mount)
            theirs = options_of(self.mount)
            fleet.start_worker("node1")
            wait_for("its word", lambda: "is not restored to" in fleet.log("node1"))
            self.assertEqual(options_of(self.mount), theirs)

    def test_a_file_system_that_is_covered_in_the_phase_is_restored(self):
        usurper = self.loop_device("usurper")
        unmount(self.other)
        with Fleet(1, allow=[self.mount], worker_flags=self.flags()) as fleet:
            job = self.job("node1", self.mount, "nobarrier", "60s")
            running = fleet.start_lockstep("run", "-", stdin=job)
            fleet.await_phase("load")
            call("mount", "-o", "noatime,nobarrier", usurper.path, self.mount)
            theirs = options_of(self.mount)
            self.assertEqual(fleet.lockstep("stop", "last").status, 0)
            running.communicate(timeout=300)
            self.assertEqual(options_of(self.mount), theirs)
            unmount(self.mount)
            self.assertEqual(options_of(self.mount), self.before)
