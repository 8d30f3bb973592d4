// Lines through the points of a sweep, as a drawing that is as sharp on paper as on a screen: one
// line for each value of an axis, over the values of another, with intervals as bands. The table
// beside it describes each point.

import { element } from "./dom";
import { inUnit, unitOf, type Kind } from "./format";
import { paperWidth, whenPrinted } from "./paper";

export interface ChartPoint {
  x: number;
  y: number;
  low?: number; // an interval of y
  high?: number;
  title: string;
  mark?: string; // above the point
}
export interface PointLine {
  label: string;
  points: ChartPoint[];
}
export interface PointChartOptions {
  title: string;
  across: string; // what x is
  ticks: { at: number; text: string }[];
  kind: Kind;
  isLog: boolean; // y
  note?: string; // what bands are
}

const height = 240;
const [left, right, top, bottom] = [72, 104, 16, 40];
const colors = 5;
const labelStep = 14;
const space = "http://www.w3.org/2000/svg";

function drawn(tag: string, attributes: Record<string, string | number>, text = ""): Element {
  const made = document.createElementNS(space, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  if (text) made.textContent = text;
  return made;
}

// The ticks of an axis of values: from 0, or over whole powers of ten.
function valueTicks(least: number, most: number, kind: Kind, isLog: boolean): number[] {
  if (isLog) {
    const [a, b] = [Math.floor(Math.log10(least)), Math.ceil(Math.log10(most))];
    return Array.from({ length: b - a + 1 }, (_, i) => 10 ** (a + i));
  }
  const { factor } = unitOf(kind, most);
  const power = factor * 10 ** Math.floor(Math.log10(most / factor / 4));
  const step = [1, 2, 5, 10].map((k) => k * power).find((s) => most / s <= 5) ?? most;
  return Array.from({ length: Math.ceil(most / step) + 1 }, (_, i) => i * step);
}

export class PointChart {
  readonly root: HTMLElement;
  private readonly box = element("div", { class: "points" });
  private readonly resized = new ResizeObserver(() => this.draw());
  private readonly unprinted = whenPrinted(() => this.draw());
  private lines: PointLine[] = [];

  constructor(private readonly options: PointChartOptions) {
    const note = options.note ? [element("span", { class: "muted" }, options.note)] : [];
    const caption = element("figcaption", {}, element("span", {}, options.title), ...note);
    this.root = element("figure", { class: "chart" }, caption, this.box);
    this.resized.observe(this.box);
  }

  set(lines: PointLine[]): void {
    const { isLog } = this.options;
    this.lines = lines.map((line) => ({
      ...line,
      points: line.points
        .filter((point) => Number.isFinite(point.y) && (!isLog || point.y > 0))
        .sort((a, b) => a.x - b.x),
    }));
    this.draw();
  }

  destroy(): void {
    this.resized.disconnect();
    this.unprinted();
  }

  private draw(): void {
    const width = Math.max(260, paperWidth() ?? this.box.clientWidth);
    const { ticks, isLog, kind, across, title } = this.options;
    const all = this.lines.flatMap((line) => line.points);
    if (all.length === 0 || ticks.length === 0) return this.box.replaceChildren();
    const values = all.flatMap((p) => [p.y, p.high ?? p.y, ...(isLog ? [p.low || p.y] : [])]);
    const levels = valueTicks(Math.min(...values), Math.max(...values), kind, isLog);
    const [low, high] = [levels[0], levels[levels.length - 1]];
    const y = (value: number): number => {
      const part = isLog ? Math.log(value / low) / Math.log(high / low || 10) : value / high;
      return top + (height - top - bottom) * (1 - Math.max(0, part));
    };
    const [first, last] = [ticks[0].at, ticks[ticks.length - 1].at];
    // If values double, or nearly, each step is as wide as the others.
    const isWide = first > 0 && last / first >= 4;
    const x = (value: number): number => {
      const part = isWide
        ? Math.log(value / first) / Math.log(last / first)
        : (value - first) / (last - first || 1);
      return left + (width - left - right) * part;
    };
    const svg = drawn("svg", {
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": `${title}, by ${across}; the table has its values`,
    });
    const unit = unitOf(kind, high);
    for (const level of levels) {
      const at = y(level);
      const own = isLog ? unitOf(kind, level) : unit;
      const text = level === 0 ? "0" : `${inUnit(level, own, true)} ${own.name}`.trim();
      svg.append(
        drawn("line", { x1: left, x2: width - right, y1: at, y2: at, class: "rule" }),
        drawn("text", { x: left - 8, y: at + 4, class: "end" }, text),
      );
    }
    for (const { at, text } of ticks)
      svg.append(drawn("text", { x: x(at), y: height - bottom + 18, class: "middle" }, text));
    const middle = (left + width - right) / 2;
    svg.append(drawn("text", { x: middle, y: height - 6, class: "middle" }, across));
    this.lines.forEach((line, i) => svg.append(...this.line(line, i, x, y)));
    svg.append(...this.labels(width, y));
    this.box.replaceChildren(svg);
  }

  private line(
    { points }: PointLine,
    i: number,
    x: (value: number) => number,
    y: (value: number) => number,
  ): Element[] {
    if (points.length === 0) return [];
    const color = `s${(i % colors) + 1}${i >= colors ? " dashed" : ""}`;
    const at = (p: ChartPoint, value: number) => `${x(p.x).toFixed(1)},${y(value).toFixed(1)}`;
    const having = points.filter((p) => p.low !== undefined && p.high !== undefined);
    const edge = [
      ...having.map((p) => at(p, p.high ?? p.y)),
      ...[...having].reverse().map((p) => at(p, p.low ?? p.y)),
    ];
    const parts: Element[] = [];
    if (having.length > 1)
      parts.push(drawn("polygon", { points: edge.join(" "), class: `band ${color}` }));
    parts.push(
      drawn("polyline", { points: points.map((p) => at(p, p.y)).join(" "), class: color }),
    );
    for (const point of points) {
      if (point.mark)
        parts.push(drawn("text", { x: x(point.x), y: y(point.y) - 5, class: "best" }, point.mark));
      // To be pointed at; nothing is drawn.
      const spot = drawn("circle", { cx: x(point.x), cy: y(point.y), r: 9, class: "spot" });
      spot.append(drawn("title", {}, point.title));
      parts.push(spot);
    }
    return parts;
  }

  // Each line's name at its right end, moved apart where two are at one height.
  private labels(width: number, y: (value: number) => number): Element[] {
    const named = this.lines
      .map(({ label, points }, i) => ({ label, i, at: points[points.length - 1] }))
      .filter(({ label, at }) => label !== "" && at !== undefined)
      .map(({ label, i, at }) => ({ label, i, y: y(at.y) }))
      .sort((a, b) => a.y - b.y);
    let next = 0;
    for (const name of named) {
      name.y = Math.max(name.y, next);
      next = name.y + labelStep;
    }
    let limit = height - bottom;
    for (const name of [...named].reverse()) {
      name.y = Math.min(name.y, limit);
      limit = name.y - labelStep;
    }
    return named.map((name) =>
      drawn(
        "text",
        { x: width - right + 8, y: name.y + 4, class: `s${(name.i % colors) + 1}` },
        name.label,
      ),
    );
  }
}
