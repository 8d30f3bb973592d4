"""The regions of a workload: not a byte outside them or between their steps changes."""

import os

from fleet import FleetTest

KIB = 1 << 10
MIB = 1 << 20
BLOCK = 4 * KIB


def job(workload, path, verify=""):
    return (
        "name: regions\nhosts: {count: 1}\n"
        f'targets: [{{name: t, file: {{path: "{path}", size: 8MiB}}}}]\n'
        "phases:\n  - prepare: {content: zeros, rewrite: true}\n"
        f"  - name: load\n    run: {{workloads: [{{read: 0%, {workload}}}]}}\n{verify}"
    )


class Regions(FleetTest):
    workers = 1

    def written_by(self, workload, verify=""):
        """The offsets of the blocks that a workload has changed in a file of zeros."""
        path = f"{self.fleet.data}/{{host}}/t"
        done = self.ok(self.fleet.run_job(job(workload, path, verify), "--format", "json"))
        (phase,) = (one for one in done.json()["phases"] if one["name"] == "load")
        self.assertEqual(phase["total"]["errors"], 0)
        with open(os.path.join(self.fleet.data, "node1", "t"), "rb") as file:
            content = file.read()
        self.assertEqual(len(content), 8 * MIB)
        zeros = bytes(BLOCK)
        changed = [at for at in range(0, 8 * MIB, BLOCK) if content[at : at + BLOCK] != zeros]
        return changed, phase["total"]["operations"]

    def test_a_region_is_written_and_nothing_else(self):
        region = "region: {offset: 1MiB, size: 2MiB}, passes: 1"
        for pattern in ("sequential", "shuffled", "{sequential: {backwards: true}}"):
            with self.subTest(pattern=pattern):
                found = self.written_by(f"{region}, pattern: {pattern}, queue_depth: 4")
                self.assertEqual(found, (list(range(MIB, 3 * MIB, BLOCK)), 512))

    def test_each_thread_has_its_own_region(self):
        changed, operations = self.written_by(
            "region: {offset_share: 25%, size: 256KiB, increment: 1MiB}, threads: 3, passes: 1,"
            " pattern: shuffled"
        )
        wanted = [
            at for t in range(3) for at in range((2 + t) * MIB, (2 + t) * MIB + MIB // 4, BLOCK)
        ]
        self.assertEqual((changed, operations), (wanted, 192))

    def test_a_skip_leaves_bytes_out(self):
        for direction in ("", ", backwards: true"):
            with self.subTest(direction=direction):
                found = self.written_by(
                    f"pattern: {{sequential: {{skip: 12KiB{direction}}}}}, passes: 1, threads: 2"
                )
                self.assertEqual(found, (list(range(0, 8 * MIB, 16 * KIB)), 512))

    def test_an_exact_mix_keeps_to_steps_and_an_exact_start(self):
        changed, operations = self.written_by(
            "pattern: {sequential: {skip: 12KiB}}, passes: 1, threads: 2, mix: exact"
        )
        self.assertEqual((changed, operations), (list(range(0, 8 * MIB, 16 * KIB)), 512))
        changed, operations = self.written_by(
            "region: {offset: 512, size: 64KiB}, pattern: sequential, passes: 1, mix: exact"
        )
        self.assertEqual((changed, operations), (list(range(0, 68 * KIB, BLOCK)), 16))

    def test_what_a_region_and_its_steps_wrote_is_verified(self):
        self.written_by(
            "region: {offset: 1MiB, size: 4MiB}, pattern: {sequential: {skip: 4KiB}},"
            " operations: 2000, queue_depth: 8, verify: true",
            "  - verify: {sparse: true}\n",
        )
        self.written_by(
            "sequence: {length: 8, order: identical}, operations: 2000, queue_depth: 8,"
            " verify: true",
            "  - verify: {sparse: true}\n",
        )

    def test_a_region_outside_the_file_is_refused(self):
        path = f"{self.fleet.data}/{{host}}/t"
        for region in (
            "{offset: 8MiB}",
            "{offset: 7MiB, size: 2MiB}",
            "{offset: 1000PiB, increment: 1000PiB}",
            "{offset_share: 100%}",
        ):
            with self.subTest(region=region):
                text = job(f"region: {region}, passes: 1, threads: 64", path)
                done = self.fleet.lockstep("plan", "-", stdin=text)
                self.assertNotEqual(done.status, 0)
                self.assertIn("region", done.err)
