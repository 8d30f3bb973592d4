"""Unknown clients get nothing: mutual TLS with roles, no plaintext beyond loopback by accident."""

import contextlib
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import unittest

from fleet import BIN, Fleet, files_job


class Authority:
    """Certificates of a throw-away authority, made by openssl; docs/reference/operations.md has the
    same commands.
    """

    def __init__(self, directory):
        self.directory = directory
        self.openssl(
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=test authority",
            "-keyout",
            self.path("ca.key"),
            "-out",
            self.path("ca.pem"),
        )

    def path(self, name):
        return os.path.join(self.directory, name)

    @staticmethod
    def openssl(*words):
        subprocess.run(["openssl", *words], check=True, capture_output=True)

    def issue(self, name, alternative, days=2):
        self.openssl(
            "req",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-subj",
            f"/CN={name}",
            "-keyout",
            self.path(name + ".key"),
            "-out",
            self.path(name + ".csr"),
        )
        with open(self.path("extensions"), "w", encoding="ascii") as out:
            out.write(f"subjectAltName={alternative}\n")
        self.openssl(
            "x509",
            "-req",
            "-in",
            self.path(name + ".csr"),
            "-CA",
            self.path("ca.pem"),
            "-CAkey",
            self.path("ca.key"),
            "-CAcreateserial",
            "-days",
            str(days),
            "-extfile",
            self.path("extensions"),
            "-out",
            self.path(name + ".pem"),
        )
        return self.flags(name)

    def flags(self, name):
        return [
            "--tls-cert",
            self.path(name + ".pem"),
            "--tls-key",
            self.path(name + ".key"),
            "--tls-ca",
            self.path("ca.pem"),
        ]


class MutualTls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.mkdtemp(prefix="lstls")
        cls.addClassCleanup(shutil.rmtree, directory)
        authority = Authority(directory)
        server = authority.issue("controller", "IP:127.0.0.1,DNS:admin.role.lockstep")
        worker = authority.issue("node", "DNS:worker.role.lockstep")
        cls.submitter = authority.issue("anna", "DNS:submitter.role.lockstep")
        cls.other = authority.issue("otto", "DNS:submitter.role.lockstep")
        cls.viewer = authority.issue("victor", "DNS:nothing")
        cls.worker = worker
        cls.fleet = Fleet(0, controller_flags=server, worker_flags=worker)
        cls.fleet.__enter__()
        cls.addClassCleanup(cls.fleet.__exit__)
        cls.fleet.start_worker("node1")

    def lockstep(self, flags, *words, stdin=None):
        return self.fleet.lockstep(*flags, *words, stdin=stdin)

    def test_roles(self):
        for _ in range(100):
            if self.lockstep(self.viewer, "status", "--format", "json").json()["workers"]:
                break
        status = self.lockstep(self.viewer, "status")
        self.assertIn("you are victor, viewer", status.out)
        job = files_job(self.fleet.data, hosts=1, duration="1s")
        denied = self.lockstep(self.viewer, "submit", "-", stdin=job)
        self.assertEqual(denied.status, 1)
        self.assertIn("victor is a viewer; this needs the role submitter", denied.err)
        done = self.lockstep(self.submitter, "run", "-", "--format", "json", stdin=job)
        self.assertEqual(done.status, 0, str(done))
        # The certificate's name counts, whatever the caller says.
        self.assertEqual(done.json()["run"]["owner"], "anna")
        foreign = self.lockstep(self.other, "stop", done.json()["run"]["runId"])
        self.assertIn("only its owner or an admin stops it", foreign.err)
        # A worker's certificate submits nothing, and a submitter's attaches no worker.
        self.assertIn(
            "needs the role submitter", self.lockstep(self.worker, "submit", "-", stdin=job).err
        )
        intruder = self.fleet.start_worker("intruder", flags=self.submitter)
        try:
            for _ in range(200):
                if "needs the role worker" in self.fleet.log("intruder"):
                    break
                self.assertIsNone(intruder.poll())
                subprocess.run(["sleep", "0.05"], check=True)
            self.assertIn("needs the role worker", self.fleet.log("intruder"))
        finally:
            intruder.terminate()
            intruder.wait(20)

    def test_without_a_certificate_nobody_gets_in(self):
        done = self.fleet.lockstep("status")
        self.assertEqual(done.status, 1)
        self.assertEqual(done.out, "")

    def test_half_of_the_files_is_an_error(self):
        done = self.fleet.lockstep(*self.submitter[:4], "status")
        self.assertIn("TLS needs all three of --tls-cert, --tls-key and --tls-ca", done.err)


class PageOverTls(unittest.TestCase):
    """A page that others could reach is encrypted, and asks browsers for certificates."""

    @classmethod
    def setUpClass(cls):
        directory = tempfile.mkdtemp(prefix="lstls")
        cls.addClassCleanup(shutil.rmtree, directory)
        cls.authority = Authority(directory)
        server = cls.authority.issue("controller", "IP:127.0.0.1,DNS:admin.role.lockstep")
        cls.authority.issue("victor", "DNS:nothing")
        elsewhere = tempfile.mkdtemp(prefix="lstls")
        cls.addClassCleanup(shutil.rmtree, elsewhere)
        cls.stranger = Authority(elsewhere)
        cls.stranger.issue("eve", "DNS:admin.role.lockstep")
        cls.fleet = Fleet(0, controller_flags=[*server, "--http", "0.0.0.0:0"])
        cls.fleet.__enter__()
        cls.addClassCleanup(cls.fleet.__exit__)
        cls.port = int(cls.fleet.url.rstrip("/").rsplit(":", 1)[1])

    def ask(self, context, session=None):
        """The answer, and the session that a browser would resume."""
        with (
            socket.create_connection(("127.0.0.1", self.port), timeout=20) as plain,
            context.wrap_socket(plain, server_hostname="127.0.0.1", session=session) as stream,
        ):
            stream.sendall(b"GET /api/status HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            answer = stream.recv(65536)
            return answer, stream.session, stream.session_reused

    def context(self, *of):
        context = ssl.create_default_context(cafile=self.authority.path("ca.pem"))
        for authority, name in of:
            context.load_cert_chain(authority.path(name + ".pem"), authority.path(name + ".key"))
        return context

    def test_it_is_served_to_those_with_a_certificate(self):
        self.assertTrue(self.fleet.url.startswith("https://"))
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            with self.subTest(version):
                context = self.context((self.authority, "victor"))
                context.maximum_version = version
                answer, session, _ = self.ask(context)
                self.assertIn(b"200 OK", answer)
                self.assertIn(b'"epoch"', answer)
                # As browsers do with their second connection.
                answer, _, reused = self.ask(context, session)
                self.assertTrue(reused)
                self.assertIn(b"200 OK", answer)

    def test_connections_without_a_handshake_keep_nobody_out(self):
        context = self.context((self.authority, "victor"))
        silent = []
        try:
            for count in range(1, 1200):
                silent.append(socket.create_connection(("127.0.0.1", self.port), timeout=20))
                if count % 100 == 0:
                    self.assertIn(b"200 OK", self.ask(context)[0], f"beside {count}")
            # The oldest one made room.
            self.assertEqual(silent[0].recv(1), b"")
        finally:
            for stream in silent:
                stream.close()

    def test_others_get_nothing(self):
        for of in ((), ((self.stranger, "eve"),)):
            with self.subTest(of), self.assertRaises((ssl.SSLError, ConnectionError)):
                answer = self.ask(self.context(*of))[0]
                if not answer:
                    raise ConnectionError
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as plain:
            plain.sendall(b"GET /api/status HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            with contextlib.suppress(ConnectionError):
                self.assertNotIn(b"epoch", plain.recv(65536))


class Plaintext(unittest.TestCase):
    def refused(self, program, *flags):
        done = subprocess.run(
            [f"{BIN}/{program}", *flags], capture_output=True, text=True, timeout=30, check=False
        )
        self.assertEqual(done.returncode, 1)
        return done.stderr

    def test_a_bind_beyond_loopback_is_refused(self):
        self.assertIn(
            "others could reach it and command every worker; give --tls-cert",
            self.refused("lockstep-controller", "--listen", "0.0.0.0:0"),
        )
        self.assertIn(
            "others could read every result",
            self.refused("lockstep-controller", "--listen", "127.0.0.1:0", "--http", "0.0.0.0:0"),
        )

    def test_dialling_beyond_loopback_is_refused(self):
        self.assertIn(
            "not on this machine; give --tls-cert",
            self.refused("lockstep-worker", "--controller", "198.51.100.1:9640"),
        )
        self.assertIn(
            "is not on this machine; give --tls-cert",
            self.refused("lockstep", "--controller", "198.51.100.1:9640", "status"),
        )
