"""Hostile clients are refused with a reason, and do not affect others."""

import contextlib
import os
import re
import signal
import socket
import unittest
import urllib.error
import urllib.request

from attacker import attack
from fleet import Fleet, FleetTest, files_job, wait_for


class Hostile(FleetTest):
    workers = 4
    fleet_options = {"http": True}

    def attack(self, kind, *words):
        return attack(kind, "--controller", self.fleet.address, *words)

    def memory_mib(self):
        with open(f"/proc/{self.fleet.controller.pid}/status", encoding="ascii") as text:
            return int(re.search(r"VmHWM:\s+(\d+)", text.read()).group(1)) / 1024

    def test_a_run_does_not_notice_hostile_calls(self):
        running = self.fleet.start_lockstep(
            "run",
            "-",
            "--format",
            "json",
            stdin=files_job(self.fleet.data, hosts=4, duration="12s"),
        )
        self.fleet.await_phase("mix")
        said = self.attack("storm", "--calls", "1500", "--parallel", "8")
        self.assertIn("INVALID_ARGUMENT", said)
        out, err = running.communicate(timeout=300)
        self.assertEqual(running.returncode, 0, out + err)
        run = self.fleet.lockstep("report", "--format", "json").json()["run"]
        self.assertIsNone(self.fleet.controller.poll())
        self.assertEqual(self.fleet.sql("SELECT count(*) FROM lost_workers")[0][0], "0", run)
        self.assertLess(self.memory_mib(), 256)

    def test_absurd_jobs_are_refused_by_field(self):
        said = self.attack("jobs")
        accepted = [line for line in said.splitlines() if line.startswith(("ACCEPTED", "UNCLEAR"))]
        # Counts that only say "at most so many", and what no device is ever slow enough for, harm
        # nobody.
        harmless = {
            "min_hosts",
            "count",
            "seed",
            "operations",
            "error_limit",
            "start_skew_limit_ns",
            "think_every",
            "burst",
            "io_size_bytes",
            "errors",
            "iops",
            "throughput_bytes_per_second",
        }
        harmful = [
            line
            for line in accepted
            if line.split(" = ")[0].split(".")[-1].split(" ")[-1] not in harmless
        ]
        self.assertEqual(harmful, [])
        self.assertGreater(int(re.search(r"refused (\d+)", said).group(1)), 240)
        self.assertIsNone(self.fleet.controller.poll())
        wait_for(
            "the queue to be empty",
            lambda: not self.fleet.sql(
                "SELECT 1 FROM runs WHERE state IN ('queued', 'starting', 'running')"
            ),
            120,
        )
        self.ok(self.fleet.run_job(files_job(self.fleet.data, duration="1s")))

    def test_stop_does_not_wait_behind_plans(self):
        """Plans that wait for a worker that does not answer; `stop` is answered before any of them
        is.
        """
        running = self.fleet.start_lockstep(
            "run",
            "-",
            stdin=files_job(
                self.fleet.data, hosts=1, duration="300s", extra="labels: {who: stopped}"
            ).replace("{count: 1}", "{names: [node1]}"),
        )
        self.fleet.await_phase("mix")
        silent = self.fleet.workers["node4"]
        silent.send_signal(signal.SIGSTOP)
        plans = []
        try:
            text = files_job(self.fleet.data).replace("{count: 2}", "{names: [node4]}")
            plans = [self.fleet.start_lockstep("plan", "-", stdin=text) for _ in range(8)]
            wait_for("the plans to be asked", lambda: self.fleet.lockstep("status").status == 0)
            self.ok(self.fleet.lockstep("stop", "--now"))
            self.assertEqual([plan.poll() for plan in plans], [None] * len(plans))
            running.communicate(timeout=300)
            self.assertEqual([plan.poll() for plan in plans], [None] * len(plans))
        finally:
            silent.send_signal(signal.SIGCONT)
            for plan in plans:
                plan.communicate(timeout=300)

    def test_connections_that_say_nothing_or_nonsense(self):
        running = self.fleet.start_lockstep(
            "run", "-", stdin=files_job(self.fleet.data, hosts=4, duration="10s")
        )
        self.fleet.await_phase("mix")
        sockets = []
        http = self.fleet.url.split("//")[1].rstrip("/")
        try:
            for address in (self.fleet.address, http):
                host, port = address.rsplit(":", 1)
                for i in range(300):
                    connection = socket.create_connection((host, int(port)), timeout=10)
                    sockets.append(connection)
                    connection.settimeout(0.2)
                    nonsense = (
                        b"",
                        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 64,
                        os.urandom(500),
                        b"GET /api/status HTTP/1.1\r\nX-Slow:",
                        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                    )[i % 6]
                    with contextlib.suppress(OSError):
                        connection.sendall(nonsense)
            self.assertEqual(self.fleet.lockstep("status").status, 0)
            wait_for("the page to answer", self.page_answers)
        finally:
            for connection in sockets:
                connection.close()
        out, err = running.communicate(timeout=300)
        self.assertEqual(running.returncode, 0, out + err)
        self.assertEqual(self.fleet.sql("SELECT count(*) FROM lost_workers")[0][0], "0")

    def page_answers(self):
        try:
            with urllib.request.urlopen(self.fleet.url + "api/status", timeout=10) as answer:
                return answer.status == 200
        except OSError:
            return False

    def test_stop_names_the_run_and_asks_among_several(self):
        first = self.fleet.start_lockstep(
            "run", "-", stdin=files_job(self.fleet.data, hosts=4, duration="60s")
        )
        self.fleet.await_phase("mix")
        loading = self.fleet.sql("SELECT last_run()")[0][0]
        queued = self.ok(
            self.fleet.lockstep(
                "submit", "-", stdin=files_job(self.fleet.data, hosts=4, duration="60s")
            )
        ).out.split()[0]
        unclear = self.fleet.lockstep("stop")
        self.assertNotEqual(unclear.status, 0)
        self.assertIn(loading[:8], unclear.out + unclear.err)
        self.assertIn(queued[:8], unclear.out + unclear.err)
        for words in (("stop", ""), ("report", "")):
            empty = self.fleet.lockstep(*words)
            self.assertNotEqual(empty.status, 0)
            self.assertIn("no run is named", empty.err)
        self.assertEqual(
            self.fleet.sql(f"SELECT state FROM runs WHERE run_id = '{loading}'")[0][0], "running"
        )
        stopped = self.ok(self.fleet.lockstep("stop", queued))
        self.assertIn(queued[:8], stopped.out)
        self.assertIn("cancelled", stopped.out)
        stopped = self.ok(self.fleet.lockstep("stop"))
        self.assertIn(loading[:8], stopped.out)
        first.communicate(timeout=300)

    def test_sigterm_to_run_ends_the_load(self):
        """A CI's time-out: like Ctrl-C without a terminal."""
        running = self.fleet.start_lockstep(
            "run", "-", stdin=files_job(self.fleet.data, hosts=4, duration="300s")
        )
        self.fleet.await_phase("mix")
        running.send_signal(signal.SIGTERM)
        out, err = running.communicate(timeout=300)
        self.assertNotEqual(running.returncode, 0)
        self.assertIn("cancel", out + err)
        wait_for(
            "the run to end",
            lambda: self.fleet.sql("SELECT state FROM runs WHERE run_id = last_run()")[0][0]
            == "cancelled",
        )


class Poison(unittest.TestCase):
    def test_a_run_that_kills_its_controller_twice_is_quarantined(self):
        """As two crashes leave it: the run's id stands in the file of what is being worked on when
        the controller is killed.
        """
        with Fleet(1) as fleet:
            blocked = (
                "name: poison\nhosts: {names: nobody}\n"
                "targets: [{name: n, null: {}}]\n"
                "phases: [{run: {duration: 1s, workloads: [{engine: 'null'}]}}]\n"
            )
            # It waits for a host that comes later.
            fleet.start_worker("nobody")
            fleet.wait_attached(2)
            long = fleet.start_lockstep(
                "run", "-", stdin=blocked.replace("1s", "120s").replace("poison", "first")
            )
            wait_for("the first", lambda: fleet.sql("SELECT 1 FROM runs WHERE state = 'running'"))
            run = fleet.lockstep("submit", "-", stdin=blocked).out.split()[0]
            for crash in range(2):
                fleet.controller.kill()
                fleet.controller.wait()
                with open(os.path.join(fleet.state, "working-on"), "r+b") as marks:
                    marks.write(run.encode() + b"\0")
                fleet.start_controller(fleet.address)
                state = fleet.sql(f"SELECT state, outcome FROM runs WHERE run_id = '{run}'")[0]
                self.assertEqual(state[0], "queued" if crash == 0 else "failed", state)
            self.assertIn("quarantined: 2 controllers ended while they worked on it", state[1])
            self.assertIn(
                "quarantined", fleet.sql(f"SELECT message FROM events WHERE run_id = '{run}'")[0][0]
            )
            fleet.lockstep("stop", "last")
            for row in fleet.sql("SELECT run_id FROM runs WHERE state IN ('running', 'queued')"):
                fleet.lockstep("stop", row[0])
            long.communicate(timeout=300)


def received(stream, *until):
    """Returns the bytes up to one of these; fails when the other side closes before."""
    answer = b""
    while not any(part in answer for part in until):
        more = stream.recv(4096)
        if not more:
            raise AssertionError(f"closed after {answer}")
        answer += more
    return answer


class Watched(FleetTest):
    workers = 1
    fleet_options = {"http": True}

    def test_a_stream_says_that_a_run_has_ended_only_when_it_has(self):
        """More come at once than the controller looks runs up for: some are told to try again."""
        job = (
            "name: waits\nhosts: {count: 1}\ntargets: [{name: n, null: {}}]\nphases: "
            "[{run: {duration: 300s, workloads: [{engine: 'null', max_iops: 10}]}}]\n"
        )
        run = self.ok(self.fleet.lockstep("submit", "-", stdin=job)).out.split()[0]
        host, port = self.fleet.url.split("//")[1].rstrip("/").rsplit(":", 1)
        streams = [socket.create_connection((host, int(port)), timeout=20) for _ in range(64)]
        try:
            for stream in streams:
                stream.sendall(
                    f"GET /api/runs/{run}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
                )
            for stream in streams:
                answer = received(stream, b"data: ")
                self.assertNotIn(b"event: end", answer)
                if b"event: failed" in answer:
                    self.assertIn(b'"retry":true', answer)
                    self.assertIn(b"try again", answer)
        finally:
            for stream in streams:
                stream.close()
            self.ok(self.fleet.lockstep("stop", "--now", run))
        nobody = self.fleet.url + "api/runs/00000000-0000-4000-8000-000000000000/events"
        with urllib.request.urlopen(nobody, timeout=20) as answer:
            self.assertIn(b'event: failed\ndata: {"retry":false', answer.read())


class JobFiles(FleetTest):
    workers = 0

    def test_a_job_file_without_end_is_refused(self):
        done = self.ok(self.fleet.lockstep("plan", "/dev/zero", timeout=60), 2)
        self.assertIn("/dev/zero: has more than 1048576 bytes", done.err)


class Page(FleetTest):
    workers = 1
    fleet_options = {"http": True}

    def start_run(self):
        """One that lasts until it is stopped."""
        job = (
            "name: waits\nhosts: {count: 1}\ntargets: [{name: n, null: {}}]\nphases: "
            "[{run: {duration: 300s, workloads: [{engine: 'null', max_iops: 10}]}}]\n"
        )
        return self.ok(self.fleet.lockstep("submit", "-", stdin=job)).out.split()[0]

    def request(self, path="/", **headers):
        request = urllib.request.Request(self.fleet.url.rstrip("/") + path, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, dict(answer.headers), answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, dict(error.headers), error.read()

    def test_other_hosts_names_get_nothing(self):
        for name in (
            "evil.example",
            "evil.example:80",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "",
        ):
            with self.subTest(name):
                status, _, body = self.request("/api/status", Host=name)
                self.assertIn(status, (400, 421))
                self.assertNotIn(b"node1", body)
        for name in ("localhost", "LocalHost.:80", "127.0.0.1", "[::1]:80"):
            self.assertEqual(self.request("/api/status", Host=name)[0], 200, name)

    def test_headers(self):
        for path in ("/", "/api/status", "/nothing"):
            _, headers, _ = self.request(path)
            lower = {key.lower(): value for key, value in headers.items()}
            self.assertIn("default-src 'none'", lower["content-security-policy"])
            self.assertIn("frame-ancestors 'none'", lower["content-security-policy"])
            self.assertEqual(lower["x-content-type-options"], "nosniff")
            self.assertEqual(lower["x-frame-options"], "DENY")

    def test_limits_of_lists(self):
        for value in ("-1", "1001", "99999999999999999999", "x", ""):
            status, _, body = self.request(f"/api/runs?limit={value}")
            self.assertEqual(status, 400, value)
            self.assertIn(b"error", body)
        self.assertIn("1000", self.fleet.lockstep("history", "--limit", "100000").err)

    def test_streams_have_a_limit_and_the_page_answers_beside_them(self):
        run = self.start_run()
        host, port = self.fleet.url.split("//")[1].rstrip("/").rsplit(":", 1)
        streams, said = [], []
        try:
            for _ in range(520):
                stream = socket.create_connection((host, int(port)), timeout=20)
                streams.append(stream)
                stream.sendall(
                    f"GET /api/runs/{run}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
                )
                # Its first event: those that come at once wait for each other.
                said.append(received(stream, b"run too", b"\ndata: ").split(b"\r\n")[0])
            # The page may still count some of the streams that an earlier test has closed.
            served = said.count(b"HTTP/1.1 200 OK")
            self.assertTrue(490 <= served <= 500, served)
            refused = [b"HTTP/1.1 429 Too Many Requests"] * (520 - served)
            self.assertEqual(said, [b"HTTP/1.1 200 OK"] * served + refused)
            self.assertEqual(self.request("/api/status")[0], 200)
            # One that was told so asks again in the same connection, and is not counted.
            for _ in range(300):
                streams[-1].sendall(
                    f"GET /api/runs/{run}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
                )
                self.assertIn(b" 429 ", received(streams[-1], b"run too"))
        finally:
            for stream in streams:
                stream.close()

        # Those that went away are forgotten: as many new ones are served.
        def served():
            streams.clear()
            try:
                for _ in range(400):
                    stream = socket.create_connection((host, int(port)), timeout=20)
                    streams.append(stream)
                    stream.sendall(
                        f"GET /api/runs/{run}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
                    )
                    if b" 200 " not in stream.recv(4096).split(b"\r\n")[0]:
                        return False
                return True
            finally:
                for stream in streams:
                    stream.close()

        wait_for("400 streams to be served again", served)
        self.ok(self.fleet.lockstep("stop", run))

    def test_silent_connections_keep_nobody_out(self):
        host, port = self.fleet.url.split("//")[1].rstrip("/").rsplit(":", 1)
        run = self.start_run()
        watching = socket.create_connection((host, int(port)), timeout=20)
        watching.sendall(f"GET /api/runs/{run}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        streams = []
        try:
            for count in range(1, 1200):
                streams.append(socket.create_connection((host, int(port)), timeout=20))
                if count % 50 == 0:
                    self.assertEqual(self.request("/api/status")[0], 200, f"beside {count}")
            # The oldest ones made room; the newest one and the one that watches did not.
            streams[0].settimeout(20)
            self.assertEqual(streams[0].recv(1), b"")
            streams[-1].sendall(b"GET /api/status HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertIn(b"200 OK", received(streams[-1], b"}"))
            self.assertTrue(received(watching, b"\n\n"))
        finally:
            for stream in [watching, *streams]:
                stream.close()
            self.ok(self.fleet.lockstep("stop", run))

    def test_requests_that_two_servers_could_read_differently(self):
        host, port = self.fleet.url.split("//")[1].rstrip("/").rsplit(":", 1)
        second = b"GET /api/nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"
        for header, status in (
            (b"Host: localhost\r\n", b" 400 "),
            (b"Transfer-Encoding: xchunked\r\n", b" 200 "),
            (b"Transfer-Encoding: identity\r\n", b" 200 "),
            (b"Transfer-Encoding: chunked\r\n", b" 200 "),
            (b"Content-Length: 5\r\n", b" 200 "),
        ):
            with (
                self.subTest(header=header),
                socket.create_connection((host, int(port)), timeout=20) as stream,
            ):
                first = b"GET /api/status HTTP/1.1\r\nHost: localhost\r\n" + header
                stream.sendall(first + b"\r\n" + second)
                said = b""
                with contextlib.suppress(ConnectionError):
                    while more := stream.recv(65536):
                        said += more
                # One answer, and the connection ends: what follows is not taken for a request.
                self.assertIn(status, said)
                self.assertEqual(said.count(b"HTTP/1.1 "), 1, said)

    def test_events_go_on_where_a_browser_was_cut_off(self):
        run = self.start_run()
        host, port = self.fleet.url.split("//")[1].rstrip("/").rsplit(":", 1)

        def numbers(after, *until):
            with socket.create_connection((host, int(port)), timeout=60) as stream:
                last = f"Last-Event-ID: {after}\r\n" if after else ""
                stream.sendall(
                    f"GET /api/runs/{run}/events HTTP/1.1\r\nHost: localhost\r\n{last}\r\n".encode()
                )
                answer = received(stream, *until)
            return [int(number) for number in re.findall(rb"id: (\d+)\n", answer)]

        first = numbers(0, b'"interval":1,', b'"interval":2,')
        self.assertEqual(first, list(range(first[0], first[0] + len(first))))
        # Nobody watched then; what it has seen is not told again, and nothing is left out.
        second = numbers(first[-1], b"id: ")
        self.assertEqual(second[0], first[-1] + 1)
        again = numbers(0, b'"interval":1,', b'"interval":2,')
        self.assertEqual(again[0], first[0])
        for path, status in ((f"/api/runs/{run[:8]}/events", 400), ("/api/runs/last/events", 400)):
            self.assertEqual(self.request(path)[0], status, path)
        self.ok(self.fleet.lockstep("stop", run, "--now"))
