"""64 hosts at once, with an ssh program that acts for all of them."""

import contextlib
import glob
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest

import pytest
from fleet import BIN, Fleet, wait_for
from fleet_scripts import make_archive

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


def our_version():
    return subprocess.run(
        [f"{BIN}/lockstep", "--version"], capture_output=True, text=True, check=True
    ).stdout.strip()


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
