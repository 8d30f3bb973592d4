// The controller's messages as JSON: their types are made from proto/*.proto when the page is built
// (web/BUILD). 64-bit whole numbers are texts there.

export type {
  FleetInterval,
  HistoryReply,
  PhaseChange,
  ProgressUpdate,
  StatusReply,
  WatchEvent,
} from "./proto/controller";
export type {
  DeviceReport,
  EventReport,
  HostReport,
  OperationReport,
  PhaseReport,
  Report,
  RunSummary,
  VerificationReport,
} from "./proto/report";
export type { CurveReport, SweepReport } from "./proto/sweep";

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const answer = await fetch(path, { signal });
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error ?? answer.statusText);
  return body as T;
}
