"""The exit statuses of `run`, row by row of the table in docs/reference/operations.md."""

import os
import re

from fleet import ROOT, files_job
from test_loads import null_job
from truth import TruthTest, situation

TABLE = "The exit status of `run`, `watch`, `report` and `rerun` is:"


def table():
    """The documented statuses, in their order."""
    path = os.path.join(ROOT, "docs", "reference", "operations.md")
    with open(path, encoding="utf-8") as text:
        rows = text.read().split(TABLE)[1].strip().split("\n\n")[0]
    return [int(status) for status in re.findall(r"^\| (\d+) \|", rows, re.MULTILINE)]


class Statuses(TruthTest):
    workers = 2
    fleet_options = {"controller_flags": ["--lease", "4"]}

    def job(self, load=""):
        return null_job("latency: 1ms", "queue_depth: 1", duration="300ms" + load)

    def of_unreachable(self):
        done = self.fleet.lockstep("--controller", "127.0.0.1:1", "run", "-", stdin=self.job())
        return done.status

    def of_cancelled(self):
        running = self.fleet.start_lockstep("run", "-", stdin=self.job().replace("300ms", "600s"))
        self.fleet.await_phase("mix")
        self.ok(self.fleet.lockstep("stop"))
        running.communicate(timeout=300)
        return running.returncode

    def of_corrupted(self):
        """Expectations that fail, too: corruption comes before them."""
        job = files_job(self.fleet.data, hosts=1, duration="300ms", tail="", size="1MiB")
        job = job.replace("queue_depth: 4,", "queue_depth: 4, verify: true,")
        self.ok(self.fleet.run_job(job))
        with open(f"{self.fleet.data}/node1/file", "r+b") as file:
            file.seek(64 << 10)
            file.write(bytes(256 << 10))
        run = self.fleet.sql("SELECT last_run()")[0][0]
        again = job.split("phases:")[0] + (
            f"phases: [{{name: mix, verify: {{of_run: '{run}', block_size: 4KiB}}}}]\n"
        )
        return self.fleet.run_job(again).status

    def of_lost(self):
        job = files_job(
            self.fleet.data,
            duration="600s",
            extra="on_worker_loss: continue",
            workload=", max_iops: 1000",
        )
        return self.run_and_lose_node2(job, "--require-all-hosts")[0]

    @situation("21", "a situation for each row of the table")
    def test_each_row_of_the_table(self):
        slow = "\n      expect: {iops: 1000000}"
        abort = "\n      abort_if: {p99: 1ns}"
        seen = {
            0: self.fleet.run_job(self.job()).status,
            1: self.of_unreachable(),
            2: self.fleet.run_job("name: [").status,
            3: self.fleet.run_job(self.job(abort).replace("300ms", "10s")).status,
            4: self.fleet.run_job(self.job(slow)).status,
            6: self.of_corrupted(),
            130: self.of_cancelled(),
            7: self.of_lost(),
        }
        self.says(seen)
        self.assertEqual(sorted(seen), sorted(table()))
        self.assertEqual({status: status for status in seen}, seen)
        # An aborted run whose expectations fail, too, is an aborted one.
        both = self.job(abort + slow).replace("300ms", "10s")
        self.assertEqual(self.fleet.run_job(both).status, 3)
