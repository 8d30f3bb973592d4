"""The scripts of `lockstep fleet` that install, start and stop a worker, run by themselves."""

import contextlib
import glob
import os
import shutil
import signal
import stat
import subprocess
import tempfile
import unittest

from fleet import wait_for
from fleet_scripts import SCRIPTS, TOKEN, is_over, make_archive

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


if __name__ == "__main__":
    unittest.main()
