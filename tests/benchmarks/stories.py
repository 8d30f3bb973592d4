"""bench stories: what the stories of docs/guide/stories.md say, beside the tools that they were
made with; alternated, on the same file system.

`series`: sysbench fileio over 128 files, 16 and one, with one total size, and Lockstep's sweep over
the number of files. At each point the two must agree (pairs.py): their ratio must be within 10 %,
or within the half of its interval of 99 %, which may be at most 25 %.

`observed`: an observe phase over a device that two fio processes use for 10 s, beside iostat -x.
All of the I/O is within what both of them saw, so that their totals are those of the same requests.
Each column must agree to iostat's last printed digit, or within 2 %.

`copy`: Lockstep's copy of a file beside dd's, a block of 1 MiB at a time, past the page cache and
with one sync at the end. The two must agree, as in `series`.

`promise`: fio's direct figure is what was promised. Lockstep's direct phase must agree with it. Its
buffered phase must be beyond it, with the page cache as the cause, and with the share of the reads
that /proc/diskstats has. The file lies on a loop device that nobody else uses: what other programs
read from a shared disk is among its counters.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration"))
sys.path.insert(0, HERE)
from agree import Case, disk_bytes, disk_of, run_fio, settle  # noqa: E402
from fleet import Fleet, wait_for  # noqa: E402
from machine import MIB, Machine, write_random  # noqa: E402
from machine import run as run_command  # noqa: E402
from pairs import compare  # noqa: E402
from verdict import say  # noqa: E402

COUNTS = (128, 16, 1)
BLOCK = 16384
# By sysbench's name of the test: what it is in a job file.
MODES = {
    "rndrd": "pattern: random",
    "rndrw": "pattern: random, read: 60%, fsync: {every_ios: 100, all_files: true}",
    "seqrd": "pattern: {sequential: {shared: true}}",
}


def forget(paths):
    """Takes files out of the page cache. Those that Lockstep lays out are not in it either."""
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(fd)


def run_sysbench(work, mode, count, options):
    """Requests per second, without syncs, over new files."""
    folder = tempfile.mkdtemp(prefix="sysbench", dir=work)
    words = [
        "sysbench",
        "fileio",
        f"--file-num={count}",
        f"--file-total-size={options.mib}M",
        f"--file-block-size={BLOCK}",
        f"--file-test-mode={mode}",
        "--file-io-mode=sync",
        "--file-fsync-freq=100",
        "--file-fsync-end=off",
        "--rand-type=uniform",
        "--threads=1",
        f"--time={options.seconds}",
    ]
    try:
        subprocess.run([*words, "prepare"], cwd=folder, check=True, capture_output=True)
        forget(os.path.join(folder, name) for name in os.listdir(folder))
        settle()
        done = subprocess.run(
            [*words, "run"], cwd=folder, check=True, capture_output=True, text=True
        )
    finally:
        shutil.rmtree(folder)
    return sum(float(n) for n in re.findall(r"(?:reads|writes)/s:\s+([\d.]+)", done.stdout))


def run_point(fleet, work, mode, count, options):
    """The same of Lockstep: a sweep of one point, whose files are as new."""
    settle()
    job = f"""name: stories
targets:
  - {{name: files, file: {{path: "{work}/{{host}}/{{file}}", total_size: {options.mib}MiB}}}}
phases:
  - name: series
    run:
      duration: {options.seconds}s
      sweep: {{axes: [{{field: targets.files.file.count, values: [{count}]}}]}}
      workloads: [{{block_size: {BLOCK}, engine: sync, direct: false, {MODES[mode]}}}]
"""
    report = run(fleet, job)
    (point,) = report["sweeps"][0]["points"]
    return point["iops"]


def run(fleet, job):
    done = fleet.run_job(job, "--format", "json")
    if done.status != 0:
        raise RuntimeError(str(done))
    return done.json()


def series(fleet, work, options):
    targets = []
    print(f"\n{'series':<18}{'sysbench':>10}{'ours':>10}   ratio")
    for mode in options.modes:
        for count in COUNTS:
            pairs = compare(
                options.rounds,
                lambda mode=mode, count=count: run_sysbench(work, mode, count, options),
                lambda mode=mode, count=count: run_point(fleet, work, mode, count, options),
            )
            print(
                f"{mode} {count:>4} files   {statistics.median(pairs.theirs):>10,.0f}"
                f"{statistics.median(pairs.ours):>10,.0f}   {pairs}",
                flush=True,
            )
            targets.append((f"{mode}, {count} files: as sysbench, x {pairs}", pairs.agree()))
    return targets


def promised_phase(fleet, path, promised, direct, options):
    """A promise over random reads by Lockstep, and the share of their bytes that no disk read."""
    job = f"""name: stories
expendable: ["{path}"]
targets:
  - {{name: f, file: {{path: "{path}", size: {os.path.getsize(path)}}}, sharing: overlapped}}
phases:
  - name: reads
    run:
      duration: {options.seconds}s
      promised: {{iops: {promised:.3f}}}
      workloads: [{{block_size: 4KiB, pattern: random, direct: {str(direct).lower()}}}]
"""
    disk = disk_of(path)
    before = disk_bytes(disk, "read")
    phase = run(fleet, job)["phases"][0]
    read = disk_bytes(disk, "read") - before
    moved = sum(
        int(row[0])
        for row in fleet.sql("SELECT bytes FROM interval_operations WHERE run_id = last_run()")
    )
    return phase["promised"][0], 1 - read / moved


def own_disk(machine, work, mib):
    """A file system on a loop device, for a file of so many MiB."""
    image = os.path.join(machine.directory(work), "image")
    with open(image, "wb") as out:
        out.truncate((2 * mib + 64) * MIB)
    device = machine.loop(image, direct=True)
    run_command("mkfs.ext4", "-q", device)
    return machine.mount(device, work)


def promise(fleet, _work, options):
    path = os.path.join(options.promised, "promised")
    write_random(path, options.mib * MIB)
    forget([path])
    reads = Case(True, 4096, "random", "read", 1)
    pairs = compare(
        options.rounds,
        lambda: run_fio(reads, path, options.seconds)[0],
        lambda: promised_phase(fleet, path, 1, True, options)[0]["found"],
    )
    direct = statistics.median(pairs.theirs)
    targets = [(f"direct: as fio's {direct:,.0f} IOPS, x {pairs}", pairs.agree())]
    # Twice: the first one reads the file into the cache.
    for name in ("cold", "warm"):
        said, truth = promised_phase(fleet, path, direct, False, options)
        print(f"promise, {name}: {said['text']}; by /proc/diskstats {100 * truth:.0f} %")
        if name == "cold":
            continue
        share = re.match(r"(\d+) % of the reads came from the page cache", said["cause"])
        targets += [
            (f"buffered: {said['ratio']:.1f} x the promise is beyond it", said["exceeded"]),
            (
                "its cause is the page cache, with the share of /proc/diskstats",
                share is not None and abs(int(share.group(1)) - 100 * truth) <= 2,
            ),
        ]
    return targets


# fio runs for so long. iostat looks for some seconds more, so that all of fio's I/O is within.
FIO_SECONDS = 10
IOSTAT_SECONDS = 15
TOLERANCE = 0.02
LAST_DIGIT = 0.01
# iostat's columns, and the same of a report's device: its field, what that is multiplied by, and
# whether the column is a rate.
COLUMNS = {
    "aqu-sz": ("queueSize", 1, True),
    "util": ("busyRatio", 100, True),
    "f/s": ("flushesPerSecond", 1, True),
    "f_await": ("flushAwaitMs", 1, False),
}
for letter, kind in (("r", "read"), ("w", "write"), ("d", "discard")):
    COLUMNS |= {
        f"{letter}/s": (f"{kind}sPerSecond", 1, True),
        f"{letter}kB/s": (f"{kind}BytesPerSecond", 1 / 1024, True),
        f"{letter}rqm/s": (f"{kind}MergesPerSecond", 1, True),
        f"{letter}rqm": (f"{kind}MergedRatio", 100, False),
        f"{letter}_await": (f"{kind}AwaitMs", 1, False),
        f"{letter}areq-sz": (f"{kind}RequestBytes", 1 / 1024, False),
    }


def start_fio(device, name, *words):
    return subprocess.Popen(
        [
            "fio",
            f"--name={name}",
            f"--filename={device}",
            "--direct=1",
            "--time_based",
            f"--runtime={FIO_SECONDS}",
            "--output-format=terse",
            *words,
        ],
        stdout=subprocess.DEVNULL,
    )


def beside_iostat(fleet, device, size):
    """The device as a report and as iostat show it, and the seconds of each."""
    name = os.path.basename(device)
    samples = f"SELECT count(*) FROM device_samples WHERE run_id = last_run() AND device = '{name}'"

    def await_intervals(count):
        before = int(fleet.sql(samples)[0][0])
        wait_for(f"{count} intervals", lambda: int(fleet.sql(samples)[0][0]) >= before + count, 60)

    job = (
        "name: stories\nphases:\n"
        f"  - {{name: watch, observe: {{duration: 10m, devices: [{device}]}}}}\n"
    )
    running = fleet.start_lockstep("run", "-", "--format", "json", stdin=job)
    await_intervals(1)
    iostat = subprocess.Popen(
        ["iostat", "-x", "-y", "-d", "-o", "JSON", name, str(IOSTAT_SECONDS), "1"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "LC_ALL": "C"},
    )
    # iostat reads the counters as soon as it runs.
    await_intervals(2)
    half = size // 2
    load = [
        start_fio(
            device,
            "reads",
            "--rw=randread",
            "--bsrange=4k-32k",
            "--ioengine=libaio",
            "--iodepth=4",
            f"--size={half}",
        ),
        start_fio(
            device,
            "writes",
            "--rw=write",
            "--bs=64k",
            "--fsync=32",
            f"--offset={half}",
            f"--size={half}",
        ),
    ]
    for process in load:
        process.wait()
    theirs = json.loads(iostat.communicate()[0])["sysstat"]["hosts"][0]["statistics"][0]["disk"][0]
    await_intervals(2)
    fleet.lockstep("stop", "last", "--phase")
    out, err = running.communicate()
    if running.returncode != 0:
        raise RuntimeError(err)
    phase = json.loads(out)["phases"][0]
    # The disks underneath it have lines of their own.
    (ours,) = [device for device in phase["devices"] if not device["nested"]]
    return ours, phase["observed"]["seconds"], theirs


def observed(fleet, work, options):
    with Machine() as machine:
        image = os.path.join(work, "observed")
        write_random(image, options.mib * MIB)
        device = machine.loop(image, direct=True)
        ours, seconds, theirs = beside_iostat(fleet, device, options.mib * MIB)
    print(f"\n{'observed':<12}{'iostat':>14}{'ours':>14}")
    targets = []
    for column, (field, factor, is_rate) in COLUMNS.items():
        # Rates are compared by their totals: both have looked for another time, and had nothing
        # else to see.
        mine = ours.get(field, 0) * factor * (seconds if is_rate else 1)
        other = theirs[column] * (IOSTAT_SECONDS if is_rate else 1)
        digit = LAST_DIGIT * (IOSTAT_SECONDS if is_rate else 1)
        print(f"{column:<12}{other:>14,.2f}{mine:>14,.2f}", flush=True)
        agrees = abs(mine - other) <= max(digit, TOLERANCE * other)
        targets.append((f"observed: {column} as iostat has it", agrees))
    seen = all(theirs[column] > 0 for column in ("r/s", "w/s", "f/s"))
    return [*targets, ("observed: there were reads, writes and flushes", seen)]


# A smaller copy takes a fraction of a second, which tells little.
LEAST_COPY_MIB = 512


def run_dd(source, copied):
    """MiB per second."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(copied)
    settle()
    words = ["bs=1M", "iflag=direct", "oflag=direct", "conv=fsync"]
    done = subprocess.run(
        ["dd", f"if={source}", f"of={copied}", *words],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "LC_ALL": "C"},
    )
    seconds = float(re.search(r"copied, ([\d.e-]+) s", done.stderr).group(1))
    return os.path.getsize(source) / MIB / seconds


def run_copy(fleet, source, copied):
    """The same of Lockstep."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(copied)
    settle()
    size = os.path.getsize(source)
    job = f"""name: stories
expendable: ["{source}"]
targets:
  - {{name: source, file: {{path: "{source}", size: {size}}}}}
  - {{name: copied, file: {{path: "{copied}", size: {size}}}}}
hosts: {{count: 1}}
phases:
  - name: copy
    run:
      workloads:
        - copy: {{from: source, to: copied}}
          block_size: 1MiB
          engine: sync
          create: true
          fsync: {{at_end: true}}
  - cleanup: {{targets: [copied]}}
"""
    phase = run(fleet, job)["phases"][0]
    return size / MIB / phase["lastDoneSeconds"]


def copy(fleet, work, options):
    source = os.path.join(work, "source")
    write_random(source, max(options.mib, LEAST_COPY_MIB) * MIB)
    forget([source])
    pairs = compare(
        options.rounds,
        lambda: run_dd(source, os.path.join(work, "dd")),
        lambda: run_copy(fleet, source, os.path.join(work, "copied")),
    )
    print(
        f"\ncopy: dd {statistics.median(pairs.theirs):,.1f} MiB/s, ours "
        f"{statistics.median(pairs.ours):,.1f} MiB/s; ratio {pairs}"
    )
    return [(f"copy: as dd, x {pairs}", pairs.agree())]


# A part is a function of the fleet, the directory of the files and the options: it prints its table
# and returns its targets.
PARTS = {"series": series, "observed": observed, "copy": copy, "promise": promise}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="at least; three times at most")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--mib", type=int, default=64, help="the files' total size")
    parser.add_argument("--modes", nargs="+", choices=sorted(MODES), default=["rndrd", "rndrw"])
    parser.add_argument("--only", choices=sorted(PARTS), help="one of the parts")
    parser.add_argument("--directory", default="/tmp", help="where the files lie")
    options = parser.parse_args()
    work = tempfile.mkdtemp(prefix="ls-stories", dir=options.directory)
    targets = []
    try:
        print(
            f"{options.mib} MiB on {disk_of(work)}; {options.rounds} alternated rounds of "
            f"{options.seconds} s"
        )
        with contextlib.ExitStack() as started:
            machine = started.enter_context(Machine())
            allow = [work]
            if options.only in (None, "promise"):
                options.promised = own_disk(machine, work, options.mib)
                allow.append(options.promised)
            flags = ["--observe", "all"]
            for name in (f"{allow[-1]}/promised", f"{work}/source"):
                flags += ["--allow-expendable", name]
            fleet = started.enter_context(Fleet(1, allow=allow, worker_flags=flags))
            for name, measure in PARTS.items():
                if options.only in (None, name):
                    targets += measure(fleet, work, options)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return say("stories", targets)


if __name__ == "__main__":
    sys.exit(main())
