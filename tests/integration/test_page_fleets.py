"""Every view of the page in a real browser, with synthetic fleets of 8, 64 and 1,000 hosts."""

import unittest

from fleet import BIN, Fleet
from test_web import browse

JOB = """name: synthetic-fleet
hosts: {{count: {count}}}
labels: {{synthetic: "yes"}}
targets: [{{name: d, null: {{}}}}]
phases:
  - name: load
    run:
      ramp: 2s
      duration: {seconds}s
      workloads: [{{name: mix, block_size: 4KiB, read: 70%}}]
      expect: {{p99: 1s, iops: 1}}
"""


LIMIT = 900  # seconds, of what is waited for on a busy machine


class PageOfFleets(unittest.TestCase):
    def look(self, count):
        # A thousand in one process beside busy neighbours are silent for a while.
        with Fleet(0, http=True, controller_flags=["--lease", "120"]) as fleet:
            fleet.spawn(
                "synthetic",
                [f"{BIN}/lockstep-worker", "--controller", fleet.address, "--simulate", str(count)],
            )
            fleet.wait_attached(count, LIMIT)
            done = fleet.lockstep(
                "run", "-", stdin=JOB.format(count=count, seconds=3), timeout=LIMIT
            )
            self.assertEqual(done.status, 0, str(done))
            other = fleet.sql("SELECT last_run()")[0][0]
            running = fleet.start_lockstep("run", "-", stdin=JOB.format(count=count, seconds=3600))
            fleet.await_phase("load", seconds=LIMIT)
            run = fleet.sql("SELECT last_run()")[0][0]
            page = browse(fleet, "fleet_test.cjs", run, other, str(count), fleet.directory)
            try:
                said = page.stdout.readline()
                stopped = fleet.lockstep("stop", run, "--phase")
                said += page.communicate(timeout=LIMIT)[0]
            finally:
                page.kill()
                page.wait()
            self.assertEqual(said, "page: live\npage: ok\n", said)
            self.assertEqual(stopped.status, 0, str(stopped))
            running.communicate(timeout=LIMIT)

    def test_eight(self):
        self.look(8)

    def test_sixty_four(self):
        self.look(64)

    def test_a_thousand(self):
        self.look(1000)


if __name__ == "__main__":
    unittest.main()
