"""The table of tests/truth: what was skipped is in it, with the reason."""

import os
import subprocess
import sys
import tempfile
import unittest

from fleet import ROOT

# Without what the rest of conftest.py does for real fleets.
PLUGIN = """
from conftest import pytest_runtest_makereport, pytest_terminal_summary

def pytest_runtest_setup(item):
    item.cpu_before = 0
"""

SITUATIONS = """
import unittest
from truth import TruthTest, situation

class Made(unittest.TestCase):
    @situation("3", "one that the machine can make")
    def test_made(self):
        TruthTest.says(self, "what was\\nsaid")

    @situation("4,5", "one that it cannot")
    def test_too_slow(self):
        TruthTest.says(self, "half of it")
        self.skipTest("the machine was too slow")

@unittest.skipUnless(False, "needs blkio")
class Never(unittest.TestCase):
    @situation("3,12", "one of a class")
    def test_of_a_class(self):
        TruthTest.says(self, "nothing")

class NoFleet(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise unittest.SkipTest("no block device")

    @situation("5", "one without a fleet")
    def test_without_a_fleet(self):
        TruthTest.says(self, "nothing")

class Broken(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise ValueError

    @situation("6", "one that broke")
    def test_broken(self):
        TruthTest.says(self, "nothing")
"""

TABLE = """
3,12   SKIPPED one of a class
       skipped: needs blkio
3      one that the machine can make
       said: what was said
4,5    SKIPPED one that it cannot
       skipped: the machine was too slow
       said: half of it
5      SKIPPED one without a fleet
       skipped: no block device
6      ERROR one that broke
       said: –
Skipped altogether: the statements 4, 5, 12
"""


class TruthTable(unittest.TestCase):
    def test_a_skipped_situation_is_in_the_table_with_its_reason(self):
        with tempfile.TemporaryDirectory() as directory:
            for name, text in (("table", PLUGIN), ("test_situations", SITUATIONS)):
                with open(f"{directory}/{name}.py", "w", encoding="utf-8") as out:
                    out.write(text)
            tests = os.path.join(ROOT, "tests")
            folders = [directory, tests, f"{tests}/integration", f"{tests}/truth"]
            options = ["-q", "-p", "table", "-p", "no:cacheprovider", "-p", "no:xdist"]
            done = subprocess.run(
                [sys.executable, "-m", "pytest", *options, "-c", os.devnull, directory],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
                capture_output=True,
                text=True,
                check=False,
            )
        self.assertIn(TABLE, done.stdout, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
