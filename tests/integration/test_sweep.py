"""Sweeps: one phase at many points, and one matrix of them."""

import os
import re
import signal

from fleet import FleetTest, stop, wait_for

JOB = """name: sizes
targets: [{name: n, null: {latency: 200us}}]
phases:
  - name: grid
    run:
      duration: 300ms
      sweep:
        axes:
          - {field: block_size, values: [4KiB, 8KiB, 16KiB, 32KiB, 64KiB]}
          - {field: queue_depth, values: [1, 2, 4, 8]}
      workloads: [{engine: "null"}]
interval: 100ms
"""


class Sweeps(FleetTest):
    workers = 2

    def test_a_sweep_survives_its_controllers_death(self):
        self.assertLess(len(JOB.splitlines()), 15)
        planned = self.ok(self.fleet.lockstep("plan", "-", stdin=JOB)).out
        self.assertEqual(planned.count("grid block_size="), 20)
        run = self.ok(self.fleet.lockstep("submit", "-", stdin=JOB)).out.strip()
        done = "SELECT count(*) FROM phases WHERE run_id = last_run() AND state = 'done'"
        wait_for("some points", lambda: int(self.fleet.sql(done)[0][0]) >= 5)
        stop(self.fleet.controller, signal.SIGKILL)
        self.fleet.start_controller(listen=self.fleet.address)
        watched = self.fleet.lockstep("watch", run, "--format", "json", timeout=120)
        report = self.ok(watched).json()
        (sweep,) = report["sweeps"]
        self.assertEqual(len(sweep["points"]), 20)
        self.assertTrue(all(point["runs"] == 1 for point in sweep["points"]), sweep["points"])
        self.assertEqual(
            sorted(tuple(point["indices"]) for point in sweep["points"]),
            [(a, b) for a in range(5) for b in range(4)],
        )
        by_point = {tuple(point["indices"]): point for point in sweep["points"]}
        self.assertGreater(by_point[(0, 3)]["iops"], 2 * by_point[(0, 0)]["iops"])
        self.assertGreater(by_point[(4, 0)]["bytesPerSecond"], by_point[(0, 0)]["bytesPerSecond"])
        text = self.ok(self.fleet.lockstep("report", run)).out
        self.assertIn("grid (sweep), 20 points", text)
        self.assertIn(
            "No point can be called best after 1 round: at least 2 more are needed",
            " ".join(text.split()),
        )
        # 4 and 64 KiB in an I/O: their IOPS cannot be compared.
        self.assertEqual(sweep["conclusion"]["figure"], "throughput")
        self.assertEqual(sweep["conclusion"]["moreRounds"], 2)
        self.assertEqual(len(re.findall(r"^ +64KiB ", text, re.MULTILINE)), 6)
        rows = self.fleet.sql(
            "SELECT point ->> 'block_size', point ->> 'queue_depth', iops FROM phase_summary "
            "WHERE run_id = last_run()"
        )
        self.assertEqual(len(rows), 20)
        for size, depth, iops in rows:
            at = (
                ["4KiB", "8KiB", "16KiB", "32KiB", "64KiB"].index(size),
                ["1", "2", "4", "8"].index(depth),
            )
            self.assertAlmostEqual(float(iops), by_point[at]["iops"], places=3)

    def test_where_the_time_of_each_point_went(self):
        """100 and 400 I/Os of 2 ms per second and host: a fifth and four fifths of its time."""
        job = JOB.replace("200us", "2ms").replace("300ms", "1s")
        axes = job[job.index("          - {field: block") : job.index("      workloads")]
        job = job.replace(axes, "          - {field: max_iops, values: [200, 800]}\n")
        report = self.ok(self.fleet.run_job(job, "--format", "json")).json()
        points = report["sweeps"][0]["points"]
        rows = self.fleet.sql(
            "SELECT point ->> 'max_iops', wait_ratio, rate_ratio, context_switches_per_io, "
            "thread_switches_per_io FROM phase_time WHERE run_id = last_run() ORDER BY phase"
        )
        phases = report["phases"]
        for share, point, row, phase in zip((0.2, 0.8), points, rows, phases, strict=True):
            spent = point["timeSpent"]
            self.assertEqual(spent, phase["timeSpent"], "a point that ran once")
            self.assertAlmostEqual(spent["waitRatio"], share, delta=0.15)
            self.assertAlmostEqual(spent["waitRatio"] + spent["rateRatio"], 1, delta=0.1)
            names = ("waitRatio", "rateRatio", "contextSwitchesPerIo", "threadSwitchesPerIo")
            for text, name in zip(row[1:], names, strict=True):
                self.assertAlmostEqual(float(text), spent[name], places=6)
            self.assertNotIn("amplification", spent, "a null target has no device")
        detail = self.ok(self.fleet.lockstep("report", "--detail")).out
        table = detail[detail.index("where the time went, without ramp and drain") :].splitlines()
        self.assertRegex(
            table[1], r"max_iops +cs/s +cs per I/O +interrupts/s +interrupts per I/O +CPU per I/O"
        )
        self.assertEqual([line.split()[0] for line in table[2:4]], ["200", "800"])
        head = r"max_iops +in I/O +in fsync +waiting +amplification +limited by"
        self.assertRegex(table[5], head)
        for line, point in zip(table[6:8], points, strict=True):
            self.assertRegex(line, rf" 0 % +\d+ % +–  {point['limitedBy']}$")
        text = self.ok(self.fleet.lockstep("report")).out
        for value, point in zip(("200", "800"), points, strict=True):
            self.assertIn(point["limitedBy"], ("rate", "no storage"))
            self.assertRegex(text, rf"(?m)^ +{value} .* 1  {point['limitedBy']}$")

    def test_repetitions_in_random_order(self):
        job = JOB.replace(
            "      sweep:\n", "      sweep:\n        repeat: 2\n        order: random\n"
        )
        job = job.replace(", 8KiB, 16KiB, 32KiB, 64KiB", "").replace("1, 2, 4, 8", "1, 8")
        report = self.ok(self.fleet.run_job(job, "--format", "json")).json()
        self.assertEqual(len(report["phases"]), 4)
        self.assertEqual([point["runs"] for point in report["sweeps"][0]["points"]], [2, 2])

    def test_what_any_point_writes_is_written_from_the_start(self):
        path = f"{self.fleet.data}/{{host}}/precious"
        job = (
            f"name: writes\ntargets: [{{name: t, file: {{path: '{path}', size: 1MiB}}}}]\n"
            "phases: [{run: {duration: 200ms, sweep: {axes: [{field: read, values: [100%, 0%]}]}, "
            "workloads: [{read: 100%}]}}]\ninterval: 100ms\n"
        )
        planned = self.fleet.lockstep("plan", "-", stdin=job)
        self.assertEqual(planned.status, 2, str(planned))  # there is no such file
        os.makedirs(f"{self.fleet.data}/node0", exist_ok=True)
        for host in self.fleet.sql("SELECT name FROM hosts"):
            os.makedirs(f"{self.fleet.data}/{host[0]}", exist_ok=True)
            with open(f"{self.fleet.data}/{host[0]}/precious", "wb") as out:
                out.write(b"x" * 1048576)
        planned = self.fleet.lockstep("plan", "-", stdin=job)
        self.assertEqual(planned.status, 2, str(planned))
        self.assertIn("not made by Lockstep", planned.out + planned.err)

    def test_what_cannot_be_swept_is_refused(self):
        for change, said in (
            (("field: queue_depth, values: [1, 2, 4, 8]", "field: name, values: [a, b]"), "names"),
            (("queue_depth, values: [1, 2, 4, 8]", "verify, values: [true]"), "verify"),
            (("queue_depth, values: [1, 2, 4, 8]", "ramp, values: [150ms]"), "multiple of"),
            (("block_size", "blok_size"), "no `blok_size`"),
            (("4KiB, 8KiB", "4KiB, 4KiB"), "is there twice"),
            (("1, 2, 4, 8", "0, 1"), "'0' is too small"),
            (("        axes:", "        combine: zip\n        axes:"), "different lengths"),
            (("block_size, values", "sweep, values"), "cannot be swept"),
        ):
            done = self.fleet.run_job(JOB.replace(*change))
            self.assertEqual(done.status, 2, str(done))
            self.assertIn(said, done.err)


class Repetitions(FleetTest):
    workers = 2

    def test_repetitions_end_when_the_figure_is_known(self):
        job = (
            "name: until\ntargets: [{name: n, null: {latency: 1ms}}]\nphases:\n"
            "  - {name: load, run: {duration: 1s, expect: {iops: 1}, workloads: "
            "[{engine: 'null', queue_depth: 4}],\n     sweep: {repeat: 12, warm_up: 1, "
            "until: {figure: p50, within: 30%}}}}\n"
            "  - {name: after, run: {duration: 1s, workloads: [{engine: 'null'}]}}\n"
        )
        done = self.ok(self.fleet.run_job(job))
        self.assertIn("warmed up", done.out)
        report = self.fleet.lockstep("report", "last", "--format", "json").json()
        names = [phase["name"] for phase in report["phases"]]
        self.assertEqual(names[:4], ["load", "load (2)", "load (3)", "load (4)"])
        self.assertEqual(names[-1], "after")
        self.assertLess(len(names), 13)
        sweep = report["sweeps"][0]
        self.assertEqual(sweep["points"][0]["runs"], len(names) - 2)
        self.assertIn("asked for was ±30 %", sweep["ended"])
        self.assertNotIn("not reached", sweep["ended"])
        self.assertTrue(report["expectationsMet"], report["run"])

    def rounds(self, rule, latency, status=0):
        """The report of two depths in at most five rounds."""
        job = (
            f"name: rounds\ninterval: 100ms\ntargets: [{{name: n, null: {{latency: {latency}}}}}]\n"
            "phases:\n  - {name: load, run: {duration: 300ms, expect: {steady: true}, workloads: "
            "[{engine: 'null', max_iops: 400}],\n     sweep: {axes: [{field: queue_depth, "
            f"values: [2, 4]}}], repeat: 5, until_steady: {{window: 3, {rule}}}}}}}}}\n"
        )
        self.ok(self.fleet.run_job(job), status)
        return self.fleet.lockstep("report", "last", "--format", "json").json()

    def test_rounds_end_when_they_are_steady(self):
        report = self.rounds("track: ['queue_depth=4'], range: 100%, slope: 100%", "1ms")
        sweep = report["sweeps"][0]
        rounds = sweep["steadyRounds"]
        self.assertTrue(rounds["steady"], rounds)
        self.assertEqual(rounds["points"][0]["point"], "queue_depth=4")
        self.assertEqual(len(rounds["points"][0]["valuesByRound"]), rounds["rounds"])
        self.assertEqual(rounds["lastRound"], rounds["rounds"])
        self.assertEqual(rounds["firstRound"] + 2, rounds["lastRound"])
        # No round follows, and the figures are of the steady ones.
        self.assertEqual(len(report["phases"]), 2 * rounds["rounds"])
        self.assertEqual([point["runs"] for point in sweep["points"]], [3, 3])
        self.assertTrue(report["expectationsMet"], report["run"])
        for layout in ("text", "markdown"):
            shown = self.fleet.lockstep("report", "last", "--format", layout).out
            self.assertIn("steady from round", " ".join(shown.split()), layout)

    def test_rounds_that_are_never_steady_end_at_their_limit(self):
        # A few I/Os of 100 ms each give no p99.
        report = self.rounds("figure: p99", "100ms", 4)
        rounds = report["sweeps"][0]["steadyRounds"]
        self.assertFalse(rounds.get("steady", False), rounds)
        self.assertEqual(rounds["rounds"], 5)
        self.assertEqual(len(report["phases"]), 10)
        self.assertEqual([point["runs"] for point in report["sweeps"][0]["points"]], [5, 5])
        last = report["phases"][-1]
        self.assertTrue(
            any("NOT KNOWN TO BE STEADY: no 3 rounds" in r for r in last["remarks"]),
            last["remarks"],
        )
        self.assertEqual(last["expectations"][0]["found"], "not known")

    def test_a_sweep_ends_in_a_sentence(self):
        """5 ms each: four times as many in flight are four times the IOPS, whoever is near."""
        job = (
            "name: answer\ntargets: [{name: n, null: {latency: 5ms}}]\nphases:\n"
            "  - {name: load, run: {duration: 300ms, workloads: [{engine: 'null'}],\n"
            "     sweep: {axes: [{field: queue_depth, values: [4, 16, 1]}], "
            "order: random, repeat: 5}}}\ninterval: 100ms\n"
        )
        report = self.ok(self.fleet.run_job(job, "--format", "json")).json()
        # A round is over before the next one begins.
        names = [phase["name"].split(" (")[0] for phase in report["phases"]]
        rounds = [sorted(names[i : i + 3]) for i in range(0, 15, 3)]
        self.assertEqual(rounds, 5 * [sorted(f"load queue_depth={d}" for d in (1, 4, 16))])
        (sweep,) = report["sweeps"]
        conclusion = sweep["conclusion"]
        sentence = conclusion["sentence"]
        self.assertRegex(
            sentence,
            r"^queue_depth=16 reaches [\d,.]+ IOPS, more than every other point "
            r"\(5 rounds, [^)]*\); queue_depth=4 is [\d.]+ % slower; queue_depth=1 is ",
        )
        self.assertEqual((conclusion["figure"], conclusion["rounds"]), ("IOPS", 5))
        self.assertNotIn("moreRounds", conclusion)
        standings = [point["comparison"]["standing"] for point in sweep["points"]]
        self.assertEqual(standings, ["STANDING_WORSE", "STANDING_BEST", "STANDING_WORSE"])
        for point in sweep["points"]:
            found = point["comparison"]
            self.assertEqual(found["rounds"], 5)
            self.assertLessEqual(found["low"], found["mean"])
            self.assertLessEqual(found["mean"], found["high"])
            if found["standing"] == "STANDING_WORSE":
                self.assertLess(found["ratioHigh"], 1)
                self.assertLess(found["pValue"], 0.05)
        self.answers_everywhere(sweep)

    def answers_everywhere(self, sweep):
        """The same in SQL, text and Markdown."""
        sentence = sweep["conclusion"]["sentence"]
        rows = self.fleet.sql(
            "SELECT sweep, phase_name, axes[1], replace(sentence, ',', ''), rounds "
            "FROM sweep_conclusions WHERE run_id = last_run()"
        )
        expected = ["0", "load", "queue_depth", sentence.replace(",", ""), "5"]
        self.assertEqual(rows, [expected])
        rows = self.fleet.sql(
            "SELECT point ->> 'queue_depth', standing, mean, ratio, p99_ms FROM sweep_points "
            "WHERE run_id = last_run() ORDER BY number"
        )
        self.assertEqual([row[0] for row in rows], ["4", "16", "1"])
        self.assertEqual([row[1] for row in rows], ["worse", "best", "worse"])
        for row, point in zip(rows, sweep["points"], strict=True):
            self.assertAlmostEqual(float(row[2]), point["comparison"]["mean"], places=6)
            if "ratio" in point["comparison"]:
                self.assertAlmostEqual(float(row[3]), point["comparison"]["ratio"], places=9)
            if point["p99Ns"] > 0:
                self.assertAlmostEqual(float(row[4]), point["p99Ns"] / 1e6, places=6)
        text = self.ok(self.fleet.lockstep("report")).out
        self.assertIn(sentence, " ".join(text.split()))
        markdown = self.ok(self.fleet.lockstep("report", "--format", "markdown")).out
        self.assertIn("queue\\_depth=16 reaches", markdown)

    def test_a_knee_is_found_where_more_depth_stops_to_give_more(self):
        """20 ms each, and no more than 200 a second: four in flight are enough."""
        job = (
            "name: knee\ntargets: [{name: n, null: {latency: 20ms}}]\nphases:\n"
            "  - {name: load, run: {duration: 1s, workloads: [{engine: 'null', max_iops: 200}],\n"
            "     sweep: {axes: [{field: queue_depth, values: [1, 2, 4, 8, 16, 32]}]}}}\n"
        )
        done = self.ok(self.fleet.run_job(job))
        report = self.fleet.lockstep("report", "last", "--format", "json").json()
        (knee,) = report["sweeps"][0]["knees"]
        # Beside busy neighbours 20 ms are more.
        self.assertIn(knee["value"], ("2", "4"), done.out)
        self.assertIn(f"knee: queue_depth={knee['value']} gives", done.out)


SERIES = """name: series
hosts: {count: 2}
targets:
  - name: files
    file: {path: "DATA/{host}/f.{file}", total_size: 256KiB}
phases:
  - name: read
    run:
      duration: 300ms
      sweep:
        axes: [{field: targets.files.file.count, values: [16, 3, 1]}]
        repeat: 2
      workloads: [{block_size: 16KiB, pattern: random, direct: false, max_iops: 500}]
interval: 100ms
"""


class FileSweeps(FleetTest):
    workers = 2

    def job(self):
        return SERIES.replace("DATA", self.fleet.data)

    def files(self):
        return [
            os.path.join(folder, name)
            for folder, _, names in os.walk(self.fleet.data)
            for name in names
        ]

    def test_a_series_over_the_number_of_files(self):
        planned = self.ok(self.fleet.lockstep("plan", "-", stdin=self.job())).out
        self.assertIn("files file.count=3: 3 files of 80 KiB on each host", planned)
        # 2 hosts, 2 repetitions: 16 × 16 KiB, 3 × 80 KiB and 1 × 256 KiB.
        self.assertIn("Prepare phases write 2.94 MiB on all hosts together.", planned)
        self.assertIn("need at most 512 KiB at a time", planned)
        report = self.ok(self.fleet.run_job(self.job(), "--format", "json")).json()
        (sweep,) = report["sweeps"]
        self.assertEqual(sweep["axes"][0]["values"], ["16", "3", "1"])
        self.assertEqual([point["runs"] for point in sweep["points"]], [2, 2, 2])
        kinds = [phase["kind"] for phase in report["phases"]]
        self.assertEqual(kinds, ["prepare", "run", "cleanup"] * 6)
        self.assertNotIn(", prepare", self.ok(self.fleet.lockstep("report", "last")).out)
        self.assertTrue(all(phase["state"] == "done" for phase in report["phases"]))
        # Each point has written its own files: it took over none of another point's.
        sizes = [int(phase["bytesWritten"]) for phase in report["phases"][::3]]
        self.assertEqual(sizes, 2 * [2 * 16 * 16384, 2 * 3 * 81920, 2 * 262144])
        self.assertEqual(self.files(), [])

    def test_points_with_the_same_files_share_them(self):
        job = self.job().replace(
            "        repeat: 2\n",
            "        group: files\n",
        )
        job = job.replace("[16, 3, 1]}]", "[3, 1]}, {field: queue_depth, values: [1, 2]}]")
        report = self.ok(self.fleet.run_job(job, "--format", "json")).json()
        kinds = [phase["kind"] for phase in report["phases"]]
        self.assertEqual(kinds, ["prepare", "run", "run", "cleanup"] * 2)
        (sweep,) = report["sweeps"]
        self.assertIn("cannot be told apart", " ".join(sweep["remarks"]))
        self.assertEqual(self.files(), [])

    def test_two_hosts_do_not_share_private_files(self):
        job = self.job().replace("{host}/f.{file}", "f.{file}")
        planned = self.fleet.lockstep("plan", "-", stdin=job)
        self.assertNotEqual(planned.status, 0, planned.text)
        self.assertIn("is also used by node1", " ".join(planned.err.split()))

    def test_a_stopped_series_leaves_no_file(self):
        job = self.job().replace("300ms", "600s")
        run = self.ok(self.fleet.lockstep("submit", "-", stdin=job)).out.strip()
        state = "SELECT count(*) FROM phases WHERE run_id = last_run() AND kind = 'run'"
        wait_for("the first point", lambda: self.fleet.sql(state)[0][0] == "1")
        wait_for("its files", lambda: len(self.files()) >= 32)
        self.ok(self.fleet.lockstep("stop", run))
        self.fleet.lockstep("watch", run)
        self.assertEqual(self.files(), [])

    def test_a_series_survives_its_controllers_death(self):
        run = self.ok(self.fleet.lockstep("submit", "-", stdin=self.job())).out.strip()
        done = "SELECT count(*) FROM phases WHERE run_id = last_run() AND state = 'done'"
        wait_for("some steps", lambda: int(self.fleet.sql(done)[0][0]) >= 4)
        stop(self.fleet.controller, signal.SIGKILL)
        self.fleet.start_controller(listen=self.fleet.address)
        watched = self.ok(self.fleet.lockstep("watch", run, "--format", "json", timeout=120))
        (sweep,) = watched.json()["sweeps"]
        self.assertEqual([point["runs"] for point in sweep["points"]], [2, 2, 2])
        self.assertEqual(self.files(), [])
