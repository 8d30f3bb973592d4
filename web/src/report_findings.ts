// What stands out in a run, as the head of its report says it: corrupted data, outages, findings of
// which those that are alike are one.

import { choose } from "./address";
import type { PhaseReport, Report } from "./api";
import { banner, element, fold, shortened, signs } from "./dom";
import { plural, typeset } from "./format";
import { groupsOf, isGrouped, shownTogether, type FindingGroup } from "./report_words";

const mostFindings = 6;
const mostOutages = 3;

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

// Wrong data, before all else: what, where, and who wrote it last is one click away.
export function corruption(report: Report): HTMLElement[] {
  const found = report.phases.flatMap((phase) =>
    phase.workloads.flatMap(({ verification: v }) => (v && v.mismatches > 0 ? [v] : [])),
  );
  if (found.length === 0) return [];
  const sum = (of: (v: (typeof found)[number]) => number) => found.reduce((n, v) => n + of(v), 0);
  const hosts = [...new Set(found.flatMap((v) => v.hosts))];
  const where = hosts.length > 0 ? ` on ${namesOf(hosts)}` : "";
  const details = found.flatMap((v) => v.details);
  const box = banner(
    "corrupt",
    `DATA CORRUPTED: ${plural(
      sum((v) => v.mismatches),
      "block",
    )}${where}`,
    `of ${plural(
      sum((v) => v.checked),
      "checked block",
    )}: ` + found.map((v) => v.byVerdict).join("; "),
  );
  const list = fold(
    "What, where, and who wrote it last",
    details.length > 0 ? `the first ${details.length} of them` : "",
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

// What a table, a banner or a group says already.
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

// Sentences of several phases that differ in figures alone: the first, and how many there are.
function merged(warnings: string[]): string[] {
  const alike = new Map<string, string[]>();
  for (const warning of warnings) {
    const key = warning.replace(/^[^:]*: /, "").replace(/\d+/g, "");
    alike.set(key, [...(alike.get(key) ?? []), warning]);
  }
  return [...alike.values()].map(([first, ...rest]) =>
    rest.length > 0 ? `${first} (${rest.length} more like it)` : first,
  );
}

export function findings(report: Report): HTMLElement[] {
  const loads = report.phases.filter((phase) => phase.workloads.length > 0);
  const together = shownTogether(report);
  const groups = loads.flatMap((phase) =>
    groupsOf(phase).map((group) => {
      const name = loads.length > 1 ? `${phase.name}: ` : "";
      return groupLine(phase, group, name, !together.has(phase.index));
    }),
  );
  const all = report.verdict?.warnings ?? [];
  const warnings = merged(all.filter((warning) => !isSaid(warning, report)));
  const more = report.verdict?.moreWarnings ?? 0;
  const lines = [
    ...groups,
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
