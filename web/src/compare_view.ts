// Two to five runs side by side; the first is what the others are compared with.

import {
  get,
  NotThere,
  type ComparedFigure,
  type ComparedValue,
  type Comparison,
  type JobReply,
  type Report,
  type SeriesReply,
} from "./api";
import { ChartGroup, type Line } from "./charts";
import { element, figure, table, text, type Cell } from "./dom";
import { count, instant, latency, percent, throughput } from "./format";
import { wholeSpans } from "./report_charts";
import { factsOf } from "./report_view";
import { pill, verdictOfReport } from "./verdict";
import { Asking, type View } from "./view";

const points = 400;
const mostLines = 400; // of a job that is compared line by line

interface Run {
  id: string;
  head: Report;
  job: JobReply;
  circumstances: Report;
}

function shown(unit: string, value: number): string {
  if (unit === "ns") return latency(value);
  if (unit === "B/s") return throughput(value);
  if (unit === "1/s") return count(value);
  return unit === "%" ? `${value.toFixed(2)} %` : value.toPrecision(4);
}

function change(value: ComparedValue): string {
  if (value.change === undefined || value.change === null) return "";
  const sign = (v: number) => `${v >= 0 ? "+" : "−"}${percent(Math.abs(v))}`;
  const interval = value.hasInterval
    ? ` (${sign(value.changeLow)} to ${sign(value.changeHigh)})`
    : "";
  return sign(value.change) + interval;
}

const words: Record<string, string> = {
  CHANGE_NONE: "no difference told from noise",
  CHANGE_BETTER: "better",
  CHANGE_WORSE: "worse",
  CHANGE_UNKNOWN: "too few runs to tell",
};

function rowOf(compared: ComparedFigure): Cell[] {
  return [
    text(compared.phase),
    text([compared.workload, compared.kind].filter(Boolean).join(" ")),
    text(compared.figure),
    ...compared.values.flatMap((value, i) => {
      const cells: Cell[] = [
        figure(value.median, (v) => (value.runs > 0 ? shown(compared.unit, v) : "–")),
      ];
      if (i === 0) return cells;
      cells.push({ show: change(value), sort: value.change ?? 0 });
      cells.push(text(words[value.verdict as unknown as string] ?? ""));
      return cells;
    }),
  ];
}

// Lines that are in the one text and not in the other: the longest common part stays.
export function differences(before: string, after: string): { sign: string; line: string }[] {
  const a = before.split("\n").slice(0, mostLines);
  const b = after.split("\n").slice(0, mostLines);
  const longest = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      longest[i][j] =
        a[i] === b[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
  const changed: { sign: string; line: string }[] = [];
  for (let i = 0, j = 0; i < a.length || j < b.length; ) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      i++;
      j++;
    } else if (j >= b.length || (i < a.length && longest[i + 1][j] >= longest[i][j + 1])) {
      changed.push({ sign: "−", line: a[i++] });
    } else {
      changed.push({ sign: "+", line: b[j++] });
    }
  }
  return changed;
}

export class CompareView implements View {
  private readonly asking = new Asking();
  private readonly body = element("div");
  private readonly groups: ChartGroup[] = [];

  constructor(
    main: HTMLElement,
    private readonly ids: string[],
  ) {
    main.replaceChildren(element("h1", {}, "Comparison"), this.body);
    this.body.append(element("p", { class: "muted", role: "status" }, "asking"));
    void this.load();
  }

  destroy(): void {
    this.asking.end();
    for (const group of this.groups) group.destroy();
  }

  private async load(): Promise<void> {
    const { signal } = this.asking;
    try {
      const [comparison, runs] = await Promise.all([
        get<Comparison>(`/api/compare?runs=${this.ids.join(",")}`, signal),
        Promise.all(this.ids.map((id) => this.run(id))),
      ]);
      if (this.asking.isOver) return;
      this.draw(comparison, runs);
      await this.overlay(runs);
    } catch (error) {
      if (this.asking.isOver) return;
      this.body.replaceChildren(element("p", { class: "error" }, String(error)));
    }
  }

  private async run(id: string): Promise<Run> {
    const { signal } = this.asking;
    const [head, job, circumstances] = await Promise.all([
      get<Report>(`/api/runs/${id}`, signal),
      get<JobReply>(`/api/runs/${id}/job`, signal),
      get<Report>(`/api/runs/${id}/circumstances`, signal),
    ]);
    return { id: head.run?.runId ?? id, head, job, circumstances };
  }

  private name(run: Run): string {
    return `${run.head.run?.jobName ?? ""} ${run.id.slice(0, 8)}`;
  }

  private draw(comparison: Comparison, runs: Run[]): void {
    const others = runs.slice(1);
    const columns = [
      { title: "phase" },
      { title: "operation" },
      { title: "figure" },
      { title: this.name(runs[0]), numeric: true },
      ...others.flatMap((run) => [
        { title: this.name(run), numeric: true },
        { title: "difference", numeric: true },
        { title: "told from noise" },
      ]),
    ];
    this.body.replaceChildren(
      table(
        [{ title: "run" }, { title: "verdict" }, { title: "submitted" }, { title: "owner" }],
        runs.map((run) => [
          { show: element("a", { href: `#/run/${run.id}` }, this.name(run)), sort: run.id },
          { show: pill(verdictOfReport(run.head)) },
          text(instant(run.head.run?.submittedAt ?? "")),
          text(run.head.run?.owner ?? ""),
        ]),
      ),
      ...comparison.warnings.map((warning) => element("p", { class: "warn" }, warning)),
      element("h2", {}, "Figures"),
      table(columns, comparison.figures.map(rowOf)),
      element("h2", {}, "Over time"),
      element("div", { id: "overlays" }),
      ...this.jobs(runs),
      ...this.environments(runs),
    );
  }

  private jobs(runs: Run[]): HTMLElement[] {
    return runs.slice(1).flatMap((run) => {
      const changed = differences(runs[0].job.source, run.job.source);
      const title = element("h2", {}, `Job: ${this.name(runs[0])} and ${this.name(run)}`);
      if (changed.length === 0)
        return [title, element("p", { class: "muted" }, "The job files are equal.")];
      const lines = changed.map(({ sign, line }) =>
        element("div", { class: sign === "+" ? "good" : "error" }, `${sign} ${line}`),
      );
      return [title, element("div", { class: "job", tabindex: "0" }, ...lines)];
    });
  }

  private environments(runs: Run[]): HTMLElement[] {
    const all = runs.map((run) => factsOf(run.circumstances));
    const facts = [...new Set(all.flatMap((one) => [...one.keys()]))].sort();
    const value = (run: number, fact: string) =>
      [...(all[run].get(fact)?.keys() ?? [])].sort().join("; ");
    const rows = facts
      .filter((fact) => new Set(runs.map((_, i) => value(i, fact))).size > 1)
      .map((fact) => [text(fact), ...runs.map((_, i) => text(value(i, fact)))]);
    const title = element("h2", {}, "Environment");
    if (rows.length === 0)
      return [title, element("p", { class: "muted" }, "No fact of the hosts differs.")];
    const columns = [{ title: "fact" }, ...runs.map((run) => ({ title: this.name(run) }))];
    return [title, table(columns, rows)];
  }

  // Phases of one name over each other, each run from its own start.
  private async overlay(runs: Run[]): Promise<void> {
    const place = document.getElementById("overlays");
    const names = runs[0].head.phases.filter((p) => p.workloads.length > 0).map((p) => p.name);
    for (const name of names.slice(0, 10)) {
      const series = await Promise.all(runs.map((run) => this.series(run, name)));
      if (this.asking.isOver || !place) return;
      const ends = (one: SeriesReply | undefined): number[] =>
        one ? wholeSpans(one).map((i) => one.spans?.endSeconds[i] ?? 0) : [];
      const x = [...new Set(series.flatMap(ends))].sort((a, b) => a - b);
      if (x.length === 0) continue;
      const group = new ChartGroup(`compare-${name}`);
      this.groups.push(group);
      place.append(element("h3", {}, name), group.root);
      const lines = (of: (one: SeriesReply) => number[]): Line[] =>
        series.map((one, i) => {
          const places = one ? wholeSpans(one) : [];
          const at = new Map(
            ends(one).map((end, e) => [end, one ? of(one)[places[e]] : 0] as [number, number]),
          );
          return { label: this.name(runs[i]), values: filled(x, at) };
        });
      const draw = (title: string, show: (v: number) => string, log: boolean, data: Line[]) =>
        group.chart({ title: `${title}, ${name}`, show, log }).set(x, data);
      draw(
        "IOPS of the fleet",
        count,
        false,
        lines((one) => one.fleet?.iops ?? []),
      );
      draw(
        "p50 of the fleet",
        latency,
        true,
        lines((one) => one.fleet?.p50Ns ?? []),
      );
      draw(
        "p99 of the fleet",
        latency,
        true,
        lines((one) => one.fleet?.p99Ns ?? []),
      );
    }
  }

  private async series(run: Run, name: string): Promise<SeriesReply | undefined> {
    const phase = run.head.phases.find((p) => p.name === name);
    if (!phase) return undefined;
    try {
      const path = `/api/runs/${run.id}/series?phase=${phase.index}&bins=${points}`;
      return await get<SeriesReply>(path, this.asking.signal);
    } catch (error) {
      if (error instanceof NotThere) return undefined;
      throw error;
    }
  }
}

// Runs' spans end a little apart: a line goes on between its own points, not beyond them.
function filled(x: number[], at: Map<number, number>): (number | null)[] {
  const own = [...at.keys()];
  const last = own.length === 0 ? -1 : Math.max(...own);
  let value: number | null = null;
  return x.map((end) => {
    value = at.get(end) ?? value;
    return end <= last ? value : null;
  });
}
