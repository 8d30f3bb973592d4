// A run's report: the verdict with its reasons, then what each phase came to.

import { choices } from "./address";
import { get, type JobReply, type Report } from "./api";
import { element, labelsOf, shortened, table, text } from "./dom";
import { eventLine } from "./events";
import { exportedRun } from "./file";
import { instant, plural } from "./format";
import { PhaseSection } from "./report_phase";
import { curveSection, sweepSection, type Section } from "./report_sweeps";
import { pill, syntheticMark, verdictOfReport } from "./verdict";
import type { Requests, View } from "./view";

export type Facts = Map<string, Map<string, string[]>>; // fact → value → hosts

export function factsOf(report: Report): Facts {
  const facts: Facts = new Map();
  for (const [key, value] of Object.entries(report.environment)) {
    const space = key.indexOf(" ");
    if (space < 0) continue;
    const values = facts.get(key.slice(space + 1)) ?? new Map<string, string[]>();
    values.set(value, [...(values.get(value) ?? []), key.slice(0, space)]);
    facts.set(key.slice(space + 1), values);
  }
  return facts;
}

// So many hosts are named; of more it is said how many.
const namedHosts = 8;
const namedValues = 50;
function namesOf(hosts: string[]): string {
  const shown = hosts.slice(0, namedHosts).join(", ");
  return hosts.length > namedHosts ? `${shown} and ${hosts.length - namedHosts} more` : shown;
}

// Facts of hosts: those that are equal once, and where they differ host by host.
function environment(report: Report): HTMLElement[] {
  const facts = factsOf(report);
  if (facts.size === 0) return [];
  const all = new Set([...facts.values()].flatMap((values) => [...values.values()].flat())).size;
  const rows = [...facts].map(([fact, values]) => {
    const known = [...values.values()].reduce((sum, names) => sum + names.length, 0);
    const differs = values.size > 1 || known < all;
    const hosts = [...values].map(([value, names]) =>
      differs ? `${namesOf(names)}: ${value}` : value,
    );
    if (hosts.length > namedValues)
      hosts.splice(
        namedValues,
        hosts.length,
        `and ${plural(hosts.length - namedValues, "more value")}`,
      );
    const silent = all - known;
    if (silent > 0) hosts.push(`${plural(silent, "host")} ${silent === 1 ? "does" : "do"} not say`);
    return { differs, cells: [text(fact), text(hosts.join("; "))] };
  });
  const columns = [{ title: "fact" }, { title: "value" }];
  const differing = rows.filter((row) => row.differs).map((row) => row.cells);
  const details = element("details", {}, element("summary", {}, "Environment of the hosts"));
  details.append(
    table(
      columns,
      rows.map((row) => row.cells),
    ),
  );
  if (differing.length === 0) return [details];
  return [element("h2", {}, "Where the hosts differ"), table(columns, differing), details];
}

export class ReportView implements View {
  private readonly sections: PhaseSection[];
  private readonly sweeps: Section[];
  private readonly rest = element("section");
  private readonly seen: IntersectionObserver;

  constructor(
    main: HTMLElement,
    report: Report,
    private readonly requests: Requests,
  ) {
    const run = report.run;
    const id = run?.runId ?? "";
    const about = run
      ? `${id}, by ${run.owner}, ${instant(run.submittedAt)}, ${plural(run.hosts, "host")}, ` +
        `seed ${report.seed}, Lockstep ${report.version}`
      : "";
    const labels = labelsOf(run?.labels);
    const verdict = report.verdict;
    const why = verdict?.reasons ?? [];
    const warnings = verdict?.warnings ?? [];
    const more = verdict?.moreWarnings ?? 0;
    this.sections = report.phases.map((phase) => new PhaseSection(id, phase, requests));
    this.sweeps = [...report.sweeps.map(sweepSection), ...report.curves.map(curveSection)];
    const actions = exportedRun
      ? []
      : [
          element("a", { href: `/api/runs/${id}/export.html`, download: "" }, "save as one file"),
          " · ",
          element("a", { href: `/api/runs/${id}/report` }, "JSON"),
        ];
    main.replaceChildren(
      element(
        "h1",
        {},
        run?.jobName ?? "",
        " ",
        pill(verdictOfReport(report)),
        " ",
        ...syntheticMark(run),
      ),
      ...why.map((reason) => element("p", { class: verdict?.good ? "" : "error" }, reason)),
      element("p", { class: "muted" }, [about, ...labels].join(" · ")),
      element("p", { class: "actions" }, ...actions),
      ...(report.description ? [element("p", {}, report.description)] : []),
      ...(report.samplesPruned
        ? [element("p", { class: "muted" }, "The samples of its intervals were pruned.")]
        : []),
      ...(warnings.length > 0
        ? [
            element("h2", {}, "Warnings"),
            ...shortened(
              warnings.map((thing) => element("p", {}, thing)),
              8,
            ),
            ...(more > 0 ? [element("p", { class: "muted" }, `and ${more} more below`)] : []),
          ]
        : []),
      ...this.sweeps.map((section) => section.root),
      ...this.sections.map((section) => section.root),
      this.rest,
    );
    // Charts need the width that their place in the document gives them.
    for (const section of this.sweeps) section.draw();
    this.seen = this.fillWhenSeen();
    void this.fillRest(id);
  }

  destroy(): void {
    this.requests.end();
    this.seen.disconnect();
    for (const section of [...this.sections, ...this.sweeps]) section.destroy();
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
    const first = this.sections.find((section) => section.hasLoad);
    for (const section of this.sections) {
      if (exportedRun || section === first) void section.fill();
      else seen.observe(section.root);
    }
    if (chosen !== null) document.getElementById(`phase-${chosen}`)?.scrollIntoView();
    return seen;
  }

  private async fillRest(id: string): Promise<void> {
    try {
      const [surroundings, job] = await Promise.all([
        get<Report>(`/api/runs/${id}/environment`, this.requests.signal),
        get<JobReply>(`/api/runs/${id}/job`, this.requests.signal),
      ]);
      if (this.requests.isOver) return;
      const { events } = surroundings;
      for (const section of this.sections) section.mark(events);
      this.rest.append(
        ...environment(surroundings),
        ...(events.length > 0 ? [element("h2", {}, "Events"), ...events.map(eventLine)] : []),
        element("h2", {}, "Job"),
        element("pre", { class: "job", tabindex: "0" }, job.source || "(it came without a file)"),
      );
    } catch (error) {
      if (!this.requests.isOver) this.rest.append(element("p", { class: "error" }, String(error)));
    }
  }
}
