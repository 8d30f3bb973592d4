"""examples/ci/github.yml: the commands of its steps, as a runner starts them. The actions that it
uses are GitHub's, and are not run.
"""

import glob
import os
import re
import stat
import subprocess
import unittest
import xml.etree.ElementTree as ET

import yaml
from fleet import BIN, ROOT
from test_pki import PkiTest

WORKFLOW = f"{ROOT}/examples/ci/github.yml"
JOB = """name: nightly
targets: [{name: n, null: {latency: 1ms}}]
phases:
  - name: load
    run:
      duration: 1s
      workloads: [{engine: 'null', queue_depth: 4, read: 70%}]
      expect: {iops: IOPS}
"""
FIRST_PUSH = "0" * 40  # what github.event.before is then


class Workflow(PkiTest):
    def setUp(self):
        super().setUp()
        self.start()
        self.start_worker()
        self.checkout = f"{self.fleet.directory}/checkout"
        os.mkdir(self.checkout)
        with open(WORKFLOW, encoding="utf-8") as text:
            (self.job,) = yaml.safe_load(text)["jobs"].values()

    def write_job(self, iops):
        with open(f"{self.checkout}/nightly.yaml", "w", encoding="ascii") as file:
            file.write(JOB.replace("IOPS", str(iops)))

    def run_step(self, step, build, before):
        values = {
            "github.sha": build,
            "github.event.before": before,
            # Secrets are pasted into a form, which drops the last line break.
            "secrets.LOCKSTEP_CERT": self.pki.read("anna", "cert.pem").strip(),
            "secrets.LOCKSTEP_KEY": self.pki.read("anna", "key.pem").strip(),
            "secrets.LOCKSTEP_CA": self.pki.read("anna", "ca.pem").strip(),
        }
        environment = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSTEP_")}
        environment["PATH"] = f"{BIN}:{environment['PATH']}"
        for name, value in {**self.job["env"], **step.get("env", {})}.items():
            environment[name] = re.sub(
                r"\$\{\{ (\S+) \}\}", lambda found: values[found.group(1)], value
            )
        environment["LOCKSTEP_CONTROLLER"] = self.fleet.address
        script = f"{self.fleet.directory}/step.sh"
        with open(script, "w", encoding="utf-8") as file:
            file.write(step["run"])
        # A runner takes this shell where a step names none.
        return subprocess.run(
            ["bash", "-e", script],
            cwd=self.checkout,
            env=environment,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    def run_steps(self, build, before):
        """Returns what each step has done, by its name, to the end of the workflow."""
        done = {}
        failed = False
        for step in self.job["steps"]:
            if "run" in step and failed == (step.get("if") == "failure()"):
                done[step["name"]] = self.run_step(step, build, before)
                failed = failed or done[step["name"]].returncode != 0
        return done

    def step(self, name):
        (found,) = (step for step in self.job["steps"] if step.get("name") == name)
        return found

    def suites(self):
        """{file: (the cases' names, how many have failed)}"""
        found = {}
        for path in glob.glob(f"{self.checkout}/run-*.xml"):
            suite = ET.parse(path).getroot().find("testsuite")
            names = [case.get("name") for case in suite.iter("testcase")]
            found[os.path.basename(path)] = (names, int(suite.get("failures")))
        return found

    def test_the_first_build_is_measured_and_not_judged(self):
        self.write_job(iops=10)
        build = "a" * 40
        done = self.run_steps(build, FIRST_PUSH)
        self.assertEqual(list(done), ["Certificates", "Doctor", "Measure", "Gate"])
        for name, step in done.items():
            self.assertEqual(step.returncode, 0, f"{name}: {step}")
        key = os.stat(f"{self.checkout}/submitter.key")
        self.assertEqual(stat.S_IMODE(key.st_mode), 0o600)
        suites = self.suites()
        self.assertEqual(sorted(suites), [f"run-{i}.xml" for i in range(1, 5)])
        # Each run has its own annotations: the step finds the run in the file.
        told = re.findall(
            r"(?m)^::notice title=lockstep nightly::run ([0-9a-f]{8}): ", done["Measure"].stdout
        )
        self.assertEqual(
            [names[0] for _, (names, _) in sorted(suites.items())], [f"run {run}" for run in told]
        )
        runs = self.lockstep("anna", "history", "--format", "json").json()["runs"]
        self.assertEqual([run["labels"] for run in runs], [{"build": build}] * 4)
        self.assertIn("no run matches build=" + FIRST_PUSH, done["Gate"].stderr)
        self.assertIn("\n::warning::gate cannot tell", done["Gate"].stdout)
        self.assertTrue(os.path.exists(f"{self.checkout}/gate.xml"))
        # A build that nobody has measured is a mistake, and fails the pipeline.
        wrong = self.run_step(self.step("Gate"), "b" * 40, build)
        self.assertNotEqual(wrong.returncode, 0, wrong)
        self.assertIn("no run matches build=" + "b" * 40, wrong.stderr)

    def test_an_expectation_that_is_not_met_ends_it(self):
        self.write_job(iops=1000000000)
        done = self.run_steps("a" * 40, FIRST_PUSH)
        names = ["Certificates", "Doctor", "Measure", "Collect help after a failure"]
        self.assertEqual(list(done), names)
        self.assertEqual(done["Measure"].returncode, 4, done["Measure"])
        self.assertRegex(
            done["Measure"].stdout, r"(?m)^::error title=lockstep nightly load::.*; found "
        )
        ((file, (_, failures)),) = self.suites().items()
        self.assertEqual((file, failures), ("run-1.xml", 1))
        self.assertEqual(done[names[-1]].returncode, 0, done[names[-1]])
        self.assertTrue(os.path.exists(f"{self.checkout}/support.tar.gz"))


if __name__ == "__main__":
    unittest.main()
