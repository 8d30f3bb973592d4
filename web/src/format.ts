// Figures as people read them: the same words as the text report's (common/units.h).

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
export const throughput = (bytesPerSecond: number): string => `${mebibytes(bytesPerSecond)} MiB/s`;
// In both units that people ask for: by themselves, and below a head that names the units.
export const bothThroughputs = (bytesPerSecond: number): string =>
  `${throughput(bytesPerSecond)} (${fixed(bytesPerSecond / 1e6, 1)} MB/s)`;
export const bothUnits = (bytesPerSecond: number): string =>
  `${mebibytes(bytesPerSecond)} (${fixed(bytesPerSecond / 1e6, 1)})`;

// Networks count bits, in powers of 1000.
export const bitRate = (bitsPerSecond: number): string =>
  `${scaled(bitsPerSecond, 1000, ["bit", "kbit", "Mbit", "Gbit", "Tbit"])}/s`;

export function latency(nanoseconds: number): string {
  if (nanoseconds < 0) return `-${latency(-nanoseconds)}`;
  if (nanoseconds === 0) return "0";
  if (nanoseconds >= 120e9) return scaled(nanoseconds / 60e9, 60, ["min", "h"]);
  return scaled(nanoseconds, 1000, ["ns", "µs", "ms", "s"]);
}

// What stands where there is no figure.
export const none = "–";
// Of a figure that is 0 where there is none.
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

export function instant(rfc3339: string): string {
  return rfc3339.replace("T", " ").replace(/\.\d+Z$|Z$/, "");
}
