"""bench observe: what an observe phase costs a host. 64 devices are sampled every second, beside
500 processes whose I/O is read every 10 s; some of the devices are in use. The worker, which does
nothing else, may take at most 0.5 % of one core.

An idle worker is measured before: it answers its controller, too. The figure that counts is that of
the whole worker while it observes.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration"))
sys.path.insert(0, HERE)
from fleet import Fleet, wait_for  # noqa: E402
from machine import MIB, Machine  # noqa: E402
from scale import cpu_seconds  # noqa: E402
from verdict import say  # noqa: E402

TARGET = 0.005  # of one core


def make_devices(machine, count):
    """Loop devices over sparse files: the kernel counts on each of them, and they cost nothing."""
    folder = machine.directory("/var/tmp")
    devices = []
    for number in range(count):
        image = os.path.join(folder, f"image{number}")
        with open(image, "wb") as out:
            out.truncate(16 * MIB)
        devices.append(machine.loop(image, direct=False))
    return devices


@contextlib.contextmanager
def sleepers(count):
    """So many processes that do nothing."""
    started = [subprocess.Popen(["sleep", "infinity"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.wait()


@contextlib.contextmanager
def in_use(devices):
    """Another program reads each of them, a block at a time, a hundred times a second in all."""
    over = threading.Event()

    def read():
        files = [os.open(device, os.O_RDONLY) for device in devices]
        number = 0
        while not over.wait(0.01):
            file = files[number % len(files)]
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.pread(file, 4096, 4096 * (number % 1024))
            number += 1
        for file in files:
            os.close(file)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield
    finally:
        over.set()
        reader.join()


def samples_of(fleet, devices):
    """The intervals that are stored, and how many of the devices are in them. The disk under the
    loop devices' files is sampled, too.
    """
    names = ", ".join(f"'{os.path.basename(device)}'" for device in devices)
    (row,) = fleet.sql(
        "SELECT count(DISTINCT interval), count(DISTINCT device) FROM device_samples "
        f"WHERE run_id = last_run() AND device IN ({names})"
    )
    return int(row[0]), int(row[1])


class Cost:
    """The cost of a worker from now on, as a share of one core."""

    def __init__(self, pid):
        self.pid = pid
        self.begin = os.times().elapsed, cpu_seconds(pid)

    def share(self):
        elapsed = os.times().elapsed - self.begin[0]
        return (cpu_seconds(self.pid) - self.begin[1]) / elapsed


def measure(fleet, devices, options):
    """The worker's cost while it is idle, and while it observes; the devices that it observed."""
    pid = fleet.workers["node1"].pid
    idle = Cost(pid)
    time.sleep(options.seconds / 2)
    idle = idle.share()
    job = (
        "name: observe\nphases:\n"
        f"  - {{name: watch, observe: {{duration: 1h, devices: [{', '.join(devices)}]}}}}\n"
    )
    running = fleet.start_lockstep("run", "-", "--format", "json", stdin=job)
    # The first intervals have the cost of the start.
    wait_for("the first intervals", lambda: samples_of(fleet, devices)[0] >= 3, 60)
    observing = Cost(pid)
    wait_for(
        "the phase",
        lambda: samples_of(fleet, devices)[0] >= 3 + options.seconds,
        60 + options.seconds,
    )
    observing = observing.share()
    seen = samples_of(fleet, devices)[1]
    fleet.lockstep("stop", "last", "--phase")
    _, err = running.communicate()
    if running.returncode != 0:
        raise RuntimeError(err)
    return idle, observing, seen


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=64)
    parser.add_argument("--processes", type=int, default=500)
    parser.add_argument("--seconds", type=int, default=60, help="how long it observes")
    options = parser.parse_args()
    with Machine() as machine:
        devices = make_devices(machine, options.devices)
        with (
            sleepers(options.processes),
            in_use(devices),
            tempfile.TemporaryDirectory(prefix="ls-bench", dir="/var/tmp") as work,
            Fleet(1, allow=[work], worker_flags=["--observe", "all"]) as fleet,
        ):
            idle, observing, seen = measure(fleet, devices, options)
    print(
        f"{seen} devices, {options.processes} processes more than the machine has, "
        f"{options.seconds} s\nidle worker: {100 * idle:.3f} % of one core\n"
        f"observing:   {100 * observing:.3f} % of one core"
    )
    words = f"observing takes {100 * observing:.2f} % of one core, at most {100 * TARGET:.1f} %"
    targets = [
        (words, observing <= TARGET),
        (f"all {options.devices} devices are sampled", seen == options.devices),
    ]
    return say("observe", targets)


if __name__ == "__main__":
    sys.exit(main())
