// The notices of a run in progress that come before all else, the gravest first. Pure.

import type { Report, WorkloadReport } from "./api";
import type { Tone } from "./dom";
import { plural, typeset, wholeSeconds } from "./format";
import { foundOf, type LimitState } from "./live_limits";

export interface Notice {
  tone: Tone;
  headline: string;
  detail: string;
  short: string; // for the title of the tab
}

// The known facts; times in seconds.
export interface Facts {
  lostFor?: number; // for which nothing has come from the controller
  lostWhy: string;
  isFinal: boolean; // it is not asked again
  ofPhases: Notice[]; // what phases that are over came to
  silent?: { hosts: number; all: number; seconds: number; names: string[] };
  lost: string[]; // names; not all, if they are many
  lostCount: number;
  runHosts: number;
  store?: { seconds: number; reason: string; spooled: number };
  endProblem: string;
  limits: LimitState[];
  lastEnd: number; // of the last interval
  errors: number; // failed I/Os
  waiting: string[];
  isRunning: boolean;
  sampleAge: number; // of the last interval; 0: there is none
  interval: number; // its length
  warnings: number;
  lastWarning: string;
}

// A sweep may fail in a thousand phases.
const maxOfPhases = 3;

const isCorrupt = ({ verification }: WorkloadReport): boolean =>
  (verification?.mismatches ?? 0) > 0;

export function listed(names: string[], count: number): string {
  const rest = count - names.length;
  if (rest > 0) return `${names.join(", ")} and ${rest} more`;
  if (names.length < 2) return names.join("");
  return `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}`;
}

// The controller names so many at most, and does not say how many more there are.
const mostAwaited = 5;
export const awaited = (names: string[]): string =>
  names.length < mostAwaited
    ? listed(names, names.length)
    : `${names.length} hosts or more: ${names.join(", ")}`;

// So short a time is not worth a word.
const forSome = (seconds: number): string => (seconds < 1 ? "" : ` for ${wholeSeconds(seconds)}`);

function ofController(facts: Facts): Notice[] {
  if (facts.lostFor === undefined) return [];
  if (facts.isFinal)
    return [{ tone: "bad", headline: "No live events", detail: facts.lostWhy, short: "NO EVENTS" }];
  return [
    {
      tone: "bad",
      headline: `THE CONTROLLER DOES NOT ANSWER${forSome(facts.lostFor)}`,
      detail:
        (facts.lostWhy ? `${facts.lostWhy}. ` : "") +
        "The figures are those from before. The workers finish their phase without it. (retrying)",
      short: "NO CONTROLLER",
    },
  ];
}

// The notices of phases that are over: wrong data, figures that must not be used, expectations that
// were not met.
export function noticesOfReport(report: Report): Notice[] {
  const notices: Notice[] = [];
  const reasons = report.verdict?.reasons ?? [];
  if (report.phases.some(({ workloads }) => workloads.some(isCorrupt)))
    notices.push({
      tone: "corrupt",
      headline: "DATA CORRUPTED",
      detail: reasons[0] ?? "",
      short: "DATA CORRUPTED",
    });
  for (const phase of report.phases) {
    if (["arming", "running", "draining"].includes(phase.state)) continue;
    const missed = phase.expectations.filter((e) => !e.met);
    if (phase.invalid)
      notices.push({
        tone: "bad",
        headline: `${phase.name} is INVALID`,
        detail: phase.invalidReason,
        short: "INVALID",
      });
    if (missed.length > 0)
      notices.push({
        tone: "bad",
        headline: `EXPECTATIONS FAILED in ${phase.name}`,
        detail: missed.map((e) => `${typeset(e.text)}, found ${e.found}`).join("; "),
        short: "EXPECTATIONS FAILED",
      });
  }
  return notices;
}

function ofSilence({ silent }: Facts): Notice[] {
  if (!silent || silent.hosts === 0) return [];
  const isAll = silent.hosts === silent.all;
  const words = isAll ? "NO I/O HAS COMPLETED" : "No I/O has completed";
  return [
    {
      tone: "bad",
      headline:
        `${words} on ${silent.hosts} of ${plural(silent.all, "host")}` + forSome(silent.seconds),
      detail: isAll ? "" : listed(silent.names, silent.hosts),
      short: "NO I/O",
    },
  ];
}

function ofHosts(facts: Facts): Notice[] {
  const { lost, lostCount, runHosts } = facts;
  if (lostCount === 0) return [];
  const left = runHosts - lostCount;
  return [
    {
      tone: "bad",
      headline: `${listed(lost, lostCount)} lost, ${left} of ${runHosts} go on`,
      detail: "",
      short: `${left} OF ${runHosts} HOSTS`,
    },
  ];
}

function ofStore({ store, endProblem }: Facts): Notice[] {
  const notices: Notice[] = [];
  if (store)
    notices.push({
      tone: "bad",
      headline: `THE STORE IS UNAVAILABLE for ${wholeSeconds(store.seconds)}`,
      detail:
        "Samples are kept on the controller's disk, " +
        `${Math.round(100 * store.spooled)} % of their space used. No new phase starts. ` +
        store.reason,
      short: "NO STORE",
    });
  if (endProblem)
    notices.push({
      tone: "warn",
      headline: "The run's end is not stored yet",
      detail: endProblem,
      short: "END NOT STORED",
    });
  return notices;
}

// Without I/Os there is no percentile: the limit was missed before, and may still be.
function headlineOf(state: LimitState): string {
  const what = state.isAbort ? "reached" : "missed";
  if (state.found === undefined) return `${state.text} was ${what}; the figure is not known now`;
  return `${state.text} is ${what}: ${foundOf(state)}`;
}

// An interval that misses a limit can be chance; two in a row are told. Errors stay.
function ofLimits({ limits, lastEnd }: Facts): Notice[] {
  return limits
    .filter((state) => state.missed >= (state.isTotal ? 1 : 2))
    .map((state) => ({
      tone: "bad",
      headline: headlineOf(state),
      detail: state.isTotal ? "" : `for ${wholeSeconds(lastEnd - state.missedFrom)}`,
      short: state.text,
    }));
}

function ofWarnings(facts: Facts): Notice[] {
  const notices: Notice[] = [];
  const warn = (headline: string, detail: string, short: string) =>
    notices.push({ tone: "warn", headline, detail, short });
  const isLive = facts.lostFor === undefined;
  // A limit of errors says how many there are.
  const isSaid = facts.limits.some((state) => state.isTotal && state.missed > 0);
  if (facts.errors > 0 && !isSaid)
    warn(`${plural(facts.errors, "I/O")} failed so far`, "", plural(facts.errors, "ERROR"));
  if (facts.waiting.length > 0 && isLive)
    warn(`Waiting for ${awaited(facts.waiting)}`, "", "WAITING");
  else if (facts.isRunning && isLive && facts.sampleAge > 2 * facts.interval + 3)
    warn(`No sample for ${wholeSeconds(facts.sampleAge)}`, "", "NO SAMPLES");
  if (facts.warnings > 0)
    warn(plural(facts.warnings, "warning"), facts.lastWarning, plural(facts.warnings, "WARNING"));
  return notices;
}

export function noticesOf(facts: Facts): Notice[] {
  const all = [
    ...ofController(facts),
    ...facts.ofPhases.slice(0, maxOfPhases),
    ...ofSilence(facts),
    ...ofHosts(facts),
    ...ofStore(facts),
    ...ofLimits(facts),
    ...ofWarnings(facts),
  ];
  const rank: Tone[] = ["corrupt", "bad", "warn", "plain", "good"];
  return all.sort((a, b) => rank.indexOf(a.tone) - rank.indexOf(b.tone));
}
