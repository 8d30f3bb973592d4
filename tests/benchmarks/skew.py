"""bench skew: how far apart do hosts start, and is what the report says of it true?

Hosts are network namespaces with monotonic clocks hours apart; the kernel underneath is one, so
that each worker's first I/O can be put on one clock exactly (its own clock minus its namespace's
offset). Side by side: links without delay, with symmetric and with asymmetric delay, a baseline of
threads that only sleep to a common instant, fio's client with its servers in the same namespaces,
and a worker whose clock has an injected rate.

The targets block and cost no processor time (1 ms per I/O). With files on the disk, every first I/O
costs its processor tens of microseconds before the next host's thread can start there, which hosts
with processors of their own would not see: one such row is printed, and gates nothing.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration"))
sys.path.insert(0, HERE)
import verdict  # noqa: E402
from fleet import BIN, ROOT, Fleet, stop, wait_for  # noqa: E402
from hosts import Hosts, Link  # noqa: E402


def percentile(values, percent):
    """By nearest rank."""
    return sorted(values)[math.ceil(len(values) * percent / 100) - 1]


def job(hosts, path, starts):
    """Targets that block; files on the disk when there is a path."""
    target, engine, before, after = "{name: data, null: {latency: 1ms}}", ", engine: null", "", ""
    if path:
        target, engine, before, after = (
            f'{{name: data, file: {{path: "{path}/{{host}}", size: 4MiB}}}}',
            "",
            "\n  - prepare:",
            "\n  - cleanup:",
        )
    phases = "".join(
        f"""
  - name: s{i}
    run:
      duration: 200ms
      workloads: [{{name: w, block_size: 4KiB, queue_depth: 1{engine}, targets: [data]}}]"""
        for i in range(starts)
    )
    return f"""name: skew
hosts: {{count: {hosts}}}
store_filesystem: true
interval: 100ms
targets:
  - {target}
phases:{before}{phases}{after}
"""


# The rates of the injected clocks, ppm: commodity oscillators are specified for 100 either way.
RATES = (-200, -50, 0, 50, 200)


class Series:
    """The results of a set-up: true and reported skews, nanoseconds."""

    def __init__(self, name):
        self.name, self.true, self.reported, self.bound, self.held = name, [], [], [], 0

    def row(self):
        us = [f"{percentile(self.true, p) / 1000:9.0f}" for p in (50, 90, 99, 100)]
        if not self.reported:
            return f"{self.name:<44} {len(self.true):>6} {' '.join(us)}"
        return (
            f"{self.name:<44} {len(self.true):>6} {' '.join(us)} "
            f"{percentile(self.reported, 50) / 1000:11.0f} "
            f"{percentile(self.bound, 50) / 1000:9.0f} {self.held:>6} / {len(self.true)}"
        )


def first_ios(lockstep, hosts):
    """Returns each host's first I/O in each run phase, by the kernel's own clock, in ns."""
    rows = lockstep(
        "sql",
        "--csv",
        "-c",
        "SELECT p.name, w.host, r.result ->> 'firstIoNs' FROM worker_results r "
        "JOIN phase_overview p USING (run_id, phase, attempt) "
        "JOIN run_workers w USING (run_id, worker_index) "
        "WHERE run_id = last_run() AND p.kind = 'run'",
    )
    first = {}
    for line in rows.stdout.splitlines()[1:]:
        phase, host, at = line.split(",")
        first.setdefault(phase, []).append(int(at) - hosts.offsets[int(host[4:])] * 10**9)
    return first


def lockstep_series(name, count, starts, up=None, down=None, on_disk=False):
    """`up` and `down`: delays of every second host's link, seconds; None for no forwarder."""
    series = Series(name)
    with Hosts(count) as hosts, Fleet(0, controller_flags=["--insecure-plaintext"]) as fleet:
        stop(fleet.controller)
        fleet.start_controller(listen=f"{hosts.gateway}:0")
        data = hosts.directory("/var/tmp")
        for i in range(count):
            address = fleet.address
            if up is not None and i % 2 == 1:
                link = Link(hosts.gateway, address, up, down)
                hosts.callback(link.close)
                address = link.address
            hosts.start_worker(fleet, i, address, data)

        def lockstep(*words, **more):
            return subprocess.run(
                [f"{BIN}/lockstep", "--insecure-plaintext", *words],
                capture_output=True,
                text=True,
                env=fleet.environment(),
                check=False,
                **more,
            )

        wait_for(
            "the workers", lambda: lockstep("status").stdout.count(f"{count} workers attached"), 60
        )
        time.sleep(5)  # some exchanges: what a worker that has just come does not have
        spec = job(count, data if on_disk else None, starts)
        done = lockstep("run", "-", "--format", "json", input=spec, timeout=1200)
        if done.returncode != 0:
            raise SystemExit(f"{name}: exit {done.returncode}\n{done.stderr[-2000:]}")
        first = first_ios(lockstep, hosts)
        for phase in json.loads(done.stdout)["phases"]:
            if phase["kind"] != "run":
                continue
            starts_at = first[phase["name"]]
            true = max(starts_at) - min(starts_at)
            series.true.append(true)
            series.reported.append(phase["startSkewNs"])
            series.bound.append(phase["startSkewBoundNs"])
            series.held += abs(true - phase["startSkewNs"]) <= phase["startSkewBoundNs"]
    return series


def baseline(count, rounds):
    """Threads of one process, without namespaces, that do nothing before or after."""
    series = Series(f"baseline: {count} threads that only sleep to T")
    done = subprocess.run(
        [os.path.join(ROOT, "bazel-bin/tests/benchmarks/sleepers"), str(count), str(rounds)],
        capture_output=True,
        text=True,
        check=True,
    )
    series.true = [int(line) for line in done.stdout.split()]
    return series


def fio_series(count, starts):
    """Each job writes down the instant at which it begins, by the clock that all namespaces share
    (wall time is not namespaced).
    """
    series = Series(f"fio --client, {count} servers")
    with Hosts(count, clocks_apart=False) as hosts:
        data = hosts.directory("/var/tmp")
        servers = [
            subprocess.Popen(
                hosts.words(i, "fio", f"--server={hosts.address(i)}"),
                cwd=data,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for i in range(count)
        ]
        hosts.callback(lambda: [stop(server) for server in servers])
        time.sleep(1)
        words = ["fio", "--output-format=json"]
        for i in range(count):
            path = os.path.join(data, f"job{i}")
            with open(path, "w", encoding="ascii") as out:
                out.write(
                    f"[s]\nfilename={data}/f{i}\nsize=4m\nrw=randread\nbs=4k\ndirect=1\n"
                    "ioengine=io_uring\nruntime=200ms\ntime_based=1\n"
                    f"write_lat_log={data}/log{i}\nlog_unix_epoch=1\nlog_alternate_epoch=1\n"
                    "log_alternate_epoch_clock_id=1\n"
                )
            words += [f"--client={hosts.address(i)}", path]
        for round_ in range(starts + 1):
            subprocess.run(words, cwd=data, capture_output=True, text=True, check=False, timeout=60)
            first = []
            for i in range(count):
                logs = [f for f in os.listdir(data) if f.startswith(f"log{i}_") and "_clat" in f]
                for log in logs:
                    with open(os.path.join(data, log), encoding="ascii") as text:
                        # Milliseconds at completion; the latency is in nanoseconds.
                        words_ = text.readline().split(",")
                        if len(words_) > 1:
                            first.append(int(words_[0]) * 10**6 - int(words_[1]))
                    os.unlink(os.path.join(data, log))
            if round_ > 0 and len(first) == count:
                series.true.append(max(first) - min(first))
    return series


def drift(ppm, looks=80):
    """Half a second apart: the estimated rate and its bound (ppm), the offset's error and its bound
    (ns).
    """
    done = subprocess.run(
        [os.path.join(ROOT, "bazel-bin/tests/benchmarks/drift"), str(ppm), str(looks)],
        capture_output=True,
        text=True,
        check=True,
    )
    return [tuple(float(word) for word in line.split()[1:]) for line in done.stdout.splitlines()]


def links(count, starts):
    """The rows of so many hosts; returns their targets."""
    targets = []
    base = baseline(count, starts)
    for name, up, down in (
        (f"{count} hosts, links without delay", None, None),
        (f"{count} hosts, every second +2 ms each way", 0.002, 0.002),
        (f"{count} hosts, every second +1 ms up, +6 ms down", 0.001, 0.006),
    ):
        series = lockstep_series(name, count, starts, up, down)
        print(series.row(), flush=True)
        # The machine's own noise comes and goes: the baseline is taken before and after.
        base.true += baseline(count, starts).true
        held = series.held >= 0.99 * len(series.true)
        targets.append((f"{name}: truth within reported ± bound >= 99 %", held))
        p90, p99 = percentile(series.true, 90), percentile(series.true, 99)
        if up == down:
            targets.append((f"{name}: true skew p90 <= 200 us", p90 <= 200000))
        if up is None:
            plain, plain_p99 = name, p99
    print(base.row(), flush=True)
    least = percentile(base.true, 99) + 50000
    targets.append((f"{plain}: p99 <= baseline's p99 + 50 us", plain_p99 <= least))
    return targets


def rates():
    """The rows of clocks with injected rates; returns their targets."""
    targets = []
    print(
        f"{'a clock of an injected rate':<44} {'looks':>6} {'drift':>9} {'± ppm':>9} "
        f"{'error p50':>9} {'max us':>9} {'± us':>21} {'truth inside':>12}"
    )
    for ppm in RATES:
        looks = drift(ppm)
        name = f"a clock at {ppm:+} ppm"
        rate, rate_bound = looks[-1][:2]
        inside = sum(abs(error) <= bound for _, _, error, bound in looks)
        errors = [abs(error) / 1000 for _, _, error, _ in looks]
        print(
            f"{f'{ppm:+} ppm':<44} {len(looks):>6} {rate:9.1f} {rate_bound:9.1f} "
            f"{percentile(errors, 50):9.0f} {max(errors):9.0f} "
            f"{percentile([b for *_, b in looks], 50) / 1000:21.0f} {inside:>6} / "
            f"{len(looks)}",
            flush=True,
        )
        targets += [
            (f"{name}: truth within offset ± bound >= 99 %", inside >= 0.99 * len(looks)),
            (f"{name}: rate within drift ± bound", abs(rate - ppm) <= rate_bound),
        ]
    return targets


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--starts", type=int, default=100)
    parser.add_argument("--fio-starts", type=int, default=20)
    parser.add_argument("--hosts", type=int, nargs="*", default=[4, 16])
    flags = parser.parse_args()
    subprocess.run(
        [
            "bazel",
            "build",
            "//tests/benchmarks:sleepers",
            "//tests/benchmarks:drift",
            "//tests/benchmarks:link",
        ],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    print(
        f"{'set-up':<44} {'starts':>6} {'true p50':>9} {'p90':>9} {'p99':>9} {'max us':>9} "
        f"{'reported us':>11} {'± us':>9} {'truth inside':>12}"
    )
    targets = []
    for count in flags.hosts:
        targets += links(count, flags.starts)
    on_disk = lockstep_series(
        f"{min(flags.hosts)} hosts, files on the disk", min(flags.hosts), flags.starts, on_disk=True
    )
    print(on_disk.row(), flush=True)
    try:
        peer = fio_series(min(flags.hosts), flags.fio_starts)
        if peer.true:
            print(peer.row() + "   (its log's clock has 1 ms)")
    except (subprocess.SubprocessError, OSError) as error:
        print(f"fio --client: not measured ({error})")
    targets += rates()
    return verdict.say("skew", targets)


if __name__ == "__main__":
    sys.exit(main())
