// What has come of one phase in progress, for charts. Long phases lose every second point.

import type { FleetInterval, PhaseChange } from "./api";
import type { Bands, Mark } from "./charts";

const mostPoints = 4000;
const mostColumns = 600; // of hosts over time

// What a message leaves out is 0, or none.
export function whole(interval: Partial<FleetInterval>): FleetInterval {
  return {
    phase: 0,
    interval: 0,
    intervalClass: "",
    endSeconds: 0,
    iops: 0,
    bytesPerSecond: 0,
    p99Ns: 0,
    errors: 0,
    kindIops: [],
    kindBytesPerSecond: [],
    p50Ns: 0,
    p999Ns: 0,
    hostQuantiles: [],
    jain: 0,
    iostat: [],
    best: [],
    bestIops: [],
    worst: [],
    worstIops: [],
    allIops: [],
    allP99Ns: [],
    ...interval,
  };
}

export class LiveData {
  points: FleetInterval[] = [];
  // Where the hosts are told: what they did, by column and position; and where the columns end.
  columns: Float32Array[] = [];
  ends: number[] = [];
  errors = 0;
  marks: Mark[] = [];
  measured: [number, number] = [0, 0];
  private step = 1; // intervals of a column
  private open: Float32Array[] = [];

  constructor(readonly change?: PhaseChange) {}

  get last(): FleetInterval | undefined {
    return this.points[this.points.length - 1];
  }

  // False where it was told before.
  add(interval: FleetInterval): boolean {
    if (this.last && interval.endSeconds <= this.last.endSeconds) return false;
    const before = this.last?.endSeconds ?? 0;
    this.errors += interval.errors;
    if (interval.intervalClass === "ramp") this.measured[0] = interval.endSeconds;
    if (interval.intervalClass === "measured") this.measured[1] = interval.endSeconds;
    if (interval.allIops.length > 0) this.addHosts(interval);
    this.points.push({ ...interval, allIops: [], allP99Ns: [] });
    if (this.points.length > mostPoints) this.points = this.points.filter((_, i) => i % 2 === 1);
    return before >= 0;
  }

  private addHosts(interval: FleetInterval): void {
    this.open.push(Float32Array.from(interval.allIops, (value) => (value < 0 ? NaN : value)));
    if (this.open.length < this.step) return;
    this.columns.push(mean(this.open));
    this.ends.push(interval.endSeconds);
    this.open = [];
    if (this.columns.length <= mostColumns) return;
    const pairs = Math.floor(this.columns.length / 2);
    const columns = Array.from({ length: pairs }, (_, i) =>
      mean([this.columns[2 * i], this.columns[2 * i + 1]]),
    );
    if (this.columns.length % 2 === 1) this.open = [this.columns[this.columns.length - 1]];
    this.ends = Array.from({ length: pairs }, (_, i) => this.ends[2 * i + 1]);
    this.columns = columns;
    this.step *= 2;
  }

  x(): number[] {
    return this.points.map((point) => point.endSeconds);
  }
  values(of: (point: FleetInterval) => number | undefined): (number | null)[] {
    return this.points.map((point) => of(point) ?? null);
  }
  bands(): Bands {
    const at = (i: number) => this.values((point) => point.hostQuantiles[i]);
    return { least: at(0), p10: at(1), middle: at(2), p90: at(3), most: at(4) };
  }
  // One host over time, at the points' times; nothing where the columns do not reach.
  host(position: number): (number | null)[] {
    let column = 0;
    return this.points.map((point) => {
      while (column < this.ends.length && this.ends[column] < point.endSeconds) column++;
      const value = this.columns[column]?.[position];
      return value === undefined || Number.isNaN(value) ? null : value;
    });
  }
}

function mean(columns: Float32Array[]): Float32Array {
  if (columns.length === 1) return columns[0];
  const length = Math.max(...columns.map((column) => column.length));
  return Float32Array.from({ length }, (_, i) => {
    const there = columns.map((column) => column[i]).filter((value) => !Number.isNaN(value));
    return there.length === 0 ? NaN : there.reduce((a, b) => a + b, 0) / there.length;
  });
}
