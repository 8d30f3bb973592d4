"""bench tools: what people already have, run by its own tool and by Lockstep, alternated, on one
loop device: five files of fio, three lines of sysbench, and a specification of Iometer, whose tool
is not in Debian: fio runs its equivalent.

IOPS, bytes, and the latencies p50 and p99 (of sysbench p95) must agree within the noise. The noise
of a figure is half of the range of the tool's own rounds, at least what LEAST says, and at most
MOST: a machine on which a tool differs more from itself shows nothing. Medians of the rounds'
ratios count. Bytes are the mean size of an I/O, or all bytes of a file that ends by itself.

A file of 1,500 lines must be translated within 50 ms, the program's start included.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration"))
sys.path.insert(0, HERE)
from agree import settle  # noqa: E402
from fleet import BIN, Fleet, identity_of  # noqa: E402
from machine import MIB, Machine, write_random  # noqa: E402
from verdict import say  # noqa: E402

# The difference that a figure may have in any case. Draws of mixes differ in their sizes, and a p99
# is made of a hundredth of the I/Os.
LEAST = {"IOPS": 0.10, "bytes": 0.03, "p50": 0.15, "p95": 0.20, "p99": 0.30}
MOST = 0.5
KINDS = ("read", "write")
DEVICE_MIB = 256
TRANSLATED_LINES = 1500
TRANSLATED_MS = 50

HEAD = "[global]\nfilename={device}\ndirect=1\nsize=128m\nnorandommap=1\nrandrepeat=0\n"
TIMED = "time_based\nruntime={seconds}\n"
FIO = {
    "random mix": HEAD
    + TIMED
    + "[mix]\nioengine=libaio\niodepth=16\nrw=randrw\nrwmixread=70\nbs=4k\n",
    "bssplit with zipf": HEAD
    + TIMED
    + "[hot]\nioengine=libaio\niodepth=8\nrw=randread\nbssplit=4k/60:16k/40\n"
    + "random_distribution=zipf:1.2\n",
    "open loop": HEAD
    + TIMED
    + "[paced]\nioengine=libaio\niodepth=8\nrw=randread\nbs=4k\nrate_iops=800\n",
    "fsync": HEAD + TIMED + "[log]\nioengine=psync\nrw=randwrite\nbs=8k\nfsync=4\n",
    "verify": HEAD.replace("128m", "32m").replace("norandommap=1\n", "")
    + "[checked]\nioengine=libaio\niodepth=8\nrw=randwrite\nbs=4k\nverify=crc32c\n",
}
SYSBENCH = {
    "rndrd": ("--file-test-mode=rndrd",),
    "rndrw": ("--file-test-mode=rndrw", "--threads=4"),
    "seqrewr": ("--file-test-mode=seqrewr", "--file-block-size=64K"),
}
FILES = ("--file-num=4", "--file-total-size=64M", "--file-extra-flags=direct")
ICF = """Version 1.1.0
'TEST SETUP ====
'Run Time
'\thours\tminutes\tseconds
\t0\t0\t{seconds}
'Test Type
\tNORMAL
'END test setup
'ACCESS SPECIFICATIONS ====
'Access specification name,default assignment
\tmail,NONE
'size,% of size,% reads,% random,delay,burst,align,reply
\t4096,100,67,100,0,1,0,0
'END access specifications
'MANAGER LIST ====
'Manager ID, manager name
\t1,NODE1
'Manager network address
\t
'Worker
\tW1
'Worker type
\tDISK
'Default target settings for worker
{outstanding}
\t8,DISABLED,1,DISABLED,0
'Disk maximum size,starting sector,Data pattern
\t262144,0,1
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
'End manager
'END manager list
"""
OUTSTANDING = (
    "'Number of outstanding IOs,test connection rate,transactions per connection,"
    "use fixed seed,fixed seed value"
)
ICF_OF_FIO = HEAD + TIMED + "[mail]\nioengine=libaio\niodepth=8\nrw=randrw\nrwmixread=67\nbs=4k\n"


def of_json_plus(text, whole):
    """The figures of fio's JSON, which both print. `whole`: all bytes, and not those of an I/O."""
    jobs = json.loads("{" + text.partition("{")[2])["jobs"]
    found = {"IOPS": 0.0}
    for kind in KINDS:
        parts = [job[kind] for job in jobs if job[kind]["total_ios"] > 0]
        if not parts:
            continue
        # Phases follow each other, as the writes of a file and their verification do.
        (part,) = parts
        found["IOPS"] += part["iops"]
        size = part["io_bytes"] if whole else part["io_bytes"] / part["total_ios"]
        found[f"bytes {kind}"] = size
        for percent in (50, 99):
            found[f"p{percent} {kind}"] = part["clat_ns"]["percentile"][f"{percent}.000000"]
    syncs = [job["sync"] for job in jobs if job.get("sync", {}).get("total_ios", 0) > 0]
    for sync in syncs:
        found["p50 sync"] = sync["lat_ns"]["percentile"]["50.000000"]
    return found


def of_sysbench(text):
    """The figures of sysbench's report, which both print."""
    rates = [float(n) for n in re.findall(r"(?:reads|writes)/s:\s+([\d.]+)", text)]
    moved = [float(n) for n in re.findall(r"(?:read|written), MiB/s:\s+([\d.]+)", text)]
    return {
        "IOPS": sum(rates),
        "bytes": sum(moved) * MIB / max(1.0, sum(rates)),
        "p95": float(re.search(r"95th percentile:\s+([\d.]+)", text)[1]),
    }


def output(words, **options):
    done = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{words}: {done.stdout}{done.stderr}")
    return done.stdout


class Bench:
    def __init__(self, fleet, device, identity, mount, work, options):
        self.fleet, self.device, self.mount, self.work = fleet, device, mount, work
        self.identity = identity
        self.options, self.targets = options, []

    def path(self, name, text):
        path = os.path.join(self.work, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(
                text.format(
                    device=self.device, seconds=self.options.seconds, outstanding=OUTSTANDING
                )
            )
        return path

    def fio(self, path, whole=False):
        settle()
        out = os.path.join(self.work, "out.json")
        output(["fio", "--output-format=json+", f"--output={out}", path], cwd=self.work)
        with open(out, encoding="utf-8") as text:
            return of_json_plus(text.read(), whole)

    def ours(self, path, *words, whole=False):
        """The file, as Lockstep translates it, with the consent that no such file can give."""
        settle()
        job = output([f"{BIN}/lockstep", "translate", path, *words])
        job += f'expendable: ["{self.identity}"]\n'
        done = self.fleet.run_job(job, "--format", "fio")
        if done.status != 0:
            raise RuntimeError(f"{done}\n{self.fleet.lockstep('report', 'last').out}")
        return of_json_plus(done.out, whole)

    def sysbench(self, words):
        settle()
        folder = os.path.join(self.mount, "sysbench")
        os.makedirs(folder, exist_ok=True)
        line = ["sysbench", "fileio", *FILES, *words, f"--time={self.options.seconds}", "run"]
        try:
            output(["sysbench", "fileio", *FILES, "prepare"], cwd=folder)
            settle()
            return of_sysbench(output(line, cwd=folder))
        finally:
            output(["sysbench", "fileio", *FILES, "cleanup"], cwd=folder)

    def line(self, words):
        settle()

        def run(*more):
            done = self.fleet.lockstep("sysbench", "--directory", self.mount, "fileio", *more)
            if done.status != 0:
                raise RuntimeError(str(done))
            return done.out

        try:
            run(*FILES, "prepare")
            settle()
            return of_sysbench(run(*FILES, *words, f"--time={self.options.seconds}", "run"))
        finally:
            run(*FILES, "cleanup")

    def compare(self, name, theirs, ours):
        if self.options.only not in name:
            return
        pairs = []
        for number in range(self.options.rounds):
            # The order changes, so that a drift of the machine favours nobody.
            if number % 2 == 0:
                first = theirs()
                pairs.append((first, ours()))
            else:
                first = ours()
                pairs.append((theirs(), first))
        figures = list(pairs[0][0])
        missing = [f for f in figures if any(f not in own for _, own in pairs)]
        met = not missing
        worst = ""
        for figure in figures:
            if figure in missing:
                continue
            own = [their[figure] for their, _ in pairs]
            ratio = statistics.median(our[figure] / their[figure] for their, our in pairs)
            spread = (max(own) - min(own)) / 2 / statistics.median(own)
            noise = min(MOST, max(spread, LEAST[figure.split()[0]]))
            fits = abs(ratio - 1) <= noise
            met = met and fits
            print(
                f"{name:<20} {figure:<12} {statistics.median(own):>12.1f}  ratio {ratio:5.2f}  "
                f"noise {noise:4.2f}  {'met' if fits else 'NOT MET'}",
                flush=True,
            )
            if not fits:
                worst += f"; {figure} {ratio:.2f} with noise {noise:.2f}"
        for figure in missing:
            worst += f"; Lockstep has no {figure}"
        self.targets.append((f"{name}: as its tool says, within the noise{worst}", met))

    def run(self):
        for name, text in FIO.items():
            path = self.path(name.replace(" ", "-") + ".fio", text)
            whole = name == "verify"
            self.compare(
                name,
                lambda path=path, whole=whole: self.fio(path, whole),
                lambda path=path, whole=whole: self.ours(path, whole=whole),
            )
        for name, words in SYSBENCH.items():
            self.compare(
                "sysbench " + name,
                lambda words=words: self.sysbench(words),
                lambda words=words: self.line(words),
            )
        icf, fio = self.path("mail.icf", ICF), self.path("mail.fio", ICF_OF_FIO)
        self.compare(
            "Iometer",
            lambda: self.fio(fio),
            lambda: self.ours(icf, "--disk", f"sdb={self.device}"),
        )


def translated(work, rounds):
    """The shortest time in ms to translate a long file: neighbours only ever add to it."""
    text = "[global]\nsize=1m\nstonewall\nfilename=/data/f\n"
    number = 0
    while text.count("\n") < TRANSLATED_LINES:
        text += f"[j{number}]\nrw=randread\nbs=8k\nioengine=libaio\niodepth=4\n"
        number += 1
    path = os.path.join(work, "long.fio")
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    times = []
    for _ in range(max(10, rounds)):
        began = time.monotonic()
        output([f"{BIN}/lockstep", "translate", path])
        times.append((time.monotonic() - began) * 1e3)
    return min(times)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--only", default="", help="only cases whose name contains this")
    parser.add_argument("--directory", default="/var/tmp", help="where the devices' images lie")
    options = parser.parse_args()
    with Machine() as machine:
        work = machine.directory(options.directory)
        images = [os.path.join(work, name) for name in ("device", "files")]
        for image in images:
            write_random(image, DEVICE_MIB * MIB)
        device = machine.loop(images[0], direct=True)
        files = machine.loop(images[1], direct=True)
        output(["mkfs.ext4", "-q", "-F", files])
        mount = machine.mount(files, options.directory)
        print(
            f"{DEVICE_MIB} MiB on a loop device with direct I/O; {options.rounds} alternated "
            f"rounds of {options.seconds} s"
        )
        identity = identity_of(images[0])
        consent = ["--allow-expendable", identity]
        with Fleet(1, allow=[device, mount], worker_flags=consent) as fleet:
            bench = Bench(fleet, device, identity, mount, work, options)
            bench.run()
        targets = bench.targets
        if options.only in "translation":
            spent = translated(work, options.rounds)
            words = f"translation of {TRANSLATED_LINES} lines: {spent:.0f} ms of {TRANSLATED_MS}"
            targets.append((words, spent <= TRANSLATED_MS))
    return say("tools", targets) if targets else 1


if __name__ == "__main__":
    sys.exit(main())
