// The controller's words for runs; the page's own, shorter ones where it says nothing.

import type { RunSummary } from "./api";
import { bothThroughputs, count, none, short } from "./format";

// A controller that is older than the page does not send these.
export type Told = RunSummary & {
  headline?: { text?: string; iops?: number };
  conclusion?: string;
  lostHosts?: string;
};

export function headlineOf(run: Told): string {
  if (run.headline?.text) return run.headline.text;
  if (!run.iops) return none;
  const rate = run.bytesPerSecond ? `, ${short("rate", run.bytesPerSecond)}` : "";
  return `${count(run.iops)} IOPS${rate}`;
}

// The begin of a run's conclusion, which is its gravest part. Its figures stand beside it. Beside
// "degraded" the reader looks for the lost hosts, also where an outage comes first.
// What the headline says is no reason, and is not said twice.
export function reasonOf(run: Told): string {
  const parts = (run.conclusion ?? "").split("; ");
  const isTold = run.headline?.text?.startsWith(parts[0]) ?? false;
  if (isTold && run.verdict === "backlog") return "the load stayed behind the rate that was due";
  if (run.verdict !== "degraded") return isTold ? "" : parts[0];
  if (run.lostHosts) return `lost ${run.lostHosts}`;
  return parts.find((part) => part.startsWith("lost ")) ?? parts[0];
}

// Its exact figures, for whoever points at it.
export function exactFigures(run: Told): string {
  if (!run.iops) return "";
  return `${count(run.iops)} IOPS, ${bothThroughputs(run.bytesPerSecond ?? 0)}`;
}
