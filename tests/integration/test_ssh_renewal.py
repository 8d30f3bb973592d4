"""The scripts of `lockstep fleet` that give a worker a new certificate, run by themselves."""

import glob
import os
import shutil
import stat
import subprocess
import tempfile
import unittest

from fleet import BIN
from fleet_scripts import SCRIPTS, TOKEN


class Renewal(unittest.TestCase):
    """request.sh and renew.sh, in a directory as start.sh has left it."""

    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="lsrenewal", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)
        os.makedirs(f"{self.home}/program/bin")
        os.symlink(f"{BIN}/lockstep-worker", f"{self.home}/program/bin/lockstep-worker")
        self.request("tls")
        for name in ("ca.pem", "cert.pem"):
            with open(f"{self.home}/tls/{name}", "w", encoding="ascii") as file:
                file.write(f"the first {name}\n")

    def script(self, name, *lines):
        return subprocess.run(
            ["sh", f"{SCRIPTS}/{name}"],
            input="".join(f"{line}\n" for line in (TOKEN, self.home, *lines)),
            capture_output=True,
            text=True,
            check=False,
        )

    def request(self, keys="tls.new"):
        done = self.script("request.sh", "5ec7e7", keys)
        self.assertEqual(done.returncode, 0, done)
        self.assertIn(f"{TOKEN} csr -----BEGIN CERTIFICATE REQUEST-----", done.stdout)
        self.assertIn(f"{TOKEN} requested", done.stdout)

    def renew(self):
        return self.script("renew.sh", 2, "the second", "cert.pem")

    def read(self, name, directory="tls"):
        with open(f"{self.home}/{directory}/{name}", encoding="ascii") as file:
            return file.read()

    def assert_renewed(self, key):
        self.assertEqual(self.read("cert.pem"), "the second\ncert.pem\n")
        self.assertEqual(self.read("key.pem"), key)
        self.assertEqual(self.read("ca.pem"), "the first ca.pem\n")
        self.assertEqual(sorted(os.listdir(f"{self.home}/tls")), ["ca.pem", "cert.pem", "key.pem"])
        for name, mode in (("tls", 0o700), ("tls/key.pem", 0o600), ("tls/cert.pem", 0o600)):
            self.assertEqual(stat.S_IMODE(os.stat(f"{self.home}/{name}").st_mode), mode, name)
        self.assertEqual(glob.glob(f"{self.home}/tls.*"), [])

    def test_the_key_changes_with_its_certificate(self):
        before = self.read("key.pem")
        self.request()
        self.assertEqual(
            (self.read("key.pem"), self.read("cert.pem")), (before, "the first cert.pem\n")
        )
        after = self.read("key.pem", "tls.new")
        self.assertNotEqual(after, before)
        self.assertIn(f"{TOKEN} renewed", self.renew().stdout)
        self.assert_renewed(after)

    def test_a_request_that_was_given_up_makes_way(self):
        self.request()
        given_up = self.read("key.pem", "tls.new")
        self.request()
        after = self.read("key.pem", "tls.new")
        self.assertNotEqual(after, given_up)
        self.assertIn(f"{TOKEN} renewed", self.renew().stdout)
        self.assert_renewed(after)

    def test_a_renewal_that_was_killed_between_its_steps(self):
        os.rename(f"{self.home}/tls", f"{self.home}/tls.old")
        self.request()
        after = self.read("key.pem", "tls.new")
        self.assertIn(f"{TOKEN} renewed", self.renew().stdout)
        self.assert_renewed(after)

    def test_without_a_request_nothing_changes(self):
        before = self.read("key.pem")
        done = self.renew()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(f"{TOKEN} failed", done.stdout)
        self.assertEqual(
            (self.read("key.pem"), self.read("cert.pem")), (before, "the first cert.pem\n")
        )


if __name__ == "__main__":
    unittest.main()
