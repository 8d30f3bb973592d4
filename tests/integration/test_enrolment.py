"""Enrolled devices: who may enrol, what jobs then may do, and what takes the consent away again.
Real loop devices, real tools, a real SAN; hashes before and after."""

import os
import subprocess
import unittest

from device_jobs import call, converse, device_job, digest, write_lvm_label
from fleet import Fleet, needs_root, stop, wait_for
from loops import MIB, LoopDevice, attach, detach, unmount
from san import Tgt, identity

SIZE = 64 * MIB


def ends(path):
    """The first and the last MiB."""
    with open(path, "rb") as data:
        first = data.read(MIB)
        data.seek(-MIB, os.SEEK_END)
        return first, data.read()


def middle(path):
    with open(path, "rb") as data:
        return data.read()[MIB:-MIB]


def write_at(path, offset, what):
    with open(path, "r+b") as out:
        out.seek(offset)
        out.write(what)


def fill(path):
    """Data without a signature, beyond what samples read as well."""
    write_at(path, 0, os.urandom(MIB) * (SIZE // MIB))


class EnrolmentTest(unittest.TestCase):
    def setUp(self):
        self.directory = call("mktemp", "-d", "/tmp/lsenrolXXXXXX")
        self.addCleanup(os.rmdir, self.directory)

    def device(self):
        device = LoopDevice(self.directory, SIZE)
        device.__enter__()
        self.addCleanup(device.__exit__)
        return device

    def fleet(self, *allow, workers=1, flags=("--allow-enroll",)):
        # A worker that was stopped is forgotten after its lease.
        lease = ["--lease", "4"]
        fleet = Fleet(workers, allow=list(allow), worker_flags=list(flags), controller_flags=lease)
        fleet.__enter__()
        self.addCleanup(fleet.__exit__)
        return fleet

    def ok(self, done, status=0):
        self.assertEqual(done.status, status, str(done))
        return done

    def enrol(self, fleet, *words):
        """Lists and confirms: again where a host answered too late for one of the two listings."""
        for _ in range(5):
            listed = self.ok(fleet.lockstep("devices", "enroll", *words, "--format", "json")).json()
            done = fleet.lockstep("devices", "enroll", *words, "--confirm", listed["token"])
            if "the confirmed listing is out of date" not in done.err:
                break
        return self.ok(done)

    def state(self, fleet, name):
        """Returns the state of a device in a listing for enrolment."""
        listed = fleet.lockstep("devices", "enroll", name, "--format", "json").json()
        (device,) = listed["devices"]
        return device

    def refused(self, fleet, job, words, path):
        before = digest(path)
        done = self.ok(fleet.run_job(job), 3)
        self.assertIn(words, done.text)
        self.assertEqual(digest(path), before)


@needs_root
class Devices(EnrolmentTest):
    def test_an_enrolled_device_is_overwritten_and_keeps_stamps(self):
        device = self.device()
        fill(device.file)
        fleet = self.fleet(device.path, workers=2)
        job = device_job(device.path)
        self.refused(fleet, job, "carries data without a known signature", device.file)
        before = digest(device.file)
        listed = self.ok(fleet.lockstep("devices", "enroll", device.path), 1)
        self.assertIn("nothing was written; to enrol 1 device", listed.out)
        self.assertIn("data without a known signature (not zero at offset", listed.text)
        self.assertIn("All data on this device is lost at once", listed.out)
        self.assertEqual(digest(device.file), before, "a listing writes nothing")
        self.assertIn("1 device enrolled", self.enrol(fleet, device.path).out)
        stamps = ends(device.file)
        self.assertNotEqual(digest(device.file), before)
        planned = self.ok(fleet.lockstep("plan", "-", stdin="store_filesystem: true\n" + job))
        self.assertIn("overwrites 62 MiB between the stamps", planned.text)
        workloads = (
            "workloads: [{block_size: 64KiB, read: 0%, queue_depth: 8, operations: 500}]",
            "workloads: [{pattern: sequential, block_size: 1MiB, read: 0%, passes: 1}]",
            "workloads: [{block_size: 64KiB, read: 0%, trim: 100%, operations: 500}]",
            "workloads: [{block_size: 4KiB, read: 50%, operations: 500, verify: true}]",
            "workloads: [{block_size: 4MiB, read: 0%, operations: 50}]",
        )
        phases = "".join(f"  - {{name: p{i}, run: {{{w}}}}}\n" for i, w in enumerate(workloads))
        for sharing in ("", ", sharing: sliced", ", sharing: interleaved, stripe: 4MiB"):
            with self.subTest(sharing=sharing):
                before = middle(device.file)
                loaded = fleet.run_job(
                    "name: load\nhosts: {count: 2}\n"
                    f"targets: [{{name: disk, device: {{path: {device.path}}}{sharing}}}]\n"
                    f"phases:\n{phases}"
                )
                self.ok(loaded)
                self.assertEqual(ends(device.file), stamps)
                self.assertNotEqual(middle(device.file), before)

    def test_two_sliced_hosts_fill_all_that_lies_between_the_stamps(self):
        device = self.device()
        fleet = self.fleet(device.path, workers=2)
        self.enrol(fleet, device.path)
        stamps = ends(device.file)
        self.ok(
            fleet.run_job(
                "name: fill\nhosts: {count: 2}\n"
                f"targets: [{{name: d, device: {{path: {device.path}}}, sharing: sliced}}]\n"
                "phases:\n  - run: {workloads: [{pattern: sequential, block_size: 1MiB,\n"
                "           read: 0%, passes: 1}]}\n"
            )
        )
        self.assertEqual(ends(device.file), stamps)
        written = middle(device.file)
        holes = [at for at in range(0, len(written), MIB) if not any(written[at : at + 4096])]
        self.assertEqual(holes, [])

    def test_others_verify_what_hosts_wrote_to_enrolled_devices(self):
        device = self.device()
        fleet = self.fleet(device.path, workers=2)
        self.enrol(fleet, device.path)
        done = self.ok(
            fleet.run_job(
                "name: verified\nhosts: {count: 2}\n"
                f"targets: [{{name: d, device: {{path: {device.path}}}, sharing: sliced}}]\n"
                "phases:\n"
                "  - precondition: {block_size: 64KiB, verify: true}\n"
                "  - {name: ring, verify: {block_size: 64KiB, readers: ring}}\n",
                "--format",
                "json",
            )
        ).json()
        check = done["phases"][1]["workloads"][0]["verification"]
        self.assertEqual(
            (check["checked"], check["mismatches"], check["notCheckable"]),
            (62 * MIB // 65536, 0, 0),
        )

    def test_any_use_of_the_device_takes_the_consent_away(self):
        def partitioned(kind):
            return lambda path: call("sfdisk", "-q", path, input=f"label: {kind}\n,\n")

        begin = {
            "ext4": lambda path: call("mkfs.ext4", "-q", "-F", path),
            "xfs": lambda path: call("mkfs.xfs", "-q", "-f", "-m", "crc=1", path),
            "swap": lambda path: call("mkswap", path),
            "gpt": partitioned("gpt"),
            "dos": partitioned("dos"),
            "LVM": write_lvm_label,
            "its last bytes": lambda path: write_at(path, SIZE - 512, b"somebody's"),
            "its first bytes": lambda path: write_at(path, 0, b"somebody's"),
        }
        device = self.device()
        fleet = self.fleet(device.path)
        job = device_job(device.path)
        for name, use in begin.items():
            with self.subTest(use=name):
                # Large enough for all of them.
                os.truncate(device.file, 0)
                os.truncate(device.file, 512 * MIB if name == "xfs" else SIZE)
                call("losetup", "-c", device.path)
                fill(device.file)
                self.enrol(fleet, device.path)
                self.ok(fleet.run_job(job))
                use(device.path)
                call("blockdev", "--flushbufs", device.path)
                self.refused(fleet, job, "carries", device.file)

    def test_a_token_is_of_what_was_listed(self):
        device = self.device()
        fleet = self.fleet(device.path)
        listed = fleet.lockstep("devices", "enroll", device.path, "--format", "json").json()
        call("mkfs.ext4", "-q", "-F", device.path)
        before = digest(device.file)
        for token in (listed["token"], "01234567-" + 24 * "a", "yes"):
            with self.subTest(token=token):
                done = self.ok(
                    fleet.lockstep("devices", "enroll", device.path, "--confirm", token), 1
                )
                self.assertIn("nothing was written", done.err)
                self.assertEqual(digest(device.file), before)
        # The plan of a job confirms a job, and no enrolment.
        planned = fleet.lockstep(
            "plan",
            "-",
            "--format",
            "json",
            stdin=f"store_filesystem: true\n{device_job(device.path, 100)}",
        ).json()
        done = fleet.lockstep("devices", "enroll", device.path, "--confirm", planned["token"])
        self.assertIn("nothing was written", self.ok(done, 1).err)
        self.assertEqual(digest(device.file), before)

    def test_a_write_between_samples_and_confirmation_is_noticed(self):
        device = self.device()
        fleet = self.fleet(device.path)
        listed = fleet.lockstep("devices", "enroll", device.path, "--format", "json").json()
        # Beyond what samples of a device of this size read.
        with open(device.path, "r+b") as disk:
            disk.seek(20 * MIB + 4096)
            disk.write(b"precious" * 512)
        done = self.ok(
            fleet.lockstep("devices", "enroll", device.path, "--confirm", listed["token"]), 1
        )
        self.assertIn("nothing was written", done.err)
        with open(device.path, "rb") as disk:
            self.assertEqual(disk.read(MIB), bytes(MIB))
        # Listed anew, it can be confirmed.
        listed = fleet.lockstep("devices", "enroll", device.path, "--format", "json").json()
        self.ok(fleet.lockstep("devices", "enroll", device.path, "--confirm", listed["token"]))

    def test_a_signature_is_enrolled_only_where_the_device_is_named(self):
        device = self.device()
        call("mkfs.ext4", "-q", "-F", device.path)
        fleet = self.fleet(device.path)
        listed = self.ok(fleet.lockstep("devices", "enroll", "--hosts", "node1"), 1)
        self.assertIn("type ext4; name it to enrol it all the same", listed.out)
        before = digest(device.file)
        mount = os.path.join(self.directory, "mount")
        os.mkdir(mount)
        self.addCleanup(os.rmdir, mount)
        call("mount", device.path, mount)
        try:
            listed = self.ok(fleet.lockstep("devices", "enroll", device.path), 1)
            self.assertIn("mounted", listed.out)
        finally:
            unmount(mount)
        call("blockdev", "--flushbufs", device.path)
        self.assertNotEqual(before, "")
        self.enrol(fleet, device.path)
        self.ok(fleet.run_job(device_job(device.path)))

    def test_a_partition_table_goes_with_its_partitions(self):
        device = self.device()
        call("sfdisk", "-q", device.path, input="label: gpt\n,\n")
        # The kernel has it, too: one that looks for partitions on loop devices.
        device.detach()
        device.path = attach(device.file, "-P")
        device.attached = True
        subprocess.run(["partx", "-a", device.path], check=False, capture_output=True)
        partition = f"/sys/class/block/{os.path.basename(device.path)}p1"
        self.assertTrue(os.path.exists(partition))
        fleet = self.fleet(device.path)
        self.enrol(fleet, device.path)
        wait_for("the partition to go", lambda: not os.path.exists(partition))

    def test_the_name_that_the_worker_allows_is_a_name_of_the_device(self):
        device = self.device()
        link = f"/dev/lockstep-test-{os.getpid()}"
        os.symlink(device.path, link)
        self.addCleanup(os.unlink, link)
        fleet = self.fleet(link)
        self.assertIn("1 device enrolled", self.enrol(fleet, link).out)
        self.ok(fleet.run_job(device_job(link)))
        self.assertIn("1 device released", fleet.lockstep("devices", "release", link).out)

    def test_parts_of_one_image_are_devices_of_their_own(self):
        image = self.device()
        fill(image.file)
        parts = []
        for offset in (0, SIZE // 2):
            words = ("--offset", str(offset), "--sizelimit", str(SIZE // 2))
            parts.append(attach(image.file, *words))
            self.addCleanup(detach, parts[-1])
        call("mkfs.ext4", "-q", "-F", parts[0])
        call("blockdev", "--flushbufs", parts[0])
        fleet = self.fleet(*parts)
        first = digest(parts[0])
        self.enrol(fleet, parts[1])
        self.assertEqual(digest(parts[0]), first)
        self.assertEqual(self.state(fleet, parts[1])["leftOut"], "is enrolled already")
        self.assertFalse(self.state(fleet, parts[0])["enrolled"])
        self.refused(fleet, device_job(parts[0]), "type ext4", parts[0])
        self.ok(fleet.run_job(device_job(parts[1])))
        self.assertEqual(digest(parts[0]), first)
        # A copy of both stamps makes no stamp of the other part.
        for offset in (0, SIZE // 2 - MIB):
            with open(parts[1], "rb") as data:
                data.seek(offset)
                write_at(parts[0], offset, data.read(MIB))
        call("blockdev", "--flushbufs", parts[0])
        self.refused(fleet, device_job(parts[0]), "its stamp is of another device", parts[0])

    def test_a_mounted_part_of_the_image_whose_path_leads_elsewhere(self):
        device = self.device()
        part = attach(device.file, "--offset", str(4 * MIB))
        self.addCleanup(detach, part)
        call("mkfs.ext4", "-q", "-F", part)
        mount = call("mktemp", "-d", "/tmp/lsmountXXXXXX")
        self.addCleanup(os.rmdir, mount)
        fleet = self.fleet(device.path)
        call("blockdev", "--flushbufs", device.path)
        self.enrol(fleet, device.path)
        # A look at the device flushes the dirty pages of its other names: there shall be none.
        call("mount", "-o", "ro", part, mount)
        self.addCleanup(unmount, mount)
        call("blockdev", "--flushbufs", part)
        # Another file has the image's name by now.
        os.rename(device.file, device.file + ".real")
        self.addCleanup(os.rename, device.file + ".real", device.file)
        call("mount", "-t", "tmpfs", "none", self.directory)
        self.addCleanup(unmount, self.directory)
        with open(device.file, "wb") as decoy:
            decoy.truncate(SIZE)
        before = digest(device.path)
        done = self.ok(fleet.run_job(device_job(device.path)), 3)
        self.assertIn("which is", done.text)
        self.assertIn("a device in use is never written", done.text)
        self.assertEqual(digest(device.path), before)

    def test_only_a_worker_whose_operator_allows_it_writes_stamps(self):
        device = self.device()
        fleet = self.fleet(device.path, flags=())
        before = digest(device.file)
        listed = self.ok(fleet.lockstep("devices", "enroll", device.path), 1)
        self.assertIn("started without --allow-enroll (node1)", listed.out)
        other = self.ok(fleet.lockstep("devices", "enroll", "--hosts", "node[1-2]"), 1)
        self.assertIn("no worker is attached of node2", other.err)
        self.assertEqual(digest(device.file), before)

    def test_consent_is_taken_back_where_none_is_given_any_more(self):
        device = self.device()
        fleet = self.fleet(device.path)
        self.enrol(fleet, device.path)
        again = self.ok(fleet.lockstep("devices", "enrol", device.path))
        self.assertIn("is enrolled already", again.out)
        empty = self.ok(fleet.lockstep("devices", "enroll", device.path, "--confirm", ""), 1)
        self.assertIn("give the token of a listing", empty.err)
        stop(fleet.workers["node1"])
        fleet.wait_attached(0)
        fleet.worker_flags = []
        fleet.start_worker("node1")
        fleet.wait_attached(1)
        self.ok(fleet.lockstep("devices", "release", device.path))
        self.assertEqual(ends(device.file), (bytes(MIB), bytes(MIB)))

    def test_another_store_s_enrolment_counts_for_nothing(self):
        device = self.device()
        fill(device.file)
        first = self.fleet(device.path)
        self.enrol(first, device.path)
        self.ok(first.run_job(device_job(device.path)))
        other = self.fleet(device.path)
        words = "store does not know"
        self.refused(other, device_job(device.path), words, device.file)
        self.assertIn(words, self.state(other, device.path)["carries"])

    def test_what_was_released_needs_today_s_consent_again(self):
        device = self.device()
        fill(device.file)
        fleet = self.fleet(device.path)
        self.enrol(fleet, device.path)
        kept = middle(device.file)
        released = self.ok(fleet.lockstep("devices", "release", device.path))
        self.assertIn("1 device released", released.out)
        self.assertEqual(ends(device.file), (bytes(MIB), bytes(MIB)))
        self.assertEqual(middle(device.file), kept)
        self.refused(fleet, device_job(device.path), "carries data", device.file)
        # At once, not a second later.
        self.assertNotIn("enrolled 2", fleet.lockstep("devices").out)
        again = self.ok(fleet.lockstep("devices", "release", device.path), 1)
        self.assertIn("is not enrolled", again.out)
        audited = fleet.lockstep("audit", "--format", "json").json()["entries"]
        done = [(entry["action"], entry["subject"]) for entry in audited]
        self.assertIn(("enroll", device.identity), done)
        self.assertIn(("release", device.identity), done)

    def test_a_device_in_use_is_neither_enrolled_nor_released(self):
        device = self.device()
        fleet = self.fleet(device.path)
        self.enrol(fleet, device.path)
        job = device_job(device.path).replace("duration: 1s", "duration: 10m")
        run = self.ok(fleet.lockstep("submit", "-", stdin="store_filesystem: true\n" + job))
        fleet.await_phase("run")
        listed = self.ok(fleet.lockstep("devices", "release", device.path), 1)
        self.assertRegex(listed.out, "run [0-9a-f]{8} uses it")
        self.ok(fleet.lockstep("stop", "last", "--now"))
        wait_for("the run to end", lambda: "nothing is queued" in fleet.lockstep("status").out)
        self.assertTrue(run.out)
        self.assertTrue(self.state(fleet, device.path)["enrolled"])

    def test_a_stamp_that_goes_between_two_phases_ends_the_run(self):
        device = self.device()
        fleet = self.fleet(device.path)
        self.enrol(fleet, device.path)
        job = (
            f"name: two\nhosts: {{count: 1}}\n"
            f"targets: [{{name: disk, device: {{path: {device.path}}}}}]\n"
            "phases:\n"
            "  - {name: first, run: {duration: 10m, workloads: [{read: 100%, max_iops: 50}]}}\n"
            "  - {name: second, run: {duration: 1s, workloads: [{read: 0%, max_iops: 50}]}}\n"
        )
        client = fleet.start_lockstep("run", "-", stdin="store_filesystem: true\n" + job)
        fleet.await_phase("first")
        # Nothing keeps a program from that writes without asking for the device alone.
        write_at(device.path, 4096, b"somebody's")
        call("blockdev", "--flushbufs", device.path)
        before = digest(device.file)
        self.ok(fleet.lockstep("stop", "last", "--phase"))
        out, err = client.communicate(timeout=300)
        self.assertEqual(client.returncode, 3, out + err)
        self.assertIn("its stamp is overwritten at offset 4096", " ".join((out + err).split()))
        self.assertEqual(digest(device.file), before)

    def test_a_person_is_asked(self):
        device = self.device()
        fleet = self.fleet(device.path)
        words = fleet.words(("devices", "enroll", device.path))
        for answer, status, is_enrolled in (("no", 1, False), ("yes", 0, True)):
            with self.subTest(answer=answer):
                seen, ended = converse(
                    words, "type yes to enrol 1 device", answer, fleet.environment()
                )
                self.assertEqual(ended, status, seen)
                listed = self.state(fleet, device.path)
                self.assertEqual(bool(listed.get("enrolled")), is_enrolled, seen)


@needs_root
class Luns(EnrolmentTest):
    def test_luns_alike(self):
        with Tgt(luns=1) as tgt:
            url, image = tgt.url(1), tgt.image(1)
            fill(image)
            fleet = self.fleet(url, workers=2)
            job = (
                "name: lun\nhosts: {count: 2}\n"
                f"targets: [{{name: lun, iscsi: {{url: '{url}'}}, sharing: sliced}}]\n"
                "phases:\n  - run: {duration: 1s, workloads: "
                "[{block_size: 64KiB, read: 0%, max_iops: 500}]}\n"
            )
            self.refused(fleet, job, "carries data without a known signature", image)
            self.assertIn("1 device enrolled", self.enrol(fleet, identity(1)).out)
            stamps = ends(image)
            before = middle(image)
            self.ok(fleet.run_job(job))
            self.assertEqual(ends(image), stamps)
            self.assertNotEqual(middle(image), before)
            listed = fleet.lockstep("devices").out
            self.assertRegex(listed, "enrolled 2[0-9-]+T[0-9:]+Z by local")
            subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True, capture_output=True)
            self.refused(fleet, job, "type ext4", image)
            self.assertNotIn("is enrolled already", str(self.state(fleet, identity(1))))
            self.enrol(fleet, identity(1))
            self.assertIn(
                "1 device released", self.ok(fleet.lockstep("devices", "release", url)).out
            )
            self.assertEqual(ends(image), (bytes(MIB), bytes(MIB)))
