// The points of sweeps and curves: which is the best, and how each is named.

import type { CurveReport, SweepReport } from "./api";

type Point = SweepReport["points"][number];

// The best point of each: of a sweep the one that leads by the figure that decides, of a curve the
// one with the most I/Os.
export function bestPoint(sweep: SweepReport): Point | undefined {
  const leading = (sweep.conclusion as { leading?: number } | undefined)?.leading;
  if (leading !== undefined) return sweep.points[leading];
  const best = sweep.points.find((p) => String(p.comparison?.standing) === "STANDING_BEST");
  if (best) return best;
  const { figure } = sweep.conclusion ?? { figure: "IOPS" };
  const value = (p: Point) =>
    figure === "p99"
      ? -(p.p99Ns ?? 0)
      : figure === "throughput"
        ? (p.bytesPerSecond ?? 0)
        : (p.iops ?? 0);
  const whole = sweep.points.filter((p) => p.runs > 0 && (figure !== "p99" || (p.p99Ns ?? 0) > 0));
  return whole.reduce<Point | undefined>(
    (a, b) => (a === undefined || value(b) > value(a) ? b : a),
    undefined,
  );
}
// What a point may be called: the best one only where the others are worse.
export function standingOf(sweep: SweepReport, point: Point): string {
  const of = (one: Point) => String(one.comparison?.standing);
  if (of(point) === "STANDING_ALONE") return "best";
  const isTied = sweep.points.some((one) => of(one) === "STANDING_NOT_DISTINGUISHABLE");
  return of(point) === "STANDING_BEST" && !isTied ? "best" : "leads";
}
export function pointName(sweep: SweepReport, point: Point): string {
  return sweep.axes
    .map(({ field, values }, a) => `${field.split(".").pop()}=${values[point.indices[a]]}`)
    .join(" ");
}
export function bestStep(curve: CurveReport) {
  type Step = (typeof curve.points)[number];
  return curve.points.reduce<Step | undefined>(
    (a, b) => (a === undefined || (b.achieved ?? 0) > (a.achieved ?? 0) ? b : a),
    undefined,
  );
}
