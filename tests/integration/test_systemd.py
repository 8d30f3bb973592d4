"""The services of the Debian packages, started by a systemd that has booted: what they may do, and
what they may not, in a machine of its own (booted.py).
"""

import os
import re
import shutil
import tempfile
import unittest

import pytest
from bare_root import package, run
from booted import Booted, unified
from fleet import BIN, ROOT, needs_root, wait_for
from loops import LoopDevice, unmount
from test_guard import device_job, digest

SOURCE = f"{ROOT}/tools/packaging/debian"
DROP_INS = "/etc/systemd/system/lockstep-worker.service.d"
FOLDERS = ("/srv/test", "/srv/else", "/opt/x")
# devices.conf has no loop devices, which are of use to tests only.
LOOPS = "[Service]\nDeviceAllow=block-loop rw\n"


def files_job(path):
    return (
        f'name: files\nstore_filesystem: true\ntargets: [{{name: t, file: {{path: "{path}", '
        "size: 4MiB}}]\nphases:\n  - prepare:\n"
        "  - run: {duration: 1s, workloads: [{read: 50%, queue_depth: 4, direct: false}]}\n"
        "  - cleanup:\n"
    )


def settings_job(path, duration):
    return (
        f"name: settings\ntargets: [{{name: t, device: {{path: {path}}}}}]\nphases:\n"
        f"  - {{name: load, run: {{duration: {duration}, environment: {{scheduler: kyber, "
        "nr_requests: 32}, workloads: [{block_size: 4KiB, max_iops: 100}]}}\n"
    )


class Units(unittest.TestCase):
    def test_systemd_finds_nothing_wrong_with_the_services(self):
        for drop_ins in ((), ("devices",), ("devices", "settings")):
            with tempfile.TemporaryDirectory() as folder:
                for service in ("lockstep-controller", "lockstep-worker"):
                    with open(f"{SOURCE}/{service}.service", encoding="utf-8") as text:
                        unit = text.read().replace("/usr/bin/", f"{os.path.realpath(BIN)}/")
                    unit = re.sub(r"^Documentation=.*\n", "", unit, flags=re.M)
                    with open(f"{folder}/{service}.service", "w", encoding="utf-8") as text:
                        text.write(unit)
                os.mkdir(f"{folder}/lockstep-worker.service.d")
                for name in drop_ins:
                    shutil.copy(f"{SOURCE}/{name}.conf", f"{folder}/lockstep-worker.service.d")
                for service in ("lockstep-controller", "lockstep-worker"):
                    words = ["verify", "--man=no", "--recursive-errors=no"]
                    run("systemd-analyze", *words, f"{folder}/{service}.service")


@needs_root
@pytest.mark.long
class Booting(unittest.TestCase):
    """One machine for all tests; each starts its worker's service anew."""

    @classmethod
    def setUpClass(cls):
        if unified() is None:
            raise unittest.SkipTest("this kernel has no cgroup2 mounted")
        # The services have a /tmp of their own.
        cls.directory = tempfile.mkdtemp(prefix="lssystemd", dir="/var/lib")
        os.chmod(cls.directory, 0o755)
        cls.addClassCleanup(shutil.rmtree, cls.directory, ignore_errors=True)
        package(f"{cls.directory}/dist", "debian")
        cls.allowed, cls.other, cls.mounted = map(cls.make_device, ("allowed", "other", "mounted"))
        nodes = [device.path for device in (cls.allowed, cls.other, cls.mounted)]
        cls.machine = Booted(cls.directory, f"{cls.directory}/dist", nodes)
        cls.addClassCleanup(cls.machine.__exit__, None, None, None)
        cls.machine.__enter__()
        cls.machine.write(
            "/etc/default/lockstep-controller",
            'LOCKSTEP_CONTROLLER_OPTIONS="--allow-store-filesystem"\n',
        )
        for service in ("lockstep-controller", "lockstep-worker"):
            enabled = cls.machine.call("systemctl", "is-enabled", service).stdout
            assert enabled == "disabled\n", f"{service}: {enabled}"
        cls.machine.run("systemctl", "start", "lockstep-controller")
        cls.machine.run("install", "-d", "-o", "lockstep-worker", *FOLDERS)

    @classmethod
    def make_device(cls, name):
        os.mkdir(f"{cls.directory}/{name}")
        device = LoopDevice(f"{cls.directory}/{name}")
        device.__enter__()
        cls.addClassCleanup(device.__exit__)
        return device

    def start(self, *allow, drop_ins=(), flags=""):
        """The worker's service with these options. Returns when it is attached."""
        machine = self.machine
        machine.run("systemctl", "stop", "lockstep-worker")
        machine.run("rm", "-rf", DROP_INS)
        for name in drop_ins:
            self.add(name)
        self.addCleanup(machine.call, "systemctl", "stop", "lockstep-worker")
        options = " ".join([*(f"--allow {each}" for each in allow), flags])
        machine.write("/etc/default/lockstep-worker", f'LOCKSTEP_WORKER_OPTIONS="{options}"\n')
        machine.run("systemctl", "daemon-reload")
        machine.run("systemctl", "start", "lockstep-worker")
        self.await_worker()

    def add(self, name):
        if name == "loops":
            self.machine.write(f"{DROP_INS}/loops.conf", LOOPS)
            return
        examples = "/usr/share/doc/lockstep-worker/examples"
        self.machine.run("mkdir", "-p", DROP_INS)
        self.machine.run("cp", f"{examples}/{name}.conf", DROP_INS)

    def await_worker(self):
        def attached():
            state = self.machine.call("systemctl", "is-failed", "lockstep-worker").stdout
            self.assertNotEqual(state.strip(), "failed", self.journal())
            return "1 worker attached" in self.machine.call("lockstep", "status").stdout

        wait_for("the service's worker to attach", attached)

    def journal(self):
        return self.machine.call("journalctl", "--no-pager", "--lines=60").stdout

    def run_job(self, job, status=0):
        done = self.machine.call("lockstep", "run", "-", input=job)
        said = done.stdout + done.stderr
        self.assertEqual(done.returncode, status, said + self.journal())
        return " ".join(said.split())

    def rate(self, most):
        self.machine.run("systemd-analyze", "security", f"--threshold={most}", "lockstep-worker")

    def test_files_below_what_the_service_may_write(self):
        self.start("/srv/test")
        user = self.machine.run("ps", "-o", "user:32=", "-C", "lockstep-worker").strip()
        self.assertEqual(user, "lockstep-worker")
        pid = self.machine.run("systemctl", "show", "-P", "MainPID", "lockstep-controller").strip()
        owner = self.machine.run("stat", "--format=%U", f"/proc/{pid}").strip()
        self.assertNotIn(owner, ("root", "lockstep-worker"))
        self.rate(25)
        self.machine.run("systemd-analyze", "security", "--threshold=25", "lockstep-controller")
        said = self.run_job(files_job("/srv/test/file"))
        self.assertNotIn("has no io_uring", said)
        self.assertEqual(self.machine.run("ls", "/srv/test"), "")

    def test_what_allow_does_not_name_is_refused(self):
        self.start("/srv/test")
        self.assertIn("/srv/else/file", self.run_job(files_job("/srv/else/file"), 3))
        self.assertEqual(self.machine.run("ls", "/srv/else"), "")

    def test_what_the_service_may_not_write_is_read_only(self):
        self.start("/opt/x")
        self.assertIn("Read-only file system", self.run_job(files_job("/opt/x/file"), 3))
        self.machine.write(f"{DROP_INS}/more.conf", "[Service]\nReadWritePaths=/opt/x\n")
        self.machine.run("systemctl", "daemon-reload")
        self.machine.run("systemctl", "restart", "lockstep-worker")
        self.await_worker()
        self.run_job(files_job("/opt/x/file"))

    def test_a_device_needs_the_drop_in(self):
        device = self.allowed.path
        self.start(device)
        before = digest(self.allowed.file)
        self.run_job(device_job(device), 3)
        self.assertEqual(digest(self.allowed.file), before)
        self.start(device, drop_ins=["devices", "loops"])
        self.rate(35)
        self.run_job(device_job(device, read=50))

    def test_a_kind_of_device_that_the_service_lacks(self):
        self.start(self.allowed.path, drop_ins=["devices"])
        said = self.run_job(device_job(self.allowed.path), 3)
        self.assertIn("Operation not permitted", said)

    def test_a_device_outside_allow_is_refused(self):
        self.start(self.allowed.path, drop_ins=["devices", "loops"])
        before = digest(self.other.file)
        said = self.run_job(device_job(self.other.path), 3)
        self.assertIn("--allow", said)
        self.assertEqual(digest(self.other.file), before)

    def test_a_mounted_device_is_refused(self):
        device = self.mounted
        run("mkfs.ext4", "-q", device.path)
        expendable = f"--allow-expendable {device.identity}"
        here = f"{self.directory}/mount"
        os.mkdir(here)
        for mount, end in (
            (self.machine.run, lambda path: self.machine.run("umount", path)),
            (run, unmount),  # in this machine's namespace, whose mounts the service does not see
        ):
            self.start(device.path, drop_ins=["devices", "loops"], flags=expendable)
            where = "/mnt" if mount == self.machine.run else here
            mount("mount", "-o", "ro", device.path, where)
            try:
                before = digest(device.file)
                said = self.run_job(device_job(device.path, expendable=device.identity), 3)
                self.assertRegex(said, "in use|mounted|busy")
                self.assertEqual(digest(device.file), before)
            finally:
                end(where)

    def test_settings_are_restored_after_a_kill(self):
        device = self.allowed.path
        queue = f"/sys/block/{os.path.basename(device)}/queue"

        def settings():
            return self.machine.run("cat", f"{queue}/scheduler", f"{queue}/nr_requests")

        before = settings()
        flags = f"--allow-settings {device}"
        self.start(device, drop_ins=["devices", "loops", "settings"], flags=flags)
        self.rate(35)
        pid = self.machine.run("systemctl", "show", "-P", "MainPID", "lockstep-worker").strip()
        status = self.machine.run("cat", f"/proc/{pid}/status")
        self.assertRegex(status, r"(?m)^Uid:\s+0\s")
        bound = int(re.search(r"(?m)^CapBnd:\s+(\w+)$", status).group(1), 16)
        self.assertEqual(bound.bit_count(), 3, status)
        self.run_job(settings_job(device, "1s"))
        self.assertEqual(settings(), before)
        submit = ["sh", "-c", 'echo "$1" | lockstep submit -', "-", settings_job(device, "60s")]
        self.machine.run(*submit)
        wait_for("the settings to be changed", lambda: "[kyber]" in settings())
        self.machine.run("systemctl", "kill", "--signal=KILL", "lockstep-worker")
        # Restart= brings the worker back, which restores them from its journal.
        wait_for("the settings to be back", lambda: settings() == before)

    def test_without_the_drop_in_settings_are_refused(self):
        device = self.allowed.path
        flags = f"--allow-settings {device}"
        self.start(device, drop_ins=["devices", "loops"], flags=flags)
        self.run_job(settings_job(device, "1s"), 3)


if __name__ == "__main__":
    unittest.main()
