// How a chart's axis of values is written: one unit, and lines at major ticks only.

import uPlot from "uplot";

import { inUnit, unitOf, type Kind } from "./format";

// A logarithmic axis has only the powers of ten.
const isPower = (value: number): boolean => {
  const power = Math.log10(value);
  return Math.abs(power - Math.round(power)) < 1e-9;
};
// If labels would be written over each other, every second or third of them.
const powers = (plot: uPlot, splits: number[], side: number): (number | null)[] => {
  const whole = splits.filter(isPower);
  const font = plot.axes[side]?.font;
  const lineHeight = 1.3 * (parseFloat(String(Array.isArray(font) ? font[0] : font)) || 16);
  const most = Math.max(1, Math.floor(plot.bbox.height / lineHeight));
  const step = Math.ceil(whole.length / most);
  return splits.map((value) => {
    const at = whole.indexOf(value);
    return at >= 0 && at % step === 0 ? value : null;
  });
};

export function gridOf(grid: uPlot.Axis.Grid, isLog: boolean): Partial<uPlot.Axis> {
  if (!isLog) return { grid, ticks: { show: false } };
  return { grid: { ...grid, filter: powers }, ticks: { show: false }, filter: powers };
}

// Between ticks: of bytes, whole ones of a unit.
export function stepsOf(kind?: Kind): number[] | undefined {
  if (kind !== "bytes" && kind !== "rate") return undefined;
  const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500];
  return [0, 1, 2, 3, 4].flatMap((power) => steps.map((step) => step * 1024 ** power));
}

// The texts of the ticks: in the unit of the greatest, where the least of them can be told in it.
export function axisOf(
  show: (value: number) => string,
  kind?: Kind,
): (plot: uPlot, splits: (number | null)[]) => string[] {
  return (_, splits) => {
    const there = splits.filter((value): value is number => value !== null && value !== 0);
    if (!kind || there.length === 0) return splits.map((v) => (v === null ? "" : show(v)));
    const unit = unitOf(kind, Math.max(...there));
    const isOne = Math.min(...there) > unit.factor / 100;
    return splits.map((value) => {
      if (value === null) return "";
      if (value === 0) return "0";
      const own = isOne ? unit : unitOf(kind, value);
      return `${inUnit(value, own, true)} ${own.name}`.trim();
    });
  };
}

// The width of an axis in which the longest of its texts is whole. It is at least that of other
// charts, so that charts below each other begin at one edge.
const gap = 7;
export function widthOf(plot: uPlot, texts: string[] | null, least: number, font: string): number {
  const { ctx } = plot;
  ctx.save();
  ctx.font = font;
  const width = Math.max(0, ...(texts ?? []).map((text) => ctx.measureText(text).width));
  ctx.restore();
  return Math.max(least, Math.ceil(width) + gap);
}

// The texts where nothing gives the axis a scale: its other ticks would be invented.
export const onlyZero = (splits: (number | null)[]): string[] =>
  splits.map((value) => (value === 0 ? "0" : ""));

// A limit so far beyond the figures would make them a line at the bottom: it is told at the edge.
const limitReach = 4;

// The range of a linear axis: from 0 to the most, and to limits within reach.
export function fromZero(most: number | null, limits: number[]): [number, number] {
  const data = most === null || most <= 0 ? 0 : most;
  const near = limits.filter((value) => data === 0 || value <= limitReach * data);
  const top = Math.max(data, ...near);
  return [0, top > 0 ? top * 1.05 : 1];
}

// The range of a logarithmic one: whole powers of ten.
export function logRange(
  least: number | null,
  most: number | null,
  limits: number[],
): [number, number] {
  const all = [least, most].filter((v): v is number => v !== null && v > 0);
  // Without figures the limits give the scale.
  if (all.length === 0) all.push(...limits.filter((v) => v > 0));
  if (all.length === 0) return [1, 10];
  const within = limits.filter(
    (v) => v > 0 && v >= Math.min(...all) / 100 && v <= Math.max(...all) * 100,
  );
  const [low, high] = uPlot.rangeLog(
    Math.min(...all, ...within),
    Math.max(...all, ...within),
    10,
    true,
  );
  return [low ?? 1, high ?? 10];
}
