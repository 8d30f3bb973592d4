// A sweep, drawn: its deciding figure and the p99 over the values of an axis.

import type { SweepReport } from "./api";
import { element } from "./dom";
import { count, rate, shown } from "./format";
import { PointChart, type ChartPoint, type PointLine } from "./point_chart";
import { bestPoint, pointName, standingOf } from "./points";

type Point = SweepReport["points"][number];

const mostLines = 8;

// Of the first two axes the one whose values are across: numbers, and of two such axes the one with
// more values, or the second one. -1: neither has numbers.
function axisAcross({ axes }: SweepReport): number {
  const [first, second] = axes.slice(0, 2).map(({ numbers }) => numbers.length);
  if ((second ?? 0) > 1 && second >= first) return 1;
  return (first ?? 0) > 1 ? 0 : -1;
}

type Ends = [low: number | undefined, high: number | undefined];

// Fewer than six runs have no interval of their median: then the least and the most. A single run
// has neither.
const bandOf = ({ runs }: Point, interval: Ends, extremes: Ends): Ends => {
  if (runs < 2) return [undefined, undefined];
  return interval[0] === undefined ? extremes : interval;
};
const bandOfIops = (p: Point): Ends => bandOf(p, [p.iopsLow, p.iopsHigh], [p.iopsMin, p.iopsMax]);
const bandOfP99 = (p: Point): Ends =>
  bandOf(p, [p.p99LowNs, p.p99HighNs], [p.p99MinNs, p.p99MaxNs]);

type Low = (point: Point) => number | undefined;

// The meaning of a chart's bands. `low` is the lower end of its figure's interval: a point may have
// one of its IOPS and none of its p99.
function bandWords(points: Point[], band: (point: Point) => Ends, low: Low): string {
  const repeated = points.filter((point) => band(point)[0] !== undefined);
  if (repeated.length === 0) return "";
  const few = repeated.filter((point) => low(point) === undefined);
  if (few.length === 0) return "band: 95 % interval of the median";
  const runs = few.map((point) => point.runs);
  const [least, most] = [Math.min(...runs), Math.max(...runs)];
  const extremes = `least to most of ${least === most ? least : `${least} to ${most}`} runs`;
  if (few.length === repeated.length) return `band: ${extremes}`;
  return `band: 95 % interval of the median, or ${extremes}`;
}

// The figure that decides over one numeric axis, a line for each value of another, and the p99
// below; with both axes numeric the matrix is the heat map.
export class SweepCharts {
  readonly root = element("div", { class: "grid" });
  private readonly across: number;
  private readonly lines: number;
  private readonly charts: PointChart[] = [];

  constructor(private readonly sweep: SweepReport) {
    const { axes } = sweep;
    this.across = axisAcross(sweep);
    this.lines = -1;
    if (this.across < 0) return;
    const other = axes.length > 1 ? 1 - this.across : -1;
    if (other >= 0 && axes[other].values.length > mostLines) return;
    this.lines = other;
    const axis = axes[this.across];
    // A job may go down from its largest value.
    const ticks = axis.values
      .map((text, i) => ({ at: axis.numbers[i], text }))
      .sort((a, b) => a.at - b.at);
    const figure = this.isThroughput ? "throughput" : "IOPS";
    const named = this.lines >= 0 ? `, a line for each ${axes[this.lines].field}` : "";
    const of = `${sweep.phase}, by ${axis.field}${named}`;
    const kind = this.isThroughput ? ("rate" as const) : ("count" as const);
    const common = { across: axis.field, ticks };
    const ofFigure = bandWords(sweep.points, bandOfIops, (point) => point.iopsLow);
    const ofP99 = bandWords(sweep.points, bandOfP99, (point) => point.p99LowNs);
    this.charts.push(
      new PointChart({
        title: `${figure} of ${of}`,
        kind,
        isLog: false,
        note: ofFigure,
        ...common,
      }),
      new PointChart({
        title: `p99 of ${of}`,
        kind: "latency",
        isLog: true,
        note: ofP99,
        ...common,
      }),
    );
    this.root.append(...this.charts.map((chart) => chart.root));
  }

  private get isThroughput(): boolean {
    return this.sweep.conclusion?.figure === "throughput";
  }

  // With these values of the axes beyond the first two.
  draw(others: number[]): void {
    if (this.charts.length === 0) return;
    const { sweep } = this;
    const names = this.lines >= 0 ? sweep.axes[this.lines].values : [""];
    const best = bestPoint(sweep);
    const there = sweep.points.filter(
      (p) => p.runs > 0 && others.every((index, i) => p.indices[i + 2] === index),
    );
    const lines = (of: (p: Point) => Omit<ChartPoint, "x" | "title" | "mark">): PointLine[] =>
      names.map((label, i) => ({
        label,
        points: there
          .filter((p) => this.lines < 0 || p.indices[this.lines] === i)
          .map((p) => ({
            ...of(p),
            x: sweep.axes[this.across].numbers[p.indices[this.across]],
            title:
              `${pointName(sweep, p)}: ${shown(p.iops, count)} IOPS, ` +
              shown(p.bytesPerSecond, rate),
            mark: p === best && sweep.points.length > 1 ? `★ ${standingOf(sweep, p)}` : undefined,
          })),
      }));
    const [rates, times] = this.charts;
    rates.set(
      lines((p) => {
        const scale = this.isThroughput ? (p.bytesPerSecond ?? 0) / (p.iops || 1) : 1;
        const [low, high] = bandOfIops(p).map((end) => end && end * scale);
        return { y: (p.iops ?? 0) * scale, low, high };
      }),
    );
    // The point that leads in the other figure need not have the best p99: only its sign is here.
    times.set(
      lines((p) => {
        const [low, high] = bandOfP99(p);
        return { y: p.p99Ns ?? 0, low, high };
      }).map(({ label, points }) => ({
        label,
        points: points
          .filter(({ y }) => y > 0)
          .map((point) => ({ ...point, mark: point.mark && "★" })),
      })),
    );
  }
  destroy(): void {
    for (const chart of this.charts) chart.destroy();
  }
}
