"""Nothing is destroyed by mistake: every refusal with its own message, and the device unchanged."""

import os
import struct
import subprocess
import time
import unittest

from device_jobs import (
    GENTLY,
    call,
    converse,
    device_job,
    digest,
    job_file,
    terminal,
    write_lvm_label,
)
from fleet import BIN, Fleet, needs_root, wait_for
from loops import MIB, LoopDevice, attach, detach, unmount


@needs_root
class DeviceGuard(unittest.TestCase):
    def setUp(self):
        self.directory = call("mktemp", "-d", "/tmp/lsguardXXXXXX")
        self.addCleanup(lambda: os.rmdir(self.directory))

    def refuse(self, device, message, path=None, flags=(), expendable="", extra="", still=True):
        """The job is refused with the message, and nothing on the device has changed.

        `still`: nobody else writes to it during that time, as the kernel does to active swap.
        """
        before = digest(device.file)
        path = path or device.path
        with Fleet(1, allow=[path], worker_flags=list(flags)) as fleet:
            done = fleet.run_job(device_job(path, expendable=expendable, extra=extra))
            self.assertEqual(done.status, 3, str(done))
            self.assertIn(message, done.text)
            self.assertIn(path, done.text)
            self.assertIn("refused before anything was written", done.text)
            planned = fleet.lockstep(
                "plan", "-", stdin=device_job(path, expendable=expendable, extra=extra)
            )
            self.assertEqual(planned.status, 2, str(planned))
            self.assertIn(message, planned.err)
        if still:
            self.assertEqual(digest(device.file), before)

    def test_a_mounted_device(self):
        with LoopDevice(self.directory) as device:
            call("mkfs.ext4", "-q", device.path)
            mount = os.path.join(self.directory, "mount")
            os.mkdir(mount)
            # To read only: a file system that is mounted to write writes periodically by itself.
            call("mount", "-o", "ro", device.path, mount)
            try:
                self.refuse(device, f"mounted on {mount}; a device in use is never written")
            finally:
                unmount(mount)
                os.rmdir(mount)

    def test_the_list_of_devices_is_current_and_narrow(self):
        with LoopDevice(self.directory) as device, Fleet(1, allow=[device.path]) as fleet:

            def state():
                listed = fleet.lockstep("devices").out
                return next(line for line in listed.splitlines() if f" {device.path} " in line)

            self.assertTrue(state().endswith("blank"), state())
            call("mkfs.ext4", "-q", device.path)
            # Within a second the answer is the same for all who ask.
            wait_for("the signature to be seen", lambda: "type ext4" in state())
            mount = os.path.join(self.directory, "mount")
            os.mkdir(mount)
            call("mount", device.path, mount)
            try:
                wait_for("the mount to be seen", lambda: f"mounted on {mount}" in state())
                narrow = terminal(
                    [f"{BIN}/lockstep", "devices"], 60, {**fleet.environment(), "NO_COLOR": "1"}
                )
                self.assertIn(device.path, narrow)
                self.assertEqual([line for line in narrow.splitlines() if len(line) > 60], [])
            finally:
                unmount(mount)
                os.rmdir(mount)

    def test_a_mounted_partition_and_the_disk_around_it(self):
        with LoopDevice(self.directory) as device:
            call("sfdisk", "-q", device.path, input="label: gpt\n,32M\n,\n")
            call("partx", "-a", device.path)
            partition = device.path + "p1"
            self.assertTrue(os.path.exists(partition), "the kernel made no partition device")
            call("mkfs.ext4", "-q", partition)
            mount = os.path.join(self.directory, "mount")
            os.mkdir(mount)
            call("mount", "-o", "ro", partition, mount)
            try:
                call("sync")
                self.refuse(device, f"mounted on {mount}", path=partition)
                self.refuse(
                    device, f"its partition {os.path.basename(partition)} is mounted on {mount}"
                )
            finally:
                unmount(mount)
                os.rmdir(mount)
                call("partx", "-d", device.path)
            self.refuse(device, "carries a partition table of type gpt")

    def test_swap(self):
        with LoopDevice(self.directory) as device:
            call("mkswap", device.path)
            call("swapon", device.path)
            try:
                message = "in use as swap; a device in use is never written"
                self.refuse(device, message, still=False)
            finally:
                call("swapoff", device.path)
            self.refuse(device, "carries a file system or signature of type swap")

    def test_file_systems_and_lvm(self):
        with LoopDevice(self.directory, size=400 * MIB) as device:
            call("mkfs.ext4", "-q", device.path)
            self.refuse(device, "carries a file system or signature of type ext4")
            call("wipefs", "-aq", device.path)
            call("mkfs.xfs", "-q", "-f", device.path)
            self.refuse(device, "carries a file system or signature of type xfs")
            call("wipefs", "-aq", device.path)
            write_lvm_label(device.path)
            call("sync")
            self.refuse(device, "carries a signature of LVM2_member")

    def test_signatures_of_what_is_no_file_system(self):
        """As the tools that make them leave them; written by hand: none of them is needed."""
        luks = b"LUKS\xba\xbe\x00\x01aes".ljust(592, b"\0")
        # mdadm's superblock of version 1.2, at 4 KiB.
        words = struct.pack("<IIII", 0xA92B4EFC, 1, 0, 0)
        md = words + b"U" * 16 + b"lab:0".ljust(32, b"\0") + struct.pack("<QII", 0, 1, 0)
        md = md.ljust(128, b"\0") + struct.pack("<QQQ", 2048, 100000, 8)
        md = bytearray(md.ljust(256, b"\0"))
        total = sum(struct.unpack("<64I", md))
        struct.pack_into("<I", md, 216, ((total & 0xFFFFFFFF) + (total >> 32)) & 0xFFFFFFFF)
        with LoopDevice(self.directory) as device:
            for at, data, name in ((0, luks, "crypto_LUKS"), (4096, md, "linux_raid_member")):
                with open(device.file, "r+b") as disk:
                    disk.seek(at)
                    disk.write(data)
                call("sync")
                self.refuse(device, name)
                with open(device.file, "r+b") as disk:
                    disk.seek(at)
                    disk.write(bytes(len(data)))

    def test_what_a_loop_device_shows_of_something_in_use(self):
        """One of two loop devices over a file is mounted. The other one, a third over the first,
        and the file itself are names of the same bytes.
        """
        with LoopDevice(self.directory) as device:
            call("mkfs.ext4", "-q", device.path)
            mount = os.path.join(self.directory, "mount")
            os.mkdir(mount)
            call("mount", "-o", "ro", device.path, mount)
            sibling = attach(device.file)
            over = attach(device.path)
            both = ["--allow-expendable", device.identity, "--allow-expendable", device.file]
            try:
                name = os.path.basename(device.path)
                self.refuse(
                    device,
                    f"also {name}, which is mounted on {mount}; a device in use is never written",
                    path=sibling,
                    flags=both,
                    expendable=device.identity,
                )
                self.refuse(
                    device,
                    f"a loop device over {name}, which has a name of its own",
                    path=over,
                    flags=both,
                )
                before = digest(device.file)
                job = (
                    f"name: under\nexpendable: ['{device.file}']\n"
                    f"targets: [{{name: f, file: {{path: '{device.file}', size: 4MiB}}}}]\n"
                    "phases: [{run: {duration: 1s, workloads: [{read: 0%}]}}]\n"
                )
                prepare = job.split("phases:", maxsplit=1)[0] + "phases: [prepare: ]\n"
                with Fleet(1, allow=[self.directory], worker_flags=both) as fleet:
                    for text in (
                        prepare,
                        job,
                        job.replace("read: 0%", "read: 0%, pattern: sequential, create: true"),
                    ):
                        done = fleet.run_job(text)
                        self.assertNotEqual(done.status, 0, str(done))
                        said = " ".join((done.out + done.err).split())
                        self.assertIn("the file is underneath", said)
                self.assertEqual(digest(device.file), before)
                # The image has no name any more; the loop devices know it all the same.
                os.link(device.file, device.file + ".link")
                os.unlink(device.file)
                with Fleet(1, allow=[sibling], worker_flags=both) as fleet:
                    done = fleet.run_job(device_job(sibling, expendable=device.identity))
                    self.assertEqual(done.status, 3, str(done))
                    self.assertIn(f"also {name}, which is mounted on {mount}", done.text)
                os.rename(device.file + ".link", device.file)
            finally:
                detach(over)
                detach(sibling)
                unmount(mount)
                os.rmdir(mount)

    def test_a_loop_device_over_one_mounted_in_a_container(self):
        """The mount is another namespace's, and no list of mounts here has it."""
        with LoopDevice(self.directory) as device:
            call("mkfs.ext4", "-q", device.path)
            sibling = attach(device.file)
            mount = os.path.join(self.directory, "mount")
            os.mkdir(mount)
            container = subprocess.Popen(
                ["unshare", "-m", "sh", "-c", f"mount -o ro {device.path} {mount} && echo && cat"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            try:
                container.stdout.readline()
                self.assertNotIn(device.path, call("cat", "/proc/self/mounts"))
                self.refuse(
                    device,
                    f"also {os.path.basename(device.path)}, which is held by somebody",
                    path=sibling,
                    flags=["--allow-expendable", device.identity],
                    expendable=device.identity,
                )
            finally:
                container.communicate()
                detach(sibling)
                os.rmdir(mount)

    def test_data_without_a_signature(self):
        with LoopDevice(self.directory) as device:
            # In the middle of nowhere: where no signature lies, and not in the first sectors.
            with open(device.file, "r+b") as disk:
                disk.seek(64 * MIB - 5)
                disk.write(b"x")
            self.refuse(device, "carries data without a known signature (not zero at offset")

    def test_foreign_data_needs_the_token_of_that_plan(self):
        with LoopDevice(self.directory) as device:
            call("mkfs.ext4", "-q", device.path)
            flags = ["--allow-expendable", device.identity, "--approve-label", "ci=nightly"]
            job = device_job(device.path, expendable=device.identity)
            with Fleet(1, allow=[device.path], worker_flags=flags) as fleet:
                fleet.confirms = False
                before = digest(device.file)
                # Nobody is there to be asked: the command ends before anything is submitted.
                done = fleet.run_job(job)
                self.assertEqual(done.status, 2, str(done))
                self.assertIn("overwrites what Lockstep did not make", done.err)
                self.assertIn("type ext4", done.err)
                self.assertEqual(fleet.lockstep("history", "--format", "json").json()["runs"], [])
                # A token that is of no such plan gets as far as the controller.
                done = fleet.run_job(job, "--confirm", f"{int(time.time()):08x}-{'0' * 24}")
                self.assertEqual(done.status, 3, str(done))
                self.assertIn("the confirmed plan is out of date", done.text)
                planned = fleet.lockstep("plan", "-", stdin=job)
                self.assertEqual(planned.status, 0, str(planned))
                self.assertIn("overwrites what Lockstep did not make: target disk", planned.out)
                token = planned.out.strip().rsplit(" ", 1)[1]
                self.assertIn(f"lockstep run --confirm {token}", planned.out)
                # Something else is on it by the time of the run, or another job comes with it.
                call("wipefs", "-a", device.path)
                call("mkswap", "-q", device.path)
                other = digest(device.file)
                done = fleet.run_job(job, "--confirm", token)
                self.assertEqual(done.status, 3, str(done))
                self.assertIn("the confirmed plan is out of date", done.text)
                planned = fleet.lockstep("plan", "-", "--format", "json", stdin=job).json()
                done = fleet.run_job(job.replace("64KiB", "4KiB"), "--confirm", planned["token"])
                self.assertEqual(done.status, 3, str(done))
                self.assertEqual(digest(device.file), other)
                self.assertNotEqual(other, before)
                # A person says no, then yes.
                for answer, status in (("no", 1), ("yes", 0)):
                    seen, ended = converse(
                        [f"{BIN}/lockstep", "run", job_file(fleet, job)],
                        "type yes to overwrite it: ",
                        answer,
                        fleet.environment(),
                    )
                    self.assertEqual(ended, status, seen)
                self.assertNotEqual(digest(device.file), other)
                # The run's own writes are no reason to ask again within the run; the next run finds
                # them.
                planned = fleet.lockstep("plan", "-", "--format", "json", stdin=job).json()
                self.assertIn("data without a known signature", planned["overwrites"][0])
                labelled = f"labels: {{ci: nightly}}\n{job}"
                self.assertEqual(fleet.run_job(labelled).status, 0)
                done = fleet.run_job(f"labels: {{ci: weekly}}\n{job}")
                self.assertEqual(done.status, 2, str(done))

    def test_a_run_goes_on_with_what_it_has_written_itself(self):
        with LoopDevice(self.directory) as device:
            job = device_job(device.path) + (
                "  - precondition: {block_size: 1MiB, random: true}\n"
                "  - {name: again, run: {duration: 200ms, workloads: [{read: 0%}]}}\n"
            )
            with Fleet(1, allow=[device.path]) as fleet:
                done = fleet.run_job("interval: 100ms\n" + job)
                self.assertEqual(done.status, 0, str(done))
                done = fleet.run_job("interval: 100ms\n" + job)
                self.assertEqual(done.status, 3, str(done))
                self.assertIn("data without a known signature", done.text)

    def test_a_device_is_found_by_what_it_is(self):
        def job(what):
            return device_job("X", read=100).replace("path: X", what)

        with LoopDevice(self.directory) as device:
            with Fleet(1, allow=[device.path]) as fleet:
                for what in (
                    f"identity: '{device.identity}'",
                    "transport: loop",
                    "capacity: 64MiB",
                    "transport: loop, capacity: 64.5MiB",
                ):
                    done = fleet.run_job(job(what), "--format", "json")
                    self.assertEqual(done.status, 0, str(done))
                    # The disk of the loop device's file may come after it.
                    used = done.json()["phases"][0]["devices"][0]
                    self.assertEqual(used["name"], os.path.basename(device.path))
                planned = fleet.lockstep("plan", "-", stdin=job("transport: loop"))
                self.assertIn(device.path, planned.out)
                for what, message in (
                    ("identity: naa.0", "has identity naa.0"),
                    ("serial: NONE", "has serial NONE"),
                    ("model: 'X*'", f"it names {device.path} (64 MiB, loop"),
                    ("capacity: 1GiB", "has capacity 1 GiB"),
                    ("transport: fc, capacity: 64MiB", "has transport fc, capacity 64 MiB"),
                ):
                    done = fleet.run_job(job(what))
                    self.assertEqual(done.status, 3, str(done))
                    self.assertIn(message, done.text)
                for what, message in (
                    ("", "names no device"),
                    (f"path: {device.path}, transport: loop", "by its path, or by what it is"),
                ):
                    done = fleet.run_job(job(what))
                    self.assertEqual(done.status, 2, str(done))
                    self.assertIn(message, done.err)
            directory = os.path.join(self.directory, "second")
            os.mkdir(directory)
            self.addCleanup(os.rmdir, directory)
            with (
                LoopDevice(directory) as second,
                Fleet(1, allow=[device.path, second.path]) as fleet,
            ):
                done = fleet.run_job(job("transport: loop"))
                self.assertEqual(done.status, 3, str(done))
                self.assertIn("2 devices have transport loop", done.text)

    def test_a_signature_yields_only_to_both_the_job_and_the_worker(self):
        with LoopDevice(self.directory) as device:
            call("mkfs.ext4", "-q", device.path)
            identity = device.identity
            self.refuse(
                device,
                "under the job's `expendable` (done) and in the worker's --allow-expendable",
                expendable=identity,
            )
            self.refuse(
                device,
                "in the worker's --allow-expendable (done)",
                flags=["--allow-expendable", identity],
            )
            with Fleet(
                1, allow=[device.path], worker_flags=["--allow-expendable", identity]
            ) as fleet:
                done = fleet.run_job(device_job(device.path, expendable=identity))
                self.assertEqual(done.status, 0, str(done))

    def test_another_identity_than_the_job_requires(self):
        with LoopDevice(self.directory) as device:
            self.refuse(
                device, "the job requires 'loop-file:9:9:9'", extra=", identity: 'loop-file:9:9:9'"
            )

    def test_the_bytes_of_a_blank_device_agree_within_one_percent(self):
        with LoopDevice(self.directory) as device:
            call("losetup", "--direct-io=on", device.path)
            flags = ["--allow-expendable", device.identity]
            with Fleet(1, allow=[device.path], worker_flags=flags) as fleet:
                for read in (0, 100, 50):
                    job = device_job(
                        device.path, read=read, expendable=device.identity if read == 50 else ""
                    ).replace("duration: 1s", "duration: 2s\n      ramp: 1s")
                    job = job.replace(f"{GENTLY}, ", "")
                    done = fleet.run_job(job, "--format", "json")
                    self.assertEqual(done.status, 0, str(done))
                    report = done.json()["phases"][0]["devices"][0]
                    engine = report["engineReadBytes"] + report["engineWriteBytes"]
                    self.assertGreater(engine, 0)
                    self.assertAlmostEqual(
                        (report["deviceReadBytes"] + report["deviceWriteBytes"]) / engine,
                        1,
                        delta=0.01,
                    )
                    self.assertIn(
                        report["crossCheck"]["verdict"], ("VERDICT_AGREE", "VERDICT_COALESCED")
                    )

    def test_a_device_outside_the_allow_list(self):
        with LoopDevice(self.directory) as device:
            before = digest(device.file)
            with Fleet(1) as fleet:
                done = fleet.run_job(device_job(device.path, read=100))
                self.assertEqual(done.status, 3, str(done))
                self.assertIn("outside of what this worker's --allow permits", done.text)
            self.assertEqual(digest(device.file), before)
