// Runs, the newest first; refreshes itself. What is chosen is asked of the controller.

import { choices, choose, keptSorting } from "./address";
import { get, messageOf, Refused, type HistoryReply, type RunSummary } from "./api";
import { element, figure, labelsOf, sparkline, table, text } from "./dom";
import { count, instant, orNone, throughput } from "./format";
import { pill, syntheticMark, verdictOf } from "./verdict";
import { Requests, type View } from "./view";

const refreshMs = 5000;
const pageSize = 100;
const sparkRuns = 20;
const mostCompared = 5;

const filters: [string, string][] = [
  ["job", "job"],
  ["label", "labels (NAME=VALUE …)"],
  ["host", "host"],
  ["device", "device"],
  ["owner", "owner"],
  ["state", "state"],
  ["since", "since (date)"],
  ["until", "before (date)"],
];

export class RunsView implements View {
  private readonly requests = new Requests();
  private readonly list = element("div");
  private readonly note = element("p", { class: "muted", role: "status" });
  private readonly find = element("input", {
    type: "search",
    placeholder: "find on this page: job, verdict, owner, label=value, date …",
    "aria-label": "find runs",
  }) as HTMLInputElement;
  private readonly newer = element("button", { type: "button", class: "more" }, "newer runs");
  private readonly older = element("button", { type: "button", class: "more" }, "older runs");
  private readonly compare = element("a", { href: "#/" }, "compare");
  private readonly ticked = new Map<string, string>(); // ids, and when they were submitted
  private readonly sorting = keptSorting("runs");
  private readonly clear = element("button", { type: "button" }, "untick all");
  private asked = 0;
  private runs: RunSummary[] = [];
  private total = 0;
  private shown = "";

  constructor(main: HTMLElement) {
    this.find.value = choices().get("find") ?? "";
    this.find.addEventListener("input", () => {
      choose({ find: this.find.value });
      this.draw();
    });
    this.clear.addEventListener("click", () => {
      this.ticked.clear();
      this.shown = "";
      this.draw();
      this.drawCompare();
    });
    this.newer.addEventListener("click", () => this.page(-pageSize));
    this.older.addEventListener("click", () => this.page(pageSize));
    main.replaceChildren(
      element("h1", {}, "Runs"),
      element("p", {}, this.find),
      this.form(),
      element("p", { class: "compare" }, this.compare, " ", this.clear),
      this.note,
      this.list,
      element("p", {}, this.newer, " ", this.older),
    );
    this.drawCompare();
    void this.load();
  }

  destroy(): void {
    this.requests.end();
  }

  private get offset(): number {
    return Math.max(0, Number(choices().get("offset") ?? 0) || 0);
  }

  private form(): HTMLElement {
    const chosen = choices();
    const fields = filters.map(([name, label]) => {
      const field = element("input", { name, value: chosen.get(name) ?? "" }) as HTMLInputElement;
      return { name, field, box: element("label", {}, label, field) };
    });
    const form = element(
      "form",
      { class: "filter" },
      ...fields.map(({ box }) => box),
      element("button", { type: "submit" }, "filter"),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      choose({
        offset: null,
        ...Object.fromEntries(fields.map(({ name, field }) => [name, field.value.trim()])),
      });
      void this.load();
    });
    const isOpen = fields.some(({ field }) => field.value !== "");
    return element(
      "details",
      isOpen ? { open: "" } : {},
      element("summary", {}, "Filter all runs"),
      form,
    );
  }

  private page(by: number): void {
    const offset = Math.max(0, this.offset + by);
    choose({ offset: offset > 0 ? String(offset) : null });
    void this.load();
  }

  private async load(): Promise<void> {
    const ask = new URLSearchParams({ limit: String(pageSize), offset: String(this.offset) });
    for (const [name] of filters) {
      const value = choices().get(name);
      // A run must have all labels that are asked for.
      const all = name === "label" ? (value ?? "").split(/[\s,]+/) : [value ?? ""];
      for (const one of all) if (one) ask.append(name, one);
    }
    const mine = ++this.asked;
    try {
      const reply = await get<HistoryReply>(`/api/runs?${ask}`, this.requests.signal);
      if (mine !== this.asked) return; // something else is asked for during that time
      this.runs = reply.runs;
      this.total = reply.total;
      const last = this.offset + reply.runs.length;
      this.note.textContent =
        reply.total > pageSize ? `${this.offset + 1} to ${last} of ${reply.total}` : "";
      this.newer.hidden = this.offset === 0;
      this.older.hidden = last >= reply.total;
      this.draw();
    } catch (error) {
      if (this.requests.isOver || mine !== this.asked) return;
      if (error instanceof Refused) {
        // Asking again is in vain; nothing that was not asked for stays.
        this.runs = [];
        this.newer.hidden = this.older.hidden = true;
        this.draw();
        this.note.textContent = messageOf(error);
        return;
      }
      this.note.textContent = `${messageOf(error)} (retrying)`;
    }
    this.requests.again(refreshMs, () => void this.load());
  }

  // Every word must be somewhere in what is known of the run.
  private matches(run: RunSummary): boolean {
    const labels = labelsOf(run.labels);
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

  private tick(run: RunSummary): HTMLElement {
    const box = element("input", {
      type: "checkbox",
      "aria-label": `compare ${run.jobName} ${run.runId.slice(0, 8)}`,
      "data-tick": run.runId,
    }) as HTMLInputElement;
    box.checked = this.ticked.has(run.runId);
    box.addEventListener("change", () => {
      if (box.checked) this.ticked.set(run.runId, run.submittedAt);
      else this.ticked.delete(run.runId);
      this.drawCompare();
    });
    return box;
  }

  private drawCompare(): void {
    const { size } = this.ticked;
    const can = size >= 2 && size <= mostCompared;
    this.clear.hidden = size === 0;
    this.compare.hidden = size < 2;
    // The oldest is what the others are compared with.
    const ids = [...this.ticked].sort((a, b) => a[1].localeCompare(b[1])).map(([id]) => id);
    if (can) this.compare.setAttribute("href", `#/compare/${ids.join(",")}`);
    else this.compare.removeAttribute("href");
    this.compare.textContent = can
      ? `compare the ${size} runs that are ticked`
      : `${size} runs are ticked: at most ${mostCompared} are compared`;
  }

  private draw(): void {
    const runs = this.runs.filter((run) => this.matches(run));
    const state = JSON.stringify(runs);
    if (state === this.shown) return; // nothing is moved under somebody's hand
    this.shown = state;
    const focused = document.activeElement as HTMLElement | null;
    const inHand = this.list.contains(focused) ? focused : null;
    const again = inHand?.dataset.run
      ? `a[data-run="${inHand.dataset.run}"]`
      : inHand?.dataset.tick
        ? `[data-tick="${inHand.dataset.tick}"]`
        : "";
    if (runs.length === 0) {
      const words =
        this.runs.length === 0 && this.total === 0 && location.hash.indexOf("?") < 0
          ? "None yet. Submit one: lockstep run FILE"
          : "None that matches.";
      return this.list.replaceChildren(element("p", { class: "muted" }, words));
    }
    this.list.replaceChildren(
      table(
        [
          { title: "compare" },
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
          return [
            { show: this.tick(run) },
            { show: element("span", {}, pill(verdictOf(run)), ...syntheticMark(run)) },
            { show: link },
            text(labelsOf(run.labels).join(" ")),
            text(instant(run.submittedAt)),
            text(run.owner),
            figure(run.hosts, orNone(String)),
            figure(run.iops, orNone(count)),
            figure(run.bytesPerSecond, orNone(throughput)),
            { show: sparkline(this.history(run), "IOPS of this job's runs") },
          ];
        }),
        true,
        this.sorting,
      ),
    );
    if (again) this.list.querySelector<HTMLElement>(again)?.focus();
  }
}
