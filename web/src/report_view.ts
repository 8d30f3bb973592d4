// A run's report: the first screen with what stands out, then sweeps and curves, then each phase.
// Parts that nobody asked for are folded.

import "./base";
import { choices, choose } from "./address";
import { get, messageOf, type EventReport, type JobReply, type Report } from "./api";
import { element, fold } from "./dom";
import { eventEntry } from "./events";
import { exportedRun } from "./file";
import { plural } from "./format";
import { whenPrinted } from "./paper";
import { findings, isInHead } from "./report_findings";
import { Overview, reportHead } from "./report_head";
import { PhaseSection } from "./report_phase";
import type { Section } from "./report_sweeps";
import { isStep, mainPhase, shownTogether } from "./report_words";
import { loaded } from "./scripts";
import { pill, verdictOfPhase } from "./verdict";
import type { Requests, View } from "./view";

// So many phases are filled without being asked for, and so many rows of hosts, which are half a
// kilobyte each. A phase is four requests and some megabytes of charts. The button "print" loads
// the others, and paper that lacks some says so.
const mostUnasked = 24;
const mostUnaskedHosts = 12000;
// So many of the phases that paper lacks are named.
const mostNamed = 3;
// So many open folds stand in the address.
const mostKept = 20;

export class ReportView implements View {
  private readonly sections: PhaseSection[] = [];
  private readonly rest = element("section");
  private readonly points = element("section");
  private readonly overview = new Overview();
  private readonly seen: IntersectionObserver;
  private readonly ends: (() => void)[];
  // The first chart is drawn. All that is not needed for it comes later.
  begun = Promise.resolve();
  private opened: HTMLDetailsElement[] = [];
  private readonly missing = element("p", { class: "warn on-paper", id: "missing" });
  private events: EventReport[] = [];

  constructor(
    private readonly main: HTMLElement,
    private readonly report: Report,
    private readonly requests: Requests,
    private readonly sweeps: Section[] = [], // and curves
  ) {
    const id = report.run?.runId ?? "";
    const together = shownTogether(report);
    const shown = report.phases.filter((phase) => !together.has(phase.index));
    const focus = mainPhase(report);
    for (const phase of shown)
      this.sections.push(
        new PhaseSection(
          id,
          phase,
          requests,
          (fleet) => {
            if (phase === focus) this.overview.set(report, fleet);
          },
          (remark) => isInHead(report, phase, remark),
        ),
      );
    main.replaceChildren(
      ...reportHead(report, shown, this.overview, () => void this.print()),
      // What stands out is read before a matrix of a hundred points.
      ...findings(report),
      ...this.sweeps.map((section) => section.root),
      ...this.sections.map((section) => section.root),
      this.points,
      this.rest,
    );
    this.addPoints(id, together);
    // Charts need the width that their place in the document gives them.
    for (const section of this.sweeps) section.draw();
    this.seen = this.fillWhenSeen();
    const found = (event: Event) => {
      const index = (event as CustomEvent<number>).detail;
      void this.sections.find((section) => section.index === index)?.showHosts();
    };
    document.addEventListener("find-hosts", found);
    this.ends = [
      this.keepFolds(),
      whenPrinted((isOnPaper) => this.unfold(isOnPaper)),
      () => document.removeEventListener("find-hosts", found),
    ];
    void this.fillRest(id);
    void this.fillUnasked();
  }

  destroy(): void {
    this.requests.end();
    this.seen.disconnect();
    for (const end of this.ends) end();
    this.overview.destroy();
    for (const section of [...this.sections, ...this.sweeps]) section.destroy();
  }

  // The points of sweeps and curves as phases of their own: each in a fold of its own.
  private addPoints(id: string, together: Set<number>): void {
    const { report } = this;
    const isHidden = (phase: Report["phases"][number]) =>
      report.sweeps.some((sweep) => isStep(phase, sweep.phase));
    const phases = report.phases.filter((p) => together.has(p.index) && !isHidden(p));
    if (phases.length === 0) return;
    const chosen = choices().get("phase");
    const isOpen = phases.some((phase) => String(phase.index) === chosen);
    const all = fold(
      "Points, one by one",
      `${plural(phases.length, "phase")} of the sweeps and curves above`,
      (box) => {
        for (const phase of phases) {
          const rate =
            phase.total?.iops !== undefined
              ? `${Math.round(phase.total.iops).toLocaleString("en")} IOPS`
              : "";
          const one = fold(
            phase.name,
            rate,
            (into) => {
              const section = new PhaseSection(id, phase, this.requests);
              this.sections.push(section);
              into.append(section.root);
              void section.fill().then(() => section.mark(this.events));
            },
            { isOpen: String(phase.index) === chosen },
          );
          one.id = `point-${phase.index}`;
          one.querySelector("summary")?.append(" ", pill(verdictOfPhase(phase)));
          one.classList.add("single");
          box.append(one);
        }
      },
      { level: 2, isOpen },
    );
    all.id = "points";
    all.classList.add("single");
    this.points.append(all);
  }

  // A run of a hundred phases is fetched as it is read; a file has all at once, for paper too.
  private fillWhenSeen(): IntersectionObserver {
    const seen = new IntersectionObserver(
      (entries) => {
        for (const entry of entries) {
          const section = this.sections.find((one) => one.root === entry.target);
          if (!section || !entry.isIntersecting) continue;
          seen.unobserve(section.root);
          void section.fill();
        }
      },
      { rootMargin: "1000px" },
    );
    const chosen = choices().get("phase");
    // The first charts come at once, however much is said above them.
    const focus = mainPhase(this.report);
    const first =
      this.sections.find((section) => section.index === focus?.index) ??
      this.sections.find((section) => section.hasLoad);
    for (const section of this.sections) if (exportedRun || section === first) void section.fill();
    this.begun = first?.begun ?? this.begun;
    void this.begun.then(() => {
      if (this.requests.isOver) return;
      for (const section of this.sections) if (section !== first) seen.observe(section.root);
    });
    if (chosen !== null) document.getElementById(`phase-${chosen}`)?.scrollIntoView();
    return seen;
  }

  // The others, one after the other, while the reader reads.
  private async fillUnasked(): Promise<void> {
    await this.begun;
    let hosts = 0;
    for (const section of this.sections.slice(0, mostUnasked)) {
      hosts += section.hosts;
      if (this.requests.isOver || hosts > mostUnaskedHosts) return;
      await section.fill();
      await new Promise((done) => setTimeout(done, 50));
    }
  }

  // Complete, however far it was read.
  private async print(): Promise<void> {
    await Promise.all(this.sections.map((section) => section.fill()));
    if (!this.requests.isOver) window.print();
  }

  // Which folds are open stands in the address: who comes back to it, or is sent it, finds them so.
  private keepFolds(): () => void {
    const kept = (choices().get("open") ?? "").split(",");
    const openKept = () => {
      for (const one of Array.from(this.main.querySelectorAll("details")))
        if (one.id !== "" && !one.open && kept.includes(one.id)) one.open = true;
    };
    openKept();
    // Those of phases come later.
    const grown = new MutationObserver(openKept);
    grown.observe(this.main, { childList: true, subtree: true });
    const note = (event: Event) => {
      const { id, open } = event.target as HTMLDetailsElement;
      if (this.opened.length > 0 || !id || kept.includes(id) === open) return;
      if (open) kept.push(id);
      else kept.splice(kept.indexOf(id), 1);
      choose({ open: kept.filter(Boolean).slice(-mostKept).join(",") || null });
    };
    this.main.addEventListener("toggle", note, true);
    return () => {
      grown.disconnect();
      this.main.removeEventListener("toggle", note, true);
    };
  }

  // On paper nothing is folded, but the points of a sweep, which its matrix has.
  private unfold(isOnPaper: boolean): void {
    this.missing.remove();
    if (!isOnPaper) {
      for (const one of this.opened) one.open = false;
      this.opened = [];
      return;
    }
    const closed = Array.from(this.main.querySelectorAll("details")).filter(
      (one) => !one.open && !one.matches(".single, .single details"),
    );
    this.opened = closed;
    this.tellMissing();
    for (const one of closed) {
      one.open = true;
      // The event of its own comes when the page is on its way to the paper already.
      one.dispatchEvent(new Event("toggle"));
    }
  }

  // What is not there yet cannot be waited for when the browser prints.
  private tellMissing(): void {
    const missing = this.sections.filter((section) => !section.isFilled);
    if (missing.length === 0) return;
    const names = missing.slice(0, mostNamed).map((section) => section.name);
    if (missing.length > mostNamed) names.push(`${missing.length - mostNamed} more`);
    this.missing.textContent =
      `${plural(missing.length, "phase")} (${names.join(", ")}) had not been loaded when this ` +
      'was printed: the button "print" of the page loads all of them first.';
    missing[0].root.before(this.missing);
  }

  private async fillRest(id: string): Promise<void> {
    await this.begun;
    try {
      const [surroundings, job, { environment }] = await Promise.all([
        get<Report>(`/api/runs/${id}/environment`, this.requests.signal),
        get<JobReply>(`/api/runs/${id}/job`, this.requests.signal),
        loaded(import("./report_folds")),
      ]);
      if (this.requests.isOver) return;
      this.events = surroundings.events;
      for (const section of this.sections) section.mark(this.events);
      this.overview.note(this.events);
      this.rest.append(...this.happened(), ...environment(surroundings));
      const words = job.source ? plural(job.source.trim().split("\n").length, "line") : "";
      const source = fold(
        "Job",
        words,
        (box) =>
          box.append(
            element(
              "pre",
              { class: "job", tabindex: "0" },
              job.source || "(it came without a file)",
            ),
          ),
        { level: 2 },
      );
      source.id = "job";
      this.rest.append(source);
    } catch (error) {
      if (!this.requests.isOver)
        this.rest.append(element("p", { class: "error" }, messageOf(error)));
    }
  }

  // The notes of people, and the actions of the controller.
  private happened(): HTMLElement[] {
    const notes = this.events.filter((event) => event.severity === "note");
    const events = this.events.filter((event) => event.severity !== "note");
    const troubles = events.filter((event) => event.severity !== "info").length;
    const list = (all: EventReport[]) => element("ul", { class: "events" }, ...all.map(eventEntry));
    const parts: HTMLElement[] = [];
    if (notes.length > 0) parts.push(element("h2", { id: "notes" }, "Notes"), list(notes));
    if (events.length > 0) {
      const words =
        plural(events.length, "event") +
        (troubles > 0 ? `, ${troubles} of them warnings or errors` : "");
      const made = fold("Events", words, (box) => box.append(list(events)), {
        level: 2,
        isOpen: troubles > 0,
      });
      made.id = "events";
      parts.push(made);
    }
    return parts;
  }
}
