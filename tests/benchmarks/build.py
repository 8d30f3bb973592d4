"""bench build: what a cold build of the programs costs the compiler, in units of a file that does
nothing but include gRPC and protobuf: machines differ, and headers grow with the distribution. Two
compilers run at once in both. Prints the files that cost most.
"""

import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import verdict  # noqa: E402

UNITS_LIMIT = 300
UNIT = """#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>
int main() { return 0; }
"""
SHOWN = 15


def unit_seconds(directory):
    """Returns the seconds of each of two compilers that run at the same time."""
    source = os.path.join(directory, "unit.cc")
    with open(source, "w", encoding="ascii") as out:
        out.write(UNIT)
    flags = subprocess.run(
        ["pkg-config", "--cflags", "grpc++", "protobuf"], check=True, capture_output=True, text=True
    ).stdout.split()
    began = time.monotonic()
    both = [
        subprocess.Popen(
            ["g++", "-std=c++20", "-O2", *flags, "-c", source, "-o", f"{source}.{i}.o"]
        )
        for i in range(2)
    ]
    took = []
    for process in both:
        if process.wait() != 0:
            raise SystemExit("the unit cannot be compiled")
        took.append(time.monotonic() - began)
    return statistics.mean(took)


def compiled(profile):
    """Seconds by what was compiled, from Bazel's profile."""
    with gzip.open(profile, "rt", encoding="utf-8") as text:
        events = json.load(text)["traceEvents"]
    return {
        event["name"].removeprefix("Compiling "): event["dur"] / 1e6
        for event in events
        if event.get("cat") == "action processing" and event["name"].startswith("Compiling ")
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--units", type=int, default=3, help="how often the unit is measured")
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ls-bench-build") as directory:
        units = [unit_seconds(directory) for _ in range(flags.units)]
        base = os.path.join(directory, "output")
        profile = os.path.join(directory, "profile.gz")
        bazel = ["bazel", f"--output_base={base}"]
        began = time.monotonic()
        try:
            subprocess.run(
                [*bazel, "build", f"--profile={profile}", "//:programs"], check=True, cwd=ROOT
            )
        finally:
            subprocess.run([*bazel, "shutdown"], check=False, cwd=ROOT)
        took = time.monotonic() - began
        files = compiled(profile)
        units += [unit_seconds(directory) for _ in range(flags.units)]
        subprocess.run(["chmod", "-R", "u+w", base], check=False)
    unit = statistics.median(units)
    total = sum(files.values())
    for name, seconds in sorted(files.items(), key=lambda item: -item[1])[:SHOWN]:
        print(f"{seconds:7.1f} s  {name}")
    print(
        f"{len(files)} compilations, {total:.0f} s of compiler, {took:.0f} s from start to end; "
        f"the unit takes {unit:.2f} s"
    )
    return verdict.say(
        "build",
        [
            (
                f"the compiler works for {total / unit:.0f} units (at most {UNITS_LIMIT})",
                total <= UNITS_LIMIT * unit,
            )
        ],
    )


if __name__ == "__main__":
    sys.exit(main())
