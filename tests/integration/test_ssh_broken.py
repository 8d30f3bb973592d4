"""run --ssh with eight hosts, four of which break: the case of tools/bench door, without its time
limit.
"""

import os
import shutil
import sys
import tempfile
import unittest

import pytest
from bare_root import package
from fleet import ROOT, needs_root
from ssh_hosts import SSHD

sys.path.insert(0, os.path.join(ROOT, "tests", "benchmarks"))
import door


@needs_root
@unittest.skipUnless(SSHD, "needs sshd (tools/install-deps test)")
@pytest.mark.long
class BrokenFleet(unittest.TestCase):
    def test_the_others_report_and_nothing_is_left(self):
        """One is not reached, one has no space, one's worker is killed, and one's link is cut."""
        work = tempfile.mkdtemp(prefix="lsbroken", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, work, ignore_errors=True)
        # The store's server is started as another user.
        os.chmod(work, 0o755)
        package(f"{work}/dist", "archive")
        left, told = door.run_broken_fleet(work, door.install(work))
        self.assertEqual(left, set())
        self.assertTrue(told, "see the output")


if __name__ == "__main__":
    unittest.main()
