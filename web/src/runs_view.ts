// All runs, the newest first; refreshes itself.

import { get, type HistoryReply, type RunSummary } from "./api";
import { element, figure, sparkline, table, text } from "./dom";
import { count, instant, throughput } from "./format";
import { pill, verdictOf } from "./verdict";
import { Asking, type View } from "./view";

const refreshMs = 5000;
const atFirst = 100;
const most = 1000; // as the controller's limit
const sparkRuns = 20;

export class RunsView implements View {
  private readonly asking = new Asking();
  private readonly list = element("div");
  private readonly note = element("p", { class: "muted", role: "status" });
  private readonly find: HTMLInputElement;
  private readonly more = element("button", { type: "button", class: "more" }, "older runs");
  private limit = atFirst;
  private runs: RunSummary[] = [];
  private shown = "";

  constructor(main: HTMLElement) {
    this.find = element("input", {
      type: "search",
      placeholder: "job, state, owner, label=value, date …",
      "aria-label": "find runs",
    }) as HTMLInputElement;
    this.find.addEventListener("input", () => this.draw());
    this.more.addEventListener("click", () => {
      this.limit = Math.min(most, this.limit * 4);
      void this.load();
    });
    main.replaceChildren(
      element("h1", {}, "Runs"),
      element("p", {}, this.find),
      this.note,
      this.list,
      this.more,
    );
    void this.load();
  }

  destroy(): void {
    this.asking.end();
  }

  private async load(): Promise<void> {
    try {
      const { runs } = await get<HistoryReply>(`/api/runs?limit=${this.limit}`, this.asking.signal);
      this.runs = runs;
      this.note.textContent = "";
      this.more.hidden = runs.length < this.limit || this.limit >= most;
      this.draw();
    } catch (error) {
      if (this.asking.isOver) return;
      this.note.textContent = `${String(error)} (asking again)`;
    }
    this.asking.again(refreshMs, () => void this.load());
  }

  // Every word must be somewhere in what is known of the run.
  private matches(run: RunSummary): boolean {
    const labels = Object.entries(run.labels).map(([name, value]) => `${name}=${value}`);
    const all = [run.runId, run.jobName, run.owner, verdictOf(run).word, run.submittedAt, ...labels]
      .join(" ")
      .toLowerCase();
    return this.find.value
      .toLowerCase()
      .split(/\s+/)
      .every((word) => all.includes(word));
  }

  // Of the same job, up to this run.
  private history(run: RunSummary): number[] {
    const same = this.runs.filter((other) => other.jobName === run.jobName && other.iops > 0);
    const at = same.indexOf(run);
    return at < 0
      ? []
      : same
          .slice(at, at + sparkRuns)
          .map((other) => other.iops)
          .reverse();
  }

  private draw(): void {
    const runs = this.runs.filter((run) => this.matches(run));
    const state = JSON.stringify(runs);
    if (state === this.shown) return; // nothing is moved under somebody's hand
    this.shown = state;
    if (runs.length === 0) {
      const words =
        this.runs.length === 0 ? "None yet. Submit one: lockstep run FILE" : "None that matches.";
      return this.list.replaceChildren(element("p", { class: "muted" }, words));
    }
    this.list.replaceChildren(
      table(
        [
          { title: "verdict" },
          { title: "job" },
          { title: "labels" },
          { title: "submitted" },
          { title: "owner" },
          { title: "hosts", numeric: true },
          { title: "IOPS", numeric: true },
          { title: "throughput", numeric: true },
          { title: "of this job" },
        ],
        runs.map((run) => {
          const link = element("a", { href: `#/run/${run.runId}`, "data-run": run.runId });
          link.append(run.jobName);
          const labels = Object.entries(run.labels).map(([name, value]) => `${name}=${value}`);
          return [
            { show: pill(verdictOf(run)) },
            { show: link },
            text(labels.join(" ")),
            text(instant(run.submittedAt)),
            text(run.owner),
            figure(run.hosts, String),
            figure(run.iops, (v) => (v > 0 ? count(v) : "")),
            figure(run.bytesPerSecond, (v) => (v > 0 ? throughput(v) : "")),
            { show: sparkline(this.history(run), "IOPS of this job's runs") },
          ];
        }),
      ),
    );
  }
}
