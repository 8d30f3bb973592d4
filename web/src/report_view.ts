// A run's report: the verdict with its reasons, then what each phase came to.

import type { Report } from "./api";
import { element, table, text } from "./dom";
import { eventLine } from "./events";
import { instant } from "./format";
import { PhaseSection } from "./report_phase";
import { curveSection, sweepSection } from "./report_sweeps";
import { pill, verdictOfReport } from "./verdict";
import type { View } from "./view";

// Facts of hosts: those that are equal once, and where they differ host by host.
function environment(report: Report): HTMLElement[] {
  const facts = new Map<string, Map<string, string[]>>(); // fact → value → hosts
  for (const [key, value] of Object.entries(report.environment)) {
    const space = key.indexOf(" ");
    if (space < 0) continue;
    const values = facts.get(key.slice(space + 1)) ?? new Map<string, string[]>();
    values.set(value, [...(values.get(value) ?? []), key.slice(0, space)]);
    facts.set(key.slice(space + 1), values);
  }
  if (facts.size === 0) return [];
  const rows = [...facts].map(([fact, values]) => {
    const hosts = [...values].map(([value, names]) =>
      values.size === 1 ? value : `${names.join(", ")}: ${value}`,
    );
    return { differs: values.size > 1, cells: [text(fact), text(hosts.join("; "))] };
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

  constructor(main: HTMLElement, report: Report) {
    const run = report.run;
    const about = run
      ? `${run.runId}, by ${run.owner}, ${instant(run.submittedAt)}, ${run.hosts} hosts`
      : "";
    const labels = Object.entries(run?.labels ?? {}).map(([name, value]) => `${name}=${value}`);
    const verdict = report.verdict;
    const why = verdict?.reasons ?? [];
    const lookAt = verdict?.lookAt ?? [];
    this.sections = report.phases.map((phase) => new PhaseSection(phase));
    main.replaceChildren(
      element("h1", {}, run?.jobName ?? "", " ", pill(verdictOfReport(report))),
      ...why.map((reason) => element("p", { class: verdict?.good ? "" : "error" }, reason)),
      element("p", { class: "muted" }, [about, ...labels].join(" · ")),
      ...(report.description ? [element("p", {}, report.description)] : []),
      ...(lookAt.length > 0
        ? [element("h2", {}, "What to look at"), ...lookAt.map((thing) => element("p", {}, thing))]
        : []),
      ...report.sweeps.map(sweepSection),
      ...report.curves.map(curveSection),
      ...this.sections.map((section) => section.root),
      ...environment(report),
    );
    if (report.events.length > 0)
      main.append(element("h2", {}, "Events"), ...report.events.map(eventLine));
    // Charts need the width that their place in the document gives them.
    for (const section of this.sections) section.draw();
  }

  destroy(): void {
    for (const section of this.sections) section.destroy();
  }
}
