// The network between the hosts of a phase and the servers of their targets.

import { keptSorting } from "./address";
import type { InterfaceReport, NfsReport, PhaseReport } from "./api";
import { element, figure, table, text, type Cell } from "./dom";
import { bitRate, count, latency, mebibytes, wholePercent } from "./format";

const numeric = (title: string) => ({ title, numeric: true });

// A share of the line rate; below all others when sorted where that is not known.
function share(ratio: number | undefined, speed: number | undefined): Cell {
  if (ratio === undefined || speed === undefined) return text("not known", -1);
  return { show: `${wholePercent(ratio)} of ${bitRate(speed)}`, sort: ratio };
}

const interfaceRow = (i: InterfaceReport): Cell[] => [
  text(i.name),
  figure(i.receivedBytesPerSecond, mebibytes),
  share(i.receivedRatio, i.receiveSpeedBitsPerSecond),
  figure(i.sentBytesPerSecond, mebibytes),
  share(i.sentRatio, i.sendSpeedBitsPerSecond),
  figure(i.receivedPacketsPerSecond, count),
  figure(i.sentPacketsPerSecond, count),
  figure(i.receivedDrops + i.sentDrops, count),
  figure(i.receivedErrors + i.sentErrors, count),
  text(i.hosts.join(", ")),
  text(i.carries.join(", ")),
];

// Why interfaces have no line rate: each reason once.
function withoutLineRate(interfaces: InterfaceReport[]): HTMLElement[] {
  const names = new Map<string, Set<string>>();
  for (const i of interfaces) {
    if (i.noLineRate === "") continue;
    names.set(i.noLineRate, (names.get(i.noLineRate) ?? new Set<string>()).add(i.name));
  }
  return [...names].map(([why, of]) => element("p", {}, `${[...of].join(", ")}: ${why}`));
}

const nfsRow = (n: NfsReport): Cell[] => [
  text(n.mount),
  text(n.operation),
  figure(n.perSecond, count),
  ...[n.roundTripMs, n.executionMs, n.queueMs].map((ms) => figure(ms * 1e6, latency)),
  figure(n.retransmits, count),
  figure(n.timeouts, count),
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
      ...withoutLineRate(phase.interfaces),
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
    );
  }
  return tables;
}
