"""A store with years of history: how long do reports, percentiles, trends and lists take, how large
is it, and how fast do samples go in?

100 runs (of `--hosts` hosts, 4 phases of 60 s) go in as a controller stores them. They are then
copied within the server, with their results and without their intervals, until there are `--runs`:
a copy's rows are the original's but for the run's id and time, which is checked of three.
"""

import argparse
import glob
import json
import os
import pwd
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import verdict

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PSQL = sorted(glob.glob("/usr/lib/postgresql/*/bin/psql"))[-1]
ORIGINALS, SECONDS, TRIES = 100, 60, 7

COPY_RUNS = """
SET search_path = lockstep;
SET synchronous_commit = off;
CREATE TEMP TABLE copies AS SELECT r.run_id AS original, gen_random_uuid() AS run_id,
  r.submitted_at - k * interval '1 hour' AS submitted_at
  FROM generate_series(1, {copies}) k, runs r;
INSERT INTO runs (run_id, owner, labels, state, outcome, degraded, seed, submitted_at, started_at,
    ended_at, summary, job, spec, source, figures_version)
  SELECT c.run_id, owner, labels, state, outcome, degraded, seed, c.submitted_at, started_at,
    ended_at, summary, job, spec, source, figures_version
  FROM copies c JOIN runs r ON r.run_id = original;
"""
TABLES = (
    "run_workers run_targets phases workloads cursors worker_results thread_results "
    "phase_operations phase_figures phase_verdicts"
).split()


class Store:
    """The private server with its runs, while `store_fill` lives."""

    def __init__(self, directory, runs, hosts):
        self.fill = subprocess.Popen(
            [
                f"{ROOT}/bazel-bin/tests/benchmarks/store_fill",
                f"{directory}/pg",
                str(runs),
                str(hosts),
            ]
            + [str(SECONDS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.facts = self.answer()
        owner = pwd.getpwuid(os.stat(f"{directory}/pg/data").st_uid).pw_name
        self.psql = [PSQL, self.facts["conninfo"], "-v", "ON_ERROR_STOP=1", "-qAt"]
        if os.geteuid() == 0 and owner != "root":
            self.psql = ["runuser", "-u", owner, "--", *self.psql]

    def answer(self):
        for line in self.fill.stdout:
            if line.startswith("{"):
                return json.loads(line)
            if line[:1].isdigit():
                return line.split()
        raise RuntimeError("store_fill ended")

    def ask(self, line):
        self.fill.stdin.write(line + "\n")
        self.fill.stdin.flush()
        return self.answer()

    def sql(self, text):
        done = subprocess.run(self.psql, input=text, text=True, check=True, stdout=subprocess.PIPE)
        return done.stdout.strip()

    def milliseconds(self, query, repeat=TRIES):
        """The median time of a query, by the server's clock."""
        text = f"SET search_path = lockstep;\nEXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {query};\n"
        times = []
        for _ in range(repeat + 1):
            plan = json.loads(self.sql(text))[0]
            times.append(plan["Execution Time"] + plan["Planning Time"])
        return statistics.median(times[1:])

    def close(self):
        self.fill.stdin.close()
        self.fill.wait(60)


def copy_runs(store, copies):
    rest = "".join(
        f"INSERT INTO {table} SELECT c.run_id, {{{table}}} FROM copies c JOIN {table} t ON "
        "t.run_id = c.original;\n"
        for table in TABLES
    )
    columns = {
        table: store.sql(
            "SELECT string_agg('t.' || quote_ident(attname), ', ' ORDER BY attnum) FROM "
            f"pg_attribute WHERE attrelid = 'lockstep.{table}'::regclass AND attnum > 1 AND NOT "
            "attisdropped"
        )
        for table in TABLES
    }
    text = COPY_RUNS.format(copies=copies) + rest.format(**columns)
    store.sql(text + "VACUUM ANALYZE;\n")


def same_as_original(store):
    """Whether three copies have their originals' operations, histograms and percentiles."""
    pairs = store.sql(
        "SET search_path = lockstep; SELECT o.run_id, c.run_id FROM runs o JOIN runs c ON "
        "c.summary = o.summary AND c.submitted_at < o.submitted_at ORDER BY o.run_id LIMIT 3"
    )
    same = 0
    for pair in pairs.split("\n"):
        queries = [
            "SET search_path = lockstep; SELECT md5(string_agg(p.operations || ' ' || p.latencies "
            "|| ' ' || p.p99_ms, ' ' ORDER BY p.phase, p.workload, p.kind)) FROM phase_latency p "
            f"WHERE run_id = '{run}'"
            for run in pair.split("|")
        ]
        same += store.sql(queries[0]) == store.sql(queries[1])
    return same == 3


def seconds_of_copy(store, directory):
    """How long psql's \\copy takes for the rows of the runs with intervals."""
    tables = {
        name: f"SELECT * FROM lockstep.{name} WHERE run_id IN (SELECT DISTINCT run_id FROM "
        "lockstep.interval_operations)"
        for name in (
            "interval_operations device_samples host_samples worker_results thread_results "
            "phase_operations"
        ).split()
    }
    taken = 0.0
    for name, query in tables.items():
        file = f"{directory}/{name}.rows"
        with open(file, "w", encoding="utf-8") as out:
            subprocess.run([*store.psql, "-c", f"COPY ({query}) TO STDOUT"], stdout=out, check=True)
        key = "run_id, phase, attempt"
        store.sql(
            f"CREATE TABLE public.{name} (LIKE lockstep.{name} INCLUDING STORAGE INCLUDING "
            f"COMPRESSION); CREATE INDEX ON public.{name} ({key})"
        )
        began = time.monotonic()
        with open(file, encoding="utf-8") as rows:
            subprocess.run(
                [*store.psql, "-c", f"\\copy public.{name} FROM STDIN"],
                stdin=rows,
                check=True,
            )
        taken += time.monotonic() - began
        store.sql(f"DROP TABLE public.{name}")
        os.remove(file)
    return taken


def queries(store, last):
    """(words, milliseconds, limit)"""
    some = "SELECT run_id FROM runs ORDER BY submitted_at DESC LIMIT 16"
    yield (
        "p99 over 1,000 merged phase histograms",
        store.milliseconds(
            "SELECT hist_percentile(hist_merge(service_time), 99) FROM (SELECT service_time FROM "
            f"phase_operations WHERE run_id IN ({some}) LIMIT 1000) x"
        ),
        50,
    )
    yield (
        "p99 over 10,000 merged phase histograms",
        store.milliseconds(
            "SELECT hist_percentile(hist_merge(service_time), 99) FROM (SELECT service_time FROM "
            "phase_operations LIMIT 10000) x"
        ),
        500,
    )
    yield (
        "p99 over 1,000 histograms of intervals",
        store.milliseconds(
            "SELECT hist_percentile(hist_merge(hist_decode(service_time)), 99) FROM (SELECT "
            "service_time FROM interval_operations WHERE run_id = "
            f"'{last}' AND service_time IS NOT NULL LIMIT 1000) x"
        ),
        500,
    )
    yield (
        "trend of p99 over 1,000 runs",
        store.milliseconds(
            "SELECT submitted_at, p99_ms FROM phase_summary WHERE job = 'trend' AND phase_name = "
            "'p1' ORDER BY submitted_at DESC LIMIT 1000"
        ),
        100,
    )


def asked(store, last):
    """The same of the program's own questions."""
    reports = [float(store.ask(f"report {last}")[0]) for _ in range(TRIES + 1)]
    yield "the last run's report", statistics.median(reports[1:]), 100
    total = int(store.sql("SELECT count(*) FROM lockstep.runs"))
    pages = {
        "the first page": {"limit": 50},
        "the last page": {"limit": 50, "offset": total - 50},
        "by a label": {"limit": 50, "filter": {"labels": {"array": "a3"}}},
        "by a host, its last page": {
            "limit": 50,
            "offset": total - 50,
            "filter": {"host": "node3"},
        },
        "by a device": {"limit": 50, "filter": {"device": "wwn-0x50003"}},
        "by job and time": {
            "limit": 50,
            "filter": {"jobName": "trend", "since": "2020-01-01T00:00:00Z"},
        },
    }
    for words, request in pages.items():
        times = []
        for _ in range(TRIES + 1):
            took, count, _ = store.ask(f"history {json.dumps(request)}")
            assert int(count) > 0, words
            times.append(float(took))
        yield f"history: {words}", statistics.median(times[1:]), 50


def measure(flags, directory):
    store = Store(directory, min(ORIGINALS, flags.runs), flags.hosts)
    try:
        facts = store.facts
        rows = store.sql(
            "SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits WHERE inhparent = "
            "'lockstep.interval_operations'::regclass"
        )
        per_second = int(rows) / facts["workerSeconds"]
        allowed = 100 + 2.5 * facts["intervalBuckets"]
        rate = facts["workerSeconds"] / facts["ingestSeconds"]
        ratio = seconds_of_copy(store, directory) / facts["ingestSeconds"]
        copies = (flags.runs - 1) // ORIGINALS
        if copies > 0:
            copy_runs(store, copies)
        size = int(store.sql("SELECT pg_database_size('lockstep')")) / 2**30
        print(
            f"{store.sql('SELECT count(*) FROM lockstep.runs')} runs × 4 phases × {flags.hosts} "
            f"hosts, {size:.1f} GiB; {facts['phaseBuckets']:.0f} buckets a phase, "
            f"{facts['intervalBuckets']:.0f} an interval"
        )
        targets = []
        if copies > 0:
            same = same_as_original(store)
            targets.append((f"copies are as their originals ({copies} of each)", same))
        for words, took, limit in (*queries(store, facts["last"]), *asked(store, facts["last"])):
            print(f"  {took:8.1f} ms  {words}")
            targets.append((f"{words} < {limit} ms", took < limit))
        print(f"  {per_second:8.1f} bytes for a worker-second (at most {allowed:.1f})")
        print(f"  {rate:8,.0f} worker-seconds per second go in, ×{ratio:.2f} of \\copy")
        targets.append(("bytes for a worker-second <= 100 + 2.5 a bucket", per_second <= allowed))
        targets.append(("ingest >= 50,000 worker-seconds per second", rate >= 50000))
        targets.append(("ingest >= 0.7 of \\copy", ratio >= 0.7))
        return targets
    finally:
        store.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10000)
    parser.add_argument("--hosts", type=int, default=16)
    flags = parser.parse_args()
    subprocess.run(["bazel", "build", "//tests/benchmarks:store_fill"], cwd=ROOT, check=True)
    directory = tempfile.mkdtemp(prefix="lsstore")
    os.chmod(directory, 0o755)
    try:
        return verdict.say("store", measure(flags, directory))
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
