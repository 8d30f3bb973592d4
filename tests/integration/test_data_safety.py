"""Attempts to destroy somebody's data with Lockstep, as they once succeeded: refused, or harmless,
and the bytes are as they were.
"""

import os
import subprocess
import unittest

import pytest
from device_jobs import call, device_job, digest
from fleet import BIN, Fleet, needs_root, wait_for
from loops import MIB, LoopDevice, attach, detach, unmount
from opened import Opened


def long_write(path, name="write", duration="300s", extra=""):
    return f"""name: {name}
hosts: {{count: 1}}
{extra}
targets: [{{name: disk, device: {{path: {path}}}}}]
phases:
  - name: load
    run:
      duration: {duration}
      workloads: [{{block_size: 64KiB, read: 0%, queue_depth: 4, max_iops: 500}}]
"""


def end_load(fleet, running):
    """Ends the phase that runs; returns the run's status and report, once it has ended."""
    wait_for(
        "the load to be ended",
        lambda: fleet.lockstep("stop", "last", "--phase").status == 0,
    )
    out, _ = running.communicate(timeout=300)
    return running.returncode, " ".join(out.split())


# Workers of other tests ask every loop device for its file before they write one.
@needs_root
@pytest.mark.alone
class NeverOpened(unittest.TestCase):
    def setUp(self):
        self.directory = call("mktemp", "-d", "/tmp/lssafeXXXXXX")
        self.addCleanup(lambda: os.rmdir(self.directory))

    def test_a_device_that_is_not_allowed_is_never_opened(self):
        with LoopDevice(self.directory) as device, Opened(device.path) as opened:
            opened.times()
            with Fleet(1) as fleet:
                listed = fleet.lockstep("devices")
                self.assertIn(os.path.basename(device.path), listed.out)
                done = fleet.lockstep("plan", "-", stdin=device_job(device.path, read=100))
                self.assertEqual(done.status, 2, str(done))
            self.assertEqual(opened.times(), 0)


@needs_root
class Devices(unittest.TestCase):
    def setUp(self):
        self.directory = call("mktemp", "-d", "/tmp/lssafeXXXXXX")
        self.addCleanup(lambda: os.rmdir(self.directory))

    def stranger(self):
        """Somebody else's image, and its digest."""
        path = os.path.join(self.directory, "stranger.img")
        with open(path, "wb") as out:
            out.write(os.urandom(MIB) * 64)
        self.addCleanup(os.unlink, path)
        return path, digest(path)

    def test_a_device_that_is_written_belongs_to_nobody_else(self):
        with LoopDevice(self.directory) as device:
            call("mkfs.ext4", "-q", device.path)
            identity = device.identity
            mount = os.path.join(self.directory, "mount")
            os.mkdir(mount)
            self.addCleanup(os.rmdir, mount)
            with Fleet(
                1, allow=[device.path], worker_flags=["--allow-expendable", identity]
            ) as fleet:
                running = fleet.start_lockstep(
                    "run", "-", stdin=long_write(device.path, extra=f"expendable: ['{identity}']")
                )
                fleet.await_phase("load")
                made = subprocess.run(
                    ["mkfs.ext4", "-q", "-F", device.path],
                    capture_output=True,
                    text=True,
                    check=False,
                )
                self.assertNotEqual(made.returncode, 0, "mkfs made a file system under the load")
                with self.assertRaisesRegex(OSError, "busy"):
                    os.open(device.path, os.O_RDWR | os.O_EXCL)
                mounted = subprocess.run(
                    ["mount", "-t", "ext4", device.path, mount],
                    capture_output=True,
                    text=True,
                    check=False,
                )
                if mounted.returncode == 0:
                    unmount(mount)
                self.assertNotEqual(mounted.returncode, 0, "the device was mounted under the load")
                self.assertEqual(fleet.lockstep("stop", "last").status, 0)
                running.communicate(timeout=300)
                # After the drain it is anybody's again.
                os.close(os.open(device.path, os.O_RDWR | os.O_EXCL))

    def between(self, change, expendable=""):
        """Runs a job that writes a device, reads it, and writes it again; calls `change` while it
        reads. Returns the run's outcome, and whether the device is as it was then.
        """
        with LoopDevice(self.directory) as device:
            flags = ["--allow-expendable", device.identity] if expendable else []
            with Fleet(1, allow=[device.path], worker_flags=flags) as fleet:
                write = "run: {workloads: [{block_size: 64KiB, read: 0%, passes: 1}]}"
                job = (
                    "name: between\nhosts: {count: 1}\nstore_filesystem: true\n"
                    f"expendable: [{device.identity if expendable else ''}]\n"
                    f"targets: [{{name: d, device: {{path: {device.path}}}}}]\nphases:\n"
                    f"  - {{name: first, {write}}}\n"
                    "  - {name: second, run: {duration: 10m, "
                    "workloads: [{block_size: 4KiB, read: 100%, max_iops: 50}]}}\n"
                    f"  - {{name: third, {write}}}\n"
                )
                running = fleet.start_lockstep("run", "-", stdin=job)
                fleet.await_phase("second")
                change(fleet, device)
                os.sync()
                before = digest(device.file)
                status, text = end_load(fleet, running)
                return status, text, digest(device.file) == before

    def test_data_that_comes_between_phases_is_not_the_runs(self):
        def raw_data(_, device):
            with open(device.path, "r+b") as disk:
                disk.seek(64 * MIB - 8192)
                disk.write(os.urandom(4096))

        def a_file_system(_, device):
            call("mkfs.ext4", "-q", "-F", device.path)

        for change, expendable in ((raw_data, ""), (a_file_system, "yes"), (raw_data, "yes")):
            with self.subTest(change.__name__, expendable=expendable):
                status, text, is_same = self.between(change, expendable)
                self.assertEqual(status, 3, text)
                self.assertIn("no longer holds what this run's last phase left there", text)
                self.assertTrue(is_same)

    def test_what_comes_onto_a_blank_device_that_is_expendable(self):
        """It was blank when the run was admitted: nobody had to confirm anything."""
        with LoopDevice(self.directory) as device:
            flags = ["--allow-expendable", device.identity]
            with Fleet(1, allow=[device.path], worker_flags=flags) as fleet:
                job = (
                    "name: blank\nhosts: {count: 1}\nstore_filesystem: true\n"
                    f"expendable: [{device.identity}]\n"
                    f"targets: [{{name: d, device: {{path: {device.path}}}}}]\nphases:\n"
                    "  - {name: first, run: {duration: 10m, "
                    "workloads: [{block_size: 4KiB, read: 100%, max_iops: 50}]}}\n"
                    "  - {name: second, run: {workloads: "
                    "[{block_size: 64KiB, read: 0%, passes: 1}]}}\n"
                )
                running = fleet.start_lockstep("run", "-", stdin=job)
                fleet.await_phase("first")
                call("mkfs.ext4", "-q", "-F", device.path)
                os.sync()
                before = digest(device.file)
                status, text = end_load(fleet, running)
                self.assertEqual(status, 3, text)
                self.assertIn("when it was blank", text)
                self.assertEqual(digest(device.file), before)

    def test_a_sibling_that_the_worker_cannot_open(self):
        """A worker in a container whose /dev has its own loop device alone, while the host has
        another one over the same image mounted.
        """
        with LoopDevice(self.directory) as device, Fleet(0) as fleet:
            fleet.confirms = False
            call("mkfs.ext4", "-q", device.path)
            dev, mount = f"{fleet.directory}/dev", f"{fleet.directory}/mount"
            os.mkdir(dev)
            os.mkdir(mount)
            nodes = f"null zero random urandom full tty {os.path.basename(device.path)}"
            script = (
                f"mount -t tmpfs -o mode=755 tmpfs {dev} && for n in {nodes}; do "
                f"touch {dev}/$n; mount --bind /dev/$n {dev}/$n; done; mkdir {dev}/shm {dev}/pts; "
                f'ln -s /proc/self/fd {dev}/fd; mount --move {dev} /dev; exec "$@"'
            )
            container = ["unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh"]
            fleet.workers["node1"] = fleet.spawn(
                "node1",
                [
                    *container,
                    f"{BIN}/lockstep-worker",
                    *("--controller", fleet.address, "--name", "node1"),
                    *("--state-dir", f"{fleet.directory}/worker-node1"),
                    *("--allow", device.path, "--allow-expendable", device.identity),
                ],
            )
            fleet.wait_attached(1)
            sibling = attach(device.file)
            try:
                call("mount", sibling, mount)
                before = digest(device.file)
                job = device_job(device.path, expendable=device.identity)
                planned = fleet.lockstep("plan", "-", stdin=job)
                self.assertEqual(planned.status, 2, str(planned))
                self.assertIn("may not open it to see", " ".join(planned.err.split()))
                self.assertEqual(digest(device.file), before)
            finally:
                unmount(mount)
                detach(sibling)

    def test_another_controller_knows_what_the_run_left(self):
        def nothing(*_):
            pass

        def restart(fleet, _):
            fleet.controller.kill()
            fleet.controller.wait()
            fleet.start_controller(listen=fleet.address)
            fleet.await_phase("second")

        for change in (nothing, restart):
            with self.subTest(change.__name__):
                status, text, is_same = self.between(change)
                self.assertEqual(status, 0, text)
                self.assertFalse(is_same, "the third phase has written nothing")

        def restart_and_write(fleet, device):
            restart(fleet, device)
            with open(device.path, "r+b") as disk:
                disk.write(os.urandom(4096))

        status, text, is_same = self.between(restart_and_write)
        self.assertEqual(status, 3, text)
        self.assertIn("no longer holds what this run's last phase left there", text)
        self.assertTrue(is_same)

    def test_a_target_that_is_another_device_on_each_host(self):
        """The run's writes on one host say nothing of the other host's device."""
        other = os.path.join(self.directory, "other")
        os.mkdir(other)
        self.addCleanup(os.rmdir, other)
        with (
            LoopDevice(self.directory) as one,
            LoopDevice(other) as two,
            Fleet(2, allow=[one.path, two.path]) as fleet,
        ):
            load = "block_size: 64KiB, read: 0%, passes: 1"
            device = f"{{path: {one.path}, path_on_host: {{node2: {two.path}}}}}"
            job = (
                "name: apart\nstore_filesystem: true\n"
                f"targets: [{{name: d, device: {device}}}]\n"
                "phases:\n"
                f"  - {{name: first, run: {{workloads: [{{hosts: {{names: node1}}, {load}}}]}}}}\n"
                "  - {name: second, run: {duration: 10m, workloads: [{hosts: {names: node1}, "
                "block_size: 4KiB, read: 100%, max_iops: 50}]}}\n"
                f"  - {{name: third, run: {{workloads: [{{{load}}}]}}}}\n"
            )
            running = fleet.start_lockstep("run", "-", stdin=job)
            fleet.await_phase("second")
            with open(two.path, "r+b") as disk:
                disk.write(os.urandom(MIB) * 64)
            os.sync()
            before = digest(two.file)
            status, text = end_load(fleet, running)
            self.assertEqual(status, 3, text)
            self.assertIn("when it was blank", text)
            self.assertEqual(digest(two.file), before)

    def test_another_image_under_the_allowed_name_is_refused(self):
        with LoopDevice(self.directory) as device:
            stranger, before = self.stranger()
            link = "/dev/" + os.path.basename(self.directory)
            os.symlink(device.path, link)
            self.addCleanup(os.unlink, link)
            with Fleet(1, allow=[link]) as fleet:
                planned = fleet.lockstep("plan", "-", stdin=device_job(link))
                self.assertEqual(planned.status, 0, str(planned))
                device.replace(stranger)
                os.unlink(link)
                os.symlink("/dev/nothing-there", link)
                for path in (link, device.path):
                    done = fleet.run_job(device_job(path))
                    self.assertEqual(done.status, 3, str(done))
                    self.assertNotIn("MiB/s", done.out)
            device.detach()
            self.assertEqual(digest(stranger), before)

    def test_an_allowed_path_that_leads_to_another_disk_now(self):
        """The path is resolved when it is opened; what was inspected is what is opened."""
        with LoopDevice(self.directory) as device:
            stranger, before = self.stranger()
            identity = device.identity
            with Fleet(1, allow=[identity]) as fleet:
                self.assertEqual(
                    fleet.lockstep("plan", "-", stdin=device_job(device.path)).status, 0
                )
                device.replace(stranger)
                done = fleet.run_job(device_job(device.path))
                self.assertEqual(done.status, 3, str(done))
                self.assertIn("outside of what this worker's --allow permits", done.text)
            device.detach()
            self.assertEqual(digest(stranger), before)

    def both(self, fleet, a, b, prepare=False, expendable=""):
        """In one job: refused. In two, on two workers: the second waits for the first to end."""

        def job(host, *targets):
            names = ", ".join(f"t{i}" for i in range(len(targets)))
            lines = "\n".join(f"  - {{name: t{i}, {target}}}" for i, target in enumerate(targets))
            workload = f"{{read: 0%, block_size: 4KiB, max_iops: 100, targets: [{names}]}}"
            phases = ["  - prepare:"] * prepare + [
                f"  - {{name: load, run: {{duration: 300s, workloads: [{workload}]}}}}"
            ]
            return (
                f"name: pair\nhosts: {{names: {host}}}\nexpendable: "
                f"[{expendable}]\ntargets:\n{lines}\nphases:\n" + "\n".join(phases) + "\n"
            )

        planned = fleet.lockstep("plan", "-", stdin=job("node1", a, b))
        self.assertEqual(planned.status, 2, str(planned))
        self.assertIn("same bytes under two names", " ".join((planned.out + planned.err).split()))
        first = fleet.start_lockstep("run", "-", stdin=job("node1", a))
        fleet.await_phase("load")
        running = fleet.sql("SELECT last_run()")[0][0]
        second = fleet.lockstep("submit", "-", stdin=job("node2", b))
        self.assertEqual(second.status, 0, str(second))
        waiting = second.out.split()[0]
        wait_for(
            "the second to wait",
            lambda: f"run {waiting} waits until {running} or its lost" in fleet.log("controller"),
        )
        self.assertEqual(
            fleet.sql(f"SELECT state FROM runs WHERE run_id = '{waiting}'")[0][0], "queued"
        )
        self.assertEqual(fleet.lockstep("stop", waiting).status, 0)
        self.assertEqual(fleet.lockstep("stop", running).status, 0)
        first.communicate(timeout=300)

    def test_a_disk_and_its_partition(self):
        with LoopDevice(self.directory) as device:
            call("sfdisk", "-q", device.path, input="label: gpt\n,32M\n,\n")
            call("partx", "-a", device.path)
            try:
                identity = device.identity
                partition = device.path + "p1"
                with Fleet(
                    2, allow=[device.path, partition], worker_flags=["--allow-expendable", identity]
                ) as fleet:
                    # The partition is blank; the disk carries a table, which is said twice to be
                    # expendable.
                    self.both(
                        fleet,
                        f"device: {{path: {partition}}}",
                        f"device: {{path: {device.path}}}",
                        expendable=f"'{identity}'",
                    )
            finally:
                call("partx", "-d", device.path)

    def test_files_under_two_names(self):
        with Fleet(2) as fleet:
            data = fleet.data
            made = fleet.run_job(
                "name: make\nhosts: {count: 1}\n"
                f"targets: [{{name: f, file: {{path: '{data}/one', size: 4MiB}}}}]\n"
                "phases: [prepare: ]\n"
            )
            self.assertEqual(made.status, 0, str(made))
            os.link(f"{data}/one", f"{data}/two")
            os.link(f"{data}/one.lockstep", f"{data}/two.lockstep")
            self.both(
                fleet,
                f"file: {{path: '{data}/one', size: 4MiB}}",
                f"file: {{path: '{data}/two', size: 4MiB}}",
            )

    def test_a_directory_by_a_link_and_by_a_bind_mount(self):
        with Fleet(2) as fleet:
            data = fleet.data
            os.mkdir(f"{data}/real")
            os.mkdir(f"{data}/bind")
            os.symlink("real", f"{data}/link")
            call("mount", "--bind", f"{data}/real", f"{data}/bind")
            try:
                for other in ("link", "bind"):
                    with self.subTest(other):
                        self.both(
                            fleet,
                            f"file: {{path: '{data}/real/file', size: 4MiB}}",
                            f"file: {{path: '{data}/{other}/file', size: 4MiB}}",
                            prepare=True,
                        )
            finally:
                unmount(f"{data}/bind")

    def test_a_file_and_the_loop_device_over_it(self):
        with Fleet(0) as fleet:
            path = f"{fleet.data}/disk.img"
            with open(path, "wb") as out:
                out.truncate(64 * MIB)
            loop = attach(path)
            try:
                fleet.allow.append(loop)
                fleet.worker_flags = ["--allow-expendable", path]
                fleet.start_worker("node1")
                fleet.start_worker("node2")
                fleet.wait_attached(2)
                self.both(
                    fleet,
                    f"device: {{path: {loop}}}",
                    f"file: {{path: '{path}', size: 64MiB}}",
                    expendable=f"'{path}'",
                )
            finally:
                detach(loop)
