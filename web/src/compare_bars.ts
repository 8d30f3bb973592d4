// Differences as bars, one row for a figure: to the right is better, to the left worse.

import type { ComparedFigure, ComparedValue } from "./api";
import {
  changeText,
  isNothing,
  isTotal,
  medianOfPairs,
  medianOfRuns,
  pairsNote,
  verdictOfValue,
  type Compared,
} from "./compare_words";
import { element, signs, type Tone } from "./dom";
import { latency, none, short, shown, wholePercent } from "./format";

const figureNames: Record<string, string> = {
  iops: "IOPS",
  jain: "Jain's index",
  mean: "mean latency",
};
// To which the axis goes, each way. A larger difference goes beyond it, so that others are seen.
const scales = [0.05, 0.1, 0.2, 0.5];
const point = 6; // of 200: the end of a bar that goes beyond

export function shownValue(unit: string, value: number): string {
  if (unit === "ns") return latency(value);
  if (unit === "B/s") return short("rate", value);
  if (unit === "1/s") return short("count", value);
  if (unit === "1/IO" || unit === "B/B") return value.toPrecision(3);
  return unit === "%" ? `${(100 * value).toPrecision(3)} %` : value.toPrecision(4);
}

interface Span {
  at: number; // more is better, 0 is the same
  low: number;
  high: number;
}

function spanOf(figure: ComparedFigure, value: ComparedValue): Span | undefined {
  if (value.change === undefined || value.change === null) return undefined;
  const { change, changeLow: low = change, changeHigh: high = change } = value;
  const isLess = (figure.direction as unknown as string) === "DIRECTION_LOWER_IS_BETTER";
  return isLess ? { at: -change, low: -high, high: -low } : { at: change, low, high };
}

// One axis for all rows of a phase.
function scaleOf(spans: (Span | undefined)[]): number {
  const reach = Math.max(
    0,
    ...spans.flatMap((one) => (one ? [one.at, one.low, one.high] : [])).map(Math.abs),
  );
  return scales.find((scale) => scale >= reach) ?? scales[scales.length - 1];
}

function shape(name: string, attributes: Record<string, string>): Element {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function drawing(span: Span | undefined, tone: Tone, scale: number): Element {
  const svg = shape("svg", {
    viewBox: "0 0 200 20",
    preserveAspectRatio: "none",
    class: `difference ${tone}`,
    "aria-hidden": "true",
  });
  const x = (value: number) => 100 + 100 * Math.max(-1, Math.min(1, value / scale));
  const line = (from: number, to: number, top: number, bottom: number, name: string) =>
    svg.append(
      shape("path", { class: name, d: `M${from.toFixed(1)} ${top}L${to.toFixed(1)} ${bottom}` }),
    );
  if (span) {
    // Beyond the axis: the bar ends in a point. An interval that goes on has no end there.
    const isBeyond = Math.abs(span.at) > scale;
    const tip = isBeyond ? 100 + Math.sign(span.at) * (100 - point) : x(span.at);
    const [from, to] = [x(0), tip].sort((a, b) => a - b);
    // What the figure beside it says is no difference has no bar.
    const width = isNothing(span.at) ? 0 : Math.max(1, to - from);
    svg.append(
      shape("rect", { x: from.toFixed(1), y: "4", width: width.toFixed(1), height: "12" }),
    );
    if (isBeyond) {
      const d = span.at > 0 ? `M200 10l-${point}-10v20z` : `M0 10l${point}-10v20z`;
      svg.append(shape("path", { class: "beyond", d }));
    }
    if (span.high > span.low) {
      line(x(span.low), x(span.high), 10, 10, "interval");
      for (const end of [span.low, span.high])
        if (Math.abs(end) <= scale) line(x(end), x(end), 6, 14, "interval");
    }
  }
  line(100, 100, 0, 20, "same");
  return svg;
}

function row(figure: ComparedFigure, set: number, canTell: boolean, scale: number): HTMLElement {
  const value = figure.values[set];
  const verdict = verdictOfValue(value, canTell);
  const median = (one: ComparedValue) => shown(one.median, (v) => shownValue(figure.unit, v));
  const word = [signs[verdict.tone], verdict.word].filter(Boolean).join(" ");
  const bar = element("td", { class: "drawn" });
  bar.append(drawing(spanOf(figure, value), verdict.tone, scale));
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, figureNames[figure.figure] ?? figure.figure),
    element("td", { class: "n" }, median(figure.values[0])),
    element("td", { class: "n" }, median(value)),
    bar,
    element("td", { class: "n change" }, changeText(value) || none),
    element("td", { class: `word ${verdict.tone}` }, word),
  );
}

// The figures of one phase: a set beside the first.
function phaseTable(
  figures: ComparedFigure[],
  titles: string[],
  set: number,
  canTell: boolean,
): HTMLElement {
  const scale = scaleOf(figures.map((one) => spanOf(one, one.values[set])));
  const axis = element(
    "span",
    { class: "axis" },
    element("span", {}, `worse ${wholePercent(scale)}`),
    element("span", {}, "the same"),
    element("span", {}, `better ${wholePercent(scale)}`),
  );
  const named = (title: string, of: string) =>
    element("span", {}, title, ...(of ? [element("small", {}, of)] : []));
  const heads: [string | HTMLElement, string][] = [
    ["figure", ""],
    [named(titles[0], medianOfRuns(figures, 0)), "n"],
    [named(titles[set], medianOfRuns(figures, set)), "n"],
    [axis, "drawn"],
    [named("difference", medianOfPairs(figures, set)), "n"],
    ["", "word"],
  ];
  const head = heads.map(([show, name]) =>
    element(
      show === "" ? "td" : "th",
      { ...(show === "" ? {} : { scope: "col" }), class: name },
      show,
    ),
  );
  const rows = figures.map((one) => row(one, set, canTell, scale));
  const table = element(
    "table",
    {},
    element("thead", {}, element("tr", {}, ...head)),
    element("tbody", {}, ...rows),
  );
  return element(
    "div",
    {
      class: "table differences",
      tabindex: "0",
      role: "group",
      "aria-label": `differences of ${titles[set]}`,
    },
    table,
  );
}

// All phases, each with what people look at first: rates, latencies, errors, fairness.
export function differenceBars(compared: Compared, titles: string[], set: number): HTMLElement[] {
  const figures = compared.figures.filter(isTotal).filter((one) => {
    const both = [one.values[0], one.values[set]];
    // A figure of only one of them cannot be compared; all figures are behind their fold.
    const isThere = both.every(({ runs }) => runs > 0) && both.some(({ median }) => median !== 0);
    return isThere && one.figure !== "mean";
  });
  const phases = [...new Set(figures.map((one) => one.phase))];
  const canTell = compared.canTell[set - 1];
  const note = medianOfPairs(figures, set) ? [element("p", { class: "muted" }, pairsNote)] : [];
  const tables = phases.flatMap((phase) => {
    const own = figures.filter((one) => one.phase === phase);
    const title = phases.length > 1 ? [element("h3", {}, phase)] : [];
    return [...title, phaseTable(own, titles, set, canTell)];
  });
  return [...tables, ...note];
}
