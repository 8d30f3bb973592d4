"""Synthetic workers: a fleet in one process that speaks the real protocol and touches nothing."""

import os
import unittest

from fleet import BIN, Fleet, wait_for


class Rehearsal(unittest.TestCase):
    def test_a_job_on_two_hundred_synthetic_workers(self):
        with Fleet(0) as fleet:
            fleet.spawn(
                "synthetic",
                [f"{BIN}/lockstep-worker", "--controller", fleet.address, "--simulate", "200"],
            )
            wait_for(
                "the workers", lambda: "200 workers attached" in fleet.lockstep("status").out, 60
            )
            job = f"""name: rehearsal
hosts: {{count: 200}}
targets: [{{name: data, file: {{path: "{fleet.data}/{{host}}/file", size: 1GiB}}}}]
phases:
  - prepare:
  - {{name: mix, run: {{ramp: 1s, duration: 2s, workloads: [{{block_size: 4KiB, read: 70%}}]}}}}
  - cleanup:
"""
            done = fleet.run_job(job, "--format", "json")
            self.assertEqual(done.status, 0, str(done))
            self.assertEqual(os.listdir(fleet.data), [])  # nothing was written
            self.assertEqual(
                fleet.sql(
                    "SELECT count(*), min(n), max(n) FROM (SELECT count(DISTINCT interval) "
                    "AS n FROM interval_operations WHERE run_id = last_run() GROUP BY "
                    "worker_index) x"
                ),
                [["200", "3", "3"]],
            )
            # Histograms as devices give them.
            buckets = fleet.sql(
                "SELECT min(n), max(n) FROM (SELECT (SELECT count(*) FROM "
                "hist_buckets(service_time)) AS n FROM phase_operations WHERE "
                "run_id = last_run() AND interval_class = 2) x"
            )[0]
            self.assertGreater(int(buckets[0]), 200)
            self.assertTrue(
                any("SYNTHETIC" in remark for remark in done.json()["phases"][1]["remarks"])
            )
            self.assertTrue(any("synthetic" in key for key in done.json()["environment"]))
