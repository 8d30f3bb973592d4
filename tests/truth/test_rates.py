"""Rates: of workloads that end early, of sums and their parts, of moments, and of busy devices."""

import csv
import json
import re

from fleet import files_job
from truth import TruthTest, situation


def null_job(workloads, duration="4s", interval="1s", hosts=4, more=""):
    """A phase `mix` on a null target whose I/Os take 1 ms, so that depth bounds the rates."""
    return f"""name: rates
interval: {interval}
hosts: {{count: {hosts}}}
targets: [{{name: n, null: {{latency: 1ms, size: 8MiB}}}}]
phases:
  - name: mix
    run:
      duration: {duration}
      workloads:
{"".join(f"        - {{engine: 'null', {w}}}{chr(10)}" for w in workloads)}{more}"""


def number(text):
    return float(text.replace(",", ""))


class Rates(TruthTest):
    workers = 4

    def workloads(self, phase):
        return {w["name"]: w for w in phase["workloads"]}

    def done_in_window(self, begin, end, interval, which="true"):
        """I/Os of the intervals of phase 0 that lie in the window, counted from the samples. An
        interval in which the window ends is a workload's last one, with all of its completions.
        """
        counted = self.rows(
            "SELECT coalesce(sum(operations), 0) AS n FROM interval_latency WHERE run_id = "
            f"last_run() AND phase = 0 AND interval * {interval} > {begin} - 1e-6 AND "
            f"interval * {interval} < {end} - 1e-6 AND {which}"
        )
        return float(counted[0]["n"])

    def sysbench_reads(self):
        """Reads per second of each phase."""
        return [number(r) for r in re.findall(r"reads/s: +(\S+)", self.report("sysbench"))]

    @situation("1", "9,000 I/Os of 4 × depth 4 × 1 ms (at most 16,000/s) beside 200/s for 4 s")
    def test_a_workload_that_ends_early(self):
        """Divided by whole intervals it would be 9,000 IOPS, by the phase 2,250."""
        half = (
            "  - name: half\n    run:\n      duration: 1s\n      workloads:\n"
            "        - {name: o, engine: 'null', queue_depth: 64, open_loop: {measured: "
            "{phase: mix, share: 50%}, arrival: fixed}}\n"
        )
        job = null_job(
            ["name: a, queue_depth: 4, operations: 9000", "name: b, max_iops: 200"], more=half
        )
        report = self.run_report(job)
        mix = self.phase(report)
        a, b = (self.workloads(mix)[name]["total"]["iops"] for name in "ab")
        total = mix["total"]["iops"]
        self.says(f"a {a:,.0f} IOPS, b {b:,.1f}, all {total:,.0f}")
        self.assertLessEqual(a, 16100)
        own = [t for t in mix["threads"] if t["workload"] == "a"]
        self.assertEqual(sum(t["operations"] for t in own), 9000)
        of_threads = sum(t["operations"] / t["executionTimeSeconds"] for t in own)
        self.assert_near(a, of_threads, 0.1, "a against the time of its threads")
        self.assertTrue(100 < b < 202, b)  # a limit does not catch up after a stall of the machine
        self.assertGreaterEqual(total, a)
        self.assert_near(sum(h["iops"] for h in mix["hosts"]), total, 1e-6, "the sum of the hosts")
        # A share of the phase's rate is a share of the rate that the report gives.
        due = self.phase(report, "half")["workloads"][0]["duePerSecond"]
        self.assert_near(due, total / 2, 0.01, "half of what was measured")
        self.check_outputs(report, {"a": a, "b": b}, total)

    def check_outputs(self, report, rates, total):
        """Every output has the report's rates."""
        table = [
            [cell.strip() for cell in line.split("|")[1:]]
            for line in self.report("markdown").splitlines()
            if line.startswith("| mix ")
        ]
        shown = {row[1]: number(row[3]) for row in table}
        text = self.ok(self.fleet.lockstep("report", "last", "--detail")).out
        csv_rates = dict(re.findall(r",mix,(\w+),,read,\d+,\d+,\d+,([\d.]+),", self.report("csv")))
        fio = {j["jobname"]: j for j in json.loads(self.report("fio"))["jobs"]}
        hosts = {
            row["workload"]: float(row["iops"])
            for row in self.rows(
                "SELECT workload, sum(iops) AS iops FROM host_throughput WHERE run_id = "
                "last_run() AND phase = 0 GROUP BY 1"
            )
        }
        for name, iops in rates.items():
            self.assert_near(shown[name], iops, 0.005, f"{name} in Markdown")
            line = re.search(rf"^  {name}: .*?^ +read +(\S+)", text, re.S | re.M)[1]
            self.assert_near(number(line), iops, 0.005, f"{name} in the text")
            self.assert_near(csv_rates[name], iops, 1e-5, f"{name} in CSV")
            self.assert_near(hosts[name], iops, 1e-6, f"{name} in SQL")
            read = fio[f"mix {name}"]["read"]
            self.assert_near(read["iops"], iops, 1e-6, f"{name} in fio's form")
            # Counts are of all hosts to their own ends, the runtime is the common window.
            by_time = read["total_ios"] / (read["runtime"] / 1e3)
            self.assert_near(by_time, iops, 0.4, f"{name}'s I/Os over its runtime in fio's form")
        self.assert_near(shown["all"], total, 0.005, "all in Markdown")
        summary = self.rows(
            "SELECT iops FROM phase_summary WHERE run_id = last_run() AND phase = 0"
        )
        self.assert_near(summary[0]["iops"], total, 1e-6, "phase_summary")
        listed = self.ok(self.fleet.lockstep("history", "-n", "1", "--format", "json")).json()
        self.assert_near(listed["runs"][0]["iops"], total, 1e-6, "history")
        self.assertEqual(report["run"]["iops"], total)

    @situation("1", "three workloads that end by I/Os, bytes and passes, on other hosts each")
    def test_a_sum_is_its_parts_over_one_window(self):
        """Own sums of the intervals' counts stand against every rate, window by window."""
        job = null_job(
            [
                # The depths bound them: at least 1.2 s, 0.9 s and 1.02 s.
                "name: a, queue_depth: 4, operations: 4800, hosts: {names: [node1]}",
                "name: b, queue_depth: 2, io_size: 14745600, hosts: {names: ['node[1-2]']}",
                "name: c, queue_depth: 2, passes: 1, hosts: {names: ['node[3-4]']}",
                "name: d, open_loop: {rate: 300, arrival: fixed}, queue_depth: 16",
            ],
            duration="2s",
            interval="200ms",
        )
        mix = self.phase(self.run_report(job))
        found = self.workloads(mix)
        self.says({name: round(w["total"]["iops"]) for name, w in found.items()})
        self.says(f"all {mix['total']['iops']:,.0f} over 0–{mix['windowEndSeconds']:.2f} s")
        begin, end = mix["windowBeginSeconds"], mix["windowEndSeconds"]
        counted = self.done_in_window(begin, end, 0.2)
        self.assert_near(mix["total"]["iops"], counted / mix["windowSeconds"], 1e-6, "all")
        for name, workload in found.items():
            iops, seconds = workload["total"]["iops"], workload["windowSeconds"]
            own = (workload["windowBeginSeconds"], workload["windowEndSeconds"], 0.2)
            # Nobody's window is shorter than the one in which all ran.
            self.assertGreaterEqual(own[1], end, name)
            self.assertAlmostEqual(seconds, own[1] - own[0], places=6)
            counted = self.done_in_window(*own, f"workload = '{name}'")
            self.assert_near(iops, counted / seconds, 1e-6, name)
            part = self.done_in_window(begin, end, 0.2, f"workload = '{name}'")
            self.assertLessEqual(part / mix["windowSeconds"], mix["total"]["iops"] + 1e-6, name)
        for host in mix["hosts"]:
            counted = self.done_in_window(begin, end, 0.2, f"host = '{host['host']}'")
            self.assert_near(host["iops"], counted / mix["windowSeconds"], 1e-6, host["host"])

    @situation("1", "a load that grows from 1,000/s to 4,000/s beside one that ends after 0.6 s")
    def test_sysbench_s_form_has_the_report_s_rate(self):
        """The sum of rates over different times is the rate of no time."""
        job = null_job(
            [
                "name: a, queue_depth: 4, operations: 9000",
                "name: b, queue_depth: 64, "
                "open_loop: {rate: 1000, arrival: fixed, ramp_to: 400%}",
            ],
            duration="3s",
            interval="100ms",
        )
        mix = self.phase(self.run_report(job))
        total = mix["total"]["iops"]
        counted = self.done_in_window(mix["windowBeginSeconds"], mix["windowEndSeconds"], 0.1)
        self.assert_near(total, counted / mix["windowSeconds"], 1e-6, "the report")
        self.assert_near(self.workloads(mix)["b"]["total"]["iops"], 2500, 0.1, "b")
        reads = self.sysbench_reads()[0]
        self.says(f"report {total:,.0f} IOPS, sysbench's form {reads:,.0f} reads/s")
        self.assert_near(reads, total, 0.005, "sysbench's form")

    @situation("1", "200 I/Os of 4 × depth 4 × 1 ms, which end in a ramp of 2 s")
    def test_a_load_that_ended_in_its_ramp_has_no_rate(self):
        """0 IOPS would be a load that stood still while it was measured."""
        early = "name: a, queue_depth: 4, operations: 200"
        ramp = "      ramp: 2s\n"
        report = self.run_report(null_job([early], more=ramp), status=3)
        mix = self.phase(report)
        parts = [mix["total"], *(p["total"] for p in (*mix["workloads"], *mix["hosts"]))]
        for part in (*parts, *mix["hosts"], *mix["threads"]):
            self.assertNotIn("iops", part)
        self.assertTrue(all("waitRatio" not in thread for thread in mix["threads"]))
        self.assertTrue(all("jain" not in f for f in mix["fairness"]), mix["fairness"])
        known = "SELECT count(iops) AS known FROM phase_figures WHERE run_id = last_run()"
        self.assertEqual(self.rows(known)[0]["known"], "0")
        self.assertRegex(self.report_of_nothing("text"), r"mix +all +– +– ")
        self.assertIn("| mix | all | total | – | – |", self.report_of_nothing("markdown"))
        self.assertIn("are not known", self.report_of_nothing("sysbench"))
        self.assertIn("are not known", self.report_of_nothing("fio"))
        self.assertRegex(self.report_of_nothing("vdbench"), r"avg_1-1 +n/a +n/a +n/a ")
        self.assertRegex(self.report_of_nothing("iometer"), r"ALL,All,mix,4,4,,,,,,")
        # Beside a load that goes on.
        beside = null_job([early, "name: b, queue_depth: 4"], more=ramp)
        mix = self.phase(self.run_report(beside))
        self.assertNotIn("iops", self.workloads(mix)["a"]["total"])
        self.assertGreater(self.workloads(mix)["b"]["total"]["iops"], 0)
        shares = {f["of"]: f["count"] for f in mix["fairness"]}
        self.assertEqual(shares["IOPS over threads"], 4, shares)
        self.assertNotIn("IOPS over workloads", shares)
        self.says("no rate in any output; alone and beside another load")

    def report_of_nothing(self, form):
        """The report of the last run, in which no I/O was measured."""
        return self.ok(self.fleet.lockstep("report", "last", "--format", form), 3).out

    @situation("1", "of 3 I/Os of 1 s one host does two, the other one; the ramp ends after 1.5 s")
    def test_a_part_that_ended_in_the_ramp_takes_no_rate(self):
        """Over the time until the load's end it would be 0.33 IOPS."""
        job = null_job(
            [
                "name: a, targets: [slow], operations: 3",
                "name: b, targets: [n], max_iops: 200",
            ],
            duration="3s",
            interval="500ms",
            hosts=2,
            more="      ramp: 1500ms\n",
        ).replace("targets: [{", "targets: [{name: slow, null: {latency: 1s}}, {")
        mix = self.phase(self.run_report(job))
        a, b = (self.workloads(mix)[name] for name in "ab")
        begin, end = a["windowBeginSeconds"], a["windowEndSeconds"]
        counted = self.done_in_window(begin, end, 0.5, "workload = 'a'")
        self.says(f"a {a['total']['iops']:.2f} IOPS from {begin:g} to {end:.2f} s: {counted:g} I/O")
        if counted != 1:
            self.skipTest("the machine stood still: both parts of a, or none, ended in the ramp")
        self.assertEqual(begin, 1.5)
        self.assertAlmostEqual(a["windowSeconds"], end - begin, places=6)
        self.assert_near(a["total"]["iops"], 1 / (end - begin), 1e-6, "a")
        # The second I/O of the one host ends it, long before the load.
        self.assertLess(end, b["windowEndSeconds"])
        self.assertGreater(a["total"]["iops"], 1)
        own = {
            host["host"]: [
                operation["iops"]
                for w in host["workloads"]
                if w["name"] == "a"
                for operation in w["operations"]
                if "iops" in operation
            ]
            for host in mix["hosts"]
        }
        self.assertEqual(sorted(len(rates) for rates in own.values()), [0, 1], own)
        self.assertFalse([r for r in mix["remarks"] if r.startswith("no time in which")])
        in_sql = self.rows(
            "SELECT sum(iops) AS iops FROM host_throughput WHERE run_id = last_run() AND "
            "phase = 0 AND workload = 'a'"
        )
        self.assert_near(in_sql[0]["iops"], a["total"]["iops"], 1e-6, "a in SQL")

    @situation("1", "4,000 fast reads at first, 200 slow writes/s later: never at the same time")
    def test_sysbench_s_form_has_the_rates_of_each_kind(self):
        """The shares of the workloads' own rates are not those of what was done."""
        job = null_job(
            [
                "name: a, queue_depth: 4, operations: 4000",
                "name: b, read: 0%, max_iops: 200, start_delay: 1500ms",
            ],
            duration="3s",
            interval="100ms",
        )
        mix = self.phase(self.run_report(job))
        form = self.report("sysbench")
        for kind in ("read", "write"):
            counted = sum(
                o["operations"]
                for w in mix["workloads"]
                for o in w["operations"]
                if o["kind"] == kind
            )
            (rate,) = re.findall(rf"{kind}s/s: +(\S+)", form)
            truth = counted / mix["windowSeconds"]
            self.says(f"{counted:,.0f} {kind}s: {rate}/s, {truth:,.1f}/s in truth")
            self.assert_near(number(rate), truth, 0.05, kind)

    @situation("1", "4,000 reads at first, 200 writes/s later; 4 hosts have a part of each")
    def test_iometer_s_rows_of_hosts_are_the_parts_of_all(self):
        """Each row of a host once had the sum of rates over different times."""
        job = null_job(
            [
                "name: a, queue_depth: 4, operations: 4000",
                "name: b, read: 0%, max_iops: 200, start_delay: 1500ms",
            ],
            duration="3s",
            interval="100ms",
        )
        mix = self.phase(self.run_report(job))
        form = self.report("iometer").splitlines()
        rows = list(csv.DictReader(line for line in form if not line.startswith("'Results")))
        (all_hosts,) = [row for row in rows if row["'Target Type"] == "ALL"]
        hosts = [row for row in rows if row["'Target Type"] == "MANAGER"]
        self.assertEqual(len(hosts), 4)
        for column in ("IOps", "Read IOps", "Write IOps", "MBps (Binary)"):
            parts = sum(float(row[column]) for row in hosts)
            self.says(f"{column} {float(all_hosts[column]):,.1f}, its hosts {parts:,.1f} in all")
            self.assertAlmostEqual(parts, float(all_hosts[column]), delta=1e-4, msg=column)
        self.assertAlmostEqual(float(all_hosts["IOps"]), mix["total"]["iops"], delta=1e-4)

    @situation("1", "a workload would begin after 300 s; another one ends the phase before")
    def test_a_workload_that_never_began_is_named(self):
        """It has no row, in which its absence could be seen."""
        job = null_job(
            ["name: a, operations: 400, ends_phase: true", "name: b, start_delay: 300s"],
            duration="600s",
        )
        mix = self.phase(self.run_report(job))
        (said,) = [remark for remark in mix["remarks"] if remark.startswith("b never began")]
        self.says(said)
        self.assertRegex(said, r"the load ended after [\d.]+ s, and its start_delay is 300 s$")
        self.assertEqual(self.workloads(mix)["b"]["total"]["operations"], 0)
        for form in ("text", "markdown"):
            text = " ".join(self.report(form).split())
            self.assertIn("b never began", text)

    @situation("1", "a limit of 16 IOPS over 4 hosts, kept for 2 s")
    def test_threads_are_no_faster_than_their_workload(self):
        """A part that ends with the load ran until then, also if its last I/O was before."""
        mix = self.phase(self.run_report(null_job(["name: w, max_iops: 16"], duration="2s")))
        iops = mix["workloads"][0]["total"]["iops"]
        threads = sum(t["iops"] for t in mix["threads"])
        self.says(f"workload {iops:.1f} IOPS, its 4 threads {threads:.1f} in all")
        self.assertLessEqual(iops, 16.1)
        self.assert_near(threads, iops, 0.05, "the sum of the threads")

    MOMENT = "name: o, queue_depth: 16, operations: 1001, open_loop: {rate: 1000, arrival: fixed}"

    @situation("4", "1,000/s for 1.001 s: two I/Os in the first ms of the second interval")
    def test_a_moment_of_an_interval_has_no_rate_of_its_own(self):
        """The I/O of rank 1,001 is due at 1.000 s; what is over 1,500/s then was never there."""
        mix = self.phase(self.run_report(null_job([self.MOMENT], duration="3s", hosts=1)))
        self.assert_near(mix["total"]["iops"] * mix["windowSeconds"], 1001, 1e-6, "the rate")
        found = {f"iopsByInterval {i}": v for i, v in enumerate(mix["iopsByInterval"])}
        for view in ("host_timeline", "fleet_timeline"):
            for row in self.rows(
                f"SELECT interval, iops FROM {view} WHERE run_id = last_run() AND iops > 0"
            ):
                found[f"{view} {row['interval']}"] = float(row["iops"])
        for row in self.rows("SELECT * FROM phase_series(last_run(), 0, 1) WHERE iops > 0"):
            found[f"phase_series {row['begin_seconds']}"] = float(row["iops"])
        fio = json.loads(self.report("fio"))["jobs"][0]["read"]
        found["fio iops_max"] = fio["iops_max"]
        wrong = {where: round(iops) for where, iops in found.items() if iops > 1500}
        self.says(wrong or f"at most {max(found.values()):,.0f}")
        self.assertEqual(wrong, {})

    @situation("1", "an open loop of 1,000/s that ends itself after 1 of 3 s")
    def test_what_was_due_is_over_the_time_it_was_due_in(self):
        """Over the planned time it would be a third, less than what was served."""
        mix = self.phase(self.run_report(null_job([self.MOMENT], duration="3s", hosts=1)))
        workload = mix["workloads"][0]
        text = self.ok(self.fleet.lockstep("report", "last", "--detail")).text
        said = re.search(r"(\S+) I/Os per second were due", text)[1]
        self.says(f"{said} I/Os per second were due, {workload['total']['iops']:,.0f} served")
        self.assertEqual(workload["unstarted"], 0)
        # A stall of the machine may make the end late, by far less than this.
        self.assert_near(workload["duePerSecond"], 1000, 0.3, "due")
        self.assert_near(number(said), workload["duePerSecond"], 0.005, "due in the text")

    @situation("4", "a disk that direct I/O of depth 16 keeps busy, in samples of 100 ms")
    def test_nothing_is_busy_for_more_than_its_time(self):
        """The kernel counts busy time in ticks of up to 10 ms: a tenth of these intervals."""
        job = files_job(
            self.fleet.data, duration="2s", extra="interval: 100ms", workload=", max_iops: 1M"
        )
        mix = self.phase(self.run_report(job))
        if not mix["devices"]:
            self.skipTest("the test's files are on no block device")
        over_time = [
            float(row["busy_ratio"])
            for row in self.rows(
                "SELECT busy_ratio FROM fleet_timeline WHERE run_id = last_run() AND "
                "phase_name = 'mix' AND busy_ratio IS NOT NULL"
            )
        ]
        self.says(f"over time at most {100 * max(over_time):.0f} %")
        self.says(f"{100 * mix['devices'][0]['busyRatio']:.0f} % in all")
        self.assertGreater(max(over_time), 0)
        self.assertEqual([busy for busy in over_time if not 0 <= busy <= 1], [])
        in_sql = {
            row["device"]: float(row["busy_ratio"])
            for row in self.rows(
                "SELECT device, busy_ratio FROM device_statistics WHERE run_id = last_run() "
                "AND phase_name = 'mix'"
            )
        }
        for device in mix["devices"]:
            self.assertTrue(0 < device["busyRatio"] <= 1, device["name"])
            self.assert_near(in_sql[device["name"]], device["busyRatio"], 1e-6, "SQL")
        for kernel in mix["kernels"]:
            shares = [kernel[f"{of}Ratio"] for of in ("user", "system", "iowait", "steal", "idle")]
            self.assertLessEqual(sum(shares), 1.0001, shares)
        for thread in mix["threads"]:
            for of in ("wait", "fsync", "rate", "think", "cpu"):
                self.assertTrue(0 <= thread[f"{of}Ratio"] <= 1, (of, thread))
        text = self.ok(self.fleet.lockstep("report", "last", "--detail")).text
        for busy in re.findall(r"busy (?:for )?(\d+) %", text):
            self.assertLessEqual(int(busy), 100)
