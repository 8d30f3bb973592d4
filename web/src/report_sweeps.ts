// The points of a sweep side by side, and the steps of a curve.

import type { CurveReport, SweepReport } from "./api";
import { element, figure, table, text } from "./dom";
import { count, latency, percent, throughput } from "./format";

export function sweepSection(sweep: SweepReport): HTMLElement {
  const points = sweep.points.map((point) => [
    ...sweep.axes.map((axis, a) => text(axis.values[point.indices[a]])),
    figure(point.runs, String),
    figure(point.iops, count),
    text(
      point.runs > 2
        ? `${count(point.iopsLow)} – ${count(point.iopsHigh)}`
        : `${count(point.iopsLeast)} – ${count(point.iopsMost)}`,
    ),
    figure(point.bytesPerSecond, throughput),
    figure(point.p50Ns, latency),
    figure(point.p99Ns, latency),
    figure(point.jain, (v) => v.toFixed(4)),
    figure(point.threadJain, (v) => (v > 0 ? v.toFixed(4) : "")),
  ]);
  return element(
    "section",
    {},
    element("h2", {}, `Sweep of ${sweep.phase}`),
    table(
      [
        ...sweep.axes.map((axis) => ({ title: axis.field })),
        { title: "runs", numeric: true },
        { title: "IOPS", numeric: true },
        { title: "range of IOPS", numeric: true },
        { title: "throughput", numeric: true },
        { title: "p50", numeric: true },
        { title: "p99", numeric: true },
        { title: "Jain", numeric: true },
        { title: "thread Jain", numeric: true },
      ],
      points,
    ),
    ...sweep.knees.map((knee) =>
      element("p", {}, [knee.at, knee.reason].filter(Boolean).join(": ")),
    ),
    ...(sweep.ended ? [element("p", { class: "muted" }, sweep.ended)] : []),
  );
}

export function curveSection(curve: CurveReport): HTMLElement {
  return element(
    "section",
    {},
    element("h2", {}, `Curve of ${curve.phase}`),
    table(
      [
        { title: "share", numeric: true },
        { title: "offered", numeric: true },
        { title: "achieved", numeric: true },
        { title: "mean", numeric: true },
        { title: "p50", numeric: true },
        { title: "p99", numeric: true },
      ],
      curve.points.map((point) => [
        figure(point.share, percent),
        figure(point.offered, count),
        figure(point.achieved, count),
        figure(point.meanNs, latency),
        figure(point.p50Ns, latency),
        figure(point.p99Ns, latency),
      ]),
    ),
    ...(curve.knee ? [element("p", {}, curve.knee.reason)] : []),
  );
}
