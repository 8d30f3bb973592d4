"""Hosts that are reached by ssh: network namespaces with a real sshd, each in a root directory that
has a busybox and nothing of Lockstep.
"""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile

from bare_root import ENTER, ENVIRONMENT, make_busybox_root, run
from fleet import wait_for
from veth import Line

SSHD_COMMAND = ["/usr/sbin/sshd", "-D", "-e"]
SSHD = os.environ.get("LOCKSTEP_SSHD") or shutil.which("sshd", path="/usr/sbin:/usr/bin")

# /run/sshd is where sshd has its children without rights; the user is theirs.
PASSWD = """root:*:0:0:root:/root:/bin/sh
sshd:*:74:74:sshd:/run/sshd:/bin/false
"""
SSHD_CONFIG = """Port 22
HostKey /etc/ssh/host_key
PermitRootLogin prohibit-password
UsePAM no
PidFile none
"""
CLIENT_CONFIG = """Host {name}
  HostName {address}
  User root
  IdentityFile {directory}/key
  IdentitiesOnly yes
  UserKnownHostsFile {directory}/known_hosts
  GlobalKnownHostsFile none
  StrictHostKeyChecking yes
"""


def make_key(path):
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path)
    with open(f"{path}.pub", encoding="ascii") as public:
        return public.read().strip()


def copy_program(program, to, root):
    """With its libraries, where a loader finds them that has no cache."""
    os.makedirs(root + os.path.dirname(to), exist_ok=True)
    shutil.copy(program, root + to)
    for path in re.findall(r"(/\S+) \(0x", run("ldd", program)):
        place = path if "ld-linux" in path else f"/lib/{os.path.basename(path)}"
        os.makedirs(root + os.path.dirname(place), exist_ok=True)
        shutil.copy(path, root + place)


class SshHost(contextlib.ExitStack):
    def __init__(self, name, directory, public, sshd_config=""):
        super().__init__()
        self.name, self.directory, self.public = name, directory, public
        self.root = f"{directory}/{name}"
        self.sshd_config = sshd_config
        self.sshd = self.line = None

    def __enter__(self):
        super().__enter__()
        self.line = self.enter_context(Line())
        os.mkdir(self.root)
        make_busybox_root(self.root)
        for name in ("data", "etc/ssh", "root/.ssh", "run/sshd", "sbin", "usr/bin", "var/tmp"):
            os.makedirs(f"{self.root}/{name}")
        os.chmod(f"{self.root}/root/.ssh", 0o700)
        run("chroot", self.root, "/bin/busybox", "--install", "-s", "/bin")
        copy_program(SSHD, "/usr/sbin/sshd", self.root)
        self.write("etc/passwd", PASSWD)
        self.write("etc/ssh/sshd_config", SSHD_CONFIG + self.sshd_config)
        self.write("root/.ssh/authorized_keys", self.public + "\n")
        self.key = make_key(f"{self.root}/etc/ssh/host_key")
        self.start()
        return self

    def write(self, name, text):
        with open(f"{self.root}/{name}", "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(f"{self.root}/{name}", 0o600 if "ssh" in name else 0o644)

    def start(self, prepare=""):
        """`prepare` is run by a shell in the host's mount namespace, with the root as $0."""
        words = ["ip", "netns", "exec", self.line.name, "unshare", "--mount", "--pid", "--fork"]
        script = ENTER.replace("exec chroot", f"{prepare}\n  exec chroot")
        # sshd's messages about each connection are of use when a test fails.
        with open(f"{self.directory}/{self.name}.log", "ab") as log:
            self.sshd = subprocess.Popen(
                [*words, "--kill-child", "sh", "-c", script, self.root, *SSHD_COMMAND],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=ENVIRONMENT,
            )
        self.callback(self.stop)
        wait_for(f"the sshd of {self.name}", self.answers)

    def answers(self):
        try:
            with socket.create_connection((self.line.address, 22), 5) as connection:
                return connection.recv(4) == b"SSH-"
        except OSError:
            return False

    def stop(self):
        """The first process of the host's namespace; all others end with it."""
        if self.sshd.poll() is None:
            self.sshd.send_signal(signal.SIGKILL)
        self.sshd.wait()

    def find(self):
        """Every file of the host, but what its kernel shows."""
        found = set()
        # With what is mounted in the host's own namespace.
        root = f"/proc/{self.first()}/root"
        for directory, folders, files in os.walk(root):
            folders[:] = [name for name in folders if f"{directory}/{name}" != f"{root}/proc"]
            found |= {f"{directory}/{name}"[len(root) :] for name in folders + files}
        return found

    def processes(self):
        """[(pid, its words)] of the host, as this machine numbers them."""
        space = os.stat(f"/proc/{self.first()}/ns/pid").st_ino
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if os.stat(f"/proc/{pid}/ns/pid").st_ino == space:
                    with open(f"/proc/{pid}/cmdline", encoding="utf-8") as words:
                        found.append((int(pid), words.read().replace("\0", " ").strip()))
        return found

    def first(self):
        """The sshd: the child of unshare, which ip has become."""
        with open(f"/proc/{self.sshd.pid}/task/{self.sshd.pid}/children", encoding="ascii") as text:
            return int(text.read().split()[0])

    def lockstep_processes(self):
        return [(pid, words) for pid, words in self.processes() if "lockstep" in words]


class SshHosts(contextlib.ExitStack):
    """So many hosts node1, node2, … with a key that they let in, and `config` for ssh -F."""

    def __init__(self, count, sshd_config=""):
        super().__init__()
        self.count, self.sshd_config = count, sshd_config
        self.hosts = []

    def __enter__(self):
        super().__enter__()
        self.directory = tempfile.mkdtemp(prefix="lsssh", dir="/tmp")
        self.callback(shutil.rmtree, self.directory, ignore_errors=True)
        self.config = f"{self.directory}/config"
        try:
            public = make_key(f"{self.directory}/key")
            for number in range(1, self.count + 1):
                host = SshHost(f"node{number}", self.directory, public, self.sshd_config)
                self.hosts.append(self.enter_context(host))
        except BaseException:
            self.close()
            raise
        with open(f"{self.directory}/known_hosts", "w", encoding="ascii") as known:
            for host in self.hosts:
                known.write(f"{host.line.address} {host.key}\n")
        with open(self.config, "w", encoding="ascii") as config:
            for host in self.hosts:
                facts = {"name": host.name, "address": host.line.address}
                config.write(CLIENT_CONFIG.format(directory=self.directory, **facts))
        return self
