"""Copies between files and devices: every byte, in every engine, and nobody else may read them."""

import contextlib
import filecmp
import os
import tempfile

from device_jobs import call
from fleet import Fleet, FleetTest, needs_root
from loops import MIB, LoopDevice, attach, detach, unmount

PARTS = "  - prepare: {targets: [src]}\n"
# The destination has other bytes than the source before.
ZEROS = "  - prepare: {targets: [dst], content: zeros}\n"


def file(name, path, size="8MiB", more=""):
    return f'{{name: {name}, file: {{path: "{path}", size: {size}{more}}}}}'


def copy_job(targets, phases, extra=""):
    named = ", ".join(targets)
    return f"name: copy\nhosts: {{count: 1}}\n{extra}targets: [{named}]\nphases:\n{phases}"


def load(workload, name="load", run=""):
    return f"  - name: {name}\n    run: {{{run}workloads: [{{{workload}}}]}}\n"


def operations(phase):
    return {one["kind"]: one for one in phase["workloads"][0]["operations"]}


class Copies(FleetTest):
    workers = 1

    def path(self, name):
        return os.path.join(self.fleet.data, "node1", name)

    def targets(self, size="8MiB"):
        return [
            file(name, f"{self.fleet.data}/{{host}}/{name}", size if name == "src" else "8MiB")
            for name in ("src", "dst")
        ]

    def run_phases(self, targets, phases, status=0):
        done = self.ok(self.fleet.run_job(copy_job(targets, phases), "--format", "json"), status)
        return {phase["name"]: phase for phase in done.json()["phases"]}

    def assert_copied(self, phase, source, copy, bytes_each):
        found = operations(phase)
        for kind in ("read", "write"):
            self.assertEqual(found[kind]["bytes"], bytes_each, kind)
            self.assertEqual(found[kind]["errors"], 0, kind)
        self.assertEqual(os.path.getsize(source), bytes_each)
        self.assertTrue(filecmp.cmp(source, copy, shallow=False))
        self.assertEqual(os.stat(copy).st_mode & 0o7777, 0o600)
        self.assertEqual(phase["workloads"][0]["copy"].get("sentence", ""), "")

    def test_each_engine_copies_every_byte(self):
        for engine in (
            "io_uring, queue_depth: 8",
            "io_uring, queue_depth: 32, threads: 3, pattern: shuffled",
            "io_uring, queue_depth: 4, threads: 2, pattern: {sequential: {shared: true}}",
            "libaio, queue_depth: 4",
            "sync",
            "preadv2",
            "mmap, direct: false",
        ):
            with self.subTest(engine=engine):
                phases = PARTS + ZEROS
                phases += load(f"copy: {{from: src, to: dst}}, block_size: 64KiB, engine: {engine}")
                found = self.run_phases(self.targets(), phases)
                self.assert_copied(found["load"], self.path("src"), self.path("dst"), 8 * MIB)
                self.assertIn("copy of src to dst", found["load"]["workloads"][0]["summary"])

    def test_a_copy_makes_its_files_and_syncs_them(self):
        targets = [self.targets()[0], file("new", f"{self.fleet.data}/{{host}}/new/file")]
        workload = "copy: {from: src, to: new}, block_size: 1MiB, queue_depth: 4, create: true"
        phases = PARTS + load(workload + ", fsync: {every: 4, at_end: true}")
        found = self.run_phases(targets, phases)
        self.assert_copied(found["load"], self.path("src"), self.path("new/file"), 8 * MIB)
        self.assertEqual(operations(found["load"])["fsync"]["operations"], 2)
        # It is Lockstep's own, so that a later run may copy to it again, and a cleanup remove it.
        found = self.run_phases(targets, PARTS + load(workload) + "  - cleanup:\n")
        self.assertEqual(operations(found["load"])["write"]["operations"], 8)
        self.assertFalse(os.path.exists(self.path("new/file")))

    def test_a_copy_that_ends_early_says_so_first(self):
        workload = "copy: {from: src, to: dst}, block_size: 4KiB, max_iops: 200"
        phases = PARTS + ZEROS + load(workload, run="duration: 1s, ")
        done = self.ok(
            self.fleet.run_job(copy_job(self.targets(), phases), "--format", "json")
        ).json()
        (phase,) = [phase for phase in done["phases"] if phase["name"] == "load"]
        copy = phase["workloads"][0]["copy"]
        self.assertEqual((copy["blocks"], copy["cause"]), (2048, "the load ended first"))
        sentence = f"copy incomplete: {copy['uncopied']:,.0f} of 2,048 blocks were not copied"
        self.assertEqual(copy["sentence"], sentence)
        self.assertTrue(done["run"]["conclusion"].startswith(sentence), done["run"])
        self.assertIn(sentence, " ".join(done["verdict"]["warnings"]))
        text = self.ok(self.fleet.lockstep("report", "last")).text
        self.assertIn(sentence, " ".join(text.split()))
        required = phases.replace("duration: 1s", "duration: 1s, expect: {complete_copy: true}")
        done = self.fleet.run_job(copy_job(self.targets(), required))
        self.assertEqual(done.status, 4, str(done))

    def test_several_files_become_one(self):
        targets = [
            file("src", f"{self.fleet.data}/{{host}}/part.{{file}}", "1MiB", ", count: 3"),
            file("dst", f"{self.fleet.data}/{{host}}/whole", "3MiB"),
        ]
        phases = PARTS + load("copy: {from: src, to: dst}, block_size: 128KiB, create: true")
        self.run_phases(targets, phases)
        whole = b""
        for number in range(3):
            with open(self.path(f"part.{number}"), "rb") as part:
                whole += part.read()
        with open(self.path("whole"), "rb") as copy:
            self.assertEqual(copy.read(), whole)

    def test_more_threads_than_blocks_copy_each_once(self):
        phases = PARTS + ZEROS
        phases += load("copy: {from: src, to: dst}, block_size: 2MiB, threads: 7, passes: 2")
        found = self.run_phases(self.targets(), phases)
        self.assertEqual(operations(found["load"])["read"]["operations"], 8)
        self.assertTrue(filecmp.cmp(self.path("src"), self.path("dst"), shallow=False))

    def test_a_copy_with_verify_is_verified_afterwards(self):
        headers = "  - precondition: {targets: [src], block_size: 64KiB, verify: true}\n"
        before = "  - prepare:\n" + headers
        workload = "copy: {from: src, to: dst}, block_size: 64KiB, queue_depth: 8"
        phases = before + load(workload + ", verify: true") + "  - verify:\n"
        found = self.run_phases(self.targets(), phases)
        copy = found["load"]["workloads"][0]["verification"]
        verify = found["verify"]["workloads"][0]["verification"]
        for verification, blocks in ((copy, 128), (verify, 256)):
            self.assertEqual(
                (
                    verification["checked"],
                    verification["notCheckable"],
                    verification["mismatches"],
                ),
                (blocks, 0, 0),
            )
        # Without it the copy is exact, and what it holds is verified at its source.
        exact = before + load(workload) + "  - verify: {targets: [src]}\n"
        found = self.run_phases(self.targets(), exact)
        self.assertEqual(found["verify"]["workloads"][0]["verification"]["checked"], 128)
        self.assertTrue(filecmp.cmp(self.path("src"), self.path("dst"), shallow=False))
        wrong = exact.replace("[src]}\n", "[dst]}\n")
        self.refused("was copied without verify", self.targets(), wrong)
        # Also where another job names the run.
        later = "  - verify: {targets: [dst], block_size: 64KiB, of_run: last}\n"
        self.refused("'dst' was copied without verify", self.targets(), later)

    def refused(self, words, targets, phases):
        done = self.fleet.run_job(copy_job(targets, phases))
        self.assertIn(done.status, (2, 3), str(done))
        self.assertIn(words, " ".join((done.out + done.err).split()))

    def test_what_cannot_be_copied_is_refused(self):
        copy = load("copy: {from: src, to: dst}, block_size: 64KiB")
        self.run_phases(self.targets(), PARTS + ZEROS + copy)
        before = os.stat(self.path("dst")).st_mtime_ns
        self.refused("at least as large", self.targets("9MiB"), copy)
        self.refused("fits", self.targets("7168512"), copy)
        same = [
            file("src", f"{self.fleet.data}/{{host}}/dst"),
            file("dst", self.path("dst")),
        ]
        self.refused("the same bytes under two names", same, copy)
        link = self.path("link")
        os.link(self.path("dst"), link)
        try:
            linked = [file("src", link), file("dst", self.path("dst"))]
            self.refused("the same bytes under two names", linked, copy)
        finally:
            os.unlink(link)
        self.refused("needs two targets", self.targets(), copy.replace("to: dst", "to: src"))
        self.assertEqual(os.stat(self.path("dst")).st_mtime_ns, before)

    def test_who_opened_the_destination_before_reads_no_copy(self):
        targets = self.targets()
        copy = load("copy: {from: src, to: dst}, block_size: 64KiB")
        for create in (False, True):
            self.run_phases(targets, "  - prepare: {rewrite: true}\n")
            os.chmod(self.path("dst"), 0o644)
            with open(self.path("dst"), "rb") as early:
                self.refused("other users may open", targets, copy)
                phases = "  - prepare:\n" + copy
                if create:
                    phases = copy.replace("64KiB", "64KiB, create: true")
                self.run_phases(targets, phases)
                with open(self.path("src"), "rb") as source:
                    self.assertNotEqual(early.read(), source.read())
            self.assertEqual(os.stat(self.path("dst")).st_mode & 0o7777, 0o600)
            self.assertTrue(filecmp.cmp(self.path("src"), self.path("dst"), shallow=False))
            self.run_phases(targets, "  - cleanup:\n")

    def test_somebody_elses_file_is_read_and_never_written(self):
        os.makedirs(self.path(""), exist_ok=True)
        secret = self.path("secret")
        content = os.urandom(MIB)
        with open(secret, "wb") as out:
            out.write(content)
        os.chmod(secret, 0o600)
        before = os.stat(secret)
        targets = [
            file("theirs", secret, "1MiB"),
            file("own", f"{self.fleet.data}/{{host}}/own", "1MiB"),
        ]
        self.run_phases(targets, load("copy: {from: theirs, to: own}, create: true"))
        self.assertEqual(os.stat(self.path("own")).st_mode & 0o7777, 0o600)
        self.assertTrue(filecmp.cmp(secret, self.path("own"), shallow=False))
        for create in ("", ", create: true"):
            back = load("copy: {from: own, to: theirs}" + create)
            done = self.fleet.run_job(copy_job(targets, back))
            self.assertNotEqual(done.status, 0, str(done))
        after = os.stat(secret)
        self.assertEqual(
            (after.st_ino, after.st_mtime_ns, after.st_mode),
            (before.st_ino, before.st_mtime_ns, before.st_mode),
        )
        with open(secret, "rb") as text:
            self.assertEqual(text.read(), content)


@needs_root
class DeviceCopies(FleetTest):
    """From a file to a device that holds nothing yet, and from there to another file."""

    workers = 1

    @classmethod
    def setUpClass(cls):
        cls.stack = contextlib.ExitStack()
        try:
            cls.folder = cls.stack.enter_context(tempfile.TemporaryDirectory())
            cls.disk = cls.stack.enter_context(LoopDevice(cls.folder, 16 * MIB))
            cls.fleet_options = {"allow": [cls.disk.path]}
            super().setUpClass()
        except BaseException:
            cls.stack.close()
            raise

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.stack.close()

    def test_there_and_back(self):
        targets = [
            file("src", f"{self.fleet.data}/{{host}}/src", "16MiB"),
            f"{{name: disk, device: {{path: {self.disk.path}}}}}",
            file("back", f"{self.fleet.data}/{{host}}/back", "16MiB"),
        ]
        common = "block_size: 256KiB, queue_depth: 8"
        phases = PARTS + load(f"copy: {{from: src, to: disk}}, {common}", "there")
        phases += load(f"copy: {{from: disk, to: back}}, {common}, create: true", "back")
        done = self.ok(self.fleet.run_job(copy_job(targets, phases), "--format", "json"))
        for phase in done.json()["phases"]:
            if phase["name"] not in ("there", "back"):
                continue
            found = operations(phase)
            self.assertEqual((found["read"]["bytes"], found["write"]["bytes"]), (16 * MIB,) * 2)
        source = os.path.join(self.fleet.data, "node1", "src")
        back = os.path.join(self.fleet.data, "node1", "back")
        self.assertTrue(filecmp.cmp(source, back, shallow=False))
        with open(self.disk.path, "rb") as disk, open(source, "rb") as text:
            self.assertEqual(disk.read(), text.read())
        # It carries data now, so that nothing is copied to it without consent.
        refused = self.fleet.run_job(
            copy_job(targets, load(f"copy: {{from: src, to: disk}}, {common}"))
        )
        self.assertNotEqual(refused.status, 0, str(refused))

    def test_a_file_that_another_user_owns_is_no_destination(self):
        with Fleet(0) as fleet:
            theirs = os.path.join(fleet.data, "theirs")
            content = os.urandom(MIB)
            with open(theirs, "wb") as out:
                out.write(content)
            os.chmod(theirs, 0o600)
            os.chown(theirs, 65534, 65534)
            # The consent to lose its content is none to give its owner the source's.
            fleet.worker_flags = ["--allow-expendable", theirs]
            fleet.start_worker("node1")
            fleet.wait_attached(1)
            targets = [file("src", f"{fleet.data}/own", "1MiB"), file("theirs", theirs, "1MiB")]
            extra = f"store_filesystem: true\nexpendable: ['{theirs}']\n"
            for create in ("", ", create: true"):
                copy = load("copy: {from: src, to: theirs}, block_size: 64KiB" + create)
                done = fleet.run_job(copy_job(targets, PARTS + copy, extra))
                self.assertNotEqual(done.status, 0, str(done))
                words = " ".join((done.out + done.err).split())
                self.assertIn("this file belongs to another user", words)
                with open(theirs, "rb") as text:
                    self.assertEqual(text.read(), content)
            os.chown(theirs, os.geteuid(), -1)
            copy = load("copy: {from: src, to: theirs}, block_size: 64KiB")
            done = fleet.run_job(copy_job(targets, PARTS + copy, extra))
            self.assertEqual(done.status, 0, str(done))
            self.assertTrue(filecmp.cmp(os.path.join(fleet.data, "own"), theirs, shallow=False))

    def test_both_sides_of_an_overlay_are_one_file(self):
        self.refuses_both_sides_of_an_overlay("$0/")

    def test_an_overlay_of_relative_directories_is_known_too(self):
        self.refuses_both_sides_of_an_overlay("")

    def test_a_bind_mount_of_such_an_overlay_is_known_too(self):
        self.refuses_both_sides_of_an_overlay("", bound=True)

    def refuses_both_sides_of_an_overlay(self, prefix, bound=False):
        """`prefix`: before the names of the overlay's directories, where $0 is the one above.
        `bound`: the overlay is used through a bind mount, beside which none of them lies."""
        with (
            tempfile.TemporaryDirectory() as folder,
            LoopDevice(folder, 64 * MIB) as disk,
            contextlib.ExitStack() as unmounted,
        ):
            # An upper directory may not lie on an overlay, as /tmp of a container does.
            call("mkfs.ext4", "-q", "-F", disk.path)
            base = os.path.join(folder, "base")
            os.mkdir(base)
            call("mount", disk.path, base)
            unmounted.callback(unmount, base)
            upper, lower, work, merged = (
                os.path.join(base, name) for name in ("upper", "lower", "work", "merged")
            )
            for path in (upper, lower, work, merged):
                os.mkdir(path)
            options = f"lowerdir={prefix}lower,upperdir={prefix}upper,workdir={prefix}work"
            mount = f'cd "$0" && mount -t overlay overlay -o "{options}" "$0/merged"'
            call("sh", "-c", mount, base)
            unmounted.callback(unmount, merged)
            if bound:
                elsewhere = os.path.join(folder, "bound", "here")
                os.makedirs(elsewhere)
                call("mount", "--bind", merged, elsewhere)
                unmounted.callback(unmount, elsewhere)
                merged = elsewhere
            with Fleet(1, allow=[upper, merged]) as fleet:
                copy = load("copy: {from: src, to: dst}, block_size: 64KiB")
                for source, target, name in ((upper, merged, "a"), (merged, upper, "b")):
                    made = [file("src", f"{target}/{name}"), file("dst", f"{target}/{name}2")]
                    done = fleet.run_job(copy_job(made, PARTS + ZEROS))
                    self.assertEqual(done.status, 0, str(done))
                    same = [file("src", f"{source}/{name}"), file("dst", f"{target}/{name}")]
                    done = fleet.run_job(copy_job(same, copy))
                    self.assertIn(done.status, (2, 3), str(done))
                    text = " ".join((done.out + done.err).split())
                    self.assertIn("the same bytes under two names", text)
                    # Another file of the same directories is another one.
                    other = [file("src", f"{source}/{name}"), file("dst", f"{target}/{name}2")]
                    # Others may open the zeros of the run before. They are laid out again.
                    done = fleet.run_job(copy_job(other, ZEROS + copy))
                    self.assertEqual(done.status, 0, str(done))

    def test_a_device_over_the_destination_is_no_source(self):
        with (
            tempfile.TemporaryDirectory() as folder,
            LoopDevice(folder, 16 * MIB) as disk,
            contextlib.ExitStack() as detached,
        ):
            over = attach(disk.path)
            detached.callback(detach, over)
            top = attach(over)  # shows the bytes of the disk through two loop devices
            detached.callback(detach, top)
            with Fleet(1, allow=[disk.path, over, top]) as fleet:
                for source in (over, top):
                    targets = [
                        f"{{name: src, device: {{path: {source}}}}}",
                        f"{{name: dst, device: {{path: {disk.path}}}}}",
                    ]
                    phases = load("copy: {from: src, to: dst}, block_size: 256KiB")
                    done = fleet.run_job(copy_job(targets, phases))
                    self.assertEqual(done.status, 3, str(done))
                    text = " ".join((done.out + done.err).split())
                    self.assertIn("the same bytes under two names", text)
