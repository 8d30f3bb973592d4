// The controller's messages as JSON (proto/controller.proto, proto/result.proto), as far as the
// page shows them.

export interface RunSummary {
  runId: string;
  jobName: string;
  owner: string;
  state: string;
  outcome: string;
  submittedAt: string;
  hosts: number;
  iops: number;
  bytesPerSecond: number;
  degraded: boolean;
  expectations: string;
}
export interface Operation {
  kind: string;
  operations: number;
  errors: number;
  iops: number;
  bytesPerSecond: number;
  latencyAvgNs: number;
  latencyMaxNs: number;
  percentiles: { percent: number; latencyNs: number }[];
}
export interface Host {
  host: string;
  iops: number;
  bytesPerSecond: number;
  p50Ns: number;
  p99Ns: number;
  iopsByInterval: number[];
  lost: boolean;
}
export interface Device {
  name: string;
  crossCheck?: { verdict: string; reason: string };
}
export interface Phase {
  name: string;
  kind: string;
  state: string;
  durationSeconds: number;
  intervalSeconds: number;
  hosts: Host[];
  total?: Operation;
  workloads: {
    name: string;
    summary: string;
    engine: string;
    operations: Operation[];
    limitedBy: string;
    limitedBecause: string;
    verification?: { checked: number; notCheckable: number; mismatches: number; byVerdict: string };
  }[];
  fairness: { of: string; jain: number; maxOverMin: number }[];
  devices: Device[];
  expectations: { text: string; found: string; held: boolean }[];
  remarks: string[];
  startSkewNs: number;
  startSkewBoundNs: number;
  filesMade: number;
  filesReused: number;
  filesRemoved: number;
  bytesWritten: number;
}
export interface EventLine {
  at: string;
  severity: string;
  host: string;
  message: string;
}
export interface Report {
  run: RunSummary;
  description: string;
  phases: Phase[];
  events: EventLine[];
}
export interface FleetInterval {
  phase: number;
  interval: number;
  intervalClass: string;
  endSeconds: number;
  iops: number;
  bytesPerSecond: number;
  p99Ns: number;
  hosts: { host: string; iops: number; bytesPerSecond: number; p99Ns: number }[];
}
export interface WatchEvent {
  run?: RunSummary;
  interval?: FleetInterval;
  event?: EventLine;
  phase?: {
    index: number;
    count: number;
    name: string;
    kind: string;
    state: string;
    expectedSeconds: number;
  };
  progress?: { doneBytes: number; totalBytes: number };
}
export interface Status {
  version: string;
  store: string;
  workers: unknown[];
}

export async function get<T>(path: string): Promise<T> {
  const answer = await fetch(path);
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error ?? answer.statusText);
  return body as T;
}
