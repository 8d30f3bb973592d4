"""A machine with a booted systemd: namespaces over a copy of this machine's root, which goes into
memory and ends with its first process. No service of this machine starts in it.
"""

import contextlib
import glob
import os
import shutil
import subprocess
import tempfile

from bare_root import run
from fleet import wait_for

# Arguments: a directory for the mounts, one that the machine shares, packages to install, and
# device nodes to show.
#
# The root is changed with pivot_root(8): in a chroot the kernel gives no user namespaces, which
# PrivateUsers= needs. /dev is not this machine's, as journald makes a link in it. /sys is, because
# settings of devices are in it.
BOOT = r"""set -e
work=$0
shared=$1
packages=$2
shift 2
mount -t tmpfs none "$work"
mkdir "$work/upper" "$work/inner" "$work/root"
mount -t overlay -o "lowerdir=/,upperdir=$work/upper,workdir=$work/inner" none "$work/root"
cd "$work/root"
rm -rf etc/fstab etc/systemd/system usr/lib/systemd/system/*.wants
rm -rf usr/lib/systemd/system-generators etc/systemd/system-generators
mkdir -p etc/systemd/system
echo machine > etc/hostname
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 none dev
mount -t tmpfs -o mode=755 none run
mount -t tmpfs -o mode=1777 none tmp
mkdir dev/pts dev/shm
chmod 1777 dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
for node in /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty "$@"; do
  cp -a "$node" dev/
done
# As udev does it, which not every machine has.
for node in "$@"; do
  chgrp disk "dev/${node##*/}"
  chmod 660 "dev/${node##*/}"
done
ip link set lo up
mkdir -p "./$shared"
mount --bind "$shared" "./$shared"
mkdir packages old
cp "$packages"/*.deb packages
pivot_root . old
cd /
dpkg -i packages/*.deb
umount -l old
exec env -i container=lockstep PATH=/usr/sbin:/usr/bin:/sbin:/bin \
  /lib/systemd/systemd --system --unit=basic.target --log-target=console --show-status=no
"""


def unified():
    """Returns the mount point of this machine's cgroup2."""
    with open("/proc/mounts", encoding="utf-8") as mounts:
        for line in mounts:
            fields = line.split()
            if fields[2] == "cgroup2":
                return fields[1]
    return None


class Booted(contextlib.ExitStack):
    """Use as a context. `packages` is a directory with what is installed before the boot. The files
    of loop devices are in `shared`: they are part of what identifies a device.
    """

    def __init__(self, shared, packages, devices=()):
        super().__init__()
        self.shared, self.packages, self.devices = shared, packages, list(devices)
        self.process = self.init = None

    def __enter__(self):
        super().__enter__()
        try:
            self.directory = tempfile.mkdtemp(prefix="lsboot", dir="/tmp")
            self.callback(shutil.rmtree, self.directory, ignore_errors=True)
            self.make_group()
            self.boot()
        except BaseException:
            self.close()
            raise
        return self

    def make_group(self):
        """systemd's own tree of control groups is beneath a group of this machine."""
        self.group = f"{unified()}/{os.path.basename(self.directory)}"
        os.mkdir(self.group)
        self.callback(self.remove_group)

    def remove_group(self):
        def remove():
            folders = sorted(glob.glob(f"{self.group}/**/", recursive=True), reverse=True)
            for folder in [*folders, self.group]:
                with contextlib.suppress(OSError):
                    os.rmdir(folder)
            return not os.path.exists(self.group)

        wait_for("the processes of its control groups to be gone", remove)

    def boot(self):
        os.mkdir(f"{self.directory}/mounts")
        enter = 'echo $$ > "$0/cgroup.procs" && exec "$@"'
        spaces = ["--cgroup", "--mount", "--net", "--uts", "--ipc", "--pid", "--fork"]
        with open(f"{self.directory}/log", "wb") as log:
            self.process = subprocess.Popen(
                [
                    *["sh", "-c", enter, self.group, "unshare", *spaces, "--kill-child"],
                    *["sh", "-c", BOOT, f"{self.directory}/mounts"],
                    *[self.shared, self.packages, *self.devices],
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.callback(self.halt)
        wait_for("systemd to have booted", self.has_booted)

    def halt(self):
        self.process.kill()
        self.process.wait()

    def log(self):
        with open(f"{self.directory}/log", encoding="utf-8", errors="replace") as text:
            return text.read()

    def has_booted(self):
        if self.process.poll() is not None:
            raise AssertionError(f"systemd did not boot:\n{self.log()}")
        pid = self.process.pid
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
            self.init = (children.read().split() or [None])[0]
        if self.init is None or os.readlink(f"/proc/{self.init}/exe") != "/usr/lib/systemd/systemd":
            return False
        return self.call("systemctl", "is-active", "basic.target").returncode == 0

    def call(self, *words, **options):
        enter = ["nsenter", "--target", self.init, "--all", "--root", "--wd"]
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "NO_COLOR": "1"}
        return subprocess.run(
            [*enter, *words],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
            timeout=300,
            **options,
        )

    def run(self, *words):
        done = self.call(*words)
        if done.returncode != 0:
            raise AssertionError(f"{words}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def write(self, path, text):
        done = self.call("sh", "-c", 'mkdir -p "${1%/*}" && cat > "$1"', "-", path, input=text)
        assert done.returncode == 0, done.stderr

    def pid_of(self, service):
        """As this machine numbers it."""
        path = run("sh", "-c", f'find "{self.group}" -type d -name {service}').strip()
        with open(f"{path}/cgroup.procs", encoding="ascii") as processes:
            return int(processes.read().split()[0])
