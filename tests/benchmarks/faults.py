"""bench faults: real processes killed, stopped, cut off and filled up at random instants of jobs.
Every run must end as its policy says, and what was acknowledged must be stored once: no interval of
a worker that took part to the end is missing, none is there twice, and the report's figures are
those of the rows. With --asan the programs are built with the address and undefined-behaviour
sanitizers, and what those find is counted.
"""

import argparse
import glob
import json
import os
import signal
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration"))
sys.path.insert(0, HERE)
import verdict  # noqa: E402
from fleet import BIN, Fleet, files_job, stop, wait_for  # noqa: E402
from hosts import Hosts, pick  # noqa: E402
from processes import program  # noqa: E402

LEASE = 3
SECONDS = 6


class Campaign:
    """A fleet of three workers in namespaces, on which job after job is run while something is done
    to it.
    """

    def __init__(self, seed):
        self.random = pick(seed)
        self.counts = {}
        self.problems = []
        self.runs = self.done = self.aborted = self.degraded = 0
        self.intervals = 0
        self.findings = []  # what sanitizers said

    def __enter__(self):
        self.hosts = Hosts(3)
        self.fleet = Fleet(0, controller_flags=["--lease", str(LEASE), "--insecure-plaintext"])
        # To files of their own; read only by programs that are built with them.
        options = f"log_path={os.path.join(self.fleet.directory, 'sanitizer')}:print_stacktrace=1"
        os.environ.update(ASAN_OPTIONS=options, UBSAN_OPTIONS=options)
        try:
            self.fleet.__enter__()
            stop(self.fleet.controller)
            self.fleet.start_controller(listen=f"{self.hosts.gateway}:0")
            self.environment = {
                **os.environ,
                "NO_COLOR": "1",
                "LOCKSTEP_CONTROLLER": self.fleet.address,
            }
            for i in range(3):
                self.start_worker(i)
            self.await_workers()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        # Ended in order first, so that leaks are looked for.
        for process in [*self.fleet.workers.values(), self.fleet.controller]:
            if process:
                stop(process)
        for path in sorted(glob.glob(os.path.join(self.fleet.directory, "sanitizer.*"))):
            with open(path, encoding="utf-8", errors="replace") as text:
                self.findings.append(text.read())
        self.fleet.__exit__()
        self.hosts.close()

    def start_worker(self, i):
        self.hosts.start_worker(self.fleet, i, self.fleet.address, self.fleet.data)

    def worker_pid(self, i):
        """Returns the id of lockstep-worker itself, underneath the program of its namespaces."""
        return program(self.fleet.workers[i].pid)

    def lockstep(self, *words, stdin=None, timeout=60):
        return subprocess.run(
            [f"{BIN}/lockstep", "--insecure-plaintext", *words],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            env=self.environment,
            check=False,
        )

    def sql(self, query):
        done = self.lockstep("sql", "--csv", "-c", query)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return [line.split(",") for line in done.stdout.splitlines()[1:]]

    def await_workers(self):
        wait_for(
            "the workers", lambda: self.lockstep("status").stdout.count("3 workers attached"), 60
        )

    # --- What is done to it; each returns what undoes it. ---

    def kill_controller(self):
        self.fleet.controller.send_signal(signal.SIGKILL)
        self.fleet.controller.wait()
        time.sleep(self.random.uniform(0, 2))
        self.fleet.start_controller(listen=self.fleet.address)

    def kill_worker(self):
        i = self.random.randrange(3)
        pid = self.worker_pid(i)
        if pid is None:
            return None
        os.kill(pid, signal.SIGKILL)
        self.fleet.workers[i].wait()
        self.start_worker(i)
        self.hurt = True
        return None

    def kill_postgres(self):
        os.kill(self.fleet.postmaster(), signal.SIGKILL)

    def pause_postgres(self):
        self.fleet.pause_postgres()
        time.sleep(self.random.uniform(1, 30))
        self.fleet.resume_postgres()

    def kill_backend(self):
        pids = subprocess.run(
            ["pgrep", "-P", str(self.fleet.postmaster()), "-f", "postgres: lockstep"],
            capture_output=True,
            text=True,
            check=False,
        ).stdout.split()
        if pids:
            os.kill(int(self.random.choice(pids)), signal.SIGKILL)

    def partition(self):
        i = self.random.randrange(3)
        length = self.random.uniform(0.5, 2.5 * LEASE)
        self.hosts.cut(i)
        self.hurt = self.hurt or length > LEASE / 2
        time.sleep(length)
        self.hosts.mend(i)

    def pause_worker(self):
        pid = self.worker_pid(self.random.randrange(3))
        if pid is None:
            return
        os.kill(pid, signal.SIGSTOP)
        length = self.random.uniform(0.5, 2 * LEASE)
        self.hurt = self.hurt or length > LEASE / 2
        time.sleep(length)
        os.kill(pid, signal.SIGCONT)

    def pause_controller(self):
        self.fleet.controller.send_signal(signal.SIGSTOP)
        length = self.random.uniform(0.5, 2 * LEASE)
        self.hurt = self.hurt or length > LEASE / 2
        time.sleep(length)
        self.fleet.controller.send_signal(signal.SIGCONT)

    def fill_spool(self):
        """The store is unavailable for longer than the spool lasts: it is made small by restarting
        the controller with another limit.
        """
        data = os.path.join(self.fleet.state, "postgres", "data")
        kept = list(self.fleet.controller_flags)
        self.fleet.controller_flags += ["--spool-mib", "0.003"]
        try:
            self.kill_controller()
            pid = self.fleet.postmaster()
            os.rename(data, data + ".away")
            os.kill(pid, signal.SIGKILL)
            time.sleep(4)
            os.rename(data + ".away", data)
        finally:
            self.fleet.controller_flags = kept
        self.full = True

    FAULTS = (
        kill_controller,
        kill_controller,
        kill_worker,
        kill_postgres,
        pause_postgres,
        kill_backend,
        partition,
        pause_worker,
        pause_controller,
        fill_spool,
    )

    # --- One run. ---

    def run(self):
        policy = self.random.choice(("abort", "continue", "retry"))
        self.hurt = self.full = False
        self.least = 1 if policy == "abort" else self.random.randint(1, 3)
        least = "" if policy == "abort" else f"min_hosts: {self.least}\n"
        job = files_job(
            self.fleet.data,
            hosts=3,
            duration=f"{SECONDS}s",
            extra=f"store_filesystem: true\non_worker_loss: {policy}\n{least}deadlines: "
            f"{{rejoin: 15s, drain: 2s}}",
        )
        process = subprocess.Popen(
            [f"{BIN}/lockstep", "--insecure-plaintext", "run", "-", "--format", "json"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
        )
        answer = []
        reader = threading.Thread(
            target=lambda: answer.append(process.communicate(job)), daemon=True
        )
        reader.start()
        for _ in range(self.random.randint(1, 4)):
            time.sleep(self.random.uniform(0.2, 3))
            if not reader.is_alive():
                break
            fault = self.random.choice(self.FAULTS)
            name = fault.__name__
            if name == "fill_spool" and self.random.random() < 0.5:
                continue
            self.counts[name] = self.counts.get(name, 0) + 1
            fault(self)
        reader.join(150)
        if reader.is_alive():
            self.problems.append(f"run {self.runs} under {policy} did not end")
            process.kill()
            reader.join()
        self.runs += 1
        if self.full:
            # The next run's spool is of the usual size.
            self.kill_controller()
        self.check(policy, answer[0] if answer else ("", ""), process.returncode)
        self.await_workers()

    def check(self, policy, answer, status):
        wait_for("the controller", lambda: self.lockstep("status").returncode == 0, 60)
        what = f"run {self.runs} ({policy}, exit {status})"
        try:
            report = json.loads(answer[0])
        except ValueError:
            self.problems.append(f"{what}: no report: {answer[1][-300:]}")
            return
        run, here = report["run"], f"run_id = '{report['run']['runId']}'"
        self.done += run["state"] == "done"
        self.aborted += run["state"] == "aborted"
        self.degraded += bool(run["degraded"])
        lost = int(self.count("lost_workers", here))
        found = [
            *self.against_policy(policy, report, lost),
            *self.not_stored_once(here),
            *self.sums_that_differ(here),
        ]
        if run["state"] == "done":
            found += self.not_as_stored(report, here)
        self.problems += [f"{what}: {problem}" for problem in found]

    def count(self, rows, where):
        return self.sql(f"SELECT count(*) FROM {rows} WHERE {where}")[0][0]

    def against_policy(self, policy, report, lost):
        state, outcome = report["run"]["state"], report["run"]["outcome"]
        too_few = 3 - lost < max(1, self.least)
        # A worker that was lost after its last result takes nothing away.
        missing = any(phase["workersLost"] for phase in report["phases"])
        # A run may end by its policy, by a spool that is full, and by a phase that was begun for
        # the fourth time in vain.
        may_end = {
            "abort": lost > 0,
            "continue": too_few,
            "retry": "did not return" in outcome and too_few,
        }[policy]
        may_end = may_end or (self.full and "spool" in outcome) or "(attempt 4 of 4)" in outcome
        if state not in ("done", "aborted"):
            yield f"{state}: {outcome}"
        if state == "aborted" and not may_end:
            yield f"aborted without a reason in its policy: {outcome}"
        if state == "done" and policy == "abort" and missing:
            yield "done under abort, though results are missing"
        if state == "done" and policy == "continue" and too_few and missing:
            yield f"done with {3 - lost} hosts, {self.least} were to be left"
        if lost and not self.hurt:
            yield "a worker was lost that nothing was done to"
        if report["run"]["degraded"] and policy == "abort" and state == "done":
            yield "degraded and done under abort"

    def not_stored_once(self, here):
        """Samples that are there twice, and those that a worker says it sent and are not there."""
        one = (
            f"SELECT 1 FROM interval_operations WHERE {here} GROUP BY phase, attempt, worker_index"
        )
        twice = int(self.count(f"({one}, workload, interval, kind HAVING count(*) > 1) x", "true"))
        if twice:
            yield f"{twice} samples are stored twice"
        rows = self.sql(
            "SELECT r.worker_index, r.phase, r.attempt, (r.result ->> 'intervals')::int, "
            "(SELECT count(DISTINCT interval) FROM interval_operations c WHERE "
            "c.run_id = r.run_id AND c.phase = r.phase AND c.attempt = r.attempt AND "
            "c.worker_index = r.worker_index) "
            f"FROM worker_results r WHERE r.{here} AND r.result ->> 'intervals' IS NOT NULL"
        )
        for worker, phase, attempt, said, stored in rows:
            self.intervals += int(stored)
            if said != stored:
                yield (
                    f"worker {worker} sent {said} intervals of phase {phase}.{attempt}, "
                    f"{stored} are stored"
                )
        gaps = int(
            self.count(
                f"({one} HAVING max(interval) + 1 <> count(DISTINCT interval)) x",
                "true",
            )
        )
        if gaps:
            yield f"{gaps} workers' intervals have gaps"

    def sums_that_differ(self, here):
        """The workers' own sums, which they make apart from their intervals."""
        apart = int(
            self.sql(
                "SELECT count(*) FROM (SELECT phase, attempt, worker_index, workload, kind, "
                "interval_class, operations, bytes FROM phase_operations "
                f"WHERE {here}) r "
                "LEFT JOIN (SELECT phase, attempt, worker_index, workload, kind, "
                "interval_class, sum(operations) AS operations, sum(bytes) AS bytes "
                f"FROM interval_operations WHERE {here} GROUP BY 1, 2, 3, 4, 5, 6) i "
                "USING (phase, attempt, worker_index, workload, kind, interval_class) "
                "WHERE i.operations IS DISTINCT FROM r.operations "
                "OR i.bytes IS DISTINCT FROM r.bytes"
            )[0][0]
        )
        if apart:
            yield f"{apart} sums of workers are not those of their intervals"

    def not_as_stored(self, report, here):
        mix = next(phase for phase in report["phases"] if phase["name"] == "mix")
        total = self.sql(
            "SELECT coalesce(sum(r.operations), 0) FROM phase_operations r JOIN "
            "phase_overview p USING (run_id, phase, attempt) "
            f"WHERE r.{here} AND p.name = 'mix' AND r.interval_class = 2"
        )[0][0]
        if float(total) != mix["total"]["operations"]:
            yield f"the report says {mix['total']['operations']} operations, the store {total}"
        if mix["workersLost"] and not report["run"]["degraded"]:
            yield f"{mix['workersLost']} results are missing and it is not called degraded"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--faults", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--asan", action="store_true", help="with sanitizers; tools/bench builds the programs so"
    )
    flags = parser.parse_args()
    said = 0
    with Campaign(flags.seed) as campaign:
        while sum(campaign.counts.values()) < flags.faults:
            campaign.run()
            for problem in campaign.problems[said:]:
                print("PROBLEM ", problem, flush=True)
            said = len(campaign.problems)
            if campaign.runs % 5 == 0:
                print(
                    f"{campaign.runs} runs, {sum(campaign.counts.values())} faults, "
                    f"{len(campaign.problems)} problems",
                    flush=True,
                )
    for name, count in sorted(campaign.counts.items()):
        print(f"{name:<20} {count:>5}")
    print(
        f"{campaign.runs} runs: {campaign.done} done ({campaign.degraded} degraded), "
        f"{campaign.aborted} aborted; {campaign.intervals} intervals checked"
    )
    loss = [p for p in campaign.problems if "intervals" in p]
    twice = [p for p in campaign.problems if "twice" in p]
    rest = [p for p in campaign.problems if p not in loss and p not in twice]
    targets = [
        ("acknowledged samples lost: 0", not loss),
        ("acknowledged samples stored twice: 0", not twice),
        ("every run ends as its policy says, and what is reported is true", not rest),
    ]
    if flags.asan:
        targets.append(
            (f"findings of the sanitizers: {len(campaign.findings)}", not campaign.findings)
        )
        for finding in campaign.findings:
            print(finding)
    return verdict.say("faults", targets)


if __name__ == "__main__":
    sys.exit(main())
