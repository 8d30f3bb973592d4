"""Attempts to destroy somebody's data with Lockstep, as they once succeeded: refused, or harmless,
and the bytes are as they were.
"""

import ctypes
import ctypes.util
import os
import select
import stat
import struct
import subprocess
import threading
import unittest

import pytest
from fleet import BIN, Fleet, needs_root, wait_for
from loops import MIB, LoopDevice, attach, detach, unmount
from test_guard import call, device_job, digest


class Opened:
    """Counts how often a path is opened by anybody (inotify; O_PATH is not counted)."""

    IN_OPEN = 0x20

    def __init__(self, path):
        self.libc = ctypes.CDLL(ctypes.util.find_library("c"), use_errno=True)
        self.fd = self.libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.libc.inotify_add_watch(self.fd, path.encode(), self.IN_OPEN) < 0:
            raise OSError(ctypes.get_errno(), "inotify_add_watch", path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)

    def times(self):
        count = 0
        while select.select([self.fd], [], [], 0)[0]:
            data = os.read(self.fd, 4096)
            while data:
                (length,) = struct.unpack_from("I", data, 12)
                count += 1
                data = data[16 + length :]
        return count


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
        """What the run writes on one host says nothing of the other host's device."""
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


@needs_root
class Files(unittest.TestCase):
    def left_alone(self, fleet, prepare, path, before):
        """No job that prepares the file at `path`, no cleanup and no load touches it."""
        for job in (
            prepare,
            prepare.replace("prepare", "cleanup"),
            prepare.replace("prepare: ", "run: {duration: 1s, workloads: [{read: 0%}]}"),
        ):
            done = fleet.run_job(job)
            self.assertEqual(done.status, 3, str(done))
            self.assertIn("was not made by Lockstep", done.text)
            self.assertEqual(digest(path), before)

    def test_an_allowed_directory_that_another_user_replaces(self):
        """Who owns the directory above puts a link to somebody else's in its place."""
        with Fleet(0) as fleet:
            above = f"{fleet.data}/above"
            allowed, precious = f"{above}/allowed", f"{fleet.directory}/precious"
            os.makedirs(allowed)
            os.makedirs(precious, 0o700)
            os.chown(above, 65534, 65534)
            os.chown(precious, 1000, 1000)
            fleet.allow = [allowed]
            fleet.start_worker("node1")
            fleet.wait_attached(1)
            job = (
                "name: replaced\nhosts: {count: 1}\nstore_filesystem: true\n"
                f"targets: [{{name: f, file: {{path: '{allowed}/new', size: 1MiB}}}}]\n"
                "phases: [prepare: ]\n"
            )
            self.assertEqual(fleet.run_job(job).status, 0)
            self.assertEqual(sorted(os.listdir(allowed)), ["new", "new.lockstep"])
            call("setpriv", "--reuid=65534", "--clear-groups", "mv", allowed, f"{above}/before")
            call("setpriv", "--reuid=65534", "--clear-groups", "ln", "-s", precious, allowed)
            done = fleet.run_job(job)
            self.assertEqual(done.status, 3, str(done))
            self.assertIn("another directory than when this worker started", done.text)
            self.assertEqual(os.listdir(precious), [])
            os.unlink(allowed)
            os.symlink("/dev", allowed)
            listed = fleet.lockstep("devices", "--format", "json").json()
            devices = [d for host in listed["hosts"] for d in host.get("devices", [])]
            self.assertTrue(devices)
            self.assertFalse([d["path"] for d in devices if d.get("allowed")])

    def test_a_directory_behind_a_link_is_not_removed_by_a_cleanup(self):
        with Fleet(1) as fleet:

            def job(path, phase):
                return (
                    "name: linked\nhosts: {count: 1}\nstore_filesystem: true\n"
                    f"targets: [{{name: f, file: {{path: '{path}', size: 64KiB}}}}]\n"
                    f"phases: [{phase}: ]\n"
                )

            made, theirs = f"{fleet.data}/made", f"{fleet.data}/theirs"
            self.assertEqual(fleet.run_job(job(f"{made}/sub/f", "prepare")).status, 0)
            os.makedirs(f"{theirs}/sub")
            os.chown(f"{theirs}/sub", 1000, 1000)
            os.rename(made, f"{fleet.data}/moved")
            os.symlink("theirs", made)
            done = fleet.run_job(job(f"{fleet.data}/moved/sub/f", "cleanup"))
            self.assertEqual(done.status, 0, str(done))
            self.assertFalse(os.path.exists(f"{fleet.data}/moved/sub/f"))
            self.assertTrue(os.path.isdir(f"{theirs}/sub"))

    def test_a_file_below_a_mounted_loop_device_without_access(self):
        """A worker that is not root can ask no loop device."""
        with Fleet(0) as fleet:
            state, mount = f"{fleet.directory}/worker-node1", f"{fleet.directory}/mount"
            for path in (state, mount):
                os.mkdir(path, 0o700)
            os.chown(state, 65534, 65534)
            fleet.workers["node1"] = fleet.spawn(
                "node1",
                [
                    *("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"),
                    f"{BIN}/lockstep-worker",
                    *("--controller", fleet.address, "--name", "node1", "--state-dir", state),
                    *("--allow", fleet.data),
                ],
            )
            fleet.wait_attached(1)
            path = f"{fleet.data}/image"
            job = (
                "name: under\nhosts: {count: 1}\nstore_filesystem: true\n"
                f"targets: [{{name: f, file: {{path: '{path}', size: 64MiB}}}}]\n"
                "phases: [PHASE]\n"
            )
            load = "{name: load, run: {workloads: [{read: 0%, block_size: 1MiB, passes: 1}]}}"
            prepared = fleet.run_job(job.replace("PHASE", "prepare: "))
            self.assertEqual(prepared.status, 0, str(prepared))
            call("mkfs.ext4", "-q", "-F", path)
            device = attach(path)
            try:
                call("mount", device, mount)
                before = digest(path)
                for phase in (load, "prepare: ", "cleanup: "):
                    with self.subTest(phase):
                        done = fleet.run_job(job.replace("PHASE", phase))
                        self.assertEqual(done.status, 3, str(done))
                        self.assertIn("the file is underneath", done.text)
                        self.assertEqual(digest(path), before)
            finally:
                unmount(mount)
                detach(device)

    def test_a_file_below_a_mounted_loop_device_with_another_path(self):
        with Fleet(1) as fleet:
            real, name, mount = (f"{fleet.data}/{word}" for word in ("real", "name", "mount"))
            for path in (real, name, mount):
                os.mkdir(path)
            job = (
                "name: under\nhosts: {count: 1}\nstore_filesystem: true\n"
                f"targets: [{{name: f, file: {{path: '{real}/image', size: 64MiB}}}}]\n"
                "phases: [PHASE]\n"
            )
            load = "{name: load, run: {workloads: [{read: 0%, block_size: 1MiB, passes: 1}]}}"
            prepared = fleet.run_job(job.replace("PHASE", "prepare: "))
            self.assertEqual(prepared.status, 0, str(prepared))
            call("mkfs.ext4", "-q", "-F", f"{real}/image")
            call("mount", "--bind", real, name)
            device = attach(f"{name}/image")
            call("mount", device, mount)
            call("mount", "-t", "tmpfs", "none", name)  # its path leads nowhere now
            try:
                before = digest(f"{real}/image")
                for phase in (load, "prepare: ", "cleanup: "):
                    with self.subTest(phase):
                        done = fleet.run_job(job.replace("PHASE", phase))
                        self.assertEqual(done.status, 3, str(done))
                        self.assertIn("the file is underneath", done.text)
                        self.assertEqual(digest(f"{real}/image"), before)
            finally:
                unmount(name)
                unmount(mount)
                detach(device)  # it keeps the directory that it was attached by busy
                unmount(name)

    def test_a_file_that_appears_before_the_opening_is_not_adopted(self):
        with Fleet(1) as fleet:
            last = 599
            keep = os.path.join(fleet.directory, "precious")
            with open(keep, "wb") as out:
                out.write(os.urandom(MIB))
            before = digest(keep)
            job = (
                "name: many\n"
                f"targets: [{{name: d, file: {{path: '{fleet.data}/data', count: {last + 1}, "
                "size: 1MiB}}]\n"
                "phases: [prepare: , cleanup: ]\n"
            )
            taken = f"{fleet.data}/data.{last}"

            def move(over, moved):
                while not over.is_set():
                    if any(name.startswith("data.") for name in os.listdir(fleet.data)):
                        try:
                            os.link(keep, taken)  # fails when it is there
                            moved.append(True)
                        except FileExistsError:
                            pass
                        return

            # On a busy machine prepare may be through before the file could be moved in: then once
            # more.
            for _ in range(10):
                over, moved = threading.Event(), []
                thread = threading.Thread(target=move, args=(over, moved))
                thread.start()
                done = fleet.run_job(job.replace(", cleanup: ", ""))
                over.set()
                thread.join()
                if moved:
                    break
                self.assertEqual(fleet.run_job(job.replace("prepare: , ", "")).status, 0)
            self.assertEqual(moved, [True])
            self.assertEqual(done.status, 3, str(done))
            self.assertIn(f"data.{last}", done.text)
            self.assertEqual(digest(f"{fleet.data}/data.{last}"), before)
            # Nor does a cleanup take it away, also beside the mark of one that was made.
            cleaned = fleet.run_job(job.replace("prepare: , ", ""))
            self.assertEqual(digest(f"{fleet.data}/data.{last}"), before, str(cleaned))

    def test_a_file_under_a_made_files_name_is_left_alone(self):
        with Fleet(1) as fleet:
            path = f"{fleet.data}/one"
            job = (
                f"name: make\ntargets: [{{name: f, file: {{path: '{path}', size: 4MiB}}}}]\n"
                "phases: [prepare: ]\n"
            )
            self.assertEqual(fleet.run_job(job).status, 0)
            other = os.path.join(fleet.directory, "other")
            with open(other, "wb") as out:
                out.write(os.urandom(4 * MIB))
            before = digest(other)
            os.rename(other, path)
            self.left_alone(fleet, job, path, before)

    def test_a_reused_inode_without_a_birth_time_is_not_ours(self):
        """ext4 with small inodes has no birth times, and gives the next file the number of the one
        that was removed.
        """
        with Fleet(1) as fleet, LoopDevice(fleet.directory) as disk:
            call("mkfs.ext4", "-q", "-I", "128", disk.path)
            mounted = f"{fleet.data}/old"
            os.mkdir(mounted)
            call("mount", disk.path, mounted)
            try:
                path = f"{mounted}/data"
                job = (
                    f"name: old\ntargets: [{{name: f, file: {{path: '{path}', size: 4MiB}}}}]\n"
                    "phases: [prepare: ]\n"
                )
                self.assertNotIn("Birth: 2", call("stat", mounted))
                self.assertEqual(fleet.run_job(job).status, 0)
                inode = os.stat(path).st_ino
                # Ours is known again.
                self.assertEqual(fleet.run_job(job).status, 0)
                os.unlink(path)
                content = os.urandom(4 * MIB)
                with open(path, "wb") as out:
                    out.write(content)
                self.assertEqual(os.stat(path).st_ino, inode)
                before = digest(path)
                self.left_alone(fleet, job, path, before)
            finally:
                unmount(mounted)

    def test_two_runs_at_once_do_not_fill_a_file_system_together(self):
        """Each fits alone. The second is looked at while the first has its place and has laid out
        nothing yet.
        """
        with Fleet(2) as fleet:
            small = f"{fleet.data}/small"
            os.mkdir(small)
            call("mount", "-t", "tmpfs", "-o", "size=400m", "tmpfs", small)
            try:
                job = (
                    "name: fill\nhosts: {names: [NODE]}\ntargets:\n"
                    f"  - {{name: f, file: {{path: '{small}/{{host}}', size: 256MiB}}}}\n"
                    "  - {name: nothing, null: {latency: 1ms}}\nphases:\n"
                    "WAIT  - prepare: {targets: [f]}\n"
                )
                wait = (
                    "  - name: wait\n    run: {duration: 8s, workloads: "
                    "[{targets: [nothing], engine: 'null'}]}\n"
                )
                # On a machine that needs more than 8 s to submit the second: once more.
                for _ in range(5):
                    first = fleet.start_lockstep(
                        "run", "-", stdin=job.replace("NODE", "node1").replace("WAIT", wait)
                    )
                    fleet.await_phase("wait")
                    second = fleet.start_lockstep(
                        "run", "-", stdin=job.replace("NODE", "node2").replace("WAIT", "")
                    )
                    out, err = second.communicate(timeout=300)
                    self.assertEqual(second.returncode, 3, out + err)
                    said = " ".join((out + err).split())
                    self.assertIn("all workers together need 256 MiB", said)
                    self.assertEqual(
                        [name for name in os.listdir(small) if name.startswith("node2")], []
                    )
                    out, err = first.communicate(timeout=300)
                    self.assertEqual(first.returncode, 0, out + err)
                    self.assertEqual(os.stat(f"{small}/node1").st_size, 256 * MIB)
                    for name in os.listdir(small):
                        os.unlink(f"{small}/{name}")
                    if "has laid out its files on the file system of" in said:
                        break
                self.assertIn("has laid out its files on the file system of", said)
            finally:
                unmount(small)

    def test_nothing_but_files_and_block_devices_is_opened(self):
        with Fleet(1) as fleet:
            fifo = f"{fleet.data}/fifo"
            os.mkfifo(fifo)
            watchdog = f"{fleet.data}/watchdog"
            os.mknod(watchdog, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
            marked = f"{fleet.data}/marked"
            with open(marked, "wb") as out:
                out.truncate(MIB)
            os.mkfifo(marked + ".lockstep")
            for path, words, target in (
                (fifo, "a FIFO", fifo),
                (watchdog, "a character device", watchdog),
                (marked + ".lockstep", "was not made by Lockstep", marked),
            ):
                with self.subTest(path), Opened(path) as opened:
                    job = (
                        "name: odd\n"
                        f"targets: [{{name: f, file: {{path: '{target}', size: 4KiB}}}}]\n"
                        "phases: [{run: {duration: 1s, workloads: [{read: 0%}]}}]\n"
                    )
                    planned = fleet.lockstep("plan", "-", stdin=job, timeout=60)
                    self.assertEqual(planned.status, 2, str(planned))
                    self.assertIn(words, " ".join(planned.err.split()))
                    self.assertEqual(opened.times(), 0)
            with self.subTest("as a device"), Opened(watchdog) as opened:
                self.assertEqual(fleet.lockstep("plan", "-", stdin=device_job(watchdog)).status, 2)
                self.assertEqual(opened.times(), 0)
            # The worker answers as ever.
            good = (
                "name: fine\n"
                f"targets: [{{name: f, file: {{path: '{fleet.data}/fine', size: 4KiB}}}}]\n"
                "phases: [prepare: , cleanup: ]\n"
            )
            self.assertEqual(fleet.run_job(good).status, 0)
