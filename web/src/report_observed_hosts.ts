// What an observe phase saw of each host.

import { keptSorting } from "./address";
import type { ObservedFigures, PhaseReport } from "./api";
import { figure, table, text, type Cell } from "./dom";
import { count, fixed, latency, mebibytes, none, wholePercent } from "./format";

const titles = [
  ...["reads", "r/s", "rMiB/s", "r_await", "rareq"],
  ...["w/s", "wMiB/s", "w_await", "wareq", "aqu-sz", "busy"],
].map((title) => ({ title, numeric: true }));

// A dash where there was no request.
const known = (value: number | undefined, show: (value: number) => string): Cell =>
  value === undefined ? text(none, -1) : figure(value, show);

const kibibytes = (bytes: number) => `${fixed(bytes / 1024, 1)}k`;
const milliseconds = (ms: number) => latency(ms * 1e6);

function cells(f: ObservedFigures): Cell[] {
  return [
    known(f.readRatio, wholePercent),
    figure(f.readsPerSecond, count),
    figure(f.readBytesPerSecond, mebibytes),
    known(f.readAwaitMs, milliseconds),
    known(f.readRequestBytes, kibibytes),
    figure(f.writesPerSecond, count),
    figure(f.writeBytesPerSecond, mebibytes),
    known(f.writeAwaitMs, milliseconds),
    known(f.writeRequestBytes, kibibytes),
    figure(f.queueSize, (v) => fixed(v, 2)),
    figure(f.busyRatio, wholePercent),
  ];
}

export function observedHosts(phase: PhaseReport): HTMLElement[] {
  const hosts = phase.observed?.hosts ?? [];
  return [
    table(
      [{ title: "host" }, ...titles],
      hosts.map((h) =>
        h.lost || !h.devices
          ? [text(`${h.host} (lost)`), ...titles.map(() => text(none, -1))]
          : [text(h.host), ...cells(h.devices)],
      ),
      true,
      keptSorting(`observed-hosts-${phase.index}`),
    ),
  ];
}
