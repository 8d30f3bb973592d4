"""Adds up the test cases of Bazel's test.xml files and of pytest's; prints what failed
and why, then `N passed, N failed`.

What failed stands at the end, where it is found also when the beginning of the output is lost.
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


# A failure's text is cut to so many characters from its end.
SHOWN = 3000


def show(name: str, why: str) -> None:
    why = why.strip()
    shown = why if len(why) <= SHOWN else "…" + why[-SHOWN:]
    print(f"FAILED {name}\n{shown}\n")


def count_xml(label: str, path: str):
    passed = failed = skipped = 0
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        failures = [*case.iter("failure"), *case.iter("error")]
        if failures:
            failed += 1
            name = f"{label} {case.get('classname')}.{case.get('name')}"
            show(name, "\n".join(f.text or f.get("message") or "" for f in failures))
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
    if failed:
        show("tools/lint", "see its output at the beginning")
    for label, status, path in xml_files(options.events):
        counts = count_xml(label, path) if os.path.exists(path) else (0, 0, 0)
        # A target that broke off before it could say how.
        if status not in ("PASSED", "FLAKY") and counts[1] == 0:
            show(label, status)
            counts = (counts[0], counts[1] + 1, counts[2])
        passed, failed, skipped = (
            a + b for a, b in zip((passed, failed, skipped), counts, strict=False)
        )
    if os.path.exists(options.integration):
        counts = count_xml("integration", options.integration)
        passed, failed, skipped = (
            a + b for a, b in zip((passed, failed, skipped), counts, strict=False)
        )
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
