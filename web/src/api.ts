// The controller's messages as JSON: their types are made from proto/*.proto when the page is built
// (web/BUILD). 64-bit whole numbers are texts there.

import { documentOf } from "./file";

export type { Comparison, ComparedFigure, ComparedValue } from "./proto/comparison";
export type {
  AttachedWorker,
  HistoryReply,
  JobReply,
  PhaseChange,
  ProgressUpdate,
  StatusReply,
  WatchEvent,
} from "./proto/controller";
export type { DeviceReport } from "./proto/device_report";
export type { DevicesReply } from "./proto/devices";
export type { FleetInterval } from "./proto/fleet_interval";
export type { BlockDevice } from "./proto/host";
export type { InterfaceReport, NfsReport } from "./proto/network";
export type {
  EventReport,
  Fairness,
  FigureLimit,
  HostReport,
  OperationReport,
  PhaseReport,
  Report,
  VerificationReport,
  WorkloadReport,
} from "./proto/report";
export type { ObservedFigures, ObservedReport } from "./proto/observed";
export type { RunSummary } from "./proto/run_summary";
export type { FleetSeries, HostSeries, LatencySeries, SeriesReply, Spans } from "./proto/series";
export type { CurveReport, KneeReport, SweepReport } from "./proto/sweep";
export type { TimeSpent } from "./proto/time_spent";

export class NotThere extends Error {}
export class Refused extends Error {} // what was asked for; asking again is in vain

// In an exported file what is there is there already.
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const inside = documentOf(path);
  if (inside !== undefined) {
    if (inside === null) throw new NotThere(`the file does not have ${path}`);
    return inside as T;
  }
  const answer = await fetch(path, { signal }).catch((error: unknown) => {
    // Browsers word it differently, and for programmers.
    throw error instanceof TypeError ? new Error("The controller does not answer.") : error;
  });
  const body = (await answer.json()) as unknown;
  const { error } = body as { error?: string };
  const why = error ?? answer.statusText;
  if (answer.status === 404) throw new NotThere(why);
  if (answer.status === 400) throw new Refused(why);
  if (!answer.ok) throw new Error(why);
  return body as T;
}

// The message for a failure. Only errors have one: code may throw anything else.
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : "it failed, for a reason that is not known";
}

// Half floats (bfloat16, little-endian) as base64.
export function halves(base64: unknown): Float32Array {
  const bytes = atob(base64 as string);
  const bits = new Uint32Array(bytes.length / 2);
  for (let i = 0; i < bits.length; i++)
    bits[i] = ((bytes.charCodeAt(2 * i + 1) << 24) | (bytes.charCodeAt(2 * i) << 16)) >>> 0;
  return new Float32Array(bits.buffer);
}
