"""Runs the integration tests and writes how many passed, failed and were skipped as JSON."""
import argparse
import json
import os
import sys
import unittest


def cases(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from cases(item)
        else:
            yield item


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--results", required=True)
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, here)
    found = list(cases(unittest.TestLoader().discover(here, pattern="test_*.py")))
    chosen = [case for case in found if not options.words or any(word in case.id() for word in options.words)]
    # Classes stay together, so that what a class sets up is set up once.
    result = unittest.TextTestRunner(verbosity=2, stream=sys.stdout).run(unittest.TestSuite(chosen))
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    for case, reason in result.skipped:
        print(f"skipped {case.id()}: {reason}")
    with open(options.results, "w", encoding="utf-8") as out:
        json.dump({"passed": result.testsRun - failed - len(result.skipped), "failed": failed, "skipped": len(result.skipped)}, out)
    return 0 if failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
