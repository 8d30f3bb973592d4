"""Comparisons: what they say of figures, jobs, runs and hosts, through the real store."""

import math
import os
import re
import statistics
import xml.etree.ElementTree as ET

from fleet import BIN, needs_root, stop
from truth import TruthTest, situation


def job(labels, latency="1ms", depth=4, name="compared", hosts="[node1, node2]", more=""):
    """One workload that ends early beside one that does not: no rate of theirs is trivial."""
    return f"""name: {name}
labels: {{{labels}}}
hosts: {{names: {hosts}}}
targets: [{{name: n, null: {{latency: {latency}}}}}]
phases:
  - name: mix
    run:
      duration: 500ms
      workloads:
        - {{name: a, engine: 'null', queue_depth: {depth}, operations: 1600}}
        - {{name: b, engine: 'null', queue_depth: 2}}
{more}"""


def of_pairs(before, after):
    """The change by Hodges and Lehmann, of logarithms, as a share."""
    ratios = [math.log(y / x) for x in before for y in after]
    return math.expm1(statistics.median(ratios))


class Comparisons(TruthTest):
    workers = 2

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.reports = {"a": [], "slow": []}
        for _ in range(4):
            for name, latency in (("a", "1ms"), ("slow", "4ms")):
                done = cls.fleet.run_job(
                    job(f"set: {name}, twin: {name}", latency), "--format", "json"
                )
                assert done.status == 0, str(done)
                cls.reports[name].append(done.json())

    def compared(self, *words):
        done = self.fleet.lockstep("compare", *words, "--format", "json")
        return self.ok(done).json()

    def warnings(self, *words):
        """Returns the warnings of a comparison; its text has the same ones."""
        warnings = self.compared(*words)["warnings"]
        text = self.ok(self.fleet.lockstep("compare", *words)).out
        self.assertEqual(re.findall(r"^warning: (.*)$", text, re.M), warnings)
        return warnings

    def differences(self, *words):
        """The fields that the jobs of two sets are said to differ in."""
        said = [w for w in self.warnings(*words) if re.match("the jobs of .* differ: ", w)]
        self.assertLessEqual(len(said), 1, said)
        return set(said[0].split("differ: ")[1].split(", ")) if said else set()

    def known(self, report, workload, kind):
        """Figures of a run's own report, for one line of a comparison."""
        phase = report["phases"][0]
        operations = {("", "total"): phase["total"]} | {
            (w["name"], o["kind"]): o for w in phase["workloads"] for o in w["operations"]
        }
        operation = operations[workload, kind]
        known = {
            "iops": operation["iops"],
            "throughput": operation["bytesPerSecond"],
            "mean": operation["latencyAvgNs"],
        }
        for p in operation["percentiles"]:
            if p["percent"] in (50, 99, 99.9) and p["above"] >= 10:
                known[f"p{p['percent']:g}"] = p["latencyNs"]
        if not workload:
            known["jain"] = phase["fairness"][0]["jain"]
            spent = {
                re.sub("[A-Z]", lambda c: f"_{c[0].lower()}", n): v
                for n, v in phase["timeSpent"].items()
            }
            spent["cpu_per_io"] = spent.pop("cpu_ns_per_io")
            spent.pop("thread_switches_per_io")  # SQL and the report alone have it
            known |= spent
        return known

    @situation("2", "4 runs at 1 ms against 4 runs at 4 ms, one after the other")
    def test_each_figure_is_that_of_the_reports(self):
        found = self.compared("set=a", "set=slow")
        for sets, name in zip(found["sets"], ("a", "slow"), strict=True):
            self.assertEqual(sets["runs"], [r["run"]["runId"] for r in self.reports[name]])
        lines = set()
        for figure in found["figures"]:
            line = (figure["workload"], figure["kind"], figure["figure"])
            lines.add(line)
            sides = [
                [self.known(r, *line[:2])[line[2]] for r in self.reports[name]]
                for name in ("a", "slow")
                if all(line[2] in self.known(r, *line[:2]) for r in self.reports[name])
            ]
            values = [v for v in figure["values"] if v["runs"]]
            self.assertEqual(len(values), len(sides), line)
            for value, own in zip(values, sides, strict=True):
                self.assertEqual(value["runs"], 4)
                self.assert_near(value["median"], statistics.median(own), 1e-6, line)
                self.assertEqual((value["least"], value["most"]), (min(own), max(own)), line)
            if len(sides) == 2:
                change = values[1]["change"]
                self.assertAlmostEqual(change, of_pairs(*sides), places=6, msg=line)
                self.assertTrue(values[1]["changeLow"] <= change <= values[1]["changeHigh"], line)
                self.assertEqual(figure["judged"], "pValue" in values[1], line)
                sure = figure["judged"] and values[1]["pValue"] < 0.05
                none = ("CHANGE_NONE", "CHANGE_UNSPECIFIED")
                self.assertEqual(sure, values[1]["verdict"] not in none, line)
        for workload in ("", "a", "b"):
            kind = "read" if workload else "total"
            for name, value in self.known(self.reports["a"][0], workload, kind).items():
                # Shares of the time that are 0 in all runs are left out.
                if not name.startswith("p") and value != 0:
                    self.assertIn((workload, kind, name), lines)
        self.check_verdicts(found)
        self.check_limits(found)

    def check_limits(self, found):
        """Checks that the reports, the comparison and its text name the same limits."""
        own = [
            {w["limitedBy"] for r in self.reports[name] for w in r["phases"][0]["workloads"]}
            for name in ("a", "slow")
        ]
        self.assertEqual([len(limits) for limits in own], [1, 1], own)
        values = [limits.pop() for limits in own]
        self.assertEqual(found["limits"], [{"phase": "mix", "values": values}])
        text = self.ok(self.fleet.lockstep("compare", "set=a", "set=slow")).out
        row = re.split(r"  +", re.search(r"^mix +limited by .*$", text, re.M)[0])
        self.says(" | ".join(row))
        same = "the same" if values[0] == values[1] else "another"
        self.assertEqual(row[2:], [*values, "-", "-", same])

    def check_verdicts(self, found):
        whole = {f["figure"]: f["values"][1] for f in found["figures"] if not f["workload"]}
        for figure in ("iops", "throughput", "mean", "p50"):
            self.assertEqual(whole[figure]["verdict"], "CHANGE_WORSE", figure)
        for figure in found["figures"]:
            # Among 70 ways to choose 4 of 8, two separate them as well as they can be.
            if "pValue" in figure["values"][1]:
                self.assertGreaterEqual(figure["values"][1]["pValue"], 2 / 70 - 1e-9, figure)
        text = self.ok(self.fleet.lockstep("compare", "set=a", "set=slow")).out
        row = re.split(r"  +", re.search(r"^mix +iops .*$", text, re.M)[0])
        self.says(" | ".join(row))
        for cell, value in zip(row[2:4], found["figures"][0]["values"], strict=True):
            self.assert_near(cell.replace(",", ""), value["median"], 0.005, "the text")
        self.assertEqual(row[-1], "worse")
        self.assertIn(f"{100 * whole['iops']['change']:+.1f} %", row[4])
        gate = self.fleet.lockstep("gate", "set=slow", "--baseline", "set=a")
        self.assertEqual(gate.status, 4, str(gate))

    @situation("2", "jobs that differ in latency, depths, length, mix, hosts and seed")
    def test_the_fields_that_differ_are_named(self):
        self.assertEqual(
            self.differences("set=a", "set=slow"), {"targets.n.null.latency: 1 ms → 4 ms"}
        )
        other = job("set: other", depth=16, hosts="[node1]").replace(
            "queue_depth: 2}", "read: 70%}"
        )
        self.ok(self.fleet.run_job(f"seed: 7\n{other}", "--set", "phases.0.run.duration=600ms"))
        named = self.differences("set=a", "set=other")
        self.says(", ".join(sorted(named)))
        self.assertEqual(
            named,
            {
                "seed: - → 7",
                "hosts.names[1]: node2 → -",
                "phases.mix.run.duration: 500 ms → 600 ms",
                "phases.mix.run.workloads.a.queue_depth: 4 → 16",
                "phases.mix.run.workloads.b.queue_depth: 2 → 1",
                "phases.mix.run.workloads.b.read: 100% → 70%",
            },
        )
        # The same from the other side, and in what CI reads.
        back = {re.sub(r": (.*) → (.*)", r": \2 → \1", line) for line in named}
        self.assertEqual(self.differences("set=other", "set=a"), back)
        file = os.path.join(self.fleet.directory, "gate.xml")
        self.fleet.lockstep("gate", "set=other", "--baseline", "set=a", "--junit", file)
        junit = ET.parse(file).getroot().find("testsuite").find("system-err").text
        self.assertIn("workloads.a.queue_depth: 4 → 16", junit)

    @situation("2", "a set of runs of two jobs, the first of them the other set's")
    def test_a_mixed_set_is_named_with_its_fields(self):
        """The difference is in the second job: the first of both sets are equal."""
        for depth in (4, 8):
            self.ok(self.fleet.run_job(job("set: mixed", depth=depth)))
        warnings = self.warnings("set=a", "set=mixed")
        of_jobs = [w for w in warnings if "jobs" in w]
        self.says("; ".join(of_jobs))
        self.assertTrue(of_jobs)
        for warning in of_jobs:
            self.assertIn("phases.mix.run.workloads.a.queue_depth: 4 → 8", warning)

    @situation("2", "a job again under another name, with what are defaults spelled out")
    def test_of_equal_jobs_no_difference_is_claimed(self):
        """One run against four can tell nothing, so that this is no matter of chance."""
        same = self.fleet.lockstep("compare", "set=a", "twin=a")
        self.ok(same, 1)
        self.assertIn("is in two of the sets", same.err)
        spelled = job("set: spelled", name="other", more="description: the same, spelled out\n")
        spelled = spelled.replace("depth: 2}", "depth: 2, threads: 1, block_size: 4096, read: 1}")
        self.ok(self.fleet.run_job(spelled))
        warnings = self.warnings("set=a", "set=spelled")
        self.says("; ".join(warnings))
        self.assertEqual([w for w in warnings if "differ" in w or "has not" in w], [])
        few = self.compared("set=a", "set=spelled")
        verdicts = {f["values"][1]["verdict"] for f in few["figures"] if f["judged"]}
        self.assertEqual(verdicts, {"CHANGE_UNKNOWN"})

    @situation("2", "a set of one run that is done and one that was aborted")
    def test_a_run_that_is_left_out_is_named(self):
        self.ok(self.fleet.run_job(job("set: left")))
        kept = self.fleet.sql("SELECT last_run()")[0][0]
        self.ok(self.fleet.run_job(job("set: left", more="      abort_if: {p99: 1us}\n")), 3)
        aborted = self.fleet.sql("SELECT last_run()")[0][0]
        self.assertEqual(self.compared("set=a", "set=left")["sets"][1]["runs"], [kept])
        warnings = self.warnings("set=a", "set=left")
        self.says("; ".join(warnings))
        self.assertIn(f"run {aborted[:8]} of set=left is left out: it is aborted", warnings)
        # Nothing is said of the job of a run that is in no figure.
        self.assertEqual([w for w in warnings if "jobs" in w], [])

    @needs_root
    @situation("2", "a third host that runs another operating system, by its os-release")
    def test_a_host_s_fact_that_differs_is_named(self):
        release = os.path.join(self.fleet.directory, "os-release")
        with open(release, "w", encoding="ascii") as out:
            out.write('PRETTY_NAME="Truth 7"\n')
        state = os.path.join(self.fleet.directory, "worker-node3")
        process = self.fleet.spawn(
            "node3",
            # The mount is in a namespace of this worker, and goes with it.
            ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/os-release && exec "$@"']
            + [release, f"{BIN}/lockstep-worker", "--controller", self.fleet.address]
            + ["--state-dir", state, "--name", "node3"],
        )
        try:
            self.fleet.wait_attached(3)
            for host, name in (("node1", "one"), ("node3", "other_os")):
                self.ok(self.fleet.run_job(job(f"set: {name}", hosts=f"[{host}]")))
        finally:
            stop(process)
        warnings = [w for w in self.warnings("set=one", "set=other_os") if "too few" not in w]
        self.says("; ".join(warnings))
        here = self.rows("SELECT value FROM run_environment WHERE name = 'os' AND host = 'node1'")
        self.assertEqual(
            sorted(warnings),
            [
                f"os differs: {here[0]['value']} in set=one, Truth 7 in set=other_os",
                "the jobs of set=one and set=other_os differ: hosts.names[0]: node1 → node3",
            ],
        )
