"""Certificates of `lockstep pki`: what it makes, and what renewing, revoking and expiring do to a
fleet that runs.
"""

import contextlib
import os
import shutil
import socket
import ssl
import stat
import subprocess
import tempfile
import unittest

from fleet import BIN, Fleet, files_job, wait_for


class Pki:
    """A directory of `lockstep pki`."""

    def __init__(self):
        self.base = tempfile.mkdtemp(prefix="lspki")
        self.directory = os.path.join(self.base, "pki")

    def run(self, *words):
        return subprocess.run(
            [f"{BIN}/lockstep", "pki", "--dir", self.directory, *words],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def ok(self, *words):
        done = self.run(*words)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def flags(self, name):
        return ["--tls-dir", self.path(name)]

    def path(self, *parts):
        return os.path.join(self.directory, *parts)

    def read(self, *parts):
        with open(self.path(*parts), encoding="ascii") as text:
            return text.read()

    def close(self):
        shutil.rmtree(self.base)


class PkiTest(unittest.TestCase):
    """A fleet with certificates for a controller, a worker, a submitter and an admin."""

    page = False

    def setUp(self):
        self.pki = Pki()
        self.addCleanup(self.pki.close)
        self.pki.ok("init")
        self.pki.ok("issue", "controller", "localhost", "--address", "127.0.0.1")
        self.pki.ok("issue", "worker", "node1")
        self.pki.ok("issue", "user", "anna")
        self.pki.ok("issue", "user", "alma", "--role", "admin")

    def start(self):
        flags = self.pki.flags("localhost")
        if self.page:
            flags += ["--http", "0.0.0.0:0"]
        self.fleet = Fleet(0, controller_flags=flags)
        self.fleet.__enter__()
        self.addCleanup(self.fleet.__exit__)

    def start_worker(self):
        self.fleet.start_worker("node1", flags=self.pki.flags("node1"))
        wait_for("the worker", lambda: self.status()["workers"])

    def lockstep(self, name, *words, stdin=None):
        return self.fleet.lockstep(*self.pki.flags(name), *words, stdin=stdin)

    def status(self):
        return self.lockstep("alma", "status", "--format", "json").json()

    def submit(self, seconds=120):
        job = files_job(self.fleet.data, hosts=1, duration=f"{seconds}s")
        done = self.lockstep("anna", "submit", "-", stdin=job)
        self.assertEqual(done.status, 0, str(done))

    def running(self):
        wait_for("the run", lambda: any(run["state"] == "running" for run in self.status()["runs"]))


class Commands(unittest.TestCase):
    def setUp(self):
        self.pki = Pki()
        self.addCleanup(self.pki.close)

    def ok(self, *words):
        said = self.pki.ok(*words)
        self.assertNotIn("PRIVATE", said)
        return said

    def refused(self, *words):
        done = self.pki.run(*words)
        self.assertEqual(done.returncode, 1, done.stdout)
        return done.stderr

    def test_openssl_verifies_what_it_makes(self):
        self.ok("init")
        self.ok("issue", "controller", "ctl.example", "--address", "192.0.2.10")
        self.ok("issue", "worker", "node1", "--valid", "12h")
        self.ok("issue", "user", "anna")
        for name, purpose, text in (
            ("ctl.example", "sslserver", "DNS:ctl.example, IP Address:192.0.2.10"),
            ("node1", "sslclient", "DNS:worker.role.lockstep"),
            ("anna", "sslclient", "DNS:submitter.role.lockstep"),
        ):
            certificate = self.pki.path(name, "cert.pem")
            verify = ["openssl", "verify", "-CAfile", self.pki.path(name, "ca.pem"), "-purpose"]
            subprocess.run([*verify, purpose, certificate], check=True, capture_output=True)
            other = {"sslserver": "sslclient", "sslclient": "sslserver"}[purpose]
            done = subprocess.run([*verify, other, certificate], check=False, capture_output=True)
            self.assertNotEqual(done.returncode, 0, f"{name} as {other}")
            shown = subprocess.run(
                ["openssl", "x509", "-in", certificate, "-noout", "-ext", "subjectAltName"],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
            self.assertIn(text, shown)
            key = os.stat(self.pki.path(name, "key.pem"))
            self.assertEqual(stat.S_IMODE(key.st_mode), 0o600)
        listed = self.ok("list")
        self.assertIn("the authority Lockstep expires on", listed)
        self.assertRegex(listed, r"(?m)^anna +submitter +valid ")

    def test_a_request_keeps_its_key_to_itself(self):
        self.ok("init")
        here = self.pki.base
        subprocess.run(
            ["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
            + ["-subj", "/CN=root", "-keyout", f"{here}/own.key", "-out", f"{here}/own.csr"],
            check=True,
            capture_output=True,
        )
        self.ok("issue", "worker", "node3", "--csr", f"{here}/own.csr")
        # Nobody ever writes to it.
        os.mkfifo(f"{here}/pipe.csr")
        said = self.refused("issue", "worker", "node4", "--csr", f"{here}/pipe.csr")
        self.assertIn("pipe.csr: is not a regular file", said)
        self.assertEqual(sorted(os.listdir(self.pki.path("node3"))), ["ca.pem", "cert.pem"])

    def test_nothing_is_overwritten(self):
        self.assertIn("make an authority with", self.refused("list"))
        self.ok("init")
        before = self.pki.read("ca.key")
        self.assertIn("exists; nothing was changed", self.refused("init"))
        self.ok("issue", "worker", "node1")
        self.assertIn("exists", self.refused("issue", "user", "node1", "--role", "admin"))
        for name in ("../x", "a/b", "-x", ".x", "a\nb", "issued"):
            self.refused("issue", "worker", "--", name)
        self.assertIn(
            "is a role",
            self.refused("issue", "controller", "c", "--address", "admin.role.lockstep"),
        )
        self.assertEqual(self.pki.read("ca.key"), before)
        self.assertEqual(len(os.listdir(self.pki.path("issued"))), 1)


class Revoked(PkiTest):
    page = True

    def test_a_call_with_it_is_refused(self):
        self.start()
        self.assertEqual(self.lockstep("anna", "status").status, 0)
        self.assertIn("1 certificate is newly revoked", self.pki.ok("revoke", "anna"))
        refused = wait_for(
            "the refusal",
            lambda: [d for d in [self.lockstep("anna", "status")] if d.status == 1],
        )[0]
        self.assertIn("the certificate of anna with the serial number", refused.err)
        self.assertIn("was revoked", refused.err)
        self.assertEqual(self.lockstep("alma", "status").status, 0)
        wait_for("its entry", lambda: "UNAUTHENTICATED" in self.lockstep("alma", "audit").out)
        # It stays revoked without the list, and with one that has nothing.
        os.unlink(self.pki.path("localhost", "crl.pem"))
        wait_for(
            "the controller to notice",
            lambda: "lacks certificates" in self.status()["certificate"].get("problem", ""),
        )
        self.assertEqual(self.lockstep("anna", "status").status, 1)
        self.assertIn("CERTIFICATES: the controller", self.lockstep("alma", "status").out)

    def test_open_streams_end(self):
        self.start()
        self.start_worker()
        self.submit()
        self.running()
        watch = self.fleet.start_lockstep(*self.pki.flags("anna"), "watch", "last")
        wait_for("the watcher", lambda: watch.stderr.readline())
        self.pki.ok("revoke", "anna")
        _, said = watch.communicate(timeout=120)
        self.assertEqual(watch.returncode, 1, said)
        self.assertIn("was revoked", said)
        self.pki.ok("revoke", "node1")
        wait_for("the worker to go", lambda: not self.status()["workers"])
        log = self.fleet.log("controller")
        self.assertRegex(log, "a stream from .* is ended: the certificate of anna .* was revoked")
        self.assertRegex(log, "a stream from .* is ended: the certificate of node1 .* was revoked")
        wait_for("the worker to hear why", lambda: "was revoked" in self.fleet.log("node1"))

    def browser(self, name):
        context = ssl.create_default_context(cafile=self.pki.path("ca.pem"))
        context.load_cert_chain(self.pki.path(name, "cert.pem"), self.pki.path(name, "key.pem"))
        port = int(self.fleet.url.rstrip("/").rsplit(":", 1)[1])
        plain = socket.create_connection(("127.0.0.1", port), timeout=60)
        stream = context.wrap_socket(plain, server_hostname="127.0.0.1")
        self.addCleanup(stream.close)
        return stream

    @staticmethod
    def ask(stream, path):
        stream.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        return stream.recv(65536)

    def test_a_page_that_watches_ends(self):
        self.start()
        self.start_worker()
        self.submit()
        self.running()
        run = self.status()["runs"][0]["runId"]
        kept = self.browser("anna")
        self.assertIn(b"200 OK", self.ask(kept, "/api/status"))
        watching = self.browser("anna")
        self.assertIn(b"200 OK", self.ask(watching, f"/api/runs/{run}/events"))
        others = self.browser("alma")
        self.assertIn(b"200 OK", self.ask(others, f"/api/runs/{run}/events"))
        self.pki.ok("revoke", "anna")
        with contextlib.suppress(ssl.SSLError, ConnectionError):
            while watching.recv(65536):
                pass
        # The watcher has ended, so that the controller knows the list: no connection gets more.
        for stream in (lambda: kept, lambda: self.browser("anna")):
            with contextlib.suppress(ssl.SSLError, ConnectionError):
                self.assertNotIn(b"200 OK", self.ask(stream(), "/api/status"))
        self.assertTrue(others.recv(65536))


class Renewed(PkiTest):
    def shown(self):
        """The serial number of the certificate that the controller shows."""
        context = ssl.create_default_context(cafile=self.pki.path("ca.pem"))
        context.load_cert_chain(self.pki.path("alma", "cert.pem"), self.pki.path("alma", "key.pem"))
        host, port = self.fleet.address.rsplit(":", 1)
        with (
            socket.create_connection((host, int(port)), timeout=60) as plain,
            context.wrap_socket(plain, server_hostname="127.0.0.1") as stream,
        ):
            return stream.getpeercert()["serialNumber"]

    def test_a_controller_shows_its_new_certificate(self):
        self.start()
        self.start_worker()
        before = self.shown()
        self.pki.ok("renew", "localhost")
        wait_for("the new certificate", lambda: self.shown() != before)
        # The open stream of the worker has not ended.
        self.assertFalse(self.status()["workers"][0].get("disconnected"))
        self.assertEqual(self.fleet.log("node1").count("attached to the controller"), 1)

    def test_a_file_that_cannot_be_used_changes_nothing(self):
        self.start()
        before = self.shown()
        with open(self.pki.path("localhost", "cert.pem"), "w", encoding="ascii") as out:
            out.write(self.pki.read("alma", "cert.pem"))
        problem = wait_for("the problem", lambda: self.status()["certificate"].get("problem", ""))
        self.assertIn("is not the key of the certificate", problem)
        self.assertEqual(self.shown(), before)


class Expired(PkiTest):
    def test_a_stream_ends_with_its_certificate(self):
        self.pki.ok("issue", "worker", "node2", "--valid", "25s")
        self.start()
        # The host renews before the end of a certificate of 25 seconds, and the worker goes on
        # without a restart.
        worker = self.fleet.start_worker("node2", flags=self.pki.flags("node2"))
        wait_for("the worker", lambda: self.status()["workers"])
        self.assertIn("expires on", self.status()["workers"][0]["certificate"]["warning"])
        self.assertIn(
            "CERTIFICATE: node2's connection has one that expires on",
            self.lockstep("alma", "status").out,
        )
        self.pki.ok("renew", "node2", "--valid", "400d")
        wait_for("the stream's end", lambda: "has expired" in self.fleet.log("controller"))
        wait_for(
            "the worker with its new certificate",
            lambda: [
                found
                for found in self.status()["workers"]
                if not found["certificate"].get("warning") and not found.get("disconnected")
            ],
        )
        self.assertIsNone(worker.poll())
        self.assertNotIn("CERTIFICATE", self.lockstep("alma", "status").out)

    def test_who_expires_soon_is_warned(self):
        self.pki.ok("issue", "user", "otto", "--valid", "2m")
        self.pki.ok("issue", "user", "olga", "--valid", "4h")
        self.start()
        self.assertIn("your certificate expires on", self.lockstep("otto", "status").err)
        self.assertEqual(self.lockstep("olga", "status").err, "")
        self.assertRegex(self.pki.ok("list"), r"(?m)^olga +submitter +valid ")
