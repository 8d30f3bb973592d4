"""Runs the commands and writes the files that the documents tell people to type and to write.

Every block between fences has a language, and a test. What would set up a machine (the programs
with certificates and other hosts' names, systemd, tools/*) is looked at only: whether its options
and tools exist. The queries are run by test_cli.py, the tables for those who come from fio and
sysbench by test_coming_from.py.
"""

import functools
import glob
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import unittest

from fleet import BIN, ROOT, Fleet, FleetTest, needs_root, stop, wait_for

# Which classes here, or which file, runs the blocks of this language in this document; `text` is
# nothing to run.
RUN_BY = {
    ("README.md", "sh"): "Readme, Flags",
    ("README.md", "yaml"): "Readme",
    ("docs/guide/coming-from-fio.md", "sh"): "test_frontends.py",
    ("docs/guide/coming-from-sysbench.md", "sh"): "test_sysbench.py",
    ("docs/guide/coming-from-sysbench.md", "yaml"): "Jobs",
    ("docs/contributing.md", "sh"): "Contributing",
    ("docs/contributing.md", "cpp"): "Contributing",
    ("docs/reference/engine.md", "yaml"): "Jobs",
    ("docs/guide/array.md", "sh"): "test_guides.py",
    ("docs/guide/ci.md", "sh"): "test_guides.py",
    ("docs/guide/compare.md", "sh"): "test_guides.py",
    ("docs/guide/first-test.md", "sh"): "test_guides.py",
    ("docs/guide/fleet.md", "sh"): "test_guides.py",
    ("docs/guide/history.md", "sh"): "test_guides.py",
    ("docs/guide/schedulers.md", "sh"): "test_slurm.py, test_kubernetes.py",
    ("docs/guide/ssh.md", "sh"): "test_ssh_fleet.py, test_ssh_fleet_tls.py",
    ("docs/guide/coming-from-iometer.md", "sh"): "test_presets.py",
    ("docs/guide/presets.md", "sh"): "test_presets.py",
    ("docs/guide/install.md", "sh"): "test_package.py",
    ("docs/guide/stories.md", "sh"): "test_guides.py",
    ("docs/guide/trouble.md", "sh"): "test_doctor.py",
    ("docs/guide/observe.md", "sh"): "test_observe.py",
    ("docs/guide/observe.md", "yaml"): "test_observe.py",
    ("docs/reference/operations.md", "sh"): "Certificates, Flags",
    ("docs/reference/operations.md", "ini"): "Flags",
    ("docs/reference/operations.md", "yaml"): "test_environment.py",
    ("docs/reference/sql.md", "sh"): "test_cli.py",
    ("docs/reference/sql.md", "sql"): "test_cli.py",
    ("docs/reference/sql-cookbook.md", "sql"): "test_history.py",
    ("docs/reference/reports.md", "sql"): "test_exports.py",
}
DOCUMENTS = ["README.md", *sorted(glob.glob("docs/**/*.md", root_dir=ROOT, recursive=True))]


def text_of(document):
    with open(os.path.join(ROOT, document), encoding="utf-8") as text:
        return text.read()


def blocks(document, language):
    return re.findall(rf"^```{language}\n(.*?)^```", text_of(document), re.DOTALL | re.MULTILINE)


def commands(block):
    """The lines of a shell block, those that go on joined, without comments."""
    lines = block.replace("\\\n", " ").splitlines()
    return [line.split("  #")[0].strip() for line in lines if line and not line.startswith("#")]


def small(job, data):
    """A document's job in a test's directory, with a test's sizes and times."""
    job = job.replace("/mnt/test", data).replace("4GiB", "4MiB").replace("16MiB", "1MiB")
    job = re.sub(r"ramp: \d+s", "ramp: 1s", re.sub(r"duration: \d+s", "duration: 1s", job))
    return re.sub(r"expect: \{.*\}", "expect: {iops: 1, p99: 50s}", job)


class Blocks(unittest.TestCase):
    def test_each_is_run_by_a_test(self):
        for document in DOCUMENTS:
            fences = re.findall(r"^```(.*)$", text_of(document), re.MULTILINE)
            for language in fences[::2]:
                with self.subTest(document=document, language=language):
                    self.assertTrue(language == "text" or (document, language) in RUN_BY)
        for (document, language), names in RUN_BY.items():
            self.assertTrue(blocks(document, language), f"{document} has no block of {language}")
            for name in names.split(", "):
                here = os.path.join(ROOT, "tests/integration", name)
                self.assertTrue(name in globals() or os.path.exists(here), name)


class NamesTests(unittest.TestCase):
    def assert_is_a_test(self, name):
        """`module.Class.test_x` of the integration tests, or `file.Name` of the unit tests."""
        parts = name.split(".")
        if len(parts) == 3:
            source = text_of(f"tests/integration/{parts[0]}.py")
            body = source.split(f"class {parts[1]}(", 1)[1].split("\nclass ", 1)[0]
            self.assertIn(f"    def {parts[2]}(self", body)
        else:
            (path,) = glob.glob(f"tests/**/{parts[0]}.cc", root_dir=ROOT, recursive=True)
            self.assertRegex(text_of(path), rf"TEST(_F)?\(\w+, {parts[1]}\)")


class WaysToLoseData(NamesTests):
    def test_each_is_tried_by_a_test_that_is_there(self):
        rows = re.findall(
            r"^\| (\d+) \|.*\| `(\S+)` \|$", text_of("docs/reference/ways-to-lose-data.md"), re.M
        )
        self.assertGreaterEqual(len(rows), 40)
        self.assertEqual([int(number) for number, _ in rows], list(range(1, len(rows) + 1)))
        for _, name in rows:
            with self.subTest(name):
                self.assert_is_a_test(name)


def sentences(text, title):
    """Returns the sentences of a section, without marks; each item of a list begins one."""
    body = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.S | re.M).group(1)
    body = re.sub(r"^\|.*$|<!--.*?-->", "", body, flags=re.M)
    for item in re.split(r"\n(?=- )|\n\n", body):
        words = re.sub(r"[*`[]|\]\([^)]*\)", "", " ".join(item.split()).removeprefix("- "))
        yield from filter(None, re.split(r"(?<=[.:;])\s+(?=[A-Z])", words))


class SecurityPromises(NamesTests):
    SECTIONS = (
        "Who is who",
        "What protects the disks",
        "Hosts over ssh",
        "Slurm, Kubernetes and systemd",
        "What a stolen certificate can do",
        "Doctor and support bundle",
        "Limits",
    )

    def test_each_sentence_says_what_holds_it(self):
        text = text_of("docs/reference/security.md")
        said = [sentence for title in self.SECTIONS for sentence in sentences(text, title)]
        table = text.split("## What holds these sentences", 1)[1]
        rows = re.findall(r"^\| (.+) … \| (.+) \|$", table, re.M)
        self.assertGreater(len(rows), 40)
        self.assertEqual(len(said), len(rows), "a row for each sentence, in their order")
        for sentence, (begin, held_by) in zip(said, rows, strict=True):
            with self.subTest(sentence):
                self.assertEqual(sentence[: len(begin)], begin)
                if held_by in ("explains", "weakness"):
                    continue
                for name in held_by.split(", "):
                    self.assert_is_a_test(name.strip("`"))


class Readme(unittest.TestCase):
    def test_its_commands_in_their_order(self):
        session = blocks("README.md", "sh")
        up = next(block for block in session if " up " in block)
        then = commands(next(block for block in session if " history" in block))
        self.assertEqual(len(then), 4)
        with Fleet(0) as fleet:
            here = fleet.directory
            os.symlink(BIN, here + "/bin")
            with open(here + "/mixed.yaml", "w", encoding="utf-8") as job:
                job.write(small(blocks("README.md", "yaml")[0], fleet.data))
                job.write("store_filesystem: true\n")  # here store and targets share a disk
            make, line = commands(up)
            self.assertEqual(make, "mkdir -p /mnt/test")
            words = shlex.split(line.replace("/mnt/test", fleet.data).replace("bin/", BIN + "/"))
            own = ["--listen", "127.0.0.1:0", "--no-web", "--state-dir", here + "/up"]
            process = fleet.spawn("up", [*words, *own, "--allow-store-filesystem"])
            try:
                wait_for("it to be up", lambda: "Ctrl-C here ends" in fleet.log("up"))
                address = re.search(r"127\.0\.0\.1:[1-9]\d+", fleet.log("up")).group(0)
                said = {}
                for command in then:
                    done = subprocess.run(
                        ["bash", "-c", command],
                        cwd=here,
                        env={**os.environ, "LOCKSTEP_CONTROLLER": address, "NO_COLOR": "1"},
                        capture_output=True,
                        text=True,
                        timeout=120,
                        check=False,
                    )
                    self.assertEqual(done.returncode, 0, f"{command}\n{done.stderr}")
                    said[command.split()[1]] = done.stdout
            finally:
                stop(process, signal.SIGINT)
        self.assertIn("makes 1 file of 4 MiB", said["plan"])
        self.assertIn("mixed", said["history"])
        self.assertIn("read", said["sql"])


@needs_root
class Jobs(FleetTest):
    workers = 1

    def test_the_jobs_that_documents_show_run(self):
        target = f'targets: [{{name: t, file: {{path: "{self.fleet.data}/f", size: 4MiB}}}}]\n'
        jobs = [
            *blocks("docs/guide/coming-from-sysbench.md", "yaml"),
            *(
                f"name: part\n{'' if 'targets:' in part else target}{part}"
                for part in blocks("docs/reference/engine.md", "yaml")
            ),
        ]
        self.assertEqual(len(jobs), 9)
        for job in jobs:
            job = small(job, self.fleet.data).replace("count: 128", "count: 4")
            job = job.replace(", 64KiB, 256KiB, 1MiB]", "]").replace("[1, 4, 16, 64]", "[1, 16]")
            job = job.replace("total_size: 15GiB", "total_size: 4MiB").replace("repeat: 3", "")
            if "total_size" in job:
                job = job.replace("/data/", f"{self.fleet.data}/")
            # Steady at once, whatever the machine does.
            job = job.replace("25m", "1m").replace("round: 1m", "round: 1s, range: 99%, slope: 1")
            job = job.replace("each_host: true", "window: 3")
            if "readers" in job:  # of a target that hosts share
                job = job.replace("size: 4MiB}}]", "size: 4MiB}, sharing: sliced}]")
                job = job.replace("phases:\n", "phases:\n  - prepare:\n")
            if "watchers" in job:
                job = job.replace("size: 4MiB}}]", "size: 4MiB}, sharing: owned}]")
                job = job.replace("phases:\n", "phases:\n  - prepare:\n")
            self.ok(self.fleet.run_job(job, timeout=300))


class Certificates(unittest.TestCase):
    def test_the_commands_make_certificates_of_one_authority(self):
        block, for_browsers = (
            b for b in blocks("docs/reference/operations.md", "sh") if "openssl" in b
        )
        with tempfile.TemporaryDirectory() as here:
            subprocess.run(
                ["bash", "-euo", "pipefail", "-c", block],
                cwd=here,
                check=True,
                capture_output=True,
            )
            for name, role in (("controller", "admin"), ("node1", "worker"), ("anna", "submitter")):
                shown = subprocess.run(
                    ["openssl", "x509", "-in", f"{name}.pem", "-noout", "-subject", "-ext"]
                    + ["subjectAltName"],
                    cwd=here,
                    check=True,
                    capture_output=True,
                    text=True,
                ).stdout
                self.assertIn(f"CN = {name}", shown)
                self.assertIn(f"DNS:{role}.role.lockstep", shown)
                subprocess.run(
                    ["openssl", "verify", "-CAfile", "ca.pem", f"{name}.pem"],
                    cwd=here,
                    check=True,
                    capture_output=True,
                )
            subprocess.run(
                ["bash", "-euo", "pipefail", "-c", f"{for_browsers.rstrip()} -passout pass:word"],
                cwd=here,
                check=True,
                capture_output=True,
            )
            self.assertTrue(os.path.getsize(os.path.join(here, "anna.p12")))


@functools.cache
def help_of(program):
    """Returns the program's help, with those of all its commands."""

    def ask(*words):
        return subprocess.run(
            [f"{BIN}/{program}", *words, "--help"], capture_output=True, text=True, check=True
        ).stdout

    def ask_all(*words):
        text = ask(*words)
        listed = text.split("ubcommands:")[1].split("xample")[0] if "ubcommands:" in text else ""
        commands = re.findall(r"^  ([\w-]+) ", listed, re.MULTILINE)
        return text + "".join(ask_all(*words, command) for command in commands)

    return set(re.findall(r"--[a-z][a-z-]*", ask_all()))


class Flags(unittest.TestCase):
    def test_the_tools_that_blocks_name_exist(self):
        found = 0
        for document in DOCUMENTS:
            for command in commands("\n".join(blocks(document, "sh"))):
                if command.startswith("tools/"):
                    found += 1
                    self.assertTrue(os.access(f"{ROOT}/{command.split()[0]}", os.X_OK), command)
        self.assertGreaterEqual(found, 6)

    def test_programs_have_the_options_of_the_commands(self):
        for document in ("README.md", "docs/reference/operations.md"):
            text = "\n".join(blocks(document, "sh") + blocks(document, "ini"))
            for command in re.findall(
                r"^(?:ExecStart=)?(?:bin/|/usr/local/bin/)?(lockstep\S*)(.*)$",
                text.replace("\\\n", " "),
                re.MULTILINE,
            ):
                program, words = command
                for flag in re.findall(r"(--[a-z][a-z-]*)", words):
                    with self.subTest(document=document, program=program):
                        self.assertIn(flag, help_of(program))

    def test_every_option_that_a_document_names_exists(self):
        known = set()
        for program in ("lockstep", "lockstep-controller", "lockstep-worker"):
            known |= help_of(program)
        for tool in os.listdir(f"{ROOT}/tools"):
            if os.path.isfile(f"{ROOT}/tools/{tool}"):
                with open(f"{ROOT}/tools/{tool}", encoding="utf-8") as source:
                    known |= set(re.findall(r"--[a-z][a-z-]*", source.read()))
        with open(f"{ROOT}/tests/simulation/simulate.cc", encoding="utf-8") as source:
            known |= set(re.findall(r"--[a-z][a-z-]*", source.read()))
        others = {
            "--client",  # fio's
            "--test_filter",
            "--test_output",
        }
        for document in DOCUMENTS:
            text = re.sub(r"^```.*?^```", "", text_of(document), flags=re.DOTALL | re.MULTILINE)
            for quoted in re.findall(r"`([^`]+)`", text):
                # A command line of another program, or a row of the tables for its users.
                if re.match(r"(fio|sysbench|bazel|openssl|psql)\b", quoted):
                    continue
                if document.startswith("docs/guide/coming-from"):
                    continue
                for flag in re.findall(r"(?:^|\s)(--[a-z][a-z_-]*)", quoted):
                    with self.subTest(document=document, quoted=quoted):
                        self.assertIn(flag, known | others)


class Contributing(unittest.TestCase):
    def run_line(self, *words, timeout=600):
        return subprocess.run(
            words, cwd=ROOT, capture_output=True, text=True, timeout=timeout, check=False
        )

    def test_its_commands(self):
        lines = [c for block in blocks("docs/contributing.md", "sh") for c in commands(block)]
        # The final count is of the whole test, not of the part that a filter leaves of it.
        self.addCleanup(self.run_line, "bazel", "test", "//tests/controller/plan")
        for line in lines:
            words = shlex.split(line)
            with self.subTest(line=line):
                if words[0].startswith("tools/"):  # a test of everything is none of these
                    self.assertTrue(os.access(f"{ROOT}/{words[0]}", os.X_OK))
                    continue
                done = self.run_line(*words)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                said = done.stdout + done.stderr
                if "--test_filter" in line:
                    self.assertRegex(said, r"\[  PASSED  \] [1-9]")
                elif words[0].endswith("pytest"):
                    self.assertRegex(said, r"[1-9]\d* passed")

    def test_its_code_compiles(self):
        generated = self.run_line("bazel", "info", "bazel-bin").stdout.strip()
        analysis, engine = blocks("docs/contributing.md", "cpp")
        engine = f"""#include "worker/engine/registry.h"
#include "worker/engine/sync_engine.h"
namespace lockstep::worker {{
{engine}
}}
"""
        bodies = {analysis: "{}", engine: "{ return NewSyncEngine(); }"}
        with tempfile.TemporaryDirectory() as here:
            for code, body in bodies.items():
                self.assertIn("{ … }", code)
                with open(here + "/part.cc", "w", encoding="utf-8") as out:
                    out.write(code.replace("{ … }", body))
                words = ["-std=c++20", "-fsyntax-only", "-w", f"-I{ROOT}", f"-I{generated}"]
                done = self.run_line(shutil.which("g++"), *words, here + "/part.cc")
                self.assertEqual(done.returncode, 0, done.stderr)
