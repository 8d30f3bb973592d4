"""Exports: archives, tables, and reports in the formats of other tools, read by these tools
themselves. tools/install-deps puts them into an environment of their own.
"""

import csv
import gzip
import html.parser
import io
import json
import os
import re
import subprocess

from fleet import BIN, ROOT, Fleet, FleetTest, files_job

CACHE = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
READERS = os.path.join(CACHE, "lockstep/readers-1/bin")

# Bytes that mean something to a shell, a terminal, SQL, HTML, Markdown, CSV or a spreadsheet.
HOSTILE = "=cmd()|'x' \"y\"; DROP TABLE runs; -- <script>alert(1)</script> | `z` [a](b) \\ &amp;"
# Without those that need a sweep.
FORMATS = (
    *("text", "json", "csv", "html", "markdown", "fio", "fio-text"),
    *("fio-log", "hlog", "sysbench", "iometer", "vdbench"),
)


def outside(*words, script=None, env=None):
    """Runs a program that is not ours to its end; what it printed."""
    done = subprocess.run(
        words, input=script, capture_output=True, text=True, timeout=120, check=False, env=env
    )
    if done.returncode != 0:
        raise AssertionError(f"{words}: {done.stdout}{done.stderr}")
    return done.stdout


def python(script, *words):
    """Runs a script in the environment of other people's readers; its JSON."""
    return json.loads(outside(f"{READERS}/python", "-", *words, script=script))


class Tags(html.parser.HTMLParser):
    """The elements of a page, its texts, and what it would fetch or run."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.active, self.texts = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        for name, value in attrs:
            if name in ("src", "href", "style") or name.startswith("on"):
                self.active.append((tag, name, value))

    def handle_data(self, data):
        self.texts.append(data)


def said(text, name):
    """Returns the contents of a format, whatever the order of the names in its JSON."""
    if name != "html":
        return text
    before, rest = text.split('<script type="application/json" id="data">')
    data, after = rest.split("</script>", 1)
    return before, json.loads(data), after


class Exports(FleetTest):
    workers = 2

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        job = files_job(
            cls.fleet.data, duration="3s", extra=f"labels: {{a: {json.dumps(HOSTILE)}}}"
        )
        done = cls.fleet.run_job(job)
        assert done.status == 0, str(done)
        cls.run_id = cls.fleet.sql("SELECT last_run()")[0][0]
        cls.report = cls.fleet.lockstep("report", cls.run_id, "--format", "json").json()
        cls.mix = next(p for p in cls.report["phases"] if p["name"] == "mix")

    def path(self, name):
        return os.path.join(self.fleet.directory, name)

    def printed(self, name, *words):
        return self.ok(self.fleet.lockstep("report", self.run_id, "--format", name, *words)).out

    def percentile(self, kind, percent, where=None):
        """Nanoseconds, of the report."""
        operations = (where or self.mix["workloads"][0])["operations"]
        operation = next(o for o in operations if o["kind"] == kind)
        return next(p["latencyNs"] for p in operation["percentiles"] if p["percent"] == percent)

    # ------------------------------------------------------------------------------------ archives

    def test_a_run_moves_to_another_store_as_it_is(self):
        archive = self.path("run.lockstep")
        self.ok(self.fleet.lockstep("export", self.run_id, "--output", archive))
        again = self.fleet.lockstep("import", archive)
        self.ok(again, 1)
        self.assertIn("is in this store already", again.err)
        self.assertIn(
            "there already", self.fleet.lockstep("export", "last", "--output", archive).err
        )
        with Fleet(0) as other:
            both = self.path("both.lockstep")
            self.ok(self.fleet.lockstep("export", self.run_id, "--output", both))
            with open(both, "rb") as file:
                cut = file.read()[:-60]
            with open(self.path("cut.lockstep"), "wb") as file:
                file.write(cut)
            self.ok(other.lockstep("import", self.path("cut.lockstep")), 1)
            self.assertIn(self.run_id, self.ok(other.lockstep("import", archive)).out)
            again = other.lockstep("import", both)
            self.ok(again, 1)
            self.assertIn("stays as it is", again.err)
            there = other.lockstep("report", self.run_id, "--format", "json").json()
            self.assertEqual(
                {**there, "store": ""}, {**self.report, "store": ""}, "the report differs"
            )
            for view in ("phase_latency", "host_throughput", "run_overview"):
                query = f"SELECT md5(string_agg(v::text, ';' ORDER BY v::text)) FROM {view} v"
                self.assertEqual(
                    other.sql(query),
                    self.fleet.sql(f"{query} WHERE run_id = '{self.run_id}'"),
                    view,
                )
            for name in set(FORMATS) - {"json", "text"}:  # these name the store
                moved = self.ok(other.lockstep("report", self.run_id, "--format", name)).out
                self.assertEqual(said(moved, name), said(self.printed(name), name), name)

    def test_a_broken_archive_leaves_nothing(self):
        archive = self.path("whole.lockstep")
        self.ok(self.fleet.lockstep("export", self.run_id, "--output", archive))
        with open(archive, "rb") as file:
            whole = file.read()
        raw = gzip.decompress(whole)
        cases = {
            "cut": whole[: len(whole) // 2],
            "cut within": gzip.compress(raw[: len(raw) // 2]),
            "changed": gzip.compress(raw.replace(b"small", b"smalm")),
            "no gzip": raw,
            "empty": b"",
            "nonsense": gzip.compress(b"\xff" * 100),
            # 256 MiB of one part, in little more than one.
            "bomb": gzip.compress(b"\x80\x80\x80\x80\x01" + bytes(256 << 20), 1),
        }
        with Fleet(0) as other:
            for name, content in cases.items():
                with open(self.path("broken"), "wb") as file:
                    file.write(content)
                done = other.lockstep("import", self.path("broken"))
                self.ok(done, 1)
                self.assertTrue(done.err.startswith("lockstep: "), (name, done.err))
                self.assertEqual(other.sql("SELECT count(*) FROM runs"), [["0"]], name)
            fifo = self.path("fifo")
            os.mkfifo(fifo)
            self.assertIn("not a regular file", other.lockstep("import", fifo).err)

    def test_an_archive_with_a_huge_event_is_refused(self):
        with Fleet(1) as source, Fleet(0) as other:
            self.ok(source.lockstep("run", "-", stdin=files_job(source.data, hosts=1)))
            run = source.sql("SELECT last_run()")[0][0]
            for text, count, why in (
                ("repeat('x', 70000)", 1, "a row of table events"),
                ("repeat('y', 60000)", 1200, "its events have more than"),
            ):
                source.owner_sql(
                    "DELETE FROM lockstep.events; INSERT INTO lockstep.events (run_id, severity, "
                    f"host, message, at) SELECT '{run}', 'info', '', {text}, now() FROM "
                    f"generate_series(1, {count})"
                )
                archive = self.path(f"{count}.lockstep")
                self.ok(source.lockstep("export", run, "--output", archive))
                self.assertIn(why, self.ok(other.lockstep("import", archive), 1).err)
                self.assertEqual(other.sql("SELECT count(*) FROM runs"), [["0"]])

    def test_tables_are_read_by_duckdb_and_by_parquet(self):
        tables = self.path("tables")
        words = ["export", self.run_id, "--tables", tables, "--intervals"]
        self.ok(self.fleet.lockstep(*words))
        self.ok(self.fleet.lockstep(*words))  # a second time, over the first
        found = python(
            f"""
import duckdb, json
tables = {tables!r}
def of(view):
    return f"read_json('{{tables}}/{{view}}/month=*/run=*/*.jsonl.gz', hive_partitioning = true)"
duckdb.sql(f"COPY (SELECT * FROM {{of('interval_latency')}}) TO '{{tables}}/i.parquet'")
iops = duckdb.sql(f"SELECT kind, sum(iops) FROM {{of('host_throughput')}} GROUP BY 1").fetchall()
p99 = duckdb.sql(f"SELECT kind, p99_ms FROM {{of('phase_latency')}} WHERE phase_name = 'mix'")
# Merged from the intervals of every host, out of Parquet.
merged = duckdb.sql(f'''
  WITH buckets AS (SELECT kind, unnest(latencies) AS b FROM '{{tables}}/i.parquet'),
  counted AS (SELECT kind, b[1] AS low, b[2] AS high, sum(b[3]) AS n FROM buckets GROUP BY ALL),
  ranked AS (SELECT *, sum(n) OVER (PARTITION BY kind ORDER BY low) AS seen,
                    sum(n) OVER (PARTITION BY kind) AS total FROM counted)
  SELECT kind, min((low + high - 1) / 2) FILTER (WHERE seen >= ceil(0.99 * total))
  FROM ranked GROUP BY 1''').fetchall()
labels = duckdb.sql(f"SELECT labels FROM {{of('run_overview')}}").fetchall()
print(json.dumps([dict(iops), dict(p99.fetchall()), dict(merged), str(labels)], default=float))
"""
        )
        iops, p99, merged, labels = found
        for kind in ("read", "write"):
            operations = self.mix["workloads"][0]["operations"]
            reported = next(o for o in operations if o["kind"] == kind)
            self.assertAlmostEqual(iops[kind], reported["iops"], places=3)
            self.assertAlmostEqual(p99[kind] * 1e6, self.percentile(kind, 99), places=2)
            self.assertAlmostEqual(merged[kind], self.percentile(kind, 99), delta=1)
        self.assertIn("DROP TABLE", labels)
        with open(os.path.join(ROOT, "docs/reference/reports.md"), encoding="utf-8") as text:
            documented = re.search(r"```sql\n(.*?)```", text.read(), re.S)[1]
        p99_of_all = python(
            f"""
import duckdb, json
for statement in {documented.replace("DIR", tables)!r}.replace(
    "'phase_summary.parquet'", "'{tables}/s.parquet'").split(";"):
    answer = duckdb.sql(statement) if statement.strip() else answer
print(json.dumps(answer.fetchall(), default=float))
"""
        )[0][0]
        total = next(p["latencyNs"] for p in self.mix["total"]["percentiles"] if p["percent"] == 99)
        self.assertAlmostEqual(p99_of_all, total, delta=1)
        self.assertIn("say which", self.fleet.lockstep("export", "--tables", tables).err)

    # ------------------------------------------------------------------------- other people's tools

    def test_fio_s_own_tool_and_fio_plot_read_json_plus(self):
        directory = self.path("fio")
        os.mkdir(directory)
        file = os.path.join(directory, "run.json")
        self.ok(self.fleet.lockstep("report", self.run_id, "--format", "fio", "--output", file))
        stub = os.path.join(directory, "clat.csv")
        outside("fio_jsonplus_clat2csv", file, stub)
        self.assertIn("validated", outside("fio_jsonplus_clat2csv", "--validate", file, stub))
        with open(os.path.join(directory, "clat_job0.csv"), encoding="ascii") as text:
            rows = list(csv.DictReader(text, skipinitialspace=True))
        for kind in ("read", "write"):
            shares = [(float(r["nsec"]), r[f"{kind}_clat_ns_percentile"].strip()) for r in rows]
            p99 = min(ns for ns, share in shares if share and float(share) >= 0.99)
            self.assertAlmostEqual(p99, self.percentile(kind, 99), delta=1)
        picture = os.path.join(directory, "picture.png")
        outside(
            *(f"{READERS}/fio-plot", "-i", directory, "-T", "t", "-H", "-r", "randrw"),
            *("-f", "read", "-d", "4", "-n", "4", "-o", picture),
            env={**os.environ, "MPLBACKEND": "Agg", "MPLCONFIGDIR": directory},
        )
        with open(picture, "rb") as image:
            self.assertTrue(image.read(8).startswith(b"\x89PNG"))

    def test_fio_s_histogram_tool_finds_our_percentiles(self):
        log = self.path("run_clat_hist.1.log")
        tool = self.path("fio-histo-log-pctiles.py")
        packed = "/usr/share/doc/fio/fio-histo-log-pctiles.py.gz"
        with gzip.open(packed, "rb") as script, open(tool, "wb") as out:
            out.write(script.read())
        self.ok(self.fleet.lockstep("report", self.run_id, "--format", "fio-log", "--output", log))
        with open(log, encoding="ascii") as text:
            reads = [line for line in text if line.split(", ")[1] == "0"]
        with open(log, "w", encoding="ascii") as text:
            text.writelines(reads)  # the tool adds up directions
        printed = outside(
            *("/usr/bin/python3", tool, "--time-quantum", "4", "--log-hist-msec", "1000"),
            *("--percentiles", "50", "99", "--output-unit", "usec", "--", log),
        )
        last = [line for line in printed.splitlines() if re.match(r" *\d+,", line)][-1]
        samples, p50, p99 = (float(v) for v in last.split(",")[1:4])
        operations = self.mix["workloads"][0]["operations"]
        self.assertEqual(samples, next(o for o in operations if o["kind"] == "read")["operations"])
        # It takes the place within a bucket for evenly filled.
        self.assertAlmostEqual(p50 * 1e3 / self.percentile("read", 50), 1, delta=0.02)
        self.assertAlmostEqual(p99 * 1e3 / self.percentile("read", 99), 1, delta=0.02)

    def test_hdrhistogram_reads_the_log(self):
        log = self.path("run.hlog")
        self.ok(self.fleet.lockstep("report", self.run_id, "--format", "hlog", "--output", log))
        found = python(
            f"""
import json
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
reader = HistogramLogReader({log!r}, HdrHistogram(1, 2**45, 3))
merged = {{}}
while (interval := reader.get_next_interval_histogram()) is not None:
    merged.setdefault(interval.get_tag(), HdrHistogram(1, 2**45, 3)).add(interval)
print(json.dumps({{tag: [h.get_total_count(), *(h.get_value_at_percentile(p) for p in
    (50, 99, 99.9))] for tag, h in merged.items()}}))
"""
        )
        # Its rank of a percentile is rounded, ours goes up: held against fio's bins, by its rank.
        bins = json.loads(self.printed("fio"))["jobs"][0]
        switches = (
            "SELECT sum(voluntary_context_switches + involuntary_context_switches) "
            f"FROM thread_results WHERE run_id = '{self.run_id}' AND phase = {self.mix['index']}"
        )
        self.assertEqual(str(bins["ctx"]), self.fleet.sql(switches)[0][0])
        for kind in ("read", "write"):
            count, *values = found[f"mixed.{kind}"]
            counts = sorted((int(ns), n) for ns, n in bins[kind]["clat_ns"]["bins"].items())
            self.assertEqual(count, sum(n for _, n in counts))
            for percent, value in zip((50, 99, 99.9), values, strict=True):
                rank, seen = int(percent * count / 100 + 0.5), 0
                at = 0
                while (seen := seen + counts[at][1]) < rank:
                    at += 1
                self.assertAlmostEqual(value / counts[at][0], 1, delta=0.001)

    def test_histograms_of_one_host_are_that_host_s(self):
        host = self.mix["hosts"][0]["host"]
        one = json.loads(self.printed("fio", "--host", host))["jobs"][0]
        self.assertEqual(one["read"]["total_ios"], one["read"]["clat_ns"]["N"])
        self.assertEqual(one["job options"]["numjobs"], "2")
        reads = self.mix["hosts"][0]["workloads"][0]
        self.assertAlmostEqual(
            one["read"]["clat_ns"]["percentile"]["99.000000"],
            self.percentile("read", 99, reads),
            delta=1,
        )
        none = self.fleet.lockstep("report", self.run_id, "--format", "hlog", "--host", "nowhere")
        self.ok(none, 1)
        self.assertIn("had no host nowhere", none.err)

    # ------------------------------------------------------------------------------ our own formats

    def test_csv_has_a_row_for_each_host_workload_and_operation(self):
        rows = list(csv.DictReader(io.StringIO(self.printed("csv"))))
        hosts = {h["host"] for h in self.mix["hosts"]}
        self.assertEqual(
            sorted((r["host"], r["operation"]) for r in rows),
            sorted((h, k) for h in hosts | {""} for k in ("read", "write")),
        )
        for row in rows:
            if not row["host"]:
                self.assertAlmostEqual(
                    float(row["p99_ns"]), self.percentile(row["operation"], 99), places=3
                )

    def test_sysbench_s_layout_has_sysbench_s_lines(self):
        text = self.printed("sysbench")
        reads = float(re.search(r"reads/s: +([\d.]+)", text)[1])
        operations = self.mix["workloads"][0]["operations"]
        self.assertAlmostEqual(
            reads, next(o for o in operations if o["kind"] == "read")["iops"], delta=0.01
        )
        for line in ("written, MiB/s:", "total number of events:", "95th percentile:", "sum:"):
            self.assertIn(line, text)

    def test_a_sweep_comes_out_as_iops_and_as_iozone(self):
        job = (
            "name: sizes\ntargets: [{name: n, null: {latency: 1ms}}]\nphases:\n"
            "  - {name: sizes, run: {duration: 1s, workloads: [{engine: 'null', queue_depth: 2}],\n"
            "     sweep: {axes: [{field: queue_depth, values: [1, 2]}, "
            "{field: block_size, values: [512, 4KiB, 1MiB]}]}}}\n"
            "  - {name: line, run: {duration: 1s, workloads: [{engine: 'null'}],\n"
            "     sweep: {axes: [{field: block_size, values: [512, 4KiB, 1MiB]}]}}}\n"
        )
        self.ok(self.fleet.run_job(job))
        run = self.fleet.sql("SELECT last_run()")[0][0]
        iops = self.ok(self.fleet.lockstep("report", run, "--format", "iops")).out
        self.assertRegex(
            iops, r"512 B   blocks: +\d+\.\d IO/s, +\d+\.\d [KM]?i?B/s \( +\d+\.\d [kM]?bit/s\)"
        )
        self.assertEqual(len(iops.splitlines()), 4, iops)
        self.assertEqual(iops.splitlines()[0], "n, 2 threads:", "nothing lies behind it")
        iozone = self.ok(self.fleet.lockstep("report", run, "--format", "iozone")).out
        self.assertIn('"sizes: Reader report"', iozone)
        self.assertIn('"0.5" "4" "1024"', iozone)
        text = self.ok(self.fleet.lockstep("report", run)).out
        self.assertIn("sizes (sweep), 6 points", text)
        for name in ("iops", "iozone"):
            done = self.ok(self.fleet.lockstep("report", self.run_id, "--format", name), 1)
            self.assertIn("the run has no sweep", done.err)
            self.assertEqual(done.out, "")

    def test_the_iops_layout_names_files_and_their_size(self):
        job = (
            "name: files\ntargets:\n"
            f'  - {{name: data, file: {{path: "{self.fleet.data}/{{host}}/sized", size: 1MiB, '
            "count: 2}}\nphases:\n  - prepare:\n"
            "  - {name: line, run: {duration: 300ms, workloads: [{direct: false}],\n"
            "     sweep: {axes: [{field: block_size, values: [4KiB, 8KiB]}]}}}\n  - cleanup:\n"
        )
        self.ok(self.fleet.run_job(f"interval: 100ms\n{job}"))
        iops = self.ok(self.fleet.lockstep("report", "last", "--format", "iops")).out
        self.assertRegex(
            iops.splitlines()[0],
            rf"^{re.escape(self.fleet.data)}/(node\d)/sized and 1 more file on \1 "
            r"\(1 host has another one\), 2 MiB, 2 threads:$",
        )

    def test_what_fio_counts_leaves_the_ramp_out(self):
        """One sleep for each I/O, in a ramp of three times the measured time."""
        job = (
            "name: ramp\ntargets: [{name: n, null: {latency: 2ms}}]\nphases:\n"
            "  - {name: load, run: {ramp: 3s, duration: 1s, workloads: [{engine: 'null'}]}}\n"
        )
        report = self.ok(self.fleet.run_job(job, "--format", "json")).json()
        (phase,) = report["phases"]
        fio = self.ok(self.fleet.lockstep("report", "last", "--format", "fio")).json()["jobs"][0]
        self.assertEqual(fio["ctx"], sum(t["contextSwitches"] for t in phase["threads"]))
        ios = phase["total"]["operations"]
        self.assertEqual(fio["read"]["total_ios"], ios)
        # With the ramp it would be four for each I/O and more. Neighbours add a few.
        self.assertLess(fio["ctx"], 2.5 * ios)
        self.assertAlmostEqual(phase["timeSpent"]["threadSwitchesPerIo"], fio["ctx"] / ios)
        for thread in phase["threads"]:
            self.assertAlmostEqual(thread["waitRatio"], 1, delta=0.2)
            self.assertLessEqual(thread["executionTimeSeconds"], 1)

    def test_every_format_shows_hostile_texts_harmlessly(self):
        for name in FORMATS:
            text = self.printed(name)
            self.assertNotIn("\x1b", text, name)
            if name in ("csv", "text", "markdown"):
                self.assertNotRegex(text, r"(?m)^[=+@]", name)
        page = Tags(self.printed("html"))
        # Its own script and its data; what is hostile is neither.
        self.assertEqual(self.printed("html").count("<script"), 2)
        self.assertEqual(page.active, [("link", "href", "data:,"), ("a", "href", "#/")])
        self.assertIn("\\u003cscript\\u003ealert(1)", " ".join(page.texts))
        self.assertIn("default-src 'none'", self.printed("html"))
        self.assertNotIn("<script", self.printed("markdown"))
        json.loads(self.printed("fio"))

    def test_the_first_screen_fits_one_and_points_further(self):
        text = self.printed("text")
        self.assertLessEqual(len(text.splitlines()), 30)
        self.assertLessEqual(max(len(line) for line in text.splitlines()), 100)
        self.assertIn("DONE", text)
        self.assertIn("--detail", text)
        detail = self.printed("text", "--detail")
        for word in ("cross-check:", "limited by:", "threads fairness", "run queue"):
            self.assertNotIn(word, text)
            self.assertIn(word, detail)

    def test_output_goes_to_the_file_that_was_named_and_to_no_device(self):
        self.assertEqual(self.printed("csv", "--output", self.path("out.csv")), "")
        with open(self.path("out.csv"), newline="", encoding="utf-8") as text:
            self.assertEqual(text.read().replace("\r\n", "\n"), self.printed("csv"))
        with open("/dev/full", "w", encoding="ascii") as full:
            words = [f"{BIN}/lockstep", "report", self.run_id]
            done = subprocess.run(
                words,
                stdout=full,
                stderr=subprocess.DEVNULL,
                env=self.fleet.environment(),
                check=False,
            )
        self.assertEqual(done.returncode, 1)
        missing = self.fleet.lockstep("report", "last", "--output", "/nowhere/x")
        self.ok(missing, 1)
        self.assertIn("cannot be written", missing.err)
        # It is told before a run that would have no report.
        before = self.fleet.sql("SELECT count(*) FROM runs")
        for output, reason in (("/nowhere/x", "cannot be written"), ("/tmp", "is a directory")):
            refused = self.fleet.run_job(files_job(self.fleet.data, hosts=1), "--output", output)
            self.ok(refused, 1)
            self.assertIn(reason, refused.err)
        self.assertEqual(self.fleet.sql("SELECT count(*) FROM runs"), before)
