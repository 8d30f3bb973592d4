"""Paths that no worker follows, and files that Lockstep did not make."""

import os

from device_jobs import digest
from fleet import FleetTest, files_job


class PathGuard(FleetTest):
    workers = 1

    def refuse(self, path, message):
        job = files_job("X", hosts=1).replace("X/{host}/file", path)
        done = self.ok(self.fleet.run_job(job), 3)
        self.assertIn(message, done.text)

    def test_dots_lead_nowhere(self):
        self.refuse(self.fleet.data + "/../secret", "a path with '..' is refused")

    def test_a_path_outside(self):
        self.refuse("/var/tmp/lockstep-test", "outside of what this worker's --allow permits")
        self.assertFalse(os.path.exists("/var/tmp/lockstep-test"))

    def test_a_link_to_outside(self):
        outside = os.path.join(self.fleet.directory, "outside")
        os.mkdir(outside)
        os.symlink(outside, os.path.join(self.fleet.data, "link"))
        self.addCleanup(lambda: os.unlink(os.path.join(self.fleet.data, "link")))
        self.refuse(self.fleet.data + "/link/file", "a link leads out of")
        self.assertEqual(os.listdir(outside), [])

    def test_a_file_that_lockstep_did_not_make(self):
        path = os.path.join(self.fleet.data, "precious")
        with open(path, "wb") as out:
            out.write(b"do not lose me" * 1000)
        self.addCleanup(lambda: os.unlink(path))
        before = digest(path)
        self.refuse(path, "was not made by Lockstep")
        write = f"""name: overwrite
targets: [{{name: f, file: {{path: "{path}", size: 4KiB}}}}]
phases: [{{run: {{duration: 1s, workloads: [{{read: 0%}}]}}}}]
"""
        self.assertIn("was not made by Lockstep", self.ok(self.fleet.run_job(write), 3).text)
        self.assertEqual(digest(path), before)
        # The job alone cannot declare it expendable.
        self.assertIn(
            "and the worker's --allow-expendable name it",
            self.ok(
                self.fleet.run_job(
                    write.replace("name: overwrite", f'name: overwrite\nexpendable: ["{path}"]')
                ),
                3,
            ).text,
        )
        self.assertEqual(digest(path), before)
        # Reading harms nobody.
        self.ok(self.fleet.run_job(write.replace("read: 0%", "read: 100%")))
        self.assertEqual(digest(path), before)

    def test_a_file_that_took_a_made_ones_place_is_not_ours(self):
        path = os.path.join(self.fleet.data, "replaced")
        keep = files_job("X", hosts=1, duration="1s", tail="").replace("X/{host}/file", path)
        self.ok(self.fleet.run_job(keep))
        os.unlink(path)
        with open(path, "wb") as out:
            out.write(b"mine" * (2 << 20))
        before = digest(path)
        self.refuse(path, "was not made by Lockstep")
        self.assertEqual(digest(path), before)
        os.unlink(path)
        os.unlink(path + ".lockstep")

    def test_an_expendable_file_is_overwritten_and_never_removed(self):
        path = os.path.join(self.fleet.data, "old-database")
        with open(path, "wb") as out:
            out.write(b"x" * (8 << 20))
        self.fleet.start_worker("spare", flags=["--allow-expendable", path])
        self.fleet.wait_attached(2)
        try:
            job = (
                files_job("X", hosts=1, duration="1s", extra=f'expendable: ["{path}"]')
                .replace("X/{host}/file", path)
                .replace("{count: 1}", "{names: spare}")
            )
            before = digest(path)
            self.ok(self.fleet.run_job(job))
            self.assertNotEqual(digest(path), before)
            self.assertFalse(os.path.exists(path + ".lockstep"))
        finally:
            worker = self.fleet.workers.pop("spare")
            worker.terminate()
            worker.wait(20)
            os.unlink(path)

    def test_a_device_given_as_a_file(self):
        self.refuse("/dev/null", "outside of what this worker's --allow permits")
