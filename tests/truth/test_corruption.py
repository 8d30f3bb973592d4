"""Blocks that are not as they were written, and blocks that are."""

import html
import os

from truth import TruthTest, situation

BLOCK = 4096
BLOCKS = 256  # of a host's file
WRITE = "{workloads: [{block_size: 4KiB, read: 0%, pattern: shuffled, passes: 1, verify: true}]}"
MAGIC = b"LCSPBLK1"  # of the header that a write with `verify` makes
VERDICTS = ("corrupt", "stale", "misplaced", "torn", "never_written")


class Corruption(TruthTest):
    workers = 3

    def setUp(self):
        self.data = os.path.join(self.fleet.data, self.id().rsplit(".", 1)[1])
        os.mkdir(self.data)
        os.chmod(self.data, 0o777)

    def job(self, *phases):
        return (
            "name: blocks\nhosts: {count: 3}\n"
            f"targets: [{{name: d, file: {{path: '{self.data}/{{host}}', size: 1MiB}}}}]\nphases:\n"
            + "".join(f"  - {phase}\n" for phase in phases)
        )

    def written(self, *phases):
        """The id of a run that laid the files out and wrote each block with a header."""
        phases = phases or (f"run: {WRITE}",)
        return self.run_report(self.job("prepare:", *phases))["run"]["runId"]

    def path(self, host):
        return os.path.join(self.data, host)

    def block(self, host, number):
        with open(self.path(host), "rb") as file:
            file.seek(number * BLOCK)
            return file.read(BLOCK)

    def put(self, host, number, content):
        """Overwrites a block as a broken storage would."""
        self.assertEqual(len(content), BLOCK)
        with open(self.path(host), "r+b") as file:
            file.seek(number * BLOCK)
            file.write(content)
            os.fsync(file.fileno())

    def counts(self):
        """Per host, the mismatches of each verdict that is not 0, from SQL."""
        rows = self.rows("SELECT * FROM verification WHERE run_id = last_run() AND checked > 0")
        return {
            row["host"]: {verdict: int(row[verdict]) for verdict in VERDICTS if row[verdict] != "0"}
            for row in rows
        }

    def check_outputs(self, report, bad, of, hosts):
        """All outputs have the verdict, the number of blocks, and the hosts."""
        said = f"{bad} of {of} checked blocks {'is' if bad == 1 else 'are'} not as written"
        said += ", on " + ", ".join(hosts)
        verdict = report["verdict"]
        self.says(f"{verdict['word']}: {verdict['reasons'][0]}")
        self.assertEqual((verdict["word"], verdict["good"]), ("data corrupted", False))
        self.assertEqual(verdict["reasons"][0], said)
        self.assertIn("DATA CORRUPTED", verdict["warnings"][0])
        self.assertEqual(report["run"]["verdict"], "data corrupted")
        for form, head in (("text", "DATA CORRUPTED"), ("markdown", "data corrupted")):
            # The exit status of `report` is the run's.
            done = self.ok(self.fleet.lockstep("report", "last", "--format", form), 6)
            self.assertIn(head, done.out.splitlines()[0])
            self.assertIn(said, html.unescape(done.text))
        listed = self.ok(self.fleet.lockstep("history", "-n", "1", "--format", "json")).json()
        self.assertEqual(listed["runs"][0]["verdict"], "data corrupted")
        self.assertEqual(sum(sum(c.values()) for c in self.counts().values()), bad)
        self.assertEqual({h for h, c in self.counts().items() if c}, set(hosts))

    def details(self, report):
        """The sentences on blocks, {(host, block): verdict}."""
        found = {}
        for phase in report["phases"]:
            for workload in phase["workloads"]:
                for detail in (workload.get("verification") or {}).get("details", []):
                    host, words = detail.split(": ", 1)
                    verdict, rest = words.split(" at offset ", 1)
                    found[host, int(rest.split(" ", 1)[0]) // BLOCK] = verdict.replace(" ", "_")
        return found

    @situation(
        "20", "zeros, foreign bytes and a flipped bit in 4 written blocks of node1 and node3"
    )
    def test_a_foreign_block_where_a_write_completed(self):
        """A header that is gone does not make a block one that was never written."""
        run = self.written()
        self.put("node1", 3, bytes(BLOCK))
        self.put("node1", 200, os.urandom(BLOCK))
        flipped = bytearray(self.block("node3", 7))
        flipped[2000] ^= 1
        self.put("node3", 7, bytes(flipped))
        self.put("node3", 255, b"-" * BLOCK)
        report = self.run_report(self.job(f"verify: {{of_run: {run}}}"), status=6)
        self.check_outputs(report, 4, 3 * BLOCKS, ["node1", "node3"])
        self.assertEqual(
            self.counts(), {"node1": {"corrupt": 2}, "node2": {}, "node3": {"corrupt": 2}}
        )
        truth = [("node1", 3), ("node1", 200), ("node3", 7), ("node3", 255)]
        self.assertEqual(self.details(report), dict.fromkeys(truth, "corrupt"))

    @situation(
        "20", "node2 has an older content of 2 blocks, node1 a swapped pair and a torn block"
    )
    def test_an_older_generation_of_ours_is_stale(self):
        """The older content is what the first phase wrote, before the second wrote all again."""
        job = self.job(
            "prepare:",
            f"{{name: first, run: {WRITE}}}",
            "{name: pause, run: {duration: 600s, workloads: [{read: 100%}]}}",
            f"{{name: second, run: {WRITE}}}",
        )
        running = self.fleet.start_lockstep("run", "-", stdin=job)
        self.fleet.await_phase("pause")
        old = {number: self.block("node2", number) for number in (0, 100)}
        older = self.block("node1", 50)
        self.ok(self.fleet.lockstep("stop", "--phase"))
        out, err = running.communicate(timeout=300)
        self.assertEqual(running.returncode, 0, out + err)
        run = self.rows("SELECT last_run() AS id")[0]["id"]
        for number, content in old.items():
            self.assertNotEqual(self.block("node2", number), content)
            self.put("node2", number, content)
        ten, eleven = self.block("node1", 10), self.block("node1", 11)
        self.put("node1", 10, eleven)
        self.put("node1", 11, ten)
        self.put("node1", 50, self.block("node1", 50)[: BLOCK // 2] + older[BLOCK // 2 :])
        report = self.run_report(self.job(f"verify: {{of_run: {run}}}"), status=6)
        self.check_outputs(report, 5, 3 * BLOCKS, ["node1", "node2"])
        self.assertEqual(
            self.counts(),
            {"node1": {"misplaced": 2, "torn": 1}, "node2": {"stale": 2}, "node3": {}},
        )
        self.assertEqual(
            self.details(report),
            {
                **dict.fromkeys([("node2", 0), ("node2", 100)], "stale"),
                **dict.fromkeys([("node1", 10), ("node1", 11)], "misplaced"),
                ("node1", 50): "torn",
            },
        )

    @situation(
        "20", "each block is as it was written, verified in the run, after it, and of any run"
    )
    def test_untouched_data_passes(self):
        run = self.written(f"run: {WRITE}", "verify:")
        for options in (f"of_run: {run}", "any_run: true"):
            report = self.run_report(self.job(f"verify: {{{options}}}"))
            verdict = report["verdict"]
            self.says(f"{options.split(':')[0]}: {verdict['word']}")
            self.assertEqual((verdict["word"], verdict["good"]), ("passed", True))
            found = report["phases"][0]["workloads"][0]["verification"]
            self.assertEqual((found["checked"], found["mismatches"]), (3 * BLOCKS, 0))
            self.assertEqual(self.counts(), {"node1": {}, "node2": {}, "node3": {}})
            for form in ("text", "markdown"):
                self.assertNotIn("corrupted", self.report(form).lower())

    @situation(
        "20", "foreign bytes in a block that no write of the run covered; all others are good"
    )
    def test_a_foreign_block_that_no_write_covered(self):
        """Nobody knows what belongs there: it must not be called corrupt."""
        some = WRITE.replace("passes: 1", "operations: 150")
        run = self.written(f"run: {some}")
        blank = next(n for n in range(BLOCKS) if not self.block("node1", n).startswith(MAGIC))
        self.put("node1", blank, os.urandom(BLOCK))
        report = self.run_report(self.job(f"verify: {{of_run: {run}}}"))
        found = report["phases"][0]["workloads"][0]["verification"]
        self.says(f"{report['verdict']['word']}: {found['checked']:.0f} checked, ")
        self.says(f"{found['notCheckable']:.0f} not checkable")
        self.assertEqual((found["checked"], found["mismatches"]), (150, 0))
        self.assertEqual(found["notCheckable"], 3 * BLOCKS - 150)

    @situation(
        "20", "each block is as it was written; `of_run: last` names a run that wrote nothing"
    )
    def test_a_run_that_wrote_nothing_is_no_reference(self):
        """The run before only read. Its blocks are not known, so that nothing can be wrong."""
        self.written()
        again = self.job("verify: {of_run: last}")
        self.assertEqual(self.run_report(again)["verdict"]["word"], "passed")
        done = self.fleet.run_job(again, "--format", "json")
        verdict = done.json()["verdict"] if done.out else {"word": done.err, "reasons": []}
        self.says(f"exit {done.status}, {verdict['word']}: {'; '.join(verdict['reasons'])}")
        self.assertNotEqual(done.status, 6, verdict)
        self.assertNotIn("corrupted", verdict["word"])

    @situation("20", "one block is corrupt; an expectation fails, or the run is cancelled, as well")
    def test_corruption_comes_before_all_else(self):
        run = self.written()
        self.put("node2", 9, os.urandom(BLOCK))
        load = "duration: %s, workloads: [{read: 100%%}]"
        verify = f"verify: {{of_run: {run}}}"
        demand = "run: {" + load % "1s" + ", expect: {iops: 1e11}}"
        report = self.run_report(self.job(verify, demand), status=6)
        self.assertFalse(report["expectationsMet"])
        self.check_outputs(report, 1, 3 * BLOCKS, ["node2"])
        endless = "{name: endless, run: {" + load % "600s" + "}}"
        running = self.fleet.start_lockstep("run", "-", stdin=self.job(verify, endless))
        self.fleet.await_phase("endless")
        self.ok(self.fleet.lockstep("stop", "last", "--now"))
        out, err = running.communicate(timeout=300)
        self.assertEqual(running.returncode, 6, out + err)
        done = self.ok(self.fleet.lockstep("report", "last", "--format", "json"), 6)
        self.assertNotEqual(done.json()["run"]["state"], "done")
        self.check_outputs(done.json(), 1, 3 * BLOCKS, ["node2"])

    @situation("20", "one block is corrupt, and the runs of `run --ab` verify it")
    def test_interleaved_runs_end_at_corrupted_data(self):
        run = self.written()
        self.put("node2", 9, os.urandom(BLOCK))
        path = os.path.join(self.data, "blocks.yaml")
        with open(path, "w", encoding="utf-8") as out:
            out.write(self.job(f"verify: {{of_run: {run}}}"))
        done = self.ok(self.fleet.lockstep("run", "--ab", path, path, "--repeat", "4"), 6)
        said = f"DATA CORRUPTED: 1 of {3 * BLOCKS} checked blocks is not as written, on node2"
        self.says(said)
        self.assertIn(said, " ".join(done.err.split()))
        self.assertEqual(done.out, "", "no comparison of wrong data")
        later = self.rows(
            "SELECT r.run_id FROM runs r JOIN runs w ON r.submitted_at > w.submitted_at "
            f"WHERE w.run_id = '{run}'"
        )
        self.assertEqual(len(later), 1, "no further run is made")
