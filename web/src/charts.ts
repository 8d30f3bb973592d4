// Charts over the seconds of a phase. All of one group share a cursor and the span that is shown.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import { element, saveButton } from "./dom";

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
  isBands?: boolean; // the lines are linesOf() bands
}

const height = 220;

export function color(name: string): string {
  return getComputedStyle(document.body).getPropertyValue(name).trim();
}

export function linesOf(bands: Bands): Line[] {
  return [
    { label: "most", values: bands.most },
    { label: "p90", values: bands.p90 },
    { label: "median host", values: bands.middle },
    { label: "p10", values: bands.p10 },
    { label: "least", values: bands.least },
  ];
}

// Charts of one time axis. A part of it is chosen by dragging in one of them or in the two fields,
// and told to whoever made the group.
export class ChartGroup {
  readonly root = element("div", { class: "charts" });
  private readonly charts: TimeChart[] = [];
  private readonly from = this.field("from");
  private readonly to = this.field("to");
  private span?: [number, number];

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
    return chart;
  }
  get shown(): [number, number] | undefined {
    return this.span;
  }
  // What somebody is typing is not written over.
  zoom(span?: [number, number], isNew = true, isTyped = false): void {
    this.span = span && span[1] > span[0] ? span : undefined;
    if (!isTyped) {
      this.from.value = this.span ? String(Math.round(this.span[0] * 10) / 10) : "";
      this.to.value = this.span ? String(Math.round(this.span[1] * 10) / 10) : "";
    }
    for (const chart of this.charts) chart.rescale();
    if (isNew) this.chosen(this.span);
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

export class TimeChart {
  private plot?: uPlot;
  private readonly box = element("div", { class: "plot" });
  private readonly resized: ResizeObserver;
  private x: number[] = [];
  private lines: Line[] = [];

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
          saveButton("CSV", options.title, () => this.csv()),
          saveButton("PNG", options.title, () => this.png()),
        ),
        this.box,
      ),
    );
    this.resized = new ResizeObserver(() => {
      this.plot?.setSize({ width: this.box.clientWidth, height });
    });
    this.resized.observe(this.box);
  }

  get last(): number {
    return this.x.length === 0 ? 0 : this.x[this.x.length - 1];
  }

  set(x: number[], lines: Line[]): void {
    const isSame =
      this.plot !== undefined &&
      lines.length === this.lines.length &&
      lines.every((line, i) => line.label === this.lines[i].label);
    this.x = x;
    this.lines = lines;
    const data = [x, ...lines.map((line) => this.shown(line.values))] as uPlot.AlignedData;
    if (isSame) this.plot?.setData(data);
    else this.make(data);
    const first = x.length === 0 ? 0 : x[0];
    this.box.setAttribute("role", "img");
    this.box.setAttribute(
      "aria-label",
      `${this.options.title}, ${first.toFixed(1)} to ${this.last.toFixed(1)} s`,
    );
  }

  rescale(): void {
    this.plot?.setData(this.plot.data);
  }

  destroy(): void {
    this.resized.disconnect();
    this.plot?.destroy();
  }

  // A logarithm has no zero.
  private shown(values: (number | null)[]): (number | null)[] {
    return this.options.log ? values.map((v) => (v !== null && v > 0 ? v : null)) : values;
  }

  private make(data: uPlot.AlignedData): void {
    this.plot?.destroy();
    const { show, log, isBands } = this.options;
    const unit = this.options.unit ?? "s";
    const axis = { stroke: () => color("--muted"), grid: { stroke: () => color("--line") } };
    const palette = ["--c1", "--c2", "--c3", "--c4", "--c5"];
    const series: uPlot.Series[] = this.lines.map((line, i) => ({
      label: line.label,
      stroke: () => color(isBands ? (i === 2 ? "--c1" : "--band") : palette[i % palette.length]),
      width: isBands && i !== 2 ? 0.5 : 1.5,
      points: { show: this.x.length < 3 },
      value: (_: uPlot, value: number | null) => (value === null ? "" : show(value)),
    }));
    this.plot = new uPlot(
      {
        width: this.box.clientWidth || 600,
        height,
        cursor: { sync: { key: this.group?.key ?? "none" }, drag: { setScale: false } },
        scales: {
          x: { time: false, range: () => this.range() },
          y: log ? { distr: 3 } : { range: fromZero },
        },
        axes: [
          { ...axis, values: (_, values) => values.map((v) => `${v} ${unit}`) },
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
        },
      },
      data,
      this.box,
    );
    this.plot.over.addEventListener("dblclick", () => this.group?.zoom(undefined));
  }

  private range(): [number, number] {
    if (this.group?.shown) return this.group.shown;
    const first = this.x.length === 0 ? 0 : this.x[0];
    const begin = this.options.unit === undefined ? Math.min(0, first) : first;
    return [begin, this.last > begin ? this.last : begin + 1];
  }

  private select(plot: uPlot): void {
    const { left, width } = plot.select;
    if (width < 4 || !this.group) return;
    const span: [number, number] = [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")];
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.group.zoom(span);
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
    ctx.font = `${11 * devicePixelRatio}px system-ui`;
    ctx.setLineDash([6, 6]);
    const line = (x1: number, y1: number, x2: number, y2: number, text: string) => {
      ctx.beginPath();
      ctx.moveTo(x1, y1);
      ctx.lineTo(x2, y2);
      ctx.stroke();
      ctx.fillText(text, x1 + 6, y1 + (y1 === y2 ? -6 : 16 * devicePixelRatio), width / 2);
    };
    for (const limit of this.options.limits ?? []) {
      const y = plot.valToPos(limit.value, "y", true);
      if (y >= top && y <= top + tall) line(left, y, left + width, y, limit.text);
    }
    for (const mark of this.options.marks?.() ?? []) {
      const x = plot.valToPos(mark.at, "x", true);
      if (x >= left && x <= left + width) line(x, top, x, top + tall, mark.text);
    }
    ctx.restore();
  }

  private csv(): string {
    const quote = (value: string) => `"${value.replace(/"/g, '""')}"`;
    const head = ["seconds", ...this.lines.map((line) => line.label)].map(quote).join(",");
    const rows = this.x.map((x, i) =>
      [x, ...this.lines.map((line) => line.values[i] ?? "")].join(","),
    );
    const bytes = [head, ...rows].join("\n") + "\n";
    return URL.createObjectURL(new Blob([bytes], { type: "text/csv" }));
  }

  private png(): string {
    return this.box.querySelector("canvas")?.toDataURL("image/png") ?? "";
  }
}

function fromZero(_: uPlot, __: number, most: number | null): [number, number] {
  return [0, most === null || most <= 0 ? 1 : most * 1.05];
}
