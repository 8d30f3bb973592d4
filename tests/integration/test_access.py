"""Roles and certificates: the calls that each principal may make."""

import os
import re
import shutil
import subprocess
import tempfile
import threading
import unittest
import urllib.error
import urllib.request

from attacker import attack
from fleet import BIN, ROOT, Fleet, files_job, wait_for
from test_tls import Authority

SECURITY = os.path.join(ROOT, "docs/reference/security.md")
BEGIN, END = (
    "<!-- access: written by the test; see tests/integration/test_access.py -->",
    "<!-- end of access -->",
)
PRINCIPALS = ("no certificate", "foreign CA", "expired", "viewer", "submitter", "worker", "admin")


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
            "foreign CA": other.issue("eve", "DNS:admin.role.lockstep")[:4]
            + ["--tls-ca", authority.path("ca.pem")],
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
        wait_for(
            "both workers",
            lambda: len(cls.lockstep("admin", "status", "--format", "json").json()["workers"]) == 2,
        )

    @classmethod
    def lockstep(cls, principal, *words, stdin=None):
        return cls.fleet.lockstep(*cls.flags[principal], *words, stdin=stdin)

    def attack(self, kind, principal, *words):
        return attack(kind, "--controller", self.fleet.address, *self.flags[principal], *words)

    def routes(self):
        with open(os.path.join(ROOT, "docs/reference/http.md"), encoding="utf-8") as text:
            found = re.findall(r"(?m)^\| `(/api/[^`?]*)", text.read())
        names = ["GET / and its assets"]
        names += [f"GET {path.replace('RUN', 'ID')}" for path in found]
        self.assertIn("GET /api/runs/ID/report", names)
        return names

    def served(self):
        """By RPC: what each principal gets."""
        cells = {}
        words = {
            "UNAVAILABLE": "no connection",
            "DEADLINE_EXCEEDED": "?",
            "PERMISSION_DENIED": "refused",
            "UNAUTHENTICATED": "refused",
            "UNIMPLEMENTED": "?",
        }
        for principal in PRINCIPALS:
            for line in self.attack("surface", principal).splitlines():
                method, status = line.split()
                cells.setdefault(method, {})[principal] = words.get(status, "served")
        return cells

    def status_of(self, route):
        path = route.split(" ")[1].replace("ID", "last")
        try:
            url = self.fleet.url.rstrip("/") + path
            with urllib.request.urlopen(url, timeout=20) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            with error:
                return error.code

    def test_the_table_of_access_is_true(self):
        """Calls every RPC as everybody; docs/reference/security.md must say the same.
        LOCKSTEP_WRITE=1 writes it there.
        """
        cells = self.served()
        self.assertEqual(len(cells), 26)  # all of both services
        rows = [f"| `{rpc}` | " + " | ".join(cells[rpc].values()) + " |" for rpc in cells]
        for route in self.routes():
            # On loopback the page asks for no certificate; it only reads.
            self.assertIn(self.status_of(route), (200, 400, 404, 503), route)
            rows.append(f"| `{route}` | " + " | ".join(["served"] * len(PRINCIPALS)) + " |")
        head = ["| call | " + " | ".join(PRINCIPALS) + " |"]
        head += ["| --- |" + " --- |" * len(PRINCIPALS)]
        table = "\n".join([BEGIN, "", *head, *rows, "", END])
        with open(SECURITY, encoding="utf-8") as text:
            document = text.read()
        before, rest = document.split(BEGIN)
        now, after = rest.split(END)
        if os.environ.get("LOCKSTEP_WRITE"):
            with open(SECURITY, "w", encoding="utf-8") as out:
                out.write(before + table + after)
            return
        self.assertEqual(
            BEGIN + now + END,
            table,
            "docs/reference/security.md is not current: LOCKSTEP_WRITE=1 tools/test access",
        )
        # Nobody but these may make the calls, whatever the table says.
        for method in ("Prune", "ImportRun", "Enroll", "Forget", "GetAuditLog"):
            served = [who for who in PRINCIPALS if cells[method][who] == "served"]
            self.assertEqual(served, ["admin"], method)
        for method in ("Submit", "Plan", "Stop", "SetLabels", "AddNote", "RemoveNote"):
            self.assertEqual(cells[method]["viewer"], "refused", method)
            self.assertEqual(cells[method]["worker"], "refused", method)
        for method in ("Control", "Deliver", "LoadWriteLog"):
            self.assertEqual(
                [cells[method][who] for who in ("viewer", "submitter", "worker")],
                ["refused", "refused", "served"],
                method,
            )
        strangers = ("no certificate", "foreign CA", "expired")
        self.assertEqual({cells[m][who] for m in cells for who in strangers}, {"no connection"})

    def ids_of_node2(self):
        """Its worker id and its host id."""
        directory = os.path.join(self.fleet.directory, "worker-node2")
        found = {}
        for name in ("worker-id", "host-id"):
            path = os.path.join(directory, name)
            if os.path.exists(path):
                with open(path, encoding="ascii") as text:
                    found[name] = text.read().strip()
        return found["worker-id"], found.get("host-id", found["worker-id"])

    def impostor(self, worker_id, host_id, *words):
        ids = ["--worker-id", worker_id, "--host-id", host_id]
        return self.attack("impostor", "worker", *ids, "--name", "node2", *words)

    def test_a_worker_with_another_certificate_is_refused(self):
        victim, host = self.ids_of_node2()
        job = files_job(self.fleet.data, duration="8s")
        done = []
        thread = threading.Thread(
            target=lambda: done.append(
                self.lockstep("submitter", "run", "-", "--format", "json", stdin=job)
            )
        )
        thread.start()
        phases = "SELECT run_id FROM lockstep.phases WHERE name = 'mix' AND state = 'running'"

        def running():
            return self.lockstep("viewer", "sql", "--csv", "-c", phases).out.splitlines()[1:]

        try:
            run = wait_for("the load", running)[0]
            said = self.impostor(victim, host, "--run", run)
            by_name = self.impostor(
                "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
            )
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
        self.assertTrue(
            any("certificate" in event["message"] for event in report["events"]), report["events"]
        )
        # Nobody learns ids who has no need to.
        self.assertNotIn(victim, self.lockstep("viewer", "status", "--format", "json").out)

    def test_a_host_s_id_belongs_to_its_certificate_under_any_name(self):
        """Another worker's id under a name of one's own once took the victim's binding away."""
        _, host = self.ids_of_node2()
        fresh = "33333333-3333-4333-8333-333333333333"
        for ids in ((fresh, host), (host, fresh)):
            said = self.attack(
                "impostor",
                "worker",
                *("--worker-id", ids[0], "--host-id", ids[1], "--name", "elsewhere"),
            )
            self.assertIn("control: refused: ", said)
            self.assertIn("of host node2", said)
            self.assertNotIn(host, said.replace(f"--host-id {host}", ""))
        entries = self.lockstep("admin", "audit", "--action", "attach", "--format", "json").json()[
            "entries"
        ]
        self.assertTrue(
            any(
                (entry["principal"], entry["subject"], entry["answer"])
                == ("node1", "elsewhere", "PERMISSION_DENIED")
                and "of host node2" in entry["details"]
                for entry in entries
            ),
            entries,
        )
        # The victim is there as before, and nobody has been renamed.
        workers = self.lockstep("admin", "status", "--format", "json").json()["workers"]
        names = sorted(worker["hello"]["host"]["name"] for worker in workers)
        self.assertEqual(names, ["node1", "node2"])
        hosts = self.lockstep("viewer", "sql", "--csv", "-c", "SELECT name FROM lockstep.hosts")
        self.assertNotIn("elsewhere", hosts.out)

    def test_ids_are_for_the_controller_alone(self):
        worker, host = self.ids_of_node2()
        run = self.lockstep("submitter", "run", "-", stdin=files_job(self.fleet.data))
        self.assertEqual(run.status, 0, str(run))
        archive = os.path.join(self.fleet.directory, "run.lockstep")
        exported = self.lockstep("viewer", "export", "last", "--output", archive)
        self.assertEqual(exported.status, 0, str(exported))
        with open(archive, "rb") as data:
            bytes_of_it = data.read()
        said = [
            self.lockstep("admin", "status", "--format", "json").out,
            self.lockstep("viewer", "report", "--format", "json").out,
            self.lockstep("viewer", "devices", "--format", "json").out,
            urllib.request.urlopen(self.fleet.url.rstrip("/") + "/api/status").read().decode(),
        ]
        for text in said:
            self.assertNotIn(worker, text)
            self.assertNotIn(host, text)
        self.assertNotIn(worker.encode(), bytes_of_it)
        for query in (
            "SELECT host_id FROM lockstep.hosts",
            "SELECT worker_id FROM lockstep.workers",
            "SELECT hello FROM lockstep.run_workers",
            "SELECT * FROM lockstep.host_bindings",
            "SELECT * FROM lockstep.store_secret",
            "SELECT * FROM lockstep.audit_log",
        ):
            done = self.lockstep("viewer", "sql", "-c", query)
            self.assertIn("permission denied", done.err, query)

    def test_calls_that_fail_do_not_fill_the_record(self):
        """One caller's calls that were not served are counted after the first of a minute."""
        calls = 130  # more than two minutes' worth
        for _ in range(calls):
            self.assertNotEqual(self.lockstep("admin", "stop", "ffffffff").status, 0)

        def kept():
            words = ("--action", "stop", "--principal", "alma", "--limit", "1000")
            listed = self.lockstep("admin", "audit", "--format", "json", *words).json()
            return [e for e in listed.get("entries", []) if "ffffffff" in str(e)]

        wait_for("the first of them", kept)
        self.assertLess(len(kept()), calls)

    def test_who_changed_what_is_on_record(self):
        job = files_job(self.fleet.data).replace("name: ", "name: audited-", 1)
        submitted = self.lockstep("submitter", "run", "-", stdin=job)
        self.assertEqual(submitted.status, 0, str(submitted))
        runs = self.lockstep("viewer", "history", "--format", "json").json()["runs"]
        run = runs[0]["runId"]
        self.lockstep("submitter", "label", run, "reviewed=yes")
        self.lockstep("submitter", "note", run, "a cable was pulled")
        self.lockstep("viewer", "note", run, "seen by victor")
        self.lockstep("admin", "note", run, "a note of alma")
        refused = self.lockstep("submitter", "note", run, "--remove", "2")
        self.assertEqual(refused.status, 1, str(refused))
        self.assertIn("note 2 is alma's; only its author or an admin removes it", refused.err)
        for who, number in (("submitter", "1"), ("admin", "2")):
            removed = self.lockstep(who, "note", run, "--remove", number)
            self.assertEqual(removed.status, 0, str(removed))
        self.lockstep("submitter", "stop", run, "--reason", "enough")
        self.lockstep("viewer", "stop", run)
        self.lockstep("submitter", "forget", "node1")

        def entries(*words):
            listed = self.lockstep("admin", "audit", "--format", "json", *words)
            return listed.json().get("entries", [])

        wait_for("the refusal of forget", lambda: entries("--action", "forget"))
        of_run = [e for e in entries() if e.get("subject", "").startswith(run)]
        kinds = {(e["action"], e["principal"], e["answer"]) for e in of_run}
        self.assertIn(("submit", "anna", "OK"), kinds)
        self.assertIn(("label", "anna", "OK"), kinds)
        self.assertIn(("note", "anna", "OK"), kinds)
        self.assertIn("a cable was pulled", str(of_run))
        removed = [e for e in of_run if e["details"].startswith("remove 2")]
        removals = {(e["principal"], e["answer"]) for e in removed}
        self.assertEqual(removals, {("anna", "PERMISSION_DENIED"), ("alma", "OK")})
        self.assertIn(("stop", "anna", "FAILED_PRECONDITION"), kinds)
        denied = {(e["action"], e["principal"]) for e in entries() if "DENIED" in e["answer"]}
        self.assertIn(("stop", "victor"), denied)
        self.assertIn(("note", "victor"), denied)
        self.assertIn(("forget", "anna"), denied)
        for entry in entries():
            self.assertRegex(entry["at"], r"^20\d\d-\d\d-\d\dT[\d:.]+Z$")
            self.assertIn("127.0.0.1", entry["peer"])
        self.assertIn("enough", str(of_run))
        # For admins, and appended only.
        self.assertIn("needs the role admin", self.lockstep("submitter", "audit").err)
        self.assertIn("anna", self.lockstep("admin", "audit").out)
        for change in (
            "UPDATE audit_log SET principal = 'eve'",
            "TRUNCATE audit_log",
            "DELETE FROM audit_log",
        ):
            with self.assertRaises(subprocess.CalledProcessError):
                self.fleet.owner_sql(f"SET search_path = lockstep; {change}")

    def test_a_uri_or_an_address_is_no_role(self):
        for name, alternative in (
            ("uri", "URI:admin.role.lockstep"),
            ("mail", "email:admin.role.lockstep@x.example"),
            ("common", "DNS:x"),
        ):
            flags = self.authority.issue(
                "admin.role.lockstep" if name == "common" else name, alternative
            )
            self.assertIn(", viewer", self.fleet.lockstep(*flags, "status").out, name)

    def test_a_certificate_named_local_owns_only_its_own(self):
        flags = self.authority.issue("local", "DNS:submitter.role.lockstep")
        job = (
            "name: mine\ntargets: [{name: n, null: {}}]\nphases: "
            "[{run: {duration: 1s, workloads: [{engine: 'null'}]}}]\n"
        )
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
        wrong = (
            self.flags["viewer"][:2]
            + ["--tls-key", self.authority.path("anna.key")]
            + self.flags["viewer"][4:]
        )
        self.assertIn("key", self.fleet.lockstep(*wrong, "status").err)
        worker = subprocess.run(
            [
                f"{BIN}/lockstep-worker",
                "--controller",
                self.fleet.address,
                "--state-dir",
                os.path.join(self.fleet.directory, "wrong"),
                *wrong,
            ],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        self.assertEqual(worker.returncode, 1)
        self.assertIn("key", worker.stderr)
