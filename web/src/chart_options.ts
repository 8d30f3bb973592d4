// The options of a chart for all that it shows besides its lines.

import type { Tone } from "./dom";
import type { Kind } from "./format";

// An event, as a flag above a chart.
export interface Mark {
  at: number;
  text: string;
  tone?: Tone; // bad if not said
}

// A span in which no I/O completed, or of which nothing is known.
export interface Shade {
  from: number;
  to: number;
  kind: "outage" | "away";
}

export interface Options {
  title: string;
  show: (value: number) => string;
  log?: boolean;
  // The time of the figures, from and to: what is before and after is shaded.
  measured?: () => [number, number];
  marks?: () => Mark[];
  shades?: () => Shade[];
  limits?: { value: number; text: string }[]; // dashed
  kind?: Kind; // the axis has one unit then
  unit?: string; // of x; s if not said
  startedAt?: string; // of second 0, RFC 3339: times are told with it
  latest?: boolean; // the legend has the latest values; else their mean and maximum
  isExtra?: boolean; // not on a wall
  isBands?: boolean; // the first lines are linesOf() bands
}
