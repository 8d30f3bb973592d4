"""Failures are reported clearly, with host and path, and harm nothing else."""

import json
import os
import signal
import subprocess
import unittest

from fleet import BIN, Fleet, FleetTest, files_job, needs_root, stop, wait_for


class LostWorkers(unittest.TestCase):
    def lose_one(self, extra):
        with Fleet(2, controller_flags=["--lease", "4"]) as fleet:
            job = files_job(fleet.data, duration="6s", extra=extra, workload=", max_iops: 1000")
            running = fleet.start_lockstep("run", "-", "--format", "json", stdin=job)
            fleet.await_seconds(2)
            fleet.workers["node2"].send_signal(signal.SIGKILL)
            out, err = running.communicate(timeout=300)
            report = json.loads(out)
            fleet.workers.pop("node2").wait()
            # The controller serves the next job, on the worker that is left and on one that comes.
            fleet.start_worker("node3")
            fleet.wait_attached(2)
            after = fleet.run_job(files_job(fleet.data, duration="1s"))
            self.assertEqual(after.status, 0, str(after))
            return running.returncode, report, err

    def test_abort_ends_the_run_with_an_event_and_a_result(self):
        status, report, err = self.lose_one("labels: {purpose: loss}")
        self.assertEqual(status, 3, err)
        self.assertEqual(report["run"]["state"], "aborted")
        self.assertEqual(report["run"]["labels"], {"purpose": "loss"})
        self.assertIn("worker on node2 was lost in phase mix", report["run"]["outcome"])
        self.assertTrue(
            any(e["severity"] == "error" and e["host"] == "node2" for e in report["events"])
        )
        mix = report["phases"][1]
        self.assertEqual((mix["state"], mix["workersLost"], mix["workers"]), ("aborted", 1, 2))
        # The other worker's measurements until then are kept.
        self.assertGreater(mix["hosts"][0]["iops"], 0)
        self.assertEqual([h["lost"] for h in mix["hosts"]], [False, True])

    def test_continue_gives_a_degraded_result_of_the_others(self):
        status, report, err = self.lose_one("on_worker_loss: continue")
        self.assertEqual(status, 0, err)
        self.assertEqual((report["run"]["state"], report["run"]["degraded"]), ("done", True))
        self.assertTrue(
            any(
                "DEGRADED: results of 1 of 2 hosts" in r
                and "samples of all 2 are there from 0.00 to" in r
                for r in report["phases"][1]["remarks"]
            )
        )

    def test_continue_with_too_few_left_aborts(self):
        status, report, err = self.lose_one("on_worker_loss: continue\nmin_hosts: 2")
        self.assertEqual((status, report["run"]["state"]), (3, "aborted"), err)


class Stops(FleetTest):
    def start(self, *flags):
        running = self.fleet.start_lockstep(
            "run", "-", "--format", "json", *flags, stdin=files_job(self.fleet.data, duration="60s")
        )
        self.fleet.await_phase("mix")
        return running

    def finish(self, running, status):
        out, err = running.communicate(timeout=300)
        self.assertEqual(running.returncode, status, err)
        return json.loads(out)

    def test_interrupt_without_a_terminal_cancels_and_cleans_up(self):
        running = self.start()
        running.send_signal(signal.SIGINT)
        report = self.finish(running, 130)
        self.assertEqual(report["run"]["state"], "cancelled")
        self.assertEqual([p["kind"] for p in report["phases"]], ["prepare", "run", "cleanup"])
        self.assertEqual(os.listdir(self.fleet.data), [])

    def test_stop_now_runs_nothing_more(self):
        running = self.start()
        self.ok(self.fleet.lockstep("stop", "last", "--now", "--reason", "the SAN complains"))
        report = self.finish(running, 130)
        self.assertIn("the SAN complains", report["run"]["outcome"])
        self.assertEqual([p["kind"] for p in report["phases"]], ["prepare", "run"])
        self.ok(self.fleet.run_job(files_job(self.fleet.data, duration="1s")))

    def test_abort_if_ends_the_run(self):
        job = files_job(self.fleet.data, duration="60s").replace(
            "duration: 60s", "duration: 60s\n      abort_if: {p99: 1us}"
        )
        done = self.ok(self.fleet.run_job(job, "--format", "json"), 3)
        self.assertEqual(done.json()["run"]["state"], "aborted")
        self.assertIn("abort_if.p99", done.json()["run"]["outcome"])

    def test_an_ended_run_cannot_be_stopped(self):
        self.ok(self.fleet.run_job(files_job(self.fleet.data, duration="1s")))
        run = self.fleet.sql("SELECT last_run()")[0][0]
        self.assertIn("has ended already", self.ok(self.fleet.lockstep("stop", run), 1).err)
        self.assertIn(
            "nothing is queued or in progress", self.ok(self.fleet.lockstep("stop"), 1).err
        )
        for command in ("stop", "report", "watch"):
            self.assertIn("no run is named", self.ok(self.fleet.lockstep(command, ""), 1).err)

    def test_expectations_decide_the_exit_status(self):
        job = files_job(self.fleet.data, duration="1s").replace(
            "duration: 1s", "duration: 1s\n      expect: {iops: 1, p99: 1us, fairness: 0.1}"
        )
        done = self.ok(self.fleet.run_job(job), 4)
        self.assertIn("FAILED: p99 <= 1 µs", done.out)
        self.assertIn("2 of 3 met", done.out)


class Refusals(FleetTest):
    def test_more_hosts_than_there_are(self):
        done = self.ok(self.fleet.run_job(files_job(self.fleet.data, hosts=5)), 2)
        self.assertIn(
            "stdin:2: hosts: the job needs 5 hosts, 2 that match are attached: node1, node2",
            done.err,
        )

    def test_a_host_that_does_not_exist(self):
        done = self.ok(
            self.fleet.run_job(
                files_job(self.fleet.data).replace("{count: 2}", "{names: 'node[1-3]'}")
            ),
            2,
        )
        self.assertIn("no worker is attached on node3", done.err)

    def test_a_file_that_nobody_prepared(self):
        job = files_job(self.fleet.data, tail="").replace("  - prepare:\n", "")
        done = self.ok(self.fleet.run_job(job), 3)
        self.assertIn(
            f"node1: target data: {self.fleet.data}/node1/file: does not exist, and the job "
            "does not prepare it",
            done.text,
        )

    def test_two_workers_in_one_file(self):
        done = self.ok(
            self.fleet.run_job(files_job(self.fleet.data).replace("{host}/file", "same")), 3
        )
        self.assertIn("is also used by node1; put {host} or {worker} into the path", done.text)

    def test_a_file_larger_than_the_disk(self):
        done = self.ok(self.fleet.run_job(files_job(self.fleet.data, size="1PiB")), 3)
        self.assertIn("its file system has", done.out)
        self.assertEqual(os.listdir(self.fleet.data), [])

    def test_plan_writes_nothing(self):
        done = self.ok(self.fleet.lockstep("plan", "-", stdin=files_job(self.fleet.data)))
        self.assertIn("makes 1 file of 8 MiB", done.out)
        self.assertEqual(os.listdir(self.fleet.data), [])

    def test_a_second_worker_of_the_same_state_directory(self):
        second = self.fleet.start_worker("node1")
        self.assertEqual(second.wait(20), 1)
        self.assertIn("another worker uses this state directory", self.fleet.log("node1"))


@needs_root
class FullDisk(unittest.TestCase):
    def test_what_would_fill_a_file_system_is_refused_first(self):
        with Fleet(4) as fleet:
            small = os.path.join(fleet.data, "small")
            os.mkdir(small)
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", small], check=True)
            try:
                # Each worker's file fits alone; all do not, and what would leave nothing free does
                # not either.
                for size, needed in (("24MiB", "96 MiB"), ("15.5MiB", "62 MiB")):
                    done = fleet.run_job(
                        files_job(small, hosts=4, size=size, workload=", direct: false")
                    )
                    self.assertEqual(done.status, 3, str(done))
                    self.assertIn(
                        f"all workers together need {needed}, its file system has 64 MiB "
                        "free, of which 3.20 MiB stay free",
                        done.text,
                    )
                    self.assertEqual(os.listdir(small), [])
                self.assertEqual(
                    fleet.run_job(
                        files_job(
                            small, hosts=4, size="15MiB", duration="1s", workload=", direct: false"
                        )
                    ).status,
                    0,
                )
            finally:
                subprocess.run(["umount", small], check=True)

    def test_the_stores_file_system_is_filled_only_if_said_twice(self):
        with Fleet(0) as fleet:
            data = os.path.join(fleet.stores, "data")
            os.mkdir(data)
            fleet.allow.append(data)
            fleet.start_worker("node1")
            fleet.wait_attached(1)
            job = files_job(data, hosts=1, workload=", direct: false")
            refused = fleet.lockstep("plan", "/dev/stdin", stdin=job)
            self.assertEqual(refused.status, 2, str(refused))
            self.assertIn("lies on the file system of Lockstep's own store", refused.err)
            self.assertIn("--allow-store-filesystem at the controller (done)", refused.err)
            self.assertEqual(fleet.lockstep("plan", "-", stdin=job).status, 0)


class Stores(unittest.TestCase):
    def test_a_store_that_cannot_be_reached(self):
        done = subprocess.run(
            [
                f"{BIN}/lockstep-controller",
                "--store",
                "postgresql://127.0.0.1:1/none",
                "--listen",
                "127.0.0.1:0",
            ],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        self.assertEqual(done.returncode, 1)
        self.assertIn("the store cannot be reached", done.stderr)
        self.assertIn("is the server running, and does --store name it?", done.stderr)

    def test_a_second_controller_on_the_same_store_or_port(self):
        with Fleet(0) as fleet:
            done = subprocess.run(
                [
                    f"{BIN}/lockstep-controller",
                    "--state-dir",
                    fleet.state,
                    "--listen",
                    "127.0.0.1:0",
                ],
                capture_output=True,
                text=True,
                timeout=30,
                check=False,
            )
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"the controller at {fleet.address} uses this store", done.stderr)
            done = subprocess.run(
                [
                    f"{BIN}/lockstep-controller",
                    "--state-dir",
                    fleet.directory + "/other",
                    "--listen",
                    fleet.address,
                ],
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            self.assertEqual(done.returncode, 1)
            self.assertIn(
                f"cannot listen on {fleet.address}; is another controller running there?",
                done.stderr,
            )

    def test_a_run_s_end_is_stored_as_soon_as_the_store_takes_it(self):
        # A disturbance that is no absence: the server answers, with an error.
        with Fleet(1) as fleet:
            job = files_job(fleet.data, hosts=1, duration="10m")
            client = fleet.start_lockstep("run", "-", stdin=job)
            fleet.await_phase("mix")
            fleet.owner_sql("ALTER TABLE lockstep.runs RENAME COLUMN outcome TO gone")
            client.send_signal(signal.SIGINT)

            def status():
                return " ".join(fleet.lockstep("status").out.split())

            wait_for("the end to be refused", lambda: "HAS ENDED" in status())
            self.assertIn('column "outcome"', status())
            self.assertNotIn("nothing is queued or running", status())
            fleet.owner_sql("ALTER TABLE lockstep.runs RENAME COLUMN gone TO outcome")
            wait_for("the end to be stored", lambda: "nothing is queued or running" in status())
            self.assertIn("cancelled", fleet.lockstep("history").out)
            client.communicate(timeout=300)

    def test_postgres_killed_in_the_middle_loses_nothing(self):
        with Fleet(1) as fleet:
            running = fleet.start_lockstep(
                "run", "-", "--format", "json", stdin=files_job(fleet.data, hosts=1, duration="5s")
            )
            fleet.await_seconds(1)
            with open(
                os.path.join(fleet.state, "postgres", "data", "postmaster.pid"), encoding="ascii"
            ) as text:
                postmaster = text.readline().strip()
            backends = subprocess.run(
                ["pgrep", "-P", postmaster, "-f", "postgres: lockstep"],
                capture_output=True,
                text=True,
                check=True,
            ).stdout.split()
            # A backend's crash makes the server restart and drops every connection.
            os.kill(int(backends[0]), signal.SIGKILL)
            out, err = running.communicate(timeout=300)
            self.assertEqual(running.returncode, 0, err)
            mix = json.loads(out)["phases"][1]
            rows = fleet.sql(
                "SELECT sum(operations) FROM interval_operations WHERE run_id = last_run() AND "
                "interval_class = 2"
            )
            self.assertEqual(float(rows[0][0]), mix["total"]["operations"])
            self.assertEqual(
                fleet.sql(
                    "SELECT count(DISTINCT interval) FROM interval_operations WHERE run_id = "
                    "last_run() AND interval_class = 2"
                ),
                [["5"]],
            )


class Processes(unittest.TestCase):
    def test_the_end_of_lockstep_up_leaves_no_process(self):
        with Fleet(0) as fleet:
            up = fleet.spawn(
                "up",
                [
                    f"{BIN}/lockstep",
                    "up",
                    "--workers",
                    "2",
                    "--state-dir",
                    fleet.directory + "/up",
                    "--listen",
                    "127.0.0.1:0",
                    "--no-web",
                ],
            )
            try:
                wait_for("it to be up", lambda: "Ctrl-C here ends" in fleet.log("up"))
                children = subprocess.run(
                    ["pgrep", "-f", fleet.directory + "/up"],
                    capture_output=True,
                    text=True,
                    check=False,
                ).stdout.split()
                self.assertGreaterEqual(len(children), 4)
            finally:
                stop(up, signal.SIGINT)
            left = subprocess.run(
                ["pgrep", "-af", fleet.directory + "/up"],
                capture_output=True,
                text=True,
                check=False,
            ).stdout
            self.assertEqual(left, "")
