"""Help for a set-up that does not work: doctor and support-bundle, and the guide about both."""

import contextlib
import json
import os
import re
import shlex
import signal
import stat
import subprocess
import tarfile
import tempfile
import unittest

from fleet import BIN, Fleet, FleetTest, files_job, needs_root, wait_for
from loops import MIB, LoopDevice
from test_docs import blocks, commands
from test_faults import FAULTFS
from test_tls import Authority

SECRET = "Hunter2-Secret"


def doctor(*words, env=None, program="lockstep-worker"):
    """A program's doctor: its exit status, and its findings by check."""
    done = subprocess.run(
        [f"{BIN}/{program}", *words],
        capture_output=True,
        text=True,
        timeout=120,
        env=env,
        check=False,
    )
    try:
        report = json.loads(done.stdout)
    except ValueError:
        raise AssertionError(f"exit {done.returncode}: {done.stdout}{done.stderr}") from None
    assert report["exitStatus"] == done.returncode, report
    return done.returncode, report["findings"]


def by_check(findings, area):
    return {found["check"]: found for found in findings if found["area"] == area}


class Doctor(FleetTest):
    workers = 1

    def check(self, *words):
        return doctor("doctor", "--json", *words, env=self.fleet.environment(), program="lockstep")

    def test_a_fleet_that_works(self):
        status, findings = self.check("--allow", self.fleet.data)
        areas = {found["area"] for found in findings}
        self.assertLessEqual({"host", "allow", "controller", "store"}, areas)
        self.assertLess(status, 2, [f for f in findings if f["severity"] == "problem"])
        controller = by_check(findings, "controller")
        self.assertEqual(controller["version"]["severity"], "ok")
        self.assertIn("a call takes", controller["latency"]["found"])
        store = by_check(findings, "store")
        self.assertEqual(store["reader"]["severity"], "ok", store)
        self.assertEqual(store["schema"]["severity"], "ok", store)
        self.assertIn("free at", store["space"]["found"])
        for found in findings:
            if found["severity"] != "ok":
                self.assertTrue(found["why"] and found["help"], found)

    def test_text_is_for_people(self):
        done = self.fleet.lockstep("doctor", "--allow", self.fleet.data)
        self.assertIn(done.status, (0, 1))
        self.assertIn(
            f"controller {self.fleet.address}\n  ok       connection: plaintext", done.out
        )
        self.assertRegex(done.out, r"\n(no|\d+) problems?, (no|\d+) warnings?\n$")

    def test_no_controller_is_a_problem(self):
        status, findings = self.check("--controller", "127.0.0.1:1")
        self.assertEqual(status, 2)
        found = by_check(findings, "controller")["connection"]
        self.assertEqual(found["severity"], "problem")
        self.assertIn("lockstep up", found["help"])

    def test_a_second_address_that_answers_is_a_warning(self):
        both = f"127.0.0.1:1,{self.fleet.address}"
        status, findings = self.check("--controller", both)
        self.assertLess(status, 2)
        first = [f for f in findings if f["subject"] == "127.0.0.1:1"]
        self.assertEqual([f["severity"] for f in first], ["warning"])

    def test_a_reader_that_may_write_is_a_problem(self):
        self.fleet.owner_sql("GRANT INSERT ON lockstep.runs TO lockstep_reader")
        try:
            status, findings = self.check()
        finally:
            self.fleet.owner_sql("REVOKE INSERT ON lockstep.runs FROM lockstep_reader")
        self.assertEqual(status, 2)
        self.assertIn("REVOKE", by_check(findings, "store")["reader"]["help"])


class WorkersDoctor(unittest.TestCase):
    def test_it_makes_nothing(self):
        with tempfile.TemporaryDirectory() as directory:
            state = os.path.join(directory, "a/state")
            _, findings = doctor(
                "--doctor=host", "--doctor-json", "--state-dir", state, "--allow", directory
            )
            self.assertEqual(os.listdir(directory), [])
        self.assertEqual(by_check(findings, "controller"), {})
        self.assertIn(directory, by_check(findings, "allow"))

    def test_what_does_not_exist_is_a_problem(self):
        status, findings = doctor(
            "--doctor=host", "--doctor-json", "--allow", "/nowhere", "--allow", "wwn-of-nobody"
        )
        self.assertEqual(status, 2)
        allow = by_check(findings, "allow")
        self.assertEqual(allow["/nowhere"]["severity"], "problem")
        self.assertEqual(allow["wwn-of-nobody"]["severity"], "problem")

    def test_with_all_it_calls_the_controller(self):
        words = ("--doctor", "--doctor-json", "--controller", "127.0.0.1:1")
        status, findings = doctor(*words)
        self.assertEqual(status, 2)
        self.assertEqual(by_check(findings, "controller")["connection"]["severity"], "problem")

    @needs_root
    def test_what_the_guard_would_say_of_a_device(self):
        with tempfile.TemporaryDirectory() as directory, LoopDevice(directory) as device:
            words = ("--doctor=host", "--doctor-json", "--allow", device.path)
            found = by_check(doctor(*words)[1], "allow")[device.path]
            self.assertEqual(found["severity"], "ok", found)
            subprocess.run(["mkfs.ext4", "-q", device.path], check=True)
            with open(device.path, "rb") as raw:
                before = raw.read(MIB)
            found = by_check(doctor(*words)[1], "allow")[device.path]
            self.assertEqual(found["severity"], "warning", found)
            self.assertIn("ext4", found["found"])
            self.assertIn("--allow-expendable", found["help"])
            with open(device.path, "rb") as raw:
                self.assertEqual(raw.read(MIB), before)


@needs_root
class DeadFileSystem(FleetTest):
    """A file server that is away: a process that asks it anything waits for ever."""

    workers = 0

    def setUp(self):
        self.point = tempfile.mkdtemp(dir=self.fleet.directory)
        self.server = subprocess.Popen([FAULTFS, "-f", self.point], stderr=subprocess.DEVNULL)
        self.addCleanup(self.unmount)
        wait_for("the file system to be mounted", lambda: os.path.ismount(self.point))
        os.kill(self.server.pid, signal.SIGSTOP)
        # Before anything waits for a process that hangs in it.
        self.addCleanup(os.kill, self.server.pid, signal.SIGCONT)

    def unmount(self):
        subprocess.run(["umount", "-l", self.point], check=False)
        self.server.kill()
        self.server.wait()

    def test_the_doctor_says_so_and_goes_on(self):
        environment = self.fleet.environment()
        path = f"{self.point}/x"
        status, findings = doctor(
            "--doctor", "--doctor-json", "--iscsi-secrets", path, "--tls-dir", path, env=environment
        )
        self.assertEqual(status, 2)
        self.assertIn("does not answer", by_check(findings, "allow")["iscsi"]["found"])
        found = by_check(findings, "certificates")["certificate"]
        self.assertIn("does not answer", found["found"])
        environment["HOME"] = self.point
        _, findings = doctor("doctor", "--json", env=environment, program="lockstep")
        self.assertIn("role", by_check(findings, "controller"))
        self.assertIn("does not answer", by_check(findings, "store")["connection"]["found"])

    def test_a_bundle_is_made_all_the_same(self):
        path = os.path.join(self.fleet.directory, "dead.tar.gz")
        words = ("support-bundle", "--output", path, "--log", f"{self.point}/x.log")
        environment = {**self.fleet.environment(), "HOME": self.point}
        subprocess.run([f"{BIN}/lockstep", *words], env=environment, timeout=120, check=True)
        self.assertTrue(os.path.exists(path))


class Certificates(unittest.TestCase):
    def test_their_dates_and_the_mode_of_the_key(self):
        with contextlib.ExitStack() as stack:
            directory = stack.enter_context(tempfile.TemporaryDirectory())
            authority = Authority(directory)
            for name, role in (("controller", "IP:127.0.0.1"), ("anna", "DNS:admin.role.lockstep")):
                authority.issue(name, role)

            def files(name):
                return [
                    f"--tls-cert={authority.path(name + '.pem')}",
                    f"--tls-key={authority.path(name + '.key')}",
                    f"--tls-ca={authority.path('ca.pem')}",
                ]

            fleet = stack.enter_context(Fleet(0, controller_flags=files("controller")))
            os.chmod(authority.path("anna.key"), 0o644)
            status, findings = doctor(
                "doctor", "--json", *files("anna"), env=fleet.environment(), program="lockstep"
            )
        self.assertEqual(status, 1, [f for f in findings if f["severity"] == "problem"])
        texts = [f["found"] for f in findings]
        for part in ("(anna, admin) expires on ", "the controller's certificate", "0644"):
            self.assertTrue(any(part in text for text in texts), (part, texts))
        self.assertIn("anna, admin", by_check(findings, "controller")["role"]["found"])


class CertificateDirectory(unittest.TestCase):
    def test_it_is_checked_as_its_files_are(self):
        with tempfile.TemporaryDirectory() as directory:
            pki = ["pki", "--dir", f"{directory}/pki"]
            for words in (["init"], ["issue", "user", "anna", "--valid", "2d"]):
                subprocess.run([f"{BIN}/lockstep", *pki, *words], check=True, capture_output=True)
            os.chmod(f"{directory}/pki/anna/key.pem", 0o644)
            words = ["--controller", "127.0.0.1:1", "--tls-dir", f"{directory}/pki/anna"]
            _, findings = doctor(*words, "doctor", "--json", program="lockstep")
        found = [f["found"] for f in findings if f["area"] == "certificates"]
        for part in ("0644", "(anna, submitter) expires on", "(Lockstep) expires on"):
            self.assertTrue(any(part in text for text in found), (part, found))


class Viewer(unittest.TestCase):
    def test_a_viewer_may_ask_all_of_it(self):
        with contextlib.ExitStack() as stack:
            directory = stack.enter_context(tempfile.TemporaryDirectory())
            pki = f"{directory}/pki"
            for words in (
                ["init"],
                ["issue", "controller", "localhost", "--address", "127.0.0.1"],
                ["issue", "user", "vera", "--role", "viewer"],
                ["issue", "user", "alma", "--role", "admin"],
            ):
                words = [f"{BIN}/lockstep", "pki", "--dir", pki, *words]
                subprocess.run(words, check=True, capture_output=True)
            flags = ["--tls-dir", f"{pki}/localhost"]
            fleet = stack.enter_context(Fleet(0, controller_flags=flags))
            words = ["--tls-dir", f"{pki}/vera", "doctor", "--json"]
            status, findings = doctor(*words, env=fleet.environment(), program="lockstep")
            audit = fleet.lockstep("--tls-dir", f"{pki}/alma", "audit")
        self.assertLess(status, 2, findings)
        self.assertIn("vera, viewer", by_check(findings, "controller")["role"]["found"])
        self.assertIn("schema", by_check(findings, "store"))
        # Whoever is refused is on record.
        self.assertEqual(audit.status, 0, audit.err)
        self.assertNotIn("vera", audit.out)

    def test_without_a_certificate_the_option_is_named(self):
        _, findings = doctor(
            "doctor", "--json", "--controller", "192.0.2.1:9640", program="lockstep"
        )
        found = by_check(findings, "controller")["connection"]
        self.assertIn("no certificate is given (--tls-dir)", found["found"])
        self.assertNotIn("lockstep up", found["help"])


class SupportBundle(FleetTest):
    workers = 1

    def bundle(self, *words, env=None, status=0):
        folder = tempfile.mkdtemp(dir=self.fleet.directory)
        path = os.path.join(folder, "b.tar.gz")
        done = subprocess.run(
            [f"{BIN}/lockstep", "support-bundle", "--output", path, *words],
            capture_output=True,
            text=True,
            timeout=300,
            env={**self.fleet.environment(), **(env or {})},
            check=False,
        )
        self.assertEqual(done.returncode, status, done.stderr)
        files = {}
        with tarfile.open(path) as archive:
            for member in archive.getmembers():
                self.assertTrue(member.isfile())
                name = member.name.split("/", 1)[1]
                files[name] = archive.extractfile(member).read().decode()
        return path, files

    def test_no_seeded_secret_is_in_it(self):
        """A secret in each place that a bundle reads."""
        data = self.fleet.data
        labels = f"labels: {{password: {SECRET}-label, firmware: f12}}"
        self.ok(self.fleet.run_job(files_job(data, 1, "1s", extra=labels)))
        run = self.fleet.lockstep("history", "--format", "json").json()["runs"][0]["runId"]
        self.ok(self.fleet.lockstep("note", run, f"the array takes password: {SECRET}-note"))
        self.ok(self.fleet.lockstep("note", run, f"login as {SECRET}-label did not work"))
        folder = tempfile.mkdtemp(dir=self.fleet.directory)
        chap = os.path.join(folder, "chap")
        log = os.path.join(folder, "controller.log")
        with open(chap, "w", encoding="ascii") as out:
            out.write(f"iqn.2001.com.example:disk user {SECRET}-chap\n")
        with open(log, "w", encoding="ascii") as out:
            out.write(f"dialling postgresql://lockstep:{SECRET}-url@db.example/lockstep\n")
            out.write(f"conninfo host=db user=x password={SECRET}-conninfo\n")
            out.write(f"conninfo password = '{SECRET}-quoted and more'\n")
            out.write(f"Authorization: Bearer {SECRET}-bearer\n")
            out.write(f'{{"apiToken": "{SECRET}-json"}}\n')
            out.write(f"login of {SECRET}-chap was refused, {SECRET}-environment too\n")
            out.write(f"-----BEGIN PRIVATE KEY-----\n{SECRET}-pem\n-----END PRIVATE KEY-----\n")
            out.write(f"sshpass -p {SECRET}-command ssh x; curl -u admin:{SECRET}-curl x\n")
            out.write(f"machine db login lockstep password {SECRET}-netrc\n")
            out.write(f"git clone https://{SECRET}-git@git.example/x\n")
            out.write("this line stays\n")
            out.write(f"password: |\n  {SECRET}-block\nthis line, too\n")
            out.write(f"- name: PGPASSWORD\n  value: {SECRET}-named\n")
            out.write("with codes: pg-S3cret:x, url-S3cret, twice-S3cret\n")
        with open(f"{folder}/pgpass", "w", encoding="ascii") as out:
            out.write("db:5432:*:anna:pg-S3cret\\:x\n")
        environment = {
            "MY_API_TOKEN": f"{SECRET}-environment",
            "STORE_URL": "postgresql://u:url-S3cret@db/x",
            "PROXY": "http://u:twice%2DS3cret@proxy/",
            "PGPASSFILE": f"{folder}/pgpass",
        }
        path, files = self.bundle("--log", log, "--secrets", chap, env=environment)
        for name, text in files.items():
            self.assertNotIn(SECRET, text, name)
            self.assertNotIn("S3cret", text, name)
        self.assertIn("this line stays", files["logs/1-controller.log"])
        self.assertIn("this line, too", files["logs/1-controller.log"])
        self.assertIn("[redacted]", files[f"runs/{run}/job.yaml"])
        self.assertIn("firmware", files[f"runs/{run}/job.yaml"])
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)

    def test_secrets_that_cannot_be_read_are_no_trifle(self):
        path = os.path.join(self.fleet.directory, "unread.tar.gz")
        words = ("--output", path, "--secrets", "/nowhere/chap")
        done = self.ok(self.fleet.lockstep("support-bundle", *words), 1)
        self.assertIn("--secrets /nowhere/chap: No such file", done.err)
        self.assertFalse(os.path.exists(path))

    def test_it_has_what_helps_and_says_what_it_lacks(self):
        self.ok(self.fleet.run_job(files_job(self.fleet.data, 1, "1s")))
        _, files = self.bundle("--runs", "1", "--log", "/nowhere/x.log")
        manifest = json.loads(files["manifest.json"])
        listed = {f["path"]: f for f in manifest["files"]}
        self.assertTrue(manifest["redacted"])
        self.assertIn("No such file", listed["logs/1-x.log"]["leftOut"])
        for name in ("doctor.json", "doctor.txt", "version.txt", "status.json", "history.json"):
            self.assertIn(name, files)
            self.assertEqual(listed[name]["leftOut"], "")
        self.assertIn("audit.json", files)
        self.assertIn("store-settings.txt", files)
        self.assertEqual(len([name for name in files if name.endswith("/report.json")]), 1)
        for name in files:
            if name.endswith(".json"):
                json.loads(files[name])

    def test_without_a_controller_it_is_made_all_the_same(self):
        _, files = self.bundle("--controller", "127.0.0.1:1")
        self.assertIn("no controller answers", files["manifest.json"])
        self.assertIn("PROBLEM", files["doctor.txt"])

    def test_it_replaces_nothing_and_follows_no_link(self):
        folder = tempfile.mkdtemp(dir=self.fleet.directory)
        kept, link = os.path.join(folder, "kept"), os.path.join(folder, "link")
        with open(kept, "w", encoding="ascii") as out:
            out.write("mine")
        os.symlink(os.path.join(folder, "elsewhere"), link)
        for path in (kept, link):
            done = self.ok(self.fleet.lockstep("support-bundle", "--output", path), 1)
            self.assertIn("File exists", done.err)
        with open(kept, encoding="ascii") as text:
            self.assertEqual(text.read(), "mine")
        self.assertFalse(os.path.exists(os.path.join(folder, "elsewhere")))


class Annotations(FleetTest):
    workers = 1

    def test_a_run_that_misses_its_expectation_is_annotated(self):
        job = files_job(self.fleet.data, 1, "1s").replace(
            "      duration: 1s\n", "      duration: 1s\n      expect: {iops: 100000000}\n"
        )
        done = self.ok(self.fleet.run_job(job, "--format", "github"), 4)
        self.assertRegex(done.out, r"(?m)^::error title=lockstep small mix::.*found")
        self.assertRegex(done.out, r"(?m)^::notice title=lockstep small::run [0-9a-f]{8}")
        for line in done.out.splitlines():
            self.assertRegex(line, r"^::(error|warning|notice) title=[^:]*::")

    def test_a_gate_is_annotated(self):
        job = files_job(self.fleet.data, 1, "1s")
        for build in ("1", "2"):
            self.ok(self.fleet.run_job(job, "--set", f"labels.build={build}"))
        done = self.ok(
            self.fleet.lockstep("gate", "build=2", "--baseline", "build=1", "--format", "github"), 5
        )
        self.assertIn("::warning title=lockstep gate::", done.out)
        self.assertRegex(done.out, r"::notice title=lockstep gate::\d+ figures judged, 0 regressed")


class Guide(unittest.TestCase):
    def test_the_commands_of_the_guide(self):
        """Each runs, with this test's controller and directory; what sets up a machine does not."""
        with Fleet(1) as fleet:
            # journalctl has nothing of this test's controller.
            with open(f"{fleet.directory}/controller.log", "w", encoding="ascii") as log:
                log.write("listening\n")
            for block in blocks("docs/guide/trouble.md", "sh"):
                for command in commands(block):
                    words = shlex.split(command.replace("/mnt/test", fleet.data))
                    if words[0] not in ("lockstep", "lockstep-worker"):
                        continue
                    words = [f"{BIN}/{words[0]}", *words[1:]]
                    words = [re.sub(r"^ctl\.example:9640$", fleet.address, w) for w in words]
                    with self.subTest(command):
                        done = subprocess.run(
                            words,
                            cwd=fleet.directory,
                            env=fleet.environment(),
                            capture_output=True,
                            text=True,
                            timeout=300,
                            check=False,
                        )
                        self.assertIn(done.returncode, (0, 1), done.stdout + done.stderr)
                        self.assertNotIn("error", done.stderr.lower())
