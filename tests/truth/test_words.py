"""Messages for people who err, when a worker dies, and when the store is unavailable."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess

from fleet import BIN, files_job, stop, wait_for
from truth import TruthTest, situation

JOB = """name: words
hosts: {count: 1}
targets:
  - name: data
    file: {path: "/nowhere/{host}/f", size: 8MiB}
phases:
  - prepare:
  - name: mix
    run:
      duration: 2s
      workloads:
        - name: w
          LINE
"""
NULL = """name: alive
targets: [{name: n, null: {size: 1GiB, latency: 1ms}}]
phases: [{name: mix, run: {duration: SECONDS, workloads: [{name: w, engine: 'null'}]}}]
"""
# Words that only libpq is meant to read.
CONNINFO = r"dbname *=|user *=|host *=|options *=|default_transaction_read_only|password"


class Commands(TruthTest):
    workers = 3

    def errors(self, job, *flags):
        done = self.ok(self.fleet.lockstep("plan", "-", *flags, stdin=job), 2)
        self.assertEqual(done.out, "")
        return done.err.splitlines()

    def check_hint(self, job, line, place, hint, *flags):
        """One error, of this line (or flag) and field, with what to write instead."""
        errors = self.errors(job, *flags)
        self.says(errors[0])
        where = f"stdin:{line}: " if isinstance(line, int) else f"{line}: "
        self.assertEqual(len(errors), 1, errors)
        self.assertTrue(errors[0].startswith(where + place), errors)
        self.assertRegex(errors[0], hint)

    @situation("22", "each command that needs an argument is called without one")
    def test_commands_without_arguments(self):
        """The commands and what they need are read from their own help."""
        top = self.ok(self.fleet.lockstep("--help")).out
        commands = re.findall(r"^  ([a-z]+)  ", top.split("Subcommands:")[1], re.M)
        self.assertGreater(len(commands), 15)
        found = []
        for command in commands:
            text = self.ok(self.fleet.lockstep(command, "--help")).out
            needs = re.findall(r"^  (\S+).* REQUIRED", text, re.M)
            if not needs:
                continue
            found.append(command)
            done = self.ok(self.fleet.lockstep(command), 1)
            self.assertEqual(done.out, "")
            self.assertNotIn("is not a command", done.err)
            self.assertRegex(done.err, f"^lockstep: {command}: {needs[0]}[^ ]* is required")
            self.assertIn(f"lockstep {command} --help", done.err)
        self.says(f"{', '.join(found)}: what is required; {done.err.strip()}")
        for command in ("run", "plan", "submit", "label", "import", "forget", "gate"):
            self.assertIn(command, found)
        done = self.ok(self.fleet.lockstep("gate", "last"), 1)
        self.assertRegex(done.err, "gate: --baseline is required")

    @situation("25", "fio's and others' words, fields of another level, and values without sense")
    def test_hints_on_fields_and_values(self):
        place = "phases[0].run.workloads[0]."
        for line, hint in (
            ("bs: 4KiB", "it is called block_size here"),
            ("iodepth: 4", "it is called queue_depth here"),
            ("numjobs: 4", "it is called threads here"),
            ("xfersize: 4k", "it is called block_size here"),
            ("quue_depth: 4", "did you mean queue_depth"),
            ("duration: 5s", r"belongs to phases\[\].run.duration"),
            ("size: 4MiB", r"belongs to targets\[\].file.size"),
            ("store_filesystem: true", "belongs to the file's top level"),
            ("queue_depth: [1, 4]", r"a phase that runs with several values has run\.sweep\.axes"),
            ("queue_depth: {from: 1}", "is a map; a single value is expected here"),
            ("read: 70", "write 70%"),
            ("queue_depth: many", "not a number; write 20000"),
            ("pattern: randread", "random"),
        ):
            with self.subTest(line):
                where = place.replace("[0]", "[1]", 1) + line.split(":")[0]
                self.check_hint(JOB.replace("LINE", line), 13, where, hint)

    @situation("25", "`block_size: 8kb`: 8,000 bytes, where 8 KiB were meant")
    def test_a_hint_on_a_decimal_size(self):
        lacks = []
        for size, hint in (("8kb", "8KiB"), ("4KB", "4KiB"), ("1MB", "1MiB")):
            (error,) = self.errors(JOB.replace("LINE", f"block_size: {size}"))
            self.says(error)
            self.assertTrue(error.startswith("stdin:13: phases[1].run.workloads[0].block_size"))
            lacks += [] if hint in error else [size]
        self.assertEqual(lacks, [])

    @situation("25", "an unquoted {host}, in the three places where YAML reads it in its own way")
    def test_a_host_without_quotes(self):
        lacks = []
        for path in ("{host}", "{host}/f", "/mnt/{host}/f"):
            # YAML takes braces within a text as they are; only in a flow map they end it.
            file = f"file: {{path: {path}, size: 8MiB}}"
            if not path.startswith("/"):
                file = f"file:\n      path: {path}\n      size: 8MiB"
            job = JOB.replace('file: {path: "/nowhere/{host}/f", size: 8MiB}', file)
            errors = self.errors(job.replace("LINE", "read: 100%"))
            self.says(errors[0])
            self.assertTrue(errors[0].startswith(f"stdin:{5 if path[0] == '/' else 6}: "), errors)
            if len(errors) > 1 or not re.search(r"\{host\}.* quotes", errors[0]):
                lacks.append(path)
        self.assertEqual(lacks, [])

    @situation("25", "a line that is indented by one blank too much, by one too little, by a tab")
    def test_bad_indentation(self):
        job = JOB.replace("LINE", "read: 100%")
        lacks = []
        for old, new, lines in (
            ("\ntargets:", "\n targets:", (2, 3)),
            ("\n    file:", "\n   file:", (4, 5)),
            ("\n    file:", "\n     file:", (4, 5)),
            ("\n      duration:", "\n       duration:", (9, 10, 11)),
            ("\n    file:", "\n\tfile:", (5,)),
        ):
            self.assertIn(old, job)
            error = self.errors(job.replace(old, new, 1))[0]
            self.says(error)
            self.assertIn(int(error.split(":")[1]), lines, error)
            lacks += [] if "indent" in error else [f"{new.strip()} ({error})"]
        self.assertEqual(lacks, [])

    @situation("25", "a null target's latency by --set, where YAML reads the key as no text")
    def test_set_finds_the_key_null(self):
        job = NULL.replace("SECONDS", "300ms")
        report = self.run_report(job, "--set", "targets.0.null.latency=5ms")
        least = self.phase(report)["total"]["latencyMinNs"]
        self.says(f"the fastest I/O took {least / 1e6:.2f} ms")
        self.assertGreaterEqual(least, 5e6)

    @situation("19", "2 I/Os per second, in intervals of 300 ms; then a device that stands still")
    def test_an_interval_without_a_due_io_is_no_outage(self):
        def lines(null, load):
            phase = f"run: {{duration: 1500ms, workloads: [{{engine: 'null', {load}}}]}}"
            done = self.fleet.run_job(
                f"name: live\ninterval: 300ms\ntargets: [{{name: n, null: {{{null}}}}}]\n"
                f"phases: [{{name: mix, {phase}}}]"
            )
            return [line for line in self.ok(done).err.splitlines() if " IOPS " in line]

        alive = lines("latency: 1ms", "max_iops: 2")
        still = lines("latency: 1ms, stall_every: 1h, stall: 900ms", "queue_depth: 1")
        self.says(f"{alive[1].strip()}; {still[0].strip()}")
        self.assertTrue(any(" 0 IOPS " in line for line in alive), alive)
        self.assertEqual([line for line in alive if "COMPLETED" in line], [])
        self.assertIn("NO I/O COMPLETED", still[0])

    @situation(
        "25", "values given by --set: no duration, no field, no such phase, no target, no path"
    )
    def test_errors_of_set_name_the_flag(self):
        job = files_job(self.fleet.data, duration="1s")
        for words, place, hint in (
            ("phases.1.run.duration=ten", "phases[1].run.duration", "write 250us"),
            ("phases.1.run.workloads.0.bs=4k", "phases[1].run.workloads[0].bs", "block_size"),
            ("phases.9.run.duration=1s", "", "0 to 2"),
            ("phases.1.run.workloads.0.targets=zzz", "phases[1].run.workloads[0]", "'zzz'"),
            ("targets.0.file.path=relative", "targets[0].file.path", "not an absolute path"),
            ("nonsense", "", "PATH=VALUE"),
        ):
            with self.subTest(words):
                self.check_hint(job, f"--set {words}", place, hint, "--set", words)

    @situation("25", "three workers refuse the same file for the same reason")
    def test_equal_refusals_become_one(self):
        job = (
            "name: refused\ntargets:\n"
            "  - {name: t, file: {path: /nowhere/f, size: 8MiB}, sharing: overlapped}\n"
            "phases:\n  - prepare:\n"
        )
        done = self.ok(self.fleet.lockstep("plan", "-", stdin=job), 2)
        lines = [line for line in (done.out + done.err).splitlines() if "--allow" in line]
        self.says("; ".join(lines))
        self.assertEqual(len(lines), 1, done)
        self.assertIn("node1 and 2 more: ", lines[0])


class LostHost(TruthTest):
    fleet_options = {"controller_flags": ["--lease", "4"]}

    @situation(
        "24", "one of two workers is killed; the job goes on with the other and expects nothing"
    )
    def test_a_lost_host_and_the_exit_status(self):
        job = files_job(
            self.fleet.data,
            duration="600s",
            extra="on_worker_loss: continue",
            workload=", max_iops: 1000",
        )
        status, out, err = self.run_and_lose_node2(job, "--require-all-hosts", "--format", "json")
        report = json.loads(out)
        self.says(f"exit {status}: {report['verdict']['word']}")
        self.assertEqual(status, 7, err)
        self.assertEqual((report["verdict"]["word"], report["run"]["degraded"]), ("degraded", True))
        self.assertFalse(report["verdict"]["good"])
        # While the lease runs, whoever watches is told whom the run waits for, or that it is lost.
        self.assertIn("node2", err)
        for command in (("report", "last"), ("watch", "last")):
            for flags, status in (((), 0), (("--require-all-hosts",), 7)):
                done = self.ok(self.fleet.lockstep(*command, *flags), status)
                self.assertIn("DEGRADED", done.out.splitlines()[0])
        self.assertIn("degraded", self.report("markdown").splitlines()[0])
        self.assertEqual(report["run"]["lostHosts"], "node2")
        listed = self.ok(self.fleet.lockstep("history", "-n", "1")).text
        self.says(listed)
        self.assertIn("done, degraded: node2 lost", listed)
        row = self.rows("SELECT degraded, hosts FROM run_overview WHERE run_id = last_run()")[0]
        self.assertEqual((row["degraded"], row["hosts"]), ("t", "2"))
        # Nothing is lost where nothing is: the flag alone makes no 7, nor does an earlier run.
        small = files_job(self.fleet.data, hosts=1, duration="1s")
        self.ok(self.fleet.run_job(small, "--require-all-hosts"), 0)


class Up(TruthTest):
    workers = 0

    def start_up(self, *words):
        self.state = f"{self.fleet.directory}/{self.id().rsplit('.', 1)[1]}"
        words = ("up", "--state-dir", self.state, "--listen", "127.0.0.1:0", "--no-web", *words)
        up = self.fleet.spawn(self.id(), [f"{BIN}/lockstep", *words])
        self.addCleanup(stop, up, signal.SIGINT)
        wait_for("it to be up", lambda: "Ctrl-C here ends" in self.said() or up.poll() is not None)
        self.assertIsNone(up.poll(), self.said())
        self.address = re.search(r"lockstep --controller (\S+) run FILE", self.said())[1]
        return up

    def said(self):
        return self.fleet.log(self.id())

    def lockstep(self, *words, stdin=None):
        return self.ok(
            self.fleet.lockstep("--controller", self.address, *words, stdin=stdin)
        ).json()

    def children(self, up):
        """Names of workers, and pids."""
        with open(f"/proc/{up.pid}/task/{up.pid}/children", encoding="ascii") as text:
            pids = [int(pid) for pid in text.read().split()]
        named = {}
        for pid in pids:
            with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as text:
                words = text.read().decode().split("\0")
                names = [word[7:] for word in words if word.startswith("--name=")]
                named[(names + [os.path.basename(words[0])])[0]] = pid
        return named

    @situation("23", "kill -9 of one of two workers of `up`, twice, with a job under retry")
    def test_a_killed_worker_is_started_again(self):
        up = self.start_up("--workers", "2")
        job = "on_worker_loss: retry\n" + NULL.replace("SECONDS", "3s")
        before = self.children(up)
        names = sorted(name for name in before if name.endswith(("-1", "-2")))
        self.assertEqual(len(names), 2, before)
        os.kill(before[names[1]], signal.SIGKILL)
        wait_for("it to be started again", lambda: "starting it again" in self.said())
        wait_for(
            "two workers", lambda: len(self.lockstep("status", "--format", "json")["workers"]) == 2
        )
        line = next(line for line in self.said().splitlines() if "starting it again" in line)
        self.says(line)
        self.assertIn(names[1], line)
        after = self.children(up)
        self.assertIsNone(up.poll())
        self.assertNotEqual(after[names[1]], before[names[1]])
        for name in before:
            if name != names[1]:
                self.assertEqual(after[name], before[name], name)
        # The other one, within a run that repeats the phase.
        submitted = self.fleet.lockstep("--controller", self.address, "submit", "-", stdin=job)
        run = self.ok(submitted).out.strip()

        def state():
            phases = self.lockstep("report", run, "--format", "json")["phases"]
            return phases[0]["state"] if phases else ""

        wait_for("the load", lambda: state() == "running")
        os.kill(after[names[0]], signal.SIGKILL)
        report = self.lockstep("watch", run, "--format", "json")
        self.says(f"run: {report['verdict']['word']}, {len(report['phases'][0]['hosts'])} hosts")
        self.assertEqual((report["run"]["state"], report["run"]["degraded"]), ("done", False))
        self.assertEqual([host["host"] for host in report["phases"][0]["hosts"]], names)
        self.assertTrue(all(host["iops"] > 0 for host in report["phases"][0]["hosts"]))
        self.assertEqual(self.said().count("starting it again"), 2)

    @situation("23", "`up` without --allow: its directory lies on the store's file system")
    def test_up_says_what_it_will_refuse(self):
        """The start names the problem that a job then meets, and the flag that helps."""
        self.start_up()
        said = " ".join(self.said().split())
        self.says(said[said.index("may use") :])
        data = f"{self.state}/data"
        self.assertIn(f"{data} is on the file system of the store", said)
        self.assertIn("--allow-store-filesystem", said)
        job = files_job(data, hosts=1, duration="1s")
        done = self.fleet.lockstep("--controller", self.address, "plan", "-", stdin=job)
        self.assertNotEqual(done.status, 0)
        self.assertIn("--allow-store-filesystem", done.out + done.err)


class Addresses(TruthTest):
    workers = 0
    fleet_options = {"controller_flags": ["--lease", "4"]}

    def check_words(self, what, text):
        self.assertNotRegex(text, CONNINFO, what)

    @situation("26", "a controller whose external store is used, then killed")
    def test_no_connection_string_in_reports_and_logs(self):
        """The embedded server of another controller, which is killed, is the external store."""
        store = f"host={self.fleet.state}/postgres/run port=5432 user=lockstep dbname=lockstep"
        with socket.create_server(("127.0.0.84", 0)) as free:
            listen = f"127.0.0.84:{free.getsockname()[1]}"
        ready = f"{self.fleet.directory}/ready2"
        words = ["--store", store, "--state-dir", f"{self.fleet.directory}/second"]
        words += ["--listen", listen, "--lease", "4", "--ready-file", ready]
        postmaster = self.fleet.postmaster()
        second = self.fleet.spawn("second", [f"{BIN}/lockstep-controller", *words])
        self.addCleanup(stop, second)
        self.addCleanup(self.end_store, postmaster)
        wait_for("the standby", lambda: "standby: " in self.fleet.log("second"))
        self.fleet.controller.send_signal(signal.SIGKILL)
        self.fleet.controller.wait()
        wait_for("the other one to take over", lambda: os.path.exists(ready))
        self.fleet.address = listen
        self.addCleanup(stop, self.fleet.start_worker("node1"))
        self.fleet.wait_attached(1)
        report = self.run_report(NULL.replace("SECONDS", "1s"))
        self.says(report["store"])
        self.assertRegex(report["store"], r"postgresql://\S*/lockstep\b")
        for form in ("text", "json", "markdown", "html", "csv"):
            words = self.report(form)
            # The page's own script may have such words.
            self.check_words(form, re.sub(r"<script.*?</script>", "", words, flags=re.S))
        self.check_words("status", self.ok(self.fleet.lockstep("status")).out)
        # A controller with a load under way has something to store, and misses the server.
        self.fleet.start_lockstep("run", "-", stdin=NULL.replace("SECONDS", "600s"))
        self.fleet.await_phase("mix")
        os.kill(postmaster, signal.SIGKILL)
        wait_for("the loss to be noticed", lambda: "THE STORE IS" in self.store_state())
        done = self.fleet.lockstep("history")
        self.assertNotEqual(done.status, 0)
        self.says(self.store_state().split("THE STORE IS")[1][:200])
        self.check_words("history", done.out + done.err)
        self.check_words("status", self.store_state())
        for log in ("second", "node1"):
            self.check_words(log, self.fleet.log(log))

    def store_state(self):
        done = self.fleet.lockstep("status")
        return done.out + done.err

    def end_store(self, postmaster):
        with contextlib.suppress(ProcessLookupError):
            os.kill(postmaster, signal.SIGKILL)

    @situation("26", "stores that cannot be reached, named by a URL and by KEYWORD=VALUE")
    def test_no_connection_string_in_errors(self):
        path = f"{self.fleet.directory}/address"
        for address in (
            "postgresql://anna:tops3cret@127.0.0.1:1/bench?options=-c%20statement_timeout%3D9",
            "host=127.0.0.1 port=1 user=anna password=tops3cret dbname=bench",
        ):
            with self.subTest(address):
                with open(path, "w", encoding="ascii") as out:
                    out.write(address + "\n")
                os.chmod(path, 0o600)
                words = ["--store-file", path, "--listen", "127.0.0.1:0"]
                words += ["--state-dir", f"{self.fleet.directory}/unreached"]
                done = subprocess.run(
                    [f"{BIN}/lockstep-controller", *words],
                    capture_output=True,
                    text=True,
                    check=False,
                    timeout=120,
                )
                said = done.stdout + done.stderr
                self.says(said)
                self.assertEqual(done.returncode, 1)
                self.assertIn("the store cannot be reached", said)
                self.check_words(address, said)
                self.assertNotIn("tops3cret", said)
