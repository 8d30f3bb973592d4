"""Nothing is destroyed by mistake: every refusal with its own message, and the device unchanged."""

import errno
import fcntl
import hashlib
import os
import pty
import struct
import subprocess
import termios
import time
import unittest
import zlib

from fleet import BIN, Fleet, FleetTest, files_job, needs_root, wait_for
from loops import MIB, LoopDevice, attach, detach, unmount

# The load of a device job: it begins at the begin, where what is known by a signature has it.
GENTLY = "pattern: sequential, max_iops: 500"


def device_job(path, read=0, expendable="", extra=""):
    return f"""name: overwrite
hosts: {{count: 1}}
expendable: [{expendable}]
targets: [{{name: disk, device: {{path: {path}{extra}}}}}]
phases:
  - run:
      duration: 1s
      workloads: [{{block_size: 64KiB, read: {read}%, {GENTLY}, queue_depth: 4}}]
"""


def digest(path):
    """Of its length and its bytes. Most of an image is a hole, of which nothing is read."""
    found = hashlib.sha256()
    block, zeros, has_holes = 1 << 16, bytes(1 << 16), True
    with open(path, "rb", buffering=0) as data:
        end = data.seek(0, os.SEEK_END)
        found.update(f"{end} bytes".encode())
        at = 0
        while at < end:
            if has_holes:
                try:
                    at = os.lseek(data.fileno(), at, os.SEEK_DATA) // block * block
                except OSError as error:
                    if error.errno == errno.ENXIO:  # only a hole follows
                        break
                    has_holes = False  # a device
            content = os.pread(data.fileno(), block, at)
            # A written block of zeros is no other content than a hole.
            if content != zeros[: len(content)]:
                found.update(f"at {at}:".encode())
                found.update(content)
            at += len(content)
    return found.hexdigest()


def call(*words, **options):
    return subprocess.run(
        words, check=True, capture_output=True, text=True, **options
    ).stdout.strip()


def write_lvm_label(path):
    """The label that pvcreate writes: sector 1, checked by LVM's CRC."""
    body = struct.pack("<I8s", 32, b"LVM2 001") + b"A" * 32 + b"\0" * (512 - 20 - 4 - 8 - 32)
    crc = zlib.crc32(body, 0xF597A6CF ^ 0xFFFFFFFF) ^ 0xFFFFFFFF
    with open(path, "r+b") as disk:
        disk.seek(512)
        disk.write(b"LABELONE" + struct.pack("<Q", 1) + struct.pack("<I", crc) + body)


def terminal(words, columns, environment):
    """What a program writes to a terminal of so many columns."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(words, stdin=its, stdout=its, stderr=its, env=environment)
    os.close(its)
    seen = b""
    try:
        while True:
            part = os.read(ours, 65536)
            if not part:
                break
            seen += part
    except OSError:  # the other end is closed
        pass
    finally:
        os.close(ours)
        process.wait()
    return seen.decode().replace("\r\n", "\n")


def converse(words, question, answer, environment):
    """What a program says on a terminal, and how it ends, when it is answered once."""
    ours, its = pty.openpty()
    process = subprocess.Popen(words, stdin=its, stdout=its, stderr=its, env=environment)
    os.close(its)
    seen = b""  # a read may end within a character
    try:
        while True:
            part = os.read(ours, 65536)
            if not part:
                break
            seen += part
            if answer is not None and question.encode() in seen:
                os.write(ours, answer.encode() + b"\n")
                answer = None
    except OSError:  # the other end is closed
        pass
    finally:
        os.close(ours)
    return seen.decode(), process.wait()


def job_file(fleet, job):
    path = os.path.join(fleet.directory, "job.yaml")
    with open(path, "w", encoding="utf-8") as out:
        out.write("store_filesystem: true\n" + job)
    return path


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
                self.assertIn("what was confirmed is not what is there now", done.text)
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
                self.assertIn("what was confirmed is not what is there now", done.text)
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
                # What the run itself has written is no reason to ask again within the run; the next
                # run finds it.
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


class PathGuard(FleetTest):
    workers = 1

    def refuse(self, path, message):
        job = files_job("X", hosts=1).replace("X/{host}/file", path)
        done = self.ok(self.fleet.run_job(job), 3)
        self.assertIn(message, done.text)

    def test_dots_lead_nowhere(self):
        self.refuse(self.fleet.data + "/../secret", "a path with '..' is refused")

    def test_a_path_outside(self):
        self.refuse("/var/tmp/lockstep-test", "outside of what this worker's --allow permits")
        self.assertFalse(os.path.exists("/var/tmp/lockstep-test"))

    def test_a_link_to_outside(self):
        outside = os.path.join(self.fleet.directory, "outside")
        os.mkdir(outside)
        os.symlink(outside, os.path.join(self.fleet.data, "link"))
        self.addCleanup(lambda: os.unlink(os.path.join(self.fleet.data, "link")))
        self.refuse(self.fleet.data + "/link/file", "a link leads out of")
        self.assertEqual(os.listdir(outside), [])

    def test_a_file_that_lockstep_did_not_make(self):
        path = os.path.join(self.fleet.data, "precious")
        with open(path, "wb") as out:
            out.write(b"do not lose me" * 1000)
        self.addCleanup(lambda: os.unlink(path))
        before = digest(path)
        self.refuse(path, "was not made by Lockstep")
        write = f"""name: overwrite
targets: [{{name: f, file: {{path: "{path}", size: 4KiB}}}}]
phases: [{{run: {{duration: 1s, workloads: [{{read: 0%}}]}}}}]
"""
        self.assertIn("was not made by Lockstep", self.ok(self.fleet.run_job(write), 3).text)
        self.assertEqual(digest(path), before)
        # The job alone cannot declare it expendable.
        self.assertIn(
            "and the worker's --allow-expendable name it",
            self.ok(
                self.fleet.run_job(
                    write.replace("name: overwrite", f'name: overwrite\nexpendable: ["{path}"]')
                ),
                3,
            ).text,
        )
        self.assertEqual(digest(path), before)
        # Reading harms nobody.
        self.ok(self.fleet.run_job(write.replace("read: 0%", "read: 100%")))
        self.assertEqual(digest(path), before)

    def test_a_file_that_took_a_made_ones_place_is_not_ours(self):
        path = os.path.join(self.fleet.data, "replaced")
        keep = files_job("X", hosts=1, duration="1s", tail="").replace("X/{host}/file", path)
        self.ok(self.fleet.run_job(keep))
        os.unlink(path)
        with open(path, "wb") as out:
            out.write(b"mine" * (2 << 20))
        before = digest(path)
        self.refuse(path, "was not made by Lockstep")
        self.assertEqual(digest(path), before)
        os.unlink(path)
        os.unlink(path + ".lockstep")

    def test_an_expendable_file_is_overwritten_and_never_removed(self):
        path = os.path.join(self.fleet.data, "old-database")
        with open(path, "wb") as out:
            out.write(b"x" * (8 << 20))
        self.fleet.start_worker("spare", flags=["--allow-expendable", path])
        self.fleet.wait_attached(2)
        try:
            job = (
                files_job("X", hosts=1, duration="1s", extra=f'expendable: ["{path}"]')
                .replace("X/{host}/file", path)
                .replace("{count: 1}", "{names: spare}")
            )
            before = digest(path)
            self.ok(self.fleet.run_job(job))
            self.assertNotEqual(digest(path), before)
            self.assertFalse(os.path.exists(path + ".lockstep"))
        finally:
            worker = self.fleet.workers.pop("spare")
            worker.terminate()
            worker.wait(20)
            os.unlink(path)

    def test_a_device_given_as_a_file(self):
        self.refuse("/dev/null", "outside of what this worker's --allow permits")
