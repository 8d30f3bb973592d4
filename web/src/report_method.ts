// How a phase was measured: when, by what, and how certain its percentiles are.

import type { OperationReport, PhaseReport, WorkloadReport } from "./api";
import { element, table, text, type Cell } from "./dom";
import { count, fixed, latency, none, plural, shown } from "./format";
import { kindsOf, percentiles } from "./operation";
import { spentLine } from "./time_spent";

const exact = (seconds: number): string => fixed(seconds, 3);

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
  const all = [...spentLine(phase.timeSpent), ...phase.workloads.flatMap(method)];
  if (phase.total && phase.workloads.length > 1)
    all.push(...intervals([{ ...phase.total, kind: "all" }]));
  return all;
}

// What its latencies are; workloads with a schedule have other ones than those without.
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

// Where workloads ran one after the other, rates of all together are over the whole phase.
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
  const rates =
    phase.windowEndSeconds > phase.windowBeginSeconds
      ? `rates over ${over} s after T, ${when}`
      : "no rates, because no part of the load was measured";
  const lines = [`latency is ${metric}; ${rates}${ownWindows(phase)}`];
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
