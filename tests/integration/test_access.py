"""Who may do what, and clients that mean harm: refused in words, and the others do not notice."""
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

from fleet import BIN, ROOT, Fleet, FleetTest, files_job, needs_root, wait_for
from test_tls import Authority

ATTACKER = os.path.join(ROOT, "bazel-bin/tests/attacker")
SECURITY = os.path.join(ROOT, "docs/security.md")
BEGIN, END = "<!-- access: written by the test; see tests/integration/test_access.py -->", "<!-- end of access -->"
PRINCIPALS = ("no certificate", "foreign CA", "expired", "viewer", "submitter", "worker", "admin")


def attack(*words, timeout=300):
    done = subprocess.run([ATTACKER, *words], capture_output=True, text=True, timeout=timeout, check=False)
    if done.returncode != 0:
        raise AssertionError(f"attacker {words}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Principals(unittest.TestCase):
    """Mutual TLS, with everybody who may knock."""

    @classmethod
    def setUpClass(cls):
        directory = tempfile.mkdtemp(prefix="lsaccess")
        cls.addClassCleanup(shutil.rmtree, directory)
        authority = Authority(directory)
        foreign = os.path.join(directory, "foreign")
        os.mkdir(foreign)
        other = Authority(foreign)
        server = authority.issue("controller", "IP:127.0.0.1,DNS:localhost,DNS:admin.role.lockstep")
        cls.flags = {
            "no certificate": ["--tls-ca", authority.path("ca.pem")],
            "foreign CA": other.issue("eve", "DNS:admin.role.lockstep")[:4] + ["--tls-ca", authority.path("ca.pem")],
            "expired": authority.issue("late", "DNS:admin.role.lockstep", days=-1),
            "viewer": authority.issue("victor", "DNS:nothing"),
            "submitter": authority.issue("anna", "DNS:submitter.role.lockstep"),
            "worker": authority.issue("node1", "DNS:worker.role.lockstep"),
            "admin": authority.issue("alma", "DNS:admin.role.lockstep"),
        }
        cls.authority = authority
        cls.node2 = authority.issue("node2", "DNS:worker.role.lockstep")
        cls.fleet = Fleet(0, controller_flags=server, http=True)
        cls.fleet.__enter__()
        cls.addClassCleanup(cls.fleet.__exit__)
        cls.fleet.start_worker("node1", flags=cls.flags["worker"])
        cls.fleet.start_worker("node2", flags=cls.node2)
        wait_for("both workers", lambda: len(cls.lockstep("admin", "status", "--format", "json").json()["workers"]) == 2)

    @classmethod
    def lockstep(cls, principal, *words, stdin=None):
        return cls.fleet.lockstep(*cls.flags[principal], *words, stdin=stdin)

    def attack(self, kind, principal, *words):
        return attack(kind, "--controller", self.fleet.address, *self.flags[principal], *words)

    def routes(self):
        with open(os.path.join(ROOT, "web/server.cc"), encoding="utf-8") as text:
            found = re.findall(r'server_\.(Get|Post|Put|Delete|Patch|Options)\(\s*(R"\((.*?)\)"|"(.*?)"|path)', text.read())
        names = []
        for method, whole, raw, plain in found:
            names.append(f"{method.upper()} " + ("/ and its assets" if whole == "path" else re.sub(r"\(\[.*?\)", "ID", raw or plain)))
        self.assertIn("GET /api/runs/ID/report", names)
        return names

    def test_the_table_of_access_is_true(self):
        """Calls every RPC as everybody; docs/security.md must say the same. LOCKSTEP_WRITE=1 writes it there."""
        cells = {}
        for principal in PRINCIPALS:
            for line in self.attack("surface", principal).splitlines():
                method, status = line.split()
                word = {"UNAVAILABLE": "no connection", "DEADLINE_EXCEEDED": "?", "PERMISSION_DENIED": "refused", "UNAUTHENTICATED": "refused", "UNIMPLEMENTED": "?"}.get(status, "served")
                cells.setdefault(method, []).append(word)
        self.assertEqual(len(cells), 13)  # all of both services
        rows = [f"| `{method}` | " + " | ".join(words) + " |" for method, words in cells.items()]
        for route in self.routes():
            # The page has no certificates: it is for this machine, or behind a proxy; it only reads.
            path = route.split(" ")[1].replace("ID", "last")
            try:
                with urllib.request.urlopen(self.fleet.url.rstrip("/") + path, timeout=20) as answer:
                    status = answer.status
            except urllib.error.HTTPError as error:
                status = error.code
                error.close()
            self.assertIn(status, (200, 404, 503), route)
            rows.append(f"| `{route}` | " + " | ".join(["served"] * len(PRINCIPALS)) + " |")
        table = "\n".join([BEGIN, "", "| call | " + " | ".join(PRINCIPALS) + " |", "| --- |" + " --- |" * len(PRINCIPALS), *rows, "", END])
        with open(SECURITY, encoding="utf-8") as text:
            document = text.read()
        before, rest = document.split(BEGIN)
        after = rest.split(END)[1]
        if os.environ.get("LOCKSTEP_WRITE"):
            with open(SECURITY, "w", encoding="utf-8") as out:
                out.write(before + table + after)
            return
        self.assertEqual(BEGIN + rest.split(END)[0] + END, table, "docs/security.md is not current: LOCKSTEP_WRITE=1 tools/test access")
        # What nobody but these may do, whatever the table says.
        order = {principal: i for i, principal in enumerate(PRINCIPALS)}
        for method in ("Submit", "Plan", "Stop"):
            self.assertEqual(cells[method][order["viewer"]], "refused", method)
            self.assertEqual(cells[method][order["worker"]], "refused", method)
        for method in ("Control", "Deliver"):
            self.assertEqual([cells[method][order[p]] for p in ("viewer", "submitter", "worker")], ["refused", "refused", "served"], method)
        self.assertEqual({cells[m][order[p]] for m in cells for p in ("no certificate", "foreign CA", "expired")}, {"no connection"})

    def test_a_worker_with_another_ones_certificate_takes_nobodys_place(self):
        with open(os.path.join(self.fleet.directory, "worker-node2", "worker-id"), encoding="ascii") as text:
            victim = text.read().strip()
        host = victim
        for name in os.listdir(os.path.join(self.fleet.directory, "worker-node2")):
            if name == "host-id":
                with open(os.path.join(self.fleet.directory, "worker-node2", name), encoding="ascii") as text:
                    host = text.read().strip()
        job = files_job(self.fleet.data, duration="8s")
        done = []
        thread = threading.Thread(target=lambda: done.append(self.lockstep("submitter", "run", "-", "--format", "json", stdin=job)))
        thread.start()

        def running():
            found = self.lockstep("viewer", "sql", "--csv", "-c", "SELECT run_id FROM lockstep.phases WHERE name = 'mix' AND state = 'running'").out.splitlines()
            return found[1:]

        try:
            run = wait_for("the load", running)[0]
            said = self.attack("impostor", "worker", "--worker-id", victim, "--host-id", host, "--name", "node2", "--run", run)
            by_name = self.attack("impostor", "worker", "--worker-id", "11111111-1111-4111-8111-111111111111", "--host-id", "22222222-2222-4222-8222-222222222222", "--name", "node2")
        finally:
            thread.join()
        for words in (said, by_name):
            self.assertIn("control: refused: ", words)
            self.assertIn("certificate", words)
            self.assertNotIn("welcome", words)
        self.assertNotIn("committed 1", said)
        self.assertEqual(done[0].status, 0, str(done[0]))
        report = done[0].json()
        mix = next(phase for phase in report["phases"] if phase["name"] == "mix")
        self.assertEqual(mix["state"], "done")
        self.assertEqual(sorted(host["host"] for host in mix["hosts"]), ["node1", "node2"])
        self.assertTrue(all(host["iops"] > 0 for host in mix["hosts"]), mix["hosts"])
        self.assertTrue(any("certificate" in event["message"] for event in report["events"]), report["events"])
        # Nobody learns ids who has no need to.
        self.assertNotIn(victim, self.lockstep("viewer", "status", "--format", "json").out)

    def test_a_uri_or_an_address_is_no_role(self):
        for name, alternative in (("uri", "URI:admin.role.lockstep"), ("mail", "email:admin.role.lockstep@x.example"), ("common", "DNS:x")):
            flags = self.authority.issue("admin.role.lockstep" if name == "common" else name, alternative)
            self.assertIn(", viewer", self.fleet.lockstep(*flags, "status").out, name)

    def test_a_certificate_named_local_owns_only_its_own(self):
        flags = self.authority.issue("local", "DNS:submitter.role.lockstep")
        job = f"name: mine\ntargets: [{{name: n, null: {{}}}}]\nphases: [{{run: {{duration: 1s, workloads: [{{engine: 'null'}}]}}}}]\n"
        done = self.fleet.lockstep(*flags, "run", "-", "--format", "json", stdin=job)
        self.assertEqual(done.status, 0, str(done))
        self.assertEqual(done.json()["run"]["owner"], "local")

    def test_trouble_with_tls_is_named(self):
        missing = self.fleet.lockstep("status")
        self.assertEqual(missing.status, 1)
        self.assertIn("TLS", missing.err)
        foreign = self.fleet.lockstep(*self.flags["foreign CA"], "status")
        self.assertEqual(foreign.status, 1)
        self.assertIn("certificate", foreign.err)
        wrong = self.flags["viewer"][:2] + ["--tls-key", self.authority.path("anna.key")] + self.flags["viewer"][4:]
        self.assertIn("key", self.fleet.lockstep(*wrong, "status").err)
        worker = subprocess.run([f"{BIN}/lockstep-worker", "--controller", self.fleet.address, "--state-dir", os.path.join(self.fleet.directory, "wrong"), *wrong], capture_output=True, text=True, timeout=30,
                                check=False)
        self.assertEqual(worker.returncode, 1)
        self.assertIn("key", worker.stderr)


class Hostile(FleetTest):
    workers = 4
    fleet_options = {"http": True}

    def attack(self, kind, *words):
        return attack(kind, "--controller", self.fleet.address, *words)

    def memory_mib(self):
        with open(f"/proc/{self.fleet.controller.pid}/status", encoding="ascii") as text:
            return int(re.search(r"VmHWM:\s+(\d+)", text.read()).group(1)) / 1024

    def test_a_run_does_not_notice_hostile_calls(self):
        running = self.fleet.start_lockstep("run", "-", "--format", "json", stdin=files_job(self.fleet.data, hosts=4, duration="12s"))
        self.fleet.await_phase("mix")
        said = self.attack("storm", "--calls", "1500", "--parallel", "8")
        self.assertIn("INVALID_ARGUMENT", said)
        out, err = running.communicate(timeout=120)
        self.assertEqual(running.returncode, 0, out + err)
        run = self.fleet.lockstep("report", "--format", "json").json()["run"]
        self.assertIsNone(self.fleet.controller.poll())
        self.assertEqual(self.fleet.sql("SELECT count(*) FROM lost_workers")[0][0], "0", run)
        self.assertLess(self.memory_mib(), 256)

    def test_absurd_jobs_are_refused_by_field(self):
        said = self.attack("jobs")
        accepted = [line for line in said.splitlines() if line.startswith(("ACCEPTED", "UNCLEAR"))]
        # Counts that only say "at most so many", and what no device is ever slow enough for, harm nobody.
        harmless = {"min_hosts", "count", "seed", "operations", "error_limit", "start_skew_limit_ns", "think_every", "burst", "io_size_bytes",
                    "errors", "iops", "throughput_bytes_per_second"}
        harmful = [line for line in accepted if line.split(" = ")[0].split(".")[-1].split(" ")[-1] not in harmless]
        self.assertEqual(harmful, [])
        self.assertGreater(int(re.search(r"refused (\d+)", said).group(1)), 240)
        self.assertIsNone(self.fleet.controller.poll())
        wait_for("the queue to be empty", lambda: not self.fleet.sql("SELECT 1 FROM runs WHERE state IN ('queued', 'starting', 'running')"), 120)
        self.ok(self.fleet.run_job(files_job(self.fleet.data, duration="1s")))

    def test_connections_that_say_nothing_or_nonsense(self):
        running = self.fleet.start_lockstep("run", "-", stdin=files_job(self.fleet.data, hosts=4, duration="10s"))
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
                    nonsense = (b"", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 64, os.urandom(500), b"GET /api/status HTTP/1.1\r\nX-Slow:", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")[i % 6]
                    try:
                        connection.sendall(nonsense)
                    except OSError:
                        pass
            self.assertEqual(self.fleet.lockstep("status").status, 0)
            wait_for("the page to answer", self.page_answers, 60)
        finally:
            for connection in sockets:
                connection.close()
        out, err = running.communicate(timeout=120)
        self.assertEqual(running.returncode, 0, out + err)
        self.assertEqual(self.fleet.sql("SELECT count(*) FROM lost_workers")[0][0], "0")

    def page_answers(self):
        try:
            with urllib.request.urlopen(self.fleet.url + "api/status", timeout=10) as answer:
                return answer.status == 200
        except OSError:
            return False

    def test_stop_says_what_it_stopped_and_asks_where_several_could_be_meant(self):
        first = self.fleet.start_lockstep("run", "-", stdin=files_job(self.fleet.data, hosts=4, duration="60s"))
        self.fleet.await_phase("mix")
        loading = self.fleet.sql("SELECT last_run()")[0][0]
        queued = self.ok(self.fleet.lockstep("submit", "-", stdin=files_job(self.fleet.data, hosts=4, duration="60s"))).out.split()[0]
        unclear = self.fleet.lockstep("stop")
        self.assertNotEqual(unclear.status, 0)
        self.assertIn(loading[:8], unclear.out + unclear.err)
        self.assertIn(queued[:8], unclear.out + unclear.err)
        for words in (("stop", ""), ("report", "")):
            empty = self.fleet.lockstep(*words)
            self.assertNotEqual(empty.status, 0)
            self.assertIn("no run is named", empty.err)
        self.assertEqual(self.fleet.sql(f"SELECT state FROM runs WHERE run_id = '{loading}'")[0][0], "running")
        stopped = self.ok(self.fleet.lockstep("stop", queued))
        self.assertIn(queued[:8], stopped.out)
        self.assertIn("cancelled", stopped.out)
        stopped = self.ok(self.fleet.lockstep("stop"))
        self.assertIn(loading[:8], stopped.out)
        first.communicate(timeout=60)

    def test_sigterm_to_run_ends_the_load(self):
        """A CI's time-out: like Ctrl-C without a terminal."""
        running = self.fleet.start_lockstep("run", "-", stdin=files_job(self.fleet.data, hosts=4, duration="300s"))
        self.fleet.await_phase("mix")
        running.send_signal(signal.SIGTERM)
        out, err = running.communicate(timeout=60)
        self.assertNotEqual(running.returncode, 0)
        self.assertIn("cancel", out + err)
        wait_for("the run to end", lambda: self.fleet.sql("SELECT state FROM runs WHERE run_id = last_run()")[0][0] == "cancelled")


class Poison(unittest.TestCase):

    def test_a_run_that_brings_the_controller_down_twice_is_set_aside(self):
        """As two crashes leave it: the run's id stands in the file of what is being worked on when the controller is killed."""
        with Fleet(1) as fleet:
            blocked = "name: poison\nhosts: {names: nobody}\ntargets: [{name: n, null: {}}]\nphases: [{run: {duration: 1s, workloads: [{engine: 'null'}]}}]\n"
            # It waits for a host that comes later.
            fleet.start_worker("nobody")
            fleet.wait_attached(2)
            long = fleet.start_lockstep("run", "-", stdin=blocked.replace("1s", "120s").replace("poison", "first"))
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
            self.assertIn("set aside: 2 controllers ended while they worked on it", state[1])
            self.assertIn("set aside", fleet.sql(f"SELECT message FROM events WHERE run_id = '{run}'")[0][0])
            fleet.lockstep("stop", "last")
            for row in fleet.sql("SELECT run_id FROM runs WHERE state IN ('running', 'queued')"):
                fleet.lockstep("stop", row[0])
            long.communicate(timeout=90)


class Shown(FleetTest):
    workers = 1

    def test_foreign_texts_do_not_reach_terminals_and_spreadsheets_raw(self):
        job = "name: '=cmd|calc'\nlabels: {a: '@x'}\ntargets: [{name: n, null: {}}]\nphases: [{name: '+sum', run: {duration: 1s, workloads: [{engine: 'null', name: '-w'}]}}]\n"
        done = self.ok(self.fleet.run_job(job, "--format", "csv"))
        for line in done.out.splitlines():
            for cell in line.split(","):
                self.assertFalse(cell.startswith(("=", "@", "+sum", "-w")), line)
                self.assertNotIn("e+", cell)
        refused = self.fleet.run_job("name: \"a\\e]0;owned\\a\"\n" + job.split("\n", 1)[1])
        self.assertEqual(refused.status, 2)
        self.assertNotIn("\x1b", refused.out + refused.err)
        worker = subprocess.run([f"{BIN}/lockstep-worker", "--controller", self.fleet.address, "--state-dir", os.path.join(self.fleet.directory, "odd"), "--name", "../../etc\nfake"], capture_output=True,
                                text=True, timeout=30, check=False)
        self.assertNotEqual(worker.returncode, 0)
        self.assertIn("name", worker.stderr)


class Page(FleetTest):
    workers = 1
    fleet_options = {"http": True}

    def request(self, path="/", **headers):
        request = urllib.request.Request(self.fleet.url.rstrip("/") + path, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, dict(answer.headers), answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, dict(error.headers), error.read()

    def test_other_hosts_names_get_nothing(self):
        for name in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example", ""):
            with self.subTest(name):
                status, _, body = self.request("/api/status", Host=name)
                self.assertIn(status, (400, 421))
                self.assertNotIn(b"node1", body)
        for name in ("localhost", "127.0.0.1", "[::1]:80"):
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
        job = f"name: waits\nhosts: {{count: 1}}\ntargets: [{{name: n, null: {{}}}}]\nphases: [{{run: {{duration: 300s, workloads: [{{engine: 'null', max_iops: 10}}]}}}}]\n"
        run = self.ok(self.fleet.lockstep("submit", "-", stdin=job)).out.split()[0]
        host, port = self.fleet.url.split("//")[1].rstrip("/").rsplit(":", 1)
        streams, refused = [], 0
        try:
            for _ in range(80):
                stream = socket.create_connection((host, int(port)), timeout=20)
                streams.append(stream)
                stream.sendall(f"GET /api/runs/{run}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                if b" 429 " in stream.recv(4096).split(b"\r\n")[0]:
                    refused += 1
            self.assertGreaterEqual(refused, 16)
            self.assertEqual(self.request("/api/status")[0], 200)
        finally:
            for stream in streams:
                stream.close()
        # Those that went away are forgotten: new ones are served.
        def served():
            with socket.create_connection((host, int(port)), timeout=20) as stream:
                stream.sendall(f"GET /api/runs/{run}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                return b" 200 " in stream.recv(4096).split(b"\r\n")[0]
        wait_for("a stream to be served again", served, 60)
        self.ok(self.fleet.lockstep("stop", run))


class Deceived(unittest.TestCase):
    """What a controller that lies can make of the command line, and names that only look like loopback."""

    def test_sql_runs_nothing_that_the_controller_says(self):
        directory = tempfile.mkdtemp(prefix="lsliar")
        self.addCleanup(shutil.rmtree, directory)
        proof = os.path.join(directory, "proof")
        for answer in (f"--output=|id > {proof}", f"-o{proof}", f"host=/tmp options='-c x' --output=|id>{proof}", f"dbname=x\n\\! id > {proof}", "service=evil", "passfile=/etc/shadow host=127.0.0.1",
                       "host=203.0.113.1 sslkey=/etc/shadow", "", "\0", "postgresql://x@y/z?sslrootcert=/etc/shadow"):
            with self.subTest(answer):
                if "\0" in answer:
                    continue
                liar = subprocess.Popen([ATTACKER, "liar", "--answer", answer], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                try:
                    address = liar.stdout.readline().split()[1]
                    done = subprocess.run([f"{BIN}/lockstep", "--controller", address, "sql", "-c", "SELECT 1"], capture_output=True, text=True, timeout=60, check=False)
                    self.assertNotEqual(done.returncode, 0)
                    self.assertIn("the controller's address of the store is not used", done.stderr)
                    self.assertFalse(os.path.exists(proof))
                finally:
                    liar.communicate("")

    def test_a_name_that_begins_like_loopback(self):
        for name in ("127.0.0.1.evil.example:9640", "localhost.evil.example:9640", "127.1.evil.example:9640"):
            done = subprocess.run([f"{BIN}/lockstep", "--controller", name, "status"], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("is not on this machine; give --tls-cert", done.stderr)

    def test_a_command_that_does_not_exist(self):
        done = subprocess.run([f"{BIN}/lockstep", "frobnicate"], capture_output=True, text=True, timeout=60, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("frobnicate", done.stderr)


class ReadingRole(FleetTest):
    workers = 0

    def refused(self, query):
        done = self.fleet.lockstep("sql", "-c", query)
        self.assertNotEqual(done.status, 0, f"{query}\n{done}")

    def test_it_makes_nothing_and_locks_nothing(self):
        for query in ("CREATE TEMP TABLE x (a int)", "SELECT lo_create(0)", "SELECT lo_from_bytea(0, 'x')", "CREATE TABLE x (a int)", "LOCK TABLE lockstep.controller_lock IN EXCLUSIVE MODE",
                      "SELECT * FROM lockstep.controller_lock", "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'", "COPY (SELECT 1) TO PROGRAM 'id'"):
            with self.subTest(query):
                self.refused(query)

    def test_its_own_settings_do_not_last(self):
        # A role may change its own defaults; what the controller gives out, and looks after, is stronger.
        self.fleet.lockstep("sql", "-c", "ALTER ROLE lockstep_reader SET statement_timeout = 0")
        stop_and_start(self)
        self.assertEqual(self.fleet.sql("SELECT count(*) FROM pg_db_role_setting s JOIN pg_roles r ON r.oid = s.setrole WHERE r.rolname = 'lockstep_reader' AND 'statement_timeout=0' = ANY(s.setconfig)")[0][0],
                         "0")

    def test_an_advisory_lock_keeps_no_controller_out(self):
        held = self.fleet.start_lockstep("sql", stdin=None)
        try:
            held.stdin.write("SELECT count(pg_try_advisory_lock(i)) FROM generate_series(0, 5000) i;\nSELECT 'locked';\n")
            held.stdin.flush()
            for line in held.stdout:
                if "locked" in line:
                    break
            self.fleet.controller.kill()
            self.fleet.controller.wait()
            self.fleet.start_controller()  # waits until it is active
            self.assertEqual(self.fleet.lockstep("status").status, 0)
        finally:
            held.kill()
            held.communicate()


def stop_and_start(test):
    test.fleet.controller.terminate()
    test.fleet.controller.wait(60)
    test.fleet.start_controller()


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
                done = subprocess.Popen([f"{BIN}/lockstep-controller", "--listen", "127.0.0.1:0", "--state-dir", state], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                try:
                    done.wait(20)
                except subprocess.TimeoutExpired:
                    pass  # it did without that path
                finally:
                    done.terminate()
                    done.communicate(timeout=60)
                for path in (precious, os.path.join(precious, "key")):
                    self.assertEqual(os.stat(path).st_uid, 0, path)
                self.assertEqual(os.stat(precious).st_mode & 0o777, 0o755)
                self.assertEqual(os.stat(os.path.join(precious, "key")).st_mode & 0o777, 0o600)
                self.assertEqual(os.listdir(precious), ["key"])


if __name__ == "__main__":
    unittest.main()
