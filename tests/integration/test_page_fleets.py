"""Every view of the page in a real browser, with synthetic fleets of 8, 64 and 1,000 hosts."""

import queue
import threading
import time
import unittest

import pytest
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


# Seconds without any news, after which it is given up. The slowest step of a busy machine takes
# less than a minute.
LIMIT = 1800


class Page:
    """A script in a browser that says which step it begins, and what came of it."""

    def __init__(self, fleet, script, *words):
        self.process = browse(fleet, script, *words, limit_ms=0)
        self.lines = queue.SimpleQueue()
        self.said = []
        self.step = "the start of the browser"
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put("")

    def wait(self, wanted, watched):
        """Until the script says `wanted`. Fails when it, or one of the processes, ends before."""
        heard = time.monotonic()
        while True:
            try:
                line = self.lines.get(timeout=1)
            except queue.Empty:
                ended = [p.args[0] for p in watched if p.poll() is not None]
                why = f"{ended[0]} has ended" if ended else f"nothing new for {LIMIT} s"
                if ended or time.monotonic() > heard + LIMIT:
                    raise AssertionError(f"{why} at: {self.step}\n{''.join(self.said)}") from None
                continue
            heard = time.monotonic()
            if line == wanted:
                return
            if not line:
                raise AssertionError(f"the browser ended at: {self.step}\n{''.join(self.said)}")
            if line.startswith("step "):
                self.step = line.strip()
            else:
                self.said.append(line)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stdin.close()


class PageOfFleets(unittest.TestCase):
    def look(self, count):
        # A thousand in one process beside busy neighbours are silent for a while.
        with Fleet(0, http=True, controller_flags=["--lease", "120"]) as fleet:
            synthetic = fleet.spawn(
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
            page = Page(fleet, "fleet_test.cjs", run, other, str(count), fleet.directory)
            try:
                page.wait("page: live\n", [fleet.controller, synthetic, running])
                stopped = fleet.lockstep("stop", run, "--phase", timeout=LIMIT)
                self.assertEqual(stopped.status, 0, str(stopped))
                running.communicate(timeout=LIMIT)
                page.wait("page: ok\n", [fleet.controller, synthetic])
            finally:
                page.close()
            self.assertEqual(page.said, [])

    def test_eight(self):
        self.look(8)

    def test_sixty_four(self):
        self.look(64)

    @pytest.mark.long
    def test_a_thousand(self):
        self.look(1000)
