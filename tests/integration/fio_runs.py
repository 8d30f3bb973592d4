"""Runs of fio, which tests hold Lockstep's against."""

import os
import subprocess


def run_fio(text, directory, *flags, env=None):
    """Runs a job file in a directory, for two minutes at most. Returns what fio reports of it."""
    path = os.path.join(directory, "job.fio")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    out = os.path.join(directory, "report")
    done = subprocess.run(
        ["timeout", "--kill-after=5", "120", "fio", f"--output={out}", *flags, path],
        cwd=directory,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    said = ""
    if os.path.exists(out):
        with open(out, encoding="utf-8") as file:
            said = file.read()
    if done.returncode != 0:
        raise AssertionError(
            f"fio ended with {done.returncode}: {said[:2000]}{done.stdout}{done.stderr}\n{text}"
        )
    return said
