"""Hosts on one machine: network namespaces on a bridge, each with a host name and a monotonic clock of its own; links that delay; and
firewall rules that cut them. The kernel underneath is one, so that true instants can be compared."""
import os
import random
import socket
import subprocess
import threading
import time
from collections import deque

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
            run("ip", "link", "add", f"{self.tag}v{i}", "type", "veth", "peer", "name", "eth0", "netns", name)
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
        return ["ip", "netns", "exec", self.names[host], "unshare", "--uts", *own_clock, "--fork", "--kill-child", *command]

    def cut(self, host):
        """Nothing passes in or out any more."""
        rules = "add table inet cut; add chain inet cut i { type filter hook input priority 0; policy drop; }; add chain inet cut o { type filter hook output priority 0; policy drop; }"
        run("ip", "netns", "exec", self.names[host], "nft", rules)

    def mend(self, host):
        subprocess.run(["ip", "netns", "exec", self.names[host], "nft", "delete", "table", "inet", "cut"], check=False, capture_output=True)


class Link:
    """A forwarder that delays what it passes on: seconds up (towards `to`) and down. Serves until close()."""

    def __init__(self, listen, to, up, down):
        self.to, self.up, self.down = to, up, down
        self.server = socket.create_server((listen, 0))
        self.address = f"{listen}:{self.server.getsockname()[1]}"
        self.open = True
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while self.open:
            try:
                near, _ = self.server.accept()
            except OSError:
                return
            host, port = self.to.rsplit(":", 1)
            try:
                far = socket.create_connection((host, int(port)))
            except OSError:
                near.close()
                continue
            for one in (near, far):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.pass_on(near, far, self.up)
            self.pass_on(far, near, self.down)

    def pass_on(self, source, sink, delay):
        queue = deque()
        arrived = threading.Condition()

        def read():
            while True:
                try:
                    data = source.recv(65536)
                except OSError:
                    data = b""
                with arrived:
                    queue.append((time.monotonic() + delay, data))
                    arrived.notify()
                if not data:
                    return

        def write():
            while True:
                with arrived:
                    while not queue:
                        arrived.wait()
                    due, data = queue.popleft()
                wait = due - time.monotonic()
                if wait > 0:
                    time.sleep(wait)
                try:
                    if not data:
                        sink.shutdown(socket.SHUT_WR)
                        return
                    sink.sendall(data)
                except OSError:
                    return

        threading.Thread(target=read, daemon=True).start()
        threading.Thread(target=write, daemon=True).start()

    def close(self):
        self.open = False
        self.server.close()


def pick(seed):
    """Draws that a seed repeats."""
    return random.Random(seed)
