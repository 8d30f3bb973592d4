// Figures as people read them: the same words as the text report's (common/units.h).

import { inZone } from "./settings";

// As printf(3) does it: what lies in the middle of two goes to the even one, and only numbers of
// so many binary digits lie there.
export function fixed(value: number, digits: number): string {
  const halves = value * 2 ** (digits + 1);
  if (!Number.isInteger(halves) || halves % 2 === 0) return value.toFixed(digits);
  const below = Math.floor(value * 10 ** digits);
  return ((below % 2 === 0 ? below : below + 1) / 10 ** digits).toFixed(digits);
}

function threeDigits(value: number): string {
  if (value >= 99.95) return fixed(value, 0);
  return fixed(value, value >= 9.995 ? 1 : 2);
}

function scaled(value: number, step: number, units: string[]): string {
  let unit = 0;
  while (unit + 1 < units.length && value >= step * 0.9995) {
    value /= step;
    unit++;
  }
  const isWhole = value === Math.floor(value) && value < 10000;
  return `${isWhole ? fixed(value, 0) : threeDigits(value)} ${units[unit]}`;
}

export function count(value: number): string {
  if (value >= 99999.5) return scaled(value, 1000, ["", "k", "M", "G", "T"]);
  if (value < 100 && value !== Math.floor(value)) return fixed(value, 1);
  return Math.round(value).toLocaleString("en");
}

export function size(bytes: number): string {
  return scaled(bytes, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
}

export const mebibytes = (bytes: number): string => fixed(bytes / 1048576, 1);
// In both units that people ask for: by themselves, and below a head that names the units.
export const bothThroughputs = (bytesPerSecond: number): string =>
  `${rate(bytesPerSecond)} (${rate(bytesPerSecond, "decimal")})`;
export const bothUnits = (bytesPerSecond: number): string =>
  `${mebibytes(bytesPerSecond)} (${fixed(bytesPerSecond / 1e6, 1)})`;

// Networks count bits, in powers of 1000.
export const bitRate = (bitsPerSecond: number): string =>
  `${scaled(bitsPerSecond, 1000, ["bit", "kbit", "Mbit", "Gbit", "Tbit"])}/s`;

export function latency(nanoseconds: number): string {
  if (nanoseconds < 0) return `−${latency(-nanoseconds)}`;
  if (nanoseconds === 0) return "0";
  if (nanoseconds >= 120e9) return scaled(nanoseconds / 60e9, 60, ["min", "h"]);
  return scaled(nanoseconds, 1000, ["ns", "µs", "ms", "s"]);
}

// "~" before a percentile that is uncertain: fewer than ten I/Os took longer.
export const marked =
  (isUncertain: boolean | undefined, words: (value: number) => string) => (value: number) =>
    (isUncertain && value > 0 ? "~" : "") + words(value);

// Stands in place of a missing figure: never 0.
export const none = "–";
// A figure that may be missing.
export const shown = (value: number | null | undefined, show: (value: number) => string): string =>
  value === null || value === undefined || Number.isNaN(value) ? none : show(value);
// Formats a figure that is 0 where there is none.
export const orNone =
  (show: (value: number) => string) =>
  (value: number): string =>
    value > 0 ? show(value) : none;

export const percent = (ratio: number): string => `${fixed(100 * ratio, 1)} %`;
export const wholePercent = (ratio: number): string => `${fixed(100 * ratio, 0)} %`;

export function plural(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

export function seconds(value: number): string {
  if (value < 60) return `${fixed(value, value < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(value / 60);
  const rest = Math.floor(value % 60);
  if (minutes < 60) return `${minutes} min ${rest} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

// For what is counted while it lasts.
export const wholeSeconds = (value: number): string =>
  value < 60 ? `${Math.max(0, Math.floor(value))} s` : seconds(value);

export function instant(rfc3339: string): string {
  return rfc3339.replace("T", " ").replace(/\.\d+Z$|Z$/, "");
}

// Tiles and axes have three digits (below 10,000 a count has all of its own), and one unit for an
// axis and the tiles that belong to it: that of its greatest value.

// The kind of a figure: how many in a second, bytes, bytes in a second (in powers of 1024, and of
// 1000), nanoseconds, a part of 1, or a number without a unit.
export type Kind = "count" | "bytes" | "rate" | "decimal" | "latency" | "ratio" | "number";
export interface Unit {
  name: string; // without a blank before it; may be empty
  factor: number; // one of it
}

const ladders: Record<Kind, [number, string[]]> = {
  count: [1000, ["", "k", "M", "G", "T"]],
  bytes: [1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]],
  rate: [1024, ["B/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s"]],
  decimal: [1000, ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"]],
  latency: [1000, ["ns", "µs", "ms", "s"]],
  ratio: [1, ["%"]],
  number: [1, [""]],
};

// The unit in which a value has one to three digits before its point.
export function unitOf(kind: Kind, value: number): Unit {
  // Thousands are read at once, also without a k.
  if (kind === "count" && Math.abs(value) < 9999.5) return { name: "", factor: 1 };
  const [step, names] = ladders[kind];
  let i = 0;
  let factor = kind === "ratio" ? 0.01 : 1;
  while (i + 1 < names.length && Math.abs(value) >= factor * step * 0.9995) {
    factor *= step;
    i++;
  }
  return { name: names[i], factor };
}

// Three digits at most, without zeros at the end where it is on an axis.
export function inUnit(value: number, unit: Unit, isOnAxis = false): string {
  const scaled = Math.abs(value) / unit.factor;
  const sign = value < 0 ? "−" : "";
  if (isOnAxis) {
    const text = scaled >= 100 ? Math.round(scaled).toLocaleString("en") : scaled.toPrecision(3);
    return sign + (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  }
  if (scaled === 0) return "0";
  // Halves as count() rounds them: a tile and a table of one page agree.
  if (unit.name === "" && scaled >= 99.95) return sign + Math.round(scaled).toLocaleString("en");
  return sign + (scaled >= 999.5 ? Math.round(scaled).toLocaleString("en") : threeDigits(scaled));
}

// With its unit: 48.7 k, 380 MiB/s.
export const withUnit = (value: number, unit: Unit): string =>
  value === 0 ? "0" : `${inUnit(value, unit)} ${unit.name}`.trim();

// A figure of a tile or a sentence: 4,461, 48.7 k, 380 MiB/s, 5.93 ms, 9.00 %.
export const short = (kind: Kind, value: number): string => withUnit(value, unitOf(kind, value));

// A throughput as the text report has it (FormatRate() of common/units.h): 0 has its unit, too.
export const rate = (value: number, kind: "rate" | "decimal" = "rate"): string =>
  value === 0 ? "0 B/s" : short(kind, value);

// A difference: +12 %, −19 %.
export const signed = (value: number, show: (value: number) => string): string =>
  (value > 0 ? "+" : value < 0 ? "−" : "±") + show(Math.abs(value));

// Signs as they are printed, in what the controller says with those of a keyboard.
export const typeset = (text: string): string =>
  text
    .replace(/>=/g, "≥")
    .replace(/<=/g, "≤")
    .replace(/(^|\s)-(?=\d)/g, "$1−");

// A figure and its unit stay on one line.
export const bound = (text: string): string =>
  text.replace(/(\d) (?=%|([kMGT]|[nµm]?s|[KMGT]iB\/s)\b)/g, "$1\u00a0");

// An instant with its zone, in the one that the reader has chosen: 2026-11-23 20:47:13 UTC.
export const exact = inZone;
// The time on a day that is told: 20:47:13 UTC.
export const timeOfDay = (rfc3339: string): string => inZone(rfc3339).slice(11);

// How long ago it was, in one unit: 4 s ago, 3 min ago, 5 h ago, 12 d ago.
export function ago(rfc3339: string, nowMs = Date.now()): string {
  const passed = (nowMs - Date.parse(rfc3339)) / 1000;
  if (Number.isNaN(passed)) return none;
  if (passed < 1) return "now"; // clocks differ
  const steps: [number, string][] = [
    [86400, "d"],
    [3600, "h"],
    [60, "min"],
  ];
  const [length, name] = steps.find(([length]) => passed >= length) ?? [1, "s"];
  return `${Math.floor(passed / length)} ${name} ago`;
}

// A running clock: 0:27, 12:05, 1:02:09.
export function clock(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const two = (value: number) => String(value).padStart(2, "0");
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  const rest = two(whole % 60);
  return hours > 0 ? `${hours}:${two(minutes)}:${rest}` : `${minutes}:${rest}`;
}
// The part of a span that has passed, and the rest: whole seconds whose sum is the span. A clock
// would say 0:00 of the points of a sweep, which are shorter than a second or little longer.
const leastClocked = 10;
export function passedOf(passed: number, expected: number): string {
  const by = Math.min(passed, expected);
  if (expected < leastClocked) return `${fixed(by, 1)} of ${fixed(expected, 1)} s`;
  const left = Math.floor(expected) - Math.floor(by);
  return `${clock(by)} of ${clock(expected)}, ${clock(left)} left`;
}
