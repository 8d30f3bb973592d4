"""lockstep fleet and lockstep run --ssh: workers on hosts that have an sshd and nothing of ours."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import pytest
from bare_root import package
from fleet import BIN, ROOT, Fleet, needs_root, wait_for
from ssh_hosts import SSHD, SshHosts

JOB = """name: door
hosts: {{count: {hosts}}}
targets: [{{name: data, file: {{path: "/data/{{host}}", size: 16MiB}}}}]
phases:
  - prepare:
  - name: mix
    run:
      duration: {seconds}s
      workloads: [{{read: 70%, queue_depth: 4, direct: false}}]
      expect: {{errors: 0}}
  - cleanup:
"""


class SshFleet(Fleet):
    """A controller, and what `lockstep fleet` needs for hosts of SshHosts."""

    def __init__(self, config, archive, controller_flags=()):
        super().__init__(0, controller_flags=controller_flags)
        self.flags = ["--ssh-config", config, "--worker-archive", archive, "--allow", "/data"]

    def environment(self):
        return {**super().environment(), "LOCKSTEP_STATE_DIR": f"{self.directory}/user"}

    def up(self, *words):
        return self.lockstep("fleet", "up", *self.flags, *words)

    def down(self, *words):
        return self.lockstep("fleet", "down", *words)


def ssh_links(directory):
    """The ssh programs of this machine that use a directory's configuration."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", encoding="utf-8") as text:
            words = text.read().split("\0")
            if words[0] == "ssh" and f"{directory}/config" in words:
                found.append(int(pid))
    return found


def guide(section=None):
    """The commands of docs/guide/ssh.md: of one section, or of those that need no certificates."""
    with open(f"{ROOT}/docs/guide/ssh.md", encoding="utf-8") as text:
        sections = re.split(r"(?m)^## ", text.read())
    found = [body for body in sections if ("with TLS" in body.splitlines()[0]) == bool(section)]
    return "\n".join(re.findall(r"```sh\n(.*?)```", "\n".join(found), re.S))


class SshFleetTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dist = tempfile.mkdtemp(prefix="lsdist", dir="/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.dist, ignore_errors=True)
        package(cls.dist, "archive", "--only", "lockstep-worker")
        (name,) = os.listdir(cls.dist)
        cls.archive = f"{cls.dist}/{name}"

    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)

    def make(self, count, **options):
        self.ssh = self.stack.enter_context(SshHosts(count, **options))
        self.hosts = self.ssh.hosts
        self.before = [host.find() for host in self.hosts]
        self.fleet = self.stack.enter_context(self.controller())
        return self.fleet

    def controller(self):
        return SshFleet(self.ssh.config, self.archive)

    def follow(self, commands, **environment):
        """Runs a guide's commands, with programs that know this test's hosts and archive."""
        programs = f"{self.fleet.directory}/programs"
        os.mkdir(programs)
        os.symlink(f"{BIN}/lockstep", f"{programs}/lockstep")
        with open(f"{programs}/ssh", "w", encoding="ascii") as file:
            file.write(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {self.ssh.config} "$@"\n')
        os.chmod(f"{programs}/ssh", 0o755)
        # The archive lies beside the program in a package, and elsewhere in this test.
        script = commands.replace("--allow", f"--worker-archive {self.archive} --allow")
        path = {"PATH": f"{programs}:{os.environ['PATH']}"}
        return subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=self.fleet.directory,
            capture_output=True,
            text=True,
            env={**self.fleet.environment(), **path, **environment},
            check=False,
        )

    def make_targets(self):
        for host, before in zip(self.hosts, self.before, strict=True):
            os.makedirs(f"{host.root}/mnt/test")
            before |= {"/mnt", "/mnt/test"}

    def assert_nothing_is_left(self, seconds=30):
        for host, before in zip(self.hosts, self.before, strict=True):
            if host.sshd.poll() is None:
                wait_for(
                    f"{host.name} to have no process of ours",
                    lambda host=host: not host.lockstep_processes(),
                    seconds,
                )
                self.assertEqual(host.find() - before, set(), host.name)
        wait_for("no ssh to be left here", lambda: not ssh_links(self.ssh.directory), seconds)

    def records(self):
        directory = f"{self.fleet.directory}/user/fleets"
        return os.listdir(directory) if os.path.isdir(directory) else []

    def worker(self, host):
        return [p for p, words in host.lockstep_processes() if "lib/start/lockstep-worker" in words]


@needs_root
@unittest.skipUnless(SSHD, "needs sshd (tools/install-deps test)")
class OneSshHost(SshFleetTest):
    """In every test run: a worker comes over a real sshd, works and goes again."""

    def test_up_a_job_and_down(self):
        fleet = self.make(1)
        up = fleet.up("--ssh", "node1")
        self.assertEqual(up.status, 0, up)
        self.assertIn("1 of 1 hosts are up", up.out)
        # Neither the controller's address nor what jobs may use is among the words of ssh's
        # commands, which everybody on the host can read.
        for _, words in self.hosts[0].processes():
            if "dd bs=1" in words:
                self.assertNotIn("/data", words)
        again = fleet.up("--ssh", "node1")
        self.assertEqual(again.status, 1, again)
        self.assertIn("lockstep fleet down node1", again.err)
        report = fleet.run_job(JOB.format(hosts=1, seconds=1))
        self.assertEqual(report.status, 0, report)
        self.assertEqual(fleet.lockstep("fleet", "list").out.count(" connected "), 1)
        down = fleet.down()
        self.assertEqual(down.status, 0, down)
        self.assertEqual(down.err.count("nothing is left"), 1, down)
        self.assert_nothing_is_left()
        self.assertEqual(self.records(), [])


@needs_root
@unittest.skipUnless(SSHD, "needs sshd (tools/install-deps test)")
@pytest.mark.long
class SshFleets(SshFleetTest):
    def test_the_guide(self):
        """docs/guide/ssh.md, by hosts that only this test's configuration knows."""
        self.make(2)
        self.make_targets()
        done = self.follow(guide())
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(done.stdout.count("DONE"), 2, done)
        self.assert_nothing_is_left()

    def test_files_of_jobs_stay_and_are_named(self):
        fleet = self.make(1)
        self.assertEqual(fleet.up("--ssh", "node1").status, 0)
        job = JOB.format(hosts=1, seconds=1).replace("  - cleanup:\n", "")
        self.assertEqual(fleet.run_job(job).status, 0)
        down = fleet.down()
        self.assertIn("node1: a job's file stays: /data/node1", down.out)
        left = self.hosts[0].find() - self.before[0]
        self.assertEqual(left, {"/data/node1", "/data/node1.lockstep"})

    def test_hosts_that_fail_are_named_with_the_reason(self):
        fleet = self.make(5)
        self.hosts[1].stop()
        for host, options in ((self.hosts[2], "size=20m"), (self.hosts[3], "size=999m,noexec")):
            host.stop()
            host.start(f'mount -t tmpfs -o {options} none "$0/tmp"')
        with open(f"{self.ssh.directory}/known_hosts", encoding="ascii") as known:
            lines = known.read().splitlines()
        lines[4] = f"{lines[4].split()[0]} {self.hosts[0].key}"
        with open(f"{self.ssh.directory}/known_hosts", "w", encoding="ascii") as known:
            known.write("\n".join(lines) + "\n")
        flags = ["--ssh", "node[1-5]", "--remote-directory", "/tmp"]
        up = fleet.up(*flags)
        self.assertEqual(up.status, 7, up)
        said = dict(line.split(maxsplit=1) for line in up.err.splitlines() if "node" in line[:4])
        self.assertIn("up in", said["node1"])
        self.assertIn("FAILED", said["node2"])
        self.assertIn("refused", said["node2"])
        self.assertRegex(said["node3"], r"FAILED: /tmp has \d+ MiB of the \d+ MiB")
        self.assertIn("FAILED: /tmp is mounted noexec", said["node4"])
        self.assertIn("FAILED: its host key is not known, or has changed", said["node5"])
        self.assertEqual(fleet.down().status, 0)
        together = fleet.up(*flags, "--all-or-nothing")
        self.assertEqual(together.status, 1, together)
        self.assertIn("4 of 5 hosts failed", together.err)
        self.assert_nothing_is_left()
        self.assertEqual(self.records(), [])

    def test_what_the_doctor_finds_is_below_its_host(self):
        fleet = self.make(2)
        self.hosts[0].stop()
        self.hosts[0].start('mount -t tmpfs none "$0/data"')
        os.rmdir(f"{self.hosts[1].root}/data")

        def lines_of(host, up):
            return re.search(rf"(?m)^{host}  .*\n(?: .*\n)*", up.err).group(0)

        up = fleet.up("--ssh", "node[1-2]")
        self.assertEqual(up.status, 7, up)
        self.assertIn("node1  up in", up.err)
        self.assertIn("\n  WARNING  /data: tmpfs, ", lines_of("node1", up))
        self.assertIn("it is memory: a job measures no storage there", lines_of("node1", up))
        self.assertIn("node2  FAILED: the doctor found 1 problem; --allow-problems", up.err)
        self.assertRegex(lines_of("node2", up), r"\n  PROBLEM  /data: .*No such file or directory")
        # The worker says the same of its own flags.
        up = fleet.up("--ssh", "node2", "--allow-problems")
        self.assertEqual(up.status, 1, up)
        self.assertIn("node2  FAILED: the worker did not attach to the controller", up.err)
        self.assertIn("\n  PROBLEM  /data: ", lines_of("node2", up))
        self.assertEqual(fleet.down().status, 0)
        self.assert_nothing_is_left()
        self.assertEqual(self.records(), [])

    def test_a_worker_that_is_killed_is_started_again(self):
        fleet = self.make(1)
        self.assertEqual(fleet.up("--ssh", "node1").status, 0)
        (first,) = self.worker(self.hosts[0])
        os.kill(first, signal.SIGKILL)
        wait_for("another worker", lambda: set(self.worker(self.hosts[0])) - {first})
        fleet.wait_attached(1)
        self.assertEqual(fleet.down().status, 0)
        self.assert_nothing_is_left()

    def test_a_lost_link_leaves_nothing(self):
        fleet = self.make(1)
        self.assertEqual(fleet.up("--ssh", "node1", "--alone", "5").status, 0)
        for pid in ssh_links(self.ssh.directory):
            os.kill(pid, signal.SIGKILL)
        self.assert_nothing_is_left(60)
        self.assertIn("CONNECTION LOST", fleet.lockstep("fleet", "list").out)
        # The host is not reachable for a while: what is known of it stays.
        self.hosts[0].stop()
        down = fleet.down()
        self.assertEqual(down.status, 1, down)
        self.assertIn("NOT DONE", down.err)
        self.hosts[0].start()
        down = fleet.down()
        self.assertEqual(down.status, 0, down)
        self.assertIn("was gone already", down.err)
        self.assertEqual(self.records(), [])

    def test_down_without_a_supervisor(self):
        fleet = self.make(1)
        self.assertEqual(fleet.up("--ssh", "node1").status, 0)
        for pid, words in self.hosts[0].lockstep_processes():
            if "/supervise " in words:
                os.kill(pid, signal.SIGKILL)
        down = fleet.down()
        self.assertEqual(down.status, 0, down)
        self.assert_nothing_is_left()

    def run_words(self, *words):
        return ["run", *self.fleet.flags, "--ssh", "node[1-2]", *words, "-"]

    def test_run_leaves_nothing(self):
        fleet = self.make(2)
        environment = fleet.environment()
        del environment["LOCKSTEP_CONTROLLER"]
        done = subprocess.run(
            [f"{BIN}/lockstep", *self.run_words()],
            input=JOB.format(hosts=2, seconds=2),
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("1 of 1 met", done.stdout)
        self.assert_nothing_is_left()

    def begin_run(self, *words):
        """A run --ssh whose load has begun."""
        process = self.fleet.start_lockstep(
            *self.run_words(*words), stdin=JOB.format(hosts=2, seconds=60)
        )
        wait_for("the load", lambda: os.path.exists(f"{self.hosts[0].root}/data/node1.lockstep"))
        time.sleep(1)
        return process

    def test_run_that_is_interrupted_leaves_nothing(self):
        self.make(2)
        process = self.begin_run()
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(120), 130, process.stderr.read())
        # Ctrl-C lets the job's cleanup phases run.
        self.assert_nothing_is_left()
        self.assertEqual(self.records(), [])

    def test_run_that_is_killed_leaves_nothing_but_files(self):
        fleet = self.make(2)
        process = self.begin_run("--alone", "5")
        process.kill()
        fleet.controller.kill()
        for host in self.hosts:
            wait_for("the worker to end", lambda host=host: not host.lockstep_processes(), 90)
        left = set().union(*(host.find() for host in self.hosts)) - self.before[0]
        self.assertEqual({name for name in left if not name.startswith("/data/")}, set())
        down = fleet.down()
        self.assertEqual(down.status, 0, down)
        self.assertEqual(down.err.count("was gone already"), 2, down)

    def test_names_that_would_be_options(self):
        fleet = self.make(1)
        trap = f"{self.ssh.directory}/trap"
        for name in (
            f"-oProxyCommand=touch {trap}",
            f"x@-oProxyCommand=touch${{IFS}}{trap}",
            f"$(touch {trap})",
            f"node1;touch {trap}",
            "ssh://node1",
        ):
            up = fleet.up(f"--ssh={name}")
            self.assertEqual(up.status, 1, up)
        # A record that somebody has changed is no way to remove something else.
        self.assertEqual(fleet.up("--ssh", "node1").status, 0)
        (name,) = self.records()
        path = f"{fleet.directory}/user/fleets/{name}"
        with open(path, encoding="utf-8") as text:
            record = text.read()
        lines = ["directory /etc" if x.startswith("directory ") else x for x in record.split("\n")]
        with open(path, "w", encoding="utf-8") as text:
            text.write("\n".join(lines))
        self.assertIn("/etc is no directory of a fleet", fleet.down().err)
        with open(path, "w", encoding="utf-8") as text:
            text.write(record)
        self.assertEqual(fleet.down().status, 0)
        self.assertFalse(os.path.exists(trap))
        self.assert_nothing_is_left()

    def edit(self, change):
        """Changes the text of the only record. Returns what it was."""
        (name,) = self.records()
        path = f"{self.fleet.directory}/user/fleets/{name}"
        with open(path, encoding="utf-8") as text:
            before = text.read()
        with open(path, "w", encoding="utf-8") as text:
            text.write(change(before))
        return before

    def test_an_edited_record_removes_nothing_else(self):
        fleet = self.make(1)
        self.assertEqual(fleet.up("--ssh", "node1").status, 0)
        root = self.hosts[0].root
        (token,) = self.records()
        for name in (f"etc/lockstep-fleet.{token}x", "keep", "root/-delete"):
            os.makedirs(f"{root}/{name}")
        with open(f"{root}/root/kept", "w", encoding="ascii") as file:
            file.write("mine")
        before = self.hosts[0].find()
        for directory in (
            "/keep",
            "/",
            "/tmp/..",
            f"/etc/lockstep-fleet.{token}x",
            f"/tmp/lockstep-fleet.{token}/..",
            f"/tmp/lockstep-fleet.{token}/../../keep",
        ):
            record = self.edit(
                lambda text, d=directory: re.sub("(?m)^directory .*", f"directory {d}", text)
            )
            self.assertIn("is no directory of a fleet", fleet.down().err)
            self.edit(lambda _, record=record: record)
        self.edit(lambda text: text + "allow -delete\nallow -exec\n")
        self.assertEqual(fleet.down().status, 0)
        mine = {name for name in before if not name.startswith("/tmp/")}
        self.assertEqual(mine - self.hosts[0].find(), set())

    def test_of_two_commands_at_once_one_has_the_host(self):
        fleet = self.make(1)
        words = ("fleet", "up", *fleet.flags, "--ssh", "node1")
        both = [fleet.start_lockstep(*words) for _ in range(2)]
        self.assertEqual(sorted(process.wait(120) for process in both), [0, 1])
        self.assertEqual(len(self.records()), 1)
        self.assertEqual(fleet.down().status, 0)
        self.assert_nothing_is_left()

    def test_down_asks_the_controller_of_the_workers(self):
        self.make(2)
        process = self.begin_run()
        environment = {**self.fleet.environment(), "LOCKSTEP_CONTROLLER": "127.0.0.1:1"}
        words = [f"{BIN}/lockstep", "fleet", "down"]
        down = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(down.returncode, 1, down)
        self.assertIn("a run is in progress on node1", down.stderr)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(120), 130)
        self.assert_nothing_is_left()

    def test_the_other_ways_are_chosen_with_open_eyes(self):
        fleet = self.make(1)
        for way, why in (("port", "--insecure-plaintext"), ("direct", "of this machine alone")):
            up = fleet.up("--ssh", "node1", "--way", way)
            self.assertEqual(up.status, 1, up)
            self.assertIn(why, up.err)
        up = fleet.up("--ssh", "node1", "--way", "port", "--insecure-plaintext")
        self.assertEqual(up.status, 0, up)
        self.assertEqual(fleet.down().status, 0)
        self.assert_nothing_is_left()
