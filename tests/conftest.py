"""How pytest runs these tests side by side: `pytest -n 8 tests/integration tests/truth`.

Most of a test's time is waiting, so that several run at once, each with its own directories, ports
and namespaces. Tests of a class that share a fleet stay in one process. A test with the marker
`alone` starts when all that run at that time have ended; these tests come last.
"""

import collections
import contextlib
import fcntl
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import unittest

import pytest
from fleet import ROOM_OF_STORES


@pytest.hookimpl(tryfirst=True)  # before xdist starts the processes that inherit it
def pytest_configure(config):
    """The folder of the store that fleet.py copies, for all processes."""
    if not hasattr(config, "workerinput"):
        # nohup, or a shell's background, lets this process ignore these signals. Children inherit
        # that, and tests that interrupt programs would wait for ever. A handler ends at an exec.
        for name in (signal.SIGINT, signal.SIGHUP):
            if signal.getsignal(name) is signal.SIG_IGN:
                signal.signal(name, lambda *_: None)
        os.environ["LOCKSTEP_TEST_STORE"] = tempfile.mkdtemp(prefix="ls", dir=ROOM_OF_STORES)
        os.chmod(os.environ["LOCKSTEP_TEST_STORE"], 0o755)
        config.locks_before = locks_of_settings()


def pytest_unconfigure(config):
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ["LOCKSTEP_TEST_STORE"], ignore_errors=True)
        remove_locks(locks_of_settings() - config.locks_before)


# Workers keep locks of the settings that their phases change there (worker/environment/keeper.cc).
LOCKS = "/run/lockstep"


def locks_of_settings():
    with contextlib.suppress(FileNotFoundError):
        return {name for name in os.listdir(LOCKS) if name.endswith(".lock")}
    return set()


def remove_locks(names, folder=LOCKS):
    """Removes what the workers of these tests, which have ended, have left."""
    for name in names:
        path = os.path.join(folder, name)
        with contextlib.suppress(OSError), open(path, "rb") as lock:
            # Of a worker that is none of a test's and runs beside them.
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(path)
    with contextlib.suppress(OSError):
        os.rmdir(folder)  # if it is empty


def shares_a_fleet(cls):
    return cls is not None and cls.setUpClass.__func__ is not unittest.TestCase.setUpClass.__func__


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(config, items):
    if not os.environ.get("LOCKSTEP_LONG"):
        long = [item for item in items if item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]
    sizes = collections.Counter()
    groups = {}
    for item in items:
        name = item.cls.__name__ if shares_a_fleet(item.cls) else item.name
        groups[item] = f"{item.module.__name__}.{name}"
        sizes[groups[item]] += 1
        item.add_marker(pytest.mark.xdist_group(groups[item]))
    # xdist hands the groups out in this order: the largest first, as they take longest.
    items.sort(key=lambda item: (is_alone(item), -sizes[groups[item]]))


def is_alone(item):
    return item.get_closest_marker("alone") is not None


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    """A test that is alone takes an exclusive lock, every other test a shared one."""
    with open(__file__, encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX if is_alone(item) else fcntl.LOCK_SH)
        item.cpu_before = seconds_of_processor()
        yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Leaves each test's seconds of processor time in the JUnit file: the suite has as few of them
    to spare as the machine has processors.
    """
    outcome = yield
    report = outcome.get_result()
    if hasattr(item.function, "situation"):
        said = sys.modules["truth"].said
        if call.when == "setup":
            said.clear()  # of the test before: one that is skipped may not begin at all
        # A test whose class or fleet could not be made ends before its call.
        if call.when == "call" or (call.when == "setup" and not report.passed):
            row = {**item.function.situation, "said": "; ".join(said), "why": why_skipped(report)}
            report.user_properties.append(("situation", row))
    if call.when == "teardown":
        cpu = round(seconds_of_processor() - item.cpu_before, 2)
        outcome.get_result().user_properties.append(("cpu", cpu))


def why_skipped(report):
    """Returns the reason of a test that was skipped; empty for another one."""
    if not report.skipped or not isinstance(report.longrepr, tuple):
        return ""
    return " ".join(report.longrepr[2].removeprefix("Skipped: ").split())


def seconds_of_processor():
    """Returns the time of this process and of its children that have ended."""
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def end_the_workers(*_):
    """xdist's processes clean up on SIGTERM (fleet.py), but nobody else passes it on to them."""
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as children:
        for pid in children.read().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGTERM)
    raise KeyboardInterrupt


def pytest_sessionstart(session):
    if not hasattr(session.config, "workerinput"):
        signal.signal(signal.SIGTERM, end_the_workers)


def pytest_terminal_summary(terminalreporter):
    """The table of tests/truth: situation, truth, what was said."""
    rows = []
    for outcome in ("passed", "failed", "error", "skipped"):
        for report in terminalreporter.stats.get(outcome, []):
            rows += [
                {**row, "outcome": outcome}
                for key, row in getattr(report, "user_properties", [])
                if key == "situation"
            ]
    if not rows:
        return
    terminalreporter.section("situations")
    for line in table_of_situations(rows):
        terminalreporter.write_line(line)


def table_of_situations(rows):
    """The lines of the table. A situation that its machine could not make is in it with the reason:
    nothing was held against its truth. So is, at the end, each statement that no situation checked.
    """
    rows = sorted(rows, key=lambda row: (float(row["lines"].split(",")[0]), row["truth"]))
    table = []
    checked, skipped = set(), set()
    for row in rows:
        mark = "" if row["outcome"] == "passed" else f"{row['outcome'].upper()} "
        table.append(f"{row['lines']:<6} {mark}{row['truth']}")
        if row["why"]:
            table.append(f"       skipped: {row['why']}")
        if row["said"] or not row["why"]:
            table.append(f"       said: {row['said'] or '–'}")
        (skipped if row["why"] else checked).update(re.findall(r"\d+", row["lines"]))
    if unchecked := sorted(skipped - checked, key=int):
        table.append(f"Skipped altogether: the statements {', '.join(unchecked)}")
    return table
