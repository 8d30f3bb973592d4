"""Files, file systems and devices that the benchmarks make on the machine and take away again."""

import contextlib
import os
import shutil
import subprocess
import tempfile
import time

MIB = 1 << 20


def write_random(path, size, mode="wb"):
    with open("/dev/urandom", "rb") as source, open(path, mode) as out:
        for _ in range(size // MIB):
            out.write(source.read(MIB))
        out.flush()
        os.fsync(out.fileno())


def read_through(path):
    """Brings a file into the page cache."""
    with open(path, "rb") as text:
        while text.read(4 * MIB):
            pass


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


class Machine(contextlib.ExitStack):
    """Removes all that it made when it is left, also after a failure. The devices need root."""

    def directory(self, base):
        path = tempfile.mkdtemp(prefix="ls-bench", dir=base)
        self.callback(shutil.rmtree, path, ignore_errors=True)
        return path

    def loop(self, image, direct):
        device = run(
            "losetup", "--find", "--show", f"--direct-io={'on' if direct else 'off'}", image
        )
        self.callback(subprocess.run, ["losetup", "--detach", device], check=False)
        return device

    def mount(self, device, base):
        point = self.directory(base)
        run("mount", device, point)
        self.callback(subprocess.run, ["umount", point], check=False)
        return point

    def zram(self, size):
        with open("/sys/class/zram-control/hot_add", encoding="ascii") as text:
            number = text.read().strip()

        def remove():
            for attempt in range(50):  # a process that just ended may still hold it
                try:
                    with open(f"/sys/block/zram{number}/reset", "w", encoding="ascii") as out:
                        out.write("1")
                    break
                except OSError:
                    if attempt == 49:
                        raise
                    time.sleep(0.1)
            with open("/sys/class/zram-control/hot_remove", "w", encoding="ascii") as out:
                out.write(number)

        self.callback(remove)
        with open(f"/sys/block/zram{number}/disksize", "w", encoding="ascii") as out:
            out.write(str(size))
        return f"/dev/zram{number}"
