// The choices of a reader: they stand in the address, which is the link to send.

import { unsorted, type Sorting } from "./dom";

// After the view's name: #/run/ID?from=10&to=20
export function choices(): URLSearchParams {
  return new URLSearchParams(location.hash.split("?")[1] ?? "");
}

// For a screen on a wall: of one run, or (#wall) of whichever is in progress.
export const isOfAnyRun = (): boolean => /^#\/?wall$/.test(location.hash.split("?")[0]);
export const isWall = (): boolean => choices().has("wall") || isOfAnyRun();

// Changes them without a new view; null takes one away.
export function choose(changes: Record<string, string | null>): void {
  const all = choices();
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") all.delete(name);
    else all.set(name, value);
  }
  const text = all.toString();
  const path = location.hash.split("?")[0] || "#/";
  history.replaceState(history.state, "", path + (text ? `?${text}` : ""));
}

// How a table is sorted stands in the address too: sort-NAME=COLUMN from 0, with a "-" where the
// most comes first.
export function keptSorting(name: string): Sorting {
  const key = `sort-${name}`;
  const chosen = /^(-?)(\d{1,2})$/.exec(choices().get(key) ?? "");
  const sorting = unsorted();
  if (chosen) {
    sorting.by = Number(chosen[2]);
    sorting.descending = chosen[1] === "-";
  }
  sorting.changed = () => choose({ [key]: `${sorting.descending ? "-" : ""}${sorting.by}` });
  return sorting;
}

// Positions of hosts, of the address or after a click: each once, and not too many.
const maxPinned = 5;
export function pinnedOf(text: string | null): number[] {
  const places = (text ?? "")
    .split(",")
    .filter((word) => /^\d{1,9}$/.test(word))
    .map(Number);
  return [...new Set(places)].slice(0, maxPinned);
}
export function pinnedAfter(pinned: number[], row: number): number[] {
  return pinned.includes(row)
    ? pinned.filter((other) => other !== row)
    : [...pinned, row].slice(-maxPinned);
}
