"""Files that programs keep on disk are their owner's alone, and secrets are in no argument."""

import os
import socket
import stat
import subprocess
import tempfile
import unittest

from fleet import BIN, Fleet, files_job, needs_root, wait_for


def wider_than(path, mode):
    return stat.S_IMODE(os.lstat(path).st_mode) & ~mode


class StateDirectories(unittest.TestCase):
    def test_nobody_else_reads_what_is_kept(self):
        with Fleet(2) as fleet:
            job = files_job(fleet.data)
            self.assertEqual(fleet.run_job(job).status, 0)
            too_wide = []
            # PostgreSQL's user enters the controller's directories on the way to its own.
            may_pass = {fleet.state, os.path.join(fleet.state, "postgres")}
            roots = [fleet.state] + [
                os.path.join(fleet.directory, f"worker-{name}") for name in ("node1", "node2")
            ]
            for root in roots:
                for folder, _, files in os.walk(root):
                    if wider_than(folder, 0o711 if folder in may_pass else 0o700):
                        too_wide.append(folder)
                    for name in files:
                        path = os.path.join(folder, name)
                        if not stat.S_ISSOCK(os.lstat(path).st_mode) and wider_than(path, 0o600):
                            too_wide.append(path)
            self.assertEqual(too_wide, [])


@needs_root
class ForeignDirectories(unittest.TestCase):
    def test_a_state_directory_that_another_user_owns_is_refused(self):
        with Fleet(0) as fleet:
            theirs = f"{fleet.directory}/theirs"
            os.mkdir(theirs)
            os.chown(theirs, 65534, 65534)
            for program, words in (
                ("controller", ["--listen", "127.0.0.1:0"]),
                ("worker", ["--controller", fleet.address]),
            ):
                with self.subTest(program):
                    done = subprocess.run(
                        [f"{BIN}/lockstep-{program}", "--state-dir", theirs, *words],
                        capture_output=True,
                        text=True,
                        timeout=60,
                        check=False,
                    )
                    self.assertNotEqual(done.returncode, 0)
                    self.assertIn("belongs to user 65534", done.stdout + done.stderr)
            self.assertEqual(os.listdir(theirs), [])

    def test_run_local_follows_no_link_of_theirs(self):
        self.follow_no_link(lambda path: os.chown(path, 65534, 65534), "belongs to user 65534")

    def test_run_local_follows_no_link_of_a_group(self):
        def give(path):
            os.chown(path, 0, 65534)
            os.chmod(path, 0o2775)

        self.follow_no_link(give, "members of group 65534 may write to it")

    def follow_no_link(self, give_away, reason):
        with tempfile.TemporaryDirectory() as folder:
            theirs, ours = f"{folder}/theirs", f"{folder}/ours"
            os.mkdir(theirs)
            os.mkdir(ours)
            os.chmod(ours, 0o755)
            os.symlink(ours, f"{theirs}/workers")
            give_away(theirs)
            done = subprocess.run(
                [f"{BIN}/lockstep", "run", "-", "--local", "--state-dir", theirs],
                input="name: j\nphases: [{observe: {duration: 1s}}]\n",
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(reason, done.stdout + done.stderr)
            self.assertEqual(os.listdir(theirs), ["workers"])
            self.assertEqual(stat.S_IMODE(os.stat(ours).st_mode), 0o755)


@needs_root
class Passwords(unittest.TestCase):
    def test_a_store_s_password_is_in_no_argument(self):
        secret = "hunter2-of-the-store"
        with Fleet(0) as fleet, socket.create_server(("127.0.0.1", 0)) as silent:
            words = [
                f"{BIN}/lockstep-controller",
                *("--listen", "127.0.0.1:0", "--state-dir", f"{fleet.directory}/other"),
                # The listener there says nothing: the program waits.
                "--store",
                f"postgresql://me:{secret}@127.0.0.1:{silent.getsockname()[1]}/db"
                "?connect_timeout=30&sslmode=disable",
            ]
            with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
                try:
                    wait_for(
                        "the argument to be blanked",
                        lambda: "*****" in arguments_of(process.pid),
                    )
                    self.assertNotIn(secret, arguments_of(process.pid))
                finally:
                    process.kill()
                    said = process.communicate()[1]
            self.assertNotIn(secret, said)
            self.assertIn("--store-file", said)

    def test_the_store_s_address_comes_from_a_private_file(self):
        with Fleet(0) as fleet:
            path = f"{fleet.directory}/store"
            with open(path, "w", encoding="utf-8") as out:
                out.write("host=/nowhere user=me password=secret dbname=db\n")
            words = [f"{BIN}/lockstep-controller", "--store-file", path]
            os.chmod(path, 0o644)
            refused = subprocess.run(words, capture_output=True, text=True, check=False)
            self.assertIn("others may read it; chmod 600", refused.stderr)
            os.chmod(path, 0o600)
            tried = subprocess.run(words, capture_output=True, text=True, check=False)
            self.assertIn("/nowhere", tried.stderr)
            self.assertNotIn("secret", tried.stderr)


def arguments_of(pid):
    with open(f"/proc/{pid}/cmdline", "rb") as text:
        return text.read().replace(b"\0", b" ").decode()
