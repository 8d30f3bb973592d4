// Charts over the seconds of a phase. All of one group share a cursor and the span that is shown.

import uPlot from "uplot";

import { axisOf, fromZero, gridOf, logRange, onlyZero, stepsOf, widthOf } from "./chart_axes";
import { csvOf, pictureOf } from "./chart_files";
import { aloneIn, usualLook, type Interval, type Line, type Look, type Timed } from "./chart_lines";
import {
  flagsAt,
  nameSpan,
  paintFlags,
  paintLabels,
  paintLimits,
  paintShades,
  paintSpan,
} from "./chart_paint";
import type { Options, Shade } from "./chart_options";
import { color, element, saveButton, whenColorsChange } from "./dom";
import { exact, none } from "./format";
import { paperWidth, whenPrinted } from "./paper";
// Who draws charts marks events in them, or lists them: one script (base.ts).
import "./events";

export type { Mark, Options, Shade } from "./chart_options";
export { linesOf, wholeSpans, withGaps, type Bands, type Line, type Timed } from "./chart_lines";

const bandLines = 5;

// Above the drawing: the lane of flags. At its right end: the names of the lines.
const laneHeight = 18;
const labelSpace = 5.3; // ems
// A name at each of more lines than this would hide them.
const maxLabels = 5;

// A part of the page that shares a group's cursor and span.
export interface Member {
  rescale(): void;
  point(seconds: number | undefined): void;
}

// Charts of one time axis. A part of it is chosen by dragging in one of them or in the two fields,
// and told to whoever made the group.
export class ChartGroup {
  readonly grid = element("div", { class: "grid" });
  readonly root = element("div", { class: "charts" });
  private readonly charts: TimeChart[] = [];
  private readonly members: Member[] = [];
  private readonly from = this.field("from", "start");
  private readonly to = this.field("to", "end");
  private span?: [number, number];
  private isPointing = false;

  constructor(
    readonly key: string,
    private readonly chosen: (span?: [number, number]) => void = () => {},
    span?: [number, number],
    readonly look: () => Look = () => usualLook,
  ) {
    const all = element("button", { type: "button" }, "all of it");
    all.addEventListener("click", () => this.zoom(undefined));
    this.root.append(
      element("p", { class: "span muted" }, "shown: ", this.from, " to ", this.to, " s ", all),
      this.grid,
    );
    if (span) this.zoom(span, false);
  }

  chart(options: Options): TimeChart {
    const chart = new TimeChart(this.grid, options, this);
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
  // The area of the charts' times, in something of this width: pixels of the page from its left.
  areaIn(all: number): { left: number; width: number } {
    return this.charts[0]?.areaIn(all) ?? { left: 0, width: all };
  }
  // The time before is ramp.
  get range(): [number, number] | undefined {
    return this.charts[0]?.range();
  }
  // A text that somebody is typing is not written over.
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
  // The size that there is for them has changed.
  fit(): void {
    for (const chart of this.charts) chart.fit();
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

  private field(name: string, placeholder: string): HTMLInputElement {
    const field = element("input", {
      placeholder,
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
  private intervals?: Interval[]; // of each x; none: x is no time
  private readonly words = element("output", { class: "words" });
  private readonly saves: HTMLElement[];
  private place = 0; // of the cursor, when keys move it
  private type = 0; // pixels, of what is drawn now

  constructor(
    parent: HTMLElement,
    private readonly options: Options,
    private readonly group?: ChartGroup,
  ) {
    this.saves = [
      saveButton("CSV", options.title, () => csvOf(this.columns, this.lines)),
      saveButton("PNG", options.title, () => this.png()),
    ];
    for (const save of this.saves) save.tabIndex = -1;
    parent.append(
      element(
        "figure",
        { class: options.isExtra ? "chart extra" : "chart" },
        element("figcaption", {}, element("span", {}, options.title), ...this.saves),
        this.box,
        this.words,
      ),
    );
    this.box.addEventListener("keydown", (event) => this.key(event));
    this.resized = new ResizeObserver(() => this.fit());
    this.resized.observe(this.box);
    const unlit = whenColorsChange(() => {
      if (this.plot) this.make(this.plot.data);
    });
    const unprinted = whenPrinted(() => this.fit());
    this.unpainted = () => {
      unlit();
      unprinted();
    };
  }

  // The end of the last interval.
  get last(): number {
    const at = this.x.length - 1;
    return this.intervals?.[at]?.[1] ?? this.x[at] ?? 0;
  }
  private get first(): number {
    return this.intervals?.[0]?.[0] ?? this.x[0] ?? 0;
  }
  private get columns(): { name: string; values: number[] }[] {
    const { intervals } = this;
    if (!intervals) return [{ name: this.options.unit ?? "seconds", values: this.x }];
    return ["from", "to"].map((name, side) => ({
      name: `${name}, seconds`,
      values: intervals.map((interval) => interval[side]),
    }));
  }
  // The width of the parts beside its drawing stays; the drawing gets the rest.
  areaIn(all: number): { left: number; width: number } | undefined {
    if (!this.plot) return undefined;
    const { left, width } = this.plot.bbox;
    const rest = this.plot.width - width / devicePixelRatio;
    return { left: left / devicePixelRatio, width: Math.max(1, all - rest) };
  }

  // Over time.
  setTimed({ x, lines, intervals }: Timed): void {
    this.intervals = intervals;
    this.set(x, lines);
  }

  // Over something else, where x is the point itself.
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
    this.box.setAttribute("role", "application");
    this.box.setAttribute(
      "aria-label",
      `${this.options.title}, ${this.first.toFixed(1)} to ${this.last.toFixed(1)} ${this.unit}` +
        "; left and right arrows read it, 1 to 9 hide and show a line, s saves it as CSV, p as PNG",
    );
  }

  rescale(): void {
    this.plot?.setData(this.plot.data);
  }

  fit(): void {
    const width = paperWidth() ?? this.box.clientWidth;
    const { height, type } = this.look;
    const { plot } = this;
    if (!plot || width === 0) return;
    if (type !== this.type) return this.make(plot.data);
    if (plot.width !== width || plot.height !== height) plot.setSize({ width, height });
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

  private get look(): Look {
    return this.group?.look() ?? usualLook;
  }
  private get unit(): string {
    return this.options.unit ?? "s";
  }

  // A logarithm has no zero.
  private shown(values: (number | null)[]): (number | null)[] {
    if (!this.options.log) return values;
    // A value that is not defined is no gap: the line goes on.
    return values.map((v) => (v === undefined || (v !== null && v > 0) ? v : null));
  }

  // The colour of a line, as a name of the style sheet.
  private ink(i: number): string {
    const { isBands } = this.options;
    if (this.isBand(i)) return "--band";
    const palette = ["--c1", "--c2", "--c3", "--c4", "--c5"];
    return palette[(isBands && i >= bandLines ? i - bandLines + 1 : isBands ? 0 : i) % 5];
  }
  private isBand(i: number): boolean {
    return Boolean(this.options.isBands) && i < bandLines && i !== 2;
  }
  private get hasLabels(): boolean {
    return !this.options.isBands && this.lines.length > 1 && this.lines.length <= maxLabels;
  }

  private series(): uPlot.Series[] {
    const { unit } = this;
    const { show } = this.options;
    return [
      {
        label: unit === "s" ? "time" : "at",
        value: (_, v: number | null, __, place: number | null) => this.timeText(v, place),
      },
      ...this.lines.map((line, i) => ({
        label: line.label,
        stroke: () => color(this.ink(i)),
        width: this.isBand(i) ? 0.5 : 1.5,
        // A line shows its points by itself; one alone, between gaps, is none.
        points: { show: false, size: 4, filter: (plot: uPlot) => aloneIn(plot.data[i + 1]) },
        value: (_: uPlot, value: number | null, __: number, idx: number | null) => {
          if (idx === null) return this.summary(this.lines[i]);
          return value === null || value === undefined ? none : show(value);
        },
      })),
    ];
  }

  // The legend's text while nobody points at a time.
  private summary(line: Line): string {
    const { show, latest, measured } = this.options;
    // A ramp is in no figure, so it is not in this mean.
    const [begin, end] = this.range();
    const [after, until] = (latest ? undefined : measured?.()) ?? [begin - 1, end];
    const [from, to] = [Math.max(begin, after + 1e-6), Math.min(end, until + 1e-6)];
    const values = line.values.filter(
      (value, i): value is number =>
        value !== null && value !== undefined && this.x[i] >= from && this.x[i] <= to,
    );
    if (values.length === 0) return none;
    // A value that a gap follows is not the latest.
    const last = line.values[line.values.length - 1];
    if (latest) return last === null || last === undefined ? none : show(last);
    const most = `max ${show(values.reduce((a, b) => Math.max(a, b)))}`;
    // The mean of percentiles is no percentile, and that of a curve's steps is no figure of it.
    if (this.options.log || this.options.unit !== undefined) return most;
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    return `mean ${show(mean)}, ${most}`;
  }

  // The interval of a point, and the instant at which it began.
  private timeText(x: number | null, place: number | null): string {
    const { startedAt, latest } = this.options;
    if (x === null) return latest ? "latest" : "all";
    const [begin, end] = this.intervals?.[place ?? -1] ?? [x, x];
    const digits = end - begin < 0.2 && end > begin ? 2 : 1; // intervals of 100 ms differ
    const from = end > begin ? `${begin.toFixed(digits)} to ` : "";
    const at = `${from}${end.toFixed(digits)} ${this.unit}`;
    if (!startedAt) return at;
    return `${at}, ${exact(new Date(Date.parse(startedAt) + 1000 * begin).toISOString())}`;
  }

  private make(data: uPlot.AlignedData): void {
    this.plot?.destroy();
    const { show, log, isBands, marks, kind } = this.options;
    const { unit } = this;
    const { height, type } = this.look;
    this.type = type;
    const font = `${type}px system-ui`;
    const axis = { stroke: () => color("--muted"), font };
    const grid = { stroke: () => color("--line"), width: 1 };
    this.plot = new uPlot(
      {
        width: paperWidth() ?? (this.box.clientWidth || 600),
        height,
        padding: [
          marks ? laneHeight : null,
          this.hasLabels || this.group ? labelSpace * type : null,
          null,
          null,
        ],
        cursor: {
          points: { size: 5 },
          ...(this.group
            ? { sync: { key: this.group.key }, drag: { setScale: false } }
            : { drag: { x: false, y: false } }),
        },
        scales: {
          x: { time: false, range: () => this.range() },
          y: log
            ? { distr: 3, range: (_, least, most) => logRange(least, most, this.limits) }
            : { range: (_, __, most) => fromZero(most, this.limits) },
        },
        axes: [
          unit === "s"
            ? {
                ...axis,
                grid: { show: false },
                space: 5 * type,
                values: (_, values) => values.map((v) => `${v} s`),
              }
            : { ...axis, grid, label: unit, labelFont: font, labelSize: 20, space: 70 },
          {
            ...axis,
            ...gridOf(grid, Boolean(log)),
            size: (plot, values) => widthOf(plot, values, 6 * type, font),
            values: (plot, splits) =>
              this.isScaled ? axisOf(show, kind)(plot, splits) : onlyZero(splits),
            incrs: stepsOf(kind),
          },
        ],
        series: this.series(),
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
  }

  range(): [number, number] {
    if (this.group?.shown) return this.group.shown;
    const { first } = this;
    const begin = this.options.unit === undefined ? Math.min(0, first) : first;
    return [begin, this.last > begin ? this.last : begin + 1];
  }

  // There are figures, or limits, from which the axis of values has its scale.
  private get isScaled(): boolean {
    if (this.limits.length > 0) return true;
    return this.lines.some(({ values }) => values.some((v) => v !== null && v > 0));
  }
  private get limits(): number[] {
    return (this.options.limits ?? []).map((limit) => limit.value);
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
    const flags = isOff ? [] : flagsAt(plot, this.options.marks?.() ?? [], left);
    const words = flags.map((mark) => mark.text).join("; ");
    if (this.words.textContent !== words) this.words.textContent = words;
  }

  // By keys: the next point, and what its values are for those who are read to; what else buttons
  // and the legend do, so that a chart is one stop of the tabulator.
  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const button = { s: 0, p: 1 }[event.key];
    if (button !== undefined) this.saves[button].click();
    const line = Number(event.key);
    if (line >= 1 && line <= this.lines.length && this.plot) {
      const isShown = !this.plot.series[line].show;
      this.plot.setSeries(line, { show: isShown });
      this.words.textContent = `${this.lines[line - 1].label} is ${isShown ? "shown" : "hidden"}`;
    }
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step || !this.plot || this.x.length === 0) return;
    event.preventDefault();
    this.place = Math.min(this.x.length - 1, Math.max(0, this.place + step));
    this.plot.setCursor({ left: this.plot.valToPos(this.x[this.place], "x"), top: 0 });
    const values = this.lines.map(({ label, values }) => {
      const value = values[this.place];
      return `${label} ${value === null || value === undefined ? none : this.options.show(value)}`;
    });
    const flags = this.words.textContent;
    this.words.textContent = [this.timeText(this.x[this.place], this.place), ...values, flags]
      .filter(Boolean)
      .join("; ");
  }

  private shade(plot: uPlot): void {
    const [from, to] = this.options.measured?.() ?? [0, 0];
    const shades: { from: number; to: number; kind: Shade["kind"] | "ramp" }[] = [];
    if (from > 0) shades.push({ from: Math.min(0, this.range()[0]), to: from, kind: "ramp" });
    if (to > from && to < this.last) shades.push({ from: to, to: this.last, kind: "ramp" });
    paintShades(plot, [...shades, ...(this.options.shades?.() ?? [])], paintSpan, this.type);
  }

  private annotate(plot: uPlot): void {
    paintLimits(plot, this.options.limits ?? [], this.type);
    paintShades(plot, this.options.shades?.() ?? [], nameSpan, this.type);
    paintFlags(plot, this.options.marks?.() ?? []);
    if (!this.hasLabels) return;
    const labels = this.lines.map((line, i) => ({
      text: line.label,
      ink: color(this.ink(i)),
      values: line.values,
    }));
    paintLabels(plot, labels, this.type);
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
