// One phase of a report: its sentence, its table, its charts; what else is known of it is folded.

import { choices } from "./address";
import { get, type EventReport, type PhaseReport, type Report, type SeriesReply } from "./api";
import { element, expectationTable, fold, shortened } from "./dom";
import { exportedRun } from "./file";
import { count, fixed, plural, seconds, short, typeset, wholePercent } from "./format";
import { PhaseCharts, type HostLines } from "./report_charts";
import { devices, hosts, kernels, settings, threads } from "./report_hosts";
import {
  expectationRows,
  fairness,
  fallenBehind,
  files,
  methods,
  promises,
  steady,
  window as measuredWindow,
  workloads,
} from "./report_load";
import { network } from "./report_network";
import { outageSummary, outageTable } from "./report_outages";
import { observed, observedHosts } from "./report_observed";
import { sentenceOf } from "./report_words";
import { pill, verdictOfPhase } from "./verdict";
import type { Requests } from "./view";

type Fill = (box: HTMLElement) => void;

export class PhaseSection {
  readonly root = element("section");
  private readonly details = element("div");
  private charts?: PhaseCharts;
  private filling?: Promise<void>;
  private folds: HTMLDetailsElement[] = [];

  constructor(
    private readonly run: string,
    private readonly phase: PhaseReport,
    private readonly requests: Requests,
    told?: (fleet: SeriesReply) => void,
    private readonly isInHead: (remark: string) => boolean = () => false,
  ) {
    const { root, details } = this;
    root.append(...this.head());
    if (phase.observed) {
      this.charts = new PhaseCharts(run, phase, requests, told);
      root.append(...observed(phase), ...fairness(phase), this.charts.root, details);
      return;
    }
    if (phase.workloads.length === 0) {
      const rows = expectationRows(phase);
      root.append(files(phase), ...(rows.length > 0 ? [expectationTable(rows)] : []), details);
      return;
    }
    // If every host was lost, there are no figures.
    const isMeasured = phase.workersLost < phase.workers;
    this.charts = new PhaseCharts(run, phase, requests, told);
    root.append(
      element("p", {}, sentenceOf(phase)),
      ...promises(phase),
      ...(isMeasured ? [...workloads(phase), ...steady(phase)] : []),
      ...fallenBehind(phase),
      this.charts.root,
      details,
    );
  }

  private head(): HTMLElement[] {
    const { phase } = this;
    // One that never began has no duration.
    const lasted = phase.durationSeconds > 0 ? `, ${seconds(phase.durationSeconds)}` : "";
    const omissions = phase.omissions.map((omission) => omission.sentence);
    return [
      element(
        "h2",
        { id: `phase-${phase.index}` },
        `${phase.name} `,
        element("span", { class: "muted" }, `${phase.kind}${lasted} `),
        pill(verdictOfPhase(phase)),
      ),
      ...shortened(
        [...phase.remarks, ...omissions]
          .filter((remark) => !this.isInHead(remark))
          .map((remark) => element("div", { class: "remark" }, typeset(remark))),
        4,
      ),
    ];
  }

  get hasLoad(): boolean {
    return this.charts !== undefined;
  }
  get index(): number {
    return this.phase.index;
  }

  // Adds the rest, which the head leaves out; when it comes into sight, or at once in a file.
  fill(): Promise<void> {
    this.filling ??= this.fillOnce();
    return this.filling;
  }

  private async fillOnce(): Promise<void> {
    try {
      const [lines, part] = await Promise.all([
        this.draw(),
        get<Report>(`/api/runs/${this.run}/phases/${this.phase.index}`, this.requests.signal),
      ]);
      if (this.requests.isOver) return;
      this.addFolds({ ...this.phase, ...part.phases[0] }, lines);
    } catch (error) {
      if (this.requests.isOver) return;
      this.details.append(element("p", { class: "error" }, String(error)));
    }
  }

  private addFolds(phase: PhaseReport, lines?: HostLines): void {
    if (phase.outages.length > 0)
      this.fold("outages", "Outages", outageSummary(phase), (box) =>
        box.append(...outageTable(phase)),
      );
    if (phase.observed) {
      const own = phase.observed.hosts;
      this.fold("hosts", "Hosts", plural(own.length, "host"), (box) =>
        box.append(...observedHosts(phase)),
      );
    } else if (phase.workloads.length > 0) {
      const measured = () => [
        ...(phase.workersLost < phase.workers ? measuredWindow(phase) : []),
        ...fairness(phase),
        ...methods(phase),
        ...this.csvLink(),
      ];
      const window = `${fixed(phase.windowBeginSeconds, 2)}–${fixed(phase.windowEndSeconds, 2)} s`;
      const engines = [...new Set(phase.workloads.map((w) => w.engine))].join(", ");
      this.fold("method", "How it was measured", `${window} after T, by ${engines}`, (box) =>
        box.append(...measured()),
      );
      this.fold("hosts", "Hosts", hostSummary(phase), (box) => box.append(hosts(phase, lines)));
    }
    const { devices: d, kernels: k, interfaces: i, nfs: n, threads: t, settings: s } = phase;
    if (d.length > 0)
      this.fold("devices", "Devices", deviceSummary(phase), (box) => box.append(...devices(phase)));
    if (i.length + n.length > 0)
      this.fold("network", "Network", plural(i.length, "interface"), (box) =>
        box.append(...network(phase)),
      );
    if (k.length > 0)
      this.fold("kernels", "Kernels", kernelSummary(phase), (box) => box.append(...kernels(phase)));
    if (t.length > 0 || phase.threadFairness)
      this.fold(
        "threads",
        "Threads",
        t.length > 0 ? plural(t.length, "thread") : "fairness",
        (box) => box.append(...threads(phase)),
      );
    const changed = settings(phase);
    if (changed.length > 0) {
      const words = `${changed.length} changed`;
      const isOpen = s.some((one) => one.notRestored !== "");
      this.fold("settings", "Settings", words, (box) => box.append(...changed), isOpen);
    }
  }

  private fold(name: string, title: string, summary: string, fill: Fill, isOpen = false): void {
    const { index } = this.phase;
    const all = choices();
    const isChosen = all.has(`sort-${name}-${index}`) || all.has(`find-${name}-${index}`);
    const made = fold(title, summary, fill, { isOpen: isOpen || isChosen });
    made.id = `${name}-${index}`;
    this.folds.push(made);
    this.details.append(made);
  }

  private csvLink(): HTMLElement[] {
    if (exportedRun) return [];
    const href = `/api/runs/${this.run}/export.csv?phase=${this.phase.index}`;
    const link = element("a", { href, download: "" }, "fleet over time as CSV");
    return [element("p", { class: "actions" }, link)];
  }

  // Hosts that a finding is of: their table, with what the address looks for.
  async showHosts(): Promise<void> {
    await this.fill();
    const found = this.folds.find((one) => one.id === `hosts-${this.phase.index}`);
    if (!found) return;
    const outer = this.root.closest("details");
    if (outer) outer.open = true;
    found.open = true;
    found.scrollIntoView();
    const field = found.querySelector<HTMLInputElement>("input[type=search]");
    if (!field) return;
    field.value = choices().get(`find-hosts-${this.phase.index}`) ?? "";
    field.dispatchEvent(new Event("input"));
  }

  // Without series there are still the tables.
  private async draw(): Promise<HostLines | undefined> {
    try {
      return await this.charts?.draw();
    } catch (error) {
      if (!this.requests.isOver)
        this.root.insertBefore(element("p", { class: "error" }, String(error)), this.details);
      return undefined;
    }
  }

  mark(events: EventReport[]): void {
    this.charts?.mark(events);
  }

  destroy(): void {
    this.charts?.destroy();
  }
}

// "8, 548 to 563 IOPS, none stands out"
function hostSummary(phase: PhaseReport): string {
  const there = phase.hosts.filter((h) => !h.lost);
  const rates = there.map((h) => h.iops ?? 0);
  const lost = phase.hosts.length - there.length;
  const behind = new Set([...phase.stragglers, ...phase.starvations].map((s) => s.host)).size;
  const outage = phase.outageSummary?.count ? phase.outageSummary.hosts : 0;
  const parts = [plural(phase.hosts.length, "host")];
  if (rates.length > 1)
    parts.push(
      `${short("count", Math.min(...rates))} to ${short("count", Math.max(...rates))} IOPS`,
    );
  if (lost > 0) parts.push(`${lost} lost`);
  if (behind > 0) parts.push(`${behind} behind the others`);
  if (outage > 0) parts.push(`${outage} stood still for a time`);
  if (lost + behind + outage === 0) parts.push("none stands out");
  return parts.join(", ");
}

const isAgreed = (verdict: string): boolean => verdict === "VERDICT_AGREE";

function deviceSummary(phase: PhaseReport): string {
  const busiest = phase.devices.reduce((a, b) =>
    (b.busyRatio ?? -1) > (a.busyRatio ?? -1) ? b : a,
  );
  const odd = phase.devices.filter(
    (d) => d.findings.length > 0 || (d.crossCheck && !isAgreed(String(d.crossCheck.verdict))),
  ).length;
  const parts = [plural(phase.devices.length, "device")];
  if (busiest.busyRatio !== undefined)
    parts.push(`${busiest.name} busy ${wholePercent(busiest.busyRatio)} of the time`);
  if (odd > 0) parts.push(`${odd} with a finding`);
  return parts.join(", ");
}

function kernelSummary(phase: PhaseReport): string {
  const idle = phase.kernels.map((k) => k.idleRatio);
  const least = idle.length > 0 ? Math.min(...idle) : 1;
  const words = `the busiest ${fixed(100 * (1 - least), 0)} % busy`;
  return `${count(phase.kernels.length)}, ${words}`;
}
