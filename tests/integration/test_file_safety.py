"""Attempts to destroy somebody's files with Lockstep: refused, or harmless, and each byte stays."""

import os
import stat
import threading
import unittest

from device_jobs import call, device_job, digest
from fleet import BIN, Fleet, needs_root
from loops import MIB, LoopDevice, attach, detach, unmount
from opened import Opened


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
        """The owner of the directory above puts a link to somebody else's in its place."""
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
