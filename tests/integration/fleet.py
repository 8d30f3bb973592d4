"""A private controller and workers for a test: the real programs, a real PostgreSQL, real sockets,
in a temporary directory.
"""

import atexit
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
import unittest

from fleet_store import FleetStore
from processes import PATIENCE, stop, wait_for

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Other builds of the programs (tools/bench faults --asan) are elsewhere.
BIN = os.environ.get("LOCKSTEP_BIN") or os.path.join(ROOT, "bin")

# Memory, where there is plenty: a store there costs a test half a second of processor less. A bench
# says that its stores are on a disk, as they are in production.
MEMORY = "/dev/shm"
ENOUGH = 4 << 30
ROOM_OF_STORES = os.environ.get("LOCKSTEP_STORES") or (
    MEMORY if os.path.isdir(MEMORY) and shutil.disk_usage(MEMORY).free > ENOUGH else "/tmp"
)


def needs_root(test):
    return unittest.skipUnless(os.geteuid() == 0, "needs root: mounts, loop devices or namespaces")(
        test
    )


def identity_of(image):
    """Returns the identity of a loop device over an image."""
    facts = os.stat(image)
    return f"loop-file:{os.major(facts.st_dev)}:{os.minor(facts.st_dev)}:{facts.st_ino}"


def copy_store(state):
    """Gives a new controller a copy of an empty store, for a tenth of what making one costs.

    The first caller makes the store that all tests of this session copy (conftest.py). Two copies
    have one store ID: a test with two stores at once gets one of them made anew.
    """
    made = os.path.join(os.environ["LOCKSTEP_TEST_STORE"], "state")
    with open(made + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(made):
            with Fleet(0, copies_store=False) as fleet:
                stop(fleet.controller)
                subprocess.run(["cp", "-a", fleet.state, made + ".new"], check=True)
            os.rename(made + ".new", made)
    os.mkdir(state, 0o711)
    subprocess.run(["cp", "-a", os.path.join(made, "postgres"), state], check=True)


class Outcome:
    """A finished command."""

    def __init__(self, done):
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr

    @property
    def text(self):
        """Standard output without its line breaks."""
        return " ".join(self.out.split())

    def json(self):
        return json.loads(self.out)

    def __str__(self):
        return f"exit {self.status}\nstdout:\n{self.out}\nstderr:\n{self.err}"


class Fleet(FleetStore):
    """Starts a controller with an embedded store and workers named node1, node2, …; use as a
    context.
    """

    alive = 0  # in this process

    def __init__(
        self,
        workers=2,
        allow=None,
        controller_flags=(),
        worker_flags=(),
        http=False,
        copies_store=True,
    ):
        self.directory = tempfile.mkdtemp(prefix="ls", dir="/tmp")
        os.chmod(self.directory, 0o755)
        self.data = os.path.join(self.directory, "data")
        os.mkdir(self.data)
        os.chmod(self.data, 0o777)
        self.stores = tempfile.mkdtemp(prefix="ls", dir=ROOM_OF_STORES)
        os.chmod(self.stores, 0o755)
        super().__init__(os.path.join(self.stores, "s"))
        self.allow = [self.data] + list(allow or [])
        self.worker_flags = list(worker_flags)
        self.controller_flags = list(controller_flags)
        self.http = http
        self.listen = "127.0.0.1:0"
        self.workers = {}
        self.processes = []  # every one that was started, also those that a test replaced
        self.clients = []  # command lines that were started
        self.controller = None
        self.address = self.url = None
        self.wanted = workers
        self.counted = False
        self.confirms = True  # what jobs declare expendable
        self.copies_store = (
            copies_store
            and "LOCKSTEP_TEST_STORE" in os.environ
            and not any(flag.startswith("--store") for flag in self.controller_flags)
        )

    def __enter__(self):
        # Also where an interrupt leaves no time for more.
        atexit.register(self.__exit__)
        try:
            if self.copies_store and Fleet.alive == 0:
                copy_store(self.state)
            Fleet.alive += 1
            self.counted = True
            self.start_controller()
            for i in range(1, self.wanted + 1):
                self.start_worker(f"node{i}")
            if self.wanted:
                self.wait_attached(self.wanted)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        Fleet.alive -= self.counted
        self.counted = False
        self.resume_postgres()
        # One that waits would look for its controller for a minute.
        for client in self.clients:
            if client.poll() is None:
                client.kill()
                client.wait()
        # Newest first: workers mostly before the controller.
        for process in reversed(self.processes):
            stop(process)
        self.close_reader()
        shutil.rmtree(self.directory, ignore_errors=True)
        shutil.rmtree(self.stores, ignore_errors=True)

    def log(self, name):
        # A line in progress may end within a character.
        path = os.path.join(self.directory, name + ".log")
        with open(path, encoding="utf-8", errors="replace") as text:
            return text.read()

    def spawn(self, name, words):
        with open(os.path.join(self.directory, name + ".log"), "ab") as log:
            self.processes.append(
                subprocess.Popen(
                    words, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
                )
            )
        return self.processes[-1]

    def start_controller(self, listen=None):
        ready = os.path.join(self.directory, "ready")
        if os.path.exists(ready):
            os.unlink(ready)
        words = [
            f"{BIN}/lockstep-controller",
            "--listen",
            listen or self.listen,
            "--state-dir",
            self.state,
            "--ready-file",
            ready,
            "--allow-store-filesystem",
        ] + self.controller_flags
        if self.http:
            words += ["--http", "127.0.0.1:0" if self.http is True else self.http]
        self.controller = self.spawn("controller", words)

        def listening():
            if self.controller.poll() is not None:
                raise AssertionError("the controller ended:\n" + self.log("controller"))
            return os.path.exists(ready)

        wait_for("the controller to listen", listening)
        with open(ready, encoding="utf-8") as text:
            facts = [line.split(" ", 1) for line in text.read().splitlines()]
        self.address = next(value for key, value in facts if key == "listen")
        self.url = next((value for key, value in facts if key == "http"), None)

    def start_worker(self, name, flags=None, controller=None):
        words = [
            f"{BIN}/lockstep-worker",
            "--controller",
            controller or self.address,
            "--state-dir",
            os.path.join(self.directory, "worker-" + name),
            "--name",
            name,
        ]
        for entry in self.allow:
            words += ["--allow", entry]
        self.workers[name] = self.spawn(
            name, words + (self.worker_flags if flags is None else flags)
        )
        return self.workers[name]

    def wait_attached(self, count, seconds=PATIENCE):
        wait_for(
            f"{count} workers",
            lambda: len(self.lockstep("status", "--format", "json").json()["workers"]) == count,
            seconds,
        )

    def environment(self):
        return {**os.environ, "LOCKSTEP_CONTROLLER": self.address or "127.0.0.1:1", "NO_COLOR": "1"}

    @staticmethod
    def words(words):
        """Store and targets of a test share a file system: its jobs say that they may."""
        if (
            any(word in ("run", "submit", "plan") for word in words)
            and "-" in words
            or "rerun" in words
            and "--set" in words
        ):
            return [f"{BIN}/lockstep", *words, "--set", "store_filesystem=true"]
        return [f"{BIN}/lockstep", *words]

    def confirmed(self, words, job):
        """The words, with the token of the job's plan where it overwrites what is expendable."""
        asks = words[0] in ("run", "submit") and job and "expendable: [" in job
        if not asks or not self.confirms or "--confirm" in words:
            return words
        planned = self.lockstep("plan", "-", "--format", "json", stdin=job)
        plan = planned.json() if planned.out else {}
        return (*words, "--confirm", plan["token"]) if plan.get("overwrites") else words

    def lockstep(self, *words, stdin=None, timeout=300):
        """Runs the command line to its end."""
        words = self.confirmed(words, stdin)
        done = subprocess.run(
            self.words(words),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            env=self.environment(),
            check=False,
        )
        return Outcome(done)

    def start_lockstep(self, *words, stdin=None):
        """Starts the command line, with the job on its standard input."""
        words = self.confirmed(words, stdin)
        process = subprocess.Popen(
            self.words(words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment(),
        )
        if stdin is not None:
            process.stdin.write(stdin)
            process.stdin.close()
            process.stdin = None
        self.clients.append(process)
        return process

    def run_job(self, job, *words, timeout=300):
        return self.lockstep("run", "-", *words, stdin=job, timeout=timeout)


def files_job(
    data, hosts=2, duration="2s", extra="", workload="", size="8MiB", tail="  - cleanup:\n"
):
    """A small job: prepare, a random mix, clean-up. Its rate is limited, unless `workload` says how
    much it does: at full speed a load would take the processors from the other tests.
    """
    paced = ("max_iops", "open_loop", "operations", "io_size", "passes", "think_time")
    if not any(word in workload for word in paced):
        workload = ", max_iops: 1000" + workload
    return f"""name: small
hosts: {{count: {hosts}}}
{extra}
targets:
  - name: data
    file: {{path: "{data}/{{host}}/file", size: {size}}}
phases:
  - prepare:
  - name: mix
    run:
      duration: {duration}
      workloads:
        - {{name: mixed, block_size: 4KiB, read: 70%, queue_depth: 4, threads: 2{workload}}}
{tail}"""


class FleetTest(unittest.TestCase):
    """Tests that share one fleet of two workers."""

    workers = 2
    fleet_options = {}

    @classmethod
    def setUpClass(cls):
        cls.start_fleet(Fleet(cls.workers, **cls.fleet_options))

    @classmethod
    def start_fleet(cls, fleet):
        """For a setUpClass() that makes what the fleet uses. The fleet ends before that is undone,
        also if a later step fails.
        """
        cls.fleet = fleet
        cls.addClassCleanup(fleet.__exit__)
        fleet.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.fleet.__exit__()

    def ok(self, outcome, status=0):
        self.assertEqual(outcome.status, status, str(outcome))
        return outcome
