"""A device that stands still by its script: what every output says of it."""

from fleet import FleetTest

JOB = """name: stall
targets:
  - {name: n, null: {size: 1GiB, latency: 1ms, stall_every: 5s, stall: 3s}}
phases:
  - name: mix
    run:
      duration: 9s
      workloads: [{name: w, targets: [n], engine: "null", queue_depth: 4}]
"""


class Outages(FleetTest):
    workers = 2

    def test_an_outage_of_all_hosts_is_the_first_that_is_said(self):
        report = self.ok(self.fleet.run_job(JOB, "--format", "json")).json()
        phase = report["phases"][0]
        # The script stalls from 0 to 3 s and from 5 to 8 s after the first I/O, which a busy host
        # submits a little after the start: each stall covers two whole intervals, or three.
        outages = phase["outages"]
        self.assertEqual([len(outage["hosts"]) for outage in outages], [2, 2])
        for outage, begin in zip(outages, (0, 5), strict=True):
            self.assertIn(outage["beginSeconds"], (begin, begin + 1))
            self.assertEqual(outage["endSeconds"], begin + 3)
        sentence = phase["outageSummary"]["sentence"]
        self.assertRegex(
            sentence, "NO I/O COMPLETED on 2 of 2 hosts for (3 s|2 s|2 s to 3 s) each, twice"
        )
        self.assertEqual(report["verdict"]["warnings"][0], sentence)
        rows = self.fleet.sql(
            "SELECT begin_seconds, end_seconds, cardinality(hosts) FROM phase_findings "
            "WHERE run_id = last_run() AND kind = 'outage' ORDER BY begin_seconds"
        )
        self.assertEqual(
            [[float(cell) for cell in row] for row in rows],
            [[outage["beginSeconds"], outage["endSeconds"], 2] for outage in outages],
        )
        for form in ("text", "markdown"):
            said = self.ok(self.fleet.lockstep("report", "last", "--format", form)).text
            self.assertIn("NO I/O COMPLETED on 2 of 2 hosts", said)
        # A closed loop that stood still says what its p99 hides.
        (omission,) = phase["omissions"]
        self.assertGreater(omission["correctedP99Ns"], 1e9)
        self.assertGreater(phase["hosts"][0]["stalledRatio"], 0.4)
