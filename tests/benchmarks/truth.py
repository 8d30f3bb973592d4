"""bench truth: how often the intervals of reports and comparisons hold the truth, how often a test
alarms where nothing differs, and how often it finds what does; by simulation.
"""

import argparse
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import verdict  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=5000, help="simulated cases of each")
    flags = parser.parse_args()
    program = os.path.join(ROOT, "bazel-bin", "tests", "benchmarks", "rates")
    done = subprocess.run(
        [program, str(flags.cases)], check=True, capture_output=True, text=True
    ).stdout
    targets = []
    for line in done.splitlines():
        name, *numbers = line.split("\t")
        rate, least, most = map(float, numbers)
        # Twice the deviation of a rate of so many cases is chance.
        chance = 2 * (0.05 * 0.95 / flags.cases) ** 0.5
        print(f"  {100 * rate:6.2f} %  {name}")
        met = least - chance <= rate <= most + chance
        targets.append((f"{name}: {100 * least:g} to {100 * most:g} %", met))
    return verdict.say("truth", targets)


if __name__ == "__main__":
    sys.exit(main())
