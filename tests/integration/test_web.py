"""The page in a real browser: the list, a run live by server-sent events, and its report."""

import json
import os
import subprocess
import unittest
import urllib.error
import urllib.request

from fleet import ROOT, FleetTest, files_job


class WebPage(FleetTest):
    fleet_options = {"http": True}

    def get(self, path):
        with urllib.request.urlopen(self.fleet.url.rstrip("/") + path, timeout=20) as answer:
            return answer.read().decode()

    def test_json_is_that_of_the_command_line(self):
        self.ok(self.fleet.run_job(files_job(self.fleet.data, duration="1s")))
        by_command = self.ok(self.fleet.lockstep("report", "last", "--format", "json")).json()
        run = by_command["run"]["runId"]
        self.assertEqual(json.loads(self.get(f"/api/runs/{run}/report")), by_command)
        self.assertEqual(json.loads(self.get("/api/runs"))["runs"][0]["runId"], run)
        with self.assertRaises(urllib.error.HTTPError) as caught:
            self.get("/api/runs/ffff0000/report")
        self.assertEqual(caught.exception.code, 404)
        self.assertIn("no run's id begins", json.loads(caught.exception.read())["error"])
        caught.exception.close()

    def test_the_page_only_reads(self):
        for method in ("POST", "PUT", "DELETE"):
            request = urllib.request.Request(self.fleet.url + "api/runs", method=method, data=b"{}")
            with self.assertRaises(urllib.error.HTTPError) as caught:
                urllib.request.urlopen(request, timeout=20)
            caught.exception.close()

    def test_in_chromium(self):
        self.ok(self.fleet.run_job(files_job(self.fleet.data, duration="1s")))
        # It goes on until the page has been seen live.
        running = self.fleet.start_lockstep(
            "run", "-", stdin=files_job(self.fleet.data, duration="600s")
        )
        self.fleet.await_phase("mix")
        run = self.fleet.sql("SELECT last_run()")[0][0]
        other = self.fleet.sql("SELECT run_id FROM runs ORDER BY submitted_at LIMIT 1")[0][0]
        text = self.ok(self.fleet.lockstep("report", other, "--detail")).out
        with open(os.path.join(self.fleet.directory, "report.txt"), "w", encoding="utf-8") as out:
            out.write(text)
        base = subprocess.run(
            ["bazel", "info", "output_base"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()
        modules = os.path.join(base, "external", "web_modules", "node_modules")
        page = subprocess.Popen(
            [
                "node",
                os.path.join(ROOT, "tests", "web", "page_test.cjs"),
                self.fleet.url,
                run,
                other,
                self.fleet.directory,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "NODE_PATH": modules},
        )
        try:
            said = page.stdout.readline()
            self.ok(self.fleet.lockstep("stop", run, "--phase"))
            said += page.communicate(timeout=300)[0]
        finally:
            page.kill()
            page.wait()
        running.communicate(timeout=60)
        self.assertEqual(page.returncode, 0, said)
        self.assertEqual(said, "page: live\npage: ok\n")


if __name__ == "__main__":
    unittest.main()
