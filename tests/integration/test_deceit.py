"""Texts, addresses and links that deceive: they reach no terminal raw, and lead nowhere."""

import os
import shutil
import subprocess
import tempfile
import unittest

from attacker import ATTACKER
from fleet import BIN, FleetTest, needs_root


class Shown(FleetTest):
    workers = 1

    def test_foreign_texts_reach_no_terminal_or_spreadsheet_raw(self):
        job = (
            "name: '=cmd|calc'\nlabels: {a: '@x'}\ntargets: [{name: n, null: {}}]\nphases: "
            "[{name: '+sum', run: {duration: 1s, workloads: [{engine: 'null', name: '-w'}]}}]\n"
        )
        done = self.ok(self.fleet.run_job(job, "--format", "csv"))
        for line in done.out.splitlines():
            for cell in line.split(","):
                self.assertFalse(cell.startswith(("=", "@", "+sum", "-w")), line)
                self.assertNotIn("e+", cell)
        refused = self.fleet.run_job('name: "a\\e]0;owned\\a"\n' + job.split("\n", 1)[1])
        self.assertEqual(refused.status, 2)
        self.assertNotIn("\x1b", refused.out + refused.err)
        worker = subprocess.run(
            [
                f"{BIN}/lockstep-worker",
                "--controller",
                self.fleet.address,
                "--state-dir",
                os.path.join(self.fleet.directory, "odd"),
                "--name",
                "../../etc\nfake",
            ],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        self.assertNotEqual(worker.returncode, 0)
        self.assertIn("'../../etc\\x0afake' is not a valid host name", worker.stderr)


class Deceived(unittest.TestCase):
    """A lying controller cannot turn the command line against its user, nor can names that only
    look like loopback.
    """

    def test_sql_runs_nothing_that_the_controller_says(self):
        directory = tempfile.mkdtemp(prefix="lsliar")
        self.addCleanup(shutil.rmtree, directory)
        proof = os.path.join(directory, "proof")
        for answer in (
            f"--output=|id > {proof}",
            f"-o{proof}",
            f"host=/tmp options='-c x' --output=|id>{proof}",
            f"dbname=x\n\\! id > {proof}",
            "service=evil",
            "passfile=/etc/shadow host=127.0.0.1",
            "host=203.0.113.1 sslkey=/etc/shadow",
            "",
            "\0",
            "postgresql://x@y/z?sslrootcert=/etc/shadow",
        ):
            with self.subTest(answer):
                if "\0" in answer:
                    continue
                liar = subprocess.Popen(
                    [ATTACKER, "liar", "--answer", answer],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
                try:
                    address = liar.stdout.readline().split()[1]
                    done = subprocess.run(
                        [f"{BIN}/lockstep", "--controller", address, "sql", "-c", "SELECT 1"],
                        capture_output=True,
                        text=True,
                        timeout=60,
                        check=False,
                    )
                    self.assertNotEqual(done.returncode, 0)
                    self.assertIn("the controller's address of the store is not used", done.stderr)
                    self.assertFalse(os.path.exists(proof))
                finally:
                    liar.communicate("")

    def test_a_name_that_begins_like_loopback(self):
        for name in (
            "127.0.0.1.evil.example:9640",
            "localhost.evil.example:9640",
            "127.1.evil.example:9640",
        ):
            done = subprocess.run(
                [f"{BIN}/lockstep", "--controller", name, "status"],
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            self.assertEqual(done.returncode, 1)
            self.assertIn("is not on this machine; give --tls-cert", done.stderr)

    def test_a_command_that_does_not_exist(self):
        done = subprocess.run(
            [f"{BIN}/lockstep", "frobnicate"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("frobnicate", done.stderr)


@needs_root
class StateDirectory(unittest.TestCase):
    def test_links_in_it_lead_root_nowhere(self):
        directory = tempfile.mkdtemp(prefix="lslinks")
        self.addCleanup(shutil.rmtree, directory)
        precious = os.path.join(directory, "precious")
        os.mkdir(precious, 0o755)
        with open(os.path.join(precious, "key"), "w", encoding="ascii") as out:
            out.write("root's\n")
        os.chmod(os.path.join(precious, "key"), 0o600)
        for link in ("postgres", "postgres/data", "postgres/run", "postgres/log"):
            with self.subTest(link):
                state = os.path.join(directory, "state-" + link.replace("/", "-"))
                os.makedirs(os.path.dirname(os.path.join(state, link)))
                os.symlink(precious, os.path.join(state, link))
                done = subprocess.Popen(
                    [f"{BIN}/lockstep-controller", "--listen", "127.0.0.1:0", "--state-dir", state],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                )
                try:
                    done.wait(20)
                except subprocess.TimeoutExpired:
                    pass  # it did without that path
                finally:
                    done.terminate()
                    done.communicate(timeout=300)
                for path in (precious, os.path.join(precious, "key")):
                    self.assertEqual(os.stat(path).st_uid, 0, path)
                self.assertEqual(os.stat(precious).st_mode & 0o777, 0o755)
                self.assertEqual(os.stat(os.path.join(precious, "key")).st_mode & 0o777, 0o600)
                self.assertEqual(os.listdir(precious), ["key"])
