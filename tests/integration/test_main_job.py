"""Submit → barrier → I/O → PostgreSQL → report, on two workers."""

import json
import os

from fleet import FleetTest, files_job

# As many as the disk does: for percentiles of few I/Os, and for what a page cache is faster than.
FLAT_OUT = ", max_iops: 1M"


class MainJob(FleetTest):
    def test_report_has_every_part_and_agrees_with_the_store(self):
        job = files_job(self.fleet.data, workload=FLAT_OUT)
        done = self.ok(self.fleet.run_job(job, "--format", "json"))
        report = done.json()
        self.assertEqual([p["kind"] for p in report["phases"]], ["prepare", "run", "cleanup"])
        self.assertEqual({p["state"] for p in report["phases"]}, {"done"})
        mix = report["phases"][1]
        self.assertEqual([h["host"] for h in mix["hosts"]], ["node1", "node2"])
        self.assertEqual(len(mix["threads"]), 4)
        reads, writes = mix["workloads"][0]["operations"]
        self.assertEqual((reads["kind"], writes["kind"]), ("read", "write"))
        self.assertAlmostEqual(
            reads["operations"] / (reads["operations"] + writes["operations"]), 0.7, delta=0.05
        )
        self.assertEqual(reads["bytes"], reads["operations"] * 4096)
        # The last percentiles of few I/Os are not told.
        percentiles = [p["latencyNs"] for p in reads["percentiles"] if "latencyNs" in p]
        self.assertGreaterEqual(len(percentiles), 3)
        self.assertEqual(percentiles, sorted(percentiles))
        self.assertLessEqual(percentiles[-1], reads["latencyMaxNs"])
        self.assertAlmostEqual(mix["windowEndSeconds"] - mix["windowBeginSeconds"], 2.0, delta=0.01)
        self.assertGreater(mix["startSkewBoundNs"], 0)
        # The same figures by SQL, with the documented views and the reading role.
        rows = self.fleet.sql(
            "SELECT host, kind, operations FROM host_throughput WHERE run_id = last_run() "
            "ORDER BY 1, 2"
        )
        self.assertEqual(
            [row[:2] for row in rows],
            [["node1", "read"], ["node1", "write"], ["node2", "read"], ["node2", "write"]],
        )
        self.assertEqual(sum(int(row[2]) for row in rows), int(mix["total"]["operations"]))
        p99 = float(
            self.fleet.sql(
                "SELECT p99_ms FROM phase_latency WHERE run_id = last_run() AND kind = 'read'"
            )[0][0]
        )
        self.assertAlmostEqual(
            p99 * 1e6,
            next(p["latencyNs"] for p in reads["percentiles"] if p["percent"] == 99),
            delta=p99 * 1e6 * 0.01,
        )
        jain = float(
            self.fleet.sql("SELECT jain_iops FROM phase_fairness WHERE run_id = last_run()")[0][0]
        )
        self.assertAlmostEqual(jain, mix["fairness"][0]["jain"], places=3)

    def test_interval_histograms_add_up_to_the_phase(self):
        self.ok(self.fleet.run_job(files_job(self.fleet.data, duration="3s")))
        differing = self.fleet.sql("""
            WITH intervals AS (
              SELECT worker_index, workload, interval_class, kind, bucket, sum(count) AS count
              FROM interval_operations h, hist_buckets(hist_decode(h.service_time))
              WHERE h.run_id = last_run() GROUP BY 1, 2, 3, 4, 5),
            phases AS (
              SELECT worker_index, workload, interval_class, kind, bucket, count
              FROM phase_operations r, hist_buckets(r.service_time)
              WHERE r.run_id = last_run())
            SELECT count(*) FROM intervals
              FULL JOIN phases USING (worker_index, workload, interval_class, kind, bucket)
            WHERE intervals.count IS DISTINCT FROM phases.count""")
        self.assertEqual(differing, [["0"]])
        self.assertGreater(
            int(
                self.fleet.sql(
                    "SELECT count(*) FROM interval_operations WHERE run_id = last_run()"
                )[0][0]
            ),
            10,
        )

    def test_interval_k_is_the_same_second_on_every_host(self):
        self.ok(self.fleet.run_job(files_job(self.fleet.data, duration="3s")))
        rows = self.fleet.sql(
            "SELECT interval, count(DISTINCT coalesce(begin_ns, -1)), count(DISTINCT worker_index) "
            "FROM interval_operations "
            "WHERE run_id = last_run() AND interval_class = 2 GROUP BY 1 ORDER BY 1"
        )
        self.assertEqual(rows, [["0", "1", "2"], ["1", "1", "2"], ["2", "1", "2"]])

    def test_host_and_device_are_sampled_once_per_kernel(self):
        self.ok(self.fleet.run_job(files_job(self.fleet.data, duration="2s")))
        self.assertEqual(
            self.fleet.sql(
                "SELECT count(DISTINCT worker_index) FROM host_samples WHERE run_id = last_run()"
            ),
            [["1"]],
        )
        self.assertEqual(
            self.fleet.sql(
                "SELECT max(n) FROM (SELECT count(*) AS n FROM device_samples WHERE run_id = "
                "last_run() GROUP BY device, interval) x"
            ),
            [["1"]],
        )

    def test_ramp_is_recorded_and_excluded(self):
        job = files_job(self.fleet.data).replace("duration: 2s", "duration: 2s\n      ramp: 1s")
        report = self.ok(self.fleet.run_job(job, "--format", "json")).json()
        self.assertEqual(report["phases"][1]["windowBeginSeconds"], 1)
        (measured,) = self.fleet.sql(
            "SELECT sum(operations) FROM interval_operations WHERE run_id = last_run() AND "
            "interval_class = 2"
        )
        self.assertEqual(float(measured[0]), report["phases"][1]["total"]["operations"])
        (ramp,) = self.fleet.sql(
            "SELECT sum(operations) FROM interval_operations WHERE run_id = last_run() AND "
            "interval_class = 1"
        )
        self.assertGreater(float(ramp[0]), 0)

    def test_an_operations_limit_is_met_exactly_over_all_hosts(self):
        job = files_job(self.fleet.data, workload=", operations: 1001").replace(
            "      duration: 2s\n", ""
        )
        report = self.ok(self.fleet.run_job(job, "--format", "json")).json()
        self.assertEqual(report["phases"][1]["total"]["operations"], 1001)

    def test_io_size_limit_is_met_exactly_for_a_sequential_pass(self):
        job = (
            files_job(self.fleet.data, workload=", pattern: sequential, io_size: 16MiB")
            .replace("      duration: 2s\n", "")
            .replace("read: 70%", "read: 100%")
        )
        report = self.ok(self.fleet.run_job(job, "--format", "json")).json()
        self.assertEqual(report["phases"][1]["total"]["bytes"], 16 << 20)

    def test_workloads_side_by_side_have_their_own_figures(self):
        job = files_job(self.fleet.data).replace(
            "workloads:\n",
            "workloads:\n"
            "        - {name: log, pattern: sequential, read: 0%, block_size: 16KiB, "
            "max_iops: 500, hosts: {names: 'node[2-2]'}}\n",
        )
        report = self.ok(self.fleet.run_job(job, "--format", "json")).json()
        log, mixed = report["phases"][1]["workloads"]
        self.assertEqual([o["kind"] for o in log["operations"]], ["write"])
        self.assertEqual(log["total"]["bytes"], log["total"]["operations"] * 16384)
        self.assertEqual(
            {t["host"] for t in report["phases"][1]["threads"] if t["workload"] == "log"}, {"node2"}
        )
        self.assertGreater(mixed["total"]["operations"], 0)

    def test_a_worker_without_a_workload_takes_part_in_no_comparison(self):
        job = files_job(self.fleet.data, workload=", hosts: {names: node2}")
        phase = self.ok(self.fleet.run_job(job, "--format", "json")).json()["phases"][1]
        self.assertEqual(phase["fairness"][0]["count"], 1)
        self.assertAlmostEqual(phase["windowEndSeconds"], 2, delta=0.01)
        self.assertGreater(phase["firstDoneSeconds"], 1.9)
        # It is the first of its kernel, and samples the device all the same.
        self.assertEqual(len([d for d in phase["devices"] if not d["nested"]]), 1)

    def test_the_rate_of_a_short_pass_is_not_that_of_whole_seconds(self):
        job = files_job(self.fleet.data, hosts=1, workload=", operations: 2000").replace(
            "      duration: 2s\n", ""
        )
        phase = self.ok(self.fleet.run_job(job, "--format", "json")).json()["phases"][1]
        self.assertAlmostEqual(
            phase["total"]["iops"] * phase["lastDoneSeconds"] / 2000, 1, delta=0.15
        )

    def test_buffered_reads_are_told_apart_from_the_device(self):
        job = files_job(
            self.fleet.data, duration="1s", size="16MiB", workload=f", direct: false{FLAT_OUT}"
        ).replace("read: 70%", "read: 100%")
        # The first pass fills the page cache.
        report = self.ok(self.fleet.run_job(job, "--format", "json")).json()
        devices = [d for d in report["phases"][1]["devices"] if not d["nested"]]
        verdicts = {d["crossCheck"]["verdict"] for d in devices}
        self.assertIn("VERDICT_PAGE_CACHE", verdicts, json.dumps(devices, indent=1))

    def test_the_sync_engine_does_the_same_job(self):
        job = files_job(self.fleet.data, workload=", engine: sync").replace(
            "queue_depth: 4", "queue_depth: 1"
        )
        report = self.ok(self.fleet.run_job(job, "--format", "json")).json()
        self.assertIn("sync", report["phases"][1]["workloads"][0]["engine"])
        self.assertGreater(report["phases"][1]["total"]["operations"], 0)

    def test_prepared_files_are_kept_and_cleanup_leaves_nothing(self):
        keep = files_job(self.fleet.data, duration="1s", tail="")
        first = self.ok(self.fleet.run_job(keep, "--format", "json")).json()
        second = self.ok(self.fleet.run_job(keep, "--format", "json")).json()
        self.assertEqual(
            (
                first["phases"][0]["filesMade"],
                second["phases"][0]["filesMade"],
                second["phases"][0]["filesReused"],
            ),
            (2, 0, 2),
        )
        stranger = os.path.join(self.fleet.data, "node1", "not-ours")
        with open(stranger, "w", encoding="utf-8") as out:
            out.write("mine")
        self.ok(self.fleet.run_job(files_job(self.fleet.data, duration="1s")))
        self.assertEqual(os.listdir(os.path.join(self.fleet.data, "node1")), ["not-ours"])
        os.unlink(stranger)
        os.rmdir(os.path.dirname(stranger))
        self.assertEqual(os.listdir(self.fleet.data), [])

    def test_a_shared_file_is_sliced_between_the_hosts(self):
        job = files_job(self.fleet.data).replace(
            '{host}/file", size: 8MiB}', 'shared", size: 8MiB}\n    sharing: sliced'
        )
        report = self.ok(self.fleet.run_job(job, "--format", "json")).json()
        self.assertEqual(report["phases"][0]["filesMade"], 1)
        self.assertGreater(report["phases"][1]["hosts"][1]["iops"], 0)

    def test_rerun_repeats_the_job_and_history_shows_both(self):
        self.ok(
            self.fleet.run_job(
                files_job(self.fleet.data, duration="1s").replace(
                    "name: small", "name: repeated", 1
                )
            )
        )
        self.ok(self.fleet.lockstep("rerun", "last", "--set", "phases.1.run.duration=2s"))
        runs = self.ok(
            self.fleet.lockstep("history", "--job", "repeated", "--format", "json")
        ).json()["runs"]
        self.assertEqual([run["state"] for run in runs], ["done", "done"])
        self.assertGreater(runs[0]["iops"], 0)

    def test_two_jobs_at_once_run_one_after_the_other(self):
        first = self.fleet.start_lockstep("run", "-", stdin=files_job(self.fleet.data))
        self.fleet.await_phase("mix")
        second = self.ok(
            self.fleet.run_job(files_job(self.fleet.data, duration="1s"), "--format", "json")
        )
        self.assertEqual(first.wait(60), 0)
        first.communicate()
        overlapping = self.fleet.sql(
            "SELECT count(*) FROM runs a JOIN runs b ON a.submitted_at < b.submitted_at AND "
            "b.started_at < a.ended_at"
        )
        self.assertEqual(overlapping, [["0"]], second.err)
