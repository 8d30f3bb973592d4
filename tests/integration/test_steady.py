"""Loads that end when they are steady."""

from fleet import FleetTest


def job(load, expect="", interval="250ms"):
    return (
        f"name: steady\ninterval: {interval}\n"
        "targets: [{name: n, null: {latency: 1ms}}]\nphases:\n"
        f"  - {{name: load, run: {{{load}, {expect} workloads: "
        "[{engine: 'null', queue_depth: 4}]}}\n"
    )


# An eighth of what the script allows: steady also where busy neighbours come and go.
STEADILY = "queue_depth: 4, max_iops: 2000"


class Steady(FleetTest):
    workers = 4

    def report(self, text, status=0):
        done = self.ok(self.fleet.run_job(text, "--format", "json"), status)
        return done.json()

    def test_steady_ends_at_the_same_interval_on_all_hosts(self):
        report = self.report(
            job(
                "ramp: 500ms, duration: 10m, "
                "until_steady: {round: 500ms, window: 4, range: 60%, slope: 60%, each_host: true}",
                "expect: {steady: true}, ",
            ).replace("queue_depth: 4", STEADILY)
        )
        load = report["phases"][0]
        self.assertTrue(load["steady"]["steady"], load["steady"])
        self.assertLess(load["durationSeconds"], 60)
        self.assertTrue(load["steady"]["worstHost"])
        ends = self.fleet.sql(
            "SELECT DISTINCT max(interval) FROM interval_operations WHERE run_id = last_run() AND "
            "interval_class = 2 GROUP BY worker_index"
        )
        self.assertEqual(len(ends), 1, ends)
        stored = self.fleet.sql("SELECT end_of_load FROM phases WHERE run_id = last_run()")
        self.assertEqual(ends, stored)
        self.assertTrue(any("it was steady" in r for r in load["remarks"]), load["remarks"])
        self.assertTrue(any("the load is steady" in e["message"] for e in report["events"]))
        text = self.ok(self.fleet.lockstep("report", "last")).out
        self.assertIn("steady: yes", text)

    def test_a_load_that_never_is_steady_ends_at_its_limit(self):
        report = self.report(
            job(
                "duration: 3s, until_steady: {figure: percentile, percent: 50, round: 250ms, "
                "window: 8, range: 0.01%, slope: 0.01%}",
                "expect: {steady: true}, ",
            ).replace("queue_depth: 4", "queue_depth: 4, open_loop: {rate: 4000, ramp_to: 600%}"),
            4,
        )
        load = report["phases"][0]
        self.assertFalse(load["steady"]["steady"])
        self.assertGreaterEqual(load["steady"]["rounds"], 8)
        self.assertTrue(any("NOT STEADY" in r for r in load["remarks"]), load["remarks"])

    def test_one_that_only_tells_goes_on(self):
        report = self.report(
            job(
                "duration: 3s, until_steady: {round: 250ms, window: 3, range: 90%, slope: 90%, "
                "only_tell: true}"
            ).replace("queue_depth: 4", STEADILY)
        )
        load = report["phases"][0]
        self.assertTrue(load["steady"]["steady"], load["steady"])
        self.assertGreaterEqual(load["durationSeconds"], 2.9)

    def test_what_cannot_be_is_refused(self):
        for load, said in (
            ("duration: 10s, until_steady: {round: 5s}", "longer than the duration"),
            ("duration: 10m, until_steady: {round: 300ms}", "multiple of the interval"),
            ("duration: 10s, expect: {steady: true}", "needs until_steady"),
            ("duration: 10m, until_steady: {window: 2}", "window"),
            ("duration: 10m, until_steady: {range: 100%}", "must be below 100%"),
        ):
            done = self.fleet.run_job(job(load))
            self.assertEqual(done.status, 2, str(done))
            self.assertIn(said, done.err)
