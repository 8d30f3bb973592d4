// One phase of a report: its sentence, its table, its charts; what else is known of it is folded.

import { choices } from "./address";
import {
  get,
  messageOf,
  type EventReport,
  type PhaseReport,
  type Report,
  type SeriesReply,
} from "./api";
import { element, expectationTable, shortened } from "./dom";
import { seconds, typeset } from "./format";
import { PhaseCharts, type HostLines } from "./report_charts";
import {
  expectationRows,
  fairness,
  fallenBehind,
  files,
  promises,
  steady,
  workloads,
} from "./report_load";
import { observed } from "./report_observed";
import { sentenceOf } from "./report_words";
import { loaded } from "./scripts";
import { pill, verdictOfPhase } from "./verdict";
import type { Requests } from "./view";

export class PhaseSection {
  readonly root = element("section");
  private readonly details = element("div");
  private charts?: PhaseCharts;
  private filling?: Promise<void>;
  isFilled = false; // all of it is there, or it says what is not
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
  get name(): string {
    return this.phase.name;
  }
  get hosts(): number {
    return this.phase.hostsCount;
  }

  // When its first chart is drawn, or never will be. Without charts: now.
  get begun(): Promise<void> {
    return this.charts?.begun ?? Promise.resolve();
  }

  // Adds the rest, which the head leaves out; when it comes into sight, or at once in a file.
  fill(): Promise<void> {
    this.filling ??= this.fillOnce();
    return this.filling;
  }

  private async fillOnce(): Promise<void> {
    try {
      const drawn = this.draw();
      // On a slow line the first chart would wait for what is folded.
      await this.begun;
      const [lines, part, { foldsOf }] = await Promise.all([
        drawn,
        get<Report>(`/api/runs/${this.run}/phases/${this.phase.index}`, this.requests.signal),
        loaded(import("./report_folds")),
      ]);
      if (this.requests.isOver) return;
      const phase = { ...this.phase, ...part.phases[0] };
      this.folds = foldsOf(this.run, phase, fairness(phase), lines);
      this.details.append(...this.folds);
    } catch (error) {
      if (this.requests.isOver) return;
      this.details.append(element("p", { class: "error" }, messageOf(error)));
    }
    this.isFilled = true;
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
        this.root.insertBefore(element("p", { class: "error" }, messageOf(error)), this.details);
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
