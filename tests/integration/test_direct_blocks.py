"""Direct I/O on a device of 4 KiB logical blocks: refused in words before anything has happened,
instead of by the kernel's EINVAL in the middle of a run."""

import os
import tempfile
import unittest

from device_jobs import call, device_job, digest
from fleet import Fleet, needs_root
from loops import MIB, attach, detach, unmount

JOB = """name: small-blocks
targets: [{{name: f, file: {{path: {path}, size: 4MiB}}}}]
phases:
  - prepare: {{}}
  - name: load
    run:
      duration: 200ms
      workloads: [{{name: w, block_size: {block}, read: 100%, direct: {direct}}}]
  - cleanup: {{}}
"""


@needs_root
class DirectBlocks(unittest.TestCase):
    def setUp(self):
        stack = self.enterContext(tempfile.TemporaryDirectory(prefix="ls4kn"))
        self.mount = os.path.join(stack, "mount")
        os.mkdir(self.mount)
        self.file = os.path.join(stack, "disk.img")
        with open(self.file, "wb") as out:
            out.truncate(64 * MIB)
        self.device = attach(self.file, "--sector-size", "4096")
        self.addCleanup(detach, self.device)

    def test_a_device(self):
        before = digest(self.file)
        with Fleet(1, allow=[self.device]) as fleet:
            job = device_job(self.device)
            small = fleet.run_job(job.replace("block_size: 64KiB", "block_size: 512"))
            self.assertEqual(small.status, 3, str(small))
            self.assertIn(
                "block_size 512 B is no multiple of the logical block of its device "
                f"({os.path.basename(self.device)}), 4 KiB, which direct I/O requires",
                small.text,
            )
            self.assertEqual(digest(self.file), before)

    def mount_ext4(self, *options):
        call("mkfs.ext4", "-q", self.device)
        call("mount", *options, self.device, self.mount)
        self.addCleanup(unmount, self.mount)
        return os.path.join(self.mount, "f")

    def test_a_file_on_it(self):
        path = self.mount_ext4()
        with Fleet(1, allow=[self.mount]) as fleet:

            def run(block, direct):
                return fleet.run_job(JOB.format(path=path, block=block, direct=direct))

            small = run("512", "true")
            self.assertEqual(small.status, 3, str(small))
            self.assertIn("block_size 512 B is no multiple of the logical block", small.text)
            self.assertFalse(os.path.exists(path))
            # What the message proposes works.
            for block, direct in (("512", "false"), ("4KiB", "true")):
                done = run(block, direct)
                self.assertEqual(done.status, 0, str(done))

    def test_a_file_whose_data_ext4_journals(self):
        """Direct I/O passes through the page cache there."""
        path = self.mount_ext4("-o", "data=journal")
        job = JOB.format(path=path, block="512", direct="true")
        with Fleet(1, allow=[self.mount]) as fleet:
            # First the file is not there, then it is.
            for text in (job.replace("  - cleanup: {}\n", ""), job):
                done = fleet.run_job(text)
                self.assertEqual(done.status, 0, str(done))


if __name__ == "__main__":
    unittest.main()
