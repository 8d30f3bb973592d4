// The events of a run in progress, newest first. Equal ones are one entry, which counts them: a
// fault that comes each second does not push all else away.

import type { EventReport } from "./api";
import { element, signs } from "./dom";
import { eventTime, toneOfEvent } from "./events";
import { count, plural } from "./format";
import { listed } from "./live_state";

const maxEntries = 40;
const namedHosts = 3;

interface Entry {
  root: HTMLElement;
  first: EventReport;
  last: EventReport;
  times: number;
  hosts: Set<string>;
}

// Numbers that stand by themselves may differ; names with digits, as nvme0n1 or vm-2, may not.
const number = /(^|[\s(=<>≥≤±])\d[\d.,]*(?=$|[\s);,:.%])/g;

// Messages of one key are one entry. Notes of people stay as they are.
function keyOf({ severity, message, at, author }: EventReport): string {
  if (severity === "note") return [severity, at, author, message].join("\n");
  const isTrouble = severity === "warning" || severity === "error";
  return [severity, isTrouble ? message.replace(number, "$1#") : message].join("\n");
}

export class EventList {
  readonly root = element("ol", { class: "events", reversed: "" });
  private readonly entries = new Map<string, Entry>(); // the newest is the last
  private readonly earlier = element("li", { class: "muted earlier" });
  private dropped = 0; // events whose entries are not shown any more

  add(event: EventReport): void {
    const key = keyOf(event);
    const known = this.entries.get(key);
    const entry = known ?? {
      root: element("li"),
      first: event,
      last: event,
      times: 0,
      hosts: new Set<string>(),
    };
    entry.last = event;
    entry.times++;
    if (event.host) entry.hosts.add(event.host);
    this.entries.delete(key);
    this.entries.set(key, entry);
    write(entry);
    this.root.prepend(entry.root);
    if (this.entries.size > maxEntries) this.dropOldest();
  }

  clear(): void {
    this.entries.clear();
    this.dropped = 0;
    this.root.replaceChildren();
  }

  private dropOldest(): void {
    const [[key, { root, times }]] = this.entries;
    this.entries.delete(key);
    root.remove();
    this.dropped += times;
    const left = plural(this.dropped, "earlier event");
    this.earlier.textContent = `and ${left}, which the report will have`;
    this.root.append(this.earlier);
  }
}

function write({ root, first, last, times, hosts }: Entry): void {
  const tone = toneOfEvent(last);
  const sign = signs[tone] ? [element("span", { class: tone }, signs[tone], " ")] : [];
  const names = [...hosts];
  const who = listed(names.slice(0, namedHosts), names.length) || last.author;
  const words = [who, last.message].filter(Boolean).join(": ");
  const since = first.at ? [", since ", ...eventTime(first)] : [];
  const often = times > 1 ? [" ", element("b", {}, `${count(times)} times`), ...since] : [];
  root.replaceChildren(...eventTime(last), " ", ...sign, words, ...often);
}
