"""Situations of a part of a phase: something is done after some seconds, and undone later."""

import json
import os
import unittest

from test_loads import GROUPS
from truth import TruthTest

READ_IOPS = "blkio.throttle.read_iops_device"
BEGIN, END, DURATION = 5, 12, 18  # of the part, and of the phase; seconds

needs_blkio = unittest.skipUnless(
    os.path.exists(f"{GROUPS}/blkio/{READ_IOPS}"), "needs blkio of cgroup v1"
)


class PartTest(TruthTest):
    def run_with_part(self, job, change, restore):
        """Runs a job, and calls these two at BEGIN and END of phase `mix`; the phase's report."""
        running = self.fleet.start_lockstep("run", "-", "--format", "json", stdin=job)
        for seconds, step in ((BEGIN, change), (END, restore)):
            self.fleet.await_seconds(seconds)
            step()
        out, err = running.communicate(timeout=300)
        self.assertEqual(running.returncode, 0, err)
        return self.phase(json.loads(out))

    def straggler_row(self, host):
        (row,) = self.rows(
            "SELECT cause, begin_seconds, end_seconds FROM phase_findings WHERE "
            "run_id = last_run() AND phase_name = 'mix' AND kind = 'straggler' AND "
            f"hosts = ARRAY['{host}']"
        )
        return row

    def straggler(self, mix, host):
        """The report's only stretch of a host, which the store has as well."""
        (found,) = [s for s in mix["stragglers"] if s["host"] == host]
        begin, end = found["beginSeconds"], found["endSeconds"]
        self.says(f"{begin:g}-{end:g} s: {found['cause']} ({found['reason']})")
        self.assertEqual(self.straggler_row(host)["cause"], found["cause"])
        return found

    def straggler_of_part(self, mix, host):
        """It began and ended with the part."""
        found, row = self.straggler(mix, host), self.straggler_row(host)
        begin, end = found["beginSeconds"], found["endSeconds"]
        self.assertLessEqual(abs(begin - BEGIN), 2)
        self.assertLessEqual(abs(end - END), 2)
        self.assertEqual((float(row["begin_seconds"]), float(row["end_seconds"])), (begin, end))
        return found
