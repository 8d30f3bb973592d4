// A run's report: what each phase came to.

import type { EventReport, OperationReport, PhaseReport, VerificationReport } from "./api";
import { HostChart } from "./charts";
import { count, element, latency, state, table, throughput } from "./format";

function percentile(operation: OperationReport, percent: number): string {
  const found = operation.percentiles.find((p) => p.percent === percent);
  return found ? latency(found.latencyNs) : "";
}

function operations(phase: PhaseReport): HTMLElement {
  const rows = phase.workloads.flatMap((workload) =>
    workload.operations.map((o) => [
      workload.name,
      o.kind,
      count(o.iops),
      throughput(o.bytesPerSecond),
      latency(o.latencyAvgNs),
      percentile(o, 50),
      percentile(o, 99),
      percentile(o, 99.9),
      latency(o.latencyMaxNs),
      count(o.errors),
    ]),
  );
  return table(
    [
      { title: "workload" },
      { title: "operation" },
      ...["IOPS", "throughput", "avg", "p50", "p99", "p99.9", "max", "errors"].map((title) => ({
        title,
        numeric: true,
      })),
    ],
    rows,
  );
}

function hosts(phase: PhaseReport): HTMLElement {
  return table(
    [
      { title: "host" },
      ...["IOPS", "throughput", "p50", "p99"].map((title) => ({ title, numeric: true })),
    ],
    phase.hosts.map((h) => [
      h.host + (h.lost ? " (lost)" : ""),
      count(h.iops),
      throughput(h.bytesPerSecond),
      latency(h.p50Ns),
      latency(h.p99Ns),
    ]),
  );
}

function heading(phase: PhaseReport): HTMLElement {
  const about = `${phase.kind}, ${phase.durationSeconds.toFixed(1)} s, `;
  return element(
    "h2",
    {},
    `${phase.name} `,
    element("span", { class: "muted" }, about),
    state(phase),
  );
}

function verified(v: VerificationReport): HTMLElement {
  const found = v.mismatches > 0 ? `mismatches: ${v.byVerdict}` : "all as written";
  return element(
    "p",
    { class: v.mismatches > 0 ? "error" : "state-done" },
    `${count(v.checked)} blocks verified, ${found}`,
  );
}

function workloads(phase: PhaseReport): HTMLElement[] {
  return phase.workloads.flatMap((w) => {
    const lines = [element("p", { class: "muted" }, `${w.name}: ${w.summary}; ${w.engine}`)];
    if (w.limitedBy)
      lines.push(element("p", {}, `Limited by: ${w.limitedBy} (${w.limitedBecause})`));
    if (w.verification) lines.push(verified(w.verification));
    return lines;
  });
}

// A point stands for one interval, or for several where the phase was long.
function rates(phase: PhaseReport): HTMLElement {
  const box = element("div", { class: "chart" });
  const chart = new HostChart(box, "IOPS per host", count);
  const seconds = phase.intervalSeconds * Math.max(1, phase.intervalsPerPoint);
  for (const host of phase.hosts)
    host.iopsByInterval.forEach((iops, i) => chart.add(host.host, (i + 1) * seconds, iops));
  chart.draw();
  return box;
}

function fairness(phase: PhaseReport): HTMLElement {
  const indices = phase.fairness
    .map((f) => `${f.of}: Jain ${f.jain.toFixed(4)}, max/min ${f.maxOverMin.toFixed(2)}`)
    .join("; ");
  const skew = `${latency(phase.startSkewNs)} ± ${latency(phase.startSkewBoundNs)}`;
  return element("p", {}, `Fairness of ${indices}. Start skew ${skew}.`);
}

function crossChecks(phase: PhaseReport): HTMLElement[] {
  return phase.devices.flatMap((device) => {
    if (!device.crossCheck) return [];
    const verdict = device.crossCheck.verdict.toLowerCase().replace("_", " ");
    return [element("p", {}, `${device.name}: ${verdict}: ${device.crossCheck.reason}`)];
  });
}

function expectations(phase: PhaseReport): HTMLElement[] {
  return phase.expectations.map((e) =>
    element(
      "p",
      { class: e.held ? "state-done" : "error" },
      `${e.held ? "held" : "NOT held"}: ${e.text} (found ${e.found})`,
    ),
  );
}

function files(phase: PhaseReport): HTMLElement {
  const kept = `${count(phase.filesReused)} kept, ${count(phase.filesRemoved)} removed`;
  return element("p", {}, `${count(phase.filesMade)} files made, ${kept}`);
}

export function phaseSection(phase: PhaseReport): HTMLElement[] {
  const remarks = phase.remarks.map((remark) => element("div", { class: "remark" }, remark));
  const head = [heading(phase), ...remarks];
  if (phase.workloads.length === 0) return [...head, files(phase)];
  return [
    ...head,
    ...workloads(phase),
    operations(phase),
    rates(phase),
    hosts(phase),
    fairness(phase),
    ...crossChecks(phase),
    ...expectations(phase),
  ];
}

export function eventLine(event: EventReport): HTMLElement {
  return element(
    "p",
    { class: event.severity === "error" ? "error" : "muted" },
    `${event.at} ${event.host} ${event.message}`,
  );
}
