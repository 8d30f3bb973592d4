"""Processes of a test: waiting for them, finding what they run, and ending them."""

import os
import signal
import subprocess
import time


def end(*_):
    """A time-out's SIGTERM unwinds like Ctrl-C, once, so that what was made is cleaned up."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


signal.signal(signal.SIGTERM, end)


# Longer than anything takes on a busy machine: only what hangs is ended by it.
PATIENCE = 240.0


def wait_for(what, condition, seconds=PATIENCE):
    """Polls until `condition()` is true; fails with `what` after so long. An expensive condition
    gets at most half of the time: other tests need the processor.
    """
    end = time.monotonic() + seconds
    while (asked := time.monotonic()) < end:
        found = condition()
        if found:
            return found
        time.sleep(max(0.05, time.monotonic() - asked))
    raise AssertionError(f"waited {seconds} s in vain for {what}")


def program(pid):
    """The process that `ip netns exec` and `unshare --fork` (which ignores SIGTERM) were started
    for: the first that is neither.
    """
    while True:
        try:
            with open(f"/proc/{pid}/comm", encoding="ascii") as text:
                if text.read().strip() not in ("ip", "unshare"):
                    return pid
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as text:
                children = text.read().split()
        except OSError:
            return None
        if not children:
            return None
        pid = int(children[0])


def io_thread(pid):
    """An I/O thread of a worker process, or None."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{thread}/comm", encoding="ascii") as text:
                if text.read().strip() == "lockstep-io":
                    return thread
        except OSError:  # it has just ended
            continue
    return None


def stop(process, number=signal.SIGTERM):
    if process.poll() is None:
        os.kill(program(process.pid) or process.pid, number)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
