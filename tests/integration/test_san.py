"""LUNs of a real target (tgt), reached without a kernel initiator."""

import os
import sys
import unittest

from fleet import ROOT, Fleet, needs_root
from san import EXPENDABLE, EXPENDABLE_FLAGS, IQN, Tgt, identity, lun_job

sys.path.insert(0, os.path.join(ROOT, "tests", "benchmarks"))
from hosts import Hosts

MIB = 1 << 20


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
