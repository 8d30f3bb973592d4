"""Hosts on one machine: network namespaces on a bridge, each with a host name and a monotonic clock
of its own; links that delay; and firewall rules that cut them. The kernel underneath is one, so
that true instants can be compared.
"""

import os
import random
import subprocess

from fleet import BIN, ROOT
from machine import Machine, run


class Hosts(Machine):
    """`count` namespaces lsbN with addresses 10.83.0.(N+10); the root namespace is 10.83.0.1."""

    made = 0

    def __init__(self, count, clocks_apart=True):
        super().__init__()
        Hosts.made += 1
        self.tag = f"ls{os.getpid() % 10000}{'abcdefghijklmnopqrstuvwxyz'[Hosts.made % 26]}"
        self.bridge = f"{self.tag}br"
        self.gateway = "10.83.0.1"
        self.offsets = []
        self.names = []
        try:
            self.make(count, clocks_apart)
        except BaseException:
            self.close()
            raise

    def make(self, count, clocks_apart):
        run("ip", "link", "add", self.bridge, "type", "bridge")
        self.callback(subprocess.run, ["ip", "link", "del", self.bridge], check=False)
        run("ip", "addr", "add", f"{self.gateway}/24", "dev", self.bridge)
        run("ip", "link", "set", self.bridge, "up")
        for i in range(count):
            name = f"{self.tag}n{i}"
            run("ip", "netns", "add", name)
            self.callback(subprocess.run, ["ip", "netns", "del", name], check=False)
            pair = ["type", "veth", "peer", "name", "eth0", "netns", name]
            run("ip", "link", "add", f"{self.tag}v{i}", *pair)
            run("ip", "link", "set", f"{self.tag}v{i}", "master", self.bridge, "up")
            run("ip", "-n", name, "addr", "add", f"{self.address(i)}/24", "dev", "eth0")
            run("ip", "-n", name, "link", "set", "eth0", "up")
            run("ip", "-n", name, "link", "set", "lo", "up")
            self.names.append(name)
            self.offsets.append((i + 1) * 7200 + i * 13 if clocks_apart else 0)

    def address(self, host):
        return f"10.83.0.{host + 10}"

    def words(self, host, *command):
        """How a command is run on a host."""
        own_clock = ["--time", "--monotonic", str(self.offsets[host])] if self.offsets[host] else []
        return [
            "ip",
            "netns",
            "exec",
            self.names[host],
            "unshare",
            "--uts",
            *own_clock,
            "--fork",
            "--kill-child",
            *command,
        ]

    def start_worker(self, fleet, host, controller, *allow, flags=()):
        """A worker of the fleet on a host: node0, node1, …"""
        allowed = [word for entry in allow for word in ("--allow", entry)]
        name = f"node{host}"
        fleet.workers[host] = fleet.spawn(
            name,
            self.words(
                host,
                f"{BIN}/lockstep-worker",
                "--insecure-plaintext",
                "--controller",
                controller,
                "--name",
                name,
                *allowed,
                *flags,
                "--state-dir",
                os.path.join(fleet.directory, f"worker-{host}"),
            ),
        )

    def cut(self, host):
        """Nothing passes in or out any more."""
        rules = (
            "add table inet cut; add chain inet cut i "
            "{ type filter hook input priority 0; policy drop; }; add chain inet cut o "
            "{ type filter hook output priority 0; policy drop; }"
        )
        run("ip", "netns", "exec", self.names[host], "nft", rules)

    def mend(self, host):
        subprocess.run(
            ["ip", "netns", "exec", self.names[host], "nft", "delete", "table", "inet", "cut"],
            check=False,
            capture_output=True,
        )


class Link:
    """A forwarder that delays what it passes on (link.cc): seconds up (towards `to`) and down.
    Serves until close().
    """

    def __init__(self, listen, to, up, down):
        host, port = to.rsplit(":", 1)
        words = [
            os.path.join(ROOT, "bazel-bin/tests/benchmarks/link"),
            listen,
            host,
            port,
            str(round(up * 1e6)),
            str(round(down * 1e6)),
        ]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        self.address = f"{listen}:{int(self.process.stdout.readline())}"

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def pick(seed):
    """Draws that a seed repeats."""
    return random.Random(seed)
