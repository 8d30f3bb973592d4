"""A Slurm cluster of one machine: a real slurmctld, two slurmd and munge, in namespaces over a copy
of this machine's root, which goes into memory and ends with them.
"""

import contextlib
import os
import secrets
import shutil
import subprocess
import tempfile

from fleet import BIN, wait_for

ADDRESS = "10.85.0.1"
CONTROLLER_PORT = 26401
NODE_PORTS = "[26402-26403]"
USER = "anna"

# Plain plugins: there is one kernel, whose control groups are not Slurm's.
CONFIGURATION = f"""ClusterName=test
SlurmctldHost=ctl({ADDRESS})
SlurmctldPort={CONTROLLER_PORT}
SlurmUser=root
AuthType=auth/munge
StateSaveLocation=/var/spool/slurm/state
SlurmdSpoolDir=/var/spool/slurm/%n
SlurmctldPidFile=/run/slurm/ctld.pid
SlurmdPidFile=/run/slurm/%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
ReturnToService=2
KillWait=15
SlurmdParameters=config_overrides
PropagateResourceLimitsExcept=MEMLOCK
NodeName=n[1-2] NodeHostname=ctl NodeAddr={ADDRESS} Port={NODE_PORTS} CPUs=1 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
"""

# Arguments: a directory with the cluster's files, and this machine's programs.
START = r"""set -e
home=$0
programs=$1
mkdir "$home/mounts"
mount -t tmpfs none "$home/mounts"
cd "$home/mounts"
mkdir upper inner root
mount -t overlay -o lowerdir=/,upperdir=upper,workdir=inner none root
mount -t proc proc root/proc
mount -t sysfs sysfs root/sys
mount --rbind /dev root/dev
mount -t tmpfs none root/run
mkdir -p root/scratch root/opt/lockstep root/home/anna
mount -t tmpfs -o mode=1777 none root/scratch
mount -t tmpfs -o mode=1777 none root/tmp
# A terminal's and a shell's memory are this machine's; nothing in it is Slurm's or Lockstep's.
cp "$programs"/* root/opt/lockstep
hostname ctl
ip link set lo up
ip link add ctl0 type veth peer name ctl1
ip link set ctl1 up
ip addr add ADDRESS/24 dev ctl0
ip link set ctl0 up
printf '127.0.0.1 localhost\nADDRESS ctl n1 n2\n' > root/etc/hosts
mkdir -p root/etc/slurm root/etc/munge root/run/munge root/run/slurm root/var/spool/slurm/state
cp "$home/slurm.conf" root/etc/slurm/slurm.conf
# slurmd ends where it finds no control groups, unless it need not look for them. It uses none here.
echo CgroupPlugin=cgroup/v1 > root/etc/slurm/cgroup.conf
cp "$home/munge.key" root/etc/munge/munge.key
exec chroot root sh -c '
  set -e
  useradd --create-home --home-dir /home/anna --shell /bin/bash anna
  chown anna /home/anna
  chown munge: /etc/munge /etc/munge/munge.key /run/munge
  chmod 400 /etc/munge/munge.key
  chmod 755 /run/munge
  mkdir -p /run/logs
  setpriv --reuid munge --regid munge --clear-groups munged --foreground \
    --key-file /etc/munge/munge.key --socket /run/munge/munge.socket.2 --pid-file /run/munge/pid \
    --seed-file /run/munge/seed --log-file /run/munge/log &
  until [ -S /run/munge/munge.socket.2 ]; do sleep 0.1; done
  slurmctld -D &
  slurmd -D -N n1 &
  slurmd -D -N n2 &
  wait
'
""".replace("ADDRESS", ADDRESS)


def is_installed():
    return all(shutil.which(name) for name in ("munged", "slurmctld", "slurmd", "sbatch", "srun"))


class Cluster(contextlib.ExitStack):
    """Use as a context."""

    def __init__(self):
        super().__init__()
        self.directory = self.process = None

    def __enter__(self):
        super().__enter__()
        try:
            self.directory = tempfile.mkdtemp(prefix="lsslurm", dir="/tmp")
            self.callback(shutil.rmtree, self.directory, ignore_errors=True)
            with open(f"{self.directory}/slurm.conf", "w", encoding="ascii") as text:
                text.write(CONFIGURATION)
            with open(f"{self.directory}/munge.key", "wb") as key:
                os.fchmod(key.fileno(), 0o600)
                key.write(secrets.token_bytes(128))
            self.start()
            wait_for("both nodes to be idle", self.is_idle)
        except BaseException:
            self.close()
            raise
        return self

    def start(self):
        spaces = ["--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--kill-child"]
        with open(f"{self.directory}/log", "wb") as log:
            self.process = subprocess.Popen(
                ["unshare", *spaces, "sh", "-c", START, self.directory, os.path.realpath(BIN)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.callback(self.end)

    def end(self):
        self.process.kill()
        self.process.wait()

    def log(self):
        with open(f"{self.directory}/log", encoding="utf-8", errors="replace") as text:
            return text.read()

    def call(self, script, *words, user=USER):
        """A shell's script on the first node. Returns the finished process."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as children:
            first = children.read().split()[0]
        enter = ["nsenter", "--target", first, "--all", "--root", "--wd", "setpriv"]
        enter += ["--reuid", user, "--regid", user, "--init-groups", "env", "-i"]
        environment = ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", f"HOME=/home/{user}", f"USER={user}"]
        return subprocess.run(
            [*enter, *environment, "bash", "-c", f"cd /home/{USER} && {script}", "-", *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )

    def run(self, script, *words, user=USER):
        done = self.call(script, *words, user=user)
        if done.returncode != 0:
            raise AssertionError(f"{script}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def is_idle(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the cluster ended:\n{self.log()}")
        try:
            done = self.call("sinfo --noheader --format '%D %t'", user="root")
        except (IndexError, OSError):
            return False
        return done.stdout.split() == ["2", "idle"]

    def read(self, path):
        return self.run('cat "$1"', path)

    def write(self, path, text):
        self.run('printf %s "$2" > "$1"', path, text)
