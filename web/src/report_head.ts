// The first screen of a report: is it good, what is wrong, and where.

import { runActions } from "./actions";
import type { EventReport, Report, SeriesReply } from "./api";
import { ChartGroup, wholeSpans, withGaps } from "./charts";
import { chip, element, expectationTable, fold, labelsOf, tile, type Tone } from "./dom";
import { eventEntry, marksFrom } from "./events";
import { exportedRun } from "./file";
import { bound, count, exact, marked, none, plural, seconds, short, size, typeset } from "./format";
import { shadesOf } from "./report_charts";
import { corruption, outages, phaseLink } from "./report_findings";
import { expectationRows } from "./report_load";
import {
  besideBanners,
  conclusionOf,
  figureOf,
  headlineOf,
  mainPhase,
  type Headline,
} from "./report_words";
import { pill, syntheticMark, verdictOfPhase, verdictOfReport } from "./verdict";

const overviewHeight = 150;
const mostNotes = 3;

// The tone of a figure of which something is expected; without an expectation it has none.
function toneOf(report: Report, headline: Headline, figure: string): Tone {
  const phase = report.phases.find((p) => p.name === headline.phase);
  const found = (phase?.expectations ?? []).filter((e) => figureOf(e) === figure);
  if (found.length === 0) return "plain";
  return found.every((e) => e.met) ? "good" : "bad";
}

function known(value: number | undefined, show: (v: number) => string): string {
  return value === undefined ? none : show(value);
}

function observedTiles(report: Report): HTMLElement[] {
  const total = report.phases.find((p) => p.observed)?.observed?.total;
  if (!total) return [];
  const { readBytesPerSecond, writeBytesPerSecond } = total;
  return [
    tile("reads per second", short("count", total.readsPerSecond)),
    tile("writes per second", short("count", total.writesPerSecond)),
    tile("throughput", short("rate", readBytesPerSecond + writeBytesPerSecond)),
    tile("busy, the busiest device", short("ratio", total.busyRatio), { note: total.busiest }),
  ];
}

function fileTiles(report: Report): HTMLElement[] {
  const sum = (of: (phase: Report["phases"][number]) => number) =>
    report.phases.reduce((all, phase) => all + of(phase), 0);
  const made = sum((p) => p.filesMade);
  const removed = sum((p) => p.filesRemoved);
  if (made + removed === 0) return [];
  return [
    tile("files made", count(made)),
    tile("written", size(sum((p) => p.bytesWritten))),
    tile("files removed", count(removed)),
  ];
}

// The last of four: how fair it was over hosts; of one host, how many I/Os failed.
function lastTile(report: Report, headline: Headline): HTMLElement {
  const phase = report.phases.find((p) => p.name === headline.phase) ?? mainPhase(report);
  const jain = phase?.fairness.find((f) => f.of === "IOPS over hosts" && f.count > 1);
  const errors = phase?.total?.errors ?? 0;
  if (errors > 0 || jain?.jain === undefined || headline.at !== "")
    return tile("errors", count(errors), {
      tone: errors > 0 ? "bad" : toneOf(report, headline, "errors"),
    });
  const title = "Jain's index of IOPS over hosts: 1 is equal";
  return tile("Jain, over hosts", jain.jain.toFixed(3), { title });
}

function verifyTiles(report: Report): HTMLElement[] {
  const all = report.phases.flatMap((p) => p.workloads.flatMap((w) => w.verification ?? []));
  if (all.length === 0) return [];
  const sum = (of: (v: (typeof all)[number]) => number) => all.reduce((n, v) => n + of(v), 0);
  const wrong = sum((v) => v.mismatches);
  const unknown = sum((v) => v.notCheckable);
  return [
    tile("blocks checked", count(sum((v) => v.checked))),
    tile("blocks not as written", count(wrong), { tone: wrong > 0 ? "corrupt" : "good" }),
    ...(unknown > 0 ? [tile("could not be checked", count(unknown), { tone: "warn" })] : []),
  ];
}

function tiles(report: Report): HTMLElement {
  const headline = headlineOf(report);
  const box = element("div", { class: "tiles" });
  if (!headline || headline.kind === "files" || headline.kind === "observe") {
    box.append(...(report.phases.some((p) => p.observed) ? observedTiles : fileTiles)(report));
    return box;
  }
  if (headline.kind === "verify") {
    box.append(...verifyTiles(report));
    return box;
  }
  const corrupted = verifyTiles(report).filter((one) => one.classList.contains("corrupt"));
  const at = headline.at
    ? ` at ${headline.kind === "curve" ? "its best step" : "the leading point"}`
    : "";
  const of = (figure: string) => ({ tone: toneOf(report, headline, figure), title: headline.at });
  box.append(
    ...corrupted,
    tile(
      `IOPS${at}`,
      known(headline.iops, (v) => short("count", v)),
      of("iops"),
    ),
    tile(
      `throughput${at}`,
      known(headline.bytesPerSecond, (v) => short("rate", v)),
      of("bytes_per_second"),
    ),
    tile(
      `p99${at}`,
      known(
        headline.p99Ns,
        marked(headline.isP99Uncertain, (v) => short("latency", v)),
      ),
      of("p99_ns"),
    ),
    ...(corrupted.length > 0 ? [] : [lastTile(report, headline)]),
  );
  return box;
}

// The load over time, small; outages are shaded. Filled with what the phase itself is drawn from.
export class Overview {
  readonly root = element("div", { class: "overview" });
  readonly noted = element("ul", { class: "events noted", "aria-label": "notes" });
  private group?: ChartGroup;
  private notes: EventReport[] = [];

  // Notes of people belong to the first screen: as flags of the chart, and in words.
  note(events: EventReport[]): void {
    this.notes = events.filter((event) => event.severity === "note");
    if (this.notes.length === 0) return;
    this.group?.redraw();
    const rest = this.notes.length - mostNotes;
    this.noted.replaceChildren(...this.notes.slice(0, mostNotes).map(eventEntry));
    if (rest > 0) this.noted.append(element("li", { class: "muted" }, `and ${rest} more below`));
  }

  set(report: Report, reply: SeriesReply): void {
    const phase = mainPhase(report);
    const { spans, fleet } = reply;
    // A sweep and a curve have drawings of their own.
    const isLoad = report.sweeps.length + report.curves.length === 0;
    if (!phase || !spans || !fleet || this.group || !isLoad) return;
    this.group = new ChartGroup("overview", undefined, undefined, () => ({
      height: overviewHeight,
      type: 12,
    }));
    this.root.append(this.group.grid);
    const chart = this.group.chart({
      title: `IOPS of ${phase.name}`,
      show: (v) => short("count", v),
      kind: "count",
      measured: () => [spans.measuredFromSeconds, spans.measuredToSeconds],
      shades: () => shadesOf(phase),
      marks: () => marksFrom(phase.startedAt, this.notes),
      limits: phase.limits
        .filter((l) => l.figure === "iops")
        .map(({ value, text }) => ({ value, text: typeset(text) })),
      startedAt: phase.startedAt || undefined,
    });
    const places = wholeSpans(reply);
    const at = (values: number[]) => places.map((i) => values[i]);
    const lines = [{ label: "IOPS", values: at(fleet.iops) }];
    chart.setTimed(withGaps(at(spans.beginSeconds), at(spans.endSeconds), lines));
  }
  destroy(): void {
    this.group?.destroy();
  }
}

function expectations(report: Report): HTMLElement[] {
  const having = report.phases.filter((phase) => phase.expectations.length > 0);
  if (having.length === 0) return [];
  const rows = having.flatMap((p) => expectationRows(p, having.length > 1 ? `${p.name}: ` : ""));
  // Missed expectations come first.
  rows.sort((a, b) => Number(a.met ?? true) - Number(b.met ?? true));
  return [expectationTable(rows)];
}

// Which run it is, for those who look for it.
function identity(report: Report): HTMLElement {
  const { run } = report;
  const rows: [string, string][] = [
    ["run", run?.runId ?? ""],
    ["owner", run?.owner ?? ""],
    ["submitted", exact(run?.submittedAt ?? "")],
    ["ended", run?.endedAt ? exact(run.endedAt) : none],
    ["seed", report.seed],
    ["Lockstep", report.version],
  ];
  const list = rows.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]);
  const box = fold(
    "Details",
    "UUID, owner, times, seed, version",
    (into) => into.append(element("dl", {}, ...list)),
    { level: 2 },
  );
  box.id = "identity";
  return box;
}

function contents(report: Report, shown: Report["phases"]): HTMLElement {
  const list = element("ul", { class: "contents" });
  const to = (id: string, name: string) => {
    const button = element("button", { type: "button", class: "to" }, name);
    button.addEventListener("click", () => document.getElementById(id)?.scrollIntoView());
    return element("li", {}, button);
  };
  report.sweeps.forEach((sweep, i) => list.append(to(`sweep-${i}`, `sweep of ${sweep.phase}`)));
  report.curves.forEach((curve, i) => list.append(to(`curve-${i}`, `curve of ${curve.phase}`)));
  for (const phase of shown)
    list.append(element("li", {}, phaseLink(phase, phase.name), " ", pill(verdictOfPhase(phase))));
  return element("nav", { "aria-label": "phases" }, list);
}

function actions(report: Report, print: () => void): HTMLElement {
  const { run } = report;
  const printing = element("button", { type: "button" }, "print");
  printing.addEventListener("click", print);
  if (exportedRun || !run) return element("p", { class: "actions" }, printing);
  const of = `/api/runs/${run.runId}`;
  return element(
    "p",
    { class: "actions" },
    ...runActions(run),
    element("a", { href: `${of}/export.html`, download: "" }, "save as one file"),
    printing,
    element("a", { href: `${of}/report` }, "JSON"),
  );
}

function about(report: Report): HTMLElement {
  const { run } = report;
  const main = mainPhase(report);
  const facts = [
    run ? exact(run.startedAt || run.submittedAt) : "",
    run ? plural(run.hosts, "host") : "",
    main ? seconds(main.durationSeconds) : "",
  ];
  const labels = labelsOf(run?.labels).map((label) => chip(label));
  const parts = [facts.filter(Boolean).join(", "), ...labels].flatMap((one) => [one, " "]);
  return element("p", { class: "muted about" }, ...parts);
}

// Reasons that neither the sentence nor a table or banner has.
function reasons(report: Report): HTMLElement[] {
  const { verdict } = report;
  const told = ["passed", "expectations failed", "data corrupted"];
  if (!verdict || told.includes(verdict.word)) return [];
  const sentence = conclusionOf(report);
  return verdict.reasons
    .filter((reason) => !sentence.includes(reason))
    .map((reason) =>
      element("p", { class: verdict.good ? "" : verdictOfReport(report).tone }, reason),
    );
}

export function reportHead(
  report: Report,
  shown: Report["phases"],
  overview: Overview,
  print: () => void,
): HTMLElement[] {
  const conclusion = besideBanners(report);
  return [
    element(
      "h1",
      { class: "verdict" },
      `${report.run?.jobName ?? ""} `,
      pill(verdictOfReport(report)),
      " ",
      ...syntheticMark(report.run),
    ),
    ...corruption(report),
    ...outages(report),
    ...(conclusion ? [element("p", { class: "conclusion" }, bound(conclusion))] : []),
    ...reasons(report),
    overview.noted,
    tiles(report),
    element(
      "div",
      { class: "first" },
      element(
        "div",
        {},
        ...expectations(report),
        ...(report.description ? [element("p", {}, report.description)] : []),
        about(report),
        contents(report, shown),
        actions(report, print),
        identity(report),
      ),
      overview.root,
    ),
    ...(report.samplesPruned
      ? [element("p", { class: "muted" }, "The samples of its intervals were pruned.")]
      : []),
  ];
}
