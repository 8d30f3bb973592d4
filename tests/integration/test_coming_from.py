"""Each row of the tables for those who come from sysbench and fio is a job that runs."""

import os
import re

from fleet import ROOT, FleetTest, needs_root

# Fields that pace a load, or end it.
PACED = ("max_", "open_loop", "think", "operations", "passes", "io_size", "latency")


def rows(name):
    """(line number, fragment, where) of each row with something to write."""
    found = []
    with open(os.path.join(ROOT, "docs/guide", name), encoding="utf-8") as text:
        for number, line in enumerate(text, 1):
            cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
            if len(cells) != 3 or cells[2] not in ("workload", "file", "run", "job"):
                continue
            fragment = re.match(r"`([^`]+)`", cells[1])
            found.append((number, fragment.group(1), cells[2]))
    return found


def job_of(data, table, short, long):
    """One job with a phase for each row: the rows of the workload on common files, the others each
    with what they change. A phase lasts `short`, or `long` where the row is about the run.
    """
    targets, phases, top = [], [], []
    for number, fragment, where in table:
        workload, run, own = "", f"duration: {short}", ""
        target = "files"
        if where == "workload":
            workload = ", " + fragment
            if "create: true" in fragment:
                target = f"made{number}"
                path = f"{data}/{{host}}/{target}"
                targets.append(
                    f'{{name: {target}, file: {{path: "{path}", size: 4MiB, count: 2}}}}'
                )
        elif where == "run":
            # The tables' durations are people's; with a ramp the whole is short already.
            run = (
                fragment
                if "ramp" in fragment
                else re.sub(r"duration: \w+", f"duration: {long}", fragment)
            )
            run = run if "duration" in run else run + f", duration: {long}"
        elif where == "job":
            top.append(fragment)
            continue
        else:
            target = f"own{number}"
            own = re.sub(r"(\d+)(GiB|MiB)", lambda m: "8MiB", fragment)
            sizes = own if "size" in own else own + ", size: 1MiB"
            targets.append(
                f'{{name: {target}, file: {{path: "{data}/{{host}}/{target}", {sizes}}}}}'
            )
        # Enough for a sync after a hundred I/Os, where the row itself has nothing to say of it.
        if not any(word in workload for word in PACED):
            workload += ", max_iops: 2000"
        phases.append(f"""  - name: line {number}
    run: {{{run}, workloads: [{{targets: {target}{workload}}}]}}""")
    made = [t for t in targets if "made" not in t]
    prepared = ", ".join(["files"] + [re.search(r"name: (\w+)", t).group(1) for t in made])
    everything = "\n".join(f"  - {t}" for t in targets)
    lines = "\n".join(phases)
    return f"""name: rows
{chr(10).join(top)}
targets:
  - {{name: files, file: {{path: "{data}/{{host}}/file", size: 8MiB, count: 4}}}}
{everything}
phases:
  - prepare: {{targets: [{prepared}]}}
{lines}
  - cleanup:
"""


@needs_root
class ComingFrom(FleetTest):
    workers = 1

    def run_rows(self, table, short="200ms", long="300ms"):
        """The phases of the report by name, and the phases in which no I/O was
        measured: beside busy neighbours a short phase may pass before its threads are scheduled,
        or complete all its I/O in its drain.
        """
        job = job_of(self.fleet.data, table, short, long)
        ran = self.fleet.run_job(job, "--format", "json", timeout=300)
        phases = {phase["name"]: phase for phase in ran.json()["phases"]}
        idle = [
            name
            for name, phase in phases.items()
            if name.startswith("line") and phase["total"]["operations"] == 0
        ]
        # Nothing measured, or an expectation of a phase without I/O.
        if not (idle and ran.status in (3, 4)):
            self.ok(ran)
        return phases, idle

    def check(self, name, least, first=0, step=1):
        table = rows(name)
        self.assertGreaterEqual(len(table), least)
        table = table[first::step]
        phases, idle = self.run_rows(table)
        if idle:
            again = [row for row in table if row[2] == "job" or f"line {row[0]}" in idle]
            more, still = self.run_rows(again, "5s", "5s")
            self.assertEqual(still, [])
            phases.update(more)
        for number, fragment, where in table:
            if where == "job":
                continue
            phase = phases[f"line {number}"]
            with self.subTest(line=number, fragment=fragment):
                self.assertEqual(phase["state"], "done")
                self.assertEqual(phase["total"]["errors"], 0)
                kinds = {operation["kind"] for operation in phase["workloads"][0]["operations"]}
                # A sync is due after a hundred I/Os, more than a short phase on a busy disk may do.
                due = phase["total"]["operations"] >= 200
                if "fsync:" in fragment and "at_end" not in fragment and due:
                    self.assertIn("fsync", kinds)
                if "trim: 100%" in fragment:
                    self.assertLessEqual(kinds, {"trim"})
                # In a short phase on a busy disk a few I/Os may be all of one kind.
                enough = phase["total"]["operations"] >= 20
                mixed = any(f"read: {share}%" in fragment for share in (50, 60, 70))
                if mixed and enough:
                    self.assertLessEqual({"read", "write"}, kinds)
        self.assertEqual(os.listdir(self.fleet.data), [])

    def test_every_row_for_sysbench(self):
        self.check("coming-from-sysbench.md", 34)

    def test_every_other_row_for_fio(self):
        self.check("coming-from-fio.md", 55, 0, 2)

    def test_the_other_rows_for_fio(self):
        self.check("coming-from-fio.md", 55, 1, 2)
