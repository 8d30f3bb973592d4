// The results of an observe phase: the devices of the hosts, by their own counters. There is no
// engine.

import type { ObservedFigures, ObservedReport, PhaseReport } from "./api";
import { element } from "./dom";
import { count, fixed, plural, size, wholePercent } from "./format";

function summary(f: ObservedFigures, hosts: number, mounts: number): string {
  const servers = mounts > 0 ? `${plural(mounts, "mount")} of servers` : "";
  if (f.devices === 0) return servers ? `${servers}, no block device` : "no device";
  const devices = `${plural(f.devices, "device")} on ${plural(hosts, "host")}`;
  const where = servers ? `${devices} and ${servers}` : devices;
  if (f.readRatio === undefined) return `${where}: no reads and no writes`;
  const bytes = f.readBytesPerSecond + f.writeBytesPerSecond;
  return (
    `${where}: ${count(f.readsPerSecond + f.writesPerSecond)} IOPS, ` +
    `${wholePercent(f.readRatio)} reads, ${size(bytes)}/s; the busiest, ${f.busiest}, ` +
    `for ${wholePercent(f.busyRatio)} of the time`
  );
}

// Shares of limits that an earlier run measured.
function shares(report: ObservedReport): HTMLElement[] {
  const sentences = report.shares.map((share) => share.sentence);
  if (report.notMeasured) sentences.push(report.notMeasured);
  return sentences.map((sentence) => element("p", {}, sentence));
}

// Stands in the place of workloads.
export function observed(phase: PhaseReport): HTMLElement[] {
  const total = phase.observed?.total;
  if (!phase.observed || !total) return [];
  const over = `${fixed(phase.windowBeginSeconds, 2)}–${fixed(phase.windowEndSeconds, 2)} s`;
  return [
    element("p", {}, summary(total, phase.workers - phase.workersLost, phase.observed.mounts)),
    ...shares(phase.observed),
    element(
      "p",
      { class: "muted" },
      `by the devices' own counters, over ${over} after T; this phase did no I/O, so that there ` +
        "are no latencies and errors of an engine",
    ),
  ];
}
