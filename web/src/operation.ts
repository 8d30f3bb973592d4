// The figures of one kind of I/O, as tables show them.

import type { OperationReport, WorkloadReport } from "./api";
import { figure, text, type Cell } from "./dom";
import { latency, marked, none } from "./format";

export const percentiles = [50, 90, 95, 99, 99.9, 99.99];

// A share of time from which on stalls of closed loops can move a p99, so that tables show them.
export const stallsShown = 0.01;

// A dash where no I/O took longer, "~" where fewer than ten did.
export function percentile(operation: OperationReport | undefined, percents: number): Cell {
  const found = operation?.percentiles.find((p) => p.percent === percents);
  if (found?.latencyNs === undefined) return text(none, -1);
  return figure(found.latencyNs, marked(found.isUncertain, latency));
}

// One kind alone is all there is.
export const kindsOf = (w: WorkloadReport): OperationReport[] =>
  w.total && w.operations.length > 1 ? [...w.operations, w.total] : w.operations;
