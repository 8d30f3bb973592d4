"""The kinds of consent to overwrite: a mark that a worker signed, a token of a plan that found this
very content, a device of which every byte was read as zero. Hashes before and after."""

import os
import subprocess
import time
import unittest

from device_jobs import call, device_job, digest
from fleet import BIN, Fleet, needs_root, wait_for
from loops import MIB, LoopDevice, unmount

NOBODY = 65534


def as_nobody(*words, stdin=None):
    """Runs a command as somebody who may do nothing."""
    return subprocess.run(
        ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *words],
        input=stdin,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def birth_of(path):
    """Inode and birth time, as statx(2) tells everybody who may enter the directory."""
    inode, birth = as_nobody("stat", "--printf", "%i %w", path).split(" ", 1)
    seconds = call("date", "-d", birth, "+%s")
    return f"{inode} born {seconds}.{int(birth.split('.')[1].split(' ')[0])}"


@needs_root
class Marks(unittest.TestCase):
    def file_job(self, path, *phases):
        return (
            "name: files\nhosts: {count: 1}\n"
            f"targets: [{{name: f, file: {{path: '{path}', size: 1MiB}}}}]\n"
            f"phases: [{', '.join(phases)}]\n"
        )

    LOAD = "{name: load, run: {workloads: [{read: 0%, block_size: 4KiB, operations: 100}]}}"

    def test_a_mark_that_somebody_else_wrote_proves_nothing(self):
        with Fleet(1) as fleet:
            folder = f"{fleet.data}/shared"
            os.mkdir(folder)
            os.chmod(folder, 0o1777)
            os.chmod(fleet.directory, 0o755)
            os.chmod(fleet.data, 0o755)
            path = f"{folder}/alice.db"
            with open(path, "wb") as out:
                out.write(os.urandom(MIB))
            os.chmod(path, 0o600)
            os.chown(path, 1000, 1000)
            before = digest(path)
            # As Lockstep would write it, of both versions; the second with a key of nobody's own.
            body = f"file {birth_of(path)}\nfilled random\n"
            tail = f"signer {'ab' * 32}\nauthority {'cd' * 32}\nendorsement {'ef' * 64}\n"
            for mark in (
                f"made by lockstep 1\n{body}",
                f"made by lockstep 2\n{body}",
                f"made by lockstep 2\n{body}{tail}signature {'01' * 64}\n",
            ):
                as_nobody("tee", f"{path}.lockstep", stdin=mark)
                for phases in (("prepare: ",), (self.LOAD,), ("cleanup: ",)):
                    with self.subTest(mark=mark[:18], phases=phases):
                        done = fleet.run_job(self.file_job(path, *phases))
                        self.assertEqual(done.status, 3, str(done))
                        self.assertIn("its mark", done.text)
                        self.assertEqual(digest(path), before)
                        self.assertEqual(os.stat(path).st_uid, 1000)

    def test_a_signed_mark_of_another_file_is_no_mark_of_this_one(self):
        with Fleet(1) as fleet:
            ours, theirs = f"{fleet.data}/ours", f"{fleet.data}/theirs"
            self.assertEqual(fleet.run_job(self.file_job(ours, "prepare: ")).status, 0)
            with open(theirs, "wb") as out:
                out.write(os.urandom(MIB))
            before = digest(theirs)
            call("cp", f"{ours}.lockstep", f"{theirs}.lockstep")
            done = fleet.run_job(self.file_job(theirs, self.LOAD, "cleanup: "))
            self.assertEqual(done.status, 3, str(done))
            self.assertEqual(digest(theirs), before)

    def test_workers_of_one_store_use_each_others_files(self):
        with Fleet(2) as fleet:
            path = f"{fleet.data}/both"
            one, other = (
                self.file_job(path, *phases).replace("count: 1", f"names: {host}")
                for host, phases in (
                    ("node1", ("prepare: ",)),
                    ("node2", (self.LOAD, "cleanup: ")),
                )
            )
            self.assertEqual(fleet.run_job(one).status, 0)
            done = fleet.run_job(other)
            self.assertEqual(done.status, 0, str(done))
            self.assertFalse(os.path.exists(path))

    def test_another_stores_files_are_foreign_until_adopted(self):
        with Fleet(1) as other:
            made = f"{other.data}/made"
            self.assertEqual(other.run_job(self.file_job(made, "prepare: ")).status, 0)
            with Fleet(1) as fleet:
                path = f"{fleet.data}/made"
                os.rename(made, path)
                os.rename(f"{made}.lockstep", f"{path}.lockstep")
                before = digest(path)
                done = fleet.run_job(self.file_job(path, self.LOAD))
                self.assertEqual(done.status, 3, str(done))
                self.assertIn("does not know", done.text)
                self.assertEqual(digest(path), before)
                state = f"{fleet.directory}/worker-node1"
                adopted = call(f"{BIN}/lockstep-worker", "--state-dir", state, "--adopt", path)
                self.assertIn("adopted", adopted)
                # The path that is shown is the path that is signed.
                os.symlink(fleet.data, f"{fleet.directory}/link")
                linked = subprocess.run(
                    [f"{BIN}/lockstep-worker", "--state-dir", state]
                    + ["--adopt", f"{fleet.directory}/link/made"],
                    capture_output=True,
                    text=True,
                    check=False,
                )
                self.assertNotEqual(linked.returncode, 0)
                self.assertIn(f"leads to {path}", linked.stderr)
                done = fleet.run_job(self.file_job(path, self.LOAD, "cleanup: "))
                self.assertEqual(done.status, 0, str(done))
                self.assertFalse(os.path.exists(path))


@needs_root
class Content(unittest.TestCase):
    def setUp(self):
        self.directory = call("mktemp", "-d", "/tmp/lsconsentXXXXXX")
        self.addCleanup(os.rmdir, self.directory)

    def test_a_device_that_was_only_read_needs_consent_later(self):
        load = "workloads: [{block_size: 4KiB, read: 100%, max_iops: 50}]"
        with LoopDevice(self.directory) as device, Fleet(1, allow=[device.path]) as fleet:
            job = (
                "name: late\nhosts: {count: 1}\n"
                f"targets: [{{name: d, device: {{path: {device.path}}}}}]\nphases:\n"
                f"  - {{name: first, run: {{duration: 1s, {load}}}}}\n"
                f"  - {{name: second, run: {{duration: 10m, {load}}}}}\n"
                "  - {name: third, run: {workloads: [{block_size: 64KiB, read: 0%, passes: 1}]}}\n"
            )
            fleet.lockstep("submit", "-", stdin="store_filesystem: true\n" + job)
            fleet.await_phase("second")
            with open(device.path, "r+b") as disk:
                disk.write(os.urandom(MIB) * 64)
            call("blockdev", "--flushbufs", device.path)
            self.assertEqual(os.stat(device.file).st_size, 64 * MIB)
            before = digest(device.file)
            fleet.controller.kill()
            fleet.controller.wait()
            fleet.start_controller(listen=fleet.address)
            fleet.await_phase("second")
            wait_for(
                "the load to be ended",
                lambda: fleet.lockstep("stop", "last", "--phase").status == 0,
            )
            wait_for(
                "the run to end", lambda: "nothing is queued" in fleet.lockstep("status").out, 60
            )
            self.assertEqual(digest(device.file), before)
            self.assertIn("when it was blank", fleet.lockstep("report", "last").text)

    def test_a_token_is_of_this_very_content(self):
        mount = os.path.join(self.directory, "mount")
        os.mkdir(mount)
        self.addCleanup(os.rmdir, mount)

        def another_file_system(device):
            call("mkfs.ext4", "-q", "-F", device.path)

        def a_precious_file(device):
            call("mount", device.path, mount)
            with open(f"{mount}/precious", "wb") as out:
                out.write(os.urandom(MIB))
            unmount(mount)

        def raw_data(device):
            with open(device.path, "r+b") as disk:
                disk.seek(64 * MIB - 4096)
                disk.write(os.urandom(4096))

        for change in (another_file_system, a_precious_file, raw_data):
            with self.subTest(change.__name__), LoopDevice(self.directory) as device:
                call("mkfs.ext4", "-q", device.path)
                job = device_job(device.path, expendable=device.identity)
                flags = ["--allow-expendable", device.identity]
                with Fleet(1, allow=[device.path], worker_flags=flags) as fleet:
                    fleet.confirms = False
                    planned = fleet.lockstep("plan", "-", "--format", "json", stdin=job).json()
                    change(device)
                    before = digest(device.file)
                    done = fleet.run_job(job, "--confirm", planned["token"])
                    self.assertEqual(done.status, 3, str(done))
                    self.assertIn("the confirmed plan is out of date", done.text)
                    self.assertEqual(digest(device.file), before)
                    planned = fleet.lockstep("plan", "-", "--format", "json", stdin=job).json()
                    done = fleet.run_job(job, "--confirm", planned["token"])
                    self.assertEqual(done.status, 0, str(done))

    def test_a_token_is_of_this_very_file(self):
        """A token covers the contents of an expendable file, and the file itself, also if only one
        byte between the samples changes; and again right before it is written.
        """

        def another_file(path):
            os.rename(path, f"{path}.before")
            with open(path, "wb") as out:
                out.write(os.urandom(8 * MIB))

        def a_byte_between(path):
            with open(path, "r+b") as out:
                out.seek(4 * MIB + 12345)
                out.write(b"x")

        for change in (another_file, a_byte_between):
            with self.subTest(change.__name__), Fleet(0) as fleet:
                fleet.confirms = False
                path = f"{fleet.data}/theirs"
                with open(path, "wb") as out:
                    out.write(os.urandom(8 * MIB))
                fleet.worker_flags = ["--allow-expendable", path]
                fleet.start_worker("node1")
                fleet.wait_attached(1)
                job = (
                    "name: file\nhosts: {count: 1}\nstore_filesystem: true\n"
                    f"expendable: ['{path}']\n"
                    f"targets: [{{name: f, file: {{path: '{path}', size: 8MiB}}}}]\nphases:\n"
                    "  - {name: first, run: {duration: READING, "
                    "workloads: [{block_size: 4KiB, read: 100%, max_iops: 50}]}}\n"
                    "  - {name: second, run: {workloads: "
                    "[{block_size: 64KiB, read: 0%, passes: 1}]}}\n"
                    "  - {name: third, run: {workloads: "
                    "[{block_size: 64KiB, read: 0%, passes: 1}]}}\n"
                )
                brief, long = job.replace("READING", "1s"), job.replace("READING", "10m")

                def token(job, fleet=fleet):
                    planned = fleet.lockstep("plan", "-", "--format", "json", stdin=job)
                    return planned.json()["token"]

                # Between the plan and the run.
                old = token(brief)
                change(path)
                before = digest(path)
                done = fleet.run_job(brief, "--confirm", old)
                self.assertEqual(done.status, 3, str(done))
                self.assertIn("the confirmed plan is out of date", done.text)
                self.assertEqual(digest(path), before)
                # Between the run's begin and its first write.
                running = fleet.start_lockstep("run", "-", "--confirm", token(long), stdin=long)
                fleet.await_phase("first")
                change(path)
                before = digest(path)
                wait_for(
                    "the load to be ended",
                    lambda fleet=fleet: fleet.lockstep("stop", "last", "--phase").status == 0,
                )
                out, err = running.communicate(timeout=300)
                self.assertEqual(running.returncode, 3, out + err)
                self.assertIn("the run was confirmed", " ".join(out.split()) + err)
                self.assertEqual(digest(path), before)
                # The confirmed run is done, over several phases.
                done = fleet.run_job(brief, "--confirm", token(brief))
                self.assertEqual(done.status, 0, str(done))
                self.assertNotEqual(digest(path), before)

    def test_a_token_is_young_and_of_this_store(self):
        with LoopDevice(self.directory) as device:
            call("mkfs.ext4", "-q", device.path)
            job = device_job(device.path, expendable=device.identity)
            flags = ["--allow-expendable", device.identity]
            with Fleet(1, allow=[device.path], worker_flags=flags) as fleet:
                fleet.confirms = False
                before = digest(device.file)
                token = fleet.lockstep("plan", "-", "--format", "json", stdin=job).json()["token"]
                now = int(time.time())
                for wrong, status, why in (
                    ("x", 2, "is no token of a plan"),
                    (f"{now - 90000:08x}{token[8:]}", 2, "at most 24 h may pass"),
                    (f"{now - 60:08x}{token[8:]}", 3, "the confirmed plan is out"),
                    (f"{token[:9]}{'0' * 24}", 3, "the confirmed plan is out"),
                ):
                    done = fleet.run_job(job, "--confirm", wrong)
                    self.assertEqual(done.status, status, str(done))
                    self.assertIn(why, done.text + done.err)
                self.assertEqual(digest(device.file), before)

    def test_a_device_with_data_between_samples_is_not_blank(self):
        with LoopDevice(self.directory) as device:
            # 600 KiB in the middle, between two samples.
            with open(device.file, "r+b") as disk:
                disk.seek(33 * MIB + 8192)
                disk.write(os.urandom(600 * 1024))
            before = digest(device.file)
            with Fleet(1, allow=[device.path]) as fleet:
                for _ in range(2):
                    done = fleet.run_job(device_job(device.path))
                    self.assertEqual(done.status, 3, str(done))
                    self.assertIn("carries data without a known signature", done.text)
                    self.assertEqual(digest(device.file), before)

    def test_a_device_that_only_seems_blank_needs_a_confirmation(self):
        """Larger than what can be read before a run, and no hole as a whole: nobody knows."""
        with LoopDevice(self.directory, size=1 << 42) as device:
            with open(device.file, "r+b") as disk:
                disk.seek((1 << 41) + 8192)
                disk.write(b"precious")
            with Fleet(1, allow=[device.path]) as fleet:
                planned = fleet.lockstep("plan", "-", stdin=device_job(device.path))
                self.assertEqual(planned.status, 2, str(planned))
                self.assertIn("which is not known", " ".join((planned.out + planned.err).split()))
            with open(device.file, "rb") as disk:
                disk.seek((1 << 41) + 8192)
                self.assertEqual(disk.read(8), b"precious")

    def test_a_device_that_is_all_hole_is_blank_whatever_its_size(self):
        with (
            LoopDevice(self.directory, size=1 << 42) as device,
            Fleet(1, allow=[device.path]) as fleet,
        ):
            planned = fleet.lockstep("plan", "-", stdin=device_job(device.path))
            self.assertEqual(planned.status, 0, str(planned))
