"""When workloads of one phase run and what ends with them: text, JSON and SQL say the same."""

from fleet import FleetTest

HEAD = "name: paced\ntargets: [{name: n, null: {latency: 1ms}}]\nphases:\n"


class Pace(FleetTest):
    workers = 2

    def run_phase(self, phase, status=0):
        done = self.fleet.run_job(f"{HEAD}  - run: {phase}\n", "--format", "json")
        return self.ok(done, status).json()

    def test_a_late_workload_is_rated_over_its_own_time(self):
        report = self.run_phase(
            "{duration: 4s, workloads: [{name: all, engine: null}, "
            "{name: late, engine: null, start_delay: 1s, runtime: 2s}]}"
        )
        (phase,) = report["phases"]
        whole, late = phase["workloads"]
        self.assertEqual((whole["windowBeginSeconds"], whole["windowEndSeconds"]), (0, 4))
        self.assertEqual((late["windowBeginSeconds"], late["windowEndSeconds"]), (1, 3))
        self.assertEqual((phase["windowBeginSeconds"], phase["windowEndSeconds"]), (1, 3))
        self.assertEqual(late["windowSeconds"], 2)
        # I/Os that completed after the end are in the sum of operations, and in no rate.
        self.assertLessEqual(late["total"]["iops"] * 2, late["total"]["operations"])
        self.assertIn("from 1 s on, for 2 s", late["summary"])
        self.assertEqual(phase.get("outages", []), [])
        rates = dict(
            self.fleet.sql(
                "SELECT workload, sum(iops) FROM phase_figures WHERE run_id = last_run() "
                "AND worker_index IS NULL AND kind = 'read' AND is_reported GROUP BY workload"
            )
        )
        for workload in (whole, late):
            self.assertAlmostEqual(
                float(rates[workload["name"]]), workload["total"]["iops"], delta=0.01
            )
        text = self.ok(self.fleet.lockstep("report", "last", "--detail")).out
        self.assertIn("of all over 0.00–4.00 s", " ".join(text.split()))

    def test_the_moment_of_one_io_is_no_time_for_rates(self):
        report = self.run_phase(
            "{duration: 3s, workloads: [{name: goes on, engine: null, max_iops: 50}, "
            "{name: one, engine: null, hosts: {count: 1}, operations: 1, start_delay: 1300ms}]}"
        )
        (phase,) = report["phases"]
        # Beside a busy host the one may take longer than a hundredth of its interval.
        self.assertGreaterEqual(phase["windowSeconds"], 0.007)
        total = phase["total"]
        self.assertAlmostEqual(total["bytesPerSecond"], 4096 * total["iops"], delta=1)
        self.assertLessEqual(
            phase["total"]["iops"] * phase["windowSeconds"], phase["total"]["operations"] + 0.5
        )
        if phase["windowSeconds"] > 1:
            self.assertIn(
                "no time in which all hosts and workloads ran: rates of all together, and of "
                "hosts, are over the whole phase",
                phase["remarks"],
            )
            text = self.ok(self.fleet.lockstep("report", "last", "--detail")).out
            self.assertIn("s after T, the whole phase", " ".join(text.split()))

    def test_a_workload_ends_its_phase_on_all_hosts(self):
        report = self.run_phase(
            "{duration: 600s, workloads: [{name: goes on, engine: null}, "
            "{name: short, engine: null, hosts: {count: 1}, operations: 50, ends_phase: true}]}"
        )
        (phase,) = report["phases"]
        self.assertEqual(phase["state"], "done")
        self.assertTrue(
            any("workload short had ended" in remark for remark in phase["remarks"]),
            phase["remarks"],
        )
        self.assertEqual(phase["workloads"][1]["total"]["operations"], 50)

    def test_a_rate_below_the_minimum_ends_the_run(self):
        done = self.fleet.run_job(
            f"{HEAD}  - run: {{duration: 600s, workloads: "
            "[{name: slow, engine: null, min_rate: {iops: 1000000, window: 2s}}]}\n",
            "--format",
            "json",
        )
        self.assertIn("min_rate of slow", self.ok(done, 3).json()["run"]["outcome"])
