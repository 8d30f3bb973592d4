// Two to five runs side by side; the first is what the others are compared with.

import { choices, choose } from "./address";
import {
  get,
  NotThere,
  type ComparedFigure,
  type ComparedValue,
  type Comparison,
  type FleetSeries,
  type JobReply,
  type Report,
  type SeriesReply,
} from "./api";
import { ChartGroup, withGaps, type Line } from "./charts";
import { element, figure, table, text, type Cell } from "./dom";
import { count, instant, latency, none, percent, plural, throughput } from "./format";
import { wholeSpans } from "./report_charts";
import { factsOf } from "./report_view";
import { pill, syntheticMark, verdictOfReport } from "./verdict";
import { Requests, type View } from "./view";

const points = 400;
const mostLines = 400; // of a job that is compared line by line
const mostPhases = 10; // that are drawn

interface Run {
  id: string;
  head: Report;
  job: JobReply;
  environment: Report;
}

function shown(unit: string, value: number): string {
  if (unit === "ns") return latency(value);
  if (unit === "B/s") return throughput(value);
  if (unit === "1/s") return count(value);
  if (unit === "1/IO" || unit === "B/B") return value.toPrecision(3);
  return unit === "%" ? `${(100 * value).toPrecision(3)} %` : value.toPrecision(4);
}

function change(value: ComparedValue): string {
  if (value.change === undefined || value.change === null) return "";
  const sign = (v: number) => {
    const size = percent(Math.abs(v));
    return size === percent(0) ? size : `${v >= 0 ? "+" : "−"}${size}`;
  };
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

function verdictText(compared: ComparedFigure, value: ComparedValue): string {
  if (!compared.judged) return "not judged";
  const known = words[value.verdict as unknown as string] ?? "";
  return value.mayBeDrift ? "may be drift" : known;
}

function rowOf(compared: ComparedFigure): Cell[] {
  return [
    text(compared.phase),
    text([compared.workload, compared.kind].filter(Boolean).join(" ")),
    text(compared.figure),
    ...compared.values.flatMap((value, i) => {
      const cells: Cell[] = [
        figure(value.median, (v) => (value.runs > 0 ? shown(compared.unit, v) : none)),
      ];
      if (i === 0) return cells;
      cells.push({ show: change(value), sort: value.change ?? 0 });
      cells.push(text(verdictText(compared, value)));
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

// What limited a phase has no difference that could be computed.
function limitRow(limit: Comparison["limits"][number]): Cell[] {
  const [first, ...others] = limit.values;
  return [
    text(limit.phase),
    text("total"),
    text("limited by"),
    text(first || none),
    ...others.flatMap((value) => [
      text(value || none),
      text(""),
      text(!first || !value ? "" : value === first ? "the same" : "another"),
    ]),
  ];
}

export class CompareView implements View {
  private readonly requests = new Requests();
  private readonly body = element("div");
  private readonly groups: ChartGroup[] = [];

  constructor(
    main: HTMLElement,
    private readonly ids: string[],
  ) {
    main.replaceChildren(element("h1", {}, "Comparison"), this.body);
    this.body.append(element("p", { class: "muted", role: "status" }, "loading"));
    void this.load();
  }

  destroy(): void {
    this.requests.end();
    for (const group of this.groups) group.destroy();
  }

  private async load(): Promise<void> {
    const { signal } = this.requests;
    try {
      const [comparison, runs] = await Promise.all([
        get<Comparison>(`/api/compare?runs=${this.ids.join(",")}`, signal),
        Promise.all(this.ids.map((id) => this.run(id))),
      ]);
      if (this.requests.isOver) return;
      this.draw(comparison, runs);
      await this.overlay(runs);
    } catch (error) {
      if (this.requests.isOver) return;
      this.body.replaceChildren(element("p", { class: "error" }, String(error)));
    }
  }

  private async run(id: string): Promise<Run> {
    const { signal } = this.requests;
    const [head, job, environment] = await Promise.all([
      get<Report>(`/api/runs/${id}`, signal),
      get<JobReply>(`/api/runs/${id}/job`, signal),
      get<Report>(`/api/runs/${id}/environment`, signal),
    ]);
    return { id: head.run?.runId ?? id, head, job, environment };
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
          {
            show: element(
              "span",
              {},
              pill(verdictOfReport(run.head)),
              " ",
              ...syntheticMark(run.head.run),
            ),
          },
          text(instant(run.head.run?.submittedAt ?? "")),
          text(run.head.run?.owner ?? ""),
        ]),
      ),
      ...comparison.warnings.map((warning) => element("p", { class: "warn" }, warning)),
      ...(comparison.missing > 0
        ? [
            element(
              "p",
              { class: "warn" },
              `${plural(comparison.missing, "figure")} of ${this.name(runs[0])} ` +
                `${comparison.missing === 1 ? "is" : "are"} not in the others.`,
            ),
          ]
        : []),
      element("h2", {}, "Figures"),
      table(columns, [...comparison.figures.map(rowOf), ...comparison.limits.map(limitRow)]),
      element("h2", {}, "Over time"),
      element("div", { id: "overlays" }),
      ...this.jobs(runs),
      ...this.environments(runs),
    );
  }

  private jobs(runs: Run[]): HTMLElement[] {
    return runs.slice(1).flatMap((run) => {
      const title = element("h2", {}, `Job: ${this.name(runs[0])} and ${this.name(run)}`);
      const muted = (words: string) => [title, element("p", { class: "muted" }, words)];
      const [before, after] = [runs[0].job.source, run.job.source];
      if (!before || !after) return muted("Not both came as a file.");
      if (before === after) return muted("The job files are equal.");
      const changed = differences(before, after);
      const allLines = Math.max(before.split("\n").length, after.split("\n").length);
      const rest =
        allLines > mostLines
          ? [element("p", { class: "warn" }, `Only their first ${mostLines} lines are compared.`)]
          : [];
      const lines = changed.map(({ sign, line }) =>
        element("div", { class: sign === "+" ? "good" : "error" }, `${sign} ${line}`),
      );
      return [title, ...rest, element("div", { class: "job", tabindex: "0" }, ...lines)];
    });
  }

  private environments(runs: Run[]): HTMLElement[] {
    const all = runs.map((run) => factsOf(run.environment));
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
    if (names.length > mostPhases)
      place?.append(
        element("p", { class: "warn" }, `The first ${mostPhases} of ${names.length} phases.`),
      );
    for (const name of names.slice(0, mostPhases)) {
      const series = await Promise.all(runs.map((run) => this.series(run, name)));
      if (this.requests.isOver || !place) return;
      if (series.every((one) => one === undefined)) continue;
      const all = choices();
      const span: [number, number] | undefined =
        all.get("phase") === name ? [Number(all.get("from")), Number(all.get("to"))] : undefined;
      const chosen = (shown?: [number, number]) =>
        choose({
          phase: shown ? name : null,
          from: shown ? shown[0].toFixed(1) : null,
          to: shown ? shown[1].toFixed(1) : null,
        });
      const group = new ChartGroup(`compare-${name}`, chosen, span);
      this.groups.push(group);
      place.append(element("h3", {}, name), group.root);
      // When all of them were measured.
      const spans = series.flatMap((one) => (one?.spans ? [one.spans] : []));
      const measured = (): [number, number] => [
        Math.max(...spans.map((one) => one.measuredFromSeconds)),
        Math.min(...spans.map((one) => one.measuredToSeconds)),
      ];
      const draw = (
        title: string,
        show: (v: number) => string,
        log: boolean,
        of: (fleet: FleetSeries) => number[],
      ) => {
        const { x, lines } = joined(
          series,
          runs.map((run) => this.name(run)),
          of,
        );
        group.chart({ title: `${title}, ${name}`, show, log, measured }).set(x, lines);
      };
      draw("IOPS of the fleet", count, false, (fleet) => fleet.iops);
      draw("Throughput of the fleet, MiB/s", count, false, (fleet) =>
        fleet.bytesPerSecond.map((v) => v / 1048576),
      );
      draw("p50 of the fleet", latency, true, (fleet) => fleet.p50Ns);
      draw("p99 of the fleet", latency, true, (fleet) => fleet.p99Ns);
    }
  }

  private async series(run: Run, name: string): Promise<SeriesReply | undefined> {
    const phase = run.head.phases.find((p) => p.name === name);
    if (!phase) return undefined;
    try {
      const path = `/api/runs/${run.id}/series?phase=${phase.index}&bins=${points}`;
      return await get<SeriesReply>(path, this.requests.signal);
    } catch (error) {
      if (error instanceof NotThere) return undefined;
      throw error;
    }
  }
}

// Runs' spans end a little apart: each line has its own points, and goes on beside the others'
// (undefined: uPlot draws on); where a run has a gap, or has ended, there is none (null).
function joined(
  series: (SeriesReply | undefined)[],
  labels: string[],
  of: (fleet: FleetSeries) => number[],
): { x: number[]; lines: Line[] } {
  const own = series.map((one, i) => {
    if (!one?.fleet || !one.spans) return { x: [] as number[], values: [] as (number | null)[] };
    const places = wholeSpans(one);
    const { beginSeconds, endSeconds } = one.spans;
    const values = of(one.fleet);
    const whole = withGaps(
      places.map((p) => beginSeconds[p]),
      places.map((p) => endSeconds[p]),
      [{ label: labels[i], values: places.map((p) => values[p]) }],
    );
    return { x: whole.x, values: whole.lines[0].values };
  });
  const x = [...new Set(own.flatMap((one) => one.x))].sort((a, b) => a - b);
  const lines = own.map((one, i) => {
    const at = new Map(one.x.map((end, e) => [end, one.values[e]]));
    return { label: labels[i], values: x.map((end) => at.get(end) as number | null) };
  });
  return { x, lines };
}
