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

    def test_a_run_goes_on_over_the_end_of_a_certificate(self):
        fleet = self.make(2)
        self.assertEqual(fleet.up("--ssh", "node[1-2]", "--valid-for", "30s").status, 0)
        running = fleet.start_lockstep("run", "-", stdin=JOB.format(hosts=2, seconds=45))
        renewed = fleet.lockstep("fleet", "renew", "--valid-for", "1h")
        self.assertEqual(renewed.status, 0, renewed)
        _, err = running.communicate(timeout=300)
        self.assertEqual(running.returncode, 0, err)
        self.assertIn("has expired", fleet.log("controller"))
        status = fleet.lockstep("status", "--format", "json").json()
        self.assertEqual([w["host"] for w in status["workers"] if w.get("disconnected")], [])
        self.assertEqual(len(status["workers"]), 2)
        self.assertEqual(fleet.down().status, 0)
        self.assertNotIn("valid", [state for _, state in self.states()])
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
        os.rename(f"{self.pki.base}/ca.key", self.pki.path("ca.key"))
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
        fleet.flags[fleet.flags.index(self.archive)] = self.replace_worker()
        up = fleet.up("--ssh", "node[1-6]")
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


# In place of ssh: a host that answers the scripts as it likes. Beside it lies what it sends as its
# request; without that it has a real worker make one. It keeps what it is told.
FAKE_SSH = """#!/usr/bin/env python3
import os, re, subprocess, sys
if os.path.exists(f"{HERE}/away"):
    sys.exit("ssh: no route to host")
if "-O" in sys.argv:
    sys.exit(0)
count = int(re.search(r"count=(\\d+)", sys.argv[-1]).group(1))
script = sys.stdin.buffer.read(count).decode()
token, second, third = (sys.stdin.buffer.readline().decode().strip() for _ in range(3))
if "Copies the worker" in script:
    answer = ["version " + VERSION, "directory /tmp/lockstep-fleet." + token]
elif "Has the worker's doctor" in script:
    answer = ['report {"findings": [{"severity": "ok"}]}']
    if os.path.exists(f"{HERE}/doctor"):
        with open(f"{HERE}/doctor") as text:
            answer = [text.read()]
elif "--request-certificate" in script:
    if os.path.exists(f"{HERE}/request"):
        with open(f"{HERE}/request") as text:
            request = text.read()
    else:
        name = sys.stdin.buffer.readline().decode().strip()
        words = [WORKER, "--request-certificate", f"{HERE}/{token}.{name}"]
        made = subprocess.run(words, input=third + "\\n", capture_output=True, text=True)
        request = made.stdout
    answer = ["csr " + line for line in request.splitlines()] + ["requested"]
elif "the certificate of the key in tls.new" in script:
    answer = ["failed as told" if os.path.exists(f"{HERE}/fail") else "renewed"]
elif "supervisor the worker's arguments" in script:
    with open(f"{HERE}/told", "w") as file:
        file.write(sys.stdin.buffer.read().decode())
    answer = ["failed as told" if os.path.exists(f"{HERE}/fail") else "started"]
else:
    answer = ["gone"]
for line in answer:
    print(token, line, flush=True)
"""
ENCRYPTED = """-----BEGIN CERTIFICATE REQUEST-----
Proc-Type: 4,ENCRYPTED
DEK-Info: AES-256-CBC,00112233445566778899AABBCCDDEEFF

AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=
-----END CERTIFICATE REQUEST-----
"""


class FakeHost(unittest.TestCase):
    """The command line alone, with a program in place of ssh."""

    def setUp(self):
        self.pki = Pki()
        self.addCleanup(self.pki.close)
        self.pki.ok("init")
        self.pki.ok("issue", "controller", "localhost", "--address", "127.0.0.1")
        self.pki.ok("issue", "user", "alma", "--role", "admin")
        self.fleet = TlsFleet("none", f"{BIN}/lockstep", self.pki)
        self.fleet.__enter__()
        self.addCleanup(self.fleet.__exit__)
        self.host = f"{self.pki.base}/host"
        os.mkdir(self.host)
        version = subprocess.run(
            [f"{BIN}/lockstep", "--version"], check=True, capture_output=True, text=True
        ).stdout.strip()
        facts = f"HERE, VERSION = {self.host!r}, {version!r}\nWORKER = '{BIN}/lockstep-worker'\n"
        first, rest = FAKE_SSH.split("\n", 1)
        with open(f"{self.host}/ssh", "w", encoding="ascii") as file:
            file.write(f"{first}\n{facts}{rest}")
        os.chmod(f"{self.host}/ssh", 0o755)
        # After a failure, too, no control directory stays in /tmp.
        self.addCleanup(self.lockstep, "down", "--now")

    def lockstep(self, *words, stdin=None, **environment):
        path = {"PATH": f"{self.host}:{os.environ['PATH']}"}
        # Without a terminal, so that a question would be asked here.
        return subprocess.run(
            [f"{BIN}/lockstep", "fleet", *words],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            start_new_session=True,
            env={**self.fleet.environment(), **path, **environment},
        )

    def up(self, *more, **options):
        words = [*self.fleet.flags, "--ssh", "node1", "--pki", self.pki.directory, *more]
        return self.lockstep("up", *words, **options)

    def test_a_directory_without_a_list_is_enough(self):
        # `pki issue user` gives no crl.pem.
        up = self.up()
        self.assertEqual(up.returncode, 0, up)
        self.assertIn("certificates revoked: node1", self.lockstep("down").stderr)

    def test_an_encrypted_request_asks_for_no_password(self):
        with open(f"{self.host}/request", "w", encoding="ascii") as file:
            file.write(ENCRYPTED)
        up = self.up(stdin="secret\n")
        self.assertEqual(up.returncode, 1, up)
        self.assertNotIn("pass phrase", up.stderr + up.stdout)
        self.assertIn("no certificate request in PEM", up.stderr)

    def test_a_key_beside_the_authorities_stays_here(self):
        both = f"{self.pki.base}/both.pem"
        with open(both, "w", encoding="ascii") as file:
            file.write(self.pki.read("alma", "key.pem") + self.pki.read("ca.pem"))
        os.chmod(both, 0o600)
        up = self.up(LOCKSTEP_TLS_CA=both)
        self.assertEqual(up.returncode, 0, up)
        with open(f"{self.host}/told", encoding="ascii") as text:
            told = text.read()
        self.assertIn(self.pki.read("ca.pem"), told)
        self.assertNotIn("PRIVATE", told)
        self.assertEqual(self.lockstep("down").returncode, 0)

    def test_down_ends_no_run_that_it_cannot_ask_for(self):
        self.assertEqual(self.up().returncode, 0)
        os.rename(self.pki.path("alma", "key.pem"), self.pki.path("alma", "old.pem"))
        down = self.lockstep("down")
        self.assertEqual(down.returncode, 1, down)
        self.assertIn("cannot be asked whether a run is in progress", down.stderr)
        self.assertRegex(self.pki.ok("list"), r"(?m)^node1 +worker +valid ")
        self.assertEqual(self.lockstep("down", "--now").returncode, 0)
        self.assertRegex(self.pki.ok("list"), r"(?m)^node1 +worker +revoked ")

    def test_a_certificate_that_has_expired_needs_no_revoking(self):
        for nonsense in ("0", "0d", "-1d", "100000d", "99999999999999999999d", "1ms", ""):
            up = self.up(f"--valid-for={nonsense}")
            self.assertEqual(up.returncode, 1, up)
            self.assertIn("--valid-for", up.stderr)
        self.assertEqual(self.up("--valid-for", "1s").returncode, 0)
        wait_for("the end", lambda: "CERTIFICATE EXPIRED" in self.lockstep("list").stdout)
        down = self.lockstep("down")
        self.assertEqual(down.returncode, 0, down)
        self.assertNotIn("revoked", down.stderr.lower())
        self.assertIn("no host is up", self.lockstep("list").stderr)

    def test_a_start_that_fails_revokes(self):
        with open(f"{self.host}/fail", "w", encoding="ascii"):
            pass
        up = self.up()
        self.assertEqual(up.returncode, 1, up)
        self.assertIn("node1  FAILED: as told", up.stderr)
        self.assertRegex(self.pki.ok("list"), r"(?m)^node1 +worker +revoked ")
        self.assertIn("no such host is up", self.lockstep("down").stdout)

    def have_doctor_say(self, words):
        with open(f"{self.host}/doctor", "w", encoding="ascii") as file:
            file.write(words)

    def test_a_problem_of_the_host_keeps_the_worker_away(self):
        self.have_doctor_say(
            'report {"findings": [{"severity": "problem", "check": "/data", "found": "is away"}]}'
        )
        up = self.up()
        self.assertEqual(up.returncode, 1, up)
        self.assertIn("node1  FAILED: the doctor found 1 problem; --allow-problems", up.stderr)
        self.assertIn("\n  PROBLEM  /data: is away\n", up.stderr)
        # Nothing was signed, and the worker was told nothing.
        self.assertEqual(self.states(), [])
        self.assertFalse(os.path.exists(f"{self.host}/told"))
        self.assertIn("no such host is up", self.lockstep("down").stdout)
        up = self.up("--allow-problems")
        self.assertEqual(up.returncode, 0, up)
        self.assertIn("\n  PROBLEM  /data: is away\n", up.stderr)
        self.assertEqual(self.states(), ["valid"])

    def test_a_doctor_that_does_not_answer_is_a_problem(self):
        for words, why in (
            ("unanswered it takes longer than 20 s", "it takes longer than 20 s"),
            ("report rubbish", "the host sends something else"),
            ("hello", "the host sends no report"),
        ):
            self.have_doctor_say(words)
            up = self.up()
            self.assertEqual(up.returncode, 1, up)
            self.assertIn(f"\n  PROBLEM  doctor: has not answered: {why}\n", up.stderr)
        self.assertEqual(self.up("--allow-problems").returncode, 0)

    def test_a_warning_does_not(self):
        self.have_doctor_say(
            'report {"findings": [{"severity": "warning", "check": "clock", "found": "hpet"}]}'
        )
        up = self.up()
        self.assertEqual(up.returncode, 0, up)
        self.assertRegex(up.stderr, r"(?m)^node1  up in .*\n  WARNING  clock: hpet\n")

    def states(self):
        return re.findall(r"(?m)^node1 +worker +(\w+) ", self.pki.ok("list"))

    def test_a_renewal_is_revoked_with_what_was_before(self):
        self.assertIn("no such host is up that has a certificate", self.lockstep("renew").stderr)
        self.assertEqual(self.up("--valid-for", "1h").returncode, 0)
        before = self.lockstep("list").stdout
        renewed = self.lockstep("renew", "--valid-for", "2d")
        self.assertEqual(renewed.returncode, 0, renewed)
        self.assertIn("node1  renewed; certificate until 20", renewed.stderr)
        self.assertNotEqual(self.lockstep("list").stdout, before)
        # Of keys of their own: the first is valid until it expires.
        self.assertEqual(self.states(), ["valid", "valid"])
        self.assertEqual(self.lockstep("down").returncode, 0)
        self.assertEqual(self.states(), ["revoked", "revoked"])

    def test_a_renewal_that_fails_leaves_what_was_before(self):
        self.assertEqual(self.up("--valid-for", "1h").returncode, 0)
        before = self.lockstep("list").stdout
        with open(f"{self.host}/fail", "w", encoding="ascii"):
            pass
        failed = self.lockstep("renew")
        self.assertEqual(failed.returncode, 1, failed)
        self.assertIn("node1  NOT RENEWED: as told; certificate until 20", failed.stderr)
        self.assertIn("1 of 1 hosts have no new certificate", failed.stderr)
        self.assertEqual(self.lockstep("list").stdout, before)
        # Signed, and perhaps on the host.
        self.assertEqual(self.states(), ["valid", "valid"])
        self.assertIn("certificates revoked: node1.", self.lockstep("down").stderr)
        self.assertEqual(self.states(), ["revoked", "revoked"])

    def test_a_job_that_outlasts_certificates_is_warned_of(self):
        self.assertEqual(self.up("--valid-for", "1h").returncode, 0)
        warning = "warning: certificates of workers expire before the load of this job ends"
        long = self.fleet.lockstep("submit", "-", stdin=JOB.format(hosts=1, seconds=7200))
        self.assertIn(warning, long.err)
        short = self.fleet.lockstep("submit", "-", stdin=JOB.format(hosts=1, seconds=2))
        self.assertNotIn(warning, short.err)
        self.assertEqual(self.lockstep("renew", "--valid-for", "2d").returncode, 0)
        renewed = self.fleet.lockstep("submit", "-", stdin=JOB.format(hosts=1, seconds=7200))
        self.assertNotIn(warning, renewed.err)

    def test_a_host_is_not_forgotten_before_its_certificate(self):
        self.assertEqual(self.up().returncode, 0)
        moved = f"{self.pki.base}/moved"
        os.mkdir(moved, 0o700)
        for name in ("ca.key", "ca.pem", "crl.pem", "issued"):
            shutil.move(self.pki.path(name), f"{moved}/{name}")
        with open(f"{self.host}/away", "w", encoding="ascii"):
            pass
        down = self.lockstep("down", "node1", "--forget")
        self.assertEqual(down.returncode, 1, down)
        self.assertIn("not forgotten, because its certificate is not revoked", down.stderr)
        down = self.lockstep("down", "node1", "--forget", "--pki", moved)
        self.assertEqual(down.returncode, 0, down)
        self.assertIn("certificates revoked: node1", down.stderr)
        self.assertIn("forgotten", down.stdout)


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
