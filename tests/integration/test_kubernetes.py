"""examples/kubernetes: the manifests fit the schemas of Kubernetes, and a worker runs under the
profile and the capabilities that they give it. No cluster is here: see docs/guide/schedulers.md.
"""

import glob
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import pytest
import yaml
from bare_root import package, run
from fleet import BIN, ROOT, Fleet, files_job, needs_root
from loops import LoopDevice

FOLDER = f"{ROOT}/examples/kubernetes"
MANIFESTS = ("daemonset", "job")
CACHE = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
VALIDATE = f"{CACHE}/lockstep/schemas-1/bin/kubernetes-validate"
# The first has the pod's seccompProfile, ephemeral volumes and indexed Jobs as they are today.
VERSIONS = [f"1.{minor}" for minor in range(25, 38)]
RING = {"io_uring_setup", "io_uring_enter", "io_uring_register"}


def read(name):
    with open(f"{FOLDER}/{name}", encoding="utf-8") as text:
        return text.read()


def profile():
    return json.loads(read("seccomp.json"))


def without_ring():
    """As the runtimes' default profiles are: what is listed but io_uring."""
    found = profile()
    for rule in found["syscalls"]:
        rule["names"] = [name for name in rule["names"] if name not in RING]
    return found


def pod_of(name):
    return yaml.safe_load(read(f"{name}.yaml"))["spec"]["template"]["spec"]


def container_of(name):
    (container,) = pod_of(name)["containers"]
    return container


def capabilities_of(name):
    security = container_of(name)["securityContext"]
    assert security["capabilities"]["drop"] == ["ALL"]
    assert security["runAsUser"] == 0 and security["allowPrivilegeEscalation"] is False
    return security["capabilities"]["add"]


class Manifests(unittest.TestCase):
    def validate(self, path, version):
        return subprocess.run(
            [VALIDATE, "--strict", "--kubernetes-version", version, path],
            capture_output=True,
            text=True,
            check=False,
        )

    def test_they_fit_the_strict_schemas(self):
        for name in MANIFESTS:
            for version in VERSIONS:
                done = self.validate(f"{FOLDER}/{name}.yaml", version)
                self.assertEqual(done.returncode, 0, f"{name}, {version}: {done.stdout}")

    def test_the_schemas_refuse_what_does_not_fit(self):
        with tempfile.TemporaryDirectory() as folder:
            for word, wrong in (
                ("volumeDevices", "volumeDevice"),
                ("backoffLimit: 0", "backoffLimit: none"),
            ):
                with open(f"{folder}/job.yaml", "w", encoding="utf-8") as text:
                    text.write(read("job.yaml").replace(word, wrong))
                self.assertNotEqual(self.validate(f"{folder}/job.yaml", VERSIONS[-1]).returncode, 0)

    def test_options_and_names_are_those_that_exist(self):
        known = set(re.findall(r"--[a-z][a-z-]*", run(f"{BIN}/lockstep-worker", "--help")))
        for name in MANIFESTS:
            pod, container = pod_of(name), container_of(name)
            flags = {argument.split("=")[0] for argument in container["args"]}
            self.assertTrue(flags <= known, flags - known)
            used = container["volumeMounts"] + container.get("volumeDevices", [])
            self.assertEqual({v["name"] for v in used}, {v["name"] for v in pod["volumes"]})
            paths = [v.get("mountPath") or v.get("devicePath") for v in used]
            for argument in container["args"]:
                if argument.startswith(("--allow=", "--tls-dir=", "--state-dir=")):
                    self.assertIn(argument.split("=")[1], paths)
            variables = {variable["name"] for variable in container["env"]}
            self.assertEqual(set(re.findall(r"\$\((\w+)\)", str(container["args"]))), variables)
            self.assertIn(container["command"], [entry_point()])

    def test_a_pod_gains_nothing(self):
        for name in MANIFESTS:
            pod, security = pod_of(name), container_of(name)["securityContext"]
            self.assertEqual(capabilities_of(name), ["IPC_LOCK"])
            self.assertIs(security["readOnlyRootFilesystem"], True)
            self.assertNotIn("privileged", security)
            self.assertEqual(pod["securityContext"]["seccompProfile"]["type"], "Localhost")
            for shared in ("hostPID", "hostIPC"):
                self.assertNotIn(shared, pod)

    def test_the_profile_allows_no_more_than_the_service(self):
        listed = run("systemd-analyze", "syscall-filter")
        sets = {}
        for line in listed.splitlines():
            words = line.strip()
            if words and not words.startswith("#"):
                if not line.startswith(" "):
                    sets[words] = members = set()
                else:
                    members.add(words)

        def expand(name):
            return set().union(*(expand(n) if n in sets else {n} for n in sets[name]))

        rules = profile()["syscalls"]
        names = [name for rule in rules for name in rule["names"]]
        self.assertEqual(len(names), len(set(names)))
        self.assertTrue(set(names) <= expand("@system-service"))
        self.assertTrue(set(names) >= RING)
        for name in ("setns", "unshare", "keyctl", "ptrace", "bpf", "mount", "userfaultfd"):
            self.assertNotIn(name, names)


def entry_point():
    return json.loads(re.search(r"^ENTRYPOINT (.*)$", read("Dockerfile"), re.M).group(1))


def build_image(archives, work):
    """Does what the Dockerfile says, with its words; all of them are known here. The root."""
    stages, arguments = {}, {}
    for line in read("Dockerfile").splitlines():
        if not line or line.startswith("#"):
            continue
        for name, value in arguments.items():
            line = line.replace(f"${{{name}}}", value)
        word, *words = line.split()
        if word == "FROM":
            assert words[0] == "scratch"
            root, arguments = f"{work}/stage{len(stages)}", {}
            stages[words[2] if len(words) == 3 else "image"] = root
            os.mkdir(root)
        elif word == "ARG":
            name, value = words[0].split("=")
            arguments[name] = value
        elif word == "ADD":
            run("tar", "-xzf", f"{archives}/{words[0]}", "-C", root + words[1])
        elif word == "COPY":
            stage = stages[words[0].removeprefix("--from=")]
            shutil.copytree(stage + words[1], root + words[2], symlinks=True)
        else:
            assert word == "ENTRYPOINT", line
    return stages["image"]


class Pods(unittest.TestCase):
    def start(self, fleet, manifest, allow, rules, root=None, bindings=None):
        """The worker of a manifest, with its options; here the controller is on loopback."""
        pod = {
            "profile": rules,
            "capabilities": capabilities_of(manifest),
            "root": root,
            "bindings": bindings or {},
        }
        path = f"{fleet.directory}/pod.json"
        with open(path, "w", encoding="utf-8") as text:
            json.dump(pod, text)
        (program,) = entry_point() if root else [f"{BIN}/lockstep-worker"]
        state = "/state" if root else f"{fleet.directory}/state"
        words = [program, "--controller", fleet.address, "--name", "node1", "--allow", allow]
        launcher = ["/usr/bin/python3", os.path.join(os.path.dirname(__file__), "pod.py"), path]
        fleet.workers["node1"] = fleet.spawn(
            "node1", ["unshare", "--mount", *launcher, *words, "--state-dir", state]
        )
        fleet.wait_attached(1)

    def engines(self, fleet, job):
        report = fleet.run_job(job, "--format", "json")
        self.assertEqual(report.status, 0, f"{report}\n{fleet.log('node1')}")
        return report

    def job(self, data):
        return files_job(data, hosts=1, workload=", direct: false")


@needs_root
class Replayed(Pods):
    def test_io_uring_works_under_the_profile(self):
        for manifest in MANIFESTS:
            with Fleet(0) as fleet:
                self.start(fleet, manifest, fleet.data, profile())
                report = self.engines(fleet, self.job(fleet.data))
                self.assertNotIn("has no io_uring", report.out)

    def test_without_it_libaio_is_used_and_reported(self):
        with Fleet(0) as fleet:
            self.start(fleet, "job", fleet.data, without_ring())
            report = self.engines(fleet, self.job(fleet.data))
            self.assertIn("has no io_uring", report.out)
            self.assertIn("libaio", report.out)


@needs_root
@pytest.mark.long
class Image(Pods):
    def test_a_raw_block_volume_in_the_image(self):
        with tempfile.TemporaryDirectory(prefix="lskube") as work, LoopDevice(work) as device:
            os.chmod(work, 0o755)
            package(f"{work}/dist", "archive")
            root = build_image(f"{work}/dist", work)
            self.assertEqual(os.listdir(root), ["opt"])
            self.assertEqual(len(glob.glob(f"{root}/opt/lockstep/bin/*")), 3)
            os.mkdir(f"{work}/state")
            bindings = {"/dev/lockstep": device.path, "/state": f"{work}/state"}
            with Fleet(0) as fleet:
                self.start(fleet, "job", "/dev/lockstep", profile(), root, bindings)
                job = (
                    "name: volumes\ntargets: [{name: disk, device: {path: /dev/lockstep}}]\n"
                    "phases:\n  - run: {duration: 1s, workloads: [{read: 50%, queue_depth: 4}]}\n"
                )
                report = self.engines(fleet, job)
                self.assertNotIn("has no io_uring", report.out)


if __name__ == "__main__":
    unittest.main()
