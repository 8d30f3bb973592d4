"""Runs tests/attack/attacker.cc."""

import os
import subprocess

from fleet import ROOT

ATTACKER = os.path.join(ROOT, "bazel-bin/tests/attack/attacker")


def attack(*words, timeout=300):
    done = subprocess.run(
        [ATTACKER, *words], capture_output=True, text=True, timeout=timeout, check=False
    )
    if done.returncode != 0:
        raise AssertionError(
            f"attacker {words}: exit {done.returncode}\n{done.stdout}{done.stderr}"
        )
    return done.stdout
