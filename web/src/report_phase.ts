// One phase of a report.

import {
  get,
  type HostReport,
  type OperationReport,
  type PhaseReport,
  type Report,
  type VerificationReport,
} from "./api";
import { element, figure, sparkline, table, text, thinned, type Cell } from "./dom";
import { count, latency, percent, seconds, throughput } from "./format";
import { PhaseCharts, type HostLines } from "./report_charts";
import { pill, verdictOfPhase } from "./verdict";
import type { Asking } from "./view";

const sparkPoints = 40;

function percentile(operation: OperationReport | undefined, percents: number): number {
  return operation?.percentiles.find((p) => p.percent === percents)?.latencyNs ?? 0;
}

const orNothing = (value: number): string => (value > 0 ? latency(value) : "");

function operations(phase: PhaseReport): HTMLElement {
  const numeric = (title: string) => ({ title, numeric: true });
  const row = (workload: string, o: OperationReport): Cell[] => [
    text(workload),
    text(o.kind),
    figure(o.iops, count),
    figure(o.bytesPerSecond, throughput),
    figure(o.latencyAvgNs, latency),
    ...[50, 90, 99, 99.9, 99.99].map((p) => figure(percentile(o, p), orNothing)),
    figure(o.latencyMaxNs, latency),
    figure(o.errors, count),
  ];
  const rows = phase.workloads.flatMap((workload) =>
    workload.operations.map((o) => row(workload.name, o)),
  );
  if (phase.total && rows.length > 1) rows.push(row("all", phase.total));
  return table(
    [
      { title: "workload" },
      { title: "operation" },
      ...["IOPS", "throughput", "avg", "p50", "p90", "p99", "p99.9", "p99.99", "max", "errors"].map(
        numeric,
      ),
    ],
    rows,
    false,
  );
}

function verified(v: VerificationReport): HTMLElement[] {
  const found = v.mismatches > 0 ? `mismatches: ${v.byVerdict}` : "all as written";
  const open = v.notCheckable > 0 ? `; ${count(v.notCheckable)} could not be checked` : "";
  const tone = v.mismatches > 0 ? "error" : v.checked > 0 ? "good" : "warn";
  const words =
    v.checked > 0 ? `${count(v.checked)} blocks verified, ${found}` : "nothing verified";
  return [
    element("p", { class: tone }, words + open),
    ...v.details.map((detail) => element("p", { class: "error" }, detail)),
  ];
}

function workloads(phase: PhaseReport): HTMLElement[] {
  return phase.workloads.flatMap((w) => {
    const lines = [element("p", { class: "muted" }, `${w.name}: ${w.summary}; ${w.engine}`)];
    if (w.limitedBy)
      lines.push(element("p", {}, `Limited by: ${w.limitedBy} (${w.limitedBecause})`));
    lines.push(...[...w.notes, ...w.errors].map((note) => element("p", { class: "warn" }, note)));
    if (w.verification) lines.push(...verified(w.verification));
    return lines;
  });
}

function hosts(phase: PhaseReport, lines?: HostLines): HTMLElement {
  const places = new Map(lines?.names.map((name, i) => [name, i]));
  const over = (host: string): number[] => {
    const place = places.get(host);
    const values = place === undefined ? [] : Array.from(lines?.iops[place] ?? []);
    return thinned(
      values.filter((value) => !Number.isNaN(value)),
      sparkPoints,
    );
  };
  const causes = new Map(
    phase.stragglers.map((s) => [s.host, `${percent(s.share)} of the others: ${s.cause}`]),
  );
  const start = (h: HostReport) =>
    h.startBoundNs > 0 ? `+${latency(h.startOffsetNs)} ± ${latency(h.startBoundNs)}` : "";
  return table(
    [
      { title: "host" },
      ...["IOPS", "throughput", "p50", "p99", "errors", "done", "start"].map((title) => ({
        title,
        numeric: true,
      })),
      { title: "over time" },
      { title: "straggler" },
    ],
    phase.hosts.map((h) => [
      text(h.host + (h.lost ? " (lost)" : "")),
      figure(h.iops, count),
      figure(h.bytesPerSecond, throughput),
      figure(h.p50Ns, latency),
      figure(h.p99Ns, latency),
      figure(h.errors, count),
      figure(h.lastDoneSeconds, seconds),
      { show: start(h), sort: h.startOffsetNs },
      { show: sparkline(over(h.host), "IOPS"), sort: h.iops },
      text(causes.get(h.host) ?? ""),
    ]),
  );
}

function fairness(phase: PhaseReport): HTMLElement[] {
  const indices = phase.fairness
    .map((f) => `${f.of}: Jain ${f.jain.toFixed(4)}, max/min ${f.maxOverMin.toFixed(2)}`)
    .join("; ");
  const skew = `${latency(phase.startSkewNs)} ± ${latency(phase.startSkewBoundNs)}`;
  return [
    element("p", {}, `Fairness of ${indices}. Start skew ${skew}.`),
    ...phase.stragglers.map((s) =>
      element(
        "p",
        { class: "warn" },
        `${s.host} did ${percent(s.share)} of the others from ${seconds(s.beginSeconds)} to ` +
          `${seconds(s.endSeconds)}: ${s.cause}: ${s.reason}`,
      ),
    ),
    ...phase.starvations.map((s) =>
      element(
        "p",
        { class: "warn" },
        `${s.host} got ${count(s.iops)} IOPS from ${seconds(s.beginSeconds)} to ` +
          `${seconds(s.endSeconds)}, the others ${count(s.othersIops)}`,
      ),
    ),
  ];
}

function devices(phase: PhaseReport): HTMLElement[] {
  if (phase.devices.length === 0) return [];
  const rows = phase.devices.map((d) => [
    text(d.hosts.join(", ")),
    text(d.name),
    figure(d.readsPerSecond, count),
    figure(d.writesPerSecond, count),
    figure(d.readBytesPerSecond + d.writeBytesPerSecond, throughput),
    figure(d.readAwaitMs, (v) => `${v.toFixed(2)} ms`),
    figure(d.writeAwaitMs, (v) => `${v.toFixed(2)} ms`),
    figure(d.queueSize, (v) => v.toFixed(1)),
    figure(d.busyRatio, percent),
    text(d.crossCheck ? d.crossCheck.verdict.toLowerCase().replace(/_/g, " ") : ""),
    text(d.identity),
  ]);
  const words = phase.devices.flatMap((d) => [
    ...(d.crossCheck ? [`${d.name}: ${d.crossCheck.reason}`] : []),
    ...d.findings.map((finding) => `${d.name}: ${finding.sentence}`),
  ]);
  return [
    table(
      [
        { title: "hosts" },
        { title: "device" },
        ...["reads/s", "writes/s", "throughput", "r_await", "w_await", "aqu-sz", "busy"].map(
          (title) => ({ title, numeric: true }),
        ),
        { title: "against the engines" },
        { title: "identity" },
      ],
      rows,
    ),
    ...words.map((sentence) => element("p", { class: "muted" }, sentence)),
  ];
}

function kernels(phase: PhaseReport): HTMLElement[] {
  if (phase.kernels.length === 0) return [];
  const numeric = (title: string) => ({ title, numeric: true });
  return [
    table(
      [
        { title: "kernel of" },
        ...["user", "system", "iowait", "steal", "idle", "switches/s", "switches/IO", "CPU/IO"].map(
          numeric,
        ),
        { title: "other programs" },
      ],
      phase.kernels.map((k) => [
        text(k.hosts.join(", ")),
        ...[k.userRatio, k.systemRatio, k.iowaitRatio, k.stealRatio, k.idleRatio].map((v) =>
          figure(v, percent),
        ),
        figure(k.contextSwitchesPerSecond, count),
        figure(k.contextSwitchesPerIo, (v) => v.toFixed(2)),
        figure(k.cpuNsPerIo, latency),
        text(k.others.join(", ")),
      ]),
    ),
  ];
}

function threads(phase: PhaseReport): HTMLElement[] {
  if (phase.threads.length < 2) return [];
  const numeric = (title: string) => ({ title, numeric: true });
  const details = element("details", {}, element("summary", {}, `${phase.threads.length} threads`));
  details.append(
    table(
      [
        { title: "host" },
        { title: "workload" },
        ...["thread", "IOPS", "in I/O", "in syncs", "thinking", "for its rate", "CPU"].map(numeric),
      ],
      phase.threads.map((t) => [
        text(t.host),
        text(t.workload),
        figure(t.thread, String),
        figure(t.iops, count),
        ...[t.waitRatio, t.fsyncRatio, t.thinkRatio, t.rateRatio, t.cpuRatio].map((v) =>
          figure(v, percent),
        ),
      ]),
    ),
  );
  return [details];
}

function settings(phase: PhaseReport): HTMLElement[] {
  return phase.settings.map((s) =>
    element(
      "p",
      { class: s.notPutBack ? "error" : "muted" },
      `${s.hosts.join(", ")}: ${s.thing} ${s.name}: ${s.value} (before ${s.before})` +
        (s.notPutBack ? `; NOT put back: ${s.notPutBack}` : ""),
    ),
  );
}

function expectations(phase: PhaseReport): HTMLElement[] {
  return phase.expectations.map((e) =>
    element(
      "p",
      { class: e.held ? "good" : "error" },
      `${e.held ? "held" : "NOT held"}: ${e.text} (found ${e.found})`,
    ),
  );
}

function steady(phase: PhaseReport): HTMLElement[] {
  const { steady: found } = phase;
  if (!found) return [];
  const varied = `varies by ${percent(found.range)}, its fitted line by ${percent(found.slope)}`;
  return [
    element(
      "p",
      { class: found.steady ? "good" : "warn" },
      `${found.steady ? "steady" : "not steady"}: ` +
        `over ${found.window} rounds the ${found.figure} ` +
        `${varied}, from ${seconds(found.beginSeconds)} to ${seconds(found.endSeconds)}`,
    ),
  ];
}

function files(phase: PhaseReport): HTMLElement {
  const kept = `${count(phase.filesReused)} kept, ${count(phase.filesRemoved)} removed`;
  return element("p", {}, `${count(phase.filesMade)} files made, ${kept}`);
}

export class PhaseSection {
  readonly root = element("section");
  private readonly details = element("div");
  private charts?: PhaseCharts;

  constructor(
    private readonly run: string,
    private readonly phase: PhaseReport,
    private readonly asking: Asking,
  ) {
    const about = `${phase.kind}, ${seconds(phase.durationSeconds)}, `;
    this.root.append(
      element(
        "h2",
        { id: `phase-${phase.index}` },
        `${phase.name} `,
        element("span", { class: "muted" }, about),
        pill(verdictOfPhase(phase)),
      ),
      ...phase.remarks.map((remark) => element("div", { class: "remark" }, remark)),
    );
    if (phase.workloads.length === 0) {
      this.root.append(files(phase), this.details);
      return;
    }
    this.charts = new PhaseCharts(run, phase, asking);
    this.root.append(
      ...expectations(phase),
      ...workloads(phase),
      operations(phase),
      ...steady(phase),
      ...fairness(phase),
      this.charts.root,
      this.details,
    );
  }

  // What the head leaves out; when it comes into sight, or at once in a file.
  async fill(): Promise<void> {
    try {
      const [lines, part] = await Promise.all([
        this.charts?.draw(),
        get<Report>(`/api/runs/${this.run}/phases/${this.phase.index}`, this.asking.signal),
      ]);
      if (this.asking.isOver) return;
      const phase = { ...this.phase, ...part.phases[0] };
      if (phase.workloads.length === 0) return this.details.append(...settings(phase));
      this.details.append(
        hosts(phase, lines),
        ...devices(phase),
        ...kernels(phase),
        ...threads(phase),
        ...settings(phase),
      );
    } catch (error) {
      if (this.asking.isOver) return;
      this.details.append(element("p", { class: "error" }, String(error)));
    }
  }

  destroy(): void {
    this.charts?.destroy();
  }
}
