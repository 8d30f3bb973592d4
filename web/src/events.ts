// The events of a run: as lines, and as marks in charts.

import type { EventReport } from "./api";
import type { Mark } from "./charts";
import { element, signs, type Tone } from "./dom";
import { exact, timeOfDay } from "./format";

export const mostMarks = 100;
const markLetters = 160;

export function eventLine(event: EventReport): HTMLElement {
  return element(
    "p",
    { class: event.severity === "error" ? "error" : "muted" },
    [event.at, event.host, event.message].filter(Boolean).join(" "),
  );
}

export function toneOfEvent(event: EventReport): Tone {
  if (event.severity === "error") return "bad";
  return event.severity === "warning" ? "warn" : "plain";
}

// The time of day, and the whole instant when it is pointed at. The controller's own remarks have
// none.
export function eventTime({ at }: EventReport): HTMLElement[] {
  return at ? [element("time", { datetime: at, title: exact(at) }, timeOfDay(at))] : [];
}

// As an entry of a list.
export function eventEntry(event: EventReport): HTMLElement {
  const tone = toneOfEvent(event);
  const sign = signs[tone] ? [element("span", { class: tone }, signs[tone], " ")] : [];
  const { author, number } = event as EventReport & { number?: number };
  // By its number whoever wrote a note can have it removed.
  const name = number ? [element("span", { class: "muted" }, `#${number}`), " "] : [];
  const words = [author || event.host, event.message].filter(Boolean).join(": ");
  return element("li", {}, ...name, ...eventTime(event), " ", ...sign, words);
}

// As a mark in charts.
export function markOf(event: EventReport): { text: string; tone: Tone } {
  const words = [event.host, event.message].filter(Boolean).join(" ");
  const text = words.length > markLetters ? `${words.slice(0, markLetters - 1)}…` : words;
  return { text, tone: toneOfEvent(event) };
}

// Those that are worth a mark, by seconds from an instant on.
export function marksFrom(startedAt: string, events: EventReport[]): Mark[] {
  const start = Date.parse(startedAt);
  return events
    .filter((event) => event.severity !== "info")
    .map((event) => ({ at: (Date.parse(event.at) - start) / 1000, ...markOf(event) }))
    .filter(({ at }) => at >= 0)
    .slice(0, mostMarks);
}
