// The network between the hosts of a phase and the servers of their targets.

import { keptSorting } from "./address";
import type { InterfaceReport, NfsReport, PhaseReport } from "./api";
import { element, optional, table, text, type Cell } from "./dom";
import { bitRate, count, latency, mebibytes, wholePercent } from "./format";

const numeric = (title: string) => ({ title, numeric: true });

// A share of the line rate; below all others when sorted where that is not known.
function share(ratio: number | undefined, speed: number | undefined): Cell {
  if (ratio === undefined || speed === undefined) return text("not known", -1);
  return { show: `${wholePercent(ratio)} of ${bitRate(speed)}`, sort: ratio };
}

const sum = (a: number | undefined, b: number | undefined) =>
  a === undefined || b === undefined ? undefined : a + b;

const interfaceRow = (i: InterfaceReport): Cell[] => [
  text(i.name),
  optional(i.receivedBytesPerSecond, mebibytes),
  share(i.receivedRatio, i.receiveSpeedBitsPerSecond),
  optional(i.sentBytesPerSecond, mebibytes),
  share(i.sentRatio, i.sendSpeedBitsPerSecond),
  optional(i.receivedPacketsPerSecond, count),
  optional(i.sentPacketsPerSecond, count),
  optional(sum(i.receivedDrops, i.sentDrops), count),
  optional(sum(i.receivedErrors, i.sentErrors), count),
  text(i.hosts.join(", ")),
  text(i.carries.join(", ")),
];

// Why interfaces and mounts lack a figure: each reason once.
function reasons(lacking: [string, string][]): HTMLElement[] {
  const names = new Map<string, Set<string>>();
  for (const [why, name] of lacking) {
    if (why !== "") names.set(why, (names.get(why) ?? new Set<string>()).add(name));
  }
  return [...names].map(([why, of]) => element("p", {}, `${[...of].join(", ")}: ${why}`));
}

// A controller that is older than the page does not say why.
const noRates = (why?: string) => (why ? `no rates, because ${why}` : "");

const nfsRow = (n: NfsReport): Cell[] => [
  text(n.mount),
  text(n.operation),
  optional(n.perSecond, count),
  ...[n.roundTripMs, n.executionMs, n.queueMs].map((ms) =>
    optional(ms, (value) => latency(value * 1e6)),
  ),
  optional(n.retransmits, count),
  optional(n.timeouts, count),
  text(n.server),
  text(n.hosts.join(", ")),
];

export function network(phase: PhaseReport): HTMLElement[] {
  const tables: HTMLElement[] = [];
  if (phase.interfaces.length > 0) {
    const received = ["rx MiB/s", "rx of line rate"];
    const sent = ["tx MiB/s", "tx of line rate"];
    const packets = ["rx packets/s", "tx packets/s", "drops", "errors"];
    tables.push(
      table(
        [
          { title: "interface" },
          ...[...received, ...sent, ...packets].map(numeric),
          { title: "hosts" },
          { title: "carries" },
        ],
        phase.interfaces.map(interfaceRow),
        true,
        keptSorting(`interfaces-${phase.index}`),
      ),
      ...reasons(
        phase.interfaces.flatMap((i): [string, string][] => [
          [i.noLineRate, i.name],
          [noRates(i.notRated), i.name],
        ]),
      ),
    );
  }
  if (phase.nfs.length > 0) {
    const figures = ["per s", "RTT", "execution", "queue", "sent again", "timeouts"];
    tables.push(
      table(
        [
          { title: "NFS mount" },
          { title: "operation" },
          ...figures.map(numeric),
          { title: "server" },
          { title: "hosts" },
        ],
        phase.nfs.map(nfsRow),
        true,
        keptSorting(`nfs-${phase.index}`),
      ),
      ...reasons(phase.nfs.map((n): [string, string] => [noRates(n.notRated), n.mount])),
    );
  }
  return tables;
}
