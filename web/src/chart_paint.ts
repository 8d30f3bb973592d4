// Draws the parts of a chart beside its lines: spans, limits, flags of events, the lines' names.

import type uPlot from "uplot";

import type { Mark, Shade } from "./chart_options";
import { color, type Tone } from "./dom";

const flagGrain = 4; // pixels: flags so near to each other are one
const flagReach = 8; // of the cursor
const labelWidth = 4.8; // ems, beside the drawing
const inks: Record<Tone, string> = {
  bad: "--bad",
  corrupt: "--corrupt",
  warn: "--warn",
  good: "--good",
  plain: "--muted",
};

const inkOf = (mark: Mark): string => inks[mark.tone ?? "bad"];

function font(pixels: number): string {
  return `${pixels * devicePixelRatio}px system-ui`;
}

interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

type Kind = Shade["kind"] | "ramp";

// What a span is, for those who do not see its colour; nothing where there is no room for it. Over
// all else that is drawn: lines of the grid and of limits would strike it out.
const spanWords: Partial<Record<Kind, string>> = { outage: "no I/O", away: "not known" };
export function nameSpan(
  ctx: CanvasRenderingContext2D,
  kind: Kind,
  { left, top, width, height }: Box,
  type: number,
): void {
  const words = spanWords[kind] ?? "";
  ctx.save();
  ctx.font = font(type);
  const own = ctx.measureText(words).width;
  const isRoom = height >= type * devicePixelRatio;
  if (words && isRoom && own + 4 * devicePixelRatio <= width) {
    ctx.fillStyle = color(kind === "outage" ? "--bad" : "--muted");
    ctx.textAlign = "left";
    ctx.textBaseline = "middle";
    fillOver(ctx, words, left + (width - own) / 2, top + height / 2, own);
  }
  ctx.restore();
}

// A span in a part of a drawing, in pixels of the canvas.
export function paintSpan(
  ctx: CanvasRenderingContext2D,
  kind: Kind,
  { left, top, width, height }: Box,
): void {
  ctx.save();
  ctx.fillStyle = color(`--${kind}`);
  if (kind !== "away") {
    ctx.fillRect(left, top, width, height);
    return ctx.restore();
  }
  // Nothing is known: hatched, not filled.
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  ctx.strokeStyle = color("--away");
  ctx.lineWidth = devicePixelRatio;
  const step = 8 * devicePixelRatio;
  ctx.beginPath();
  for (let x = left - height; x < left + width; x += step) {
    ctx.moveTo(x, top + height);
    ctx.lineTo(x + height, top);
  }
  ctx.stroke();
  ctx.restore();
}

// Each span of a chart, as paintSpan() or nameSpan() does it.
export function paintShades(
  plot: uPlot,
  shades: { from: number; to: number; kind: Kind }[],
  paint: typeof nameSpan,
  type: number,
): void {
  const { left, top, width, height } = plot.bbox;
  for (const { from, to, kind } of shades) {
    const a = Math.max(left, plot.valToPos(from, "x", true));
    const b = Math.min(left + width, plot.valToPos(to, "x", true));
    if (b > a) paint(plot.ctx, kind, { left: a, top, width: b - a, height }, type);
  }
}

// A name in so much width. Names often differ at their ends: the middle is left out.
function fitted(ctx: CanvasRenderingContext2D, text: string, width: number): string {
  if (ctx.measureText(text).width <= width) return text;
  for (let kept = text.length - 1; kept > 1; kept--) {
    const half = Math.ceil(kept / 2);
    const short = `${text.slice(0, half)}…${text.slice(text.length - (kept - half))}`;
    if (ctx.measureText(short).width <= width) return short;
  }
  return "…";
}

// A text on the lines of a chart, on a piece of the paper that they shine through.
function fillOver(
  ctx: CanvasRenderingContext2D,
  text: string,
  x: number,
  y: number,
  width: number,
): void {
  const words = fitted(ctx, text, width);
  const edge = 2 * devicePixelRatio;
  const {
    width: own,
    fontBoundingBoxAscent: up,
    fontBoundingBoxDescent: down,
  } = ctx.measureText(words);
  ctx.save();
  ctx.fillStyle = color("--paper");
  ctx.globalAlpha = 0.85;
  ctx.fillRect(x - edge, y - up, own + 2 * edge, up + down);
  ctx.restore();
  ctx.fillText(words, x, y);
}

export function paintLimits(
  plot: uPlot,
  limits: { value: number; text: string }[],
  type: number,
): void {
  const { ctx } = plot;
  const { left, top, width, height } = plot.bbox;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = color("--bad");
  // Between pixels a line is two faint ones.
  ctx.lineWidth = Math.max(1, Math.round(devicePixelRatio));
  ctx.translate((ctx.lineWidth % 2) / 2, (ctx.lineWidth % 2) / 2);
  ctx.font = font(type);
  ctx.textAlign = "left";
  ctx.textBaseline = "alphabetic";
  ctx.setLineDash([6 * devicePixelRatio, 6 * devicePixelRatio]);
  const below = 16 * devicePixelRatio;
  const inset = 6 * devicePixelRatio;
  for (const limit of limits) {
    const y = Math.round(plot.valToPos(limit.value, "y", true));
    if (y >= top && y <= top + height) {
      ctx.beginPath();
      ctx.moveTo(left, y);
      ctx.lineTo(left + width, y);
      ctx.stroke();
      const beside = y - top > below ? y - inset : y + below;
      fillOver(ctx, limit.text, left + inset, beside, width - 2 * inset);
    } else {
      const isAbove = y < top;
      const words = `${isAbove ? "above" : "below"}: ${limit.text}`;
      const beside = isAbove ? top + below : top + height - inset;
      fillOver(ctx, words, left + inset, beside, width - 2 * inset);
    }
  }
  ctx.restore();
}

// In a lane above the drawing; what they say is told at the cursor.
export function paintFlags(plot: uPlot, marks: Mark[]): void {
  const { ctx } = plot;
  const { left, top, width } = plot.bbox;
  const rank: Tone[] = ["plain", "good", "warn", "bad", "corrupt"];
  const gravest = new Map<number, Mark>();
  for (const mark of marks) {
    const x = Math.round(plot.valToPos(mark.at, "x", true) / flagGrain) * flagGrain;
    if (x < left || x > left + width) continue;
    const other = gravest.get(x);
    const isGraver = rank.indexOf(mark.tone ?? "bad") > rank.indexOf(other?.tone ?? "bad");
    if (!other || isGraver) gravest.set(x, mark);
  }
  const unit = devicePixelRatio;
  ctx.save();
  for (const [x, mark] of gravest) {
    ctx.fillStyle = color(inkOf(mark));
    ctx.fillRect(x - unit / 2, top - 14 * unit, unit, 14 * unit);
    ctx.beginPath();
    if (mark.tone === "warn") {
      ctx.moveTo(x, top - 14 * unit);
      ctx.lineTo(x + 9 * unit, top - 10 * unit);
      ctx.lineTo(x, top - 6 * unit);
      ctx.fill();
    } else {
      ctx.fillRect(x, top - 14 * unit, 8 * unit, 8 * unit);
    }
  }
  ctx.restore();
}

// Those near a place, in CSS pixels from the left of the drawing.
export function flagsAt(plot: uPlot, marks: Mark[], left: number): Mark[] {
  return marks.filter(({ at }) => Math.abs(plot.valToPos(at, "x") - left) <= flagReach);
}

// Each line's name at its right end, moved apart where two are at one height.
export function paintLabels(
  plot: uPlot,
  lines: { text: string; ink: string; values: (number | null)[] }[],
  type: number,
): void {
  const { ctx } = plot;
  const { left, top, width, height } = plot.bbox;
  const unit = devicePixelRatio;
  const to = plot.scales.x.max ?? Infinity;
  const x = plot.data[0];
  let end = x.length - 1;
  while (end > 0 && x[end] > to) end--;
  const labels = lines.flatMap(({ text, ink, values }, i) => {
    const value = values[end];
    if (value === null || value === undefined || plot.series[i + 1].show === false) return [];
    return [{ text, ink, y: plot.valToPos(value, "y", true) }];
  });
  const step = 1.1 * type * unit;
  labels.sort((a, b) => a.y - b.y);
  let next = top + step / 2;
  for (const label of labels) {
    label.y = Math.max(label.y, next);
    next = label.y + step;
  }
  // Those that were moved below the drawing move up again.
  let limit = top + height;
  for (const label of [...labels].reverse()) {
    label.y = Math.min(label.y, limit);
    limit = label.y - step;
  }
  ctx.save();
  ctx.font = font(type);
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  for (const { text, ink, y } of labels) {
    ctx.fillStyle = ink;
    ctx.fillText(fitted(ctx, text, labelWidth * type * unit), left + width + 6 * unit, y);
  }
  ctx.restore();
}
