"""Adds up the test cases of Bazel's test.xml files and of the integration tests; prints `N passed,
N failed`.
"""

import argparse
import json
import os
import sys
import urllib.parse
import xml.etree.ElementTree as ElementTree


def xml_files(events: str):
    """The test.xml of every target that this run tested, and the targets that have none."""
    if not os.path.exists(events):
        return
    with open(events, encoding="utf-8") as lines:
        for line in lines:
            event = json.loads(line)
            if "testResult" not in event:
                continue
            outputs = {
                output["name"]: output.get("uri", "")
                for output in event["testResult"].get("testActionOutput", [])
            }
            path = urllib.parse.unquote(outputs.get("test.xml", "").removeprefix("file://"))
            yield event["id"]["testResult"]["label"], event["testResult"]["status"], path


def count_xml(path: str):
    passed = failed = skipped = 0
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif case.find("skipped") is not None or case.get("result") == "skipped":
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", required=True)
    parser.add_argument("--integration", required=True)
    parser.add_argument(
        "--lint", default="passed", help="passed or failed; a failure counts as one"
    )
    options = parser.parse_args()
    passed = skipped = 0
    failed = 0 if options.lint == "passed" else 1
    for label, status, path in xml_files(options.events):
        counts = count_xml(path) if os.path.exists(path) else (0, 0, 0)
        # A target that broke off before it could say how.
        if status not in ("PASSED", "FLAKY") and counts[1] == 0:
            print(f"{label}: {status}")
            counts = (counts[0], counts[1] + 1, counts[2])
        passed, failed, skipped = (
            a + b for a, b in zip((passed, failed, skipped), counts, strict=False)
        )
    if os.path.exists(options.integration):
        with open(options.integration, encoding="utf-8") as text:
            results = json.load(text)
        passed, failed, skipped = (
            passed + results["passed"],
            failed + results["failed"],
            skipped + results["skipped"],
        )
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
