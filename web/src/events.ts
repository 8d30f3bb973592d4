// What happened in a run: as lines, and as marks in charts.

import type { EventReport } from "./api";
import type { Mark } from "./charts";
import { element } from "./dom";

export const mostMarks = 100;
const markLetters = 48;

export function eventLine(event: EventReport): HTMLElement {
  return element(
    "p",
    { class: event.severity === "error" ? "error" : "muted" },
    [event.at, event.host, event.message].filter(Boolean).join(" "),
  );
}

// As a mark in charts.
export function markOf(event: EventReport): string {
  const words = [event.host, event.message].filter(Boolean).join(" ");
  return words.length > markLetters ? `${words.slice(0, markLetters - 1)}…` : words;
}

// Those that are worth a mark, by seconds from an instant on.
export function marksFrom(startedAt: string, events: EventReport[]): Mark[] {
  const start = Date.parse(startedAt);
  return events
    .filter((event) => event.severity !== "info")
    .map((event) => ({ at: (Date.parse(event.at) - start) / 1000, text: markOf(event) }))
    .filter(({ at }) => at >= 0)
    .slice(0, mostMarks);
}
