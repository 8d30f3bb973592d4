"""Ways by which consent to overwrite a device outlived what it was given for: writes by another
name or without a trace, stamps that were restored, an identity that was used again, a token that
was given twice, an offset that moved. What is precious lies between the samples, and is still there
at the end."""

import fcntl
import mmap
import os
import shutil
import struct
import subprocess

from device_jobs import GENTLY, call, device_job, digest
from fleet import needs_root, stop, wait_for
from loops import MIB, LoopDevice, attach, attach_as, detach, numbers_kept, unmount
from san import Tgt, identity
from test_enrolment import SIZE, EnrolmentTest, ends, write_at

# Samples of a device of this size read none of it.
PLACE = 20 * MIB + 4096
PRECIOUS = b"precious" * 512


def read_at(path, offset, length):
    with open(path, "rb") as data:
        data.seek(offset)
        return data.read(length)


def set_offset(path, offset, size_limit):
    """LOOP_SET_STATUS64 (loop(4)): of loop_info64 the fields up to lo_sizelimit."""
    get_status, set_status = 0x4C05, 0x4C04
    with open(path, "rb") as disk:
        info = bytearray(232)
        fcntl.ioctl(disk, get_status, info)
        struct.pack_into("=QQ", info, 24, offset, size_limit)
        fcntl.ioctl(disk, set_status, bytes(info))


def restore(path, saved):
    write_at(path, 0, saved[0])
    write_at(path, SIZE - MIB, saved[1])


class ConsentTest(EnrolmentTest):
    def listed(self, fleet, name):
        return fleet.lockstep("devices", "enroll", name, "--format", "json").json()["token"]

    def confirm_in_vain(self, fleet, name, token, path, dirty=False):
        """With a token of before; at `path` nothing changes but by what is `dirty` elsewhere."""
        before = ends(path) if dirty else digest(path)
        done = self.ok(fleet.lockstep("devices", "enroll", name, "--confirm", token), 1)
        self.assertIn("the confirmed listing is out of date", done.err)
        self.assertEqual(ends(path) if dirty else digest(path), before)
        self.assertEqual(read_at(path, PLACE, len(PRECIOUS)), PRECIOUS)

    def partitioned(self, device):
        """The path of its only partition, from 1 MiB on."""
        device.detach()
        call("sfdisk", "-q", device.file, input="label: dos\nstart=2048\n")
        device.path = attach(device.file, "-P")
        device.attached = True
        subprocess.run(["partx", "-a", device.path], check=False, capture_output=True)
        partition = f"{device.path}p1"
        wait_for("the partition", lambda: os.path.exists(partition))
        return partition

    def restart_worker(self, fleet):
        stop(fleet.workers["node1"])
        fleet.wait_attached(0)
        fleet.start_worker("node1")
        fleet.wait_attached(1)

    def restart_controller(self, fleet):
        """Starts it at its former address, so that its workers come back."""
        stop(fleet.controller)
        fleet.start_controller(fleet.address)
        fleet.wait_attached(1)


@needs_root
class WritesByAnotherName(ConsentTest):
    """Between a listing and its confirmation."""

    def attack(self, device, name, write, dirty=False):
        """`name`: what is listed."""
        fleet = self.fleet(name)
        token = self.listed(fleet, name)
        write()
        self.confirm_in_vain(fleet, name, token, device.file, dirty)
        self.ok(fleet.lockstep("devices", "enroll", name, "--confirm", self.listed(fleet, name)))

    def test_the_file_underneath(self):
        device = self.device()
        self.attack(device, device.path, lambda: write_at(device.file, PLACE, PRECIOUS))

    def test_a_mapping_of_the_file_underneath(self):
        device = self.device()
        with open(device.file, "r+b") as file, mmap.mmap(file.fileno(), SIZE) as mapped:
            # Dirty before it is listed, so that a later store needs no fault of its own.
            mapped[PLACE : PLACE + 8] = b"harmless"

            def write():
                mapped[PLACE : PLACE + len(PRECIOUS)] = PRECIOUS

            self.attack(device, device.path, write)

    def test_another_loop_device_over_the_file(self):
        device = self.device()
        sibling = attach(device.file)
        self.addCleanup(detach, sibling)
        self.attack(device, device.path, lambda: write_at(sibling, PLACE, PRECIOUS))

    def test_the_disk_of_a_partition(self):
        device = self.device()
        partition = self.partitioned(device)
        self.attack(device, partition, lambda: write_at(device.path, PLACE, PRECIOUS))

    def test_a_loop_device_over_the_listed_one(self):
        device = self.device()
        upper = attach(device.path)
        self.addCleanup(detach, upper)
        with open(upper, "r+b", buffering=0) as disk:
            # Dirty bytes in its page cache count as written.
            self.attack(
                device, device.path, lambda: os.pwrite(disk.fileno(), PRECIOUS, PLACE), True
            )

    def test_where_a_file_system_keeps_whole_seconds(self):
        lower = os.path.join(self.directory, "fs.img")
        mount = os.path.join(self.directory, "mount")
        os.mkdir(mount)
        self.addCleanup(os.rmdir, mount)
        with open(lower, "wb") as out:
            out.truncate(128 * MIB)
        self.addCleanup(os.unlink, lower)
        call("mkfs.ext4", "-q", "-F", "-m", "0", "-I", "128", lower)
        with numbers_kept():
            call("mount", "-o", "loop", lower, mount)
        self.addCleanup(unmount, mount)
        file = os.path.join(mount, "disk.img")
        with open(file, "wb") as out:
            out.truncate(SIZE)
        path = attach(file)
        self.addCleanup(detach, path)
        fleet = self.fleet(path)
        # The listing waits until a later change has another time.
        write_at(file, PLACE, b"harmless")
        token = self.listed(fleet, path)
        write_at(file, PLACE, PRECIOUS)
        self.confirm_in_vain(fleet, path, token, file)


@needs_root
class WritesWithoutATrace(ConsentTest):
    """Devices that cannot be enrolled, since nobody would know what was written to them."""

    def refused_to_enrol(self, path, words):
        fleet = self.fleet(path)
        token = self.listed(fleet, path)
        done = self.ok(fleet.lockstep("devices", "enroll", path, "--confirm", token), 1)
        self.assertIn(words, " ".join(done.text.split()))

    def test_a_file_in_memory(self):
        directory = call("mktemp", "-d", "/dev/shm/lsmemXXXXXX")
        self.addCleanup(os.rmdir, directory)
        with LoopDevice(directory, SIZE) as device:
            before = digest(device.file)
            self.refused_to_enrol(device.path, "in memory (tmpfs)")
            self.assertEqual(digest(device.file), before)

    def test_counters_that_are_switched_off(self):
        device = self.device()
        switch = f"/sys/block/{os.path.basename(device.path)}/queue/iostats"
        self.addCleanup(call, "sh", "-c", f"echo 1 > {switch}")
        call("sh", "-c", f"echo 0 > {switch}")
        self.refused_to_enrol(device.path, "the kernel does not count what is written")
        self.assertEqual(ends(device.file), (bytes(MIB), bytes(MIB)))


@needs_root
class DirtyUnderAnotherName(ConsentTest):
    """A device that reads as zero, while another name's page cache holds what is not yet on it."""

    def attack(self, device, path, other):
        fleet = self.fleet(path, flags=())
        with open(other, "r+b", buffering=0) as disk:
            os.pwrite(disk.fileno(), PRECIOUS, PLACE)
            done = self.ok(fleet.run_job(device_job(path)), 3)
            self.assertIn("carries data", done.text)
        self.assertEqual(read_at(device.file, PLACE, len(PRECIOUS)), PRECIOUS)

    def test_another_loop_device(self):
        device = self.device()
        other = attach(device.file)
        self.addCleanup(detach, other)
        self.attack(device, device.path, other)

    def test_the_disk_of_a_partition(self):
        device = self.device()
        partition = self.partitioned(device)
        self.attack(device, partition, device.path)

    def test_a_partition_whose_node_this_worker_does_not_have(self):
        device = self.device()
        partition = self.partitioned(device)
        hidden = partition + ".hidden"
        os.rename(partition, hidden)
        self.addCleanup(os.rename, hidden, partition)
        fleet = self.fleet(device.path)
        token = self.listed(fleet, device.path)
        with open(hidden, "r+b", buffering=0) as disk:
            os.pwrite(disk.fileno(), PRECIOUS, PLACE - MIB)
            self.confirm_in_vain(fleet, device.path, token, device.file, dirty=True)


@needs_root
class BytesExchanged(ConsentTest):
    def test_an_offset_that_moves_while_a_load_writes(self):
        file = os.path.join(self.directory, "two.img")
        with open(file, "wb") as out:
            out.truncate(2 * SIZE)
        self.addCleanup(os.unlink, file)
        path = attach(file, "--sizelimit", str(SIZE))
        self.addCleanup(detach, path)
        fleet = self.fleet(path)
        self.enrol(fleet, path)
        job = (
            device_job(path)
            .replace("duration: 1s", "duration: 10m")
            .replace(f"{GENTLY}, queue_depth: 4", "queue_depth: 1, max_iops: 2")
        )
        client = fleet.start_lockstep("run", "-", stdin=f"store_filesystem: true\n{job}")
        fleet.await_phase("run")
        set_offset(path, SIZE, SIZE)
        out, err = client.communicate(timeout=300)
        self.assertEqual(client.returncode, 3, out + err)
        self.assertIn(
            "shows other bytes than when the phase was armed", " ".join((out + err).split())
        )


@needs_root
class StampsRestored(ConsentTest):
    def test_stamps_that_were_saved_before_a_release(self):
        device = self.device()
        fleet = self.fleet(device.path)
        self.enrol(fleet, device.path)
        saved = ends(device.file)
        self.ok(fleet.lockstep("devices", "release", device.path))
        write_at(device.path, PLACE, PRECIOUS)
        restore(device.path, saved)
        call("blockdev", "--flushbufs", device.path)
        for restart in (None, self.restart_controller, self.restart_worker):
            with self.subTest(restart=restart):
                if restart:
                    restart(fleet)
                for read in (0, 100):
                    job = device_job(device.path, read)
                    self.refused(fleet, job, "its stamp was released by", device.file)
                shown = fleet.lockstep("devices").out
                self.assertIn("carries a stamp that was released by", " ".join(shown.split()))
                self.assertEqual(read_at(device.file, PLACE, len(PRECIOUS)), PRECIOUS)
        # It can be taken off, and the device enrolled anew.
        self.ok(fleet.lockstep("devices", "release", device.path))
        self.assertEqual(ends(device.file), (bytes(MIB), bytes(MIB)))
        restore(device.path, saved)
        self.enrol(fleet, device.path)
        self.ok(fleet.run_job(device_job(device.path)))

    def test_stamps_of_an_enrolment_that_another_succeeded(self):
        device = self.device()
        fleet = self.fleet(device.path)
        self.enrol(fleet, device.path)
        saved = ends(device.file)
        call("mkfs.ext4", "-q", "-F", device.path)
        call("blockdev", "--flushbufs", device.path)
        self.enrol(fleet, device.path)
        write_at(device.path, PLACE, PRECIOUS)
        restore(device.path, saved)
        call("blockdev", "--flushbufs", device.path)
        self.refused(fleet, device_job(device.path), "its stamp was released by", device.file)

    def test_stamps_of_an_enrolment_that_another_host_succeeded(self):
        with Tgt(luns=1) as tgt:
            url, image = tgt.url(1), tgt.image(1)
            fleet = self.fleet(url, workers=2)
            listed = self.listed(fleet, identity(1))
            self.ok(fleet.lockstep("devices", "enroll", identity(1), "--confirm", listed))
            saved = ends(image)
            call("mkfs.ext4", "-q", "-F", image)
            # node1, which wrote the stamp, has gone: node2 writes the next.
            stop(fleet.workers["node1"])
            fleet.wait_attached(1)
            self.ok(fleet.lockstep("devices", "enroll", url, "--confirm", self.listed(fleet, url)))
            self.ok(fleet.lockstep("devices", "release", url))
            write_at(image, PLACE, PRECIOUS)
            restore(image, saved)
            job = (
                "name: lun\nhosts: {count: 1}\n"
                f"targets: [{{name: lun, iscsi: {{url: '{url}'}}}}]\n"
                "phases:\n  - run: {duration: 1s, workloads: [{block_size: 64KiB, read: 0%}]}\n"
            )
            self.refused(fleet, job, "its stamp was released by", image)

    def test_stamps_of_a_release_after_mkfs(self):
        device = self.device()
        fleet = self.fleet(device.path)
        self.enrol(fleet, device.path)
        saved = ends(device.file)
        call("mkfs.ext4", "-q", "-F", device.path)
        call("blockdev", "--flushbufs", device.path)
        # There is no stamp to take off, and an enrolment to end.
        fleet.lockstep("devices", "release", device.path)
        write_at(device.path, PLACE, PRECIOUS)
        restore(device.path, saved)
        call("blockdev", "--flushbufs", device.path)
        self.refused(fleet, device_job(device.path), "its stamp was released by", device.file)


@needs_root
class IdentitiesUsedAgain(ConsentTest):
    def test_a_copy_of_the_file_system_below_the_image(self):
        """The same inode of the same device number, with both stamps."""
        image = os.path.join(self.directory, "fs.img")
        other = os.path.join(self.directory, "other.img")
        mount = os.path.join(self.directory, "mount")
        os.mkdir(mount)
        self.addCleanup(os.rmdir, mount)
        for path in (image, other):
            self.addCleanup(lambda path=path: os.path.exists(path) and os.unlink(path))
        with open(image, "wb") as out:
            out.truncate(128 * MIB)
        call("mkfs.ext4", "-q", "-F", "-m", "0", image)
        disk = os.path.join(mount, "disk.img")
        lower = attach(image)
        self.addCleanup(detach, lower)
        call("mount", lower, mount)
        self.addCleanup(lambda: subprocess.run(["umount", mount], check=False))
        with open(disk, "wb") as out:
            out.truncate(SIZE)
        upper = attach(disk)
        self.addCleanup(detach, upper)
        fleet = self.fleet(upper)
        self.enrol(fleet, upper)
        self.ok(fleet.run_job(device_job(upper)))
        shown = self.state(fleet, upper)["identity"]
        stop(fleet.workers["node1"])
        fleet.wait_attached(0)
        with numbers_kept():
            detach(upper)
            unmount(mount)
            detach(lower)
            shutil.copyfile(image, other)
            attach_as(lower, other)
            call("mount", lower, mount)
            write_at(disk, PLACE, PRECIOUS)
            attach_as(upper, disk)
        fleet.start_worker("node1")
        fleet.wait_attached(1)
        self.assertEqual(self.state(fleet, upper)["identity"], shown, "the identity is the same")
        self.refused(fleet, device_job(upper), "is of an earlier attachment of it", disk)
        self.assertEqual(read_at(disk, PLACE, len(PRECIOUS)), PRECIOUS)


@needs_root
class TokensGivenTwice(ConsentTest):
    def test_for_a_lun(self):
        with Tgt(luns=1) as tgt:
            url, image = tgt.url(1), tgt.image(1)
            fleet = self.fleet(url)
            token = self.listed(fleet, identity(1))
            words = ("devices", "enroll", identity(1), "--confirm", token)
            self.ok(fleet.lockstep(*words))
            self.ok(fleet.lockstep("devices", "release", url))
            write_at(image, PLACE, PRECIOUS)
            self.confirm_in_vain(fleet, identity(1), token, image)
            self.restart_controller(fleet)
            self.confirm_in_vain(fleet, identity(1), token, image)
