"""Changes while a load runs: its level, a host for a while, a host that is lost."""

import contextlib
import json
import os
import time
import unittest

from fleet import files_job, needs_root
from test_loads import GROUPS, group, null_job, pulses, read, write
from truth import TruthTest, situation

READ_IOPS = "blkio.throttle.read_iops_device"


class Levels(TruthTest):
    workers = 1

    def after(self, job, seconds, change):
        """The report of a job of which so many seconds ran before the change."""
        running = self.fleet.start_lockstep("run", "-", "--format", "json", stdin=job)
        self.fleet.await_seconds(seconds)
        with change:
            out, err = running.communicate(timeout=300)
        self.assertIn(running.returncode, (0, 4), err)
        return json.loads(out)

    @situation("19", "a device stands still for 500 ms at each point of a sweep, and of a curve")
    def test_the_details_of_points_name_their_outages(self):
        load = "engine: 'null', queue_depth: 4, open_loop: {rate: 1000, arrival: fixed}"
        phases = "".join(
            f"  - {{name: {name}, run: {{duration: 1s, {points}, workloads: [{{{load}}}], "
            "expect: {p99: 1ns}}}\n"
            for name, points in (
                ("swept", "sweep: {axes: [{field: queue_depth, values: [4, 8]}]}"),
                ("bent", "curve: {share: [50%, 100%]}"),
            )
        )
        job = (
            "name: points\ninterval: 100ms\nhosts: {count: 1}\ntargets: [{name: n, null: "
            f"{{latency: 1ms, stall_every: 1h, stall: 500ms}}}}]\nphases:\n{phases}"
        )
        report = self.run_report(job, status=4)
        self.assertTrue(all(p["outageSummary"]["count"] == 1 for p in report["phases"]))
        detail = self.ok(self.fleet.lockstep("report", "--detail"), 4).text
        screen = report["verdict"]["warnings"]
        self.says(f"{len(screen)} warnings; in detail {detail.count('NO I/O COMPLETED')} outages")
        for phase in report["phases"]:
            self.assertIn(phase["outageSummary"]["sentence"], detail)
            self.assertIn(f"p99 <= 1 ns at {phase['name']} found", detail)
        self.assertIn("expect 0 of 2 met", detail)

    @situation("6", "steady for 8 s, then the worker stands still for three quarters of the time")
    def test_a_load_that_was_steady_and_collapsed(self):
        job = null_job(
            "latency: 1ms",
            "queue_depth: 4",
            duration="18s\n      until_steady: {round: 1s, window: 4, range: 60%, slope: 60%, "
            "only_tell: true}\n      expect: {steady: true}",
        )
        report = self.after(job, 8, pulses(self.fleet.workers["node1"].pid))
        mix = self.phase(report)
        steady = mix["steady"]
        self.says(f"{report['verdict']['word']}: {'; '.join(mix['remarks'][:2])}")
        self.assertFalse(steady["steady"])
        # The worker collapsed after eight stored seconds, and the phase lasted for 18.
        self.assertGreaterEqual(steady["changedAtSeconds"], 7)
        self.assertLess(steady["changedAtSeconds"], 17)
        self.assertTrue(any("STEADY ONLY UNTIL" in remark for remark in mix["remarks"]))
        self.assertFalse(report["expectationsMet"])
        detail = self.ok(self.fleet.lockstep("report", "--detail"), 4).text
        self.assertIn("not to the end", detail)
        self.assertIn(f"found only until {steady['changedAtSeconds']:g} s", detail)
        # If neighbours shake the IOPS before, too, only the latency tells, or the rounds alone.
        if not mix["levelChanges"]:
            return
        change = mix["levelChanges"][0]
        self.assertEqual(change["atSeconds"], steady["changedAtSeconds"])
        if change["figure"] == "IOPS":
            points = mix["iopsByInterval"]
            at = round(change["atSeconds"])
            self.assertLess(change["after"], 0.6 * change["before"])
            self.assert_near(change["before"], sum(points[:at]) / at, 0.05)
        else:
            self.assertGreater(change["after"], 1.5 * change["before"])
        (row,) = self.rows(
            "SELECT begin_seconds, sentence FROM phase_findings "
            "WHERE run_id = last_run() AND kind = 'change'"
        )
        self.assertEqual(float(row["begin_seconds"]), change["atSeconds"])
        self.assertIn(change["sentence"], row["sentence"])

    @situation("6", "another workload ends after 0.5 s; steady for 8 s, then a collapse")
    def test_a_collapse_after_the_end_of_another_workload_is_found(self):
        """The time in which all workloads run ends before the first whole interval does."""
        job = null_job(
            "latency: 1ms",
            "queue_depth: 4",
            duration="18s\n      until_steady: {round: 1s, window: 4, range: 60%, slope: 60%, "
            "only_tell: true}\n      expect: {steady: true}",
        ).replace(
            "{name: w,", "{name: a, engine: 'null', queue_depth: 4, operations: 2000}, {name: w,"
        )
        report = self.after(job, 8, pulses(self.fleet.workers["node1"].pid))
        mix = self.phase(report)
        steady = mix["steady"]
        self.says(f"{report['verdict']['word']}: {'; '.join(mix['remarks'][:2])}")
        short = next(w for w in mix["workloads"] if w["name"] == "a")
        self.assertEqual(short["total"]["operations"], 2000)
        self.assertLess(mix["windowEndSeconds"], 7)
        self.assertFalse(steady["steady"])
        self.assertGreaterEqual(steady["changedAtSeconds"], 7)
        self.assertLess(steady["changedAtSeconds"], 17)
        self.assertTrue(any("STEADY ONLY UNTIL" in remark for remark in mix["remarks"]))
        self.assertFalse(report["expectationsMet"])

    @situation("6", "steady for 5 s, then a device that stands still until the end, for 2 s")
    def test_a_load_that_stands_still_at_the_end_is_not_steady(self):
        """The first stall is in the ramp."""
        job = null_job(
            "latency: 1ms, stall_every: 8s, stall: 2s",
            "queue_depth: 4",
            duration="7s\n      ramp: 3s\n      until_steady: {round: 1s, window: 3, range: 60%, "
            "slope: 60%, only_tell: true}\n      expect: {steady: true}",
        )
        mix = self.phase(self.run_report(job, status=4))
        self.says(f"{mix['remarks'][0]}; {mix['outageSummary']['sentence']}")
        self.assertFalse(mix["steady"]["steady"])
        self.assertIn(mix["steady"]["changedAtSeconds"], (8, 9))
        self.assertIn("that completed in this time", mix["outageSummary"]["sentence"])

    @unittest.skipUnless(os.path.exists(f"{GROUPS}/cpu/cpu.cfs_quota_us"), "needs cpu of cgroup v1")
    @needs_root
    @situation("8,10", "a quota of 1 % of a processor for 1 of 6 s, in a group without one")
    def test_a_quota_of_a_moment_is_not_the_limit(self):
        job = null_job("latency: 1ms", "queue_depth: 1", duration="6s")
        limits = {"cpu.cfs_period_us": 100000, "cpu.cfs_quota_us": -1}
        with group("cpu", limits, self.fleet.workers["node1"].pid) as path:

            @contextlib.contextmanager
            def moment():
                write(f"{path}/cpu.cfs_quota_us", 1000)
                time.sleep(1)
                write(f"{path}/cpu.cfs_quota_us", -1)
                yield

            report = self.after(job, 2, moment())
            words = read(f"{path}/cpu.stat").split()
        stat = dict(zip(words[::2], map(int, words[1::2]), strict=True))
        (host,) = self.phase(report)["hosts"]
        self.says(f"{stat['nr_throttled']} of 60 periods: {host['throttledRatio']:.2f}")
        self.assertLessEqual(host["throttledRatio"], stat["nr_throttled"] / 60 + 0.01)

    @situation("8", "8 fast I/Os for each slow one, by their flow: no rate is asked for")
    def test_a_workload_that_waits_for_its_flow_has_no_rate(self):
        job = null_job("latency: 20ms", "flow: 1").replace(
            "targets: [", "targets: [{name: fast, null: {latency: 100us}}, "
        )
        job = job.replace("{name: w,", "{name: w, targets: [n],").replace(
            "flow: 1}", "flow: 1}, {name: b, engine: 'null', targets: [fast], flow: 8}"
        )
        mix = self.phase(self.run_report(job))
        slow, fast = mix["workloads"]
        self.says(f"{fast['limitedBy']} ({fast['limitedBecause']})")
        self.assert_near(fast["total"]["operations"], 8 * int(slow["total"]["operations"]), 0.2)
        self.assertEqual(fast["limitedBy"], "flow")

    @situation("16", "a device of at most 1,000 IOPS under 100, 200, 300 and 5,000 IOPS")
    def test_the_knee_of_a_rate_is_the_last_that_is_served(self):
        job = null_job("latency: 1ms", "queue_depth: 1, open_loop: {rate: 100, arrival: fixed}")
        job = job.replace(
            "duration: 2s",
            "duration: 2s\n      sweep: {axes: [{field: open_loop.rate, "
            "values: [100, 200, 300, 5000]}]}",
        )
        report = self.run_report(job)
        (sweep,) = report["sweeps"]
        served = []
        for phase in report["phases"]:
            (workload,) = phase["workloads"]
            served.append(workload["total"]["iops"] >= 0.97 * workload["duePerSecond"])
        self.assertFalse(served[-1])
        last = served.index(False) - 1
        self.says([knee["reason"] for knee in sweep["knees"]] or sweep["withoutKnee"])
        if last < 0:
            self.assertIn("not even", sweep["withoutKnee"][0])
            self.skipTest("the machine served no rate")
        (knee,) = sweep["knees"]
        self.assertEqual(knee["value"], ["100", "200", "300"][last])
        self.assertEqual(knee["p99Ns"], sweep["points"][last]["p99Ns"])
        self.assertIn("is the last rate that is served", self.report())

    @situation("16", "limits of 100 to 8,192 IOPS, in bytes, where one I/O of 1 ms is in flight")
    def test_the_knee_of_a_limit_in_bytes_is_the_last_that_is_served(self):
        """The axis spans a factor of 80, and the IOPS bend at 8 MiB/s, of which half is served."""
        values = ["400KiB", "800KiB", "1600KiB", "8MiB", "32MiB"]
        limits = [400 << 10, 800 << 10, 1600 << 10, 8 << 20, 32 << 20]
        checked = 0
        for field in ("max_throughput", "read_limit.throughput"):
            job = null_job("latency: 1ms", "queue_depth: 1", duration="1s").replace(
                "duration: 1s",
                f"duration: 1s\n      sweep: {{axes: [{{field: {field}, "
                f"values: [{', '.join(values)}]}}]}}",
            )
            report = self.run_report(job)
            (sweep,) = report["sweeps"]
            served = [
                phase["total"]["bytesPerSecond"] >= 0.97 * limit
                for phase, limit in zip(report["phases"], limits, strict=True)
            ]
            self.says([knee["reason"] for knee in sweep["knees"]] or sweep["withoutKnee"])
            self.assertEqual(served[3:], [False, False])
            last = served.index(False) - 1
            if last < 0:
                self.assertIn("not even", sweep["withoutKnee"][0])
                continue
            (knee,) = sweep["knees"]
            self.assertEqual(knee["value"], values[last])
            self.assertIn("is the last rate that is served", knee["reason"])
            self.assertTrue(knee["isLastServedRate"])
            checked += 1
        if checked == 0:
            self.skipTest("the machine served no limit")

    @situation("16", "25, 40, 50, 100 and 150 % of 1,100/s, where at most 1,000/s complete")
    def test_the_knee_of_a_curve_is_served(self):
        """Beside the latency of 150 % that of 100 % looks flat, though a tenth is not served."""
        job = null_job(
            "latency: 1ms", "queue_depth: 1, open_loop: {rate: 1100, arrival: fixed}"
        ).replace("duration: 2s", "duration: 2s\n      curve: {share: [25%, 40%, 50%, 100%, 150%]}")
        report = self.run_report(job)
        (curve,) = report["curves"]
        served = [p["achieved"] >= 0.97 * p["offered"] for p in curve["points"]]
        self.says(curve["knee"]["reason"] if "knee" in curve else curve["withoutKnee"])
        self.assertEqual(served[3:], [False, False])
        last = served.index(False) - 1
        if last == 2:  # unless the machine stood still: four steps up to the first not served
            self.assertIn("knee", curve, curve.get("withoutKnee"))
        if "knee" not in curve:
            self.skipTest(f"the machine served {last + 1} of 5 rates")
        self.assertIn(curve["knee"]["value"], ["25 %", "40 %", "50 %"][: last + 1])
        self.assertIn("% is served", curve["knee"]["reason"])
        self.assertIn("% is served", self.report())

    @situation("16,17", "three depths, each three times: too few for a knee and for an interval")
    def test_three_values_of_three_runs_tell_little(self):
        job = null_job("latency: 1ms", "queue_depth: 1", duration="200ms")
        axes = "sweep: {axes: [{field: queue_depth, values: [1, 2, 4]}], repeat: %d}"
        report = self.run_report(
            job.replace("duration: 200ms", "duration: 200ms\n      " + axes % 3)
        )
        (sweep,) = report["sweeps"]
        self.says(sweep["withoutKnee"])
        self.assertEqual(sweep["knees"], [])
        self.assertIn("3 values are too few", sweep["withoutKnee"][0])
        self.assertIn(sweep["withoutKnee"][0], self.report())
        for point in sweep["points"]:
            self.assertEqual(point["runs"], 3)
            self.assertEqual({"iopsLow", "iopsHigh"} & set(point), set())

    @situation("7", "two equal jobs, in turn")
    def test_interleaved_runs_end_in_a_comparison(self):
        job = null_job("latency: 1ms", "queue_depth: 1", duration="300ms")
        for name in ("a", "b"):
            with open(f"{self.fleet.data}/{name}.yaml", "w", encoding="utf-8") as out:
                out.write(job.replace("name: loads", f"name: {name}"))
        paths = [f"{self.fleet.data}/{name}.yaml" for name in ("a", "b")]
        done = self.ok(
            self.fleet.lockstep("run", "--ab", *paths, "--repeat", "4", "--format", "json")
        )
        comparison = done.json()
        self.assertEqual([s["name"] for s in comparison["sets"]], paths)
        rows = self.rows("SELECT job FROM run_overview ORDER BY submitted_at DESC LIMIT 8")
        order = "".join(row["job"] for row in reversed(rows))
        self.says(f"{order}; drift: {comparison['drifting']}, warnings: {comparison['warnings']}")
        self.assertEqual(order, "abbaabba")
        self.assertEqual([len(s["runs"]) for s in comparison["sets"]], [4, 4])
        self.assertFalse(any(v["mayBeDrift"] for f in comparison["figures"] for v in f["values"]))
        self.assertEqual(comparison["canTell"], [True])


class Stretches(TruthTest):
    workers = 3

    @situation("11", "three hosts with one rate each, of which one stands still again and again")
    def test_a_host_that_keeps_its_rate_is_judged_by_latency(self):
        job = null_job(
            "latency: 1ms", "queue_depth: 4, open_loop: {rate: 600, arrival: fixed}", "4s", 3
        )
        with pulses(self.fleet.workers["node3"].pid):
            mix = self.phase(self.run_report(job))
        hosts = {host["host"]: host for host in mix["hosts"]}
        rates = [host["iops"] for host in hosts.values()]
        self.says(f"{[round(r) for r in rates]} IOPS: {mix['stragglers']}")
        if min(rates) < 0.9 * max(rates):
            self.skipTest("node3 did not keep its rate")
        (straggler,) = [s for s in mix["stragglers"] if s["host"] == "node3"]
        self.assertGreater(straggler["latencyRatio"], 1.5)
        self.assertGreater(straggler["share"], 0.85)
        self.assertIn("times as long as the others'", self.report())

    @needs_root
    @unittest.skipUnless(os.path.exists(f"{GROUPS}/blkio/{READ_IOPS}"), "needs blkio")
    @situation("10", "a limit of 40 reads/s is set on one of three hosts after 5 s")
    def test_the_cause_of_a_stretch(self):
        numbers = os.stat(self.fleet.data).st_dev
        path = os.path.realpath(f"/sys/dev/block/{os.major(numbers)}:{os.minor(numbers)}")
        if not os.path.isdir(path):
            self.skipTest("the test's files are on no block device")
        path = os.path.dirname(path) if os.path.exists(f"{path}/partition") else path
        # A rate that every host has beside busy neighbours, too: before the limit nobody is slow.
        job = f"""name: stretch
targets: [{{name: d, file: {{path: "{self.fleet.data}/{{host}}/f", size: 16MiB}}}}]
phases:
  - prepare:
  - name: mix
    run: {{duration: 14s, workloads: [{{name: w, queue_depth: 4, max_iops: 480}}]}}
"""
        running = self.fleet.start_lockstep("run", "-", "--format", "json", stdin=job)
        self.fleet.await_seconds(5)
        pid = self.fleet.workers["node3"].pid
        with group("blkio", {READ_IOPS: f"{read(f'{path}/dev')} 40"}, pid):
            out, err = running.communicate(timeout=300)
        self.assertEqual(running.returncode, 0, err)
        mix = self.phase(json.loads(out))
        (straggler,) = [s for s in mix["stragglers"] if s["host"] == "node3"]
        self.says(
            f"from {straggler['beginSeconds']} s: {straggler['cause']} ({straggler['reason']})"
        )
        self.assertGreaterEqual(straggler["beginSeconds"], 4)
        self.assertEqual(straggler["cause"], "I/O throttle")
        self.assertIn("the others'", straggler["reason"])


class Lost(TruthTest):
    workers = 2
    fleet_options = {"controller_flags": ["--lease", "4"]}

    @situation("3,24", "one of two hosts is killed in the middle of a phase")
    def test_a_lost_host_is_in_the_rows_and_in_no_figure(self):
        job = files_job(
            self.fleet.data,
            duration="600s",
            extra="on_worker_loss: continue",
            workload=", max_iops: 1000",
        )
        _, out, err = self.run_and_lose_node2(job, "--format", "json")
        self.assertIn("on node2: the connection is lost; waiting up to 4 s for it", err)
        report = json.loads(out)
        mix = self.phase(report)
        (sums,) = self.rows(
            "SELECT (SELECT sum(operations) FROM interval_latency WHERE run_id = last_run() "
            "AND phase_name = 'mix') AS rows, "
            "(SELECT sum(operations) FROM interval_latency WHERE run_id = last_run() "
            "AND phase_name = 'mix' AND NOT lost) AS kept, "
            "(SELECT sum(operations) FROM phase_latency_all WHERE run_id = last_run() "
            "AND phase_name = 'mix' AND is_io AND is_reported) AS figures, "
            "(SELECT sum(operations) FROM fleet_timeline WHERE run_id = last_run() "
            "AND phase_name = 'mix' AND class = 'measured') AS timeline, "
            "(SELECT count(*) FROM host_timeline WHERE run_id = last_run() "
            "AND phase_name = 'mix' AND lost AND host <> 'node2') AS others"
        )
        self.says(", ".join(f"{key}: {value}" for key, value in sums.items()))
        self.assertEqual(float(sums["figures"]), mix["total"]["operations"])
        self.assertEqual(sums["kept"], sums["figures"])
        self.assertEqual(sums["timeline"], sums["rows"])
        self.assertGreater(int(sums["rows"]), int(sums["kept"]))
        self.assertEqual(sums["others"], "0")
