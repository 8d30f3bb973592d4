// The results of a phase's workloads, in the words and figures of the text report.

import type {
  Fairness,
  OperationReport,
  PhaseReport,
  VerificationReport,
  WorkloadReport,
} from "./api";
import { element, figure, optional, table, text, type Cell, type Expectation } from "./dom";
import {
  bothThroughputs,
  bothUnits,
  count,
  fixed,
  latency,
  marked,
  none,
  percent,
  plural,
  shown,
  size,
  typeset,
} from "./format";
import { partsOf } from "./report_words";

const exact = (seconds: number): string => fixed(seconds, 3);
const percentiles = [50, 90, 95, 99, 99.9, 99.99];

// A dash where no I/O took longer, "~" where fewer than ten did.
export function percentile(operation: OperationReport | undefined, percents: number): Cell {
  const found = operation?.percentiles.find((p) => p.percent === percents);
  if (found?.latencyNs === undefined) return text(none, -1);
  return figure(found.latencyNs, marked(found.isUncertain, latency));
}

function rowOf(o: OperationReport, metric = ""): Cell[] {
  const cells = [
    text(`${o.kind}${metric}`),
    figure(o.iops, count),
    figure(o.bytesPerSecond, bothUnits),
    optional(o.latencyAvgNs, latency),
  ];
  for (const p of percentiles) {
    cells.push(percentile(o, p));
  }
  return [...cells, optional(o.latencyMaxNs, latency), figure(o.errors, count)];
}

// The 95 % confidence interval of a percentile.
function interval(operation: OperationReport, percents: number): Cell {
  const found = operation.percentiles.find((p) => p.percent === percents);
  if (found?.lowNs === undefined) return text(none);
  const low = latency(found.lowNs);
  return text(found.highNs === undefined ? `from ${low}` : `${low} to ${latency(found.highNs)}`);
}

// How certain the percentiles of a table above are.
function intervals(all: OperationReport[]): HTMLElement[] {
  const some = all.filter((o) => o.percentiles.some((p) => p.lowNs !== undefined));
  if (some.length === 0) return [];
  const titles = percentiles.map((p) => ({ title: `p${p}`, numeric: true }));
  const rows = some.map((o) => [text(o.kind), ...percentiles.map((p) => interval(o, p))]);
  return [table([{ title: "95 % interval" }, ...titles], rows, false)];
}

function operations(rows: Cell[][]): HTMLElement {
  const titles = ["IOPS", "MiB/s (MB/s)", "avg", ...percentiles.map((p) => `p${p}`)];
  return table(
    [
      { title: "operation" },
      ...[...titles, "max", "errors"].map((title) => ({ title, numeric: true })),
    ],
    rows,
    false,
  );
}

function verified(v: VerificationReport): HTMLElement[] {
  const open =
    v.notCheckable > 0
      ? `; ${count(v.notCheckable)} could NOT be checked ` +
        "(not written by this run, or being written)"
      : "";
  const found =
    v.mismatches > 0
      ? `${plural(v.mismatches, "mismatch").replace("mismatchs", "mismatches")}: ${v.byVerdict}`
      : v.checked > 0
        ? "all as written"
        : "nothing verified";
  const tone = v.mismatches > 0 ? "error" : v.checked > 0 ? "good" : "warn";
  return [
    element(
      "p",
      { class: tone },
      `verified: ${plural(v.checked, "block")} checked, ${found}${open}`,
    ),
    ...(v.restsOn ? [element("p", {}, v.restsOn)] : []),
    ...v.details.map((detail) => element("p", { class: "error" }, detail)),
  ];
}

// One kind alone is all there is.
const kindsOf = (w: WorkloadReport): OperationReport[] =>
  w.total && w.operations.length > 1 ? [...w.operations, w.total] : w.operations;

function workload(w: WorkloadReport): HTMLElement[] {
  const rows = kindsOf(w).map((o) => rowOf(o));
  rows.push(...w.serviceTimes.map((o) => rowOf(o, " service")));
  rows.push(...w.submissionLatencies.map((o) => rowOf(o, " slat")));
  const lines: [string, string][] = [];
  if (w.retries > 0) lines.push(["warn", `${plural(w.retries, "I/O")} asked again`]);
  const short = w.total?.shortTransfers ?? 0;
  if (short > 0) lines.push(["warn", `${plural(short, "I/O")} moved fewer bytes than asked for`]);
  lines.push(...w.notes.map((note): [string, string] => ["warn", note]));
  lines.push(...w.errors.map((error): [string, string] => ["error", `first error on ${error}`]));
  return [
    element("p", {}, element("b", {}, w.name), `: ${w.summary}`),
    operations(rows),
    ...lines.map(([tone, line]) => element("p", { class: tone }, line)),
    ...(w.verification ? verified(w.verification) : []),
  ];
}

export function workloads(phase: PhaseReport): HTMLElement[] {
  const all = phase.workloads.flatMap(workload);
  if (phase.total && phase.workloads.length > 1) {
    const total = { ...phase.total, kind: "all" };
    all.push(element("p", {}, "all workloads together"), operations([rowOf(total)]));
  }
  return all;
}

// By what a workload was done, what limited it, and how certain its percentiles are.
function method(w: WorkloadReport): HTMLElement[] {
  const beside = [
    ...w.serviceTimes.map((o) => ({ ...o, kind: `${o.kind} service` })),
    ...w.submissionLatencies.map((o) => ({ ...o, kind: `${o.kind} slat` })),
  ];
  const lines: string[] = [];
  if (w.limitedBy) lines.push(`limited by: ${w.limitedBy} (${w.limitedBecause})`);
  if (w.duePerSecond > 0) {
    const due = `${count(w.duePerSecond)} I/Os per second were due`;
    const never = w.unstarted > 0 ? `; ${count(w.unstarted)} were never started` : "";
    const backlog = latency(w.longestBacklogNs);
    lines.push(`open loop: ${due}; the longest backlog was ${backlog}${never}`);
  }
  return [
    element(
      "p",
      {},
      element("b", {}, w.name),
      `: ${w.engine}, ${shown(w.averageBatch, (v) => fixed(v, 1))} I/Os per submission`,
    ),
    ...lines.map((line) => element("p", {}, line)),
    ...intervals([...kindsOf(w), ...beside]),
  ];
}

export function methods(phase: PhaseReport): HTMLElement[] {
  const all = phase.workloads.flatMap(method);
  if (phase.total && phase.workloads.length > 1)
    all.push(...intervals([{ ...phase.total, kind: "all" }]));
  return all;
}

// The kinds of its latencies; workloads with a schedule have other ones than those without.
function metricsOf(phase: PhaseReport): string {
  const ofResponse = "response time (intended start to completion)";
  const ofService = "service time (submission to completion)";
  const named = (isResponse: boolean) =>
    phase.workloads
      .filter((w) => w.total?.metric && (w.total.metric === "response_time") === isResponse)
      .map((w) => w.name)
      .join(", ");
  const [response, service] = [named(true), named(false)];
  if (!response || !service)
    return phase.total?.metric === "response_time" ? ofResponse : ofService;
  return `${ofResponse} of ${response}, ${ofService} of ${service}, and of all together a mixture`;
}

// "0.00–2.00"; of a short time with the digits that tell its begin from its end.
function span(begin: number, end: number): string {
  const length = end - begin;
  const digits = length >= 0.1 ? 2 : length >= 0.001 ? 4 : 6;
  return `${fixed(begin, digits)}–${fixed(end, digits)}`;
}

// Workloads whose rates are over another time than all together, since they ended by themselves.
function ownWindows(phase: PhaseReport): string {
  const isOwn = (w: WorkloadReport) =>
    w.windowSeconds > 0 &&
    w.windowEndSeconds > w.windowBeginSeconds &&
    (w.windowBeginSeconds !== phase.windowBeginSeconds ||
      w.windowEndSeconds !== phase.windowEndSeconds);
  return phase.workloads
    .filter(isOwn)
    .map((w) => `; of ${w.name} over ${span(w.windowBeginSeconds, w.windowEndSeconds)} s`)
    .join("");
}

// If workloads ran one after the other, rates of all together are over the whole phase.
function ranTogether(phase: PhaseReport): boolean {
  const same = 0.01; // ends that count as one differ by less
  return phase.workloads.every(
    (w) =>
      (w.total?.operations ?? 0) === 0 ||
      (w.windowEndSeconds > w.windowBeginSeconds &&
        w.windowBeginSeconds <= phase.windowBeginSeconds + same &&
        w.windowEndSeconds >= phase.windowEndSeconds - same),
  );
}

// When it was measured, and how well the hosts kept step.
export function window(phase: PhaseReport): HTMLElement[] {
  const metric = metricsOf(phase);
  const over = span(phase.windowBeginSeconds, phase.windowEndSeconds);
  const who = phase.workersLost > 0 ? "all that ended" : "all";
  const when = ranTogether(phase) ? `when ${who} ran` : "the whole phase";
  const lines = [`latency is ${metric}; rates over ${over} s after T, ${when}${ownWindows(phase)}`];
  if (phase.workersLost > 0) {
    const [begin, end] = [phase.validFromSeconds, phase.validToSeconds];
    const there =
      end > begin
        ? `samples of all are there from ${fixed(begin, 2)} to ${fixed(end, 2)} s`
        : "at no time are there samples of all";
    lines.push(`${plural(phase.workersLost, "host")} of ${phase.workers} lost; ${there}`);
  }
  if (phase.startSkewHosts > 1) {
    const skew = `${shown(phase.startSkewNs, latency)} ± ${shown(phase.startSkewBoundNs, latency)}`;
    const limit = phase.startSkewLimitNs > 0 ? `; limit ${latency(phase.startSkewLimitNs)}` : "";
    lines.push(
      `first done ${shown(phase.firstDoneSeconds, exact)} s, ` +
        `last done ${shown(phase.lastDoneSeconds, exact)} s; ` +
        `start skew ${skew} over ${phase.startSkewHosts} hosts${limit}`,
    );
  }
  return lines.map((line) => element("p", {}, line));
}

function fairnessLine(f: Fairness): string {
  const ratio = shown(f.maxOverMin, (v) => fixed(v, 2));
  const jain = `Jain ${shown(f.jain, (v) => fixed(v, 4))}, max/min ${ratio}`;
  return `fairness of ${f.of}: ${jain}, variation ${percent(f.variation)} (n = ${f.count})`;
}

export function fairness(phase: PhaseReport): HTMLElement[] {
  const lines = phase.fairness.filter((f) => f.count > 1 && f.jain !== undefined).map(fairnessLine);
  const { jainMin, jainMax, p99SpreadMedian, p99SpreadWorst } = phase;
  if (jainMin !== undefined && jainMax !== undefined) {
    const spread =
      p99SpreadMedian !== undefined && p99SpreadWorst !== undefined
        ? `; p99 of the slowest host over the fastest's ${fixed(p99SpreadMedian, 2)} ` +
          `(median), ${fixed(p99SpreadWorst, 2)} (worst)`
        : "";
    const [least, most] = [fixed(jainMin, 4), fixed(jainMax, 4)];
    lines.push(`over time: Jain from ${least} to ${most}${spread}`);
  }
  return lines.map((line) => element("p", {}, line));
}

// Hosts that fell behind, one by one: a few, or all of them behind a fold.
const namedBehind = 3;
export function fallenBehind(phase: PhaseReport): HTMLElement[] {
  const three = (value: number) =>
    value < 100 ? String(Number(value.toPrecision(3))) : fixed(value, 0);
  const amount = (s: PhaseReport["stragglers"][0]) =>
    s.latencyRatio === undefined
      ? `${fixed(100 * s.share, 0)} % of the others' IOPS`
      : `its I/Os took ${three(s.latencyRatio)} times as long as the others'`;
  const bad = [
    ...phase.stragglers.map(
      (s) =>
        `${s.host} is a straggler: ${amount(s)}, slow for ` +
        `${three(s.slowSeconds)} s of the time from ${three(s.beginSeconds)} to ` +
        `${three(s.endSeconds)} s; likely cause: ${s.cause} (${s.reason})`,
    ),
    ...phase.starvations.map(
      (s) =>
        `${s.host} got almost nothing from ${three(s.beginSeconds)} to ` +
        `${three(s.endSeconds)} s: ${fixed(s.iops, 0)} IOPS, ` +
        `the others ${fixed(s.othersIops, 0)}`,
    ),
  ];
  const lines = bad.map((line) => element("p", { class: "warn" }, line));
  if (lines.length <= namedBehind) return lines;
  // The findings say of all together what these say of each.
  const words = `${plural(lines.length, "time")} that a host fell behind the others, one by one`;
  return [element("details", { class: "single" }, element("summary", {}, words), ...lines)];
}

// The rows of expectations: the requirement, the figure, and whether it is met.
export function expectationRows(phase: PhaseReport, prefix = ""): Expectation[] {
  return phase.expectations.map((e) => {
    const { what, required } = partsOf(e.text);
    // Some name their phase by themselves.
    const name = what.startsWith(`${phase.name}: `) ? "" : prefix;
    return { what: name + what, required, found: e.found, met: e.met };
  });
}

export function promises(phase: PhaseReport): HTMLElement[] {
  return phase.promised.map((p) =>
    element("p", { class: p.exceeded ? "warn" : "" }, typeset(p.text)),
  );
}

export function steady(phase: PhaseReport): HTMLElement[] {
  const s = phase.steady;
  if (!s) return [];
  if (s.rounds < s.window)
    return [
      element("p", { class: "warn" }, `steady: not known, ${s.rounds} whole rounds of ${s.window}`),
    ];
  const shown = s.unit === "ns" ? latency : s.unit === "B/s" ? bothThroughputs : count;
  const limit = (ratio: number) => `${Number((100 * ratio).toPrecision(3))} %`;
  const worst = s.worstHost
    ? `; most on ${s.worstHost}: ${percent(s.worstRange)}, slope ${percent(s.worstSlope)}`
    : "";
  const until = s.changedAtSeconds === undefined ? "no," : "not to the end, only";
  return [
    element(
      "p",
      { class: s.steady ? "good" : "warn" },
      `steady: ${s.steady ? "yes," : until} ` +
        `from ${fixed(s.beginSeconds, 1)} to ` +
        `${fixed(s.endSeconds, 1)} s (${s.window} rounds of ${s.roundSeconds} s): ${s.figure} ` +
        `${shown(s.mean)}, range ${percent(s.range)} of ${limit(s.rangeLimit)}, ` +
        `slope ${percent(s.slope)} of ${limit(s.slopeLimit)}${worst}`,
    ),
  ];
}

// The files of a phase without load.
export function files(phase: PhaseReport): HTMLElement {
  const parts: string[] = [];
  if (phase.filesMade > 0) {
    const rate =
      phase.durationSeconds > 0
        ? ` at ${bothThroughputs(phase.bytesWritten / phase.durationSeconds)}`
        : "";
    const written = size(phase.bytesWritten);
    parts.push(`${plural(phase.filesMade, "file")} made, ${written} written${rate}`);
  }
  if (phase.filesReused > 0)
    parts.push(`${plural(phase.filesReused, "file")} kept, which fit already`);
  if (phase.filesRemoved > 0) parts.push(`${plural(phase.filesRemoved, "file")} removed`);
  const isDone = phase.state === "done";
  if (parts.length > 0 && !isDone) parts.push("the others did not finish");
  // A worker that failed or was stopped reports the reason, not what it had done until then.
  const nothing = isDone
    ? "there was nothing to do"
    : phase.kind === "prepare"
      ? "not done; the workers removed the files that they had made, as far as they could"
      : "not done; how far it came is not known";
  return element("p", {}, parts.length > 0 ? parts.join("; ") : nothing);
}
