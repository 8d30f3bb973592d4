"""Surprises of other tools: each row is a trap of a tool's language, a file that steps into it,
and what the translation must say.
"""

import os
import re
import subprocess
import tempfile
import unittest

from fleet import BIN

JOB = "[a]\nsize=1m\n"
FIO = {
    # Grammar.
    "a section whose name begins with global": ("[globally]\nbs=8k\n" + JOB, "block_size: 8KiB"),
    "[global] holds for jobs below": (
        JOB + "[global]\nbs=8k\n[b]\nsize=1m\n",
        r"(?s)name: a .*block_size: 4KiB .*name: b .*block_size: 8KiB",
    ),
    "a comment begins anywhere": (JOB + "filename=/d/a#b\n", r"path: /d/a "),
    "a boolean is a number": (JOB + "direct=true\n", "a.fio:3: direct=true: is a number for fio"),
    "a flag needs no value": (JOB + "time_based\nruntime=5\n", "duration: 5s"),
    "the last of two holds": (JOB + "bs=8k\nbs=16k\n", "block_size: 16KiB"),
    "kb_base is read first": (JOB + "bs=512k\nkb_base=1000\n", "block_size: 500KiB"),
    "an alias is the option": (JOB + "blocksize=8k\n", "block_size: 8KiB"),
    "readwrite is rw": (JOB + "readwrite=write\n", "read: 0%  # readwrite=write"),
    "timeout is runtime": (JOB + "time_based\ntimeout=5\n", "duration: 5s  # timeout=5"),
    "an unknown option is refused": (JOB + "threads=1\n", "a.fio:3: threads=1: is no option"),
    "a variable that is not set is empty": (
        "[a]\nsize=1${LOCKSTEP_NO_SUCH}m\n",
        "size: 1MiB",
    ),
    "a bare sum only beside $pagesize": (JOB + "bs=2*$pagesize\n", "block_size: 8KiB"),
    "an expression stands in brackets": (JOB + "bs=(2*4096)\n", "block_size: 8KiB"),
    # Values.
    "kib is 1000": ("[a]\nsize=8000kib\nbs=4000\n", r"size: 8000000 "),
    "two letters take kb_base": (JOB + "bs=8ki\n", "block_size: 8KiB"),
    "a fraction is cut with its unit": ("[a]\nsize=1.5g\n", "makes a file of 1 bytes"),
    "a z is zones": (
        "[a]\nsize=3z\n",
        "a.fio:2: size=3z: cannot be translated; a job would need zones of zoned devices",
    ),
    "a share of I/O is one of the size": (JOB + "io_size=50%\n", "io_size: 512KiB "),
    "0x is hexadecimal": (JOB + "bs=0x2000\n", "block_size: 8KiB"),
    "sec is no unit": (JOB + "runtime=5sec\n", "runtime=5sec: is shorter than 100 ms"),
    "the last direction holds for the rest": (
        JOB + "rw=randrw\nbs=8k,16k\n",
        r"(?s)block_size: 8KiB, weight: 50, .*read: 100%.*block_size: 16KiB, .*read: 0%",
    ),
    "a trim behind an empty part has its default": (
        JOB + "rw=trim\nbs=8k,8k,\n",
        "block_size: 4KiB",
    ),
    "blanks of bssplit share the rest": (
        JOB + "bssplit=4k/50:8k/:16k/\n",
        r"(?s)4KiB, weight: 50\}.*8KiB, weight: 25\}.*16KiB, weight: 25\}",
    ),
    "bssplit has up to 64 sizes": (
        JOB + "bssplit=" + ":".join(["4k/1"] * 64) + "\n",
        r"(\n +- \{block_size: 4KiB, weight: 1\}[^\n]*){63}\n +- \{block_size: 4KiB, weight: 37\}",
    ),
    "bssplit has no 65th size": (
        JOB + "bssplit=" + ":".join(["4k/1"] * 65) + "\n",
        r"a.fio:3: bssplit=.*: is no split of at most 64 sizes",
    ),
    # Jobs.
    "clones lose stonewall": (
        JOB + "numjobs=2\nstonewall\n",
        r"(?s)phases:\n  - prepare:.*  - name: a\n(?!.*\n  - name: )",
    ),
    "a file that is named is shared by clones": (
        JOB + "numjobs=2\nnrfiles=4\nfilename=/d/x:/d/y\n",
        r"(?s)path: /d/x.*path: /d/y",
    ),
    "nrfiles is ignored beside filename": (
        JOB + "nrfiles=4\nfilename=/d/x:/d/y\n",
        r"a.fio:3: nrfiles=4: has no effect beside filename, as in fio",
    ),
    "new_group begins a group": (JOB + "[b]\nsize=1m\nnew_group\n", 'fio.groups.a: "1,1"'),
    "a colon is escaped": (JOB + "filename=/d/x\\:y\n", r"/d/x:y"),
    "a size is divided by the files": (JOB + "nrfiles=4\n", "size: 256KiB"),
    "a runtime alone is a limit": (JOB + "runtime=5\n", "passes: 1 "),
    "the ramp is added": (JOB + "time_based\nruntime=5\nramp_time=2\n", "ramp: 2s"),
    "a rate is each clone's": (JOB + "numjobs=3\nrate_iops=10\n", "max_iops: 30"),
    "a number of I/Os is each clone's": (JOB + "numjobs=3\nnumber_ios=10\n", "operations: 30"),
    "a size of I/O is each clone's": (JOB + "numjobs=3\nio_size=2m\n", "io_size: 6MiB"),
    "rw=read:8k skips": (JOB + "rw=read:8k\n", "skip: 8KiB"),
    "rw=read:-8k goes back": (JOB + "rw=read:-8k\n", "backwards: true"),
    # Defaults.
    "psync ignores the depth": (JOB + "iodepth=32\n", "iodepth=32: has no effect"),
    "the engine is psync": (JOB, "engine: sync "),
    "I/O is buffered": (JOB, "direct: false"),
    "random visits each block once": (JOB + "rw=randread\n", "pattern: shuffled"),
    "zipf does not": (JOB + "rw=randread\nrandom_distribution=zipf:1.2\n", "zipf:"),
    "numbers are the same in each run": (JOB + "rw=randread\n", "seed: 1 "),
    "the cache is dropped first": (JOB, "drop_caches: true"),
    "what was written is read back": (JOB + "rw=write\nverify=crc32c\n", r"\n    verify:\n"),
    "the first error ends a job": (JOB, "error_limit: 1 "),
}
FIO_ON_TWO = {
    "hosts do not share a file": (JOB + "filename=/d/f\nrw=write\n", "a.fio:3: filename=/d/f: "),
    "a rate is each host's": (JOB + "filename=/d/{host}/f\nrate_iops=10\n", "max_iops: 20"),
}

SYSBENCH_LINE = "sysbench --file-num=4 --file-total-size=16M --file-test-mode={} {} fileio run\n"
SYSBENCH = {
    "offsets are uniform": ("rndrd", "--rand-type=special", "--rand-type=special: left out"),
    "the ratio is no coin": ("rndrw", "", "mix: exact"),
    "all files are synced in a row": ("rndrw", "", r"(?s)every_ios: 100 .*all_files: true"),
    "files are synced at the end": ("rndrw", "", "at_end: true"),
    "each thread syncs all files at the end": (
        "rndwr",
        "--threads=3 --file-fsync-freq=0",
        r"(?s)threads: 3 .*at_end: true .*all_files: true",
    ),
    "false is off": (
        "rndwr",
        "--file-fsync-end=false",
        r"\A(?!(?s:.*)at_end)(?s:.*)every_ios: 100",
    ),
    "true is on": ("rndwr", "--file-fsync-end=true", "at_end: true  # --file-fsync-end=true"),
    "a load that reads is not synced": ("rndrd", "", r"\A(?!(?s:.*)fsync:)"),
    "seqwr begins with empty files": ("seqwr", "", "create: true"),
    "zeros are written": ("rndwr", "", "content: zeros"),
    "ten seconds are the default": ("rndrd", "", "duration: 10s"),
    "another unit is 0": ("rndrd", "--file-block-size=8X", "8X: is no size for sysbench"),
    "a unit of events is none": ("rndrd", "--events=1k", "--events=1k: is not a whole number"),
    "_ is -": ("rndrd", "--file_block_size=8K", "block_size: 8KiB"),
}

ICF = """Version 1.1.0
'TEST SETUP ====
'Run Time
\t0 0 30
'Queue Depth Cycling
\t1 8 2 EXPONENTIAL
'Test Type
\t{type}
'END test setup
'ACCESS SPECIFICATIONS ====
'Access specification name,default assignment
\tmail,NONE
'size,% of size,% reads,% random,delay,burst,align,reply
\t4096,100,67,100,{delay},1,0,0
'END access specifications
'MANAGER LIST ====
'Manager ID, manager name
\t1,NODE1
{workers}'End manager
'END manager list
"""
WORKER = """'Worker
\tW
'Worker type
\tDISK
'Default target settings for worker
'Number of outstanding IOs,test connection rate,transactions per connection
\t16,DISABLED,1
'Disk maximum size,starting sector,Data pattern
\t8192,{sector},0
'End default target settings for worker
'Assigned access specs
\tmail
'End assigned access specs
'Target assignments
'Target
\tsdb
'Target type
\tDISK
'End target
'End target assignments
'End worker
"""


def icf(kind="NORMAL", delay=0, sector=0, workers=1):
    text = WORKER.format(sector=sector) * workers
    return ICF.format(type=kind, delay=delay, workers=text)


LINE = "\t4096,100,67,100,0,1,0,0\n"
IOMETER = {
    "keys have any case": (
        re.sub("(?m)^'.*", lambda key: key[0].upper(), icf()),
        "queue_depth: 16 ",
    ),
    "a specification has up to 100 lines": (
        icf().replace(LINE, LINE.replace(",100,67", ",1,67") * 100),
        r"(\n +- \{block_size: 4KiB, weight: 1, [^\n]*\}[^\n]*){100}\n",
    ),
    "a specification has no further line": (
        icf().replace(LINE, LINE.replace(",100,67", ",1,67") * 101),
        r"a.icf:114: 4096,1,67,100,0,1,0,0: is beyond the 100 lines of a specification",
    ),
    "percentages are whole": (
        icf().replace(LINE, LINE.replace(",67,", ",66.7,")),
        "a.icf:14: 4096,100,66.7,100,0,1,0,0: begins not with the 7 numbers of",
    ),
    "outstanding I/Os are of each worker": (icf(workers=2), "threads: 2"),
    "the depth is not divided": (icf(workers=2), "queue_depth: 16 "),
    "alignment 0 is the sector": (icf(), r"align: 512"),
    "a pause is before the burst": (icf(delay=5), "pauses before each burst"),
    "exponential steps are powers": (icf("CYCLE_OUTSTANDING_IOS"), r'\["1", "2", "4", "8"\]'),
    "sectors have 512 bytes": (icf(sector=63), r"offset: 32256 "),
    "one byte is repeated": (icf(), "one byte again and again"),
}

VDBENCH = {
    "text behind a blank is a comment": (
        "sd=s,lun=/dev/vdb size=1g\nwd=w,sd=s\nrd=r,wd=w,iorate=max\n",
        r"\A(?!(?s:.*)size: 1GiB)",
    ),
    "a comma continues": (
        "sd=s,\n lun=/dev/vdb\nwd=w,sd=s\nrd=r,wd=w,iorate=max\n",
        r"path: /dev/vdb  # lun=/dev/vdb \(a.vdb:2\)",
    ),
    "lines of three kinds are comments": (
        "/ a\n# b\n  * c\n/sd=s,lun=/dev/vdc\nsd=s,lun=/dev/vdb\n#wd=w,sd=x\nwd=w,sd=s\n"
        "rd=r,wd=w,iorate=max\n",
        "path: /dev/vdb ",
    ),
    "a default seeds workloads, too": (
        "sd=s,lun=/dev/vdb\nwd=default,xf=8k,rdpct=70\nwd=w,sd=s\nrd=r,wd=w,iorate=max\n",
        "(?s)block_size: 8KiB .*read: 70% ",
    ),
    "a stride is kept where vdbench would seek": (
        "sd=s,lun=/dev/vdb\nwd=w,sd=s,xf=8k,stride=(1m,1m)\nrd=r,wd=w,iorate=max\n",
        "skip: 1MiB",
    ),
    "a stride without seeks has no effect": (
        "sd=s,lun=/dev/vdb\nwd=w,sd=s,stride=(1m,1m),seekpct=0\nrd=r,wd=w,iorate=max\n",
        r"a.vdb:2: stride=\(1m,1m\): has no effect",
    ),
    "misses leave the hit area out": (
        "sd=s,lun=/dev/vdb,size=4m\nwd=w,sd=s,rhpct=40\nrd=r,wd=w,iorate=max\n",
        r"(?s)io: 40%, size: 25%.*io: 60%, size: 75%",
    ),
    "a skew holds at the maximum": (
        "sd=s,lun=/dev/vdb\nwd=a,sd=s,skew=80\nwd=b,sd=s\nrd=r,wd=*,iorate=max\n",
        "(?s)flow: 4 .*flow: 1 ",
    ),
    "eof ends": ("sd=s,lun=/dev/vdb\nwd=w,sd=s\nrd=r,wd=w,iorate=max\neof\nx\n", "name: r"),
    "keys may be cut": (
        "sd=s,lun=/dev/vdb,th=4\nwd=w,sd=s,xf=8k\nrd=r,wd=w,iorate=max,el=60\n",
        r"(?s)duration: 59s.*threads: 4.*block_size: 8KiB",
    ),
    "default seeds what follows": (
        "sd=default,th=4\nsd=s,lun=/dev/vdb\nwd=w,sd=s\nrd=r,wd=w,iorate=max\n",
        "threads: 4",
    ),
    "the first interval is left out": (
        "sd=s,lun=/dev/vdb\nwd=w,sd=s\nrd=r,wd=w,iorate=max,el=60,in=5\n",
        r"duration: 55s .*\n *ramp: 5s ",
    ),
    "eight threads are the default": (
        "sd=s,lun=/dev/vdb\nwd=w,sd=s\nrd=r,wd=w,iorate=max\n",
        "threads: 8",
    ),
    "I/O is buffered": ("sd=s,lun=/dev/vdb\nwd=w,sd=s\nrd=r,wd=w,iorate=max\n", "direct: false"),
    "a d doubles": (
        "sd=s,lun=/dev/vdb\nwd=w,sd=s\nrd=r,wd=w,iorate=max,forth=(1-8,d)\n",
        r'\["1", "2", "4", "8"\]',
    ),
    "rates arrive exponentially": (
        "sd=s,lun=/dev/vdb\nwd=w,sd=s\nrd=r,wd=w,iorate=100\n",
        "arrival: poisson",
    ),
    "a rate is all workloads'": (
        "sd=s,lun=/dev/vdb\nsd=t,lun=/dev/vdc\nwd=w,sd=*\nrd=r,wd=w,iorate=100\n",
        "rate: 50 ",
    ),
}


class Traps(unittest.TestCase):
    def hold(self, rows, name, *words):
        for trap, (text, expected) in rows.items():
            with self.subTest(trap=trap), tempfile.TemporaryDirectory() as directory:
                with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
                    file.write(text)
                done = subprocess.run(
                    [f"{BIN}/lockstep", "translate", name, *words],
                    cwd=directory,
                    capture_output=True,
                    text=True,
                    check=False,
                )
                said = done.stdout + done.stderr
                self.assertIsNotNone(re.search(expected, said), f"{expected}\n{said}")

    def test_fio(self):
        self.hold(FIO, "a.fio", "--directory", "/mnt/test")

    def test_fio_on_a_fleet(self):
        self.hold(FIO_ON_TWO, "a.fio", "--hosts", "2")

    def test_an_override_is_translated(self):
        override = "phases.1.run.workloads.0.block_size=16KiB"
        rows = {
            "the override stands in place of the option": (
                JOB + "bs=8k\n",
                r"block_size: 16KiB +# --set phases\.1\.run\.workloads\.0\.block_size=16KiB\n",
            )
        }
        self.hold(rows, "a.fio", "--directory", "/mnt/test", "--set", override)

    def test_a_further_file_begins_afresh(self):
        with tempfile.TemporaryDirectory() as directory:
            for name, text in {
                "a.fio": "[global]\nbs=8k\n" + JOB,
                "b.fio": "[b]\nsize=1m\n",
            }.items():
                with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
                    file.write(text)
            done = subprocess.run(
                [f"{BIN}/lockstep", "translate", "a.fio", "b.fio", "--directory", "/mnt/test"],
                cwd=directory,
                capture_output=True,
                text=True,
                check=True,
            )
            self.assertRegex(
                done.stdout,
                r"(?s)\n  - name: a\n.*block_size: 8KiB.*\n  - name: b\n.*block_size: 4KiB",
            )

    def test_sysbench(self):
        rows = {
            trap: (SYSBENCH_LINE.format(mode, options), expected)
            for trap, (mode, options, expected) in SYSBENCH.items()
        }
        self.hold(rows, "a.sh", "--directory", "/mnt/test")

    def test_iometer(self):
        self.hold(IOMETER, "a.icf", "--disk", "sdb=/dev/vdb")

    def test_disks_of_iometer_are_asked_for(self):
        row = {"a disk is another machine's": (icf(), "Say what stands in its place")}
        self.hold(row, "a.icf")
        windows = icf().replace("sdb", "PHYSICALDRIVE:1")
        self.hold({"so is a drive of Windows": (windows, "PHYSICALDRIVE:1: is a disk of")}, "a.icf")
        row = {"a drive of Windows has another place": (windows, "path: /dev/vdb ")}
        self.hold(row, "a.icf", "--disk", "PHYSICALDRIVE:1=/dev/vdb")

    def test_vdbench(self):
        self.hold(VDBENCH, "a.vdb", "--language", "vdbench")


if __name__ == "__main__":
    unittest.main()
