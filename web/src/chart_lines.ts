// The lines of a chart, and the gaps between their points; how large they are drawn.

import type { SeriesReply } from "./api";

// How high a chart is, and its type, in pixels.
export interface Look {
  height: number;
  type: number;
}
export const usualLook: Look = { height: 220, type: 12 };

export interface Line {
  label: string;
  values: (number | null)[];
}

// From and to which second a value was measured.
export type Interval = [begin: number, end: number];

// Lines over time. A rate is of an interval and not of the instant at which that ended: each value
// stands in the middle of its interval.
export interface Timed {
  x: number[];
  lines: Line[];
  intervals: Interval[]; // of each x
}

// A host in the middle of its fleet, at each point.
export interface Bands {
  least: (number | null)[];
  p10: (number | null)[];
  middle: (number | null)[];
  p90: (number | null)[];
  most: (number | null)[];
}
export function linesOf(bands: Bands): Line[] {
  return [
    { label: "most", values: bands.most },
    { label: "p90", values: bands.p90 },
    { label: "median host", values: bands.middle },
    { label: "p10", values: bands.p10 },
    { label: "least", values: bands.least },
  ];
}

const middle = ([begin, end]: Interval): number => (begin + end) / 2;

// Points with nothing between where a span does not begin at the end of the one before: gaps stay
// gaps.
export function withGaps(begins: number[], ends: number[], lines: Line[]): Timed {
  const own = begins.map((begin, i): Interval => [begin, ends[i]]);
  const isGap = (i: number) =>
    i > 0 && begins[i] - ends[i - 1] > Math.max(0.02, (ends[i] - begins[i]) / 2);
  if (!begins.some((_, i) => isGap(i))) return { x: own.map(middle), lines, intervals: own };
  const spread = <T>(values: T[], between: (i: number) => T): T[] =>
    values.flatMap((value, i) => (isGap(i) ? [between(i), value] : [value]));
  const intervals = spread(own, (i): Interval => [ends[i - 1], begins[i]]);
  return {
    x: intervals.map(middle),
    intervals,
    lines: lines.map((line) => ({ ...line, values: spread(line.values, () => null) })),
  };
}

const isThere = (value?: number | null): boolean => value !== null && value !== undefined;

// Positions of points that no line reaches.
export function aloneIn(values: ArrayLike<number | null | undefined>): number[] | null {
  const alone: number[] = [];
  for (let k = 0; k < values.length; k++)
    if (isThere(values[k]) && !isThere(values[k - 1]) && !isThere(values[k + 1])) alone.push(k);
  return alone.length > 0 ? alone : null;
}

// A drain that is over at once is no interval: its rates say nothing. Of a load that short there is
// nothing else.
export function wholeSpans(reply: SeriesReply): number[] {
  if (!reply.spans) return [];
  const { beginSeconds, endSeconds, measuredToSeconds } = reply.spans;
  const all = endSeconds.map((_, i) => i);
  const whole = all.filter((i) => endSeconds[i] - beginSeconds[i] >= reply.intervalSeconds / 2);
  return whole.length > 0 ? whole : all.filter((i) => beginSeconds[i] < measuredToSeconds);
}
