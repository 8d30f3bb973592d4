"""The facts of a package that are the same for every file of one packaging, its time among them."""

import dataclasses
import os
import re
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = {
    "lockstep": "The command line of Lockstep",
    "lockstep-controller": "The controller of Lockstep",
    "lockstep-worker": "The worker of Lockstep",
}


class Problem(Exception):
    """Shown to the caller as it is."""


def run(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise Problem(f"{' '.join(words)}: status {done.returncode}\n{done.stderr}{done.stdout}")
    return done.stdout


@dataclasses.dataclass
class Facts:
    binaries: str  # the directory with the three programs
    version: str
    commit: str
    epoch: int  # of the commit, seconds: the time of every file

    @property
    def directory(self):
        """The root of every archive. Several archives of one version can share it."""
        return f"lockstep-{self.version}"


def find_facts():
    """Returns version and commit as the programs in bin/ (or LOCKSTEP_BIN) know them."""
    binaries = os.environ.get("LOCKSTEP_BIN") or os.path.join(ROOT, "bin")
    said = {}
    for program in PROGRAMS:
        path = os.path.join(binaries, program)
        if not os.path.exists(path):
            raise Problem(f"{path} does not exist; run tools/build first")
        said[program] = run(path, "--version").strip()
    if len(set(said.values())) > 1:
        raise Problem(f"the programs in {binaries} are of different builds: {said}")
    match = re.fullmatch(r"(\S+) \(commit (\S+)\)", said["lockstep"])
    if match is None:
        raise Problem(f"the programs say '{said['lockstep']}', which names no version and commit")
    version, commit = match.groups()
    return Facts(binaries, version, commit, find_epoch(commit))


def find_epoch(commit):
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    for name in (commit.removesuffix("-changed"), "HEAD"):
        shown = subprocess.run(
            ["git", "show", "-s", "--format=%ct", name],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        if shown.returncode == 0:
            return int(shown.stdout)
    raise Problem("the time of the commit is not known here; set SOURCE_DATE_EPOCH")
