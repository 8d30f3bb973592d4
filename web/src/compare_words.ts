// The conclusion of a comparison: the controller's, or the page's own where it has none.

import { rerun } from "./actions";
import type { ComparedFigure, ComparedValue, Comparison, Report } from "./api";
import type { Tone } from "./dom";
import { none, percent, signed, wholePercent } from "./format";

export interface Difference {
  kind: string; // label, job, fact
  name: string;
  values: string[]; // of each set
}
// A controller that is older than the page does not send the optional fields.
export type Compared = Omit<Comparison, "sets" | "observedConclusions"> & {
  sets: (Omit<Comparison["sets"][number], "observedRuns"> & {
    title?: string;
    observedRuns?: string[];
  })[];
  conclusions?: string[];
  observedConclusions?: string[];
  differences?: Difference[];
  fewestRuns?: number;
};

const usualFewest = 4;
const mainNames = ["iops", "p50", "p99.9"];
export const letterOf = (set: number): string => "ABCDEFGH"[set];

// A figure of the whole fleet: these are judged first.
export const isTotal = (one: ComparedFigure): boolean =>
  one.workload === "" && one.judged && one.direction !== ("DIRECTION_NEITHER" as never);

// Labels in which the sets' first runs differ.
function labelDifferences(heads: Report[]): Difference[] {
  const labels = heads.map((head) => head.run?.labels ?? {});
  const names = [...new Set(labels.flatMap((of) => Object.keys(of)))].sort();
  return names
    .map((name) => ({ kind: "label", name, values: labels.map((of) => of[name] ?? "-") }))
    .filter(({ values }) => new Set(values).size > 1);
}

export function differencesOf(compared: Compared, heads: Report[]): Difference[] {
  return compared.differences ?? labelDifferences(heads);
}

// A name for people, without ids where labels tell the sets apart.
export function titlesOf(compared: Compared, heads: Report[]): string[] {
  const labels = differencesOf(compared, heads).filter((one) => one.kind === "label");
  return compared.sets.map(({ title, name }, i) => {
    if (title && title !== name) return title;
    const own = labels.slice(0, 2).map((one) => `${one.name}=${one.values[i]}`);
    if (own.length > 0) return own.join(", ");
    return `${heads[i].run?.jobName ?? "run"} ${name.slice(0, 8)}`;
  });
}

// So small that it is written as 0.0 %.
export const isNothing = (change: number): boolean => percent(Math.abs(change)) === percent(0);

export function changeText(value: ComparedValue): string {
  if (value.change === undefined || value.change === null) return "";
  const sign = (v: number) =>
    isNothing(v) ? percent(0) : signed(v, Math.abs(v) < 0.0995 ? percent : wholePercent);
  const { changeLow, changeHigh } = value;
  const hasBounds = changeLow !== undefined && changeHigh !== undefined;
  const interval = hasBounds ? ` (${sign(changeLow)} to ${sign(changeHigh)})` : "";
  return sign(value.change) + interval;
}

// "median of 4 runs", "median of 16 pairs of runs": of figures that have the same counts. One run,
// or one pair, is no median.
function medianText(counts: number[], things: string): string {
  if (Math.max(0, ...counts) <= 1) return "";
  const isSame = new Set(counts).size === 1;
  return isSame ? `median of ${counts[0]} ${things}` : `median of ${things}`;
}
export const medianOfRuns = (figures: ComparedFigure[], set: number): string =>
  medianText(
    figures.map((one) => one.values[set].runs),
    "runs",
  );
// A change is the median over all pairs of a run of each set, and not that of the two medians.
export const medianOfPairs = (figures: ComparedFigure[], set: number): string =>
  medianText(
    figures
      .filter(({ values }) => changeText(values[set]) !== "")
      .map(({ values }) => values[0].runs * values[set].runs),
    "pairs of runs",
  );
export const pairsNote =
  "Each difference is the median over all pairs of a run of each set. It can therefore differ " +
  "from the difference between the two medians.";

const is = (value: ComparedValue, verdict: string): boolean =>
  (value.verdict as unknown as string) === verdict;

export interface Verdict {
  tone: Tone;
  word: string;
}
export function verdictOfValue(value: ComparedValue, canTell: boolean): Verdict {
  if (!canTell) return { tone: "plain", word: "" };
  if (value.mayBeDrift) return { tone: "plain", word: "may be drift" };
  if (is(value, "CHANGE_BETTER")) return { tone: "good", word: "better" };
  if (is(value, "CHANGE_WORSE")) return { tone: "bad", word: "worse" };
  return { tone: "plain", word: is(value, "CHANGE_NONE") ? "may be chance" : "" };
}

// The verdict of a set beside the first one, over all figures that are judged.
export function verdictOfSet(compared: Compared, set: number): Verdict {
  if (!compared.canTell[set - 1]) return { tone: "plain", word: "too few runs" };
  const values = compared.figures.filter(isTotal).map((one) => one.values[set]);
  const better = values.some((value) => verdictOfValue(value, true).tone === "good");
  const worse = values.some((value) => verdictOfValue(value, true).tone === "bad");
  if (better && worse) return { tone: "warn", word: "better and worse" };
  if (better) return { tone: "good", word: "better" };
  return worse ? { tone: "bad", word: "worse" } : { tone: "plain", word: "no difference found" };
}

// In the first phase that has figures: "+12 % IOPS, p50 −19 %, p99.9 +130 %".
function figuresText(compared: Compared, set: number): string {
  const totals = compared.figures.filter(isTotal);
  const first = totals.filter((one) => one.phase === totals[0].phase);
  return mainNames
    .flatMap((name) => first.filter((one) => one.figure === name))
    .map((one) => [one.figure, changeText(one.values[set])])
    .filter(([, change]) => change !== "")
    .map(([name, change]) => (name === "iops" ? `${change} IOPS` : `${name} ${change}`))
    .join(", ");
}

export interface Conclusion {
  sentence: string;
  commands: string[]; // that make the runs which are missing
}

function missingRuns(compared: Compared, set: number): string[] {
  const fewest = compared.fewestRuns || usualFewest;
  const sides = [compared.sets[0], compared.sets[set]].filter(({ runs }) => runs.length > 0);
  const rounds = Math.max(...sides.map(({ runs }) => fewest - runs.length), 1);
  const once = sides.map(({ runs }) => rerun(runs[runs.length - 1]));
  const turns = Array.from({ length: rounds }, (_, i) => i + 1).join(" ");
  // In turns: what drifts on a machine is not taken for a difference of the sets.
  return sides.length < 2 ? once : [`for i in ${turns}; do ${once.join("; ")}; done`];
}

export function conclusionOf(compared: Compared, titles: string[], set: number): Conclusion {
  const canTell = compared.canTell[set - 1];
  const commands = canTell ? [] : missingRuns(compared, set);
  const told = compared.conclusions?.[set - 1];
  // The commands stand below, to be copied.
  if (told) {
    const sentence = told.replace(/:? lockstep rerun .*$/, ":");
    // A label is written as the user did.
    const isName = sentence.startsWith(titles[set]);
    return { sentence: isName ? sentence : capital(sentence), commands };
  }
  const counts = [compared.sets[0], compared.sets[set]].map(({ runs }) => runs.length);
  const empty = counts.indexOf(0);
  if (empty >= 0) {
    const name = titles[empty === 0 ? 0 : set];
    return { sentence: `No run of ${name} can be compared.`, commands: [] };
  }
  const figures = figuresText(compared, set) || none;
  if (canTell) return { sentence: `${titles[set]}: ${figures}.`, commands };
  const fewest = compared.fewestRuns || usualFewest;
  const why =
    Math.max(...counts) === 1
      ? "one run each proves nothing"
      : `${counts[0]} and ${counts[1]} runs prove nothing`;
  return { sentence: `${figures}: ${why}. Run each ${fewest} times or more:`, commands };
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

// Lines that are in the one text and not in the other: the longest common part stays.
export function differingLines(
  before: string,
  after: string,
  most: number,
): { sign: string; line: string }[] {
  const a = before.split("\n").slice(0, most);
  const b = after.split("\n").slice(0, most);
  const longest = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      longest[i][j] =
        a[i] === b[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
  const changed: { sign: string; line: string }[] = [];
  for (let i = 0, j = 0; i < a.length || j < b.length; ) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      i++;
      j++;
    } else if (j >= b.length || (i < a.length && longest[i + 1][j] >= longest[i][j + 1])) {
      changed.push({ sign: "−", line: a[i++] });
    } else {
      changed.push({ sign: "+", line: b[j++] });
    }
  }
  return changed;
}
