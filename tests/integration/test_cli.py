"""The command line as people and scripts use it."""

import json
import os
import pty
import re
import subprocess
import tempfile

from fleet import BIN, ROOT, FleetTest, files_job

COMMANDS = [
    "up",
    "run",
    "submit",
    "watch",
    "status",
    "stop",
    "report",
    "rerun",
    "history",
    "compare",
    "gate",
    "label",
    "prune",
    "hosts",
    "devices",
    "plan",
    "check",
    "translate",
    "preset",
    "schema",
    "sql",
    "forget",
    "demo",
    "doctor",
    "support-bundle",
    "completion",
]


class CommandLine(FleetTest):
    workers = 1

    def test_every_command_has_help_with_an_example(self):
        top = self.ok(self.fleet.lockstep("--help")).out
        for command in COMMANDS:
            self.assertIn(command, top)
            text = self.ok(self.fleet.lockstep(command, "--help")).out
            self.assertRegex(text, r"Examples?:\n  (source <\()?(run=\$\()?lockstep " + command)

    def test_a_command_without_its_arguments_says_what_it_lacks(self):
        for command, lacks in (
            ("run", "FILE"),
            ("plan", "FILE"),
            ("submit", "FILE"),
            ("import", "FILE"),
            ("label", "RUN"),
            ("forget", "HOST"),
            ("gate", "--baseline"),
        ):
            words = (command, "1234") if command == "gate" else (command,)
            done = self.ok(self.fleet.lockstep(*words), 1)
            self.assertRegex(done.err, f"lockstep: {command}: {lacks}[^ ]* is required")
        done = self.ok(self.fleet.lockstep("runn"), 1)
        self.assertIn("'runn' is not a command", done.err)

    def test_prune_takes_one_age(self):
        both = ("prune", "--until", "2026-01-01T00:00:00Z", "--older-than", "3d", "--yes")
        self.assertIn("give one of them", self.ok(self.fleet.lockstep(*both), 1).err)

    def test_all_errors_of_a_job_file_at_once_with_their_lines(self):
        job = """name: broken
targets:
  - name: data
    file: {path: /x, size: 8MiB}
phases:
  - run:
      duration: 10
      workloads:
        - block_size: 4q
          quue_depth: 8
          read: 170%
          pattern: spiral
"""
        done = self.ok(self.fleet.lockstep("run", "-", stdin=job), 2)
        self.assertEqual(
            done.err.splitlines(),
            [
                "stdin:7: phases[0].run.duration: '10' is not a duration; write 250us, 2ms, "
                "90s, 5m, 12h",
                "stdin:9: phases[0].run.workloads[0].block_size: '4q' is not a size; write "
                "4096, 4KiB, 4k",
                "stdin:10: phases[0].run.workloads[0].quue_depth: is not a field; did you "
                "mean queue_depth?",
                "stdin:11: phases[0].run.workloads[0].read: '170%' is too large; "
                "the maximum is 100%",
                "stdin:12: phases[0].run.workloads[0].pattern: 'spiral' is not one of "
                "sequential, random, zipf, pareto, normal, hot_zones, shuffled",
            ],
        )

    def test_the_controllers_problems_are_shown_at_their_lines_too(self):
        job = files_job(self.fleet.data, hosts=1, workload=", engine: mmap, targets: nothing")
        done = self.ok(self.fleet.lockstep("run", "-", stdin=job), 2)
        self.assertIn(
            "stdin:13: phases[1].run.workloads[0].direct: mapped files go through the page "
            "cache; set direct: false",
            done.err,
        )
        self.assertIn(
            "stdin:13: phases[1].run.workloads[0].targets[0]: no target is named 'nothing'",
            done.err,
        )

    def test_check_says_the_same_without_a_controller(self):
        nobody = ("--controller", "127.0.0.1:1", "check", "-")
        job = files_job(self.fleet.data, hosts=1, workload=", engine: mmap, targets: nothing")
        asked = self.ok(self.fleet.lockstep("run", "-", stdin=job), 2)
        checked = self.ok(self.fleet.lockstep(*nobody, stdin=job), 2)
        self.assertEqual(checked.err, asked.err)
        self.assertEqual(checked.out, "")
        unread = self.ok(self.fleet.lockstep(*nobody, stdin="name: [1\n"), 2)
        self.assertIn("stdin:", unread.err)
        valid = files_job(self.fleet.data, hosts=1)
        done = self.ok(self.fleet.lockstep(*nobody, stdin=valid))
        self.assertIn("stdin is valid: 3 phases (prepare, mix, cleanup), 1 target", done.out)
        with_sweep = valid.replace(
            "    run:\n",
            "    run:\n      sweep: {axes: [{field: queue_depth, values: [1, 2, 4]}]}\n",
        )
        self.assertNotEqual(with_sweep, valid)
        done = self.ok(self.fleet.lockstep(*nobody, stdin=with_sweep))
        self.assertIn("mix at 3 points", done.out)

    def test_check_counts_points_and_targets_of_the_file(self):
        story = os.path.join(ROOT, "examples/stories/which-figure.yaml")
        done = self.ok(self.fleet.lockstep("check", story))
        self.assertIn("4 phases (buffered at 3 points, 3 times each, prepare, direct", done.out)
        self.assertIn(", 2 targets", done.out)

    def test_set_overrides_a_field_and_is_checked(self):
        job = files_job(self.fleet.data, hosts=1, duration="500s")
        report = self.ok(
            self.fleet.run_job(
                job,
                "--set",
                "phases.1.run.duration=1s",
                "--set",
                "labels.ticket=42",
                "--format",
                "json",
            )
        ).json()
        self.assertAlmostEqual(report["phases"][1]["windowEndSeconds"], 1, delta=0.01)
        self.assertEqual(report["run"]["labels"], {"ticket": "42"})
        wrong = self.ok(self.fleet.run_job(job, "--set", "phases.9.run.duration=1s"), 2)
        self.assertIn("'9' is not one of the list's numbers, 0 to 2", wrong.err)

    def test_stdout_is_pure_and_without_colours(self):
        done = self.ok(
            self.fleet.run_job(
                files_job(self.fleet.data, hosts=1, duration="1s"), "--format", "json"
            )
        )
        json.loads(done.out)
        text = self.ok(self.fleet.lockstep("report", "last")).out
        self.assertNotIn("\x1b", text)
        self.assertTrue(
            all(len(line) <= 100 for line in text.splitlines()),
            [line for line in text.splitlines() if len(line) > 100],
        )
        csv = self.ok(self.fleet.lockstep("report", "last", "--format", "csv")).out.splitlines()
        self.assertEqual(len({line.count(",") for line in csv}), 1)
        self.assertTrue(csv[0].startswith("run,job,phase,"))

    def test_submit_prints_the_id_and_watch_follows_it(self):
        run = self.ok(
            self.fleet.lockstep(
                "submit", "-", stdin=files_job(self.fleet.data, hosts=1, duration="1s")
            )
        ).out.strip()
        self.assertRegex(run, "^[0-9a-f-]{36}$")
        watched = self.ok(self.fleet.lockstep("watch", run[:8], "--format", "json"))
        self.assertEqual(watched.json()["run"]["runId"], run)
        self.assertIn("[2/3] mix", watched.err)

    def test_listings(self):
        self.assertIn("node1", self.ok(self.fleet.lockstep("hosts")).out)
        self.assertIn("/dev/", self.ok(self.fleet.lockstep("devices")).out)
        status = self.ok(self.fleet.lockstep("status")).out
        self.assertIn("1 worker attached", status)
        self.assertRegex(status, r"^controller \S+, protocol \d+, epoch \d+\n")
        (worker,) = self.ok(self.fleet.lockstep("status", "--format", "json")).json()["workers"]
        self.assertEqual(worker["hello"]["spokenVersion"], worker["hello"]["protocolVersion"])

    def test_a_run_that_does_not_exist(self):
        self.assertIn(
            "no run's id begins with 'ffff0000'",
            self.ok(self.fleet.lockstep("report", "ffff0000"), 1).err,
        )

    def test_no_controller_says_what_to_do(self):
        done = subprocess.run(
            [f"{BIN}/lockstep", "--controller", "127.0.0.1:1", "status"],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        self.assertEqual(done.returncode, 1)
        self.assertIn("nobody listens there. Start one here with `lockstep up`", done.stderr)

    def test_addresses_and_numbers_that_are_none(self):
        for program, *words in (
            ("lockstep", "status", "--controller", "127.0.0.1"),
            ("lockstep-worker", "--controller", "127.0.0.1:99999"),
            ("lockstep-controller", "--listen", "127.0.0.1:99999"),
            ("lockstep-controller", "--lease", "nan"),
            ("lockstep-controller", "--spool-mib", "inf"),
        ):
            done = subprocess.run(
                [f"{BIN}/{program}", *words],
                capture_output=True,
                text=True,
                timeout=30,
                check=False,
            )
            self.assertNotEqual(done.returncode, 0, program)
            self.assertRegex(done.stderr, "write HOST:PORT|not a number|not in range", program)

    def test_other_clients_take_the_store_s_url(self):
        with open(f"{ROOT}/docs/reference/sql.md", encoding="utf-8") as text:
            (command,) = re.findall(r"```sh\n(.*?)```", text.read(), re.DOTALL)
        done = subprocess.run(
            ["bash", "-ec", command],
            env={**self.fleet.environment(), "PATH": f"{BIN}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("p99_ms", done.stdout)
        url = self.ok(self.fleet.lockstep("sql", "--url")).out
        self.assertTrue(url.startswith("postgresql://"), url)
        self.assertNotIn("password", url)

    def test_sql_reads_and_cannot_write(self):
        self.ok(self.fleet.lockstep("sql", "-c", "SELECT * FROM run_overview"))
        done = self.fleet.lockstep("sql", "-c", "DELETE FROM lockstep.runs")
        self.assertNotEqual(done.status, 0)
        still = self.fleet.lockstep(
            "sql", "-c", "SET TRANSACTION READ WRITE; DELETE FROM lockstep.runs"
        )
        self.assertIn("permission denied", still.err)

    def test_the_queries_of_the_cookbook_run(self):
        self.ok(self.fleet.run_job(files_job(self.fleet.data, hosts=1, duration="1s")))
        with open(f"{ROOT}/docs/reference/sql.md", encoding="utf-8") as text:
            queries = re.findall(r"```sql\n(.*?)```", text.read(), re.DOTALL)
        self.assertGreater(len(queries), 4)
        for query in queries:
            rows = self.ok(self.fleet.lockstep("sql", "--csv", "-c", query)).out.splitlines()
            self.assertTrue(len(rows) > 1 or "r.job = 'mixed'" in query, query)

    def test_the_queries_of_the_cookbook_give_the_reports_figures(self):
        # So many I/Os that no percentile is that of the longest one.
        fast = ", max_iops: 1M, fsync: {every: 20}"
        job = files_job(self.fleet.data, hosts=1, duration="2s", workload=fast).replace(
            "name: small", "name: mixed"
        )
        report = self.ok(self.fleet.run_job(job, "--format", "json")).json()
        mix = next(phase for phase in report["phases"] if phase["name"] == "mix")
        with open(f"{ROOT}/docs/reference/sql.md", encoding="utf-8") as text:
            queries = {
                title.strip().split("\n")[-1]: query
                for title, query in re.findall(
                    r"\n([^\n]+:)\n\n```sql\n(.*?)```", text.read(), re.DOTALL
                )
            }

        def rows(beginning):
            query = next(query for title, query in queries.items() if title.startswith(beginning))
            lines = self.ok(self.fleet.lockstep("sql", "--csv", "-c", query)).out.splitlines()
            return [
                dict(zip(lines[0].split(","), line.split(","), strict=False)) for line in lines[1:]
            ]

        self.assertTrue(
            any(
                operation["kind"] == "fsync"
                for workload in mix["workloads"]
                for operation in workload["operations"]
            ),
            mix["workloads"],
        )
        throughput = [row for row in rows("Throughput per host") if row["phase_name"] == "mix"]
        self.assertEqual({row["kind"] for row in throughput}, {"read", "write"})
        self.assertAlmostEqual(
            sum(float(row["iops"]) for row in throughput), mix["total"]["iops"], delta=2
        )
        p99 = next(p["latencyNs"] for p in mix["total"]["percentiles"] if p["percent"] == 99)
        self.assertAlmostEqual(
            float(
                next(row for row in rows("p99 of each phase") if row["phase_name"] == "mix")[
                    "p99_ms"
                ]
            )
            * 1e6,
            p99,
            delta=p99 * 1e-6,
        )
        seconds = rows("p99 of every second")
        self.assertEqual(len(seconds), len(mix["iopsByInterval"]))
        p999 = next(p["latencyNs"] for p in mix["total"]["percentiles"] if p["percent"] == 99.9)
        slowest = rows("The slowest ten-second stretch")
        self.assertEqual([row["phase_name"] for row in slowest], ["mix"])
        self.assertAlmostEqual(float(slowest[0]["p999_ms"]) * 1e6, p999, delta=p999 * 1e-6)
        history = {
            row["kind"]: float(row["p99_ms"]) * 1e6
            for row in rows("A job's p99 over time")
            if row["submitted_at"].startswith(report["run"]["submittedAt"][:19].replace("T", " "))
        }
        kinds = {
            operation["kind"]: next(
                p["latencyNs"] for p in operation["percentiles"] if p["percent"] == 99
            )
            for workload in mix["workloads"]
            for operation in workload["operations"]
            if operation["kind"] != "fsync"
        }
        self.assertEqual(set(history), set(kinds))
        for kind, p99 in kinds.items():
            self.assertAlmostEqual(history[kind], p99, delta=p99 * 1e-6)

    def test_the_readmes_job_is_one(self):
        with open(f"{ROOT}/README.md", encoding="utf-8") as text:
            job = re.search(r"```yaml\n(.*?)```", text.read(), re.DOTALL).group(1)
        planned = self.fleet.lockstep(
            "plan", "-", stdin=job.replace("/mnt/test", self.fleet.data).replace("4GiB", "4MiB")
        )
        self.assertIn("makes 1 file of 4 MiB", self.ok(planned).out)
        self.assertIn("mix (run), 5 s ramp + 60 s\n", planned.out)

    def test_interrupt_asks_and_may_end_only_the_watching(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as job:
            job.write(
                files_job(self.fleet.data, hosts=1, duration="5s", extra="store_filesystem: true")
            )
            job.flush()
            pid, terminal = pty.fork()
            if pid == 0:
                os.environ.update(self.fleet.environment())
                os.execv(f"{BIN}/lockstep", ["lockstep", "run", job.name])
            seen = b""
            sent = False
            try:
                while True:
                    seen += os.read(terminal, 4096)
                    if (
                        not sent
                        and b"mix\x1b[0m: running" in seen.replace(b"\r", b"")
                        or not sent
                        and b"mix: running" in seen
                    ):
                        os.write(terminal, b"\x03")
                        sent = True
                    if seen.count(b"keep watching?") == 1 and not seen.endswith(b"w\r\n"):
                        os.write(terminal, b"w\n")
                        seen += b"w\r\n"
            except OSError:
                pass  # the other side has ended
            _, status = os.waitpid(pid, 0)
            os.close(terminal)
            self.assertEqual(os.waitstatus_to_exitcode(status), 0, seen)
            self.assertIn(b"the run goes on", seen)
        self.assertEqual(
            self.ok(self.fleet.lockstep("watch", "last", "--format", "json")).json()["run"][
                "state"
            ],
            "done",
        )

    def test_completion_knows_the_commands(self):
        script = self.ok(self.fleet.lockstep("completion", "bash")).out
        probe = (
            script + '\nCOMP_WORDS=(lockstep re); COMP_CWORD=1; _lockstep; echo "${COMPREPLY[@]}"\n'
            'COMP_WORDS=(lockstep report --f); COMP_CWORD=2; _lockstep; echo "${COMPREPLY[@]}"\n'
            'COMP_WORDS=(lockstep pki i); COMP_CWORD=2; _lockstep; echo "${COMPREPLY[@]}"\n'
            "COMP_WORDS=(lockstep --controller ctl:1 fleet up --al); COMP_CWORD=5; _lockstep\n"
            'echo "${COMPREPLY[@]}"\n'
            'COMP_WORDS=(lockstep support); COMP_CWORD=1; _lockstep; echo "${COMPREPLY[@]}"\n'
        )
        done = subprocess.run(["bash", "-c", probe], capture_output=True, text=True, check=True)
        lines = [set(line.split()) for line in done.stdout.splitlines()]
        self.assertEqual(lines[:3], [{"report", "rerun"}, {"--format"}, {"init", "issue"}])
        self.assertIn("--allow", lines[3])
        self.assertEqual(lines[4], {"support-bundle"})

    def test_completion_offers_the_formats_that_a_command_accepts(self):
        script = self.ok(self.fleet.lockstep("completion", "bash")).out
        commands = ("run", "report", "preset", "sysbench", "demo", "compare", "gate", "plan", "pki")
        for command in commands:
            words = (command, "list") if command == "pki" else (command,)
            probe = (
                f"{script}\nCOMP_WORDS=(lockstep {' '.join(words)} --format ''); "
                f'COMP_CWORD={len(words) + 2}; _lockstep; echo "${{COMPREPLY[@]}}"\n'
            )
            done = subprocess.run(["bash", "-c", probe], capture_output=True, text=True, check=True)
            help_text = self.ok(self.fleet.lockstep(*words, "--help")).out
            accepted = re.search(r"--format TEXT:\{([^}]*)\}", help_text).group(1)
            self.assertEqual(done.stdout.split(), accepted.split(","), command)

    def test_the_table_of_limits_is_current(self):
        made = subprocess.run(
            [f"{ROOT}/tools/limits"], capture_output=True, text=True, check=True
        ).stdout
        with open(f"{ROOT}/docs/reference/limits.md", encoding="utf-8") as text:
            self.assertEqual(text.read(), made, "tools/limits > docs/reference/limits.md")

    def test_the_reference_of_the_commands_is_current(self):
        made = subprocess.run(
            ["python3", f"{ROOT}/tools/cli-reference"], capture_output=True, text=True, check=True
        ).stdout
        with open(f"{ROOT}/docs/reference/cli.md", encoding="utf-8") as text:
            self.assertEqual(
                text.read(), made, "stale: tools/cli-reference > docs/reference/cli.md"
            )

    def test_the_job_reference_is_current(self):
        made = subprocess.run(
            ["python3", f"{ROOT}/tools/job-reference"], capture_output=True, text=True, check=True
        ).stdout
        with open(f"{ROOT}/docs/reference/job.md", encoding="utf-8") as kept:
            self.assertEqual(
                kept.read(),
                made,
                "docs/reference/job.md is stale; run tools/job-reference > docs/reference/job.md",
            )
