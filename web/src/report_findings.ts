// The findings of a run, as the head of its report says them: corrupted data, outages, and findings
// of which those that are alike are one.

import { choose } from "./address";
import type { PhaseReport, Report } from "./api";
import { banner, element, fold, shortened, signs } from "./dom";
import { count, plural, typeset } from "./format";
import { groupsOf, isGrouped, shownTogether, type FindingGroup } from "./report_words";

const mostFindings = 6;
const mostOutages = 3;
const mostNamed = 4; // hosts

// Leads to a phase of the same report; addresses of the page are its own.
export function phaseLink(phase: PhaseReport, name: string): HTMLElement {
  const link = element("button", { type: "button", class: "to" }, name);
  link.addEventListener("click", () => reach(`phase-${phase.index}`));
  return link;
}

export function reach(id: string): void {
  const there = document.getElementById(id);
  const closed = there?.closest("details");
  if (closed) closed.open = true;
  there?.scrollIntoView();
  there?.setAttribute("tabindex", "-1");
  there?.focus({ preventScroll: true });
}

// Wrong data, before all else: contents, place and last writer are one click away.
export function corruption(report: Report): HTMLElement[] {
  const found = report.phases.flatMap((phase) =>
    phase.workloads.flatMap(({ verification: v }) => (v && v.mismatches > 0 ? [v] : [])),
  );
  if (found.length === 0) return [];
  const sum = (of: (v: (typeof found)[number]) => number) => found.reduce((n, v) => n + of(v), 0);
  const wrong = sum((v) => v.mismatches);
  const hosts = [...new Set(found.flatMap((v) => v.hosts))];
  const where = hosts.length > 0 ? ` on ${namesOf(hosts)}` : "";
  const details = found.flatMap((v) => v.details);
  const box = banner(
    "corrupt",
    `DATA CORRUPTED: ${plural(wrong, "block")}${where}`,
    `of ${plural(
      sum((v) => v.checked),
      "checked block",
    )}: ` + found.map((v) => v.byVerdict).join("; "),
  );
  const list = fold(
    "Contents, place and last writer",
    details.length < wrong ? `the first ${details.length} of ${count(wrong)}` : "",
    (into) =>
      into.append(
        element("ol", {}, ...details.map((detail) => element("li", {}, detail))),
        ...found.filter((v) => v.restsOn).map((v) => element("p", {}, v.restsOn)),
      ),
    { level: 2 },
  );
  list.id = "corruption";
  return [box, ...(details.length > 0 ? [list] : [])];
}

function namesOf(names: string[]): string {
  if (names.length > 4) return `${names.slice(0, 3).join(", ")} and ${names.length - 3} more`;
  return names.length > 1
    ? `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}`
    : names.join();
}

// The loud words of a sentence, and the rest of it.
const headOf = (sentence: string): [string, string] => {
  const at = sentence.indexOf(";");
  return at < 0 ? [sentence, ""] : [sentence.slice(0, at), sentence.slice(at + 1).trim()];
};

export function outages(report: Report): HTMLElement[] {
  const loads = report.phases.filter((phase) => phase.workloads.length > 0);
  const found = loads.filter((phase) => phase.outageSummary?.count);
  const banners = found.map((phase) => {
    const [loud, rest] = headOf(typeset(phase.outageSummary?.sentence ?? ""));
    const name = loads.length > 1 ? `${phase.name}: ` : "";
    return banner("bad", name + loud, ...(rest ? [`${rest} `] : []), phaseLink(phase, "show it"));
  });
  return shortened(banners, mostOutages);
}

// Whether a table, a banner or a group says the warning already.
function isSaid(warning: string, report: Report): boolean {
  if (/(^|: )(FAILED: |DATA CORRUPTED: |[^:]*: VERIFICATION FAILED)/.test(warning)) return true;
  if (isGrouped(warning)) return true;
  const sentences = report.phases.flatMap((phase) => [
    ...(phase.outageSummary?.count ? [phase.outageSummary.sentence] : []),
    ...groupsOf(phase).map((group) => group.sentence),
  ]);
  return sentences.some((sentence) => sentence !== "" && warning.endsWith(sentence));
}

// A group, with buttons that lead to its hosts.
function groupLine(
  phase: PhaseReport,
  group: FindingGroup,
  name: string,
  hasTable: boolean,
): HTMLElement {
  const words = `${name}${typeset(group.sentence)}`;
  const line = element("p", { class: "warn finding" }, `${signs.warn} ${words} `);
  const isOfHosts = ["straggler", "slow", "starvation"].includes(group.kind);
  if (!isOfHosts || !hasTable) return line;
  const all = { straggler: "of the others", slow: "latency ×", starvation: "starved" }[group.kind];
  const filters = [
    ["show these hosts", all ?? ""],
    ...(group.causes.length > 1 ? group.causes.map((c) => [`only ${c.cause}`, c.cause]) : []),
  ];
  for (const [label, find] of filters) {
    const button = element("button", { type: "button", class: "to" }, label);
    button.addEventListener("click", () => {
      choose({ [`find-hosts-${phase.index}`]: find });
      document.dispatchEvent(new CustomEvent("find-hosts", { detail: phase.index }));
    });
    line.append(button, " ");
  }
  return line;
}

// The points of a sweep or a curve, each of which is a phase.
function pointsOf(report: Report): { name: string; phases: PhaseReport[] }[] {
  const all = [
    ...report.sweeps.map((one) => ({ name: one.phase, at: one.points.flatMap((p) => p.phases) })),
    ...report.curves.map((one) => ({ name: one.phase, at: one.points.map((p) => p.phase) })),
  ];
  return all.map(({ name, at }) => ({
    name,
    phases: report.phases.filter((phase) => at.includes(phase.index)),
  }));
}

// The hosts that a group of findings is of.
function hostsIn(phase: PhaseReport, kind: string): string[] {
  const found =
    kind === "starvation"
      ? phase.starvations
      : phase.stragglers.filter((s) => (s.latencyRatio !== undefined) === (kind === "slow"));
  return [...new Set(found.map((one) => one.host))];
}

const kindWords: Record<string, string> = {
  straggler: "hosts did fewer I/Os than the others",
  slow: "hosts' I/Os took longer than the others'",
  starvation: "hosts got almost nothing for a time",
};

// A finding that many points of a sweep share is one line, with its hosts.
function pointLines(report: Report): HTMLElement[] {
  return pointsOf(report).flatMap(({ name, phases }) => {
    const grouped = phases.map((phase) => ({ phase, groups: groupsOf(phase) }));
    const kinds = new Set(grouped.flatMap(({ groups }) => groups.map((group) => group.kind)));
    return [...kinds].flatMap((kind) => {
      const found = grouped.flatMap(({ phase, groups }) =>
        groups.filter((group) => group.kind === kind).map((group) => ({ phase, group })),
      );
      const words = kindWords[kind];
      if (found.length === 1 || words === undefined)
        return found.map(({ phase, group }) => groupLine(phase, group, `${phase.name}: `, false));
      const times = new Map<string, number>();
      for (const { phase } of found)
        for (const host of hostsIn(phase, kind)) times.set(host, (times.get(host) ?? 0) + 1);
      const most = [...times].sort(([, a], [, b]) => b - a);
      const who = most.slice(0, mostNamed).map(([host, often]) => `${host} (${often})`);
      const rest = most.length > mostNamed ? ` and ${most.length - mostNamed} more` : "";
      const where = `at ${found.length} of ${plural(phases.length, "point")}`;
      const line = element(
        "p",
        { class: "warn finding" },
        `${signs.warn} ${name}: ${words} ${where}: ${who.join(", ")}${rest} `,
      );
      const button = element("button", { type: "button", class: "to" }, "show the points");
      button.addEventListener("click", () => reach("points"));
      line.append(button);
      return [line];
    });
  });
}

// Sentences of several phases that differ in figures and hosts alone: the first, and how many there
// are.
const ofHosts = /\bon \S+( and (\d+ more|\S+))?(?= completed )/;
function merged(warnings: string[]): string[] {
  const alike = new Map<string, string[]>();
  for (const warning of warnings) {
    const key = warning
      .replace(/^[^:]*: /, "")
      .replace(ofHosts, "")
      .replace(/\d+(\.\d+)?( [µmn]?s\b)?/g, "");
    alike.set(key, [...(alike.get(key) ?? []), warning]);
  }
  return [...alike.values()].map(([first, ...rest]) =>
    rest.length > 0 ? `${first} (${rest.length} more like it)` : first,
  );
}

// The run's warnings that are findings of their own.
const shownWarnings = (report: Report): string[] =>
  merged((report.verdict?.warnings ?? []).filter((warning) => !isSaid(warning, report)));

// Whether the head of the report says a remark of a phase word for word, or shows it otherwise.
export function isInHead(report: Report, phase: PhaseReport, remark: string): boolean {
  const all = shownWarnings(report);
  return isSaid(remark, report) || all.includes(remark) || all.includes(`${phase.name}: ${remark}`);
}

export function findings(report: Report): HTMLElement[] {
  const loads = report.phases.filter((phase) => phase.workloads.length > 0);
  const together = shownTogether(report);
  const alone = loads.filter((phase) => !together.has(phase.index));
  const groups = alone.flatMap((phase) =>
    groupsOf(phase).map((group) => {
      const name = loads.length > 1 ? `${phase.name}: ` : "";
      return groupLine(phase, group, name, true);
    }),
  );
  const warnings = shownWarnings(report);
  const more = report.verdict?.moreWarnings ?? 0;
  const lines = [
    ...groups,
    ...pointLines(report),
    ...warnings.map((warning) =>
      element("p", { class: "finding" }, `${signs.warn} ${typeset(warning)}`),
    ),
  ];
  if (lines.length === 0) return [];
  return [
    element("h2", { id: "findings" }, "Findings"),
    ...shortened(lines, mostFindings),
    ...(more > 0 ? [element("p", { class: "muted" }, `and ${more} more below`)] : []),
  ];
}
