"""The sentence that concludes a run, wherever it is shown."""

from fleet import FleetTest, wait_for

JOB = (
    "name: concluded\ntargets: [{name: n, null: {latency: 1ms}}]\nphases:\n"
    "  - {name: load, run: {duration: 1s, workloads: [{engine: 'null', queue_depth: 4}], "
    "expect: {iops: 1000M}}}\n"
)


class Conclusions(FleetTest):
    workers = 1

    def test_the_sentence_is_in_every_form(self):
        done = self.ok(self.fleet.run_job(JOB), 4)
        report = self.fleet.lockstep("report", "--format", "json").json()
        sentence = report["run"]["conclusion"]
        self.assertRegex(sentence, r"^[\d,]+ IOPS, \S+ % of the 1 G required; p99 ")
        self.assertLessEqual(len(sentence), 200)
        self.assertEqual(report["run"]["headline"]["kind"], "load")
        self.assertEqual(report["run"]["headline"]["iops"], report["run"]["iops"])
        self.assertIn(sentence[:25], done.out.splitlines()[1])
        markdown = self.fleet.lockstep("report", "--format", "markdown").out
        self.assertIn("of the 1 G required", markdown.splitlines()[2])

        # The controller saves the report soon after the run has ended.
        def stored():
            rows = self.fleet.sql(
                "SELECT replace(conclusion, ',', '') FROM run_overview WHERE run_id = last_run()"
            )
            return rows and rows[0][0]

        self.assertEqual(wait_for("the conclusion", stored), sentence.replace(",", ""))
        listed = self.fleet.lockstep("history", "--format", "json").json()["runs"][0]
        self.assertEqual(listed["conclusion"], sentence)
        self.assertIn(sentence[:20], self.fleet.lockstep("history").out)
