"""The script of `lockstep fleet` that runs a worker's doctor, run by itself."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

from fleet import BIN, wait_for
from fleet_scripts import SCRIPTS, TOKEN, is_over


class Doctor(unittest.TestCase):
    """doctor.sh, in a directory as install.sh has left it."""

    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="lsdoctor", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)
        os.makedirs(f"{self.home}/program/bin")
        self.program = f"{self.home}/program/bin/lockstep-worker"

    def be(self, script):
        with open(self.program, "w", encoding="ascii") as program:
            program.write(f"#!/bin/sh\n{script}\n")
        os.chmod(self.program, 0o755)

    def check(self, *flags, seconds=60, most=1 << 20):
        lines = (TOKEN, self.home, seconds, most, len(flags), *flags)
        done = subprocess.run(
            ["sh", f"{SCRIPTS}/doctor.sh"],
            input="".join(f"{line}\n" for line in lines),
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return done.stdout

    def test_what_the_workers_own_doctor_says(self):
        os.symlink(f"{BIN}/lockstep-worker", self.program)
        for name, is_problem in (("program", False), ("not there", True)):
            path = f"{self.home}/{name}"
            said = self.check("--state-dir", f"{self.home}/state", "--allow", path)
            (line,) = said.splitlines()
            token, key, report = line.split(" ", 2)
            self.assertEqual((token, key), (TOKEN, "report"))
            found = {each["check"]: each["severity"] for each in json.loads(report)["findings"]}
            self.assertIn(path, found)
            self.assertEqual(found[path] == "problem", is_problem, found)
        self.assertFalse(os.path.exists(f"{self.home}/state"))

    def test_the_flags_are_those_that_it_is_told(self):
        self.be("""printf '{\n  "a": "%s"\n}\n' "$3$4"; exit 2""")
        said = self.check("--allow", "/mnt/two words")
        self.assertEqual(said, f'{TOKEN} report {{  "a": "--allow/mnt/two words"}}\n')

    def test_one_that_hangs_is_ended(self):
        self.be(f'echo $$ > "{self.home}/pid"; exec sleep 1000')
        self.assertEqual(self.check(seconds=1), f"{TOKEN} unanswered it takes longer than 1 s\n")
        with open(f"{self.home}/pid", encoding="ascii") as text:
            pid = int(text.read())
        wait_for("its end", lambda: is_over(pid))

    def test_a_full_disk_is_named_at_once(self):
        self.be(f"""ln -s /dev/full "{self.home}/doctor.status"; echo '{{}}'""")
        self.assertEqual(self.check(), f"{TOKEN} unanswered cannot write to {self.home}\n")

    def test_one_that_fails_is_named_with_its_reason(self):
        self.be("echo The following argument was not expected >&2; exit 1")
        said = self.check()
        self.assertEqual(
            said,
            f"{TOKEN} unanswered it ended with status 1: The following argument was not expected\n",
        )
        self.be("echo '{}'; kill -SEGV $$")
        self.assertIn(f"{TOKEN} unanswered it ended with status 139", self.check())

    def test_a_report_that_is_too_long_is_not_sent(self):
        self.be("head -c 1001 /dev/zero | tr '\\0' x")
        self.assertEqual(
            self.check(most=1000), f"{TOKEN} unanswered its report has more than 1000 bytes\n"
        )


if __name__ == "__main__":
    unittest.main()
