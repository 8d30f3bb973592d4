// Runs, the newest first; refreshes itself. The controller applies the filters.

import "./base";
import { command } from "./actions";
import { choices, choose, keptSorting } from "./address";
import { get, messageOf, Refused, type HistoryReply, type RunSummary } from "./api";
import { element, figure, labelsOf, table, text, timeOf, type Cell } from "./dom";
import { bound, orNone } from "./format";
import { oneStop } from "./keyboard";
import { Selection } from "./runs_selection";
import { sparkline } from "./sparkline";
import { exactFigures, headlineOf, reasonOf } from "./words";
import { pill, syntheticMark, verdictOf } from "./verdict";
import { Requests, type View } from "./view";

const refreshMs = 5000;
const pageSize = 100;
const sparkRuns = 20;
const shownLabels = 6;

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
  private readonly list = element("div", { class: "runs" });
  private readonly note = element("p", { class: "muted", role: "status" });
  private readonly find = element("input", {
    type: "search",
    placeholder: "find on this page: job, verdict, owner, label=value, date …",
    "aria-label": "find runs",
  }) as HTMLInputElement;
  private readonly newer = element("button", { type: "button", class: "more" }, "newer runs");
  private readonly older = element("button", { type: "button", class: "more" }, "older runs");
  private readonly sorting = keptSorting("runs");
  private readonly selection = new Selection(() => {
    this.shown = "";
    this.draw();
  });
  // One stop of the Tab key for a hundred rows.
  private readonly stops = ["a[data-run]", "[data-tick]"].map((one) => oneStop(this.list, one));
  private asked = 0;
  private runs: RunSummary[] = [];
  private shown = "";

  constructor(main: HTMLElement) {
    this.find.value = choices().get("find") ?? "";
    this.find.addEventListener("input", () => {
      choose({ find: this.find.value });
      this.draw();
    });
    this.newer.addEventListener("click", () => this.page(-pageSize));
    this.older.addEventListener("click", () => this.page(pageSize));
    main.replaceChildren(
      element("h1", {}, "Runs"),
      element("p", {}, this.find),
      this.form(),
      this.note,
      this.selection.root,
      this.list,
      element("p", {}, this.newer, " ", this.older),
    );
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
    const { runId, jobName, owner, submittedAt } = run;
    const verdict = [verdictOf(run).word, reasonOf(run)];
    const all = [runId, jobName, owner, ...verdict, submittedAt, ...labels].join(" ").toLowerCase();
    return this.find.value
      .toLowerCase()
      .split(/\s+/)
      .every((word) => all.includes(word));
  }

  // The runs of the same job, up to this run.
  private history(run: RunSummary): number[] {
    const same = this.runs.filter(
      (other) => other.jobName === run.jobName && (other.iops ?? 0) > 0,
    );
    const at = same.indexOf(run);
    return at < 0
      ? []
      : same
          .slice(at, at + sparkRuns)
          .map((other) => other.iops ?? 0)
          .reverse();
  }

  private tick(run: RunSummary): HTMLElement {
    const box = element("input", {
      type: "checkbox",
      "aria-label": `tick ${run.jobName} ${run.runId.slice(0, 8)}`,
      "data-tick": run.runId,
    }) as HTMLInputElement;
    box.checked = this.selection.has(run);
    box.addEventListener("change", () => this.selection.set(run, box.checked));
    return box;
  }

  private row(run: RunSummary): Cell[] {
    const link = element("a", { href: `#/run/${run.runId}`, "data-run": run.runId });
    link.append(run.jobName);
    const result = bound(headlineOf(run));
    const title = exactFigures(run);
    const verdict = verdictOf(run);
    const isWrong = verdict.tone !== "good" && verdict.tone !== "plain";
    const why = isWrong ? reasonOf(run) : "";
    const reason = why ? [element("span", { class: `reason ${verdict.tone}` }, bound(why))] : [];
    return [
      { show: this.tick(run) },
      { show: element("span", {}, pill(verdict), " ", ...syntheticMark(run)) },
      { show: link },
      {
        show: element("span", title ? { title } : {}, result, " ", ...reason),
        sort: run.iops ?? -1,
      },
      { show: chips(run) },
      figure(run.hosts, orNone(String)),
      { show: timeOf(run.submittedAt), sort: run.submittedAt },
      text(run.owner),
      { show: sparkline(this.history(run), "IOPS of this job's runs") },
    ];
  }

  private draw(): void {
    const runs = this.runs.filter((run) => this.matches(run));
    // Times are relative: they are told again each minute.
    const state = JSON.stringify([runs, Math.floor(Date.now() / 60000)]);
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
      const isFiltered = filters.some(([name]) => choices().has(name)) || this.find.value !== "";
      return this.list.replaceChildren(...(isFiltered ? noMatch() : firstSteps()));
    }
    const numeric = (title: string) => ({ title, numeric: true });
    const columns = [
      ...["compare", "verdict", "job", "result", "labels"].map((title) => ({ title })),
      numeric("hosts"),
      ...["submitted", "owner", "trend"].map((title) => ({ title })),
    ];
    this.list.replaceChildren(
      table(
        columns,
        runs.map((run) => this.row(run)),
        true,
        this.sorting,
      ),
    );
    for (const settle of this.stops) settle();
    if (again) this.list.querySelector<HTMLElement>(again)?.focus();
  }
}

// Each leads to the runs that have it. The filter above does, too, so the Tab key skips them.
function chips(run: RunSummary): HTMLElement {
  const all = labelsOf(run.labels);
  const links = all.slice(0, shownLabels).map((label) => {
    const href = `#/?${new URLSearchParams({ label })}`;
    return element("a", { class: "chip", href, tabindex: "-1", title: label }, label);
  });
  const rest = all.slice(shownLabels);
  const more =
    rest.length > 0 ? [element("span", { title: rest.join(" ") }, `+${rest.length}`)] : [];
  return element("span", { class: "chips" }, ...links, ...more);
}

function firstSteps(): HTMLElement[] {
  return [
    element("h2", {}, "No runs yet"),
    element("p", {}, "Start the example, which takes 20 seconds and touches no storage:"),
    element("p", {}, command("lockstep run examples/rehearsal.yaml")),
    element("p", {}, "Then measure with a job that you make your own:"),
    element("p", {}, command("lockstep run examples/random-mix.yaml")),
  ];
}

function noMatch(): HTMLElement[] {
  const all = element("a", { href: "#/" }, "show all runs");
  return [element("p", { class: "muted" }, "No run matches. ", all)];
}
