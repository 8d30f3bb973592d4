// Two to five sets of runs side by side; the first is what the others are compared with.

import "./base";
import { command } from "./actions";
import { choices, choose } from "./address";
import {
  get,
  messageOf,
  NotThere,
  type ComparedFigure,
  type Comparison,
  type FleetSeries,
  type JobReply,
  type Report,
  type SeriesReply,
} from "./api";
import { ChartGroup, wholeSpans, withGaps, type Timed } from "./charts";
import { alikeOf, isInAll, unlike, type Alike } from "./compare_alike";
import { differenceBars, shownValue } from "./compare_bars";
import {
  changeText,
  conclusionOf,
  differencesOf,
  differingLines,
  letterOf,
  medianOfPairs,
  titlesOf,
  verdictOfSet,
  verdictOfValue,
  type Compared,
  type Difference,
} from "./compare_words";
import { element, fold, optional, shortened, table, text, timeOf, type Cell } from "./dom";
import { eventEntry } from "./events";
import { bound, count, latency, none, plural } from "./format";
import { factsOf } from "./report_environment";
import { pill, syntheticMark, verdictOfReport } from "./verdict";
import { Requests, type View } from "./view";

const points = 400;
const mostLines = 400; // of a job that is compared line by line
const mostPhases = 10; // that are drawn
const namedRuns = 10; // of a set
const shownDifferences = 6;
const shownWarnings = 3;
const openLines = 12; // of a fold that is open without being asked for

// A set's last run: its job, its hosts, its course over time.
interface Run {
  id: string;
  title: string; // of the set
  head: Report;
  job: JobReply;
  environment: Report;
}

// `sizes`: the runs of each set. A median of fewer says so.
function rowOf(compared: ComparedFigure, canTell: boolean[], sizes: number[]): Cell[] {
  return [
    text(compared.phase),
    text([compared.workload, compared.kind].filter(Boolean).join(" ")),
    text(compared.figure),
    ...compared.values.flatMap((value, i) => {
      const of = value.runs < sizes[i] ? ` (${value.runs} of ${plural(sizes[i], "run")})` : "";
      const cells: Cell[] = [optional(value.median, (v) => shownValue(compared.unit, v) + of)];
      if (i === 0) return cells;
      const { word, tone } = verdictOfValue(value, canTell[i - 1]);
      const shown = compared.judged ? word : "not judged";
      cells.push({ show: changeText(value), sort: value.change ?? 0 });
      cells.push({ show: element("span", { class: compared.judged ? tone : "muted" }, shown) });
      return cells;
    }),
  ];
}

// A limit of a phase has no difference that could be computed.
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
  private readonly overlays = element("div", { id: "overlays" });
  private readonly groups: ChartGroup[] = [];

  constructor(
    main: HTMLElement,
    private readonly sets: string[][],
  ) {
    main.replaceChildren(this.body);
    this.body.append(
      element("h1", {}, "Comparison"),
      element("p", { class: "muted", role: "status" }, "loading"),
    );
    void this.load();
  }

  destroy(): void {
    this.requests.end();
    for (const group of this.groups) group.destroy();
  }

  private async load(): Promise<void> {
    const { signal } = this.requests;
    const asked = this.sets.map((set) => set.join(".")).join(",");
    try {
      const [compared, runs] = await Promise.all([
        get<Compared>(`/api/compare?runs=${asked}`, signal),
        Promise.all(this.sets.map((set) => this.run(set[set.length - 1]))),
      ]);
      if (this.requests.isOver) return;
      const titles = titlesOf(
        compared,
        runs.map((run) => run.head),
      );
      runs.forEach((run, i) => (run.title = titles[i]));
      const heads = runs.map((run) => run.head);
      const alike = alikeOf(compared, differencesOf(compared, heads), heads);
      this.draw(compared, runs, alike);
      await this.overlay(runs, alike);
    } catch (error) {
      if (this.requests.isOver) return;
      this.body.replaceChildren(
        element("h1", {}, "Comparison"),
        element("p", { class: "error" }, messageOf(error)),
      );
    }
  }

  private async run(id: string): Promise<Run> {
    const { signal } = this.requests;
    const [head, job, environment] = await Promise.all([
      get<Report>(`/api/runs/${id}`, signal),
      get<JobReply>(`/api/runs/${id}/job`, signal),
      get<Report>(`/api/runs/${id}/environment`, signal),
    ]);
    return { id: head.run?.runId ?? id, title: id, head, job, environment };
  }

  private draw(compared: Compared, runs: Run[], alike: Alike): void {
    const titles = runs.map((run) => run.title);
    const heads = runs.map((run) => run.head);
    const differences = differencesOf(compared, heads);
    const others = titles.slice(1);
    document.title = `${others.join(", ")} against ${titles[0]} – Lockstep`;
    this.body.replaceChildren(
      element("h1", {}, `${others.join(", ")} against ${titles[0]}`),
      ...unlike(alike, differences, heads),
      ...others.flatMap((_, i) => conclusion(compared, titles, i + 1)),
      ...observed(compared),
      differs(differences, runs),
      ...doubts(compared, titles, alike),
      ...others.flatMap((title, i) => [
        ...(others.length > 1 ? [element("h2", {}, `${title} against ${titles[0]}`)] : []),
        ...differenceBars(compared, titles, i + 1),
      ]),
      setTable(compared, runs),
      ...notes(runs),
      everyFigure(compared, titles),
      ...(alike.common.size > 0 ? [element("h2", {}, "Over time")] : []),
      ...(alike.common.size > 0 && this.sets.some((set) => set.length > 1)
        ? [element("p", { class: "muted" }, "The last run of each set.")]
        : []),
      this.overlays,
      ...jobs(runs),
      environments(runs),
    );
  }

  // Phases of one name over each other, each run from its own start.
  private async overlay(runs: Run[], { common }: Alike): Promise<void> {
    const place = this.overlays;
    const loads = runs[0].head.phases.filter((phase) => phase.workloads.length > 0);
    const names = loads.map(({ name }) => name).filter((name) => common.has(name));
    if (names.length > mostPhases)
      place.append(
        element("p", { class: "warn" }, `The first ${mostPhases} of ${names.length} phases.`),
      );
    for (const name of names.slice(0, mostPhases)) {
      const series = await Promise.all(runs.map((run) => this.series(run, name)));
      if (this.requests.isOver) return;
      if (series.filter((one) => one !== undefined).length < 2) continue;
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
        const titles = runs.map((run) => run.title);
        const chart = group.chart({ title: `${title}, ${name}`, show, log, measured });
        chart.setTimed(joined(series, titles, of));
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

// The conclusion is the biggest thing; with too few runs, the remedy.
function conclusion(compared: Compared, titles: string[], set: number): HTMLElement[] {
  const { sentence, commands } = conclusionOf(compared, titles, set);
  // More runs would not help.
  if (!compared.figures.some(isInAll)) return [];
  const lines = commands.map((one) => element("p", {}, command(one)));
  const verdict = pill(verdictOfSet(compared, set));
  return [element("p", { class: "conclusion" }, verdict, " ", bound(sentence)), ...lines];
}

const arrow = (values: string[]): string => values.join(" → ");

// In what the sets differ, but for their figures: labels and fields of the jobs.
function differs(all: Difference[], runs: Run[]): HTMLElement {
  const labels = all.filter((one) => one.kind === "label");
  const fields = all.filter((one) => one.kind === "job");
  const facts = all.filter((one) => one.kind === "fact").length;
  const said = (one: Difference) =>
    element(
      "li",
      {},
      `${one.kind === "job" ? "job: " : ""}${one.name} `,
      element("b", {}, arrow(one.values)),
    );
  const sources = new Set(runs.map((run) => run.job.source));
  const isOtherJob = fields.length === 0 && sources.size > 1 && !sources.has("");
  const named = [...labels, ...fields].map(said);
  const items = [
    ...named.slice(0, shownDifferences),
    ...(isOtherJob ? [element("li", {}, "the job files (below)")] : []),
    ...(facts > 0 ? [element("li", {}, `${plural(facts, "fact")} of the hosts (below)`)] : []),
  ];
  if (items.length === 0)
    return element("p", { class: "muted" }, "The same job, and the same labels.");
  const rest = named.slice(shownDifferences);
  return element(
    "div",
    { class: "differs" },
    "They differ in:",
    element("ul", {}, ...items),
    ...(rest.length > 0
      ? [
          element(
            "details",
            {},
            element("summary", {}, `and ${plural(rest.length, "more field")}`),
            element("ul", {}, ...rest),
          ),
        ]
      : []),
  );
}

// The top says that there are too few runs; the differences are listed.
function doubts(compared: Compared, titles: string[], { isUnlike }: Alike): HTMLElement[] {
  const isListed = (warning: string) =>
    warning.startsWith("too few runs to tell") ||
    (compared.differences !== undefined &&
      /^the jobs of .* differ: | differs: .* in /.test(warning));
  const named = (warning: string) =>
    compared.sets.reduce((words, { name }, i) => words.split(name).join(titles[i]), warning);
  const warnings = compared.warnings.filter((warning) => !isListed(warning)).map(named);
  const lines = warnings.map((warning) => element("p", { class: "warn" }, warning));
  if (!isUnlike || lines.length === 0) return shortened(lines, shownWarnings);
  // In two experiments there are many figures that only one of them has.
  const summary = plural(lines.length, "remark");
  return [fold("Not comparable", summary, (box) => box.append(...lines), { level: 2 })];
}

// Runs that only observe are compared by their devices.
function runsOf(set: Compared["sets"][number]): string[] {
  return set.runs.length > 0 ? set.runs : (set.observedRuns ?? []);
}

// What the devices that were observed say. The command has the table.
function observed(compared: Compared): HTMLElement[] {
  const sentences = compared.observedConclusions ?? [];
  if (sentences.length === 0) return [];
  const sets = compared.sets.map((set) =>
    runsOf(set)
      .map((id) => id.slice(0, 8))
      .join(","),
  );
  const lines = sentences.map((one) =>
    element("p", { class: "conclusion" }, `Observed: ${bound(one)}`),
  );
  if (sets.every(Boolean))
    lines.push(element("p", {}, command(`lockstep compare ${sets.join(" ")}`)));
  return lines;
}

function setTable(compared: Compared, runs: Run[]): HTMLElement {
  const rows = compared.sets.map((set, i) => {
    const ids = runsOf(set);
    const { head, title } = runs[i];
    const links = ids
      .slice(0, namedRuns)
      .flatMap((id) => [element("a", { href: `#/run/${id}` }, id.slice(0, 8)), " "]);
    const more = ids.length > namedRuns ? [`and ${ids.length - namedRuns} more`] : [];
    const left =
      ids.length === 0 ? [element("span", { class: "warn" }, "none can be compared")] : [];
    return [
      text(`${letterOf(i)}: ${title}`),
      { show: element("span", {}, ...links, ...more, ...left) },
      { show: element("span", {}, pill(verdictOfReport(head)), " ", ...syntheticMark(head.run)) },
      { show: timeOf(head.run?.submittedAt ?? "") },
      text(head.run?.owner ?? ""),
    ];
  });
  const columns = ["set", "runs", "verdict of the last", "submitted", "owner"];
  const made = table(
    columns.map((title) => ({ title })),
    rows,
    false,
  );
  made.classList.add("sets");
  return made;
}

// The notes that people wrote about the runs.
function notes(runs: Run[]): HTMLElement[] {
  const all = runs.flatMap((run) =>
    run.environment.events
      .filter((event) => event.severity === "note")
      .map((event) => {
        const entry = eventEntry(event);
        entry.prepend(element("b", {}, run.title), " ");
        return entry;
      }),
  );
  return all.length > 0 ? [element("h2", {}, "Notes"), element("ul", {}, ...all)] : [];
}

function everyFigure(compared: Compared, titles: string[]): HTMLElement {
  const hasPairs = titles.some((_, i) => i > 0 && medianOfPairs(compared.figures, i) !== "");
  const differenceTitle = hasPairs ? "median difference of pairs" : "difference";
  const columns = [
    ...["phase", "operation", "figure"].map((title) => ({ title })),
    { title: titles[0], numeric: true },
    ...titles
      .slice(1)
      .flatMap((title) => [
        { title, numeric: true },
        { title: differenceTitle, numeric: true },
        { title: "told from noise" },
      ]),
  ];
  const sizes = compared.sets.map(({ runs }) => runs.length);
  const rows = [
    ...compared.figures.map((one) => rowOf(one, compared.canTell, sizes)),
    ...compared.limits.map(limitRow),
  ];
  const summary = `${rows.length}, of every workload and kind of I/O`;
  return fold("All figures", summary, (box) => box.append(table(columns, rows)), { level: 2 });
}

function jobs(runs: Run[]): HTMLElement[] {
  return runs.slice(1).map((run) => {
    const title = `Job of ${run.title}`;
    const [before, after] = [runs[0].job.source, run.job.source];
    const plainly = (words: string) => fold(title, words, () => undefined, { level: 2 });
    if (!before || !after) return plainly("not both came as a file");
    if (before === after) return plainly("the same file");
    const changed = differingLines(before, after, mostLines);
    const isCut = Math.max(...[before, after].map((one) => one.split("\n").length)) > mostLines;
    const fill = (box: HTMLElement) => {
      if (isCut)
        box.append(
          element("p", { class: "warn" }, `Only their first ${mostLines} lines are compared.`),
        );
      const lines = changed.map(({ sign, line }) =>
        element("div", { class: sign === "+" ? "good" : "error" }, `${sign} ${line}`),
      );
      box.append(element("div", { class: "job", tabindex: "0" }, ...lines));
    };
    const isOpen = changed.length <= openLines;
    return fold(title, `${plural(changed.length, "line")} differ`, fill, { level: 2, isOpen });
  });
}

function environments(runs: Run[]): HTMLElement {
  const all = runs.map((run) => factsOf(run.environment));
  // A clock's difference is of the moment, and no setting.
  const facts = [...new Set(all.flatMap((one) => [...one.keys()]))]
    .filter((fact) => !fact.startsWith("wall_clock."))
    .sort();
  const value = (run: number, fact: string) =>
    [...(all[run].get(fact)?.keys() ?? [])].sort().join("; ");
  const rows = facts
    .filter((fact) => new Set(runs.map((_, i) => value(i, fact))).size > 1)
    .map((fact) => [text(fact), ...runs.map((_, i) => text(value(i, fact)))]);
  const columns = [{ title: "fact" }, ...runs.map((run) => ({ title: run.title }))];
  const summary = rows.length === 0 ? "no fact of the hosts differs" : `${rows.length} differ`;
  const fill = (box: HTMLElement) => {
    if (rows.length > 0) box.append(table(columns, rows));
  };
  const isOpen = rows.length > 0 && rows.length <= openLines;
  return fold("Environment", summary, fill, { level: 2, isOpen });
}

// Runs' spans are a little apart: each line has its own points, and goes on beside the others'
// (undefined: uPlot draws on); where a run has a gap, or has ended, there is none (null).
function joined(
  series: (SeriesReply | undefined)[],
  labels: string[],
  of: (fleet: FleetSeries) => number[],
): Timed {
  const own = series.map((one, i) => {
    if (!one?.fleet || !one.spans) return withGaps([], [], [{ label: labels[i], values: [] }]);
    const places = wholeSpans(one);
    const { beginSeconds, endSeconds } = one.spans;
    const values = of(one.fleet);
    return withGaps(
      places.map((p) => beginSeconds[p]),
      places.map((p) => endSeconds[p]),
      [{ label: labels[i], values: places.map((p) => values[p]) }],
    );
  });
  const all = new Map(own.flatMap((one) => one.x.map((x, p) => [x, one.intervals[p]])));
  const x = [...all.keys()].sort((a, b) => a - b);
  const lines = own.map((one, i) => {
    const at = new Map(one.x.map((middle, p) => [middle, one.lines[0].values[p]]));
    return { label: labels[i], values: x.map((middle) => at.get(middle) as number | null) };
  });
  return { x, lines, intervals: x.map((middle) => all.get(middle) ?? [middle, middle]) };
}
