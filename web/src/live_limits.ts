// The limits that a job requires of a phase, or ends it for, held against its intervals as they
// come.

import type { FigureLimit, FleetInterval } from "./api";
import { count, fixed, short, typeset, type Kind } from "./format";

export interface LimitState {
  limit: FigureLimit;
  text: string; // IOPS ≥ 50,000
  isAbort: boolean; // the phase ends for it
  isTotal: boolean; // of the phase so far, not of one interval
  found?: number; // of the last interval, or so far; undefined: not known
  isMet?: boolean; // by it
  missed: number; // intervals in a row, up to now
  missedFrom: number; // the begin of the first of these, seconds from T
  missedAll: number; // intervals so far
  judged: number; // all that could be held against it
}

const kinds: Record<string, Kind> = { iops: "count", bytes_per_second: "rate" };

export const kindOf = (figure: string): Kind => kinds[figure] ?? "latency";

// "abort_if errors >= 100" ends the phase at 100; "iops >= 5,000" is met by 5,000.
function isMet({ limit, isAbort }: LimitState, found: number): boolean {
  const isLeast = limit.text.includes(">=");
  if (isAbort) return isLeast ? found < limit.value : found <= limit.value;
  return isLeast ? found >= limit.value : found <= limit.value;
}

// A percentile, or an await, of 0 is one that is not known; hosts that do nothing are not fair.
function figureOf(interval: FleetInterval, figure: string): number | undefined {
  switch (figure) {
    case "iops":
      return interval.iops;
    case "bytes_per_second":
      return interval.bytesPerSecond;
    case "p50_ns":
      return interval.p50Ns || undefined;
    case "p99_ns":
      return interval.p99Ns || undefined;
    case "p999_ns":
      return interval.p999Ns || undefined;
    case "await_ns":
      return interval.iostat[0] || undefined;
    case "fairness":
      return interval.jain;
    default:
      return undefined;
  }
}

export class Limits {
  readonly states: LimitState[];

  constructor(limits: FigureLimit[]) {
    this.states = limits.map((limit) => ({
      limit,
      text: typeset(limit.text),
      isAbort: limit.text.startsWith("abort_if"),
      isTotal: limit.figure === "errors",
      missed: 0,
      missedFrom: 0,
      missedAll: 0,
      judged: 0,
    }));
  }

  // One interval alone says nothing yet of an expectation of the whole phase: how many in a row
  // missed it is told, too. A ramp and a drain are not judged, but their errors end a phase.
  add(interval: FleetInterval, begin: number): void {
    const isMeasured = interval.intervalClass === "measured";
    for (const state of this.states) {
      if (!isMeasured && !(state.isTotal && state.isAbort)) continue;
      state.found = state.isTotal
        ? (state.found ?? 0) + interval.errors
        : figureOf(interval, state.limit.figure);
      if (state.found === undefined) {
        state.isMet = undefined;
        continue;
      }
      state.judged++;
      state.isMet = isMet(state, state.found);
      if (state.isMet) {
        state.missed = 0;
        continue;
      }
      if (state.missed === 0) state.missedFrom = begin;
      state.missed++;
      state.missedAll++;
    }
  }

  of(figure: string): LimitState[] {
    return this.states.filter((state) => state.limit.figure === figure);
  }
}

export function foundOf({ found, limit }: LimitState): string {
  if (found === undefined) return "not known";
  if (limit.figure === "errors") return count(found);
  if (limit.figure === "fairness") return fixed(found, 3);
  return short(kindOf(limit.figure), found);
}
