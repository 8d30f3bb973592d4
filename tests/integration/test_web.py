"""The page in a real browser: the list, a run live by server-sent events, and its report."""

import csv
import gzip
import io
import json
import os
import re
import subprocess
import urllib.error
import urllib.request

from fleet import ROOT, FleetTest, files_job, wait_for


def browse(fleet, script, *words, stderr=subprocess.STDOUT, limit_ms=None):
    """Starts a script that drives a browser. `limit_ms` is that of a single wait in it, 0 none."""
    # In bazel's output base: to ask bazel for it would wait for whoever builds.
    base = os.path.realpath(os.path.join(ROOT, "bazel-bin")).split("/execroot/")[0]
    if not os.path.isdir(os.path.join(base, "external", "web_modules")):
        asked = ["bazel", "info", "output_base"]
        base = subprocess.run(
            asked, cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()
    modules = os.path.join(base, "external", "web_modules", "node_modules")
    return subprocess.Popen(
        ["node", os.path.join(ROOT, "tests", "web", script), fleet.url, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        env={
            **os.environ,
            "NODE_PATH": modules,
            **({} if limit_ms is None else {"PAGE_TIMEOUT": str(limit_ms)}),
        },
    )


class WebPage(FleetTest):
    fleet_options = {"http": True}

    def get(self, path):
        with urllib.request.urlopen(self.fleet.url.rstrip("/") + path, timeout=20) as answer:
            return answer.read().decode()

    def test_json_is_that_of_the_command_line(self):
        self.ok(self.fleet.run_job(files_job(self.fleet.data, duration="1s")))
        by_command = self.ok(self.fleet.lockstep("report", "last", "--format", "json")).json()
        run = by_command["run"]["runId"]
        self.assertEqual(json.loads(self.get(f"/api/runs/{run}/report")), by_command)
        self.assertEqual(json.loads(self.get("/api/runs"))["runs"][0]["runId"], run)
        with self.assertRaises(urllib.error.HTTPError) as caught:
            self.get("/api/runs/ffff0000/report")
        self.assertEqual(caught.exception.code, 404)
        self.assertIn("no run's id begins", json.loads(caught.exception.read())["error"])
        caught.exception.close()

    def test_the_page_knows_where_the_controller_listens(self):
        """The commands that it offers have the address."""
        self.assertEqual(json.loads(self.get("/api/status"))["listen"], [self.fleet.address])

    def test_answers_are_compressed_for_who_takes_it(self):
        self.ok(self.fleet.run_job(files_job(self.fleet.data, duration="1s")))
        run = self.fleet.sql("SELECT last_run()")[0][0]

        def asked(path, accepts):
            request = urllib.request.Request(self.fleet.url + path)
            if accepts:
                request.add_header("Accept-Encoding", accepts)
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.read(), answer.headers

        for path in ("", f"api/runs/{run}", f"api/runs/{run}/phases/1", f"api/runs/{run}/job"):
            plain, headers = asked(path, "")
            for refused in ("identity", "gzip;q=0, br", "gzipped"):
                same, heads = asked(path, refused)
                self.assertEqual(same, plain, (path, refused))
                self.assertIsNone(heads["Content-Encoding"], (path, refused))
            packed, heads = asked(path, "br;q=1.0, GZIP;q=0.8")
            if len(plain) < 1024 and path:  # an answer that fits into a packet stays as it is
                self.assertEqual(packed, plain, path)
                continue
            self.assertEqual(heads["Content-Encoding"], "gzip", path)
            self.assertIn("Accept-Encoding", heads["Vary"], path)
            self.assertEqual(int(heads["Content-Length"]), len(packed), path)
            self.assertLess(len(packed), len(plain), path)
            self.assertEqual(gzip.decompress(packed), plain, path)
            self.assertEqual(heads["Content-Type"], headers["Content-Type"], path)
            self.assertEqual(heads["Cache-Control"], headers["Cache-Control"], path)

    def test_the_page_only_reads(self):
        for method in ("POST", "PUT", "DELETE"):
            request = urllib.request.Request(self.fleet.url + "api/runs", method=method, data=b"{}")
            with self.assertRaises(urllib.error.HTTPError) as caught:
                urllib.request.urlopen(request, timeout=20)
            caught.exception.close()

    def test_a_query_that_is_no_utf_8_is_refused_in_words(self):
        for path in ("api/runs?label=kind=%ff", "api/runs?job=%c3%28", "api/runs?owner=%ed%a0%80"):
            with self.assertRaises(urllib.error.HTTPError, msg=path) as caught:
                urllib.request.urlopen(self.fleet.url + path, timeout=20)
            self.assertEqual(caught.exception.code, 400, path)
            self.assertIn("UTF-8", json.loads(caught.exception.read())["error"])
            caught.exception.close()

    def test_runs_are_filtered_and_paged(self):
        for label in ("one", "two", "two"):
            job = files_job(self.fleet.data, duration="1s", extra=f"labels: {{kind: {label}}}")
            self.ok(self.fleet.run_job(job))

        def asked(query):
            return json.loads(self.get(f"/api/runs?{query}"))

        self.assertEqual(asked("label=kind=two")["total"], 2)
        self.assertEqual(asked("host=node1&state=done&label=kind=one&job=small")["total"], 1)
        self.assertEqual(asked("owner=nobody")["total"], 0)
        whole = asked("")["runs"]
        self.assertEqual(asked("limit=1&offset=1")["runs"], whole[1:2])
        self.assertEqual(asked("since=2999-01-01")["total"], 0)
        self.assertEqual(whole[0]["verdict"], "done")
        for query, words in (
            ("limit=0", "from 1 to"),
            ("colour=red", "there is no colour to filter by"),
            ("label=kind", "NAME=VALUE"),
            ("label=kind=two&label=kind=one", "label kind: a run has one value of it"),
            ("since=yesterday-ish", "since"),
        ):
            with self.subTest(query), self.assertRaises(urllib.error.HTTPError) as caught:
                asked(query)
            self.assertEqual(caught.exception.code, 400, query)
            self.assertIn(words, json.loads(caught.exception.read())["error"])
            caught.exception.close()

    def test_series_are_those_of_the_report(self):
        self.ok(self.fleet.run_job(files_job(self.fleet.data, duration="3s")))
        run = json.loads(self.get("/api/runs?limit=1"))["runs"][0]["runId"]
        phase = json.loads(self.get(f"/api/runs/{run}/report"))["phases"][1]
        series = json.loads(self.get(f"/api/runs/{run}/series?phase=1"))
        spans, fleet = series["spans"], series["fleet"]
        length = [e - b for b, e in zip(spans["beginSeconds"], spans["endSeconds"], strict=True)]
        operations = sum(i * s for i, s in zip(fleet["iops"], length, strict=True))
        # The rate of an interval is over the part of it in which the load ran.
        self.assertAlmostEqual(operations / phase["total"]["operations"], 1, delta=0.02)
        self.assertLessEqual(max(fleet["p999Ns"]), max(fleet["maxNs"]))
        rows = list(csv.DictReader(io.StringIO(self.get(f"/api/runs/{run}/export.csv?phase=1"))))
        self.assertEqual([float(row["end_seconds"]) for row in rows], spans["endSeconds"])
        self.assertEqual([float(row["iops"]) for row in rows], fleet["iops"])
        # At most so many, and each at least so long.
        few = json.loads(self.get(f"/api/runs/{run}/series?phase=1&bins=2"))["spans"]
        self.assertLessEqual(len(few["endSeconds"]), 3)  # two, and what the drain left
        long = json.loads(self.get(f"/api/runs/{run}/series?phase=1&step=1.5"))["spans"]
        self.assertGreaterEqual(long["endSeconds"][0] - long["beginSeconds"][0], 1.45)
        for query in ("phase=1&step=nan", "phase=1&bins=0", "phase=99", "phase=0"):
            with self.subTest(query), self.assertRaises(urllib.error.HTTPError) as caught:
                self.get(f"/api/runs/{run}/series?{query}")
            self.assertIn(caught.exception.code, (400, 404))
            caught.exception.close()
        # By any name of the run the file is whole.
        for name in (run, run[:8], "last"):
            page = self.get(f"/api/runs/{name}/export.html")
            data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
            documents = json.loads(data.group(1))["documents"]
            self.assertIn(f"/api/runs/{run}", documents)
            self.assertNotIn("", documents)

    def test_series_made_again_of_the_samples_are_the_same(self):
        self.ok(self.fleet.run_job(files_job(self.fleet.data, duration="3s")))
        run = json.loads(self.get("/api/runs?limit=1"))["runs"][0]["runId"]

        def series():
            parts = ("series", "hosts", "latency")
            return [json.loads(self.get(f"/api/runs/{run}/{part}?phase=1")) for part in parts]

        before = series()
        self.fleet.owner_sql(
            "DELETE FROM lockstep.fleet_intervals; DELETE FROM lockstep.fleet_interval_kinds; "
            "DELETE FROM lockstep.host_spans; DELETE FROM lockstep.host_lines; "
            "UPDATE lockstep.runs SET saved_report = NULL"
        )
        with self.assertRaises(urllib.error.HTTPError) as caught:
            series()
        self.assertIn("no timeline", json.loads(caught.exception.read())["error"])
        caught.exception.close()
        self.fleet.controller.terminate()
        self.fleet.controller.wait(60)
        self.fleet.start_controller(listen=self.fleet.address)
        self.fleet.wait_attached(2)
        wait_for(
            "the figures",
            lambda: not self.fleet.sql("SELECT 1 FROM runs WHERE saved_report IS NULL"),
            60,
        )
        after = series()
        # The longest latency of an interval is not stored with its samples; percentiles that lie in
        # its bucket may be beyond it, by half of the bucket.
        longest = [reply[0]["fleet"].pop("maxNs") for reply in (before, after)]
        for name in ("p50Ns", "p90Ns", "p99Ns", "p999Ns"):
            values = [reply[0]["fleet"].pop(name) for reply in (before, after)]
            for one, other in zip(*values, strict=True):
                self.assertAlmostEqual(one, other, delta=0.008 * other)
        for one, other in zip(*longest, strict=True):
            self.assertAlmostEqual(one, other, delta=0.008 * other)
        for one, other in zip(before, after, strict=True):
            self.assertEqual(one, other)

    def test_a_restarted_controller_leaves_a_mark_and_no_hole(self):
        running = self.fleet.start_lockstep(
            "run", "-", stdin=files_job(self.fleet.data, duration="600s")
        )
        self.fleet.await_phase("mix")
        run = self.fleet.sql("SELECT last_run()")[0][0]
        # At the same addresses.
        address, self.fleet.http = self.fleet.address, self.fleet.url.split("/")[2]
        page = browse(self.fleet, "away_test.cjs", run, self.fleet.directory)
        try:
            said = page.stdout.readline()
            self.assertEqual(said, "page: watches\n")
            self.fleet.controller.kill()
            self.fleet.controller.wait()
            page.stdin.write("killed\n")
            page.stdin.flush()
            self.assertEqual(page.stdout.readline(), "page: asks again\n")
            self.fleet.start_controller(listen=address)
            said = page.communicate(timeout=900)[0]
        finally:
            page.kill()
            page.wait()
            self.fleet.http = True
        self.assertEqual(said, "page: ok\n", said)
        self.ok(self.fleet.lockstep("stop", run, "--now"))
        running.communicate(timeout=300)
        self.fleet.wait_attached(2)  # for the tests that follow

    def test_watchers_know_when_a_phase_began(self):
        job = files_job(self.fleet.data, duration="60s")
        running = self.fleet.start_lockstep("run", "-", stdin=job)
        self.fleet.await_seconds(1)
        run = self.fleet.sql("SELECT last_run()")[0][0]
        changes = []
        address = f"{self.fleet.url}api/runs/{run}/events"
        with urllib.request.urlopen(address, timeout=60) as events:
            # Ends with the run, or before it with the change that is looked for.
            for line in events:
                change = json.loads(line[6:]).get("phase", {}) if line.startswith(b"data: ") else {}
                if change:
                    changes.append(change)
                if (change.get("kind"), change.get("state")) == ("run", "running"):
                    break
        self.assertEqual(changes[-1].get("state"), "running", changes)
        self.assertTrue(any(one["state"] == "arming" for one in changes), changes)
        for change in changes:
            self.assertEqual("startedAt" in change, change["state"] != "arming", change)
        self.ok(self.fleet.lockstep("stop", run))
        running.communicate(timeout=300)
        report = self.fleet.lockstep("report", run, "--format", "json").json()
        phase = report["phases"][changes[-1].get("index", 0)]
        self.assertEqual(changes[-1]["startedAt"], phase["startedAt"])

    def test_what_is_wrong_is_the_largest_of_the_live_page(self):
        page = browse(self.fleet, "live_scenes_test.cjs", self.fleet.directory)
        said = page.communicate(timeout=900)[0]
        self.assertEqual(page.returncode, 0, said)
        self.assertTrue(said.endswith("page: ok\n"), said)

    def test_lists_and_comparisons_in_chromium(self):
        page = browse(self.fleet, "lists_scenes_test.cjs", self.fleet.directory)
        said = page.communicate(timeout=900)[0]
        self.assertEqual(page.returncode, 0, said)
        self.assertTrue(said.endswith("page: ok\n"), said)

    def test_sets_of_runs_are_compared(self):
        runs = []
        for _ in range(3):
            self.ok(self.fleet.run_job(files_job(self.fleet.data, duration="1s")))
            runs.append(self.fleet.sql("SELECT last_run()")[0][0])
        first, *others = runs
        compared = json.loads(self.get(f"/api/compare?runs={first},{'.'.join(others)}"))
        self.assertEqual([one["runs"] for one in compared["sets"]], [[first], others])
        self.assertEqual([one["name"] for one in compared["sets"]], [first[:8], others[0][:8]])
        self.assertEqual(compared["canTell"], [False])
        for query in (first, f"{first},.", f"{first},A", ",".join([first] * 6)):
            with self.subTest(query), self.assertRaises(urllib.error.HTTPError) as caught:
                self.get(f"/api/compare?runs={query}")
            self.assertEqual(caught.exception.code, 400, query)
            self.assertIn("runs: ", json.loads(caught.exception.read())["error"])
            caught.exception.close()

    def test_sweeps_and_curves_in_chromium(self):
        job = """name: points
targets: [{name: n, null: {latency: 200us}}]
phases:
  - name: grid
    run:
      duration: 300ms
      sweep:
        axes:
          - {field: block_size, values: [4KiB, 8KiB]}
          - {field: queue_depth, values: [1, 2, 4]}
          - {field: read, values: [100%, 0%]}
      workloads: [{engine: "null"}]
  - name: full
    run: {duration: 300ms, workloads: [{engine: "null"}]}
  - name: curve
    run:
      duration: 300ms
      curve: {share: [25%, 50%, 75%]}
      workloads: [{engine: "null", open_loop: {measured: {phase: full}, arrival: fixed}}]
interval: 100ms
"""
        self.ok(self.fleet.run_job(job))
        run = self.fleet.sql("SELECT last_run()")[0][0]
        page = browse(self.fleet, "sweep_test.cjs", run, self.fleet.directory)
        said = page.communicate(timeout=900)[0]
        self.assertEqual(said, "page: ok\n", said)

    def corrupted(self):
        """The id of a run that finds a block of zeros, and of whose load I/Os are expected."""
        target = f"{{name: d, file: {{path: '{self.fleet.data}/blocks-{{host}}', size: 64KiB}}}}"
        job = (
            "name: blocks\nhosts: {count: 1}\ntargets:\n"
            f"  - {target}\n  - {{name: n, null: {{latency: 1ms}}}}\nphases:\n"
        )
        write = "{targets: [d], read: 0%, pattern: shuffled, passes: 1, verify: true}"
        self.ok(self.fleet.run_job(f"{job}  - prepare:\n  - run: {{workloads: [{write}]}}\n"))
        run = self.fleet.sql("SELECT last_run()")[0][0]
        with open(os.path.join(self.fleet.data, "blocks-node1"), "r+b") as file:
            file.seek(8192)
            file.write(bytes(4096))
            os.fsync(file.fileno())
        load = "{duration: 1s, expect: {iops: 1}, workloads: [{targets: [n], engine: 'null'}]}"
        found = self.fleet.run_job(
            f"{job}  - verify: {{of_run: {run}}}\n  - name: mix\n    run: {load}\n"
        )
        self.ok(found, status=6)
        return self.fleet.sql("SELECT last_run()")[0][0]

    def test_the_first_screen_of_a_report_in_chromium(self):
        job = """name: still
targets: [{name: n, null: {size: 1GiB, latency: 1ms, stall_every: 5s, stall: 3s}}]
phases:
  - name: mix
    run:
      duration: 9s
      expect: {iops: 10M, p99: 10s}
      workloads: [{name: w, targets: [n], engine: "null", queue_depth: 4}]
"""
        self.ok(self.fleet.run_job(job), status=4)
        still = self.fleet.sql("SELECT last_run()")[0][0]
        wrong = self.corrupted()
        page = browse(self.fleet, "report_scenes_test.cjs", still, wrong, self.fleet.directory)
        said = page.communicate(timeout=900)[0]
        self.assertEqual(page.returncode, 0, said)
        self.assertTrue(said.endswith("page: ok\n"), said)

    def test_in_chromium(self):
        # There are so many I/Os that each host has its percentiles.
        job = files_job(self.fleet.data, duration="1s", workload=", max_iops: 1M")
        self.ok(self.fleet.run_job(job))
        other = self.fleet.sql("SELECT last_run()")[0][0]
        # It goes on until the page has been seen live.
        running = self.fleet.start_lockstep(
            "run", "-", stdin=files_job(self.fleet.data, duration="600s")
        )
        self.fleet.await_phase("mix")
        run = self.fleet.sql("SELECT last_run()")[0][0]
        text = self.ok(self.fleet.lockstep("report", other, "--detail")).out
        with open(os.path.join(self.fleet.directory, "report.txt"), "w", encoding="utf-8") as out:
            out.write(text)
        page = browse(self.fleet, "page_test.cjs", run, other, self.fleet.directory)
        try:
            said = page.stdout.readline()
            self.ok(self.fleet.lockstep("stop", run, "--phase"))
            said += page.communicate(timeout=900)[0]
        finally:
            page.kill()
            page.wait()
        running.communicate(timeout=300)
        self.assertEqual(page.returncode, 0, said)
        self.assertEqual(said, "page: live\npage: ok\n", said)
