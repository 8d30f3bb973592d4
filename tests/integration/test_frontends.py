"""Files of other tools: the examples that come with fio (Debian's package fio-examples) are
translated, or refused for the reason that stands here; those of a plain Linux host are run.
"""

import glob
import json
import os
import re
import subprocess
import tempfile
import unittest
from unittest import mock

from fio_runs import run_fio
from fleet import BIN, FleetTest, needs_root
from test_docs import blocks

EXAMPLES = "/usr/share/doc/fio/examples"

# The extra needs of each example that jobs do not have; empty: it is translated.
NEEDS = {
    "1mbs_clients": "",
    "aio-read": "",
    "backwards-read": "",
    "basic-verify": "",
    "butterfly": "has no size",
    "cmdprio-bssplit": "",
    "cmdprio-percentage": "",
    "cpp_null": "the engine 'cpp_null'",
    "cpuio": "the engine 'cpuio'",
    "cross-stripe-verify": "checks of blocks while others are still written",
    "dedupe-global": "",
    "dev-dax": "the engine 'dev-dax'",
    "dfs": "the engine 'dfs'",
    "disk-zone-profile": "",
    "e4defrag": "the engine 'e4defrag'",
    "e4defrag2": "the engine 'e4defrag'",
    "enospc-pressure": "errors that are tolerated by their kind",
    "exec": "the engine 'exec'",
    "exitwhat": "",
    "falloc": "the engine 'falloc'",
    "filecreate-ioengine": "the engine 'filecreate'",
    "filedelete-ioengine": "the engine 'filedelete'",
    "filestat-ioengine": "the engine 'filestat'",
    "fio-rand-RW": "",
    "fio-rand-read": "",
    "fio-rand-write": "",
    "fio-seq-RW": "",
    "fio-seq-read": "",
    "fio-seq-write": "",
    "fixed-rate-submission": "",
    "flow": "",
    "fsx": "",
    "ftruncate": "the engine 'ftruncate'",
    "gfapi": "the engine 'gfapi'",
    "gpudirect-rdmaio-client": "the engine 'rdma'",
    "gpudirect-rdmaio-server": "the engine 'rdma'",
    "http-s3-crypto": "the engine 'http'",
    "http-s3-storage-class": "the engine 'http'",
    "http-s3": "the engine 'http'",
    "http-swift": "the engine 'http'",
    "http-webdav": "the engine 'http'",
    "ime": "the engine 'ime_psync'",
    "iometer-file-access-server": "",
    "jesd219": "",
    "latency-profile": "a search for the load that keeps a latency",
    "libcufile-cufile": "the engine 'libcufile'",
    "libcufile-posix": "the engine 'libcufile'",
    "libhdfs": "the engine 'libhdfs'",
    "libiscsi": "",
    "libpmem": "the engine 'libpmem'",
    "librpma_apm-client": "the engine 'librpma_apm_client'",
    "librpma_apm-server": "the engine 'librpma_apm_server'",
    "librpma_gpspm-client": "the engine 'librpma_gpspm_client'",
    "librpma_gpspm-server": "the engine 'librpma_gpspm_server'",
    "libzbc-rand-write": "the engine 'libzbc'",
    "libzbc-seq-read": "the engine 'libzbc'",
    "mtd": "the engine 'mtd'",
    "nbd": "the engine 'nbd'",
    "netio": "the engine 'net'",
    "netio_multicast": "the engine 'net'",
    "nfs": "the engine 'nfs'",
    "null": "",
    "numa": "",
    "pmemblk": "the engine 'pmemblk'",
    "poisson-rate-submission": "",
    "rados": "the engine 'rados'",
    "rand-zones": "",
    "rbd": "the engine 'rbd'",
    "rdmaio-client": "the engine 'rdma'",
    "rdmaio-server": "the engine 'rdma'",
    "sg_verify-fail": "the engine 'sg'",
    "sg_verify": "the engine 'sg'",
    "sg_write_same_ndob": "the engine 'sg'",
    "ssd-steadystate": "",
    "ssd-test": "",
    "steadystate": "is no option of fio",
    "surface-scan": "a pattern as the content of blocks",
    "tiobench-example": "",
    "uring-cmd-ng": "the engine 'io_uring_cmd'",
    "uring-cmd-zoned": "the engine 'io_uring_cmd'",
    "waitfor": "is no option of fio",
    "xnvme-compare": "has no value",
    "xnvme-zoned": "zones of zoned devices",
    "zbd-rand-write": "zones of zoned devices",
    "zbd-seq-read": "zones of zoned devices",
    "zipf": "",
}
# Those translated ones whose target is no file or device of any host.
APART = {"libiscsi"}
# Translated if they get what their text asks for: a file that is there, and variables.
GIVEN = {"butterfly", "xnvme-compare"}
VARIABLES = {"FIO_RW": "randread", "FIO_IODEPTH": "4", "FIO_BS": "4k"}
# Options that fio refuses, too, whatever their value.
WRONG = {"steadystate", "waitfor"}
# Needs of more than a Linux host without special hardware has, or of what comes later.
LATER = ("the engine", "zones of zoned devices", "a search for the load")


def translate(path, *words, env=None):
    return subprocess.run(
        [f"{BIN}/lockstep", "check", path, "--directory", "/mnt/test", *words],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


def text_of(name):
    with open(f"{EXAMPLES}/{name}.fio", encoding="utf-8") as text:
        return text.read()


def small(text, data):
    """The file with sizes and times of a test, and files in place of devices."""
    text = re.sub(r"(?m)^(size|filesize)=.*$", r"\1=4m", text)
    text = re.sub(r"(?m)^(runtime|timeout)=.*$", r"\1=1", text)
    text = re.sub(r"(?m)^loops=.*$", "loops=2", text)
    # The file paces these over hours. No rate is promised beside busy neighbours.
    text = re.sub(r"(?m)^startdelay=.*$", "startdelay=100ms", text)
    text = re.sub(r"(?m)^rate=\d+$", "rate=8m", text)
    text = re.sub(r"(?m)^rate_iops=\d+$", "rate_iops=1000", text)
    text = re.sub(r"(?m)^zonesize=.*$", "zonesize=256k", text)
    text = re.sub(r"(?m)^zoneskip=.*$", "zoneskip=512k", text)
    # A host without NUMA has node 0.
    text = re.sub(r"(?m)^(numa_.*)0-1$", r"\g<1>0", text)
    text = re.sub(r"(?m)^ratemin=.*$", "ratemin=1", text)
    text = re.sub(r"(?m)^directory=.*$", f"directory={data}", text)
    named = re.sub(r"(?m)^filename=/.*$", f"filename={data}/file", text)
    # A device has a size by itself. A file needs one.
    if named != text and not re.search(r"^size=", named, re.M):
        named = named.replace("]\n", "]\nsize=4m\n", 1)
    # A few I/Os tell nothing of their mix.
    return named.replace("size=4m", "size=64m") if "1024k" in named else named


class FioExamples(unittest.TestCase):
    def test_each_is_translated_or_needs_what_stands_here(self):
        found = {os.path.basename(path)[: -len(".fio")] for path in glob.glob(EXAMPLES + "/*.fio")}
        self.assertEqual(found, set(NEEDS), "tools/install-deps test installs fio-examples")
        print("\nfio's examples:")
        for name, need in sorted(NEEDS.items()):
            with self.subTest(name=name):
                path = f"{EXAMPLES}/{name}.fio"
                done = translate(path)
                print(f"  {name:28} {'translated' if not need else 'needs ' + need}")
                self.assertEqual(done.returncode, 2 if need else 0, done.stderr)
                if not need:
                    continue
                lines = done.stderr.splitlines()
                errors = [line for line in lines if not line.startswith("remark")]
                self.assertTrue(any(need in line for line in errors), done.stderr)
                for line in errors:
                    self.assertRegex(line, rf"^{re.escape(path)}:[1-9]\d*: ")

    def test_nine_of_ten_that_a_plain_host_can_run_are_translated(self):
        plain = {
            name
            for name, need in NEEDS.items()
            if name not in WRONG | APART and not need.startswith(LATER)
        }
        runs = {name for name in plain if not NEEDS[name] or name in GIVEN}
        print(f"\nof {len(plain)} that need a plain Linux host {len(runs)} are translated")
        self.assertGreaterEqual(len(runs), 0.9 * len(plain), plain - runs)

    def test_those_that_ask_for_something_get_it(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "testfile")
            with open(path, "wb") as file:
                file.truncate(8 << 20)
            copy = os.path.join(directory, "butterfly.fio")
            with open(copy, "w", encoding="utf-8") as file:
                file.write(text_of("butterfly").replace("/tmp/testfile", path))
            done = translate(copy)
            self.assertEqual(done.returncode, 0, done.stderr)
        path = f"{EXAMPLES}/xnvme-compare.fio"
        done = translate(path, "--target", "/mnt/test/file", env={**os.environ, **VARIABLES})
        self.assertEqual(done.returncode, 0, done.stderr)


def runs_by_time(text):
    return re.search(r"(?m)^(time_based|runtime|timeout)\b", text) is not None


def done_by_fio(text, directory):
    """Bytes and I/Os of each direction, and I/Os per second, as fio says."""
    said = run_fio(text, directory, "--output-format=json", env={**os.environ, **VARIABLES})
    # fio's own notes may precede the JSON.
    jobs = json.loads("{" + said.partition("{")[2])["jobs"]
    return {
        kind: (
            sum(job[kind]["io_bytes"] for job in jobs),
            sum(job[kind]["total_ios"] for job in jobs),
            sum(job[kind]["iops"] for job in jobs),
        )
        for kind in ("read", "write")
    }


def done_by_lockstep(report):
    """The same of a report."""
    sums = {"read": [0, 0, 0], "write": [0, 0, 0]}
    for phase in report["phases"]:
        if phase["kind"] not in ("run", "verify"):
            continue
        for workload in phase["workloads"]:
            for operation in workload["operations"]:
                if operation["kind"] in sums:
                    of = sums[operation["kind"]]
                    of[0] += operation["bytes"]
                    of[1] += operation["operations"]
                    of[2] += operation["iops"]
    return sums


@needs_root
class FioFiles(FleetTest):
    workers = 2

    def run_file(self, text, *words):
        # The page cache of this machine is other tests', too.
        words = ("--directory", self.fleet.data, "--language", "fio", *words)
        self.ok(self.fleet.lockstep("plan", "-", *words, stdin=text))
        for _ in range(3):
            done = self.fleet.lockstep("run", "-", *words, "--format", "json", stdin=text)
            # A disk that neighbours use, too, may be below the least rate that the file asks for.
            if done.status != 3 or '"outcome": "min_rate' not in done.out:
                break
        return self.ok(done)

    def hold_against_fio(self, name, text, report):
        # fio 3.33 does not end where others submit at a rate.
        text = text.replace("io_submit_mode=offload", "io_submit_mode=inline")
        # Files stand in place of the devices that are there.
        text = text.replace("allow_file_create=0\n", "")
        # With several sizes fio cuts I/Os short, so that it visits each block once. A job does not,
        # and a remark says so.
        if re.search(r"(?m)^bssplit=", text) and "norandommap" not in text:
            text = text.replace("[global]\n", "[global]\nnorandommap=1\n", 1)
        # Jobs of one file would not find it again. The directory goes anyway.
        text = text.replace("unlink=1\n", "", 1)
        with tempfile.TemporaryDirectory(dir=self.fleet.data) as directory:
            fio = done_by_fio(text.replace(self.fleet.data, directory), directory)
        ours = done_by_lockstep(report)
        for kind, (size, count, iops) in fio.items():
            our_size, our_count, our_iops = ours[kind]
            what = f"{name}, {kind}: fio {size, count, iops}, Lockstep {ours[kind]}"
            print(f"  {what}")
            # Mixes draw their directions and sizes.
            drawn = 0.1 + 2 / max(1, min(count, our_count)) ** 0.5
            if not runs_by_time(text):
                self.assertLessEqual(abs(our_size - size), drawn * size + (256 << 10), what)
            if count < 20 or our_count < 20:
                continue
            block, our_block = size / count, our_size / our_count
            self.assertLessEqual(abs(our_block - block), drawn * block, what)
            # fio counts the start of a thread, which outlasts a few I/Os, in whole milliseconds.
            took = min(count / max(1, iops), our_count / max(1, our_iops))
            if count >= 500 and our_count >= 500 and took >= 0.02:
                self.assertLess(max(iops, our_iops) / max(1, min(iops, our_iops)), 10, what)

    def test_each_that_is_translated_runs_as_with_fio(self):
        for name, need in sorted(NEEDS.items()):
            if (need and name not in GIVEN) or name in APART:
                continue
            with self.subTest(name=name), mock.patch.dict(os.environ, VARIABLES):
                text = small(text_of(name), self.fleet.data)
                text = text.replace("[", "[global]\nunlink=1\ninvalidate=0\n[", 1)
                report = self.run_file(text).json()
                self.assertEqual(report["run"]["state"], "done")
                loads = [phase for phase in report["phases"] if phase["kind"] == "run"]
                self.assertTrue(loads)
                for phase in loads:
                    self.assertGreater(phase["total"]["operations"], 0, phase["name"])
                    self.assertEqual(phase["total"]["errors"], 0, phase["name"])
                # Neighbours may hold up the one or the other.
                for attempt in range(3):
                    try:
                        self.hold_against_fio(name, text, report)
                        break
                    except AssertionError:
                        if attempt == 2:
                            raise
                        report = self.run_file(text).json()

    def test_a_flow_keeps_its_proportion(self):
        text = small(text_of("flow"), self.fleet.data)
        text = text.replace("[", "[global]\nunlink=1\ninvalidate=0\n[", 1)
        done = done_by_lockstep(self.run_file(text).json())
        writes, reads = done["write"][1], done["read"][1]
        # Each round has a write and eight reads. I/Os in flight at the end are not counted.
        self.assertLess(abs(reads - 8 * writes), 0.05 * reads + 2 * 256, done)

    def test_two_hosts_have_files_of_their_own(self):
        job = "[w]\nrw=write\nsize=1m\nbs=64k\nunlink=1\n"
        report = self.run_file(job, "--hosts", "2").json()
        (phase,) = (phase for phase in report["phases"] if phase["kind"] == "run")
        # Each host writes its file once.
        self.assertEqual(phase["total"]["operations"], 32)
        shared = f"[w]\nrw=write\nsize=1m\nfilename={self.fleet.data}/shared\n"
        done = self.ok(
            self.fleet.lockstep("run", "-", "--hosts", "2", "--language", "fio", stdin=shared), 2
        )
        self.assertIn("stdin:4: filename=", done.err)

    def test_a_file_gives_no_consent(self):
        path = os.path.join(self.fleet.data, "precious")
        with open(path, "w", encoding="utf-8") as file:
            file.write("x" * (1 << 20))
        job = f"[w]\nrw=write\nsize=1m\nfilename={path}\noverwrite=1\nallow_mounted_write=1\n"
        done = self.fleet.lockstep("run", "-", "--language", "fio", stdin=job)
        self.assertNotEqual(done.status, 0)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "x" * (1 << 20))
        os.unlink(path)

    def test_flags_of_translations_are_not_for_job_files(self):
        done = self.ok(self.fleet.lockstep("check", "-", "--hosts", "2", stdin="name: x\n"), 2)
        self.assertIn("are for files of other tools", done.err)

    def test_the_guide(self):
        with tempfile.TemporaryDirectory() as directory:
            for block in blocks("docs/guide/coming-from-fio.md", "sh"):
                script = block.replace("/mnt/test", self.fleet.data)
                script = re.sub(r"runtime=\d+", "runtime=1", script).replace("size=1g", "size=4m")
                # Store and targets may share a disk here.
                script = re.sub(
                    r"(?m)^(lockstep (?:plan|run) .*)$", r"\1 --set store_filesystem=true", script
                )
                done = subprocess.run(
                    ["bash", "-ec", script],
                    cwd=directory,
                    env={**self.fleet.environment(), "PATH": BIN + ":" + os.environ["PATH"]},
                    capture_output=True,
                    text=True,
                    check=False,
                )
                self.assertEqual(done.returncode, 0, f"{script}\n{done.stdout}{done.stderr}")
                self.assertTrue(done.stdout)


class Commands(unittest.TestCase):
    def test_translate_prints_a_job_that_is_valid(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "a.fio")
            with open(path, "w", encoding="utf-8") as file:
                file.write("[a]\nsize=${SIZE}m\nrw=randread\ninclude more.inc\n")
            with open(os.path.join(directory, "more.inc"), "w", encoding="utf-8") as file:
                file.write("bs=8k\n")
            done = subprocess.run(
                [f"{BIN}/lockstep", "translate", path, "--directory", "/mnt/test"],
                env={**os.environ, "SIZE": "4"},
                capture_output=True,
                text=True,
                check=True,
            )
            self.assertIn("block_size: 8KiB  # bs=8k (more.inc:1)", done.stdout)
            self.assertIn("size: 4MiB  # size=4m (a.fio:2)", done.stdout)
            job = os.path.join(directory, "a.yaml")
            with open(job, "w", encoding="utf-8") as file:
                file.write(done.stdout)
            self.assertEqual(
                subprocess.run([f"{BIN}/lockstep", "check", job], check=False).returncode, 0
            )

    def test_what_fio_refuses_is_refused(self):
        for name in ("waitfor", "steadystate"):
            done = translate(f"{EXAMPLES}/{name}.fio")
            self.assertEqual(done.returncode, 2)
            self.assertIn("threads=1: is no option of fio", done.stderr)
