"""Loop devices of tests that run beside each other."""

import contextlib
import fcntl
import os
import subprocess

from fleet import identity_of, wait_for

MIB = 1 << 20


def losetup(*words):
    return subprocess.run(
        ["losetup", *words], check=True, capture_output=True, text=True
    ).stdout.strip()


@contextlib.contextmanager
def numbers_kept():
    """No other test takes a free loop device's number during that time."""
    with open("/dev/loop-control", "rb") as control:
        fcntl.flock(control, fcntl.LOCK_EX)
        yield


def attach(path, *options):
    """Returns a new loop device's path. The caller detaches it, once."""
    with numbers_kept():
        return losetup("--show", *options, "-f", path)


def attach_as(device, path):
    """Over the device that was detached just now: the kernel frees it when the last of those who
    look at it, such as another test's worker, has closed it.
    """
    wait_for(
        f"{device} to be free",
        lambda: subprocess.run(
            ["losetup", device, path], check=False, capture_output=True
        ).returncode
        == 0,
    )


def detach(device):
    losetup("-d", device)


def unmount(path):
    """When the last process has closed it: a loop device gives its file up later."""
    wait_for(
        f"{path} to be free",
        lambda: subprocess.run(["umount", path], check=False, capture_output=True).returncode == 0,
    )


def mount_ext4(cleanup, image, mount, size, attached=(), made=()):
    """A new file system on a loop device over a new file; returns the loop device's path.

    `cleanup` (addCleanup, addClassCleanup) gets what undoes it; `attached`, `made`: options of
    losetup and mkfs.ext4.
    """
    with open(image, "wb") as out:
        out.truncate(size)
    loop = attach(image, *attached)
    cleanup(detach, loop)
    # The kernel would write to the device later, beside the load.
    now = "nodiscard,lazy_itable_init=0,lazy_journal_init=0"
    subprocess.run(["mkfs.ext4", "-q", *made, "-E", now, loop], check=True)
    os.makedirs(mount)
    subprocess.run(["mount", loop, mount], check=True)
    cleanup(unmount, mount)
    return loop


class LoopDevice:
    """A loop device over a file in a directory; detached at the end."""

    def __init__(self, directory, size=64 * MIB):
        self.file = os.path.join(directory, "disk.img")
        with open(self.file, "wb") as out:
            out.truncate(size)

    def __enter__(self):
        self.path = attach(self.file)
        self.attached = True
        self.identity = identity_of(self.file)
        return self

    def __exit__(self, *_):
        self.detach()
        os.unlink(self.file)

    def detach(self):
        """Once only: a second time the number may be another test's."""
        if self.attached:
            self.attached = False
            detach(self.path)

    def replace(self, other):
        """Lets the device be over another file."""
        with numbers_kept():
            self.detach()
            attach_as(self.path, other)
            self.attached = True
