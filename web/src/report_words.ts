// The conclusions of a report: the controller's sentences where it has them, and else those that
// follow from its figures.

import type { OperationReport, PhaseReport, Report } from "./api";
import { count as countOf, marked, none, plural, short, typeset, wholePercent } from "./format";
import { bestPoint, bestStep, pointName } from "./points";

// A headline of RunSummary and PhaseReport, as far as the controller tells them.
export interface Headline {
  kind: string;
  phase: string;
  at: string;
  iops?: number;
  bytesPerSecond?: number;
  p99Ns?: number;
  isP99Uncertain?: boolean;
  checkedBlocks?: number;
  text: string;
}
export interface FindingGroup {
  kind: string;
  sentence: string;
  causes: { cause: string; hostsCount: number; reason: string }[];
}
interface Expected {
  figure?: string;
}
type RunWords = { conclusion?: string; headline?: Headline } | undefined;
type PhaseWords = { findingGroups?: FindingGroup[] };

export function percentileOf(of: OperationReport | undefined, percents: number) {
  return of?.percentiles.find((p) => p.percent === percents)?.latencyNs;
}

// The phase that a report is about: of which something is expected, or else the first with a load.
export function mainPhase(report: Report): PhaseReport | undefined {
  const together = shownTogether(report);
  const loads = report.phases.filter((p) => p.total && !together.has(p.index));
  const named = (report.run as RunWords)?.headline?.phase;
  return (
    loads.find((p) => p.name === named) ??
    loads.find((p) => p.expectations.length > 0 && p.kind === "run") ??
    loads.find((p) => p.kind === "run") ??
    loads[0]
  );
}

// The points of sweeps and curves, which are shown as one, and the finished steps that lay out and
// remove their files.
export function shownTogether(report: Report): Set<number> {
  const together = new Set<number>();
  for (const sweep of report.sweeps) {
    for (const point of sweep.points) for (const phase of point.phases) together.add(phase);
    for (const phase of report.phases) if (isStep(phase, sweep.phase)) together.add(phase.index);
  }
  for (const curve of report.curves) for (const point of curve.points) together.add(point.phase);
  return together;
}

// A step around the points of a sweep, of which there is nothing to tell.
export function isStep(phase: PhaseReport, sweep: string): boolean {
  const isOwn = phase.name.startsWith(sweep) && /, (prepare|cleanup)$/.test(phase.name);
  return isOwn && phase.state === "done" && phase.remarks.length === 0;
}

export function headlineOf(report: Report): Headline | undefined {
  const told = (report.run as RunWords)?.headline;
  if (told) return told;
  const [sweep] = report.sweeps;
  const point = sweep && bestPoint(sweep);
  if (point) {
    const { iops, bytesPerSecond, p99Ns } = point;
    const at = pointName(sweep, point);
    const text = sweep.conclusion?.sentence ?? "";
    const made = head("sweep", sweep.phase, at, iops, bytesPerSecond, p99Ns, text);
    return { ...made, isP99Uncertain: point.isP99Uncertain };
  }
  const [curve] = report.curves;
  const step = curve && bestStep(curve);
  if (step?.achieved !== undefined) {
    const at = `${Number((100 * step.share).toPrecision(4))} % of the load`;
    const phase = report.phases.find((p) => p.index === step.phase);
    const rate = phase?.total?.bytesPerSecond ?? 0;
    const text = `${short("count", step.achieved)} IOPS at ${at}`;
    const made = head("curve", curve.phase, at, step.achieved, rate, step.p99Ns, text);
    return { ...made, isP99Uncertain: step.isP99Uncertain };
  }
  const phase = mainPhase(report);
  if (!phase?.total) return undefined;
  const { iops, bytesPerSecond } = phase.total;
  const checked = phase.workloads.reduce((sum, w) => sum + (w.verification?.checked ?? 0), 0);
  const made = head(phase.kind === "verify" ? "verify" : "load", phase.name, "");
  if (phase.kind === "verify")
    return { ...made, checkedBlocks: checked, text: `${plural(checked, "block")} checked` };
  const p99 = percentileOf(phase.total, 99);
  const rate = iops === undefined ? "" : `${short("count", iops)} IOPS`;
  const text = [rate, p99 ? `p99 ${markedOr(phase.total, 99)}` : ""];
  const { kind, phase: name } = made;
  const found = head(kind, name, "", iops, bytesPerSecond, p99, text.filter(Boolean).join(", "));
  return { ...found, isP99Uncertain: isUncertain(phase.total, 99) };
}

function head(
  kind: string,
  phase: string,
  at: string,
  iops?: number,
  bytesPerSecond?: number,
  p99Ns?: number,
  text = "",
): Headline {
  return { kind, phase, at, iops, bytesPerSecond, p99Ns: p99Ns || undefined, text };
}

// The conclusion without what a banner of the same screen says: that no I/O completed, and that
// data is corrupted.
export function besideBanners(report: Report): string {
  const isTold = (part: string) =>
    (/^no I\/O for /i.test(part) && report.phases.some((phase) => phase.outageSummary?.count)) ||
    part.startsWith("DATA CORRUPTED: ");
  const parts = conclusionOf(report).split("; ");
  return parts.filter((part) => !isTold(part)).join("; ");
}

// "4,461 IOPS, 9 % of the 50,000 required; p99 5.93 ms; limited by the device."
export function conclusionOf(report: Report): string {
  const told = (report.run as RunWords)?.conclusion;
  if (told) return typeset(told);
  const headline = headlineOf(report);
  const reasons = report.verdict?.good ? [] : (report.verdict?.reasons ?? []);
  if (report.verdict?.word === "data corrupted" || !headline)
    return typeset(reasons.length > 0 ? `${reasons[0]}.` : "");
  // A sweep's sentence up to the best point; the section has all of it.
  if (headline.kind !== "load") return typeset(headline.text.split(";")[0].replace(/\.?$/, "."));
  const phase = mainPhase(report);
  const parts = [headline.text];
  const missed = phase?.expectations.find((e) => !e.met && figureOf(e) === "iops");
  const limit = phase?.limits.find((l) => l.figure === "iops" && missed);
  if (limit && limit.value > 0 && headline.iops !== undefined)
    parts[0] =
      `${short("count", headline.iops)} IOPS, ` +
      `${wholePercent(headline.iops / limit.value)} of the ` +
      `${short("count", limit.value)} required` +
      (headline.p99Ns ? `; p99 ${marked(headline.isP99Uncertain, inShort)(headline.p99Ns)}` : "");
  const limits = new Set(phase?.workloads.map((w) => w.limitedBy).filter(Boolean));
  const unnamed = ["no storage", "not clear"].some((limit) => limits.has(limit));
  if (limits.size === 1 && !unnamed) parts.push(`limited by ${[...limits][0]}`);
  return parts.join(", ") + ".";
}

// The figure of an expectation: as it is told, or as its words begin.
export function figureOf(expectation: { text: string } & Expected): string {
  if (expectation.figure) return expectation.figure;
  const [word] = expectation.text.split(" ");
  return { iops: "iops", p50: "p50_ns", p99: "p99_ns", throughput: "bytes_per_second" }[word] ?? "";
}

// "iops >= 5,400" as what it is of, and what is required.
export function partsOf(words: string): { what: string; required: string } {
  const found = /^(.+?) (>=|<=|>|<|=|==) (.+)$/.exec(words);
  if (!found) return { what: words, required: "" };
  const names: Record<string, string> = { iops: "IOPS", bytes_per_second: "throughput" };
  return { what: names[found[1]] ?? found[1], required: `${found[2]} ${found[3]}` };
}

// Findings that are alike, as one: "22 of 64 hosts at 10 % of the others' IOPS: I/O throttle (20),
// not known (2)".
export function groupsOf(phase: PhaseReport): FindingGroup[] {
  const told = (phase as PhaseWords).findingGroups;
  if (told && told.length > 0) return told;
  const slow = phase.stragglers.filter((s) => s.latencyRatio !== undefined);
  const few = phase.stragglers.filter((s) => s.latencyRatio === undefined);
  const groups: FindingGroup[] = [];
  if (few.length > 0)
    groups.push(
      group(phase, "straggler", few, `at ${spread(few.map((s) => s.share))} of the others' IOPS`),
    );
  if (slow.length > 0) {
    const ratios = slow.map((s) => s.latencyRatio ?? 0);
    const times = [...new Set([Math.min(...ratios), Math.max(...ratios)].map((v) => v.toFixed(1)))];
    groups.push(group(phase, "slow", slow, `whose I/Os took ${times.join(" to ")} times as long`));
  }
  const starved = new Set(phase.starvations.map((s) => s.host));
  if (starved.size > 0) {
    const sentence = `${hostsOf(phase, starved.size)} got almost nothing for a time`;
    groups.push({ kind: "starvation", sentence, causes: [] });
  }
  return groups;
}

function spread(ratios: number[]): string {
  const [least, most] = [Math.min(...ratios), Math.max(...ratios)].map(wholePercent);
  return least === most ? most : `${least} to ${most}`;
}
function hostsOf(phase: PhaseReport, count: number): string {
  const all = phase.hostsCount || phase.hosts.length;
  // The head has the first of many.
  return all >= count ? `${countOf(count)} of ${plural(all, "host")}` : plural(count, "host");
}
function group(
  phase: PhaseReport,
  kind: string,
  found: PhaseReport["stragglers"],
  how: string,
): FindingGroup {
  const causes = new Map<string, { cause: string; hostsCount: number; reason: string }>();
  for (const { cause, reason } of found) {
    const one = causes.get(cause) ?? { cause, hostsCount: 0, reason };
    causes.set(cause, { ...one, hostsCount: one.hostsCount + 1 });
  }
  const sorted = [...causes.values()].sort((a, b) => b.hostsCount - a.hostsCount);
  const words = sorted.map((c) => `${c.cause} (${c.hostsCount})`).join(", ");
  return { kind, sentence: `${hostsOf(phase, found.length)} ${how}: ${words}`, causes: sorted };
}

// Sentences about single hosts, which the groups say.
export const isGrouped = (warning: string): boolean =>
  / is a straggler: | got almost nothing from /.test(warning);

// "no storage" and "not clear" are told in a column; in a sentence they are no names.
function limitPart(limits: string[]): string[] {
  const others: Record<string, string> = {
    "no storage": "no storage took part",
    "not clear": "the limit is not clear",
  };
  const named = limits.filter((limit) => !(limit in others));
  if (named.length > 0) return [`limited by ${named.join(" or ")}`];
  return limits.slice(0, 1).map((limit) => others[limit]);
}

// The conclusion of a phase, in one sentence.
export function sentenceOf(phase: PhaseReport): string {
  const { total } = phase;
  if (!total) return "";
  const jain = phase.fairness.find((f) => f.of === "IOPS over hosts" && f.count > 1);
  const limits = [...new Set(phase.workloads.map((w) => w.limitedBy).filter(Boolean))];
  const parts = [
    total.iops === undefined ? "no rate" : `${short("count", total.iops)} IOPS`,
    ...(total.bytesPerSecond === undefined ? [] : [short("rate", total.bytesPerSecond)]),
    `p50 ${markedOr(total, 50)}`,
    `p99 ${markedOr(total, 99)}`,
    ...(total.errors > 0 ? [plural(total.errors, "error")] : []),
    ...(jain?.jain !== undefined
      ? [`Jain ${jain.jain.toFixed(4)} over ${plural(jain.count, "host")}`]
      : []),
    ...limitPart(limits),
  ];
  return parts.join(", ") + ".";
}
const inShort = (value: number) => short("latency", value);

function isUncertain(of: OperationReport, percents: number): boolean | undefined {
  return of.percentiles.find((p) => p.percent === percents)?.isUncertain;
}

// With the mark of an uncertain one; a dash where there is none.
function markedOr(of: OperationReport, percents: number): string {
  const value = percentileOf(of, percents);
  return value === undefined ? none : marked(isUncertain(of, percents), inShort)(value);
}
