"""Notes about moments of a run, while it is in progress and afterwards."""

import os

from fleet import FleetTest

JOB = (
    "name: noted\ntargets: [{name: n, null: {latency: 1ms}}]\nphases:\n"
    "  - {name: load, run: {duration: 60s, workloads: [{engine: 'null', queue_depth: 4}], "
    "expect: {iops: 1000M}}}\n"
)


class Notes(FleetTest):
    workers = 2

    def note(self, *words, status=0):
        return self.ok(self.fleet.lockstep("note", *words), status)

    def test_a_note_is_in_the_report_of_its_run(self):
        running = self.fleet.start_lockstep("run", "-", stdin=JOB)
        self.fleet.await_seconds(1, name="load")
        said = self.note("last", "a", "cable <b>").out
        self.assertIn("noted at 20", said)
        self.ok(self.fleet.lockstep("stop", "last"))
        _, shown = running.communicate(timeout=120)
        # Those who watch the run see the note at once.
        self.assertRegex(shown, r"note by \S+: a cable <b>")
        self.note("last", "--at", "+500ms", "early")
        report = self.fleet.lockstep("report", "--format", "json").json()
        notes = [e for e in report["events"] if e["severity"] == "note"]
        self.assertEqual([n["message"] for n in notes], ["early", "a cable <b>"])
        self.assertTrue(all(n["author"] for n in notes))
        for flags in ((), ("--detail",)):
            text = self.fleet.lockstep("report", *flags).out
            self.assertRegex(text, r"── notes ")
            self.assertRegex(text, r"\(load at [\d.]+ s\) \S+: a cable <b>")
        markdown = self.fleet.lockstep("report", "--format", "markdown").out
        self.assertIn("**Notes**", markdown)
        self.assertIn("a cable &lt;b&gt;", markdown)
        rows = self.fleet.sql(
            "SELECT phase_name, message FROM run_notes WHERE run_id = last_run() ORDER BY number"
        )
        self.assertEqual(rows[0], ["load", "a cable <b>"])
        self.assertEqual(rows[1][1], "early")

    def test_a_note_is_removed_by_its_number(self):
        self.ok(self.fleet.run_job(JOB.replace("60s", "1s")), 4)
        for text in ("kept", "a typo"):
            self.note("last", text)
        self.assertRegex(self.fleet.lockstep("report").out, r"#2 \S+ .*: a typo")
        said = self.note("last", "--remove", "2").out
        self.assertRegex(said, r"removed the note of \S+ by \S+ \(#2\): a typo")
        report = self.fleet.lockstep("report").out
        self.assertNotIn("a typo", report)
        self.assertIn("kept", report)
        rows = self.fleet.sql("SELECT number, message FROM run_notes WHERE run_id = last_run()")
        self.assertEqual(rows, [["1", "kept"]])
        self.assertIn("has no note 2", self.note("last", "--remove", "2", status=1).err)
        # The author who meant note 2 did not mean the next one.
        self.assertRegex(self.note("last", "another").out, r"\(#3\)")
        for words in (("last",), ("last", "text", "--remove", "1"), ("last", "--remove", "0")):
            with self.subTest(words):
                self.assertNotEqual(self.fleet.lockstep("note", *words).status, 0)

    def test_what_cannot_be_noted_is_refused_with_the_reason(self):
        self.ok(self.fleet.run_job(JOB.replace("60s", "1s")), 4)
        for words, why in (
            (("last", "--at", "+12", "x"), "is no time after the run's start"),
            (("last", "--at", "yesterday", "x"), "is no time; write"),
            (("last", "--at", "2001-01-01", "x"), "a day before the run was submitted"),
            (("last", "--at", "2999-01-01", "x"), "in the future"),
            (("last", "x" * 1001), "text"),
            (("last", "a\x1b[31m"), "text"),
            (("last", ""), "text: is empty"),
            (("last", " ", " "), "text: is empty"),
            (("ffffffff", "x"), "ffffffff"),
        ):
            with self.subTest(words):
                self.assertIn(why, self.note(*words, status=1).err)

    def test_notes_go_with_an_exported_run(self):
        job = JOB.replace("60s", "1s").replace("name: noted", "name: moved")
        self.ok(self.fleet.run_job(job), 4)
        self.note("last", "kept")
        archive = os.path.join(self.fleet.directory, "noted.lockstep")
        self.ok(self.fleet.lockstep("export", "last", "--output", archive))
        run = self.fleet.sql("SELECT last_run()")[0][0]
        self.ok(self.fleet.lockstep("prune", "--job", "moved", "--yes"))
        self.ok(self.fleet.lockstep("import", archive))
        self.assertIn("kept", self.fleet.lockstep("report", run).out)
