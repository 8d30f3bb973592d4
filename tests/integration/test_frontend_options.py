"""No option of another tool is overlooked: each one that fio and sysbench of this machine list is
translated, refused by its name and line with what a job would need, or left out with a remark.
"""

import os
import re
import subprocess
import tempfile
import unittest

from fleet import BIN

# The engines of fio that Lockstep has, too.
ENGINES = ("sync", "psync", "pvsync", "pvsync2", "mmap", "libaio", "io_uring", "null")

TWO_JOBS = "[first]\nsize=1m\n[a]\nsize=1m\n"
WRITE = "rw=write\n"
RANDOM = "rw=randread\n"
DIRECT = "ioengine=libaio\ndirect=1\n"
QUEUE = "ioengine=libaio\niodepth=8\n"
URING = "ioengine=io_uring\n"
COPIES = WRITE + "dedupe_percentage=50\n"
SET = COPIES + "dedupe_mode=working_set\n"
ZONES = "zonesize=64k\nzoneskip=64k\n"

# A line of each option that becomes a part of the job, what stands before it within a job, and
# behind it. With the line the job must be another one than without it.
FIO = {
    "allrandrepeat": ("1", RANDOM + "randrepeat=0\n"),
    "ba": ("8k", RANDOM),
    "bs": ("8k",),
    "bsrange": ("4k-8k",),
    "bssplit": ("4k/50:8k/50",),
    "buffer_compress_percentage": ("50", WRITE),
    "buffered": ("0",),
    "cmdprio": ("2", DIRECT + "cmdprio_percentage=20\n"),
    "cmdprio_bssplit": ("4k/20", DIRECT),
    "cmdprio_class": ("2", DIRECT + "cmdprio_percentage=20\n"),
    "cmdprio_percentage": ("20", DIRECT),
    "continue_on_error": ("all",),
    "cpus_allowed": ("0",),
    "dedupe_global": ("1", SET, "[b]\nsize=1m\n" + SET + "dedupe_global=1\n"),
    "dedupe_mode": ("working_set", COPIES),
    "dedupe_percentage": ("50", WRITE),
    "dedupe_working_set_percentage": ("10", SET),
    "description": ("words",),
    "direct": ("1",),
    "directory": ("/other",),
    "do_verify": ("0", WRITE + "verify=crc32c\n"),
    "end_fsync": ("1", WRITE),
    "exit_what": ("stonewall", "exitall=1\nruntime=5\ntime_based\n", "[b]\nnew_group\nsize=1m\n"),
    "exitall": ("1", "", "[b]\nsize=1m\n"),
    "fdatasync": ("4", WRITE),
    "file_service_type": ("random", "nrfiles=4\n"),
    "filename": ("/d/f",),
    "filename_format": ("$jobname.x",),
    "filesize": ("2m",),
    "fixedbufs": ("0", URING),
    "flow": ("3", "", "[b]\nsize=1m\nflow=1\n"),
    "flow_id": ("2", "flow=3\n", "[b]\nsize=1m\nflow=1\n"),
    "fsync": ("4", WRITE),
    "fsync_on_close": ("1", WRITE),
    "hipri": ("1", URING),
    "invalidate": ("0",),
    "io_size": ("2m",),
    "io_submit_mode": ("offload", "rate_iops=10\n"),
    "iodepth": ("8", "ioengine=libaio\n"),
    "iodepth_batch": ("4", QUEUE),
    "iodepth_batch_complete_min": ("4", QUEUE),
    "ioengine": ("libaio",),
    "ioscheduler": ("none",),
    "kb_base": ("1000", "bs=512k\n"),
    "loops": ("2",),
    "mem": ("mmaphuge",),
    "name": ("other",),
    "new_group": ("1", "[a]\nsize=1m\n[b]\nsize=1m\n"),
    "norandommap": ("1", RANDOM),
    "nrfiles": ("4",),
    "numa_cpu_nodes": ("0",),
    "numa_mem_policy": ("bind:0",),
    "number_ios": ("5",),
    "numjobs": ("2",),
    "offset": ("64k",),
    "offset_increment": ("64k", "numjobs=2\nfilename=/d/f\n"),
    "overwrite": ("1", WRITE),
    "percentage_random": ("50", RANDOM),
    "prio": ("4",),
    "prioclass": ("2",),
    "ramp_time": ("5", "runtime=5\ntime_based\n"),
    "random_distribution": ("zipf:1.2", RANDOM),
    "randrepeat": ("0", RANDOM),
    "randseed": ("7",),
    "rate": ("1m",),
    "rate_cycle": ("2000", "rate_min=1m\n"),
    "rate_iops": ("10",),
    "rate_iops_min": ("10",),
    "rate_min": ("1m",),
    "rate_process": ("poisson", "rate_iops=10\n"),
    "refill_buffers": ("1", WRITE),
    "registerfiles": ("0", URING),
    "runtime": ("5",),
    "rw": ("randread",),
    "rw_sequencer": ("identical", "rw=randread:4\n"),
    "rwmixread": ("70", "rw=randrw\n"),
    "rwmixwrite": ("70", "rw=randrw\n"),
    "size": ("2m",),
    "sqthread_poll": ("1", URING),
    "startdelay": ("5",),
    "stonewall": ("1", TWO_JOBS),
    "sync": ("1", WRITE),
    "sync_file_range": ("write:8", WRITE),
    "thinktime": ("1ms",),
    "thinktime_blocks": ("4", "thinktime=1ms\n"),
    "time_based": ("1", "runtime=5\n"),
    "unlink": ("1",),
    "verify": ("crc32c", WRITE),
    "wait_for": ("first", TWO_JOBS),
    "zero_buffers": ("1", WRITE),
    "zonemode": ("none", ZONES),
    "zonerange": ("128k", "zonesize=64k\n"),
    "zonesize": ("64k", "zoneskip=64k\n"),
    "zoneskip": ("64k", "zonesize=64k\n"),
}
# Of these only one value is translated, which is what is done anyway.
ONE_VALUE = {"openfiles": ("2", "nrfiles=4\n")}

# The same of sysbench, before a `run` of small files.
SYSBENCH = {
    "events": ("7",),
    "file-async-backlog": ("7", "--file-io-mode=async"),
    "file-block-size": ("8K",),
    "file-extra-flags": ("direct",),
    "file-fsync-all": ("on",),
    "file-fsync-end": ("off",),
    "file-fsync-freq": ("7",),
    "file-fsync-mode": ("fdatasync",),
    "file-io-mode": ("async",),
    "file-merged-requests": ("4", "--file-test-mode=seqrd"),
    "file-num": ("2",),
    "file-rw-ratio": ("3",),
    "file-test-mode": ("rndrd",),
    "file-total-size": ("32M",),
    "forced-shutdown": ("5",),
    "max-requests": ("7",),
    "max-time": ("7",),
    "num-threads": ("2",),
    "percentile": ("99",),
    "rand-seed": ("7",),
    "rate": ("7",),
    "report-interval": ("1",),
    "threads": ("2",),
    "time": ("7",),
    "tx-rate": ("7",),
    "validate": ("on",),
}
SMALL = ("--file-num=4", "--file-total-size=16M", "--file-test-mode=rndrw")


def output(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


def job_of(yaml):
    """The job alone, without where each line comes from."""
    lines = [line for line in yaml.splitlines() if not line.startswith("#")]
    return "\n".join(line.partition("  #")[0] for line in lines)


class FioOptions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        text = output("fio", "--cmdhelp=all")
        # Options that hang together with the one above are indented.
        names = re.findall(r"(?m)^ *([\w-]+) *:", text)
        assert len(names) > 200, "tools/install-deps test installs fio"
        for engine in ENGINES:
            names += re.findall(r"(?m)^([\w-]+) *:", output("fio", "--enghelp=" + engine))
        cls.names = sorted(set(names))

    def translate(self, text):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "a.fio")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            return subprocess.run(
                [f"{BIN}/lockstep", "translate", "a.fio", "--directory", "/mnt/test"],
                cwd=directory,
                capture_output=True,
                text=True,
                check=False,
            )

    def with_and_without(self, name, value, before="", behind=""):
        """The file with the option's line, its number, and the file without it."""
        head = before if before.startswith("[") else "[a]\nsize=1m\n" + before
        number = head.count("\n") + 1
        return f"{head}{name}={value}\n{behind}", number, head + behind

    def test_each_that_fio_lists_is_translated_refused_or_remarked(self):
        fates = {"translated": 0, "refused": 0, "remarked": 0}
        for name in self.names:
            with self.subTest(name=name):
                example = FIO.get(name) or ONE_VALUE.get(name) or ("7",)
                text, number, without = self.with_and_without(name, *example)
                start = f"a.fio:{number}: {name}={example[0]}: "
                done = self.translate(text)
                if name in FIO:
                    self.assertEqual(done.returncode, 0, done.stderr)
                    plain = self.translate(without)
                    self.assertEqual(plain.returncode, 0, plain.stderr)
                    self.assertNotEqual(job_of(done.stdout), job_of(plain.stdout))
                    fates["translated"] += 1
                elif done.returncode == 0:
                    self.assertIn(f"# {start}", done.stdout)
                    fates["remarked"] += 1
                else:
                    self.assertRegex(
                        done.stderr,
                        f"^{re.escape(start)}cannot be translated; a job would need .+",
                    )
                    fates["refused"] += 1
        print(f"\n{len(self.names)} options of fio: {fates}")
        self.assertGreater(min(fates.values()), 50, fates)

    def test_no_example_stands_here_for_nothing(self):
        self.assertEqual(set(FIO) - set(self.names), set())

    def test_an_unknown_option_is_refused_with_what_is_like_it(self):
        for line, hint in {
            "iodpeth=4": "is no option of fio; did you mean iodepth?",
            "xyzzyxyzzy=4": "is no option of fio, or one of an engine that Lockstep has not",
        }.items():
            done = self.translate(f"[a]\nsize=1m\n{line}\n")
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"a.fio:3: {line}: {hint}", done.stderr)

    def test_a_long_list_is_printed_whole(self):
        done = self.translate("[a]\nsize=1m\ncpus_allowed=0-999\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(", 998, 999]", done.stdout)


class SysbenchOptions(unittest.TestCase):
    def show(self, *words):
        return subprocess.run(
            [f"{BIN}/lockstep", "sysbench", "--show", "--directory", "/mnt/test", *words],
            capture_output=True,
            text=True,
            check=False,
        )

    def test_each_option_that_sysbench_lists_has_a_fate(self):
        # `help` says which commands its tests have, and also options of databases.
        text = output("sysbench", "--help") + output("sysbench", "fileio", "help")
        names = sorted(set(re.findall(r"(?m)^ +--([a-z0-9-]+)", text)))
        self.assertGreater(len(names), 40, "tools/install-deps test installs sysbench")
        for name in names:
            # Lockstep's own help and version stand in their place.
            if name in ("help", "version"):
                continue
            with self.subTest(name=name):
                value, *more = SYSBENCH.get(name, ("7",))
                is_flag = re.search(rf"--{name}\[=on\|off\]", text) is not None
                if is_flag and name not in SYSBENCH:
                    value = "on"
                word = f"--{name}={value}"
                done = self.show(*SMALL, *more, word, "fileio", "run")
                if name in SYSBENCH:
                    self.assertEqual(done.returncode, 0, done.stderr)
                    plain = self.show(*SMALL, *more, "fileio", "run")
                    self.assertNotEqual(job_of(done.stdout), job_of(plain.stdout))
                elif done.returncode == 0:
                    self.assertIn(f"# {word}: left out; ", done.stdout)
                else:
                    self.assertRegex(done.stderr, f"^{re.escape(word)}: .+")


if __name__ == "__main__":
    unittest.main()
