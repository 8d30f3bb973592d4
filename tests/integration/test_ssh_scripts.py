"""The scripts of `lockstep fleet`, run by themselves, and 64 hosts at once
with an ssh program that acts for all of them. The archive has a script instead of a worker.
"""

import contextlib
import glob
import io
import json
import os
import pty
import re
import shutil
import signal
import stat
import subprocess
import tarfile
import tempfile
import threading
import unittest

import pytest
from fleet import BIN, ROOT, Fleet, wait_for

SCRIPTS = f"{ROOT}/controller/cli/ssh"
TOKEN = "0123456789abcdef01234567"

# $HOSTS/doctors may have what a host's doctor says.
WORKER = """#!/bin/sh
if [ "$1" = --version ]; then echo "VERSION"; exit; fi
if [ "$1" = --doctor=host ]; then
  cat "$HOSTS/doctors/$(basename "$TMPDIR")" 2> /dev/null || echo '{"findings": [{}]}'
  exit
fi
echo attached to the controller
trap 'kill "$!"; exit 0' TERM
sleep 1000 &
wait
"""

# Runs the commands of every host here. $HOSTS/busy has a file for each host from the connection to
# the worker's start; $HOSTS/peaks how many there were at each connection. No host goes on before
# $MEET of them have come.
SSH = """#!/bin/sh
control=''
action=''
master=''
while [ $# -gt 0 ]; do
  case $1 in
    -S) control=$2; shift ;;
    -O) action=$2; shift ;;
    -M) master=1 ;;
    -F | -o | -R) shift ;;
    --) shift; break ;;
  esac
  shift
done
host=$1
shift
case $action in
  check) test -e "$control"; exit ;;
  exit) kill "$(cat "$control")" 2> /dev/null; rm -f "$control"; exit 0 ;;
  forward) exit 0 ;;
esac
export TMPDIR="$HOSTS/$host"
if [ -z "$master" ]; then
  [ "$host" != "$BROKEN" ] || exit 255
  sh -c "$*"
  status=$?
  for directory in "$HOSTS/$host"/lockstep-fleet.*; do
    # The doctor's session ends before the worker has its arguments.
    [ -d "$directory" ] && [ ! -e "$directory/arguments" ] || rm -f "$HOSTS/busy/$host"
  done
  exit $status
fi
: > "$HOSTS/busy/$host"
: > "$HOSTS/came/$host"
ls "$HOSTS/busy" | wc -l >> "$HOSTS/peaks"
while [ "$(ls "$HOSTS/came" | wc -l)" -lt "$MEET" ]; do sleep 0.2; done
if [ "$host" = "$BROKEN" ]; then
  rm -f "$HOSTS/busy/$host"
  echo "ssh: connect to host $host port 22: No route to host" >&2
  exit 255
fi
echo $$ > "$control"
exec sh -c "$*"
"""


# Writes a list of settings, as a worker that changes some for a phase, and is killed, unless it is
# to stay. Beside the archive lies what it has done, and what keeps it from restoring them.
KILLED_WORKER = """#!/bin/sh
state=${0%/program/*}/state
case $1 in
  --version) echo 7 ;;
  --restore-settings)
    echo "$*" >> "HOME/restored"
    if [ -e "HOME/fails" ]; then
      echo "sdz: its scheduler is still kyber: Input/output error" >&2
      exit 1
    fi
    rm "$state/settings.json"
    ;;
  *)
    echo "$*" >> "HOME/started"
    mkdir -p "$state"
    echo '{}' > "$state/settings.json"
    [ -e "HOME/stays" ] || kill -KILL $$
    echo attached to the controller
    trap 'kill "$!"; exit 0' TERM
    sleep 1000 &
    wait
    ;;
esac
"""


def make_archive(path, version, worker=WORKER):
    text = worker.replace("VERSION", version).encode()
    member = tarfile.TarInfo("lockstep-0/bin/lockstep-worker")
    member.size, member.mode = len(text), 0o755
    with tarfile.open(path, "w:gz") as archive:
        archive.addfile(member, io.BytesIO(text))


def our_version():
    return subprocess.run(
        [f"{BIN}/lockstep", "--version"], capture_output=True, text=True, check=True
    ).stdout.strip()


def is_over(pid):
    """Also if nobody has waited for it yet."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as text:
            return text.read().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


class Scripts(unittest.TestCase):
    def setUp(self):
        # Not in /tmp, which the script would choose by itself.
        self.home = tempfile.mkdtemp(prefix="lsscripts", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)
        self.archive = f"{self.home}/archive"
        make_archive(self.archive, "7")
        self.directory = None

    def tearDown(self):
        if self.directory:
            self.stop()
            wait_for("the directory to go", lambda: not os.path.exists(self.directory))

    def lines(self, *lines):
        return "".join(f"{line}\n" for line in lines)

    def begin(self, wanted="", allowed=(), shell=("sh",), **variables):
        """install.sh with its input; it stays. Returns it, and its answer: {key: words}."""
        with open(f"{SCRIPTS}/supervise.sh", encoding="utf-8") as text:
            supervisor = text.read()
        head = self.lines(TOKEN, wanted, 1, 60, len(allowed), *allowed, supervisor.count("\n"))
        with open(self.archive, "rb") as archive:
            given = (head + supervisor).encode() + archive.read()
        process = subprocess.Popen(
            [*shell, f"{SCRIPTS}/install.sh"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **variables},
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(given)
            process.stdin.close()
        answer = {}
        for line in process.stdout:
            token, key, words = line.decode().rstrip("\n").split(" ", 2)
            self.assertEqual(token, TOKEN)
            answer[key] = words
            if key in ("directory", "failed"):
                break
        self.directory = answer.get("directory")
        return answer

    def start(self, *arguments):
        done = subprocess.run(
            ["sh", f"{SCRIPTS}/start.sh"],
            input=self.lines(TOKEN, self.directory, 60, 0, 0, len(arguments), *arguments),
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout

    def stop(self, directory=None):
        done = subprocess.run(
            ["sh", f"{SCRIPTS}/stop.sh"],
            input=self.lines(TOKEN, self.directory if directory is None else directory, 45, 0),
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout

    def test_only_its_user_enters_the_directory(self):
        answer = self.begin(self.home)
        self.assertEqual(answer["directory"], f"{self.home}/lockstep-fleet.{TOKEN}")
        self.assertEqual(answer["version"], "7")
        self.assertEqual(stat.S_IMODE(os.stat(self.directory).st_mode), 0o700)
        self.assertIn("removed", self.stop())
        self.assertFalse(os.path.exists(self.directory))

    def test_a_path_that_the_loader_would_misread(self):
        for name in ("a b", "a\tb", "a:b", "a;b", "a$b", "a[b", "a]b", "a\\b"):
            os.mkdir(f"{self.home}/{name}")
            self.assertIn("would misread", self.begin(f"{self.home}/{name}")["failed"], name)
            self.assertEqual(os.listdir(f"{self.home}/{name}"), [])

    def test_a_tmpdir_with_a_blank_is_passed_over(self):
        os.mkdir(f"{self.home}/a b")
        answer = self.begin(TMPDIR=f"{self.home}/a b", HOME=self.home)
        self.assertNotIn(" ", answer["directory"])
        self.assertEqual(os.listdir(f"{self.home}/a b"), [])

    def test_other_signs_are_no_trouble(self):
        for name in ("o'k", "a!b,c+d~", "größe", "-x", "*"):
            with self.subTest(name):
                os.mkdir(f"{self.home}/{name}")
                answer = self.begin(f"{self.home}/{name}")
                self.assertIn("directory", answer)
                self.assertIn("removed", self.stop())
                self.directory = None

    def test_a_directory_under_test_is_not_used(self):
        answer = self.begin(self.home, allowed=("/somewhere else", os.path.dirname(self.home)))
        self.assertIn("is under test", answer["failed"])

    def test_a_place_where_others_could_replace_the_worker(self):
        place = f"{self.home}/above/place"
        os.makedirs(place)
        changes = [(place, 0o777, -1, -1), (os.path.dirname(place), 0o777, -1, -1)]
        if os.geteuid() == 0:
            changes += [
                (place, 0o775, -1, 12345),
                (os.path.dirname(place), 0o2775, -1, 12345),
                (place, 0o1755, 12345, -1),
                (os.path.dirname(place), 0o755, 12345, -1),
            ]
        for path, mode, owner, group in changes:
            with self.subTest(path=path, mode=oct(mode)):
                os.chown(path, owner, group)
                os.chmod(path, mode)
                failed = self.begin(place)["failed"]
                self.assertIn(f"{path} can be changed by other users", failed)
                self.assertEqual(os.listdir(place), [])
                os.chown(path, os.geteuid(), os.getegid())
                os.chmod(path, 0o755)
        # With the sticky bit only the owner of a directory renames it.
        for mode in (0o1777, 0o700):
            os.chmod(place, mode)
            self.assertIn("directory", self.begin(place))
            self.assertIn("removed", self.stop())
            self.directory = None

    def test_a_directory_that_others_may_enter_is_left(self):
        """As another user could make one of this name, once this user's is gone."""
        planted = f"{self.home}/lockstep-fleet.{TOKEN}"
        os.mkdir(planted)
        for mode in (0o755, 0o777):
            os.chmod(planted, mode)
            self.assertIn("is no longer this user's own", self.stop(planted))
        os.chmod(planted, 0o700)
        if os.geteuid() == 0:
            os.chown(planted, 12345, 12345)
            self.assertIn("is no longer this user's own", self.stop(planted))
        self.assertTrue(os.path.isdir(planted))

    def test_an_archive_of_rubbish_leaves_nothing(self):
        with open(self.archive, "wb") as rubbish:
            rubbish.write(b"\0" * 1000)
        self.assertIn("cannot be unpacked", self.begin(self.home)["failed"])
        wait_for("nothing to be left", lambda: not glob.glob(f"{self.home}/lockstep-fleet.*"))

    def begin_killed(self):
        """A worker that is killed each time when it has changed settings."""
        make_archive(self.archive, "7", KILLED_WORKER.replace("HOME", self.home))
        self.assertIn("directory", self.begin(self.home))
        self.assertIn("failed the worker did not attach", self.start("--name", "node1"))
        self.assertEqual(self.log("started"), ["--name node1"] * 4)

    def log(self, name):
        path = f"{self.home}/{name}"
        with contextlib.suppress(FileNotFoundError), open(path, encoding="utf-8") as text:
            return text.read().splitlines()
        return []

    def make(self, name):
        with open(f"{self.home}/{name}", "w", encoding="ascii"):
            pass

    def end_supervisor(self, number):
        # It may have ended by itself: it gives the command that has started it 10 s.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            with open(f"{self.directory}/supervisor.pid", encoding="ascii") as text:
                pid = int(text.read())
            os.kill(pid, number)
            wait_for("the supervisor to end", lambda: is_over(pid))

    def test_settings_of_a_killed_worker_are_restored(self):
        self.begin_killed()
        self.end_supervisor(signal.SIGTERM)
        wait_for("the directory to go", lambda: not os.path.exists(self.directory))
        restored = f"--restore-settings --state-dir {self.directory}/state"
        self.assertEqual(self.log("restored"), [restored])

    def test_settings_are_restored_without_a_supervisor(self):
        self.make("stays")
        make_archive(self.archive, "7", KILLED_WORKER.replace("HOME", self.home))
        self.assertIn("directory", self.begin(self.home))
        self.assertIn(f"{TOKEN} started", self.start())
        self.end_supervisor(signal.SIGKILL)
        self.assertEqual(self.log("restored"), [])
        self.assertIn(f"{TOKEN} removed", self.stop())
        restored = f"--restore-settings --state-dir {self.directory}/state"
        self.assertEqual(self.log("restored"), [restored])
        self.assertFalse(os.path.exists(self.directory))

    def test_settings_that_cannot_be_restored_are_named(self):
        self.make("fails")
        self.begin_killed()
        journal = f"{self.directory}/state/settings.json"
        reason = "sdz: its scheduler is still kyber: Input/output error"
        self.end_supervisor(signal.SIGTERM)
        with open(f"{self.directory}/left", encoding="utf-8") as text:
            left = text.read()
        self.assertIn(f"settings that a phase has changed are not restored; {journal} lists", left)
        self.assertIn(reason, left)
        self.assertTrue(os.path.exists(journal))
        # Nobody but stop.sh tries again. It says what stays, and removes everything once it can.
        self.assertIn(f"{TOKEN} left {self.directory}: {reason}", self.stop())
        self.assertEqual(len(self.log("restored")), 2)
        self.assertTrue(os.path.exists(journal))
        os.unlink(f"{self.home}/fails")
        self.assertIn(f"{TOKEN} removed", self.stop())
        self.assertEqual(len(self.log("restored")), 3)
        self.assertFalse(os.path.exists(self.directory))


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


class Renewal(unittest.TestCase):
    """request.sh and renew.sh, in a directory as start.sh has left it."""

    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="lsrenewal", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)
        os.makedirs(f"{self.home}/program/bin")
        os.symlink(f"{BIN}/lockstep-worker", f"{self.home}/program/bin/lockstep-worker")
        self.request("tls")
        for name in ("ca.pem", "cert.pem"):
            with open(f"{self.home}/tls/{name}", "w", encoding="ascii") as file:
                file.write(f"the first {name}\n")

    def script(self, name, *lines):
        return subprocess.run(
            ["sh", f"{SCRIPTS}/{name}"],
            input="".join(f"{line}\n" for line in (TOKEN, self.home, *lines)),
            capture_output=True,
            text=True,
            check=False,
        )

    def request(self, keys="tls.new"):
        done = self.script("request.sh", "5ec7e7", keys)
        self.assertEqual(done.returncode, 0, done)
        self.assertIn(f"{TOKEN} csr -----BEGIN CERTIFICATE REQUEST-----", done.stdout)
        self.assertIn(f"{TOKEN} requested", done.stdout)

    def renew(self):
        return self.script("renew.sh", 2, "the second", "cert.pem")

    def read(self, name, directory="tls"):
        with open(f"{self.home}/{directory}/{name}", encoding="ascii") as file:
            return file.read()

    def assert_renewed(self, key):
        self.assertEqual(self.read("cert.pem"), "the second\ncert.pem\n")
        self.assertEqual(self.read("key.pem"), key)
        self.assertEqual(self.read("ca.pem"), "the first ca.pem\n")
        self.assertEqual(sorted(os.listdir(f"{self.home}/tls")), ["ca.pem", "cert.pem", "key.pem"])
        for name, mode in (("tls", 0o700), ("tls/key.pem", 0o600), ("tls/cert.pem", 0o600)):
            self.assertEqual(stat.S_IMODE(os.stat(f"{self.home}/{name}").st_mode), mode, name)
        self.assertEqual(glob.glob(f"{self.home}/tls.*"), [])

    def test_the_key_changes_with_its_certificate(self):
        before = self.read("key.pem")
        self.request()
        self.assertEqual(
            (self.read("key.pem"), self.read("cert.pem")), (before, "the first cert.pem\n")
        )
        after = self.read("key.pem", "tls.new")
        self.assertNotEqual(after, before)
        self.assertIn(f"{TOKEN} renewed", self.renew().stdout)
        self.assert_renewed(after)

    def test_a_request_that_was_given_up_makes_way(self):
        self.request()
        given_up = self.read("key.pem", "tls.new")
        self.request()
        after = self.read("key.pem", "tls.new")
        self.assertNotEqual(after, given_up)
        self.assertIn(f"{TOKEN} renewed", self.renew().stdout)
        self.assert_renewed(after)

    def test_a_renewal_that_was_killed_between_its_steps(self):
        os.rename(f"{self.home}/tls", f"{self.home}/tls.old")
        self.request()
        after = self.read("key.pem", "tls.new")
        self.assertIn(f"{TOKEN} renewed", self.renew().stdout)
        self.assert_renewed(after)

    def test_without_a_request_nothing_changes(self):
        before = self.read("key.pem")
        done = self.renew()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(f"{TOKEN} failed", done.stdout)
        self.assertEqual(
            (self.read("key.pem"), self.read("cert.pem")), (before, "the first cert.pem\n")
        )


@pytest.mark.long
class SideBySide(unittest.TestCase):
    HOSTS = 64

    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.work = self.stack.enter_context(tempfile.TemporaryDirectory(prefix="lsmany"))
        for name in ("busy", "came", "doctors", "programs"):
            os.mkdir(f"{self.work}/{name}")
        for number in range(1, self.HOSTS + 1):
            os.mkdir(f"{self.work}/node{number}")
        with open(f"{self.work}/programs/ssh", "w", encoding="ascii") as program:
            program.write(SSH)
        os.chmod(f"{self.work}/programs/ssh", 0o755)
        make_archive(f"{self.work}/archive", our_version())
        self.fleet = self.stack.enter_context(Fleet(0))
        self.environment = {
            **self.fleet.environment(),
            "PATH": f"{self.work}/programs:{os.environ['PATH']}",
            "LOCKSTEP_STATE_DIR": f"{self.work}/state",
            "HOSTS": self.work,
            "MEET": "0",
            "BROKEN": "",
        }
        self.addCleanup(self.end_all)

    def end_all(self):
        """The files that a failure has left."""
        for path in glob.glob(f"{self.work}/state/fleets/*"):
            with open(path, encoding="utf-8") as text:
                control = re.search(r"(?m)^control (/tmp/lockstep-ssh-\S+)$", text.read())
            if control:
                shutil.rmtree(control.group(1), ignore_errors=True)
        for pid, _ in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def processes(self):
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as words:
                text = words.read().decode(errors="replace").replace("\0", " ")
                if f"{self.work}/node" in text:
                    found.append((int(pid), text))
        return found

    def run_fleet(self, *words, stderr=subprocess.PIPE, **variables):
        # As many descriptors as a login has.
        return subprocess.run(
            ["prlimit", "--nofile=1024", f"{BIN}/lockstep", "fleet", *words],
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            timeout=300,
            env={**self.environment, **variables},
            check=False,
        )

    def up(self, *words, **options):
        hosts = f"node[1-{self.HOSTS}]"
        flags = ["--ssh", hosts, "--worker-archive", f"{self.work}/archive", "--allow", "/mnt"]
        return self.run_fleet("up", *flags, *words, **options)

    def records(self):
        return os.listdir(f"{self.work}/state/fleets")

    def assert_nothing_is_left(self):
        wait_for("the processes to end", lambda: not self.processes())
        self.assertEqual(glob.glob(f"{self.work}/node*/*"), [])
        self.assertEqual(self.records(), [])

    def test_all_at_once(self):
        # None goes on before all have come.
        up = self.up("--parallel", "64", MEET=str(self.HOSTS))
        self.assertEqual(up.returncode, 0, up.stderr)
        self.assertEqual(up.stderr.count("  up in "), self.HOSTS, up.stderr)
        self.assertEqual(len(up.stderr.splitlines()), self.HOSTS)
        self.assertIn(f"{self.HOSTS} of {self.HOSTS} hosts are up", up.stdout)
        listed = self.run_fleet("list")
        self.assertEqual(listed.stdout.count("  connected  "), self.HOSTS)
        down = self.run_fleet("down", "--now")
        self.assertEqual(down.returncode, 0, down.stderr)
        self.assertEqual(down.stderr.count("nothing is left"), self.HOSTS)
        self.assert_nothing_is_left()

    def test_no_more_than_asked_for_and_one_that_fails(self):
        up = self.up("--parallel", "5", BROKEN="node13")
        self.assertEqual(up.returncode, 7, up.stderr)
        self.assertRegex(up.stderr, r"(?m)^node13  FAILED: .*No route to host$")
        self.assertEqual(up.stderr.count("  up in "), self.HOSTS - 1)
        with open(f"{self.work}/peaks", encoding="ascii") as peaks:
            self.assertLessEqual(max(map(int, peaks)), 5)
        self.assertEqual(self.run_fleet("down", "--now").returncode, 0)
        self.assert_nothing_is_left()

    def test_what_doctors_find_is_below_their_hosts(self):
        for host, severity in (("node1", "warning"), ("node2", "problem")):
            finding = {"severity": severity, "check": "/mnt", "found": "away", "help": "findmnt"}
            with open(f"{self.work}/doctors/{host}", "w", encoding="ascii") as file:
                json.dump({"findings": [finding]}, file)
        flags = ["--worker-archive", f"{self.work}/archive", "--allow", "/mnt"]
        up = self.run_fleet("up", "--ssh", "node[1-3]", *flags)
        self.assertEqual(up.returncode, 7, up.stderr)
        below = r"/mnt: away\n           → findmnt\n"
        self.assertRegex(up.stderr, rf"(?m)^node1  up in .*\n  WARNING  {below}")
        failed = "FAILED: the doctor found 1 problem; --allow-problems starts"
        self.assertRegex(up.stderr, rf"(?m)^node2  {failed}.*\n  PROBLEM  {below}")
        self.assertNotRegex(up.stderr, r"(?m)^node3 .*\n ")
        up = self.run_fleet("up", "--ssh", "node2", *flags, "--allow-problems")
        self.assertEqual(up.returncode, 0, up.stderr)
        self.assertRegex(up.stderr, rf"(?m)^node2  up in .*\n  PROBLEM  {below}")
        self.assertEqual(self.run_fleet("down", "--now").returncode, 0)
        self.assert_nothing_is_left()

    def test_a_worker_of_another_version_leaves_nothing(self):
        make_archive(f"{self.work}/archive", "9")
        flags = ["--worker-archive", f"{self.work}/archive", "--allow", "/mnt"]
        # One that the script which removes things would not look in by itself.
        place = ["--remote-directory", tempfile.mkdtemp(dir=self.work)]
        up = self.run_fleet("up", "--ssh", "node1", *flags, *place)
        self.assertEqual(up.returncode, 1, up.stderr)
        self.assertIn("the archive's worker is 9, and this is", up.stderr)
        # The supervisor, which would give up after a minute, has been ended.
        self.assertEqual(os.listdir(place[1]), [])
        self.assert_nothing_is_left()

    def test_a_host_that_is_gone_for_good(self):
        flags = ["--worker-archive", f"{self.work}/archive", "--allow", "/mnt"]
        up = self.run_fleet("up", "--ssh", "node1,node2", *flags)
        self.assertEqual(up.returncode, 0, up.stderr)
        self.assertIn("name the hosts", self.run_fleet("down", "--now", "--forget").stderr)
        down = self.run_fleet("down", "--now", BROKEN="node1")
        self.assertEqual(down.returncode, 1, down.stderr)
        self.assertIn("node1  NOT DONE", down.stderr)
        down = self.run_fleet("down", "--now", "node1", "--forget", BROKEN="node1")
        self.assertEqual(down.returncode, 0, down.stderr)
        self.assertIn("node1: forgotten", down.stdout)
        self.assertEqual(self.records(), [])

    def test_on_a_terminal_a_last_line_says_how_many_are_up(self):
        ours, theirs = pty.openpty()
        shown = []

        def read():
            with contextlib.suppress(OSError):
                while piece := os.read(ours, 65536):
                    shown.append(piece)

        reader = threading.Thread(target=read)
        reader.start()
        up = self.up(stderr=theirs)
        os.close(theirs)
        reader.join()
        os.close(ours)
        text = b"".join(shown).decode()
        self.assertEqual(up.returncode, 0, text)
        counted = re.findall(rf"(\d+) of {self.HOSTS} hosts; node\d+: ", text)
        self.assertEqual(counted, sorted(counted, key=int))
        # What is shown before a host's line is cleared.
        lines = [line.rsplit("\x1b[K", 1)[-1] for line in text.split("\r\n")[:-1]]
        for line in lines:
            self.assertRegex(line, r"^node\d+ +up in [\d.]+ s, in /\S+$")
        self.assertEqual(len(lines), self.HOSTS)
        self.assertEqual(self.run_fleet("down", "--now").returncode, 0)
        self.assert_nothing_is_left()


if __name__ == "__main__":
    unittest.main()
