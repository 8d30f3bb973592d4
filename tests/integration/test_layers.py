"""Storage in layers: btrfs on loop devices and overlays, for real. tests/worker/host/layers_test.cc
has LVM, md, dm-crypt and multipath as sysfs shows them."""

import contextlib
import os
import unittest

from device_jobs import call
from fleet import Fleet, needs_root, wait_for
from loops import MIB, LoopDevice, unmount
from test_environment import queue

SIZE = 256 * MIB  # btrfs takes no much smaller device


def job(mount, environment="", duration="1s", host="node1"):
    settings = f"environment: {{{environment}}}, " if environment else ""
    return f"""name: layers
hosts: {{names: {host}}}
targets: [{{name: f, file: {{path: "{mount}/{{host}}/file", size: 16MiB}}}}]
phases:
  - prepare:
  - name: load
    run: {{duration: {duration}, {settings}workloads: [
      {{name: w, block_size: 4KiB, read: 100%, queue_depth: 4, max_iops: 500}}]}}
  - cleanup:
"""


def disk_of(path):
    """The name of the disk that a directory lies on; None where the kernel names none."""
    number = os.stat(path).st_dev
    folder = os.path.realpath(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if not os.path.isdir(folder):
        return None
    whole = os.path.dirname(folder) if os.path.exists(f"{folder}/partition") else folder
    return os.path.basename(whole)


@needs_root
class Stacks(unittest.TestCase):
    def setUp(self):
        self.directory = call("mktemp", "-d", "/tmp/lslayersXXXXXX")
        self.addCleanup(call, "rm", "-rf", "--one-file-system", self.directory)

    def folder(self, name):
        path = os.path.join(self.directory, name)
        os.makedirs(path)
        return path

    @contextlib.contextmanager
    def mounted(self, name, *words):
        path = self.folder(name)
        call("mount", *words, path)
        try:
            yield path
        finally:
            unmount(path)

    @contextlib.contextmanager
    def two_disks_of_btrfs(self):
        with (
            LoopDevice(self.folder("one"), SIZE) as one,
            LoopDevice(self.folder("two"), SIZE) as two,
        ):
            call("mkfs.btrfs", "-q", "-f", "-d", "raid0", "-m", "raid1", one.path, two.path)
            options = f"device={one.path},device={two.path}"
            with self.mounted("mount", "-t", "btrfs", "-o", options, one.path) as mount:
                yield mount, one, two

    def load_of(self, fleet, mount):
        """The devices of the phase with load, by name, of a job that warned of no memory."""
        plan = fleet.lockstep("plan", "-", stdin=job(mount))
        self.assertEqual(plan.status, 0, str(plan))
        self.assertNotIn("memory or a network", plan.text)
        done = fleet.run_job(job(mount), "--format", "json")
        self.assertEqual(done.status, 0, str(done))
        (phase,) = [phase for phase in done.json()["phases"] if phase["name"] == "load"]
        self.assertNotIn("memory or a network", " ".join(phase["remarks"]))
        return {device["name"]: device for device in phase["devices"]}

    def test_btrfs_on_a_loop_device_has_its_figures(self):
        with LoopDevice(self.folder("one"), SIZE) as device:
            call("losetup", "--direct-io=on", device.path)
            call("mkfs.btrfs", "-q", "-f", device.path)
            name = os.path.basename(device.path)
            with (
                self.mounted("mount", "-t", "btrfs", device.path) as mount,
                Fleet(1, allow=[mount]) as fleet,
            ):
                devices = self.load_of(fleet, mount)
                loop = devices[name]
                self.assertEqual(loop["filesystems"], [f"btrfs on {mount}"])
                self.assertEqual((loop["kind"], loop["depth"], loop["nested"]), ("loop", 1, False))
                self.assertGreater(loop["readsPerSecond"], 0)
                self.assertGreater(loop["engineReadBytes"], 0)
                self.assertIn("crossCheck", loop)
                self.assert_has_disk_below(fleet, devices, loop)
                kinds = fleet.sql(
                    "SELECT kind, device FROM device_layers WHERE run_id = last_run() "
                    "ORDER BY layer DESC LIMIT 2"
                )
                self.assertEqual(kinds, [["btrfs", ""], ["loop", name]])

    def assert_has_disk_below(self, fleet, devices, loop):
        """The disk of the loop device's file, if it has one, is sampled and in no sum."""
        disk = disk_of(self.directory)
        if disk is None:
            self.assertEqual(loop["underneath"], [])
            return
        self.assertEqual(loop["underneath"], [disk])
        below = devices[disk]
        self.assertTrue(below["nested"])
        self.assertNotIn("crossCheck", below)
        self.assertGreater(below["depth"], loop["depth"])
        self.assertIn("node1", below["hosts"])
        detail = fleet.lockstep("report", "last", "--detail").out
        self.assertIn(f"\n      {loop['filesystems'][0]}", detail)
        self.assertIn(f" {disk} (", detail)
        sums = fleet.sql(
            "SELECT nested, count(*) FROM device_statistics WHERE run_id = last_run() AND "
            f"phase_name = 'load' AND device IN ('{disk}', '{loop['name']}') GROUP BY 1 ORDER BY 1"
        )
        self.assertEqual(sums, [["f", "1"], ["t", "1"]])

    def test_an_overlay_has_the_devices_of_its_directories(self):
        with LoopDevice(self.folder("one"), SIZE) as device:
            call("mkfs.ext4", "-q", device.path)
            with self.mounted("base", device.path) as base:
                for name in ("upper", "work", "lower"):
                    os.mkdir(os.path.join(base, name))
                options = f"lowerdir={base}/lower,upperdir={base}/upper,workdir={base}/work"
                with (
                    self.mounted("merged", "-t", "overlay", "overlay", "-o", options) as merged,
                    Fleet(1, allow=[merged]) as fleet,
                ):
                    loop = self.load_of(fleet, merged)[os.path.basename(device.path)]
                    self.assertEqual(
                        loop["filesystems"], [f"overlay on {merged}", f"ext4 on {base}"]
                    )
                    self.assertEqual(loop["depth"], 2)
                    self.assertGreater(loop["readsPerSecond"], 0)

    def test_settings_are_refused_with_the_name_of_the_device(self):
        with self.two_disks_of_btrfs() as (mount, one, two):
            before = queue(one.path, "scheduler")
            with Fleet(1, allow=[mount], worker_flags=["--allow-settings", one.path]) as fleet:
                done = fleet.run_job(job(mount, "scheduler: kyber"))
                self.assertEqual(done.status, 3, str(done))
                text = " ".join(done.out.split())
                self.assertIn(f"settings of {two.path} may not be changed by jobs", text)
                self.assertIn(f"--allow-settings names {one.path}", text)
                done = fleet.run_job(job(mount, "read_ahead: 64KiB"))
                self.assertEqual(done.status, 3, str(done))
                self.assertIn("btrfs keeps a read-ahead of its own", " ".join(done.out.split()))
            self.assertEqual(queue(one.path, "scheduler"), before)

    def test_settings_hold_on_all_disks_and_belong_to_one_run(self):
        with self.two_disks_of_btrfs() as (mount, *disks):
            paths = [disk.path for disk in disks]
            before = [queue(path, "scheduler") for path in paths]
            flags = [word for path in paths for word in ("--allow-settings", path)]
            with Fleet(2, allow=[mount], worker_flags=flags) as fleet:
                first = fleet.lockstep("submit", "-", stdin=job(mount, "scheduler: kyber", "60s"))
                self.assertEqual(first.status, 0, str(first))
                fleet.await_phase("load")
                self.assertEqual([queue(path, "scheduler") for path in paths], ["kyber", "kyber"])
                # Its files are others, on another worker. The devices are the same.
                other = job(mount, "scheduler: mq-deadline", host="node2")
                second = fleet.lockstep("submit", "-", stdin=other)
                self.assertEqual(second.status, 0, str(second))
                self.assertEqual(fleet.lockstep("stop", first.out.strip()).status, 0)
                run = second.out.strip()
                wait_for(
                    "the second run's end",
                    lambda: fleet.sql(
                        f"SELECT 1 FROM runs WHERE run_id = '{run}' AND ended_at IS NOT NULL"
                    ),
                )
                rows = fleet.sql(
                    "SELECT b.state, a.ended_at <= b.started_at FROM runs a, runs b WHERE "
                    f"a.run_id = '{first.out.strip()}' AND b.run_id = '{run}'"
                )
                self.assertEqual(rows, [["done", "t"]])
                self.assertEqual([queue(path, "scheduler") for path in paths], before)
