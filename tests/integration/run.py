"""Runs the integration tests side by side and writes how many passed, failed and were skipped,
and of those that failed the names and why.

Most of a test's time is waiting, so several run at once, each with its own directories, ports and
namespaces. Tests of a class that share a fleet stay together; the others go one by one.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
# So many groups at once for each processor.
GROUPS_PER_CPU = 3
ENDED = 128 + signal.SIGTERM


def cases(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from cases(item)
        else:
            yield item


def found(words):
    loader = unittest.TestLoader()
    loaded = cases(loader.discover(HERE, pattern="test_*.py"))
    for error in loader.errors:
        print(error, flush=True)
    return [case for case in loaded if not words or any(word in case.id() for word in words)]


def groups(words, alone):
    """Names of tests for one process each: those that share a fleet first, as they take longest.

    A class that says `alone = True` measures what others would disturb.
    """
    by_group = collections.defaultdict(list)
    for case in found(words):
        if getattr(type(case), "alone", False) != alone:
            continue
        shares = type(case).setUpClass.__func__ is not unittest.TestCase.setUpClass.__func__
        name = case.id().rsplit(".", 1)[0] if shares else case.id()
        by_group[name].append(case.id())
    return sorted(by_group.values(), key=len, reverse=True)


def run_here(ids, results):
    """Runs exactly these tests in this process."""
    suite = unittest.TestSuite(unittest.TestLoader().loadTestsFromName(name) for name in ids)
    result = unittest.TextTestRunner(verbosity=2, stream=sys.stdout).run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    for case, reason in result.skipped:
        print(f"skipped {case.id()}: {reason}")
    skipped = len(result.skipped)
    failures = [[case.id(), why] for case, why in result.failures + result.errors]
    failures += [
        [case.id(), "passed where a failure is expected"] for case in result.unexpectedSuccesses
    ]
    with open(results, "w", encoding="utf-8") as out:
        json.dump(
            {
                "passed": result.testsRun - failed - skipped,
                "failed": failed,
                "skipped": skipped,
                "failures": failures,
            },
            out,
        )
    return 0 if failed == 0 else 1


class SideBySide:
    """Groups in processes of their own, so many at once."""

    def __init__(self):
        self.totals = {"passed": 0, "failed": 0, "skipped": 0, "failures": []}
        self.lock = threading.Lock()
        self.processes = set()
        self.ending = False

    def run(self, every, at_once):
        signal.signal(signal.SIGTERM, self.end)
        signal.signal(signal.SIGINT, self.end)
        with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
            for done in concurrent.futures.as_completed(
                [pool.submit(self.run_group, ids) for ids in every]
            ):
                done.result()

    def end(self, *_):
        """Tests clean up when they are told to end."""
        self.ending = True
        for process in list(self.processes):
            process.terminate()

    def run_group(self, ids):
        if self.ending:
            return
        begun = time.monotonic()
        with tempfile.TemporaryDirectory() as directory:
            results = os.path.join(directory, "results.json")
            words = [sys.executable, __file__, "--results", results, "--exactly", *ids]
            # In a session of its own: a signal to all of this one comes to it once, from here.
            process = subprocess.Popen(
                words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
            )
            self.processes.add(process)
            if self.ending:
                process.terminate()
            said = process.communicate()[0].decode(errors="replace")
            self.processes.discard(process)
            # A process that ended before it could say how has failed in all its tests.
            counts = {
                "passed": 0,
                "failed": len(ids),
                "skipped": 0,
                "failures": [[name, f"ended with {process.returncode}"] for name in ids],
            }
            if os.path.exists(results):
                with open(results, encoding="utf-8") as text:
                    counts = json.load(text)
        with self.lock:
            for key, count in counts.items():
                self.totals[key] += count
            print(
                f"== {ids[0]}: {len(ids)} in {time.monotonic() - begun:.1f} s\n{said}", flush=True
            )


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--results", help="a file for the counts, as JSON")
    parser.add_argument("--exactly", action="store_true", help="the words are names of tests")
    parser.add_argument("--at-once", type=int, default=GROUPS_PER_CPU * (os.cpu_count() or 1))
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    sys.path.insert(0, HERE)
    if options.exactly:
        return run_here(options.words, options.results)
    together = SideBySide()
    together.run(groups(options.words, alone=False), options.at_once)
    together.run(groups(options.words, alone=True), 1)
    if options.results:
        with open(options.results, "w", encoding="utf-8") as out:
            json.dump(together.totals, out)
    if together.ending:
        return ENDED
    return 0 if together.totals["failed"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
