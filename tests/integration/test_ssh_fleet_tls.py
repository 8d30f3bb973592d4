"""lockstep fleet and lockstep run --ssh with a controller that lets in nobody without a
certificate: who makes the workers' keys, who signs them, and how long they count.
"""

import glob
import io
import os
import re
import shutil
import stat
import subprocess
import tarfile
import unittest

import pytest
from fleet import BIN, Fleet, needs_root, wait_for
from ssh_hosts import SSHD
from test_pki import Pki
from test_ssh_fleet import JOB, SshFleet, SshFleetTest, guide

# Stands before the worker's program, on hosts that have a request of their own to send.
OTHER_REQUEST = """#!/bin/sh
if [ "$1" = --request-certificate ] && [ -e /etc/request ]; then exec sh /etc/request "$2"; fi
exec "${0%/*}/real-worker" "$@"
"""


class TlsFleet(SshFleet):
    def __init__(self, config, archive, pki):
        super().__init__(config, archive, pki.flags("localhost"))
        self.pki = pki

    def environment(self):
        return {**super().environment(), "LOCKSTEP_TLS_DIR": self.pki.path("alma")}

    def up(self, *words):
        return super().up("--pki", self.pki.directory, *words)


def request(directory, *words):
    """A certificate request that OpenSSL makes."""
    key = ["-nodes", "-subj", "/CN=admin.role.lockstep", "-keyout", f"{directory}/other.key"]
    done = subprocess.run(
        ["openssl", "req", "-newkey", *words, *key], check=True, capture_output=True, text=True
    )
    return done.stdout


@needs_root
@unittest.skipUnless(SSHD, "needs sshd (tools/install-deps test)")
@pytest.mark.long
class SshFleetsWithTls(SshFleetTest):
    def setUp(self):
        super().setUp()
        self.pki = Pki()
        self.addCleanup(self.pki.close)
        self.pki.ok("init")
        self.pki.ok("issue", "controller", "localhost", "--address", "127.0.0.1")
        self.pki.ok("issue", "user", "alma", "--role", "admin")

    def controller(self):
        return TlsFleet(self.ssh.config, self.archive, self.pki)

    def keys(self, host):
        """The directories in which a host has a worker's key."""
        return glob.glob(f"{host.root}/tmp/lockstep-fleet.*/tls")

    def states(self):
        """{(name, state)} of the workers' certificates."""
        listed = re.findall(r"(?m)^(node\d) +worker +(\w+) ", self.pki.ok("list"))
        return sorted(listed)

    def test_up_a_job_and_down(self):
        fleet = self.make(2)
        up = fleet.up("--ssh", "node[1-2]")
        self.assertEqual(up.status, 0, up)
        self.assertEqual(self.states(), [("node1", "valid"), ("node2", "valid")])
        self.assertRegex(fleet.lockstep("fleet", "list").out, "certificate until 20")
        kept = f"{fleet.directory}/stolen"
        for host in self.hosts:
            (tls,) = self.keys(host)
            self.assertEqual(stat.S_IMODE(os.stat(tls).st_mode), 0o700)
            self.assertEqual(stat.S_IMODE(os.stat(f"{tls}/key.pem").st_mode), 0o600)
            self.assertEqual(sorted(os.listdir(tls)), ["ca.pem", "cert.pem", "key.pem"])
            shown = subprocess.run(
                ["openssl", "x509", "-in", f"{tls}/cert.pem", "-noout", "-subject", "-ext"]
                + ["subjectAltName"],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
            self.assertRegex(shown, rf"CN ?= ?{host.name}\n")
            self.assertIn("DNS:worker.role.lockstep", shown)
            # The key has not left its host.
            with open(f"{tls}/key.pem", encoding="ascii") as text:
                key = text.read()
            for directory in (self.pki.directory, f"{fleet.directory}/user"):
                found = subprocess.run(
                    ["grep", "-rlF", "-e", key.splitlines()[1], directory],
                    check=False,
                    capture_output=True,
                )
                self.assertEqual(found.stdout, b"")
        shutil.copytree(self.keys(self.hosts[0])[0], kept)
        status = fleet.lockstep("status", "--format", "json").json()
        self.assertEqual(len(status["workers"]), 2)
        report = fleet.run_job(JOB.format(hosts=2, seconds=2))
        self.assertEqual(report.status, 0, report)
        down = fleet.down()
        self.assertEqual(down.status, 0, down)
        self.assertIn("certificates revoked: node1 node2", down.err)
        self.assertEqual(self.states(), [("node1", "revoked"), ("node2", "revoked")])
        self.assertEqual(self.records(), [])
        self.assert_nothing_is_left()
        # A copy of what a host had is of no use any more.
        fleet.start_worker("node1", flags=["--tls-dir", kept])
        wait_for("its refusal", lambda: "was revoked" in fleet.log("node1"))
        # The host gets in again by the same name.
        self.assertEqual(fleet.up("--ssh", "node1", "--way", "port").status, 0)
        self.assertEqual(fleet.down().status, 0)
        self.assert_nothing_is_left()

    def test_run_revokes_at_its_end(self):
        fleet = self.make(2)
        words = ["run", *fleet.flags, "--pki", self.pki.directory, "--ssh", "node[1-2]", "-"]
        done = fleet.lockstep(*words, stdin=JOB.format(hosts=2, seconds=2))
        self.assertEqual(done.status, 0, done)
        self.assertIn("certificates revoked: node1 node2", done.err)
        self.assertEqual(self.states(), [("node1", "revoked"), ("node2", "revoked")])
        self.assert_nothing_is_left()

    def test_the_guide(self):
        fleet = self.make(2)
        self.make_targets()
        os.symlink(self.pki.directory, f"{fleet.directory}/lockstep-pki")
        with open(f"{fleet.directory}/lockstep.env", "w", encoding="ascii") as file:
            file.write("")
        job = re.search(r"(?s)cat > mixed.yaml.*?\nEOJ\n", guide()).group(0)
        done = self.follow(job + guide("TLS"))
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(done.stdout.count("DONE"), 2, done)
        self.assertEqual(done.stderr.count("certificates revoked: node1 node2"), 2, done)
        self.assert_nothing_is_left()

    def test_what_cannot_be_signed_is_said_before_any_host(self):
        fleet = self.make(1)
        without = SshFleet.up(fleet, "--ssh", "node1")
        self.assertEqual(without.status, 1, without)
        self.assertIn("--pki DIR names the directory", without.err)
        other = Pki()
        self.addCleanup(other.close)
        other.ok("init", "--name", "another")
        wrong = SshFleet.up(fleet, "--ssh", "node1", "--pki", other.directory)
        self.assertIn("its authority, another, is not in your --tls-ca", wrong.err)
        long = fleet.up("--ssh", "node1", "--valid-for", "36500d")
        self.assertIn("--valid-for: the certificates would outlive", long.err)
        os.rename(self.pki.path("ca.key"), f"{self.pki.base}/ca.key")
        away = fleet.up("--ssh", "node1")
        self.assertEqual(away.status, 1, away)
        self.assertIn("has no ca.key", away.err)
        self.assertEqual(self.states(), [])
        self.assertEqual(self.records(), [])
        self.assert_nothing_is_left()

    def replace_worker(self):
        """The archive, with OTHER_REQUEST before its program."""
        archive = f"{self.fleet.directory}/archive.tar.gz"
        with tarfile.open(self.archive) as old, tarfile.open(archive, "w:gz") as new:
            for member in old.getmembers():
                content = old.extractfile(member) if member.isreg() else None
                if member.name.endswith("/bin/lockstep-worker"):
                    first = tarfile.TarInfo(member.name)
                    first.mode, first.size = 0o755, len(OTHER_REQUEST)
                    new.addfile(first, io.BytesIO(OTHER_REQUEST.encode()))
                    member.name = member.name.replace("lockstep-worker", "real-worker")
                new.addfile(member, content)
        return archive

    def test_hosts_that_answer_something_else_are_refused(self):
        fleet = self.make(6)
        here = fleet.directory
        p256 = ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
        answers = {
            "node2": "echo hello",
            "node3": f"cat << EOR\n{request(here, *p256)}EOR",
            "node4": f"cat << EOR\n{request(here, 'rsa:1024')}EOR",
            "node5": "head -c 20000 /dev/zero | tr '\\0' x",
            "node6": "echo no entropy >&2; exit 1",
        }
        for host in self.hosts[1:]:
            host.write("etc/request", answers[host.name] + "\n")
        before = [host.find() for host in self.hosts]
        self.before = before
        up = fleet.up("--ssh", "node[1-6]", "--worker-archive", self.replace_worker())
        self.assertEqual(up.status, 7, up)
        said = dict(line.split(maxsplit=1) for line in up.err.splitlines() if "node" in line[:4])
        self.assertIn("up in", said["node1"])
        self.assertIn("no certificate request in PEM", said["node2"])
        self.assertIn("does not carry the challenge", said["node3"])
        self.assertIn("this kind of key is not accepted", said["node4"])
        self.assertIn("has more than 8192 bytes", said["node5"])
        self.assertIn("no entropy", said["node6"])
        self.assertEqual(self.states(), [("node1", "valid")])
        self.assertEqual(fleet.down().status, 0)
        self.assert_nothing_is_left()

    def test_a_host_that_is_away_is_revoked_too(self):
        fleet = self.make(1)
        self.assertEqual(fleet.up("--ssh", "node1", "--alone", "5").status, 0)
        self.hosts[0].stop()
        down = fleet.down("--now")
        self.assertEqual(down.status, 1, down)
        self.assertIn("certificates revoked: node1", down.err)
        self.assertEqual(self.states(), [("node1", "revoked")])
        self.assertEqual(len(self.records()), 1)
        self.hosts[0].start()
        down = fleet.down("--now")
        self.assertEqual(down.status, 0, down)
        self.assertNotIn("revoked", down.err)
        self.assertEqual(self.records(), [])

    def test_an_authority_that_is_away_keeps_the_record(self):
        fleet = self.make(1)
        self.assertEqual(fleet.up("--ssh", "node1").status, 0)
        moved = f"{self.pki.base}/moved"
        # The controller and alma go on with their files, which are in it.
        os.makedirs(moved)
        for name in ("ca.key", "ca.pem", "crl.pem", "issued"):
            shutil.move(self.pki.path(name), f"{moved}/{name}")
        os.chmod(moved, 0o700)
        down = fleet.down()
        self.assertEqual(down.status, 1, down)
        self.assertIn("certificates NOT REVOKED: node1", down.err)
        self.assertEqual(len(self.records()), 1)
        down = fleet.down("--pki", moved)
        self.assertEqual(down.status, 0, down)
        self.assertIn("certificates revoked: node1", down.err)
        self.assertEqual(self.records(), [])
        self.assert_nothing_is_left()


class ServerName(unittest.TestCase):
    """lockstep-worker --tls-server-name, without ssh."""

    def setUp(self):
        self.pki = Pki()
        self.addCleanup(self.pki.close)
        self.pki.ok("init")
        self.pki.ok("issue", "controller", "ctl.example")
        self.pki.ok("issue", "worker", "node1")
        self.fleet = Fleet(0, controller_flags=self.pki.flags("ctl.example"))
        self.fleet.__enter__()
        self.addCleanup(self.fleet.__exit__)

    def says(self, name, line, *words):
        process = self.fleet.start_worker(name, flags=[*self.pki.flags("node1"), *words])
        wait_for(line, lambda: line in self.fleet.log(name))
        process.terminate()
        process.wait(60)

    def test_the_certificate_must_have_it(self):
        # Dialled is 127.0.0.1, for which the controller has no certificate.
        self.says("node1", "its certificate is not for this name")
        self.says("node1-b", "it needs other among", "--tls-server-name", "other")
        self.says("node1-c", "attached to the controller", "--tls-server-name", "ctl.example")

    def test_it_needs_tls(self):
        done = subprocess.run(
            [f"{BIN}/lockstep-worker", "--tls-server-name", "ctl.example"]
            + ["--state-dir", f"{self.fleet.directory}/w"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.assertEqual(done.returncode, 1)
        self.assertIn("--tls-server-name needs", done.stderr)
