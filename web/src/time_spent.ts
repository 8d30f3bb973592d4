// Where the time of a load went: as columns of a table, and as a line.

import type { TimeSpent } from "./api";
import { element, optional, type Cell, type Column } from "./dom";
import { count, fixed, latency, wholePercent } from "./format";

interface Figure {
  title: string;
  of: (spent: TimeSpent) => number | undefined;
  words: (value: number) => string;
}

// "7.1", "0.0123"
const perIo = (value: number): string =>
  value >= 999.5 ? count(value) : String(Number(value.toPrecision(3)));

// Whether they wait for their rate or think: they do nothing then.
function waiting({ rateRatio, thinkRatio }: TimeSpent): number | undefined {
  if (rateRatio === undefined && thinkRatio === undefined) return undefined;
  return (rateRatio ?? 0) + (thinkRatio ?? 0);
}

const figures: Figure[] = [
  { title: "context switches/s", of: (s) => s.contextSwitchesPerSecond, words: count },
  { title: "context switches per I/O", of: (s) => s.contextSwitchesPerIo, words: perIo },
  { title: "interrupts/s", of: (s) => s.interruptsPerSecond, words: count },
  { title: "interrupts per I/O", of: (s) => s.interruptsPerIo, words: perIo },
  { title: "CPU per I/O", of: (s) => s.cpuNsPerIo, words: latency },
  { title: "threads in I/O", of: (s) => s.waitRatio, words: wholePercent },
  { title: "threads in fsync", of: (s) => s.fsyncRatio, words: wholePercent },
  { title: "threads waiting", of: waiting, words: wholePercent },
  { title: "amplification", of: (s) => s.amplification, words: (value) => fixed(value, 2) },
];

// The figures that at least one of them has, and the cells of each.
export function spentColumns(all: (TimeSpent | undefined)[]): {
  columns: Column[];
  cells: Cell[][];
} {
  const known = figures.filter(({ of }) => all.some((spent) => spent && of(spent) !== undefined));
  return {
    columns: known.map(({ title }) => ({ title, numeric: true })),
    cells: all.map((spent) => known.map(({ of, words }) => optional(spent && of(spent), words))),
  };
}

export function spentLine(spent: TimeSpent | undefined): HTMLElement[] {
  const parts = figures.flatMap(({ title, of, words }) => {
    const value = spent && of(spent);
    return value === undefined ? [] : [`${title} ${words(value)}`];
  });
  return parts.length > 0 ? [element("p", {}, `where the time went: ${parts.join("; ")}`)] : [];
}
