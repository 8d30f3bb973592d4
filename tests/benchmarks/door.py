"""tools/bench door: how soon somebody has a report on a host, or on eight, without Lockstep."""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from bare_root import make_busybox_root, package, run_demo, unpack
from fleet import wait_for
from ssh_hosts import SSHD, SshHosts
from verdict import say

# The demo itself measures for 20 s, the job over ssh for 10 s.
LIMIT_SECONDS = 60
ALONE_SECONDS = 10
JOB = """name: door
on_worker_loss: continue
targets: [{name: data, file: {path: "/data/{host}", size: 16MiB}}]
phases:
  - prepare:
  - name: mix
    run:
      duration: 10s
      workloads: [{read: 70%, queue_depth: 4, direct: false}]
  - cleanup:
"""


def run_demos(work, rounds):
    """The seconds of the slowest one."""
    took = []
    for number in range(rounds):
        root = f"{work}/{number}"
        os.mkdir(root)
        make_busybox_root(root)
        begin = time.monotonic()
        done = run_demo(f"{work}/dist", root)
        took.append(time.monotonic() - begin)
        print(f"{took[-1]:5.1f} s from unpacking to the report, in a root with a busybox")
        if done.returncode != 0:
            sys.exit(done.stdout + done.stderr)
        shutil.rmtree(root)
    return max(took)


def install(work):
    """Unpacks the archives, as somebody does who has built nothing. Returns the command."""
    os.mkdir(f"{work}/opt")
    os.chmod(f"{work}/opt", 0o755)
    return f"{work}/opt{unpack(f'{work}/dist', f'{work}/opt')}/bin/lockstep"


class Door:
    """`lockstep run --ssh` of the unpacked archives, with hosts of SshHosts."""

    def __init__(self, work, command, ssh):
        self.work, self.command, self.ssh = work, command, ssh
        self.before = [host.find() for host in ssh.hosts]
        # Every door is somebody's first: no store, no record.
        self.state = tempfile.mkdtemp(prefix="state", dir=work)
        os.chmod(self.state, 0o755)

    def lockstep(self, *words):
        environment = {**os.environ, "LOCKSTEP_STATE_DIR": self.state, "NO_COLOR": "1"}
        environment.pop("LOCKSTEP_CONTROLLER", None)
        return subprocess.run(
            [self.command, *words],
            input=JOB,
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )

    def run(self, *flags):
        """run --ssh with all hosts."""
        (archive,) = (n for n in os.listdir(f"{self.work}/dist") if "-worker-" in n)
        hosts = f"node[1-{len(self.ssh.hosts)}]"
        words = ["--worker-archive", f"{self.work}/dist/{archive}", "--ssh-config", self.ssh.config]
        words += ["--alone", str(ALONE_SECONDS), "--parallel", "64", "--allow", "/data"]
        return self.lockstep("run", "--ssh", hosts, *words, *flags, "-")

    def left(self):
        """Returns the files that `find` sees in addition on the hosts, except those of jobs."""
        found = set()
        for host, before in zip(self.ssh.hosts, self.before, strict=True):
            if host.sshd.poll() is None:
                found |= {f"{host.name}: {words}" for _, words in host.lockstep_processes()}
                names = {name for name in host.find() - before if not name.startswith("/data/")}
                found |= {f"{host.name}: {name}" for name in names}
        return found


def run_fleet(work, command, count):
    """The seconds from nothing to the report, and what is left on the hosts."""
    with SshHosts(count) as ssh:
        door = Door(work, command, ssh)
        begin = time.monotonic()
        done = door.run()
        took = time.monotonic() - begin
        print(
            f"{took:5.1f} s from nothing to a report of {count} hosts, of which 10 s are the load"
        )
        if done.returncode != 0 or done.stderr.count("  up in ") != count:
            sys.exit(done.stdout + done.stderr)
        return took, door.left()


def break_hosts(ssh):
    """Once the load has begun: a worker is killed, and a link is cut."""
    for host in ssh.hosts[2:4]:
        wait_for(f"{host.name}'s file", lambda h=host: os.path.exists(f"{h.root}/data/{h.name}"))
    time.sleep(3)
    for pid, words in ssh.hosts[2].lockstep_processes():
        if "lib/start/lockstep-worker" in words:
            os.kill(pid, signal.SIGKILL)
    ssh.hosts[3].line.inside("ip", "link", "set", "eth0", "down")


def run_broken_fleet(work, command):
    """Breaks four of eight hosts: one is unreachable, one has no space, one's worker is killed, and
    one's link is cut. Returns what is left on the hosts, and whether every one was named.
    """
    with SshHosts(8) as ssh:
        ssh.hosts[1].stop()
        ssh.hosts[1].start('mount -t tmpfs -o size=1m none "$0/tmp"')
        door = Door(work, command, ssh)
        ssh.hosts[0].stop()
        breaker = threading.Thread(target=break_hosts, args=[ssh])
        breaker.start()
        done = door.run("--remote-directory", "/tmp")
        breaker.join()
        print(done.stderr)
        # The worker behind the cut link ends by itself.
        lonely = ssh.hosts[3]
        wait_for("the worker without a link to end", lambda: not lonely.lockstep_processes())
        lonely.line.inside("ip", "link", "set", "eth0", "up")
        again = door.lockstep("fleet", "down")
        print(again.stdout + again.stderr)
        named = all(f"node{number}" in done.stderr for number in (1, 2, 4))
        return door.left(), named and "Lockstep: door" in done.stdout and again.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="of the demo; 0 leaves it out")
    parser.add_argument("--hosts", type=int, default=8, help="that one command starts by ssh")
    flags = parser.parse_args()
    work = tempfile.mkdtemp(prefix="lsdoor", dir=os.environ.get("LOCKSTEP_STORES", "/var/tmp"))
    os.chmod(work, 0o755)
    checks = []
    try:
        package(f"{work}/dist", "archive")
        if flags.rounds > 0:
            took = run_demos(work, flags.rounds)
            checks.append((f"a report in {LIMIT_SECONDS} s", took <= LIMIT_SECONDS))
        if not SSHD:
            sys.exit("sshd is not installed; run tools/install-deps test")
        command = install(work)
        took, left = run_fleet(work, command, flags.hosts)
        checks.append(
            (f"a report of {flags.hosts} hosts in {LIMIT_SECONDS} s", took <= LIMIT_SECONDS)
        )
        checks.append((f"nothing is left on them {sorted(left)}", not left))
        left, told = run_broken_fleet(work, command)
        checks.append(("hosts that fail are named, and the others report", told))
        checks.append((f"nothing is left on broken ones {sorted(left)}", not left))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return say("door", checks)


if __name__ == "__main__":
    sys.exit(main())
