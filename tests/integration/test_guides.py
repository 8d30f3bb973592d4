"""Follows the guides: runs every command of docs/guide/ in its order, in one directory, with a
test's sizes and times, and looks for what they are said to print.
"""

import contextlib
import glob
import os
import re
import shlex
import signal
import subprocess
import unittest

from fleet import BIN, ROOT, Fleet, needs_root, stop, wait_for
from loops import MIB, LoopDevice
from test_docs import commands, small, text_of
from test_examples import shorter, stories

TOKEN = r"\b[0-9a-f]{8}-[0-9a-f]{24}\b"


def said_lines(text):
    """Returns each line's words before the first that has a digit: figures and names differ."""
    for line in text.splitlines():
        words = line.split()
        stable = words
        for i, word in enumerate(words):
            if re.search(r"\d", word):
                stable = words[:i]
                break
        if stable:
            yield " ".join(stable)


def in_shorter_form(block):
    """The commands that run a story, with the options that make it short."""

    def more(found):
        words = shorter(text_of(stories()[found.group(1)]))
        return f"{found.group(0)} {shlex.join(words)}"

    return re.sub(r"examples/stories/(\S+)\.yaml", more, block)


@needs_root
class Guides(unittest.TestCase):
    def follow(self, guide, device="", make=lambda fleet, stack: None):
        """Runs its blocks; a block of text that follows one says what that prints. `make` makes
        what the guide takes for granted, and leaves its end to the stack.
        """
        parts = re.findall(r"^```(sh|text)\n(.*?)^```", text_of(guide), re.DOTALL | re.MULTILINE)
        with Fleet(0) as fleet, contextlib.ExitStack() as stack:
            make(fleet, stack)
            process, address, token, printed = None, "", "TOKEN", ""
            try:
                for kind, block in parts:
                    block = in_shorter_form(small(block, fleet.data).replace("/dev/sdx", device))
                    if kind == "text":
                        if "/dev/sdy" not in block:  # a story, not an output
                            self.check(guide, block, printed)
                        continue
                    if address:
                        block = block.replace("ctl.example:9640", address)
                        block = block.replace("localhost:9640", address)
                    # Nothing is copied to other hosts.
                    block = block.replace("/etc/lockstep/", "lockstep-pki/")
                    if block.startswith(("lockstep-controller ", "lockstep-worker ")):
                        address = self.start_daemon(fleet, block) or address
                        continue
                    # Here the name resolves to nothing.
                    named = "issue controller ctl.example"
                    block = block.replace(named, f"{named} --address 127.0.0.1")
                    if block.startswith("lockstep up "):
                        (line,) = commands(block)
                        own = ["--listen", "127.0.0.1:0", "--no-web"]
                        own += ["--state-dir", fleet.directory + "/up", "--allow-store-filesystem"]
                        words = shlex.split(line)
                        process = fleet.spawn("up", [f"{BIN}/lockstep", *words[1:], *own])
                        wait_for("it to be up", lambda: "Ctrl-C here ends" in fleet.log("up"))
                        address = re.search(r"127\.0\.0\.1:[1-9]\d+", fleet.log("up")).group(0)
                        continue
                    # Store and targets share a disk here.
                    block = block.replace("targets:\n", "store_filesystem: true\ntargets:\n", 1)
                    printed = ""
                    for part in self.scripts(block):
                        done = self.bash(fleet, address, part.replace("TOKEN", token))
                        printed += done.stdout + done.stderr
                        token = (re.findall(TOKEN, printed) or [token])[-1]
                        # A listing that nobody confirms yet says so by its status.
                        listing = "enroll" in part and "--confirm" not in part
                        # The sets of a gate ran one after the other, beside other tests.
                        verdicts = (0, 4, 5) if "lockstep gate" in part else (int(listing),)
                        self.assertIn(done.returncode, verdicts, f"{part}\n{printed}")
            finally:
                if process is not None:
                    stop(process, signal.SIGINT)

    @staticmethod
    def start_daemon(fleet, block):
        """A program that stays, in the guide's directory; the address of a controller."""
        (line,) = commands(block)
        program, *words = shlex.split(line.replace("0.0.0.0:9640", "127.0.0.1:0"))
        # One shell, as the guide has relative paths.
        name = words[words.index("--name") + 1] if "--name" in words else program
        own = ["--state-dir", f"{fleet.directory}/of-{name}"]
        if program == "lockstep-controller":
            own.append("--allow-store-filesystem")
        command = shlex.join([f"{BIN}/{program}", *words, *own])
        fleet.spawn(name, ["bash", "-c", f"cd {fleet.directory} && exec {command}"])
        ready = (
            "listening on " if program == "lockstep-controller" else "attached to the controller"
        )
        wait_for(f"{name} to be ready", lambda: ready in fleet.log(name))
        found = re.search(r"listening on (127\.0\.0\.1:[1-9]\d+)", fleet.log(name))
        return found.group(1) if found else None

    @staticmethod
    def scripts(block):
        """The block, or its commands one by one where one needs what another prints."""
        return block.splitlines() if "TOKEN" in block else [block]

    @staticmethod
    def bash(fleet, address, script):
        return subprocess.run(
            ["bash", "-ec", script],
            cwd=fleet.directory,
            env={
                **os.environ,
                "LOCKSTEP_CONTROLLER": address,
                "NO_COLOR": "1",
                "PATH": BIN + ":" + os.environ["PATH"],
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def check(self, guide, expected, printed):
        lines = [" ".join(line.split()) for line in printed.splitlines()]
        for stable in said_lines(expected):
            self.assertTrue(
                any(line.startswith(stable) for line in lines),
                f"{guide} promises a line '{stable} …', which is not in:\n{printed}",
            )

    def test_all_are_followed(self):
        own = {name for name in dir(self) if name.startswith("test_the_guide_")}
        guides = glob.glob("docs/guide/*.md", root_dir=ROOT)
        # The others are followed by test_coming_from.py, test_observe.py, test_presets.py,
        # test_package.py, test_ssh_fleet.py, test_doctor.py and test_slurm.py.
        elsewhere = ("coming-from", "observe", "presets", "install", "ssh", "trouble", "schedulers")
        followed = [guide for guide in guides if not any(name in guide for name in elsewhere)]
        self.assertEqual(len(own), len(followed))

    def test_the_guide_first_test(self):
        self.follow("docs/guide/first-test.md")

    def test_the_guide_ci(self):
        self.follow("docs/guide/ci.md")

    def test_the_guide_array(self):
        with Fleet(0) as fleet, LoopDevice(fleet.directory) as device:
            self.follow("docs/guide/array.md", device.path)

    def test_the_guide_fleet(self):
        self.follow("docs/guide/fleet.md")

    def test_the_guide_compare(self):
        self.follow("docs/guide/compare.md")

    def test_the_guide_history(self):
        self.follow("docs/guide/history.md")

    def test_the_guide_stories(self):
        def make(fleet, stack):
            subprocess.run(["mount", device.path, fleet.data], check=True)
            # A worker that still runs may hold the directory.
            stack.callback(subprocess.run, ["umount", "--lazy", fleet.data], check=True)
            folder = os.path.join(fleet.directory, "examples/stories")
            os.makedirs(folder)
            for name, path in stories().items():
                job = text_of(path).replace("/mnt/test", fleet.data)
                with open(f"{folder}/{name}.yaml", "w", encoding="utf-8") as out:
                    out.write(job)

        with Fleet(0) as outer, LoopDevice(outer.directory, 256 * MIB) as device:
            subprocess.run(["mkfs.ext4", "-q", device.path], check=True)
            self.follow("docs/guide/stories.md", device.path, make)
