"""tools/package: the programs run where nothing of Lockstep, and nothing else, is installed."""

import contextlib
import glob
import hashlib
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import unittest

import pytest
import spdx_schema
from bare_root import ENVIRONMENT, make_busybox_root, package, run, run_demo, unpack
from fleet import BIN, ROOT, Fleet, needs_root
from veth import Line

PROGRAMS = ("lockstep", "lockstep-controller", "lockstep-worker")
JOB = """name: portable
store_filesystem: true
targets: [{name: data, file: {path: "/data/{host}", size: 16MiB}}]
phases:
  - prepare:
  - name: mix
    run:
      duration: 2s
      workloads: [{read: 70%, queue_depth: 4, direct: false}]
      expect: {errors: 0}
  - cleanup:
"""


def scratch(test, prefix="lspackage"):
    """A directory that other users may enter, as those may who unpack an archive into /opt."""
    path = tempfile.mkdtemp(prefix=prefix, dir="/tmp")
    os.chmod(path, 0o755)
    test.addCleanup(shutil.rmtree, path, ignore_errors=True)
    return path


@needs_root
class PortableWorker(unittest.TestCase):
    def setUp(self):
        directory = scratch(self)
        self.root = f"{directory}/root"
        os.mkdir(self.root)
        package(f"{directory}/dist", "archive", "--only", "lockstep-worker")
        self.home = unpack(f"{directory}/dist", self.root)
        self.program = f"{self.home}/bin/lockstep-worker"

    def test_the_version_in_an_empty_root(self):
        own = run(f"{BIN}/lockstep-worker", "--version")
        self.assertEqual(run("chroot", self.root, self.program, "--version"), own)
        # By a link from elsewhere, and with what a caller's environment would load.
        os.symlink(f"..{self.program}", f"{self.root}/worker")
        hostile = {
            **ENVIRONMENT,
            "LD_PRELOAD": "/none.so",
            "LD_LIBRARY_PATH": "/none",
            "GCONV_PATH": "/none",
        }
        self.assertEqual(run("chroot", self.root, "/worker", "--version", env=hostile), own)
        self.assertEqual(sorted(os.listdir(self.root)), [self.home[1:], "worker"])

    def test_a_job_over_the_network_in_an_empty_root(self):
        os.mkdir(f"{self.root}/data")
        with contextlib.ExitStack() as stack:
            line = stack.enter_context(Line())
            fleet = Fleet(0, controller_flags=["--insecure-plaintext"])
            fleet.listen = "0.0.0.0:0"
            stack.enter_context(fleet)
            port = fleet.address.rsplit(":", 1)[1]
            fleet.address = f"127.0.0.1:{port}"
            # The kernel's own view of itself. The mount is the process's own, and ends with it.
            enter = 'mkdir "$0/proc" && mount -t proc proc "$0/proc" && exec chroot "$0" "$@"'
            words = [self.program, "--controller", f"{line.gateway}:{port}", "--name", "node1"]
            flags = ["--insecure-plaintext", "--allow", "/data", "--state-dir", "/state"]
            fleet.workers["node1"] = fleet.spawn(
                "node1",
                [
                    *["ip", "netns", "exec", line.name, "unshare", "--mount", "sh", "-c", enter],
                    *[self.root, *words, *flags],
                ],
            )
            fleet.wait_attached(1)
            report = fleet.run_job(JOB)
            self.assertEqual(report.status, 0, report)
            self.assertIn("1 of 1 met", report.out)
        self.assertEqual(os.listdir(f"{self.root}/data"), [])


class Versions(unittest.TestCase):
    def test_the_version_for_programs(self):
        for program in PROGRAMS:
            facts = json.loads(run(f"{BIN}/{program}", "--version", "--json"))
            names = ["commit", "features", "lowest_protocol", "protocol", "schema", "version"]
            self.assertEqual(sorted(facts), names)
            self.assertGreaterEqual(facts["protocol"], facts["lowest_protocol"])
            self.assertEqual(facts["features"], ["stamps"])
            text = run(f"{BIN}/{program}", "--version").strip()
            self.assertEqual(text, f"{facts['version']} (commit {facts['commit']})")


class Units(unittest.TestCase):
    """The exposure of the services, as systemd-analyze rates it: 10 is all of the machine."""

    def rate(self, service, most, *drop_ins):
        folder = scratch(self)
        source = f"{ROOT}/tools/packaging/debian"
        shutil.copy(f"{source}/{service}.service", folder)
        os.mkdir(f"{folder}/{service}.service.d")
        for name in drop_ins:
            shutil.copy(f"{source}/{name}.conf", f"{folder}/{service}.service.d")
        unit = f"{folder}/{service}.service"
        run("systemd-analyze", "security", "--offline=true", f"--threshold={most}", unit)

    def test_exposure_of_the_services(self):
        self.rate("lockstep-controller", 25)
        self.rate("lockstep-worker", 25)
        self.rate("lockstep-worker", 35, "devices", "settings")


# A module of the machine's that says when it was loaded.
TRAP = r"""
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void loaded(void) {
  close(open("/loaded", O_CREAT | O_WRONLY, 0600));
}
"""


@needs_root
@pytest.mark.long
class PortableArchives(unittest.TestCase):
    """All three, made once."""

    @classmethod
    def setUpClass(cls):
        cls.dist = tempfile.mkdtemp(prefix="lspackage", dir="/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.dist, ignore_errors=True)
        cls.said = package(cls.dist)

    def test_a_second_packaging_has_the_same_hashes(self):
        """From another directory, later, and by somebody with other habits."""
        other = scratch(self)
        shutil.copytree(f"{ROOT}/tools", f"{other}/elsewhere/tools")
        with tarfile.open(glob.glob(f"{self.dist}/*.tar.gz")[0]) as archive:
            epoch = archive.next().mtime
        habits = {"TZ": "Asia/Tokyo", "LC_ALL": "C", "HOME": "/none", "TMPDIR": other}
        environment = {**os.environ, **habits, "LOCKSTEP_BIN": BIN, "SOURCE_DATE_EPOCH": str(epoch)}
        words = [f"{other}/elsewhere/tools/package", "--to", f"{other}/dist"]
        masked = ["sh", "-c", 'umask 077 && exec "$0" "$@"', *words]
        self.assertEqual(run(*masked, env=environment, cwd="/"), self.said)
        self.assertEqual(len(self.said.splitlines()), 2 * len(PROGRAMS))

    def test_the_list_names_each_file_with_its_checksum(self):
        for program in PROGRAMS:
            directory = scratch(self)
            run("tar", "-xzf", *glob.glob(f"{self.dist}/{program}-[0-9]*.gz"), "-C", directory)
            (home,) = glob.glob(f"{directory}/*")
            listed = f"share/doc/lockstep/{program}.spdx.json"
            with open(f"{home}/{listed}", encoding="utf-8") as text:
                document = json.load(text)
            spdx_schema.check(document)
            sums = {
                entry["fileName"][2:]: entry["checksums"][1]["checksumValue"]
                for entry in document["files"]
            }
            there = {
                os.path.relpath(os.path.join(folder, name), home)
                for folder, _, names in os.walk(home)
                for name in names
                if not os.path.islink(os.path.join(folder, name))
            }
            notices = {name for name in there if name.startswith("share/doc/lockstep/copyright/")}
            self.assertEqual(there - {listed}, set(sums))
            for name, wanted in sums.items():
                with open(f"{home}/{name}", "rb") as content:
                    self.assertEqual(hashlib.sha256(content.read()).hexdigest(), wanted, name)
            names = {entry["name"] for entry in document["packages"]}
            self.assertTrue({"libc6", program} <= names, names)
            self.assertEqual(len(notices), len(names) - 1, "of each package but our own")

    def make_trap(self, root, path):
        os.makedirs(os.path.dirname(root + path), exist_ok=True)
        run("gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", root + path, input=TRAP)

    def assert_is_kept_out(self, root, home, *flags, **settings):
        """The trap is loaded by the command line itself, and not where the archive starts it."""

        def is_loaded(*starts):
            words = ["chroot", root, *starts, "--controller", "somewhere.invalid:1", *flags]
            environment = {**ENVIRONMENT, **settings}
            subprocess.run([*words, "status"], capture_output=True, check=False, env=environment)
            return os.path.exists(f"{root}/loaded")

        self.assertFalse(is_loaded(f"{home}/bin/lockstep"))
        loader = [f"{home}/lib/ld-linux-x86-64.so.2", "--library-path", f"{home}/lib"]
        self.assertTrue(is_loaded(*loader, f"{home}/lib/programs/lockstep"))

    def test_no_module_of_the_name_service_is_loaded(self):
        root = scratch(self)
        home = unpack(self.dist, root)
        self.make_trap(root, "/lib/x86_64-linux-gnu/libnss_trap.so.2")
        os.mkdir(f"{root}/etc")
        with open(f"{root}/etc/nsswitch.conf", "w", encoding="ascii") as text:
            text.write("passwd: trap files\nhosts: trap files\n")
        self.assert_is_kept_out(root, home)

    def test_no_provider_of_openssl_is_loaded(self):
        root = scratch(self)
        home = unpack(self.dist, root)
        self.make_trap(root, "/trap.so")
        with open(f"{root}/openssl.cnf", "w", encoding="ascii") as text:
            text.write(
                "openssl_conf = all\n[all]\nproviders = each\n[each]\ntrap = trap\n"
                "[trap]\nmodule = /trap.so\nactivate = 1\n"
            )
        certificate = ["-keyout", f"{root}/key.pem", "-out", f"{root}/cert.pem", "-subj", "/CN=x"]
        kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        run("openssl", "req", "-x509", *kind, *certificate)
        flags = ["--tls-cert", "/cert.pem", "--tls-key", "/key.pem", "--tls-ca", "/cert.pem"]
        self.assert_is_kept_out(root, home, *flags, OPENSSL_CONF="/openssl.cnf")

    def test_a_demo_in_a_root_of_another_layout(self):
        root = scratch(self)
        make_busybox_root(root)
        done = run_demo(self.dist, root, "--workers", "2")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("Lockstep: demo   PASSED", done.stdout)
        self.assertEqual(os.listdir(f"{root}/tmp"), [])


# Installs, upgrades and purges in a copy of this machine's root that ends with the process: what is
# written goes into memory. Prints what is left of it.
IN_A_COPY = r"""set -e
work=$0
first=$1
second=$2
mount -t tmpfs none "$work"
mkdir "$work/upper" "$work/inner" "$work/root"
mount -t overlay -o "lowerdir=/,upperdir=$work/upper,workdir=$work/inner" none "$work/root"
mount -t proc proc "$work/root/proc"
mkdir "$work/root/first" "$work/root/second"
cp "$first"/*.deb "$work/root/first"
cp "$second"/*.deb "$work/root/second"
cat > "$work/root/steps" << 'STEPS'
set -ex
# Elsewhere, other programs of this machine write at the same time.
list_files() { find /etc /lib /usr /var/lib -xdev -name '*lockstep*' | sort; }
list_files > /before
dpkg -i /first/*.deb
for program in lockstep lockstep-controller lockstep-worker; do
  $program --version
  test -s "$(man -w "$program")"
done
for command in doctor pki 'pki revoke' fleet 'fleet up' support-bundle; do
  zcat "$(man -w lockstep)" | sed 's/\\-/-/g' | grep -qx "\.SS $command"
done
id lockstep
id lockstep-worker
systemd-analyze verify lockstep-controller.service lockstep-worker.service
bash -c '. /usr/share/bash-completion/completions/lockstep && complete -p lockstep'
test -d /etc/lockstep
echo '# by a person' >> /etc/default/lockstep-worker
dpkg -i /second/*.deb
grep -q '^# by a person$' /etc/default/lockstep-worker
dpkg-query -W -f '${Package} ${Version}
' lockstep lockstep-controller lockstep-worker
mkdir -p /var/lib/lockstep-worker /var/lib/lockstep
touch /var/lib/lockstep/lockstep-results
dpkg --purge lockstep lockstep-controller lockstep-worker
list_files > /after
comm -13 /before /after > /left
STEPS
chroot "$work/root" sh /steps >&2
cat "$work/root/left"
"""


@needs_root
@pytest.mark.long
class DebianPackages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dist = tempfile.mkdtemp(prefix="lspackage", dir="/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.dist, ignore_errors=True)
        package(f"{cls.dist}/1", "debian")
        package(f"{cls.dist}/2", "debian", "--revision", "2")

    def test_lintian_finds_nothing(self):
        for path in glob.glob(f"{self.dist}/1/*.deb"):
            found = run("lintian", "--allow-root", "--fail-on", "error,warning", path)
            self.assertEqual(found, "", path)

    def test_install_upgrade_and_purge(self):
        work = scratch(self)
        words = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", IN_A_COPY]
        left = run(*words, work, f"{self.dist}/1", f"{self.dist}/2")
        # The results, which only a person removes. This machine may have had the directory before.
        results = ["/var/lib/lockstep", "/var/lib/lockstep/lockstep-results"]
        self.assertEqual(left.split()[-1:], results[-1:])
        self.assertTrue(set(left.split()) <= set(results), left)


if __name__ == "__main__":
    unittest.main()
