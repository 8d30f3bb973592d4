"""Rates that are kept or not, backlogs that grow or not, and whose the busy processors are."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading

from truth import TruthTest, situation

GROUPS = "/sys/fs/cgroup"
GENERATOR = "may be what was measured"
BEYOND = "The rate is beyond what was served"

# A program that reads 4 KiB at random with O_DIRECT until it is killed: FILE BYTES THREADS.
READER = """
import mmap, os, random, sys, threading
path, size, threads = sys.argv[1], *map(int, sys.argv[2:4])
def read():
    file, buffer = os.open(path, os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, 4096)
    while True:
        os.preadv(file, [buffer], random.randrange(size // 4096) * 4096)
for _ in range(threads):
    threading.Thread(target=read).start()
"""


def null_job(target, workload, duration="2s", hosts=1):
    """A phase `mix` of one workload on a null target, whose script is the truth."""
    return f"""name: loads
hosts: {{count: {hosts}}}
targets: [{{name: n, null: {{{target}}}}}]
phases:
  - name: mix
    run:
      duration: {duration}
      workloads: [{{name: w, engine: 'null', {workload}}}]
"""


def processor_seconds(pid):
    """User and system time of a process so far."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as text:
        fields = text.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def busy_seconds():
    """Returns all processors' time since the start: user, nice, system, interrupts, steal."""
    with open("/proc/stat", encoding="ascii") as text:
        ticks = [int(field) for field in text.readline().split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


def write(path, text):
    with open(path, "w", encoding="ascii") as out:
        out.write(str(text))


def read(path):
    with open(path, encoding="ascii") as text:
        return text.read().strip()


@contextlib.contextmanager
def program(*words):
    """A program of somebody else, which ends with the block."""
    process = subprocess.Popen(
        [sys.executable, "-c", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@contextlib.contextmanager
def pulses(pid, still=0.15, runs=0.05):
    """Stops a process for so many seconds again and again, and lets it run in between."""
    over = threading.Event()

    def beat():
        while not over.is_set():
            os.kill(pid, signal.SIGSTOP)
            over.wait(still)
            os.kill(pid, signal.SIGCONT)
            over.wait(runs)

    beats = threading.Thread(target=beat)
    beats.start()
    try:
        yield
    finally:
        over.set()
        beats.join()


@contextlib.contextmanager
def group(controller, limits, *pids, name="", beneath=""):
    """A control group with these limits, and these processes in it (in a group beneath it)."""
    path = f"{GROUPS}/{controller}/lockstep-truth-{os.getpid()}{name}"
    inner = f"{path}/{beneath}" if beneath else path
    try:
        os.makedirs(inner)
        for file, limit in limits.items():
            write(f"{path}/{file}", limit)
        for pid in pids:
            write(f"{inner}/cgroup.procs", pid)
        yield path
    finally:
        for one in (inner, path):
            for pid in read(f"{one}/cgroup.procs").split() if os.path.isdir(one) else ():
                with contextlib.suppress(ProcessLookupError):
                    write(f"{GROUPS}/{controller}/cgroup.procs", pid)
        for one in dict.fromkeys((inner, path)):
            with contextlib.suppress(FileNotFoundError):
                os.rmdir(one)


class Loads(TruthTest):
    workers = 2

    def mix_of(self, *job, **more):
        return self.phase(self.run_report(null_job(*job, **more)))

    def remarks_of(self, mix):
        """The remarks, without that of every null target. All outputs have the same ones."""
        remarks = [r for r in mix["remarks"] if not r.startswith("no storage")]
        (row,) = self.rows(
            "SELECT remarks::text AS remarks FROM phase_overview "
            "WHERE run_id = last_run() AND name = 'mix'"
        )
        text = self.ok(self.fleet.lockstep("report", "last", "--detail")).text
        first = self.ok(self.fleet.lockstep("report", "last")).text
        markdown = self.report("markdown")
        for words in (BEYOND, GENERATOR):
            said = any(words in remark for remark in remarks)
            self.assertEqual(words in row["remarks"], said, "SQL")
            self.assertEqual(words in text, said, "the text with all details")
            self.assertEqual(words in first, said, "the first screen")
            self.assertEqual(words in " ".join(markdown.split()), said, "Markdown")
        return remarks

    def limit_of(self, mix):
        """Returns the limit of the only workload, the same in all outputs."""
        workload = mix["workloads"][0]
        text = self.ok(self.fleet.lockstep("report", "last", "--detail")).text
        said = re.search(r"limited by: (.*?) \(", text)
        self.assertEqual(said[1], workload["limitedBy"], "the text")
        (row,) = self.rows(
            "SELECT limited_by::text AS said FROM phase_overview "
            "WHERE run_id = last_run() AND name = 'mix'"
        )
        self.assertIn(workload["limitedBy"], row["said"], "SQL")
        return workload["limitedBy"]

    @situation("15", "8,000/s are due of a device that serves at most 4 per ms, for 3 s")
    def test_a_backlog_that_grows_is_a_verdict(self):
        mix = self.mix_of(
            "latency: 1ms",
            "queue_depth: 4, open_loop: {rate: 8000, arrival: fixed}",
            duration="3s",
        )
        workload = mix["workloads"][0]
        backlog = next((r for r in self.remarks_of(mix) if "BACKLOG" in r), "nothing")
        self.says(backlog)
        self.assertIn(BEYOND, backlog)
        # Each I/O that was due in 3 s was served or never started.
        in_all = workload["total"]["operations"] + workload["unstarted"]
        self.assert_near(in_all, 24000, 0.02, "served and never started")
        self.assertLessEqual(workload["total"]["operations"], 12050)
        share = float(re.search(r"\(([\d.]+) %\) were never started", backlog)[1])
        # I/Os that were in flight at the end were due, too, and are not in `in_all`.
        self.assertAlmostEqual(share, 100 * workload["unstarted"] / 24000, delta=0.06)
        # At half of the speed that is due, the last I/O that starts is half of the time late.
        self.assertGreaterEqual(workload["longestBacklogNs"], 1.4e9)
        self.assertNotEqual(self.limit_of(mix), "rate")

    @situation("15", "1,000/s of a device for 4,000/s; it stands still in the last 0.1 of 2 s")
    def test_a_hiccup_at_the_end_is_no_backlog(self):
        """It stood still for 0.3 s at the begin, too, and made up for that within 0.1 s: what is
        left at the end did not grow, it could not be served yet.
        """
        mix = self.mix_of(
            "latency: 1ms, stall_every: 1900ms, stall: 300ms",
            "queue_depth: 4, open_loop: {rate: 1000, arrival: fixed}",
        )
        workload = mix["workloads"][0]
        # The situation is as it is meant: all but the last tenth of a second was served.
        self.assertLess(workload["unstarted"], 200)
        remarks = self.remarks_of(mix)
        self.says(remarks or f"nothing of {workload['unstarted']} I/Os")
        self.assertEqual([r for r in remarks if BEYOND in r], [])

    def check_hiccup(self, open_loop, beside="", more=""):
        """What is left at the end is said as what it is, and is no verdict."""
        job = null_job(
            "latency: 1ms, stall_every: 1900ms, stall: 300ms",
            f"queue_depth: 4, open_loop: {{{open_loop}, arrival: fixed}}{beside}",
        )
        report = self.run_report(job.replace("hosts:", f"{more}hosts:", 1))
        mix = self.phase(report)
        unstarted = mix["workloads"][0]["unstarted"]
        self.assertLess(unstarted, 200)  # the situation is as it is meant
        remarks = self.remarks_of(mix)
        self.says(remarks or f"nothing of {unstarted} I/Os")
        self.assertEqual([r for r in remarks if BEYOND in r], [])
        self.assertFalse(mix["workloads"][0]["hasBacklog"])
        self.assertEqual(report["verdict"]["word"], "done")

    @situation("15", "the same device and open loop beside a second workload")
    def test_a_hiccup_at_the_end_beside_another_workload(self):
        """The intervals of the phase are of both workloads: its own I/Os tell."""
        self.check_hiccup("rate: 1000", "}, {name: beside, engine: 'null', max_iops: 10")

    @situation("15", "the same device and an open loop whose rate grows from 600 to 1,200/s")
    def test_a_hiccup_at_the_end_of_a_rate_that_grows(self):
        self.check_hiccup("rate: 600, ramp_to: 200%", more="interval: 100ms\n")

    @situation("15", "a rate that grows from 1,000 to 8,000/s, of a device for 4,000/s")
    def test_a_rate_that_grows_beyond_the_device(self):
        mix = self.mix_of(
            "latency: 1ms",
            "queue_depth: 4, open_loop: {rate: 1000, arrival: fixed, ramp_to: 800%}",
            duration="3s",
        )
        remarks = self.remarks_of(mix)
        self.says(remarks)
        self.assertTrue(any(BEYOND in remark for remark in remarks), remarks)

    @situation("15", "an open loop whose device stands still at the end serves 83 % of its rate")
    def test_an_open_loop_is_not_limited_by_a_rate_it_misses(self):
        """Its threads waited for the rate for more than half of the time, as the device was fast
        until then. A rate limits a load only if the load reaches it.
        """
        mix = self.mix_of(
            "latency: 1ms, stall_every: 2500ms, stall: 600ms",
            "queue_depth: 4, open_loop: {rate: 1000, arrival: fixed}",
            duration="3s",
        )
        workload = mix["workloads"][0]
        served = workload["total"]["iops"] / workload["duePerSecond"]
        self.assertLess(served, 0.9)
        limit = self.limit_of(mix)
        self.says(f"limited by {limit}, {100 * served:.0f} % of what was due")
        self.assertNotEqual(limit, "rate")

    @situation("15", "a limit of 500/s, a device that stands still for 0.3 of every second")
    def test_a_rate_limit_under_stalls_is_no_limit(self):
        """No I/O makes up for a stall; the threads wait for the rate for the other 70 %."""
        mix = self.mix_of(
            "latency: 1ms, stall_every: 1s, stall: 300ms",
            "queue_depth: 4, max_iops: 500",
            duration="3s",
        )
        iops = mix["workloads"][0]["total"]["iops"]
        self.assertLess(iops, 400)
        limit = self.limit_of(mix)
        self.says(f"limited by {limit} at {iops:,.0f} of 500 IOPS")
        self.assertNotEqual(limit, "rate")
        self.assertEqual([r for r in self.remarks_of(mix) if "BACKLOG" in r], [])

    @situation("15", "a limit of 200/s over 2 hosts, of a device that serves 20 times as much")
    def test_a_rate_that_is_kept_is_the_limit(self):
        """The limit is that of all hosts: each alone has half of it."""
        mix = self.mix_of("latency: 1ms", "queue_depth: 4, max_iops: 200", hosts=2, duration="3s")
        workload = mix["workloads"][0]
        iops = workload["total"]["iops"]
        limit = self.limit_of(mix)
        self.says(f"limited by {limit} at {iops:,.1f} of 200 IOPS")
        self.assertLessEqual(iops, 201)
        # A busy machine may keep even this load from its rate: then it is no limit, either.
        self.assertEqual(limit == "rate", iops >= 190, workload["limitedBecause"])

    def busy_job(self, *job, **more):
        """Runs it. The phase, and the workers' share of the busy time as the kernel counts it."""
        pids = [process.pid for process in self.fleet.workers.values()]
        busy, own = busy_seconds(), sum(map(processor_seconds, pids))
        mix = self.mix_of(*job, **more, hosts=2)
        own = sum(map(processor_seconds, pids)) - own
        return mix, own / (busy_seconds() - busy)

    def check_share(self, mix, remark):
        """The shares that the remark gives are those of the report's other figures."""
        kernel = mix["kernels"][0]
        busy = kernel["userRatio"] + kernel["systemRatio"] + kernel["stealRatio"]
        said = re.search(r"busy for (\d+) % of the time(?:, (\d+) % of that)?", remark)
        self.assertAlmostEqual(int(said[1]), 100 * busy, delta=1)
        if said[2] is None:
            return
        per_io = mix["workerCpuUserNsPerIo"] + mix["workerCpuSystemNsPerIo"]
        own = per_io * mix["total"]["operations"] / 1e9
        share = own / (busy * os.cpu_count() * mix["durationSeconds"])
        self.assertAlmostEqual(int(said[2]), 100 * share, delta=5)

    @situation("14", "other programs keep every processor busy; 2 workers do 400 IOPS in all")
    def test_busy_neighbours_are_not_the_load_generator(self):
        with contextlib.ExitStack() as busy:
            for _ in range(2 * os.cpu_count()):
                busy.enter_context(program("while True: pass"))
            mix, share = self.busy_job(
                "latency: 1ms", "queue_depth: 4, max_iops: 400", duration="2s"
            )
        self.assertLess(share, 0.3)  # the situation is as it is meant
        remarks = self.remarks_of(mix)
        self.says(remarks)
        self.assertEqual([r for r in remarks if GENERATOR in r], [])
        kernel = mix["kernels"][0]
        if kernel["userRatio"] + kernel["systemRatio"] + kernel["stealRatio"] > 0.91:
            (remark,) = [r for r in remarks if "processors" in r]
            self.assertIn("other programs", remark)
            self.check_share(mix, remark)

    @situation("14", "a null device of no latency: the workers themselves take the processors")
    def test_a_load_generator_that_takes_all_is_named(self):
        threads = 4 * os.cpu_count()
        mix, share = self.busy_job(
            "latency: 0s", f"queue_depth: 32, threads: {threads}", duration="3s"
        )
        remarks = [r for r in self.remarks_of(mix) if "processors" in r]
        self.says(remarks)
        kernel = mix["kernels"][0]
        busy = kernel["userRatio"] + kernel["systemRatio"] + kernel["stealRatio"]
        # The share is of the whole command, of which the load is the largest part.
        if share < 0.6 or busy < 0.91:
            self.skipTest(f"the workers had {share:.2f} of the busy time, {busy:.2f} of all")
        (remark,) = remarks
        self.assertIn(GENERATOR, remark)
        self.check_share(mix, remark)
