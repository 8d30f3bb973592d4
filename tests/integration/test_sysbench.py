"""Lines of sysbench, run by sysbench itself (Debian's package sysbench) and by Lockstep: both print
the same lines, and do the same.
"""

import os
import re
import subprocess
import tempfile

from fleet import BIN, FleetTest, needs_root
from test_docs import blocks

FILES = ("--file-num=3", "--file-total-size=3M")
# Each ends by itself, so that both tools do the same however busy the machine is.
LOADS = {
    "mixed": ("--file-test-mode=rndrw", "--events=500", "--file-fsync-freq=50"),
    "written": ("--file-test-mode=rndwr", "--events=300", "--file-fsync-mode=fdatasync"),
    "read": ("--file-test-mode=rndrd", "--events=200", "--percentile=99", "--file-rw-ratio=3"),
    "rewritten": ("--file-test-mode=seqrewr", "--events=250", "--file-fsync-end=off"),
    "in order": ("--file-test-mode=seqrd", "--events=100", "--file-merged-requests=4"),
    "synced each time": ("--file-test-mode=rndrw", "--events=60", "--file-fsync-all"),
    "direct": ("--file-test-mode=rndwr", "--events=50", "--file-extra-flags=direct"),
    "mapped": ("--file-test-mode=rndrw", "--events=100", "--file-io-mode=mmap"),
    "no percentile": ("--file-test-mode=rndrd", "--events=100", "--percentile=0"),
    "seeded": ("--file-test-mode=rndrd", "--events=100", "--rand-seed=7", "--threads=2"),
    "created": ("--file-test-mode=seqwr", "--events=150", "--file-block-size=4096"),
}


def shape(text):
    """The lines, each number as a # that is as wide where columns are aligned, and without what
    only one of the tools can print.
    """
    lines = []
    for line in text.splitlines():
        if line.startswith("sysbench "):
            line = "sysbench"
        # Measured figures have decimals. Whole numbers are the line's own, and are compared.
        lines.append(re.sub(r" *\d+\.\d+", " #", line) if measured(line) else line)
    return lines


def measured(line):
    return line.startswith("    ") or line.startswith("[ ") or "bytes written" in line


def columns(text):
    """The width of each line of latencies."""
    block = text.split("Latency (ms):\n", 1)[1].split("\n\n", 1)[0]
    return [len(line) for line in block.splitlines()]


def counted(text):
    """Events, and reads, writes and syncs of each event."""
    events = int(re.search(r"total number of events: +(\d+)", text)[1])
    seconds = float(re.search(r"total time: +([\d.]+)s", text)[1])
    rates = [float(rate) for rate in re.findall(r"(?:reads|writes|fsyncs)/s: +([\d.]+)", text)]
    return events, seconds, rates


@needs_root
class Lines(FleetTest):
    workers = 2

    def theirs(self, directory, *words):
        done = subprocess.run(
            ["sysbench", "fileio", *words],
            cwd=directory,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def ours(self, *words, status=0):
        # Store and files may share a disk here.
        flags = ("--directory", self.fleet.data, "--set", "store_filesystem=true")
        return self.ok(self.fleet.lockstep("sysbench", *flags, "fileio", *words), status)

    def made(self):
        found = []
        for directory, _, names in os.walk(self.fleet.data):
            found += [os.path.join(directory, name) for name in names]
        return sorted(path for path in found if not path.endswith(".lockstep"))

    def test_both_print_the_same_lines(self):
        with tempfile.TemporaryDirectory() as directory:
            theirs = self.theirs(directory, *FILES, "prepare")
            ours = self.ours(*FILES, "prepare").out
            self.assertEqual(shape(ours), shape(theirs))
            self.assertEqual(len(self.made()), 3)
            for name, words in LOADS.items():
                with self.subTest(name):
                    theirs = self.theirs(directory, *FILES, "--time=0", *words, "run")
                    ours = self.ours(*FILES, "--time=0", *words, "run").out
                    self.assertEqual(shape(ours), shape(theirs))
                    self.assertEqual(columns(ours), columns(theirs))
                    self.assertEqual(counted(ours)[0], counted(theirs)[0])
            again = self.ours(*FILES, "prepare").out
            self.assertIn("Creating files for the test...\n", again)
            theirs = self.theirs(directory, *FILES, "cleanup")
            self.assertEqual(shape(self.ours(*FILES, "cleanup").out), shape(theirs))
        self.assertEqual(self.made(), [])

    def test_interval_lines_come_each_second(self):
        words = (*FILES, "--file-test-mode=rndrd", "--time=2", "--rate=200", "--report-interval=1")
        with tempfile.TemporaryDirectory() as directory:
            self.theirs(directory, *FILES, "prepare")
            theirs = self.theirs(directory, *words, "run")
        self.ours(*FILES, "prepare")
        ours = self.ours(*words, "run").out
        lines = [line for line in shape(ours) if line.startswith("[ ")]
        self.assertEqual(len(lines), 2, ours)
        # sysbench may be late for its last line on a busy machine.
        self.assertIn(lines[0], shape(theirs))
        self.assertTrue(lines[1].startswith("[ 2s ] reads: # MiB/s writes: # MiB/s"), lines[1])
        self.assertIn("Target transaction rate: 200/sec\n", ours)
        self.ours(*FILES, "cleanup")

    def test_interval_lines_come_while_the_load_runs(self):
        self.ours(*FILES, "prepare")
        words = (*FILES, "--file-test-mode=rndrd", "--time=4", "--rate=200", "--report-interval=1")
        flags = ("--directory", self.fleet.data, "--set", "store_filesystem=true")
        process = self.fleet.start_lockstep("sysbench", *flags, "fileio", *words, "run")
        seen = []
        for line in process.stdout:
            seen.append(line)
            if line.startswith("[ 1s ]"):
                break
        # The load goes on for three seconds.
        self.assertIsNone(process.poll())
        rest = process.stdout.read()
        self.assertEqual(process.wait(), 0, process.stderr.read())
        live = "".join(seen) + rest
        whole = self.ok(self.fleet.lockstep("report", "last", "--format", "sysbench")).out
        self.assertEqual(shape(live), shape(whole))
        self.assertEqual(len([line for line in live.splitlines() if line.startswith("[ ")]), 4)
        self.ours(*FILES, "cleanup")

    def test_the_order_is_kept_on_each_host(self):
        self.ours(*FILES, "prepare", "--hosts", "2")
        self.assertEqual(len(self.made()), 6)
        words = ("--file-test-mode=rndrw", "--time=0", "--events=113", "--file-fsync-freq=10")
        out = self.ours(*FILES, *words, "--hosts", "2", "--format", "json", "run").json()
        (phase,) = out["phases"]
        done = {o["kind"]: o["operations"] for o in phase["workloads"][0]["operations"]}
        # On each host: eight rows of ten I/Os and three syncs, nine more I/Os, and three syncs at
        # the end. 53 or 54 of the 89 I/Os are reads.
        self.assertEqual(done["read"] + done["write"], 2 * 89)
        self.assertEqual(done["write"], 2 * 36)
        self.assertGreaterEqual(done["fsync"], 2 * 24)
        self.ours(*FILES, "cleanup", "--hosts", "2")
        self.assertEqual(self.made(), [])

    def test_files_of_others_stay(self):
        self.ours(*FILES, "prepare")
        directory = os.path.dirname(self.made()[0])
        self.ours(*FILES, "cleanup")
        os.makedirs(directory, exist_ok=True)
        self.theirs(directory, *FILES, "prepare")
        before = {path: os.stat(path) for path in self.made()}
        self.assertEqual(len(before), 3)
        for words in (("prepare",), ("--file-test-mode=rndwr", "run"), ("cleanup",)):
            flags = ("--directory", self.fleet.data, "--set", "store_filesystem=true")
            done = self.fleet.lockstep("sysbench", *flags, "fileio", *FILES, *words)
            if words != ("cleanup",):
                self.assertNotIn(done.status, (0, 1), done.out + done.err)
                # The reason, and not that a refused run has no figures.
                self.assertIn("was not made by Lockstep", done.err)
                self.assertNotIn("which --format sysbench shows", done.err)
            for path, stat in before.items():
                now = os.stat(path)
                self.assertEqual((now.st_ino, now.st_mtime_ns), (stat.st_ino, stat.st_mtime_ns))
        self.theirs(directory, *FILES, "cleanup")

    def test_what_cannot_be_done_is_refused_by_name(self):
        done = self.ours(*FILES, "--file-test-mode=rndrd", "--histogram", "run", status=2)
        self.assertIn("--histogram: cannot be translated: ", done.err)
        done = self.ok(self.fleet.lockstep("sysbench", "fileio", "prepare"), 2)
        self.assertIn("--directory: is missing: ", done.err)
        done = self.ours(*FILES, "--file-test-mode=rndrd", "--show", "run")
        self.assertIn("count: 3  # --file-num=3", done.out)

    def test_the_guide(self):
        with tempfile.TemporaryDirectory() as directory:
            for block in blocks("docs/guide/coming-from-sysbench.md", "sh"):
                script = block.replace("/mnt/test", self.fleet.data).replace("=2G", "=2M")
                script = re.sub(r"--time=\d+", "--time=1", script)
                script = script.replace("--report-interval=10", "--report-interval=1")
                script = re.sub(
                    r"(?m)^(lockstep (?:run|sysbench)) ", r"\1 --set store_filesystem=true ", script
                )
                done = subprocess.run(
                    ["bash", "-ec", script],
                    cwd=directory,
                    env={**self.fleet.environment(), "PATH": BIN + ":" + os.environ["PATH"]},
                    capture_output=True,
                    text=True,
                    check=False,
                )
                self.assertEqual(done.returncode, 0, f"{script}\n{done.stdout}{done.stderr}")
                self.assertTrue(done.stdout)
        self.assertEqual(self.made(), [])
