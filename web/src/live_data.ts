// The data of one phase in progress, for charts. Long phases lose every second point.

import type { FleetInterval } from "./api";
import type { Bands, Mark, Shade } from "./charts";

const maxPoints = 3999; // one more is halved without a rest
const maxShades = 200;
const mostColumns = 600; // of hosts over time

// A field that a message leaves out is 0, or none.
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
    jain: undefined,
    iostat: [],
    best: [],
    bestIops: [],
    worst: [],
    worstIops: [],
    allIops: [],
    allP99Ns: [],
    hosts: 0,
    silentHosts: 0,
    silentSeconds: 0,
    // The page does not ask for latencies.
    ioLatencies: undefined,
    fsyncLatencies: undefined,
    ...interval,
  };
}

export class LiveData {
  points: FleetInterval[] = [];
  begins: number[] = [];
  // The hosts' work, where it is told, by column and position, and the columns' times.
  columns: Float32Array[] = [];
  columnBegins: number[] = [];
  columnEnds: number[] = [];
  most = 0; // of any host in any interval
  errors = 0;
  topIops = 0;
  topBytes = 0;
  topP99 = 0;
  marks: Mark[] = [];
  // In which no host completed an I/O, and in which nothing came: seconds from and to.
  shades: Shade[] = [];
  measured: [number, number] = [0, 0];
  private step = 1; // intervals of a column
  private open: Float32Array[] = [];
  private openBegin = 0;
  usual = 0; // seconds of an interval

  get last(): FleetInterval | undefined {
    return this.points[this.points.length - 1];
  }

  // Intervals that were told before are passed over.
  add(interval: FleetInterval): void {
    const { last } = this;
    if (last && interval.endSeconds <= last.endSeconds) return;
    this.errors += interval.errors;
    if (interval.intervalClass === "ramp") this.measured[0] = interval.endSeconds;
    if (interval.intervalClass === "measured") this.measured[1] = interval.endSeconds;
    const begin = this.beginOf(interval);
    // A drain that is over at once is no interval: its rates say nothing.
    const isDrain = interval.intervalClass === "drain";
    if (isDrain && last && interval.endSeconds - begin < this.usual / 2) return;
    if (!isDrain) this.usual = interval.endSeconds - begin;
    this.topIops = Math.max(this.topIops, interval.iops);
    this.topBytes = Math.max(this.topBytes, interval.bytesPerSecond);
    this.topP99 = Math.max(this.topP99, interval.p99Ns);
    if (interval.hosts > 0 && interval.silentHosts === interval.hosts)
      this.shade(
        Math.max(begin, interval.endSeconds - interval.silentSeconds),
        interval.endSeconds,
      );
    if (interval.allIops.length > 0) this.addHosts(interval, begin);
    this.points.push({ ...interval, allIops: [], allP99Ns: [] });
    this.begins.push(begin);
    if (this.points.length <= maxPoints) return;
    // A point stays for itself and for the one before it.
    this.begins = this.begins.filter((_, i) => i % 2 === 0);
    this.points = this.points.filter((_, i) => i % 2 === 1);
    this.begins.length = this.points.length;
  }

  // An outage that goes on is one.
  private shade(from: number, to: number): void {
    const last = this.shades[this.shades.length - 1];
    if (last?.kind === "outage" && last.to >= from - this.usual / 2) last.to = to;
    else if (this.shades.length < maxShades) this.shades.push({ from, to, kind: "outage" });
  }

  // Intervals follow each other; where numbers are left out there is a gap.
  private beginOf({ interval, endSeconds }: FleetInterval): number {
    const { last } = this;
    if (!last) return interval === 0 ? 0 : endSeconds - endSeconds / (interval + 1);
    const missed = interval - last.interval;
    return missed <= 1 ? last.endSeconds : endSeconds - (endSeconds - last.endSeconds) / missed;
  }

  private addHosts(interval: FleetInterval, begin: number): void {
    if (this.open.length === 0) this.openBegin = begin;
    const told = Float32Array.from(interval.allIops, (value) => (value < 0 ? NaN : value));
    for (const value of told) if (value > this.most) this.most = value;
    this.open.push(told);
    if (this.open.length < this.step) return;
    this.columns.push(mean(this.open));
    this.columnBegins.push(this.openBegin);
    this.columnEnds.push(interval.endSeconds);
    this.open = [];
    if (this.columns.length <= mostColumns) return;
    const pairs = Math.floor(this.columns.length / 2);
    const { columns, columnBegins, columnEnds } = this;
    if (columns.length % 2 === 1) {
      this.open = [columns[columns.length - 1]];
      this.openBegin = columnBegins[columns.length - 1];
    }
    const every = <T>(of: (i: number) => T): T[] => Array.from({ length: pairs }, (_, i) => of(i));
    this.columns = every((i) => mean([columns[2 * i], columns[2 * i + 1]]));
    this.columnBegins = every((i) => columnBegins[2 * i]);
    this.columnEnds = every((i) => columnEnds[2 * i + 1]);
    this.step *= 2;
  }

  ends(): number[] {
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
      while (column < this.columnEnds.length && this.columnEnds[column] < point.endSeconds)
        column++;
      if (this.columnBegins[column] >= point.endSeconds) return null;
      const value = this.columns[column]?.[position];
      return value === undefined || Number.isNaN(value) ? null : value;
    });
  }
}

function mean(columns: Float32Array[]): Float32Array {
  if (columns.length === 1) return columns[0];
  const length = Math.max(...columns.map((column) => column.length));
  const sums = new Float32Array(length);
  const counts = new Float32Array(length);
  for (const column of columns)
    for (let i = 0; i < column.length; i++) {
      if (Number.isNaN(column[i])) continue;
      sums[i] += column[i];
      counts[i]++;
    }
  return sums.map((sum, i) => (counts[i] > 0 ? sum / counts[i] : NaN));
}
