// Charts over the seconds of a phase. All of one view share a cursor.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import { element } from "./dom";

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

export interface Options {
  title: string;
  show: (value: number) => string;
  log?: boolean;
  ramp?: () => number; // shaded, from 0 to there
  marks?: () => { at: number; text: string }[];
  limits?: { value: number; text: string }[]; // dashed
}

const height = 220;

function color(name: string): string {
  return getComputedStyle(document.body).getPropertyValue(name).trim();
}

// Least, quantiles and most of each point's values, which are ascending; a point without values is
// a gap.
export function bandsOf(points: number[][]): Bands {
  const at = (q: number) =>
    points.map((sorted) =>
      sorted.length === 0 ? null : sorted[Math.round(q * (sorted.length - 1))],
    );
  return { least: at(0), p10: at(0.1), middle: at(0.5), p90: at(0.9), most: at(1) };
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

export class TimeChart {
  private plot?: uPlot;
  private readonly box: HTMLElement;
  private readonly resized: ResizeObserver;
  private x: number[] = [];
  private lines: Line[] = [];

  // `isBands`: the lines are linesOf() bands.
  constructor(
    parent: HTMLElement,
    private readonly options: Options,
    private readonly isBands = false,
  ) {
    this.box = element("div", { class: "plot" });
    const save = (name: string, make: () => string) => {
      const button = element("button", { type: "button", class: "save" }, name);
      button.addEventListener("click", () => this.download(name.toLowerCase(), make()));
      return button;
    };
    parent.append(
      element(
        "figure",
        { class: "chart" },
        element(
          "figcaption",
          {},
          element("span", {}, options.title),
          save("CSV", () => this.csv()),
          save("PNG", () => this.png()),
        ),
        this.box,
      ),
    );
    this.resized = new ResizeObserver(() => {
      this.plot?.setSize({ width: this.box.clientWidth, height });
    });
    this.resized.observe(this.box);
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
    const last = x.length === 0 ? 0 : x[x.length - 1];
    const first = x.length === 0 ? 0 : x[0];
    this.box.setAttribute("role", "img");
    this.box.setAttribute(
      "aria-label",
      `${this.options.title}, ${first.toFixed(1)} to ${last.toFixed(1)} s`,
    );
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
    const { show } = this.options;
    const axis = { stroke: () => color("--muted"), grid: { stroke: () => color("--line") } };
    const palette = ["--c1", "--c2", "--c3", "--c4", "--c5"];
    const series: uPlot.Series[] = this.lines.map((line, i) => ({
      label: line.label,
      stroke: () =>
        color(this.isBands ? (i === 2 ? "--c1" : "--band") : palette[i % palette.length]),
      width: this.isBands && i !== 2 ? 0.5 : 1.5,
      points: { show: this.x.length < 3 },
      value: (_: uPlot, value: number | null) => (value === null ? "" : show(value)),
    }));
    this.plot = new uPlot(
      {
        width: this.box.clientWidth || 600,
        height,
        cursor: { sync: { key: "time" } },
        scales: {
          x: { time: false, range: (_, from, to) => (from === this.x[0] ? [0, to] : [from, to]) },
          y: this.options.log ? { distr: 3 } : { range: fromZero },
        },
        axes: [
          { ...axis, values: (_, values) => values.map((v) => `${v} s`) },
          {
            ...axis,
            size: 80,
            values: (_, values) => values.map((v) => (v === null ? "" : show(v))),
          },
        ],
        series: [
          {
            label: "time",
            value: (_, v: number | null) => (v === null ? "" : `${v.toFixed(1)} s`),
          },
          ...series,
        ],
        bands: this.isBands
          ? [
              { series: [1, 5], fill: () => color("--band-out") },
              { series: [2, 4], fill: () => color("--band-in") },
            ]
          : [],
        hooks: { drawClear: [(plot) => this.shade(plot)], draw: [(plot) => this.annotate(plot)] },
      },
      data,
      this.box,
    );
  }

  private shade(plot: uPlot): void {
    const ramp = this.options.ramp?.() ?? 0;
    if (ramp <= 0) return;
    const { left, top, width, height: tall } = plot.bbox;
    const to = Math.min(left + width, plot.valToPos(ramp, "x", true));
    plot.ctx.fillStyle = color("--ramp");
    if (to > left) plot.ctx.fillRect(left, top, to - left, tall);
  }

  private annotate(plot: uPlot): void {
    const { ctx } = plot;
    const { left, top, width, height: tall } = plot.bbox;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = color("--bad");
    ctx.font = "20px system-ui";
    ctx.setLineDash([6, 6]);
    const line = (x1: number, y1: number, x2: number, y2: number, text: string) => {
      ctx.beginPath();
      ctx.moveTo(x1, y1);
      ctx.lineTo(x2, y2);
      ctx.stroke();
      ctx.fillText(text, x1 + 6, y1 + (y1 === y2 ? -6 : 20), width / 2);
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

  private download(kind: string, url: string): void {
    const name = this.options.title.replace(/[^A-Za-z0-9]+/g, "-");
    element("a", { href: url, download: `${name}.${kind}` }).click();
    if (url.startsWith("blob:")) setTimeout(() => URL.revokeObjectURL(url), 1000);
  }
}

function fromZero(_: uPlot, __: number, most: number | null): [number, number] {
  return [0, most === null || most <= 0 ? 1 : most * 1.05];
}
