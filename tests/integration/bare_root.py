"""Root directories in which nothing of this machine is, for what tools/package makes."""

import glob
import os
import shutil
import subprocess

from fleet import BIN, ROOT

# The mounts are of the process's own namespace, and end with it. A program that is killed takes
# what it has started with it: it is the first process of its namespace.
NAMESPACES = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child"]
# Copies of other tests' mounts would keep their devices busy for as long as the namespace lives.
ENTER = """set -e
  findmnt -rno TARGET | tac | while read -r at; do
    case "$at" in /tmp/* | /var/tmp/* | /dev/shm/*) ;; *) continue ;; esac
    case "$0/" in "$at"/*) continue ;; esac
    case "$at/" in "$0"/*) continue ;; esac
    umount -l "$at" || true
  done
  mount -t proc proc "$0/proc"
  for device in null zero random urandom; do
    touch "$0/dev/$device"
    mount --bind "/dev/$device" "$0/dev/$device"
  done
  ip link set lo up
  exec chroot "$0" "$@"
"""
ENVIRONMENT = {"PATH": "/bin:/sbin:/usr/bin:/usr/sbin"}


def run(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{words}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def package(to, *words):
    return run(f"{ROOT}/tools/package", "--to", to, *words, env={**os.environ, "LOCKSTEP_BIN": BIN})


def unpack(archives, to):
    """Returns the directory that the archives share, as it is named in the root `to`."""
    for archive in glob.glob(f"{archives}/*.tar.gz"):
        run("tar", "-xzf", archive, "-C", to)
    (directory,) = (name for name in os.listdir(to) if name.startswith("lockstep-"))
    return f"/{directory}"


def make_busybox_root(root):
    """No passwd, no /sys, no /dev/shm, no time zones; a busybox instead of everything else."""
    for name in ("bin", "dev", "opt", "proc", "tmp"):
        os.mkdir(f"{root}/{name}")
    os.chmod(f"{root}/tmp", 0o1777)
    shutil.copy("/bin/busybox", f"{root}/bin/busybox")
    os.symlink("busybox", f"{root}/bin/sh")


def run_demo(archives, root, *flags):
    """Unpacks into /opt of the root, and runs the demo there. Returns the finished process."""
    home = unpack(archives, f"{root}/opt")
    words = [f"/opt{home}/bin/lockstep", "demo", *flags]
    return subprocess.run(
        [*NAMESPACES, "sh", "-c", ENTER, root, *words],
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT,
    )
