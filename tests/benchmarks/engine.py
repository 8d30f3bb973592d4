"""bench engine: what the engine costs, against fio at its best settings, sysbench, and a raw loop
over the same system calls.

4 KiB random I/O by one thread; alternated rounds, medians count. Ours always has full histograms
and interval samples on and runs as the whole product: controller, PostgreSQL and worker on the same
two cores. fio has registered buffers and files, latency on, and the best of several batch settings,
chosen per case by a short run of each. The raw loop (tests/benchmarks/raw.cc) measures nothing. A
target is also met at 0.97 of the raw loop: the kernel is then the limit.
"""

import argparse
import functools
import json
import os
import re
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration"))
from fleet import ROOT, Fleet, identity_of  # noqa: E402
from machine import MIB, Machine, read_through, run, write_random  # noqa: E402

RAW = os.path.join(ROOT, "bazel-bin/tests/benchmarks/raw")
BATCHES = [(32, 1), (8, 1), (32, 16), (16, 8), (1, 1)]
NOISE = 0.97
SIZE = 256 * MIB


class Case:
    """One row: a target, a direction, an engine, a depth; and what must hold."""

    def __init__(
        self,
        name,
        path,
        kind,
        size,
        direct,
        write,
        engine="io_uring",
        depth=128,
        threads=1,
        least=None,
        peer="fio",
        min_raw=None,
        cpu=False,
        user=True,
        limit_ns=None,
    ):
        self.name, self.path, self.kind, self.size, self.direct, self.write = (
            name,
            path,
            kind,
            size,
            direct,
            write,
        )
        self.engine, self.depth, self.threads, self.least, self.peer = (
            engine,
            depth,
            threads,
            least,
            peer,
        )
        self.min_raw, self.cpu, self.user, self.limit_ns = min_raw, cpu, user, limit_ns
        self.batch = None

    def __str__(self):
        threads = f" ×{self.threads}" if self.threads > 1 else ""
        return (
            f"{self.name} {'write' if self.write else 'read'}, {self.engine} "
            f"d{self.depth}{threads}, {self.peer}"
        )

    @property
    def inline(self):
        return not self.direct or self.kind in ("zero", "nop")


class Figures:
    """The figures of one run: I/Os per second; user and system nanoseconds per I/O."""

    def __init__(self, iops, user, system):
        self.iops, self.user, self.system = iops, user, system

    @property
    def cpu(self):
        return self.user + self.system


def median(figures):
    return Figures(
        *(
            statistics.median(getattr(f, name) for f in figures)
            for name in ("iops", "user", "system")
        )
    )


def run_fio(case, seconds, batch):
    engine = {"io_uring": "io_uring", "libaio": "libaio", "sync": "psync"}[case.engine]
    words = [
        "fio",
        "--name=engine",
        f"--filename={case.path}",
        f"--ioengine={engine}",
        f"--direct={int(case.direct and case.kind in ('file', 'device'))}",
        f"--rw=rand{'write' if case.write else 'read'}",
        "--bs=4096",
        f"--iodepth={case.depth}",
        f"--size={case.size}",
        "--thread",
        f"--numjobs={case.threads}",
        "--group_reporting",
        f"--runtime={seconds}",
        "--time_based",
        "--norandommap",
        "--randrepeat=0",
        "--invalidate=0",
        "--fallocate=none",
        "--output-format=json",
    ]
    if case.engine == "io_uring":
        words += ["--fixedbufs=1", "--registerfiles=1"]
    if case.engine != "sync" and case.depth > 1:
        submit, complete = batch
        words += [
            f"--iodepth_batch_submit={min(submit, case.depth)}",
            f"--iodepth_batch_complete_min={min(complete, case.depth)}",
            f"--iodepth_batch_complete_max={case.depth}",
        ]
    before = os.times()
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    after = os.times()
    job = json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]
    part = job["write" if case.write else "read"]
    # usr_cpu and sys_cpu are shares of the jobs' summed time; they leave out the kernel's threads
    # that worked for the process (io-wq), which the process's own figure has. The start of fio is
    # measured apart.
    per_io = part["runtime"] * 1e6 * case.threads / part["total_ios"]
    user, system = job["usr_cpu"] / 100 * per_io, job["sys_cpu"] / 100 * per_io
    whole = (
        (after.children_system - before.children_system - fio_start_seconds())
        * 1e9
        / part["total_ios"]
    )
    return Figures(part["iops"], user, max(system, whole))


@functools.cache
def fio_start_seconds():
    """The system time of a fio that does one I/O."""
    times = []
    for _ in range(3):
        before = os.times().children_system
        subprocess.run(
            [
                "fio",
                "--name=start",
                "--filename=/dev/zero",
                "--ioengine=io_uring",
                "--iodepth=128",
                "--fixedbufs=1",
                "--registerfiles=1",
                "--thread",
                "--rw=randread",
                "--bs=4096",
                "--size=1m",
                "--number_ios=1",
            ],
            capture_output=True,
            check=True,
        )
        times.append(os.times().children_system - before)
    return statistics.median(times)


def best_batch(case, seconds):
    if case.engine == "sync" or case.depth == 1:
        return (1, 1)
    return max(BATCHES, key=lambda batch: run_fio(case, min(seconds, 0.7), batch).iops)


def run_raw(case, seconds):
    batch, wait = (
        (min(32, case.depth // 2), max(1, case.depth // 4))
        if case.inline
        else (min(8, case.depth // 2), 1)
    )
    engine = "nop" if case.kind == "nop" else {"io_uring": "uring"}.get(case.engine, case.engine)
    plain = (
        ["plain"]
        if case.engine == "io_uring" and case.write and not case.direct and case.depth <= 2
        else []
    )
    # The raw loop has one thread; with more, as many of them.
    words = [
        RAW,
        engine,
        case.path,
        "write" if case.write else "read",
        str(case.depth),
        str(max(1, batch)),
        str(max(1, wait)),
        "4096",
        str(case.size),
        str(seconds),
        str(int(case.direct and case.kind in ("file", "device"))),
        *plain,
    ]
    runs = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(case.threads)]
    parts = [json.loads(process.communicate()[0]) for process in runs]
    return Figures(
        sum(p["iops"] for p in parts),
        statistics.mean(p["user"] for p in parts),
        statistics.mean(p["system"] for p in parts),
    )


def run_sysbench(case, seconds):
    """sysbench names its files itself: the case's file is its directory's test_file.0."""
    words = [
        "sysbench",
        "fileio",
        "--file-num=1",
        f"--file-total-size={case.size}",
        "--file-block-size=4096",
        f"--file-test-mode={'rndwr' if case.write else 'rndrd'}",
        f"--file-io-mode={'async' if case.peer == 'sysbench async' else 'sync'}",
        f"--file-async-backlog={case.depth}",
        "--file-fsync-freq=0",
        "--file-fsync-end=off",
        "--rand-type=uniform",
        f"--threads={case.threads}",
        f"--time={max(1, round(seconds))}",
        "run",
    ]
    before = os.times()
    done = subprocess.run(
        words, capture_output=True, text=True, check=True, cwd=os.path.dirname(case.path)
    )
    after = os.times()
    iops = float(re.search(r"(?:writes|reads)/s:\s+([1-9][\d.]*)", done.stdout).group(1))
    count = iops * max(1, round(seconds))
    return Figures(
        iops,
        (after.children_user - before.children_user) * 1e9 / count,
        (after.children_system - before.children_system) * 1e9 / count,
    )


def target_of(case):
    if case.kind == "nop":
        return "{name: t, null: {}}"
    if case.kind == "zero":
        return "{name: t, null: {device: zero}}"
    kind = "device" if case.kind == "device" else "file"
    return f'{{name: t, {kind}: {{path: "{case.path}", size: {case.size}}}, sharing: overlapped}}'


def identities_of(paths):
    """Returns the identities of devices whose contents may be overwritten."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as text:
        boot = text.read().strip()
    return {
        paths["zram"]: f"zram:{boot}:{os.path.basename(paths['zram'])}",
        paths["loop"]: identity_of(paths["backing"]),
    }


def run_ours(fleet, case, seconds):
    job = f"""name: engine
expendable: ["{fleet.identities.get(case.path, case.path)}"]
targets: [{target_of(case)}]
phases:
  - run:
      duration: {int(seconds * 1000)}ms
      workloads:
        - block_size: 4096
          read: {0 if case.write else 100}%
          queue_depth: {case.depth}
          threads: {case.threads}
          direct: {str(case.direct).lower()}
          engine: {case.engine}
"""
    done = fleet.run_job(job, "--format", "json")
    if done.status != 0:
        raise RuntimeError(str(done))
    phase = done.json()["phases"][0]
    return Figures(
        phase["total"]["iops"], phase["workerCpuUserNsPerIo"], phase["workerCpuSystemNsPerIo"]
    )


class Verdicts:
    def __init__(self):
        self.met = self.total = 0

    def add(self, what, value, holds, alternative=False):
        self.total += 1
        self.met += bool(holds or alternative)
        return f"{what} {value} {'met' if holds else 'met (kernel)' if alternative else 'NOT MET'}"


def bench_case(fleet, case, options, verdicts):
    peer = run_sysbench if case.peer.startswith("sysbench") else lambda c, s: run_fio(c, s, c.batch)
    has_peer = case.kind != "nop"
    if has_peer and case.peer == "fio":
        case.batch = best_batch(case, options.seconds)
    all_ours, all_peer, all_raw = [], [], []
    for number in range(options.rounds):
        turns = [
            lambda: all_ours.append(run_ours(fleet, case, options.seconds)),
            lambda: all_raw.append(run_raw(case, options.seconds)),
        ]
        if has_peer:
            turns.insert(1, lambda: all_peer.append(peer(case, options.seconds)))
        for i in range(len(turns)):  # another one begins each round
            turns[(i + number) % len(turns)]()
    ours, raw = median(all_ours), median(all_raw)
    to_raw = statistics.median(o.iops / r.iops for o, r in zip(all_ours, all_raw, strict=False))
    line = f"{str(case):<44} {ours.iops / 1e3:>7.0f} {ours.user:>5.0f}/{ours.system:<5.0f} "
    found = []
    if has_peer:
        other = median(all_peer)
        ratio = statistics.median(o.iops / p.iops for o, p in zip(all_ours, all_peer, strict=False))
        line += (
            f"{other.iops / 1e3:>7.0f} {other.user:>5.0f}/{other.system:<5.0f} "
            f"{raw.iops / 1e3:>7.0f} {raw.user:>4.0f}/{raw.system:<5.0f}"
        )
        if case.least is not None:
            least = case.least * NOISE if case.least == 1.0 else case.least
            found.append(
                verdicts.add(
                    f"IOPS ≥ {case.least:.2f}×:", f"{ratio:.2f}", ratio >= least, to_raw >= NOISE
                )
            )
        if case.cpu:
            share = statistics.median(
                o.cpu / p.cpu for o, p in zip(all_ours, all_peer, strict=False)
            )
            found.append(
                verdicts.add(
                    "CPU ≤ 1×:", f"{share:.2f}", share <= 1 / NOISE, ours.cpu <= raw.cpu / NOISE
                )
            )
        if case.user and case.peer == "fio":
            share = statistics.median(
                o.user / p.user for o, p in zip(all_ours, all_peer, strict=False)
            )
            found.append(verdicts.add("user ≤ 0.5×:", f"{share:.2f}", share <= 0.5))
    else:
        line += (
            f"{'–':>7} {'–':>5} {'':<5} {raw.iops / 1e3:>7.0f} {raw.user:>4.0f}/{raw.system:<5.0f}"
        )
    if case.min_raw is not None:
        found.append(
            verdicts.add(f"raw ≥ {case.min_raw:.2f}×:", f"{to_raw:.2f}", to_raw >= case.min_raw)
        )
    if case.limit_ns is not None:
        found.append(
            verdicts.add(
                f"≤ {case.limit_ns} ns:", f"{1e9 / ours.iops:.0f}", 1e9 / ours.iops <= case.limit_ns
            )
        )
    print(f"{line}  {to_raw:4.2f}  {'; '.join(found)}", flush=True)


def make_targets(machine):
    """Files and devices of 256 MiB by name, filled, in the page cache where they are files."""
    work = machine.directory("/tmp")
    memory = machine.directory("/dev/shm")
    image = os.path.join(memory, "xfs")
    with open(image, "wb") as out:
        out.truncate(2 * SIZE)
    xfs_device = machine.loop(image, False)
    run("mkfs.xfs", "-q", xfs_device)
    paths = {
        "ext4": os.path.join(work, "test_file.0"),
        "xfs": os.path.join(machine.mount(xfs_device, "/tmp"), "file"),
        "tmpfs": os.path.join(memory, "file"),
        "backing": os.path.join(memory, "loop"),
    }
    for path in paths.values():
        write_random(path, SIZE)
    for name in ("ext4", "xfs", "tmpfs"):
        read_through(paths[name])
    paths["loop"] = machine.loop(paths["backing"], True)
    paths["zram"] = machine.zram(SIZE)
    write_random(paths["zram"], SIZE, "r+b")
    allowed = [work, memory, paths["loop"], paths["zram"], os.path.dirname(paths["xfs"])]
    return paths, allowed


def make_cases(paths, full):
    ext4, xfs, tmpfs, loop = (paths[name] for name in ("ext4", "xfs", "tmpfs", "loop"))
    zero, plain = ("/dev/zero", "/dev/zero", "zero", True), ("ext4 cached", ext4, "file", False)
    direct = ("ext4 direct", ext4, "file", True)

    def case(target, write, **more):
        name, path, kind, is_direct = target
        return Case(name, path, kind, SIZE, is_direct, write, **more)

    cases = [
        case(("nop", "none", "nop", True), False, limit_ns=150, user=False),
        case(zero, False, least=1.15, min_raw=0.87),
        case(("/dev/null", *zero[1:]), True, least=1.15, min_raw=0.87),
        case(plain, False, least=1.05),
        case(("xfs cached", xfs, "file", False), False, least=1.05),
    ]
    for target in (
        ("zram", paths["zram"], "device", True),
        ("loop on tmpfs", loop, "device", True),
        ("tmpfs", tmpfs, "file", False),
        direct,
    ):
        cases += [case(target, write, least=1.0, cpu=True) for write in (False, True)]
    sync = {"engine": "sync", "depth": 1}
    cases += [
        case(zero, False, **sync, least=1.1),
        case(plain, False, **sync, least=1.1),
        case(plain, False, **sync, least=1.0, peer="sysbench sync"),
        case(plain, True, **sync, least=1.0, peer="sysbench sync"),
        case(zero, False, engine="libaio", least=1.0),
        case(direct, False, engine="libaio", least=1.0),
        case(plain, False, least=1.3, peer="sysbench async"),
    ]
    for depth, threads in ((1, 1), (32, 1), (128, 2)) if full else ():
        for target in (zero, plain, ("loop on tmpfs", loop, "device", True), direct):
            cases.append(case(target, False, depth=depth, threads=threads, user=False))
    return cases


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--only", default="", help="only cases whose text contains this")
    parser.add_argument(
        "--full",
        action="store_true",
        help="also depths 1 and 32 and two threads, which have no targets",
    )
    options = parser.parse_args()
    run("bazel", "build", "//tests/benchmarks:raw", "//tests/benchmarks:record")
    verdicts = Verdicts()
    recording = json.loads(run(os.path.join(ROOT, "bazel-bin/tests/benchmarks/record")))
    print(
        f"recording one latency: closed loop {recording['closed']} ns, open loop (service and "
        f"response) {recording['open']} ns; "
        + verdicts.add("≤ 5 ns:", f"{recording['closed']:.1f}", recording["closed"] <= 5)
    )
    with Machine() as machine:
        paths, allowed = make_targets(machine)
        cases = [case for case in make_cases(paths, options.full) if options.only in str(case)]
        identities = identities_of(paths)
        filled = [*(paths[name] for name in ("ext4", "xfs", "tmpfs")), *identities.values()]
        flags = [word for path in filled for word in ("--allow-expendable", path)]
        with Fleet(1, allow=allowed, worker_flags=flags) as fleet:
            fleet.identities = identities
            print(
                f"4 KiB random, {options.rounds} alternated rounds of {options.seconds} s; "
                "kIOPS, and user/system ns per I/O"
            )
            print(
                f"{'':<44} {'ours':>7} {'CPU':^11} {'peer':>7} {'CPU':^11} {'raw':>7} "
                f"{'CPU':^10}  /raw"
            )
            for case in cases:
                bench_case(fleet, case, options, verdicts)
    print(f"bench engine: {verdicts.met} of {verdicts.total} targets met")
    return 0 if verdicts.met == verdicts.total and verdicts.total > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
