"""LUNs of a real target (tgt), reached without a kernel initiator."""

import hashlib
import os
import signal
import sys
import unittest

from device_jobs import call
from fleet import ROOT, Fleet, needs_root, wait_for
from loops import LoopDevice
from san import EXPENDABLE, EXPENDABLE_FLAGS, IQN, Tgt, identity

sys.path.insert(0, os.path.join(ROOT, "tests", "benchmarks"))
from hosts import Hosts

MIB = 1 << 20


def lun_job(url, workload, hosts=4, run="duration: 2s", extra="", target="", head=""):
    return (
        f"name: san\nhosts: {{count: {hosts}}}\n{head}\n"
        f"targets: [{{name: lun, iscsi: {{url: '{url}'{target}}}{extra}}}]\n"
        f"phases:\n  - {{name: load, run: {{{run}, workloads: [{{name: w, {workload}}}]}}}}\n"
    )


@needs_root
class San(unittest.TestCase):
    """Four hosts, each a network namespace with a clock of its own, and two LUNs."""

    @classmethod
    def setUpClass(cls):
        cls.hosts = Hosts(4)
        cls.addClassCleanup(cls.hosts.close)
        cls.tgt = Tgt(luns=2, address=cls.hosts.gateway)
        cls.addClassCleanup(cls.tgt.__exit__)
        cls.tgt.__enter__()
        cls.fleet = Fleet(0, controller_flags=["--insecure-plaintext"])
        cls.addClassCleanup(cls.fleet.__exit__)
        cls.fleet.listen = "0.0.0.0:0"
        cls.fleet.__enter__()
        port = cls.fleet.address.rsplit(":", 1)[1]
        cls.fleet.address = f"127.0.0.1:{port}"
        for host in range(4):
            luns = [cls.tgt.url(1), cls.tgt.url(2)]
            cls.hosts.start_worker(
                cls.fleet, host, f"{cls.hosts.gateway}:{port}", *luns, flags=EXPENDABLE_FLAGS
            )
        cls.fleet.wait_attached(4)

    def ok(self, done, status=0):
        self.assertEqual(done.status, status, str(done))
        return done

    def run_phase(self, job, status=0):
        job = f"{EXPENDABLE}\n{job}"
        report = self.ok(self.fleet.run_job(job, "--format", "json"), status).json()
        return report["phases"][0]

    def test_each_lun_is_listed_once_with_all_who_see_it(self):
        listed = self.ok(self.fleet.lockstep("devices", "--format", "json")).json()
        identities = set()
        for lun in (1, 2):
            found = [
                device
                for host in listed["hosts"]
                for device in host["devices"]
                if device["path"] == self.tgt.url(lun)
            ]
            self.assertEqual(len(found), 4)
            self.assertEqual(len({device["identity"] for device in found}), 1)
            self.assertEqual({device["sizeBytes"] for device in found}, {str(64 * MIB)})
            identities |= {device["identity"] for device in found}
        self.assertEqual(len(identities), 2)
        text = self.ok(self.fleet.lockstep("devices")).out
        self.assertEqual(identities, {identity(1), identity(2)})
        for name in identities:
            self.assertEqual(text.count(name), 1, text)
        for host in ("node0", "node1", "node2", "node3"):
            self.assertIn(host, text)

    def test_a_sliced_lun_is_written_by_all_and_each_in_its_part(self):
        phase = self.run_phase(
            lun_job(
                self.tgt.url(1),
                "block_size: 64KiB, read: 0%, queue_depth: 4, pattern: sequential, passes: 1",
                run="ramp: 0s",
            )
        )
        self.assertEqual(len(phase["hosts"]), 4)
        blocks = 64 * MIB // (64 << 10)
        self.assertEqual(phase["total"]["operations"], blocks)
        self.assertEqual({h["total"]["operations"] for h in phase["hosts"]}, {blocks / 4})
        self.assertEqual(phase["total"]["errors"], 0)
        # All of the image is written, by nobody else than the four.
        with open(self.tgt.image(1), "rb") as image:
            for _ in range(64):
                self.assertNotEqual(image.read(MIB).count(0), MIB)
        (workload,) = phase["workloads"]
        self.assertIn("libiscsi", workload["engine"])

    def test_stripes_are_dealt_out_and_none_twice(self):
        target = (
            f"{{name: lun, iscsi: {{url: '{self.tgt.url(2)}', size: 16MiB}}, "
            "sharing: interleaved, stripe: 64KiB}"
        )
        job = (
            f"{EXPENDABLE}\nname: striped\nhosts: {{count: 4}}\ntargets: [{target}]\nphases:\n"
            "  - precondition: {block_size: 16KiB, verify: true}\n"
            "  - verify: {block_size: 16KiB}\n"
        )
        report = self.ok(self.fleet.run_job(job, "--format", "json")).json()
        blocks = 16 * MIB // (16 << 10)
        self.assertEqual(
            [h["total"]["operations"] for h in report["phases"][0]["hosts"]], [blocks / 4] * 4
        )
        check = report["phases"][1]["workloads"][0]["verification"]
        self.assertEqual((check["checked"], check["mismatches"]), (blocks, 0))
        # Neighbouring stripes are of different workers: their headers say so.
        with open(self.tgt.image(2), "rb") as image:
            heads = []
            for stripe in range(8):
                image.seek(stripe << 16)
                heads.append(image.read(64))
        self.assertEqual(len(set(heads)), 8)

    def test_what_is_owned_is_written_by_one_and_read_by_all(self):
        def job(writer):
            return lun_job(
                self.tgt.url(2),
                f"block_size: 4KiB, read: 0%, max_iops: 500{writer}}}, "
                "{name: readers, block_size: 4KiB, max_iops: 500",
                extra=", sharing: owned",
                run="duration: 1s",
            )

        phase = self.run_phase(job(", hosts: {count: 1}"))
        writes = [
            host
            for host in phase["hosts"]
            for workload in host["workloads"]
            for o in workload["operations"]
            if o["kind"] == "write"
        ]
        self.assertEqual(len(writes), 1)
        self.assertEqual(len(phase["hosts"]), 4)
        done = self.ok(self.fleet.run_job(job("")), 3)
        self.assertIn("is owned, and 4 hosts write it", done.out + done.err)

    def test_two_jobs_never_meet_on_one_lun(self):
        job = lun_job(
            self.tgt.url(2),
            "block_size: 4KiB, read: 0%, max_iops: 500",
            hosts=1,
            run="duration: 1s",
            head=EXPENDABLE,
        )
        first = self.fleet.start_lockstep("run", "-", stdin=job)
        second = self.fleet.start_lockstep("run", "-", stdin=job)
        for process in (first, second):
            out, err = process.communicate(timeout=300)
            self.assertEqual(process.returncode, 0, out + err)
        last = (
            "(SELECT p.run_id, p.go_at, p.ended_at FROM phase_overview p JOIN runs r USING "
            "(run_id) WHERE r.job = 'san' ORDER BY r.submitted_at DESC LIMIT 2)"
        )
        rows = self.fleet.sql(
            f"SELECT count(*) FROM {last} a JOIN {last} b ON a.run_id <> b.run_id AND "
            "a.go_at < b.ended_at AND b.go_at < a.ended_at"
        )
        self.assertEqual(rows, [["0"]])

    def test_hosts_that_share_a_lun_are_compared(self):
        phase = self.run_phase(
            lun_job(
                self.tgt.url(2),
                "block_size: 4KiB, queue_depth: 8, threads: 2, max_iops: 2000",
                extra=", sharing: overlapped",
            )
        )
        self.assertEqual(phase["fairness"][0]["count"], 4)
        self.assertGreater(phase["total"]["iops"], 100)
        self.assertEqual(phase["total"]["errors"], 0)
        self.assertGreater(phase["total"]["operations"], 0)

    def test_what_was_written_is_verified(self):
        job = (
            f"{EXPENDABLE}\nname: checked\nhosts: {{count: 4}}\n"
            f"targets: [{{name: lun, iscsi: {{url: '{self.tgt.url(1)}', size: 8MiB}}}}]\n"
            "phases:\n"
            "  - precondition: {block_size: 64KiB, verify: true}\n"
            "  - {name: mix, run: {operations: 2000, workloads: "
            "[{block_size: 64KiB, read: 50%, queue_depth: 4, verify: true}]}}\n"
            "  - verify: {block_size: 64KiB}\n"
        ).replace("run: {operations: 2000, workloads: [{", "run: {workloads: [{operations: 2000, ")
        report = self.ok(self.fleet.run_job(job, "--format", "json")).json()
        check = report["phases"][2]["workloads"][0]["verification"]
        self.assertEqual(check["mismatches"], 0)
        self.assertEqual(check["checked"], 8 * MIB // (64 << 10))

    def test_each_host_verifies_what_the_others_have_written(self):
        blocks = 16 * MIB // (16 << 10)
        for sharing in ("sliced", "interleaved, stripe: 64KiB"):
            job = (
                f"{EXPENDABLE}\nname: ring\nhosts: {{count: 4}}\n"
                f"targets: [{{name: lun, iscsi: {{url: '{self.tgt.url(1)}', size: 16MiB}}, "
                f"sharing: {sharing}}}]\n"
                "phases:\n"
                "  - precondition: {block_size: 16KiB, verify: true}\n"
                "  - run: {workloads: [{block_size: 16KiB, read: 0%, operations: 500, "
                "queue_depth: 4, verify: true}]}\n"
                "  - {name: own, verify: {block_size: 16KiB}}\n"
                "  - {name: ring, verify: {block_size: 16KiB, readers: ring}}\n"
                "  - {name: all, verify: {block_size: 16KiB, readers: all}}\n"
            )
            report = self.ok(self.fleet.run_job(job, "--format", "json")).json()
            phases = {phase["name"]: phase for phase in report["phases"]}
            for name, share in (("own", 1), ("ring", 1), ("all", 4)):
                check = phases[name]["workloads"][0]["verification"]
                self.assertEqual(
                    (check["checked"], check["mismatches"], check["notCheckable"]),
                    (share * blocks, 0, 0),
                    (sharing, name),
                )
            # The block that one host has written is replaced: another host reports it, and its
            # writer.
            with open(self.tgt.image(1), "r+b") as image:
                image.seek(16 << 10)
                stray = image.read(16 << 10)
                image.seek(5 << 20)
                image.write(stray)
            later = (
                f"name: later\nhosts: {{count: 4}}\n"
                f"targets: [{{name: lun, iscsi: {{url: '{self.tgt.url(1)}', size: 16MiB}}, "
                f"sharing: {sharing}}}]\n"
                f"phases: [{{verify: {{block_size: 16KiB, of_run: last}}}}]\n"
            )
            report = self.ok(self.fleet.run_job(later, "--format", "json"), 6).json()
            check = report["phases"][0]["workloads"][0]["verification"]
            self.assertEqual((check["checked"], check["mismatches"]), (blocks, 1))
            (detail,) = check["details"]
            self.assertIn(f"misplaced at offset {5 << 20} of {self.tgt.url(1)}", detail)
            self.assertIn("a block of another offset: generation", detail)

    def test_a_lun_is_verified_by_all_while_one_host_writes_it(self):
        phase = self.run_phase(
            lun_job(
                self.tgt.url(2),
                "block_size: 16KiB, read: 0%, queue_depth: 8, max_iops: 250, verify: true, "
                "hosts: {count: 1}}, {name: readers, block_size: 16KiB, queue_depth: 4, "
                "max_iops: 500, verify: true, verify_staleness: 500ms",
                target=", size: 4MiB",
                extra=", sharing: owned",
                run="duration: 5s",
            )
        )
        check = phase["workloads"][1]["verification"]
        self.assertEqual(check["mismatches"], 0, check)
        rows = self.fleet.sql(
            "SELECT host, checked, not_checkable FROM verification WHERE run_id = last_run() AND "
            "workload = 'readers' AND checked > 0"
        )
        self.assertEqual(len(rows), 4, check)

    def test_what_was_overwritten_without_headers_is_no_mismatch(self):
        job = (
            f"{EXPENDABLE}\nname: over\nhosts: {{count: 2}}\n"
            f"targets: [{{name: lun, iscsi: {{url: '{self.tgt.url(1)}', size: 8MiB}}}}]\n"
            "phases:\n"
            "  - precondition: {block_size: 64KiB, verify: true}\n"
            "  - run: {workloads: [{block_size: 64KiB, read: 0%, operations: 20, "
            "hosts: {count: 1}}]}\n"
            "  - {name: ring, verify: {block_size: 64KiB, readers: ring, sparse: true}}\n"
        )
        # Nothing is wrong, but nothing was verified either.
        report = self.ok(self.fleet.run_job(job, "--format", "json"), 4).json()
        check = report["phases"][2]["workloads"][0]["verification"]
        self.assertEqual((check["checked"], check["mismatches"]), (0, 0))
        self.assertEqual(check["notCheckable"], 8 * MIB // (64 << 10))

    def test_syncs_are_counted_as_such(self):
        phase = self.run_phase(
            lun_job(
                self.tgt.url(2),
                "block_size: 64KiB, read: 0%, queue_depth: 1, fsync: {every_ios: 10}, "
                "operations: 200",
                hosts=1,
                run="ramp: 0s",
            )
        )
        kinds = {o["kind"]: o for o in phase["workloads"][0]["operations"]}
        self.assertEqual(kinds["fsync"]["operations"], 20)
        self.assertEqual(phase["total"]["errors"], 0)

    def test_the_plan_says_what_would_be_written_and_nothing_is(self):
        with open(self.tgt.image(2), "rb") as image:
            before = image.read()
        job = lun_job(self.tgt.url(2), "read: 0%, block_size: 4KiB", head=EXPENDABLE)
        text = self.ok(self.fleet.lockstep("plan", "-", stdin=job)).text
        self.assertIn(self.tgt.url(2), text)
        self.assertIn("naa.6", text)
        with open(self.tgt.image(2), "rb") as image:
            self.assertEqual(image.read(), before)

    def test_another_identity_than_the_job_s_is_refused(self):
        job = lun_job(self.tgt.url(2), "block_size: 4KiB", target=", identity: naa.600")
        done = self.ok(self.fleet.run_job(job), 3)
        self.assertIn("naa.600", done.out + done.err)

    def test_the_window_of_the_target_is_told(self):
        """tgt takes 128 commands of a session at most."""
        phase = self.run_phase(
            lun_job(
                self.tgt.url(2),
                "block_size: 512, queue_depth: 1024, operations: 5000",
                hosts=1,
                run="ramp: 0s",
            )
        )
        notes = " ".join(phase["workloads"][0]["notes"])
        self.assertIn("MaxCmdSN", notes)


@needs_root
class Refusals(unittest.TestCase):
    def test_nothing_is_asked_of_a_portal_that_is_not_allowed(self):
        with Tgt(luns=1) as tgt, Fleet(1) as fleet:
            done = fleet.run_job(lun_job(tgt.url(1), "block_size: 4KiB", hosts=1))
            self.assertEqual(done.status, 3)
            self.assertIn("--allow permits", done.out + done.err)
            self.assertEqual(tgt.initiators(), set())

    def test_a_lun_with_a_file_system_needs_both_consents(self):
        with Tgt(luns=1) as tgt:
            os.system(f"mkfs.ext4 -q -F {tgt.image(1)}")
            with open(tgt.image(1), "rb") as image:
                before = image.read()
            with Fleet(1, allow=[tgt.url(1)]) as fleet:
                job = lun_job(tgt.url(1), "read: 0%, block_size: 4KiB, operations: 500", hosts=1)
                done = fleet.run_job(job)
                self.assertEqual(done.status, 3)
                self.assertIn("type ext4", done.out + done.err)
                expendable = f"expendable: [{identity(1)}]\nname: san\n"
                done = fleet.run_job(job.replace("name: san\n", expendable))
                self.assertEqual(done.status, 3)
                with open(tgt.image(1), "rb") as image:
                    self.assertEqual(image.read(), before)
                fleet.start_worker("node2", ["--allow-expendable", identity(1), "--label", "may=1"])
                fleet.wait_attached(2)
                done = fleet.run_job(
                    job.replace("hosts: {count: 1}", "hosts: {labels: {may: '1'}}").replace(
                        "name: san\n", expendable
                    )
                )
                self.assertEqual(done.status, 0, str(done))

    def test_two_luns_with_one_identity_are_refused(self):
        with Tgt(luns=2) as tgt:
            tgt.set(2, scsi_sn="beaf11", scsi_id="IET     00010001")
            with Fleet(1, allow=[tgt.url(1), tgt.url(2)]) as fleet:
                listed = fleet.lockstep("devices", "--format", "json").json()
                luns = [d for d in listed["hosts"][0]["devices"] if d["path"].startswith("iscsi")]
                same = len({d.get("identity") for d in luns}) == 1
                self.assertTrue(same, luns)
                for d in luns:
                    self.assertIn("claims the same identity", d["inUse"])

    def test_chap_secrets_stand_in_a_private_file_and_nowhere_else(self):
        secret = "Tops3cretPassw0rd"
        tgt = Tgt(luns=1)
        tgt.chap = ("anna", secret)
        with tgt:
            path = os.path.join(tgt.directory, "secrets")
            with open(path, "w", encoding="ascii") as out:
                out.write(f"# of the lab\n{IQN} anna {secret}\n")
            os.chmod(path, 0o644)
            with Fleet(0, allow=[tgt.url(1)]) as fleet:
                worker = fleet.start_worker("node1", ["--iscsi-secrets", path])
                self.assertEqual(worker.wait(30), 1)
                self.assertIn("others may read it", fleet.log("node1"))
                os.chmod(path, 0o600)
                fleet.start_worker("node1", ["--iscsi-secrets", path])
                fleet.wait_attached(1)
                job = lun_job(
                    tgt.url(1), "block_size: 4KiB, operations: 500", hosts=1, run="ramp: 0s"
                )
                done = fleet.run_job(job, "--format", "json")
                self.assertEqual(done.status, 0, str(done))
                said = done.out + done.err + fleet.log("node1") + fleet.log("controller")
                said += fleet.lockstep("devices", "--format", "json").out
                self.assertNotIn(secret, said)
                # Without them it is refused, and the reason is told.
                fleet.start_worker("node2", ["--label", "poor=1"])
                fleet.wait_attached(2)
                job = job.replace("hosts: {count: 1}", "hosts: {labels: {poor: '1'}}")
                done = fleet.run_job(job)
                self.assertEqual(done.status, 3)
                self.assertIn("refuses the login", done.out + done.err)


@needs_root
class Losses(unittest.TestCase):
    def test_a_target_that_dies_and_is_back_costs_a_stall_and_no_i_o(self):
        with Tgt(luns=1) as tgt, Fleet(2, allow=[tgt.url(1)]) as fleet:
            job = lun_job(
                tgt.url(1),
                "block_size: 4KiB, read: 50%, queue_depth: 4, max_iops: 200",
                hosts=2,
                run="duration: 600s",
            )
            process = fleet.start_lockstep("run", "-", "--format", "json", stdin=job)
            fleet.await_seconds(2, "load")
            tgt.kill()
            tgt.start()
            back = (
                "SELECT count(DISTINCT host) FROM events WHERE run_id = last_run() AND message "
                "LIKE '%is back after%'"
            )
            wait_for("both hosts to be back", lambda: fleet.sql(back) == [["2"]])
            fleet.lockstep("stop", "--phase")
            out, err = process.communicate(timeout=300)
            self.assertEqual(process.returncode, 0, out + err)
            events = [
                row[0]
                for row in fleet.sql(
                    "SELECT replace(message, ',', ';') FROM events WHERE run_id = last_run()"
                )
            ]
            self.assertTrue(any("is back after" in e for e in events), events)
            self.assertTrue(any("it is tried again for 30 s" in e for e in events), events)

    def test_a_target_that_stays_away_fails_the_phase_in_words(self):
        with Tgt(luns=1) as tgt, Fleet(1, allow=[tgt.url(1)]) as fleet:
            job = lun_job(
                tgt.url(1),
                "block_size: 4KiB, queue_depth: 4, max_iops: 500",
                hosts=1,
                run="duration: 60s",
                target=", reconnect: 2s",
            )
            process = fleet.start_lockstep("run", "-", stdin=job)
            fleet.await_seconds(1, "load")
            tgt.kill()
            out, err = process.communicate(timeout=300)
            self.assertEqual(process.returncode, 3, out + err)
            self.assertIn(tgt.url(1), out + err)
            wait_for("the worker to be idle", lambda: fleet.workers["node1"].poll() is None)


@needs_root
class Fences(unittest.TestCase):
    """`fence: reservation`: the storage itself keeps a lost worker from writing."""

    def job(self, tgt, run, hosts=2, head="", workload=""):
        return lun_job(
            tgt.url(1),
            f"block_size: 4KiB, read: 0%, queue_depth: 4, threads: 2, max_iops: 200{workload}",
            hosts=hosts,
            run=run,
            extra=", fence: reservation",
            head=f"{EXPENDABLE}\n{head}",
        )

    @staticmethod
    def half(tgt, which):
        """A digest of one of the two workers' slices."""
        with open(tgt.image(1), "rb") as image:
            image.seek(which * 32 * MIB)
            return hashlib.sha256(image.read(32 * MIB)).hexdigest()

    def test_the_storage_refuses_a_paused_workers_late_writes(self):
        with (
            Tgt(luns=1) as tgt,
            Fleet(
                2,
                allow=[tgt.url(1)],
                worker_flags=EXPENDABLE_FLAGS,
                controller_flags=["--lease", "2"],
            ) as fleet,
        ):
            job = self.job(tgt, "duration: 300s", head="on_worker_loss: continue")
            running = fleet.start_lockstep("run", "-", stdin=job)
            fleet.await_seconds(1, "load")
            paused = fleet.workers["node2"].pid
            os.kill(paused, signal.SIGSTOP)
            try:
                events = "SELECT 1 FROM events WHERE run_id = last_run() AND message LIKE "
                wait_for("the fence", lambda: fleet.sql(events + "'%%was fenced off%%'"))
                before = self.half(tgt, 1)
                other = self.half(tgt, 0)
            finally:
                os.kill(paused, signal.SIGCONT)
            # It goes on where it was, has half a minute of its load left, and is told no.
            wait_for("it to be told", lambda: "this worker was fenced off" in fleet.log("node2"))
            wait_for("the other one to go on", lambda: self.half(tgt, 0) != other)
            self.assertEqual(self.half(tgt, 1), before)
            self.assertEqual(fleet.lockstep("stop", "last").status, 0)
            running.communicate(timeout=300)
            self.assertEqual(self.half(tgt, 1), before)
            # The run is over, and with it the reservation: the LUN is anybody's again.
            wait_for(
                "the worker to be idle",
                lambda: fleet.run_job(
                    self.job(tgt, "duration: 200ms", head="interval: 100ms")
                ).status
                == 0,
            )

    def test_others_than_the_run_s_workers_write_nothing_meanwhile(self):
        with (
            Tgt(luns=1) as tgt,
            Fleet(1, allow=[tgt.url(1)], worker_flags=EXPENDABLE_FLAGS) as fleet,
            Fleet(1, allow=[tgt.url(1)], worker_flags=EXPENDABLE_FLAGS) as strangers,
        ):
            # The contents stay the same, so that the strangers' plans hold.
            zeros = self.job(tgt, "duration: 300s", hosts=1, workload=", content: zeros")
            running = fleet.start_lockstep("run", "-", stdin=zeros)
            fleet.await_seconds(1, "load")
            plain = lun_job(
                tgt.url(1),
                "block_size: 4KiB, read: 0%, operations: 500",
                hosts=1,
                run="ramp: 0s",
                head=EXPENDABLE,
            )
            done = strangers.run_job(plain)
            self.assertEqual(done.status, 3, str(done))
            self.assertIn("Invalid exchange", done.text)
            done = strangers.run_job(self.job(tgt, "duration: 1s", hosts=1))
            self.assertEqual(done.status, 3, str(done))
            self.assertIn("of no worker of this run", done.text)
            self.assertEqual(fleet.lockstep("stop", "last").status, 0)
            running.communicate(timeout=300)
            wait_for("it to be free", lambda: strangers.run_job(plain).status == 0)

    def test_a_fenced_load_outlives_lost_sessions(self):
        with (
            Tgt(luns=1) as tgt,
            Fleet(1, allow=[tgt.url(1)], worker_flags=EXPENDABLE_FLAGS) as fleet,
        ):
            running = fleet.start_lockstep(
                "run", "-", stdin=self.job(tgt, "duration: 300s", hosts=1)
            )
            fleet.await_seconds(1, "load")
            tgt.kill()
            tgt.start()  # which keeps no reservations
            out, err = running.communicate(timeout=300)
            self.assertEqual(running.returncode, 3, out + err)
            self.assertIn("its registration is gone", " ".join((out + err).split()))

    def test_a_device_without_reservations_says_so(self):
        directory = call("mktemp", "-d", "/tmp/lsfenceXXXXXX")
        self.addCleanup(os.rmdir, directory)
        with LoopDevice(directory) as device, Fleet(1, allow=[device.path]) as fleet:
            job = (
                "name: fenced\nhosts: {count: 1}\n"
                f"targets: [{{name: disk, device: {{path: {device.path}}}, fence: reservation}}]\n"
                "phases: [{run: {duration: 1s, workloads: [{read: 0%}]}}]\n"
            )
            done = fleet.run_job(job)
            self.assertEqual(done.status, 3, str(done))
            self.assertIn("the device has no persistent reservations", done.text)
            done = fleet.run_job(job.replace(f"device: {{path: {device.path}}}", "null: {}"))
            self.assertEqual(done.status, 2, str(done))
