// One phase of a report.

import { get, type EventReport, type PhaseReport, type Report } from "./api";
import { element } from "./dom";
import { exportedRun } from "./file";
import { seconds } from "./format";
import { PhaseCharts, type HostLines } from "./report_charts";
import { devices, hosts, kernels, settings, threads } from "./report_hosts";
import { expectations, fairness, files, steady, window, workloads } from "./report_load";
import { network } from "./report_network";
import { observed, observedHosts } from "./report_observed";
import { pill, verdictOfPhase } from "./verdict";
import type { Requests } from "./view";

export class PhaseSection {
  readonly root = element("section");
  private readonly details = element("div");
  private charts?: PhaseCharts;

  constructor(
    private readonly run: string,
    private readonly phase: PhaseReport,
    private readonly requests: Requests,
  ) {
    // One that never began has no duration.
    const lasted = phase.durationSeconds > 0 ? `, ${seconds(phase.durationSeconds)}` : "";
    const outages = phase.outageSummary?.count ? [phase.outageSummary.sentence] : [];
    const omissions = phase.omissions.map((omission) => omission.sentence);
    this.root.append(
      element(
        "h2",
        { id: `phase-${phase.index}` },
        `${phase.name} `,
        element("span", { class: "muted" }, `${phase.kind}${lasted} `),
        pill(verdictOfPhase(phase)),
      ),
      ...[...outages, ...phase.remarks, ...omissions].map((remark) =>
        element("div", { class: "remark" }, remark),
      ),
    );
    if (phase.observed) {
      this.charts = new PhaseCharts(run, phase, requests);
      this.root.append(...observed(phase), ...fairness(phase), this.charts.root, this.details);
      return;
    }
    if (phase.workloads.length === 0) {
      this.root.append(files(phase), ...expectations(phase), this.details);
      return;
    }
    // Where every host was lost there are no figures.
    const isMeasured = phase.workersLost < phase.workers;
    this.charts = new PhaseCharts(run, phase, requests);
    const csv = `/api/runs/${run}/export.csv?phase=${phase.index}`;
    const link = element("a", { href: csv, download: "" }, "fleet over time as CSV");
    this.root.append(
      ...expectations(phase),
      ...(isMeasured ? [...workloads(phase), ...window(phase), ...steady(phase)] : []),
      ...fairness(phase),
      ...(exportedRun ? [] : [element("p", { class: "actions" }, link)]),
      this.charts.root,
      this.details,
    );
  }

  get hasLoad(): boolean {
    return this.charts !== undefined;
  }

  // What the head leaves out; when it comes into sight, or at once in a file.
  async fill(): Promise<void> {
    try {
      const [lines, part] = await Promise.all([
        this.draw(),
        get<Report>(`/api/runs/${this.run}/phases/${this.phase.index}`, this.requests.signal),
      ]);
      if (this.requests.isOver) return;
      const phase = { ...this.phase, ...part.phases[0] };
      if (phase.observed) {
        this.details.append(...observedHosts(phase), ...devices(phase), ...kernels(phase));
        return;
      }
      if (phase.workloads.length === 0) return this.details.append(...settings(phase));
      this.details.append(
        hosts(phase, lines),
        ...devices(phase),
        ...network(phase),
        ...kernels(phase),
        ...threads(phase),
        ...settings(phase),
      );
    } catch (error) {
      if (this.requests.isOver) return;
      this.details.append(element("p", { class: "error" }, String(error)));
    }
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
