"""A SAN of one machine: tgt in user space, on ports and sockets of its own."""

import contextlib
import os
import signal
import socket
import subprocess
import tempfile

from fleet import wait_for

IQN = "iqn.2026-11.test:array"


def identity(lun):
    """Returns the identity of a LUN of tgt's first target."""
    return f"naa.60000000000000000e000000000100{lun:02}"


# Flags of a worker that may overwrite both LUNs, and the list of a job that does.
EXPENDABLE_FLAGS = [word for lun in (1, 2) for word in ("--allow-expendable", identity(lun))]
EXPENDABLE_FLAGS += ["--approve-label", "lab=yes"]
EXPENDABLE = f"labels: {{lab: 'yes'}}\nexpendable: [{identity(1)}, {identity(2)}]"


def lun_job(url, workload, hosts=4, run="duration: 2s", extra="", target="", head=""):
    return (
        f"name: san\nhosts: {{count: {hosts}}}\n{head}\n"
        f"targets: [{{name: lun, iscsi: {{url: '{url}'{target}}}{extra}}}]\n"
        f"phases:\n  - {{name: load, run: {{{run}, workloads: [{{name: w, {workload}}}]}}}}\n"
    )


def free_port(address):
    with socket.socket() as probe:
        probe.bind((address, 0))
        return probe.getsockname()[1]


class Tgt:
    """A target with LUNs 1, 2, …; use as a context."""

    def __init__(self, luns=2, size=64 << 20, address="127.0.0.1"):
        self.portal = f"{address}:{free_port(address)}"
        self.sizes = [size] * luns
        self.directory = None
        self.process = None
        self.chap = None

    def __enter__(self):
        self.directory = tempfile.mkdtemp(prefix="lstgt", dir="/tmp")
        for lun, size in enumerate(self.sizes, 1):
            with open(self.image(lun), "wb") as out:
                out.truncate(size)
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.kill()
        subprocess.run(["rm", "-rf", self.directory], check=False)

    def image(self, lun):
        return os.path.join(self.directory, f"lun{lun}")

    def url(self, lun):
        return f"iscsi://{self.portal}/{IQN}/{lun}"

    def environment(self):
        return {**os.environ, "TGT_IPC_SOCKET": os.path.join(self.directory, "socket")}

    def admin(self, *words):
        return subprocess.run(
            ["tgtadm", "--lld", "iscsi", *words],
            env=self.environment(),
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    def start(self):
        with open(os.path.join(self.directory, "log"), "ab") as log:
            self.process = subprocess.Popen(
                [
                    "setpriv",
                    "--pdeathsig",
                    "KILL",
                    "tgtd",
                    "-f",
                    "--iscsi",
                    f"portal={self.portal}",
                ],
                env=self.environment(),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

        def answers():
            with contextlib.suppress(subprocess.CalledProcessError):
                self.admin("--op", "show", "--mode", "sys")
                return True
            return False

        wait_for("tgtd to answer", answers)
        self.admin("--op", "new", "--mode", "target", "--tid", "1", "-T", IQN)
        for lun in range(1, len(self.sizes) + 1):
            words = ["--mode", "logicalunit", "--tid", "1", "--lun", str(lun)]
            self.admin("--op", "new", *words, "-b", self.image(lun))
        if self.chap:
            user, password = self.chap
            account = ["--mode", "account", "--user", user]
            self.admin("--op", "new", *account, "--password", password)
            self.admin("--op", "bind", *account, "--tid", "1")
        self.admin("--op", "bind", "--mode", "target", "--tid", "1", "-I", "ALL")

    def set(self, lun, **parameters):
        text = ",".join(f"{key}={value}" for key, value in parameters.items())
        words = ["--mode", "logicalunit", "--tid", "1", "--lun", str(lun), "--params", text]
        self.admin("--op", "update", *words)

    def kill(self):
        """At once, as a power cut does."""
        if self.process is not None and self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGCONT)
            self.process.kill()
        if self.process is not None:
            self.process.wait()
        self.process = None

    def pause(self):
        os.kill(self.process.pid, signal.SIGSTOP)

    def resume(self):
        os.kill(self.process.pid, signal.SIGCONT)

    def initiators(self):
        """Names of those who are logged in now."""
        shown = self.admin("--op", "show", "--mode", "target")
        names = [line.split(":", 1)[1] for line in shown.splitlines() if "Initiator:" in line]
        return {name.strip().split(" ")[0] for name in names}
