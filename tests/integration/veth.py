"""A host behind a line of its own: a network namespace and a pair of veth, with a limit on what the
host sends.
"""

import contextlib
import itertools
import os
import shutil
import subprocess

from fleet import BIN, Fleet
from san import EXPENDABLE, EXPENDABLE_FLAGS, Tgt

HAS_TC = shutil.which("tc") is not None


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


class Line(contextlib.ExitStack):
    """A namespace whose eth0 leads to `gateway`, an address of this one. Use as a context."""

    made = itertools.count()

    def __init__(self):
        super().__init__()
        # The kernel removes a namespace's devices some time after the namespace: each line of a
        # test process has a network of four addresses, and a name, of its own.
        one = next(Line.made)
        number = (os.getpid() * 8 + one) % 16384
        base = f"10.84.{number // 64}.{number % 64 * 4 + 1}"
        self.gateway, self.address = base, f"{base.rsplit('.', 1)[0]}.{number % 64 * 4 + 2}"
        self.name = f"lsl{os.getpid()}x{one}"

    def __enter__(self):
        super().__enter__()
        try:
            run("ip", "netns", "add", self.name)
            self.callback(subprocess.run, ["ip", "netns", "del", self.name], check=False)
            pair = ["type", "veth", "peer", "name", "eth0", "netns", self.name]
            run("ip", "link", "add", self.name, *pair)
            run("ip", "addr", "add", f"{self.gateway}/30", "dev", self.name)
            run("ip", "link", "set", self.name, "up")
            run("ip", "-n", self.name, "addr", "add", f"{self.address}/30", "dev", "eth0")
            run("ip", "-n", self.name, "link", "set", "eth0", "up")
            run("ip", "-n", self.name, "link", "set", "lo", "up")
        except BaseException:
            self.close()
            raise
        return self

    def inside(self, *words):
        return run("ip", "netns", "exec", self.name, *words)

    def limit(self, rate):
        """Lets eth0 send so much: "16mbit". The burst makes up for times without a processor."""
        self.inside(
            *["tc", "qdisc", "replace", "dev", "eth0", "root", "tbf", "rate", rate],
            *["burst", "256kb", "limit", "1mb"],
        )
        self.callback(self.unlimit)

    def unlimit(self):
        subprocess.run(
            ["ip", "netns", "exec", self.name, "tc", "qdisc", "del", "dev", "eth0", "root"],
            check=False,
            capture_output=True,
        )

    def sent_bytes(self):
        return int(self.inside("cat", "/sys/class/net/eth0/statistics/tx_bytes"))

    def start_worker(self, fleet, name, allow, flags=()):
        """A worker behind the line, of a controller that listens on all addresses."""
        port = fleet.address.rsplit(":", 1)[1]
        fleet.workers[name] = fleet.spawn(
            name,
            [
                *["ip", "netns", "exec", self.name, f"{BIN}/lockstep-worker"],
                *["--insecure-plaintext", "--controller", f"{self.gateway}:{port}"],
                *["--name", name, *(word for entry in allow for word in ("--allow", entry))],
                *flags,
                *["--state-dir", os.path.join(fleet.directory, f"worker-{name}")],
            ],
        )


class LunBehindALine(contextlib.ExitStack):
    """A fleet of one worker behind a line, and a LUN on this side of it."""

    def __init__(self):
        super().__init__()
        self.line = self.fleet = self.tgt = None

    def __enter__(self):
        super().__enter__()
        try:
            self.line = self.enter_context(Line())
            self.tgt = self.enter_context(Tgt(luns=1, address=self.line.gateway))
            self.fleet = Fleet(0, controller_flags=["--insecure-plaintext"])
            self.fleet.listen = "0.0.0.0:0"
            self.enter_context(self.fleet)
            port = self.fleet.address.rsplit(":", 1)[1]
            self.fleet.address = f"127.0.0.1:{port}"
            self.line.start_worker(self.fleet, "node1", [self.tgt.url(1)], EXPENDABLE_FLAGS)
            self.fleet.wait_attached(1)
        except BaseException:
            self.close()
            raise
        return self

    def job(self, workload, duration="4s", name="line"):
        return (
            f"name: {name}\nhosts: {{count: 1}}\n{EXPENDABLE}\n"
            f"targets: [{{name: lun, iscsi: {{url: '{self.tgt.url(1)}', size: 32MiB}}}}]\n"
            f"phases:\n  - {{name: mix, run: {{duration: {duration}, "
            f"workloads: [{{name: w, {workload}}}]}}}}\n"
        )
