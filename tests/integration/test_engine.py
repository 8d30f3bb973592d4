"""The engine, end to end: every target on real files and devices, checked where possible."""

import os
import re
import subprocess

from fleet import FleetTest, identity_of, needs_root, wait_for
from loops import attach, detach
from processes import io_thread


def workload_job(
    data,
    workload,
    run="duration: 400ms",
    size="8MiB",
    before="  - prepare:\n",
    tail="",
    target=None,
):
    target = target or f'{{name: data, file: {{path: "{data}/{{host}}/file", size: {size}}}}}'
    return f"""name: engine
targets: [{target}]
phases:
{before}  - name: load
    run: {{{run}, workloads: [{{{workload}}}]}}
{tail}"""


def operations(phase):
    return {operation["kind"]: operation for operation in phase["workloads"][0]["operations"]}


class Engine(FleetTest):
    workers = 1

    def load(self, *arguments, status=0, **more):
        done = self.ok(
            self.fleet.run_job(
                workload_job(self.fleet.data, *arguments, **more), "--format", "json"
            ),
            status,
        )
        return next(phase for phase in done.json()["phases"] if phase["name"] == "load")

    def refused(self, words, *arguments, **more):
        done = self.fleet.run_job(workload_job(self.fleet.data, *arguments, **more))
        self.assertIn(done.status, (2, 3), str(done))
        self.assertIn(words, " ".join((done.out + done.err).split()))

    def test_each_engine_does_the_same_ios(self):
        for engine in (
            "io_uring",
            "libaio, queue_depth: 4",
            "sync",
            "preadv2",
            "mmap, direct: false",
        ):
            with self.subTest(engine=engine):
                load = self.load(
                    f"engine: {engine}, read: 50%, operations: 2000, block_size: 4KiB",
                    run="duration: 60s",
                )
                self.assertEqual(load["total"]["operations"], 2000)
                self.assertEqual(load["total"]["bytes"], 2000 * 4096)

    def test_syncs_come_when_the_job_says_and_are_no_ios(self):
        load = self.load(
            "read: 0%, operations: 1000, fsync: {every: 100, at_end: true}", run="duration: 60s"
        )
        found = operations(load)
        self.assertEqual(found["write"]["operations"], 1000)
        self.assertEqual(found["fsync"]["operations"], 10)
        self.assertEqual(load["total"]["operations"], 1000)
        path = f"{self.fleet.data}/{{host}}/many"
        many = f'{{name: data, file: {{path: "{path}", size: 1MiB, count: 4}}}}'
        load = self.load(
            "read: 50%, operations: 400, fsync: {every_ios: 100, all_files: true, mode: fdatasync}",
            run="duration: 60s",
            target=many,
        )
        self.assertEqual(operations(load)["fsync"]["operations"], 16)

    def test_passes_and_shuffling_visit_each_block_once(self):
        job = workload_job(
            self.fleet.data,
            "pattern: shuffled, passes: 1, threads: 3, read: 0%, verify: true",
            run="ramp: 0s",
        )
        report = self.ok(self.fleet.run_job(job + "  - verify:\n", "--format", "json")).json()
        load, verify = report["phases"][1], report["phases"][2]
        self.assertEqual(load["total"]["operations"], 2048)
        found = verify["workloads"][0]["verification"]
        self.assertEqual(
            (found["checked"], found["notCheckable"], found["mismatches"]), (2048, 0, 0)
        )

    def test_more_ios_in_flight_than_blocks_are_verified(self):
        target = f'{{name: data, file: {{path: "{self.fleet.data}/{{host}}/few", size: 64KiB}}}}'
        job = (
            f"name: few\ntargets: [{target}]\nphases:\n  - prepare:\n  - precondition: "
            f"{{block_size: 4KiB, verify: true, passes: 3}}\n  - verify:\n  - cleanup:\n"
        )
        phases = self.ok(self.fleet.run_job(job, "--format", "json")).json()["phases"]
        self.assertEqual(phases[1]["total"]["operations"], 48)
        self.assertEqual(phases[2]["workloads"][0]["verification"]["checked"], 16)

    def test_fewer_ios_than_threads_are_no_more_than_asked_for(self):
        self.assertEqual(self.load("operations: 3, threads: 8")["total"]["operations"], 3)

    def test_an_earlier_runs_data_and_later_changes_are_told_apart(self):
        path = os.path.join(self.fleet.data, "node1", "kept")
        target = f'{{name: data, file: {{path: "{self.fleet.data}/{{host}}/kept", size: 1MiB}}}}'
        self.ok(
            self.fleet.run_job(
                f"name: write\ntargets: [{target}]\nphases:\n  - prepare:\n  - precondition: "
                f"{{block_size: 4KiB, verify: true}}\n"
            )
        )
        check = f"name: check\ntargets: [{target}]\nphases:\n  - verify: {{any_run: true}}\n"
        clean = self.ok(self.fleet.run_job(check, "--format", "json")).json()["phases"][0][
            "workloads"
        ][0]["verification"]
        self.assertEqual((clean["checked"], clean["mismatches"]), (256, 0))
        stale = self.ok(
            self.fleet.run_job(
                check.replace("any_run: true", "any_run: false"), "--format", "json"
            ),
            6,
        ).json()["phases"][0]["workloads"][0]["verification"]
        self.assertIn("256 stale", stale["byVerdict"])
        with open(path, "r+b") as out:
            first = out.read(4096)
            out.seek(8192)
            out.write(first)  # misplaced
            out.seek(5 * 4096 + 1000)
            byte = out.read(1)
            out.seek(5 * 4096 + 1000)
            out.write(bytes([byte[0] ^ 4]))  # corrupt
            out.seek(7 * 4096)
            out.write(bytes(4096))  # gone
        subprocess.run(["sync", path], check=True)
        found = self.ok(self.fleet.run_job(check, "--format", "json"), 6).json()["phases"][0][
            "workloads"
        ][0]["verification"]
        self.assertEqual(found["mismatches"], 3)
        for words in ("1 misplaced", "1 corrupt", "1 never written"):
            self.assertIn(words, found["byVerdict"])
        details = " ".join(found["details"])
        self.assertIn(f"node1: misplaced at offset 8192 of {path}", details)
        self.ok(self.fleet.run_job(f"name: clean\ntargets: [{target}]\nphases:\n  - cleanup:\n"))

    def test_a_hang_at_the_end_of_a_load_is_in_its_rates(self):
        job = workload_job(
            self.fleet.data,
            "engine: null, queue_depth: 2",
            run="duration: 5s",
            before="",
            target="{name: data, null: {latency: 1ms, stall_every: 3s, stall: 2500ms}}",
        )
        (phase,) = self.ok(self.fleet.run_job(job, "--format", "json")).json()["phases"]
        (workload,) = phase["workloads"]
        own = workload["operations"][0]["iops"]
        self.assertAlmostEqual(own / phase["total"]["iops"], 1, places=6)
        # It worked for three of five seconds.
        # An interval that did not arrive is the text "NaN".
        seconds = [iops for iops in phase["iopsByInterval"] if iops != "NaN"]
        self.assertLess(own, 0.75 * max(seconds))

    def test_a_curve_is_run_at_shares_of_what_was_measured(self):
        target = "{name: data, null: {latency: 5ms}}"
        job = workload_job(
            self.fleet.data,
            "engine: null, queue_depth: 2",
            run="duration: 1s",
            before="",
            target=target,
        )
        job += """  - name: curve
    run:
      duration: 1s
      curve: {share: [25%, 50%]}
      workloads:
        - {engine: null, queue_depth: 8, open_loop: {measured: {phase: load}, arrival: fixed}}
"""
        phases = self.ok(self.fleet.run_job(job, "--format", "json")).json()["phases"]
        self.assertEqual([phase["name"] for phase in phases], ["load", "curve 25 %", "curve 50 %"])
        rates = self.fleet.sql(
            "SELECT p.figures ->> 'iops', w.spec -> 'openLoop' ->> 'ratePerSecond' FROM phases p "
            "JOIN workloads w USING (run_id, phase) WHERE run_id = last_run() ORDER BY p.phase"
        )
        full = float(rates[0][0])
        for phase, share, (_, rate) in zip(phases[1:], (0.25, 0.5), rates[1:], strict=True):
            self.assertAlmostEqual(float(rate), share * full, delta=1e-6 * full)
            # A busy machine may not keep up with a rate; nobody exceeds it.
            self.assertLess(phase["total"]["iops"], 1.02 * float(rate))
        self.assertEqual(phases[1]["total"]["metric"], "response_time")
        self.assertEqual(phases[1]["workloads"][0]["limitedBy"], "rate")
        rows = self.fleet.sql(
            "SELECT metric, is_reported FROM phase_latency_all WHERE run_id = last_run() AND "
            "phase = 1 ORDER BY metric"
        )
        self.assertEqual(rows, [["response time", "t"], ["service time", "f"]])

    def test_a_rate_beyond_the_device_is_reported_as_a_backlog(self):
        load = self.load(
            "engine: null, open_loop: {rate: 2000, arrival: fixed}",
            run="duration: 1s",
            before="",
            target="{name: data, null: {latency: 1ms}}",
        )
        self.assertGreater(load["workloads"][0]["unstarted"], 500)
        self.assertTrue(any("BACKLOG" in remark for remark in load["remarks"]))
        self.assertEqual(self.fleet.sql("SELECT 1 FROM verification WHERE run_id = last_run()"), [])

    def test_a_rate_limit_holds_and_is_named_as_the_limit(self):
        load = self.load("max_iops: 100, queue_depth: 4", run="duration: 2s")
        iops = load["total"]["iops"]
        self.assertLessEqual(iops, 104)
        # A machine that others use may keep even this load from its rate.
        kept = "rate" if iops >= 95 else "rate in part"
        self.assertEqual(load["workloads"][0]["limitedBy"], kept)

    def test_workloads_side_by_side_have_their_own_shares(self):
        job = f"""name: mixes
targets:
  - {{name: a, file: {{path: "{self.fleet.data}/{{host}}/a", size: 4MiB}}}}
  - {{name: b, file: {{path: "{self.fleet.data}/{{host}}/b", size: 4MiB}}}}
phases:
  - prepare:
  - run:
      duration: 1s
      workloads:
        - {{name: pages, targets: a, block_size: 16KiB, read: 70%, open_loop: {{rate: 400}},
            queue_depth: 8}}
        - {{name: log, targets: b, block_size: 4KiB, read: 0%, pattern: sequential,
            max_iops: 200, fsync: {{every: 1}}}}
  - cleanup:
"""
        phase = self.ok(self.fleet.run_job(job, "--format", "json")).json()["phases"][1]
        pages, log = phase["workloads"]
        self.assertEqual(pages["total"]["metric"], "response_time")
        self.assertEqual(log["total"]["metric"], "service_time")
        self.assertLessEqual(log["total"]["iops"], 210)
        self.assertEqual({o["kind"] for o in log["operations"]}, {"write", "fsync"})
        self.assertLess(pages["total"]["iops"], 500)

    def test_limits_are_named(self):
        think = self.load("think_time: 20ms")
        self.assertEqual(think["workloads"][0]["limitedBy"], "think time")
        generator = self.load(
            "queue_depth: 32", before="", target="{name: data, null: {}}", run="duration: 1s"
        )
        self.assertEqual(generator["workloads"][0]["limitedBy"], "no storage")

    def test_what_this_host_cannot_do_is_refused_with_the_reason(self):
        self.refused(
            "the device has no polled queues (nvme.poll_queues=N gives NVMe some)",
            "engine_options: {completion_polling: true}",
        )
        self.refused(
            "reserve them with sysctl vm.nr_hugepages",
            "block_size: 64MiB, queue_depth: 64, engine_options: {huge_pages: true}",
            size="64MiB",
        )
        self.refused("engine_options.cpus: processor 999", "engine_options: {cpus: [999]}")
        self.refused(
            "engine_options.numa_node: memory of node 60", "engine_options: {numa_node: 60}"
        )

    def test_placement_that_this_host_has_is_kept(self):
        load = self.load("threads: 2, engine_options: {cpus: [0], numa_node: 0}")
        self.assertGreater(load["total"]["operations"], 0)

    def test_the_io_thread_makes_no_system_call_but_the_ios(self):
        running = self.fleet.start_lockstep(
            "run",
            "-",
            stdin=workload_job(
                self.fleet.data, "queue_depth: 16, block_size: 4KiB", run="duration: 10m"
            ),
        )
        self.fleet.await_phase("load")
        process = self.fleet.workers["node1"].pid

        thread = wait_for("the I/O thread", lambda: io_thread(process))

        def ran_ns():
            with open(f"/proc/{process}/task/{thread}/schedstat", encoding="ascii") as text:
                return int(text.read().split()[0])

        def runs_for(seconds):
            before = ran_ns()
            wait_for("some work", lambda: ran_ns() > before + seconds * 1e9)

        runs_for(0.1)  # before the go it sleeps
        trace = subprocess.Popen(["strace", "-c", "-p", thread], stderr=subprocess.PIPE, text=True)
        # As much work as shows a system call that is made rarely.
        runs_for(1)
        trace.send_signal(2)
        summary = trace.communicate(timeout=300)[1]
        self.ok(self.fleet.lockstep("stop"))
        running.communicate(timeout=300)
        calls = {
            line.split()[-1]: int(line.split()[3])
            for line in summary.splitlines()
            if re.match(r"\s*[\d.]+\s+[\d.]+\s+\d+\s+\d+", line) and "total" not in line
        }
        if not calls and "ptrace" in summary:
            self.skipTest("tracing is not permitted here: " + summary)
        self.assertEqual(set(calls), {"io_uring_enter"}, summary)
        self.assertGreater(calls["io_uring_enter"], 100)


@needs_root
class OnDevices(FleetTest):
    workers = 0

    def test_trims_reach_a_device_and_cached_reads_are_told(self):
        image = os.path.join(self.fleet.directory, "image")
        with open(image, "wb") as out:
            out.write(os.urandom(16 << 20))
        device = attach(image)
        try:
            self.fleet.allow.append(device)
            self.fleet.start_worker("node1", ["--allow-expendable", identity_of(image)])
            self.fleet.wait_attached(1)
            target = f"{{name: data, device: {{path: {device}}}}}"
            expendable = f"expendable: [{identity_of(image)}]\n"
            job = workload_job(
                self.fleet.data,
                "pattern: sequential, passes: 1, read: 0%, trim: 100%, block_size: 64KiB",
                run="ramp: 0s",
                before="",
                target=target,
            )
            done = self.fleet.run_job(expendable + job, "--format", "json")
            phase = self.ok(done).json()["phases"][0]
            self.assertEqual(operations(phase)["trim"]["operations"], 256)
            name = os.path.basename(device)
            found = next(d for d in phase["devices"] if d["name"] == name)
            self.assertEqual(found["engineTrimBytes"], 16 << 20)
            self.assertEqual(found["deviceDiscardBytes"], 16 << 20)
            self.assertEqual(found["crossCheck"]["verdict"], "VERDICT_AGREE", found["crossCheck"])
            with open(device, "rb") as found:
                self.assertEqual(found.read().count(0), 16 << 20)
            job = workload_job(
                self.fleet.data,
                "direct: false, block_size: 64KiB",
                run="drop_caches: true, duration: 2s",
                before="",
                target=target,
            )
            phase = self.ok(self.fleet.run_job(job, "--format", "json")).json()["phases"][0]
            self.assertEqual(phase["workloads"][0]["limitedBy"], "page cache")
        finally:
            detach(device)


class Creation(FleetTest):
    workers = 1

    def test_files_grow_as_they_are_written_and_cleanup_removes_them(self):
        path = f"{self.fleet.data}/{{host}}/grown"
        target = f'{{name: data, file: {{path: "{path}", size: 2MiB, count: 2}}}}'
        job = workload_job(
            self.fleet.data,
            "pattern: sequential, read: 0%, create: true, direct: false, passes: 1, "
            "block_size: 64KiB",
            run="ramp: 0s",
            before="",
            target=target,
        )
        self.ok(self.fleet.run_job(job))
        folder = os.path.join(self.fleet.data, "node1")
        self.assertEqual(
            {
                name: os.path.getsize(os.path.join(folder, name))
                for name in os.listdir(folder)
                if not name.endswith(".lockstep")
            },
            {"grown": 2 << 20, "grown.1": 2 << 20},
        )
        # A file of somebody else in its place is left alone.
        os.unlink(os.path.join(folder, "grown.1"))
        with open(os.path.join(folder, "grown.1"), "w", encoding="ascii") as out:
            out.write("precious")
        self.assertNotEqual(self.fleet.run_job(job).status, 0)
        with open(os.path.join(folder, "grown.1"), encoding="ascii") as text:
            self.assertEqual(text.read(), "precious")
        os.unlink(os.path.join(folder, "grown.1"))
        self.ok(self.fleet.run_job(job + "  - cleanup:\n"))
        self.assertEqual(os.listdir(self.fleet.data), [])
