"""Statements of the documents about null targets and SQL from elsewhere, held against the facts."""

import os

import psycopg2
from fleet import ROOT
from truth import TruthTest, situation

JOB = """name: scripted
interval: 100ms
targets: [{name: n, null: {latency: 1ms, stall_every: 1h, stall: 500ms}}]
phases:
  - name: mix
    run: {duration: 1s, workloads: [{engine: 'null', max_iops: 500}]}
"""


def document(name):
    """Its text, without its line breaks."""
    with open(os.path.join(ROOT, "docs", name), encoding="utf-8") as text:
        return " ".join(text.read().split())


class Documents(TruthTest):
    workers = 1

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        done = cls.fleet.run_job(JOB, "--format", "json")
        assert done.status == 0, str(done)
        cls.mix = done.json()["phases"][0]

    @situation("27", "a null target that stalls for 0.5 s, every hour")
    def test_stalls_of_a_null_target_begin_with_its_first_io(self):
        self.assertIn("with the first I/O a stall begins", document("reference/job.md"))
        still = self.rows(
            "SELECT end_seconds, operations FROM fleet_timeline WHERE run_id = last_run() "
            "AND class = 'measured' ORDER BY begin_seconds"
        )
        begun = next(row for row in still if row["operations"] != "0")
        self.says(f"nothing completed until {float(begun['end_seconds']) - 0.1:.1f} s")
        self.assertGreater(float(begun["end_seconds"]), 0.5)
        self.assertGreaterEqual(self.mix["total"]["latencyMaxNs"], 0.5e9)
        (outage,) = self.mix["outages"]
        self.assertEqual(outage.get("beginSeconds", 0), 0)

    @situation("27", "another client reads the store by the URL that is printed")
    def test_another_client_reads_the_report_s_figures(self):
        self.assertIn('psql "$(lockstep sql --url)"', document("reference/sql.md"))
        url = self.ok(self.fleet.lockstep("sql", "--url")).out.strip()
        with psycopg2.connect(url) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT phase_name, iops, p50_ms FROM phase_summary")
            ((name, iops, p50),) = cursor.fetchall()
        self.says(f"{name}: {iops:.1f} IOPS, p50 {p50:.3f} ms")
        self.assertEqual(name, "mix")
        self.assertAlmostEqual(iops, self.mix["total"]["iops"], places=6)
        median = next(p for p in self.mix["total"]["percentiles"] if p["percent"] == 50)
        self.assertAlmostEqual(p50, median["latencyNs"] / 1e6, places=6)
        with self.assertRaises(psycopg2.Error), psycopg2.connect(url) as connection:
            connection.cursor().execute("DELETE FROM lockstep.runs")
