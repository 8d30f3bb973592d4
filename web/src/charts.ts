// Charts over the seconds of a phase. All of one group share a cursor and the span that is shown.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import { csvOf, pictureOf } from "./chart_files";
import { color, element, saveButton, whenColorsChange } from "./dom";

export interface Line {
  label: string;
  values: (number | null)[];
}

// A host in the middle of its fleet, at each point.
export interface Bands {
  least: (number | null)[];
  p10: (number | null)[];
  middle: (number | null)[];
  p90: (number | null)[];
  most: (number | null)[];
}
const bandLines = 5;

export interface Mark {
  at: number;
  text: string;
}

export interface Options {
  title: string;
  show: (value: number) => string;
  log?: boolean;
  // The time of the figures, from and to: what is before and after is shaded.
  measured?: () => [number, number];
  marks?: () => Mark[];
  limits?: { value: number; text: string }[]; // dashed
  unit?: string; // of x; s if not said
  isBands?: boolean; // the first lines are linesOf() bands
}

const height = 220;
// A limit so far beyond the figures would make them a line at the bottom: it is told at the edge.
const limitReach = 4;
const font = "12px system-ui";
const markGrain = 4; // pixels
const markRows = 4; // of words, below each other

export function linesOf(bands: Bands): Line[] {
  return [
    { label: "most", values: bands.most },
    { label: "p90", values: bands.p90 },
    { label: "median host", values: bands.middle },
    { label: "p10", values: bands.p10 },
    { label: "least", values: bands.least },
  ];
}

// Points with nothing between where a span does not begin at the end of the one before: gaps stay
// gaps.
export function withGaps(
  begins: number[],
  ends: number[],
  lines: Line[],
): { x: number[]; lines: Line[] } {
  const isGap = (i: number) =>
    i > 0 && begins[i] - ends[i - 1] > Math.max(0.02, (ends[i] - begins[i]) / 2);
  if (!begins.some((_, i) => isGap(i))) return { x: ends, lines };
  const spread = <T>(values: T[], between: (i: number) => T): T[] =>
    values.flatMap((value, i) => (isGap(i) ? [between(i), value] : [value]));
  return {
    x: spread(ends, (i) => (ends[i - 1] + begins[i]) / 2),
    lines: lines.map((line) => ({ ...line, values: spread(line.values, () => null) })),
  };
}

// What takes part in a group's cursor and span.
export interface Member {
  rescale(): void;
  point(seconds: number | undefined): void;
}

// Charts of one time axis. A part of it is chosen by dragging in one of them or in the two fields,
// and told to whoever made the group.
export class ChartGroup {
  readonly root = element("div", { class: "charts" });
  private readonly charts: TimeChart[] = [];
  private readonly members: Member[] = [];
  private readonly from = this.field("from");
  private readonly to = this.field("to");
  private span?: [number, number];
  private isPointing = false;

  constructor(
    readonly key: string,
    private readonly chosen: (span?: [number, number]) => void = () => {},
    span?: [number, number],
  ) {
    const all = element("button", { type: "button" }, "all of it");
    all.addEventListener("click", () => this.zoom(undefined));
    this.root.append(
      element("p", { class: "span muted" }, "shown: from ", this.from, " to ", this.to, " s ", all),
    );
    if (span) this.zoom(span, false);
  }

  chart(options: Options): TimeChart {
    const chart = new TimeChart(this.root, options, this);
    this.charts.push(chart);
    this.join(chart);
    return chart;
  }
  join(member: Member): void {
    this.members.push(member);
  }
  get shown(): [number, number] | undefined {
    return this.span;
  }
  // Where the charts' times lie, in pixels of the page from the left of a chart.
  get area(): { left: number; width: number } | undefined {
    return this.charts[0]?.area;
  }
  // What is before is ramp.
  get range(): [number, number] | undefined {
    return this.charts[0]?.range();
  }
  // What somebody is typing is not written over.
  zoom(span?: [number, number], isNew = true, isTyped = false): void {
    this.span = span && span[1] > span[0] ? span : undefined;
    if (!isTyped) {
      this.from.value = this.span ? String(Math.round(this.span[0] * 10) / 10) : "";
      this.to.value = this.span ? String(Math.round(this.span[1] * 10) / 10) : "";
    }
    for (const member of this.members) member.rescale();
    if (isNew) this.chosen(this.span);
  }
  // Their marks have changed.
  redraw(): void {
    for (const chart of this.charts) chart.rescale();
  }
  // Somebody points at a time in one of them; nothing: no longer.
  point(seconds: number | undefined, by: Member): void {
    if (this.isPointing) return;
    this.isPointing = true;
    for (const member of this.members) if (member !== by) member.point(seconds);
    this.isPointing = false;
  }
  destroy(): void {
    for (const chart of this.charts) chart.destroy();
  }

  private field(name: string): HTMLInputElement {
    const field = element("input", {
      type: "number",
      step: "any",
      "aria-label": `${name}, seconds`,
    }) as HTMLInputElement;
    field.addEventListener("input", () => {
      const from = Number(this.from.value);
      const to = this.to.value === "" ? Infinity : Number(this.to.value);
      const last = Math.max(0, ...this.charts.map((chart) => chart.last));
      this.zoom([from, Math.min(to, last)], true, true);
    });
    return field;
  }
}

export class TimeChart implements Member {
  private plot?: uPlot;
  private readonly box = element("div", { class: "plot", tabindex: "0" });
  private readonly resized: ResizeObserver;
  private readonly unpainted: () => void;
  private x: number[] = [];
  private lines: Line[] = [];
  private place = 0; // of the cursor, when keys move it

  constructor(
    parent: HTMLElement,
    private readonly options: Options,
    private readonly group?: ChartGroup,
  ) {
    parent.append(
      element(
        "figure",
        { class: "chart" },
        element(
          "figcaption",
          {},
          element("span", {}, options.title),
          saveButton("CSV", options.title, () => csvOf(this.unitName, this.x, this.lines)),
          saveButton("PNG", options.title, () => this.png()),
        ),
        this.box,
      ),
    );
    this.box.addEventListener("keydown", (event) => this.key(event));
    this.resized = new ResizeObserver(() => {
      this.plot?.setSize({ width: this.box.clientWidth, height });
    });
    this.resized.observe(this.box);
    this.unpainted = whenColorsChange(() => {
      if (this.plot) this.make(this.plot.data);
    });
  }

  get last(): number {
    return this.x.length === 0 ? 0 : this.x[this.x.length - 1];
  }
  get area(): { left: number; width: number } | undefined {
    if (!this.plot) return undefined;
    const { left, width } = this.plot.bbox;
    return { left: left / devicePixelRatio, width: width / devicePixelRatio };
  }

  set(x: number[], lines: Line[]): void {
    const isSame =
      this.plot !== undefined &&
      lines.length === this.lines.length &&
      lines.every((line, i) => line.label === this.lines[i].label);
    this.x = x;
    this.lines = lines.map((line) => ({ ...line, values: this.shown(line.values) }));
    const data = [x, ...this.lines.map((line) => line.values)] as uPlot.AlignedData;
    if (isSame) this.plot?.setData(data);
    else this.make(data);
    const first = x.length === 0 ? 0 : x[0];
    this.box.setAttribute("role", "application");
    this.box.setAttribute(
      "aria-label",
      `${this.options.title}, ${first.toFixed(1)} to ${this.last.toFixed(1)} ${this.unit}` +
        "; left and right arrows read it",
    );
  }

  rescale(): void {
    this.plot?.setData(this.plot.data);
  }

  point(seconds: number | undefined): void {
    const { plot } = this;
    if (!plot) return;
    const left = seconds === undefined ? -10 : plot.valToPos(seconds, "x");
    plot.setCursor({ left, top: seconds === undefined ? -10 : 0 }, false);
  }

  destroy(): void {
    this.resized.disconnect();
    this.unpainted();
    this.plot?.destroy();
  }

  private get unit(): string {
    return this.options.unit ?? "s";
  }
  private get unitName(): string {
    return this.options.unit ?? "seconds";
  }

  // A logarithm has no zero.
  private shown(values: (number | null)[]): (number | null)[] {
    if (!this.options.log) return values;
    // What is not defined is no gap: the line goes on.
    return values.map((v) => (v === undefined || (v !== null && v > 0) ? v : null));
  }

  private make(data: uPlot.AlignedData): void {
    this.plot?.destroy();
    const { show, log, isBands } = this.options;
    const { unit } = this;
    const axis = { stroke: () => color("--muted"), grid: { stroke: () => color("--line") } };
    const palette = ["--c1", "--c2", "--c3", "--c4", "--c5"];
    const isBand = (i: number) => Boolean(isBands) && i < bandLines && i !== 2;
    const stroke = (i: number) => {
      if (isBand(i)) return "--band";
      return palette[(isBands && i >= bandLines ? i - bandLines + 1 : isBands ? 0 : i) % 5];
    };
    const series: uPlot.Series[] = this.lines.map((line, i) => ({
      label: line.label,
      stroke: () => color(stroke(i)),
      width: isBand(i) ? 0.5 : 1.5,
      value: (_: uPlot, value: number | null) => (value === null ? "" : show(value)),
    }));
    this.plot = new uPlot(
      {
        width: this.box.clientWidth || 600,
        height,
        cursor: this.group
          ? { sync: { key: this.group.key }, drag: { setScale: false } }
          : { drag: { x: false, y: false } },
        scales: {
          x: { time: false, range: () => this.range() },
          y: log
            ? { distr: 3, range: (_, least, most) => this.logRange(least, most) }
            : { range: (_, __, most) => this.fromZero(most) },
        },
        axes: [
          unit === "s"
            ? { ...axis, values: (_, values) => values.map((v) => `${v} s`) }
            : { ...axis, label: unit, labelFont: font, labelSize: 20, space: 70 },
          {
            ...axis,
            size: 80,
            values: (_, values) => values.map((v) => (v === null ? "" : show(v))),
          },
        ],
        series: [
          {
            label: unit === "s" ? "time" : "at",
            value: (_, v: number | null) => (v === null ? "" : `${v.toFixed(1)} ${unit}`),
          },
          ...series,
        ],
        bands: isBands
          ? [
              { series: [1, 5], fill: () => color("--band-out") },
              { series: [2, 4], fill: () => color("--band-in") },
            ]
          : [],
        hooks: {
          drawClear: [(plot) => this.shade(plot)],
          draw: [(plot) => this.annotate(plot)],
          setSelect: [(plot) => this.select(plot)],
          setCursor: [(plot) => this.pointed(plot)],
        },
      },
      data,
      this.box,
    );
    this.plot.over.addEventListener("dblclick", () => this.group?.zoom(undefined));
    this.listenToKeys();
  }

  // The legend shows and hides lines; so do keys.
  private listenToKeys(): void {
    this.box.querySelectorAll<HTMLElement>(".u-series:not(:first-child) th").forEach((head) => {
      head.tabIndex = 0;
      head.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        event.stopPropagation();
        head.click();
      });
    });
  }

  range(): [number, number] {
    if (this.group?.shown) return this.group.shown;
    const first = this.x.length === 0 ? 0 : this.x[0];
    const begin = this.options.unit === undefined ? Math.min(0, first) : first;
    return [begin, this.last > begin ? this.last : begin + 1];
  }

  private fromZero(most: number | null): [number, number] {
    const data = most === null || most <= 0 ? 0 : most;
    const limits = (this.options.limits ?? [])
      .map((limit) => limit.value)
      .filter((value) => data === 0 || value <= limitReach * data);
    const top = Math.max(data, ...limits);
    return [0, top > 0 ? top * 1.05 : 1];
  }

  private logRange(least: number | null, most: number | null): [number, number] {
    const limits = (this.options.limits ?? []).map((limit) => limit.value).filter((v) => v > 0);
    const all = [least, most].filter((v): v is number => v !== null && v > 0);
    if (all.length === 0) return [1, 10];
    const within = limits.filter((v) => v >= Math.min(...all) / 100 && v <= Math.max(...all) * 100);
    const [low, high] = uPlot.rangeLog(
      Math.min(...all, ...within),
      Math.max(...all, ...within),
      10,
      true,
    );
    return [low ?? 1, high ?? 10];
  }

  private select(plot: uPlot): void {
    const { left, width } = plot.select;
    if (width < 4 || !this.group) return;
    const span: [number, number] = [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")];
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.group.zoom(span);
  }

  private pointed(plot: uPlot): void {
    const { left } = plot.cursor;
    const isOff = left === undefined || left < 0;
    this.group?.point(isOff ? undefined : plot.posToVal(left, "x"), this);
  }

  private key(event: KeyboardEvent): void {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step || !this.plot || this.x.length === 0) return;
    event.preventDefault();
    this.place = Math.min(this.x.length - 1, Math.max(0, this.place + step));
    this.plot.setCursor({ left: this.plot.valToPos(this.x[this.place], "x"), top: 0 });
  }

  private shade(plot: uPlot): void {
    const [from, to] = this.options.measured?.() ?? [0, 0];
    const { left, top, width, height: tall } = plot.bbox;
    plot.ctx.fillStyle = color("--ramp");
    const fill = (begin: number, end: number) => {
      const a = Math.max(left, plot.valToPos(begin, "x", true));
      const b = Math.min(left + width, plot.valToPos(end, "x", true));
      if (b > a) plot.ctx.fillRect(a, top, b - a, tall);
    };
    if (from > 0) fill(Math.min(0, this.range()[0]), from);
    if (to > from && to < this.last) fill(to, this.last);
  }

  private annotate(plot: uPlot): void {
    const { ctx } = plot;
    const { left, top, width, height: tall } = plot.bbox;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = color("--bad");
    // Between pixels a line is two faint ones.
    ctx.lineWidth = Math.max(1, Math.round(devicePixelRatio));
    ctx.translate((ctx.lineWidth % 2) / 2, (ctx.lineWidth % 2) / 2);
    ctx.font = `${11 * devicePixelRatio}px system-ui`;
    ctx.textAlign = "left";
    ctx.textBaseline = "alphabetic";
    ctx.setLineDash([6, 6]);
    const line = (x1: number, y1: number, x2: number, y2: number) => {
      ctx.beginPath();
      ctx.moveTo(x1, y1);
      ctx.lineTo(x2, y2);
      ctx.stroke();
    };
    const below = 16 * devicePixelRatio;
    for (const limit of this.options.limits ?? []) {
      const y = Math.round(plot.valToPos(limit.value, "y", true));
      if (y >= top && y <= top + tall) {
        line(left, y, left + width, y);
        ctx.fillText(limit.text, left + 6, y - top > below ? y - 6 : y + below, width / 2);
      } else {
        const isAbove = y < top;
        const words = `${isAbove ? "above" : "below"}: ${limit.text}`;
        ctx.fillText(words, left + 6, isAbove ? top + below : top + tall - 6, width / 2);
      }
    }
    // Those at one place are one mark.
    const marks = new Map<number, string[]>();
    for (const { at, text } of this.options.marks?.() ?? []) {
      const x = Math.round(plot.valToPos(at, "x", true) / markGrain) * markGrain;
      if (x >= left && x <= left + width) marks.set(x, [...(marks.get(x) ?? []), text]);
    }
    const taken = new Array<number>(markRows).fill(-Infinity); // up to where each row has words
    for (const [x, texts] of [...marks].sort((a, b) => a[0] - b[0])) {
      line(x, top, x, top + tall);
      const words = texts.length > 1 ? `${texts[0]} and ${texts.length - 1} more` : texts[0];
      const wide = Math.min(width / 2, ctx.measureText(words).width);
      const from = x > left + (3 * width) / 4 ? x - 6 - wide : x + 6;
      const row = taken.findIndex((end) => end < from);
      if (row < 0) continue; // the list of events has it
      taken[row] = from + wide;
      ctx.fillText(words, from, top + below * (row + 1), width / 2);
    }
    ctx.restore();
  }

  private png(): string {
    const canvas = this.box.querySelector("canvas");
    const names = this.lines.map((line, i) => {
      const stroke = this.plot?.series[i + 1]?.stroke;
      const ink = typeof stroke === "function" ? stroke(this.plot as uPlot, i + 1) : stroke;
      return { label: line.label, ink: typeof ink === "string" ? ink : "" };
    });
    return canvas ? pictureOf(canvas, this.options.title, names) : "";
  }
}
