"""bench hostile: how much hostile clients disturb a run on four hosts. The same paced load
runs in peace and under fire in turn: mixed hostile calls of a viewer, eight at once, and idle and
slow connections on both ports that say nothing or nonsense.
"""

import argparse
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration"))
import verdict  # noqa: E402
from fleet import ROOT, Fleet, files_job  # noqa: E402

ATTACKER = os.path.join(ROOT, "bazel-bin/tests/attack/attacker")


def connect(address, idle, slow, over):
    """Idle connections that say nothing, and slow ones that drip a byte a second of nonsense; both
    are opened again when they are closed.
    """
    host, port = address.rsplit(":", 1)
    nonsense = b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: " + b"a" * 100000
    sockets = []

    def open_one():
        try:
            connection = socket.create_connection((host, int(port)), timeout=5)
            connection.setblocking(False)
            return connection
        except OSError:
            return None

    for i in range(idle + slow):
        sockets.append([open_one(), 0, i >= idle])
        if over.is_set():
            break
    while not over.wait(1):
        for entry in sockets:
            if entry[0] is None:
                entry[:2] = [open_one(), 0]
            elif entry[2]:
                try:
                    entry[0].send(nonsense[entry[1] : entry[1] + 1])
                    entry[1] += 1
                except OSError:
                    entry[0].close()
                    entry[0] = None
    for entry in sockets:
        if entry[0] is not None:
            entry[0].close()


def costly_jobs(directory):
    """Small jobs that stand for much: beyond the limits, and right below them."""
    values = ", ".join(str(v) for v in range(1, 101))
    axes = "".join(
        f"          - {{field: workloads.0.{field}, values: [{values}]}}\n"
        for field in ("queue_depth", "threads", "batch", "seed") * 2
    )
    load = "      duration: 1s\n      workloads: [{name: w, block_size: 4KiB}]\n"
    head = "name: costly\nhosts: {count: 1}\n"
    one = f"targets: [{{name: t, file: {{path: {directory}/t, size: 4MiB}}}}]\n"
    sweep = f"      sweep:\n        axes:\n{axes}"
    short = sweep.split("\n          - ", 3)
    tens = f"      sweep:\n        axes:\n          - {short[1]}\n        repeat: 9\n"
    targets = "".join(
        f"  - {{name: t{i}, file: {{path: {directory}/t{i}, size: 4MiB}}}}\n" for i in range(200)
    )
    names = ", ".join(f"t{i}" for i in range(200))
    workloads = "".join(
        f"        - {{name: w{i}, block_size: 4KiB, targets: [{names}]}}\n" for i in range(64)
    )
    dozen = tens.replace(values, ", ".join(str(v) for v in range(1, 12))).replace(
        "repeat: 9", "repeat: 1"
    )
    phases = "".join(
        f"  - name: p{i}\n    run:\n{load}{sweep}"
        for i in range(10)  # each of 100^8 points
    )
    return [
        f"{head}{one}phases:\n  - name: p\n    run:\n{load}{sweep}",
        f"{head}{one}phases:\n{phases}",
        f"{head}{one}phases:\n  - prepare:\n  - name: p\n    run:\n{load}{tens}",
        f"{head}targets:\n{targets}phases:\n  - prepare:\n  - name: p\n    run:\n"
        f"      duration: 1s\n{dozen}      workloads:\n{workloads}",
    ] * 2


def ask_status(urls, seconds):
    """How long each answer of the pages' status took, in seconds: in turn, a list for each page."""
    answers = [[] for _ in urls]
    over = time.monotonic() + seconds
    while time.monotonic() < over:
        for url, took in zip(urls, answers, strict=True):
            began = time.monotonic()
            with urllib.request.urlopen(url + "api/status", timeout=60) as answer:
                answer.read()
            took.append(time.monotonic() - began)
        time.sleep(0.02)
    return answers


def percentile(answers, percent):
    return sorted(answers)[len(answers) * percent // 100]


def describe(answers):
    return (
        f"median {percentile(answers, 50) * 1e3:.1f} ms, 99 % within "
        f"{percentile(answers, 99) * 1e3:.0f} ms, slowest {max(answers) * 1e3:.0f} ms of "
        f"{len(answers)}"
    )


class Bench:
    def __init__(self, flags):
        self.flags = flags

    def job(self):
        return files_job(
            self.fleet.data, hosts=4, duration=f"{self.flags.seconds}s", workload=", max_iops: 4000"
        )

    def run(self, attack):
        """One run; `attack` is called when its load begins. Returns its load phase, and how long
        `stop` of another, queued run took.
        """
        running = self.fleet.start_lockstep("run", "-", "--format", "json", stdin=self.job())
        self.fleet.await_phase("mix")
        threads = attack()
        time.sleep(self.flags.seconds / 3)
        queued = self.fleet.lockstep("submit", "-", stdin=self.job()).out.split()[0]
        began = time.monotonic()
        stopped = self.fleet.lockstep("stop", queued, "--now")
        took = time.monotonic() - began
        out, err = running.communicate(timeout=300)
        for thread in threads:
            thread.join()
        if running.returncode != 0 or stopped.status != 0:
            raise SystemExit(
                f"the run ended with {running.returncode}, stop with "
                f"{stopped.status}:\n{out[-2000:]}\n{err[-2000:]}\n{stopped}"
            )
        report = self.fleet.lockstep(
            "report",
            self.fleet.sql(
                "SELECT run_id FROM runs WHERE state = 'done' ORDER BY submitted_at DESC LIMIT 1"
            )[0][0],
            "--format",
            "json",
        ).json()
        return next(phase for phase in report["phases"] if phase["name"] == "mix"), took

    def fire(self):
        self.over = threading.Event()

        def storm():
            self.said = subprocess.run(
                [
                    ATTACKER,
                    "storm",
                    "--controller",
                    self.fleet.address,
                    "--calls",
                    str(self.flags.calls),
                    "--parallel",
                    "8",
                ],
                capture_output=True,
                text=True,
                check=False,
            ).stdout

        threads = [threading.Thread(target=storm)]
        http = self.fleet.url.split("//")[1].rstrip("/")
        for address in (self.fleet.address, http):
            threads.append(
                threading.Thread(
                    target=connect, args=(address, self.flags.idle, self.flags.slow, self.over)
                )
            )
        for thread in threads:
            thread.start()
        threading.Timer(self.flags.seconds, self.over.set).start()
        return threads

    def plan(self):
        """Eight costly jobs at once, again and again. Returns how long status took beside them,
        in seconds, each time: of this controller, and of an idle one on the same machine, which
        waits for the processors only.
        """
        jobs = costly_jobs(self.fleet.data)
        over = time.monotonic() + self.flags.seconds
        plans = []

        def again(job):
            while time.monotonic() < over:
                began = time.monotonic()
                # The jobs' own command lines leave the processors to what is measured.
                done = subprocess.run(
                    [
                        "nice",
                        "-n",
                        "19",
                        *self.fleet.words(["plan", "-", "--controller", self.fleet.address]),
                    ],
                    input=job,
                    capture_output=True,
                    text=True,
                    check=False,
                )
                plans.append((time.monotonic() - began, done.returncode, done.stderr))

        threads = [threading.Thread(target=again, args=(job,)) for job in jobs]
        for thread in threads:
            thread.start()
        # A process of its own: threads that start the others hold this interpreter's lock.
        meter = [
            sys.executable,
            os.path.abspath(__file__),
            "--meter",
            self.fleet.url,
            self.idle.url,
        ]
        measured = subprocess.run(
            [*meter, "--seconds", str(self.flags.seconds)], capture_output=True, check=True
        )
        answers, idle = json.loads(measured.stdout)
        for thread in threads:
            thread.join()
        refused = sum(status != 0 for _, status, _ in plans)
        print(
            f"{len(plans)} plans of costly jobs, {refused} refused, the slowest in "
            f"{max(took for took, _, _ in plans):.2f} s\n"
            f"status during that time: {describe(answers)}\n"
            f"of an idle controller:   {describe(idle)}"
        )
        for said in sorted({err.strip().splitlines()[-1] for _, _, err in plans if err.strip()}):
            print(f"  {said[:150]}")
        return answers, idle

    def memory_mib(self):
        with open(f"/proc/{self.fleet.controller.pid}/status", encoding="ascii") as text:
            return int(re.search(r"VmHWM:\s+(\d+)", text.read()).group(1)) / 1024

    def main(self):
        with Fleet(4, http=True) as fleet, Fleet(0, http=True) as idle:
            self.fleet, self.idle = fleet, idle
            rows = []
            for i in range(self.flags.rounds):
                for fire in (False, True):
                    mix, took = self.run(self.fire if fire else lambda: [])
                    rows.append((fire, mix["total"]["iops"], mix["startSkewNs"] / 1e3, took))
                    print(
                        f"round {i + 1} {'under fire' if fire else 'in peace  '}: "
                        f"{rows[-1][1]:>8,.0f} IOPS, start skew {rows[-1][2]:>7,.0f} "
                        f"µs, stop answered in {took:.2f} s",
                        flush=True,
                    )
            print(self.said)
            status, idle_status = self.plan()
            lost = int(fleet.sql("SELECT count(*) FROM lost_workers")[0][0])
            memory = self.memory_mib()

        def best(fire, column, choose):
            return choose(row[column] for row in rows if row[0] == fire)

        ratio = sum(r[1] for r in rows if r[0]) / sum(r[1] for r in rows if not r[0])
        print(
            f"IOPS under fire / in peace: {ratio:.3f}; controller's memory at most "
            f"{memory:.0f} MiB; workers lost: {lost}"
        )
        targets = [
            ("the run's IOPS within 2 %", abs(ratio - 1) <= 0.02),
            ("stop answers within 1 s", best(True, 3, max) <= 1),
            ("the controller stays under 256 MiB", memory < 256),
            ("no worker is lost", lost == 0),
            (
                "99 % of status answers within 100 ms beside eight costly plans, and the slowest "
                "within 100 ms of an idle controller's slowest",
                percentile(status, 99) <= 0.1 and max(status) <= max(idle_status) + 0.1,
            ),
        ]
        return verdict.say("hostile", targets)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=10000)
    parser.add_argument("--idle", type=int, default=2000)
    parser.add_argument("--slow", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument(
        "--meter", metavar="URL", nargs="+", help="only measure the pages' status, as JSON"
    )
    asked = parser.parse_args()
    if asked.meter:
        print(json.dumps(ask_status(asked.meter, asked.seconds)))
        sys.exit(0)
    sys.exit(Bench(asked).main())
