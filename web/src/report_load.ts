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
  percent,
  plural,
  shown,
  size,
  typeset,
} from "./format";
import { kindsOf, percentile, percentiles, stallsShown } from "./operation";
import { partsOf } from "./report_words";

function rowOf(o: OperationReport, metric = ""): Cell[] {
  const cells = [
    text(`${o.kind}${metric}`),
    optional(o.iops, count),
    optional(o.bytesPerSecond, bothUnits),
    optional(o.latencyAvgNs, latency),
  ];
  for (const p of percentiles) {
    cells.push(percentile(o, p));
  }
  return [...cells, optional(o.latencyMaxNs, latency), figure(o.errors, count)];
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
    ...stalls(w),
    ...lines.map(([tone, line]) => element("p", { class: tone }, line)),
    ...(w.verification ? verified(w.verification) : []),
  ];
}

// As the text report has it: of closed loops.
function stalls(w: WorkloadReport): HTMLElement[] {
  if (w.stalledRatio === undefined) return [];
  const p99 = w.total?.percentiles.find((p) => p.percent === 99);
  const both =
    p99?.latencyNs === undefined || w.correctedP99Ns === undefined
      ? ""
      : `; p99 ${marked(p99.isUncertain, latency)(p99.latencyNs)}, ` +
        `with the I/Os that are missing ${latency(w.correctedP99Ns)}`;
  const tone = w.stalledRatio >= stallsShown ? "warn" : "muted";
  const words = `stalls: for ${percent(w.stalledRatio)} of the threads' time nothing completed`;
  return [element("p", { class: tone }, words + both)];
}

export function workloads(phase: PhaseReport): HTMLElement[] {
  const all = phase.workloads.flatMap(workload);
  if (phase.total && phase.workloads.length > 1) {
    const total = { ...phase.total, kind: "all" };
    all.push(element("p", {}, "all workloads together"), operations([rowOf(total)]));
  }
  return all;
}

function fairnessLine(f: Fairness): string {
  const ratio = shown(f.maxOverMin, (v) => fixed(v, 2));
  const jain = `Jain ${shown(f.jain, (v) => fixed(v, 4))}, max/min ${ratio}`;
  return `fairness of ${f.of}: ${jain}, variation ${shown(f.variation, percent)} (n = ${f.count})`;
}

export function fairness(phase: PhaseReport): HTMLElement[] {
  const lines = phase.fairness.filter((f) => f.count > 1 && f.jain !== undefined).map(fairnessLine);
  const { jainMin, jainMax, p99SpreadMedian, p99SpreadWorst } = phase;
  const overTime: string[] = [];
  if (jainMin !== undefined && jainMax !== undefined) {
    overTime.push(`Jain from ${fixed(jainMin, 4)} to ${fixed(jainMax, 4)}`);
  }
  if (p99SpreadMedian !== undefined && p99SpreadWorst !== undefined) {
    overTime.push(
      `p99 of the slowest host over the fastest's ${fixed(p99SpreadMedian, 2)} (median), ` +
        `${fixed(p99SpreadWorst, 2)} (worst)`,
    );
  }
  if (overTime.length > 0) lines.push(`over time: ${overTime.join("; ")}`);
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
