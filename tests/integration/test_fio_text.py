"""A report as fio's normal output: held against what fio itself prints of the same file, line by
line.
"""

import re
import tempfile

from fio_runs import run_fio
from fleet import FleetTest, needs_root

# Each ends by itself, and each engine is one of fio's that has no line `slat` here and there.
JOBS = {
    "a mix": "[mix]\nrw=randrw\nrwmixread=50\nbs=4k\n",
    "reads of clones": "[many]\nrw=randread\nbs=8k\nnumjobs=2\ngroup_reporting\n",
    "writes with syncs": "[log]\nrw=write\nbs=16k\nfsync=8\n",
    "two groups": "[first]\nrw=write\nbs=64k\n[second]\nstonewall\nrw=read\nbs=64k\n",
}
HEAD = "[global]\nsize=4m\nthread\nioengine=psync\nunlink=1\ninvalidate=0\nfallocate=none\n"


def shape(text):
    """The lines with # for each number, once where they repeat, without what only one of the tools
    can print: fio does not tell of samples of so short a load.
    """
    # fio lays out its files before it starts, and says so of each.
    lines = []
    for line in text.splitlines():
        if "Laying out IO file" in line or re.match(r"   (bw|iops) +[(:]", line):
            continue
        if line.startswith("Disk stats") or re.match(r"  \S+: ios=", line):
            continue
        if line.startswith("fio-"):
            line = "fio"
        lines.append(of_line(line))
    while lines and not lines[-1]:
        lines.pop()
    return lines


def of_line(line):
    # Which unit is chosen, and which bands have I/Os, depends on how fast the machine was.
    if re.match(r"  lat \(.sec\) +: ", line):
        return "  lat bands"
    line = re.sub(r"\((n|u|m)sec\)", "(xsec)", line)
    # Names, engines and process ids are each tool's own.
    line = re.sub(r"^\S.*?: \(g=", "NAME: (g=", line)
    line = re.sub(r"^\S.*?: \(groupid=", "NAME: (groupid=", line)
    line = re.sub(r"ioengine=\w+", "ioengine=E", line)
    line = re.sub(r": \w{3} \w{3} +\d+ [\d:]+ \d{4}$", ": DATE", line)
    line = re.sub(r"\d+(\.\d+)?([kMG]i?B?|B)?", "#", line)
    line = re.sub(r"= *#", "=#", line)
    line = re.sub(r"\[ *#\]", "[#]", line)
    line = re.sub(r" +#th", " #th", line)
    # "#KiB", "#MB" and "#B" are sizes.
    return re.sub(r"#([kKMG]i?B|B)", "#", line)


def once(lines):
    """Bands of latencies, and rows of percentiles, as one line each: their number is chance."""
    found = []
    for line in lines:
        before = found[-1] if found else ""
        if line == "  lat bands" and before == line:
            continue
        row = "     |"
        if line.startswith(row) and before.startswith(row):
            found[-1] = before + line[len(row) :]
            continue
        found.append(line)
    return found


@needs_root
class FioText(FleetTest):
    workers = 1

    def theirs(self, text):
        with tempfile.TemporaryDirectory(dir=self.fleet.data) as directory:
            return run_fio(text, directory)

    def ours(self, text, *words):
        words = ("--directory", self.fleet.data, "--language", "fio", *words)
        return self.ok(self.fleet.lockstep("run", "-", *words, "--format", "fio-text", stdin=text))

    def test_both_print_the_same_lines(self):
        for name, job in JOBS.items():
            with self.subTest(name):
                theirs = self.theirs(HEAD + job)
                ours = self.ours(HEAD + job).out
                self.assertEqual(once(shape(ours)), once(shape(theirs)), ours + theirs)

    def test_what_was_done_is_what_fio_says(self):
        theirs, ours = self.theirs(HEAD + JOBS["two groups"]), self.ours(HEAD + JOBS["two groups"])
        issued = r"issued rwts: total=(\d+),(\d+),(\d+),\d+"
        self.assertEqual(re.findall(issued, ours.out), re.findall(issued, theirs))
        moved = r"(READ|WRITE|TRIM): .*io=([^,]+),"
        self.assertEqual(re.findall(moved, ours.out), re.findall(moved, theirs))

    def test_samples_and_disks_are_in_a_timed_load(self):
        job = HEAD + "[mix]\nrw=randrw\nbs=4k\ntime_based\nruntime=3\nrate_iops=200\n"
        out = self.ours(job).out
        for kind in ("read", "write"):
            block = out.split(f"  {kind}: IOPS=", 1)[1].split("  cpu ", 1)[0]
            self.assertRegex(
                block, r"   bw \(  KiB/s\): min= *\d+, max= *\d+, per=\d+\.\d\d%, avg="
            )
            self.assertRegex(block, r"   iops        : min= *\d+, max= *\d+, avg=[\d.]+, stdev=")
        again = self.ok(self.fleet.lockstep("report", "last", "--format", "fio-text")).out
        self.assertEqual(again, out)
        self.ok(self.fleet.lockstep("prune", "--older-than", "0s", "--samples", "--yes"))
        pruned = self.ok(self.fleet.lockstep("report", "last", "--format", "fio-text")).out
        self.assertNotIn("   iops        :", pruned)
        self.assertIn("clat percentiles", pruned)

    def test_a_run_without_load_is_refused(self):
        path = f"{self.fleet.data}/{{host}}/laid-out"
        targets = f'targets: [{{name: d, file: {{path: "{path}", size: 1MiB}}}}]'
        self.ok(self.fleet.run_job(f"name: none\n{targets}\nphases: [{{prepare: {{}}}}]\n"))
        done = self.fleet.lockstep("report", "last", "--format", "fio-text")
        self.assertNotEqual(done.status, 0)
        self.assertIn("the run has no phase with load", done.err)
