// Rows over time as colours: hosts, or latencies; under the charts of its group, at their times. A
// cell is chosen by the mouse or by the arrow keys; a click or Enter picks its row.

import { fileOf, pictureOf, quoted } from "./chart_files";
import type { Shade } from "./chart_options";
import { nameSpan, paintSpan } from "./chart_paint";
import type { ChartGroup, Member } from "./charts";
import { color, element, saveButton, whenColorsChange } from "./dom";
import { paperWidth, whenPrinted } from "./paper";

export interface Cells {
  rows: string[]; // from the top
  names?: string[]; // of the rows, as they stand beside them; `rows` without it
  begins: number[]; // of the columns, seconds, and their ends
  ends: number[];
  at: (row: number, column: number) => number; // not a number: there is none
  most?: number; // of all, where it is known
}

// A span over the cells; of some rows alone, where it is only theirs.
export interface HeatShade extends Shade {
  rows?: number[];
}

export interface HeatOptions {
  title: string;
  hint?: string; // what a reader can do with it; on paper nothing
  show: (value: number) => string;
  // The shade of a value: 0 is the paper, 1 the ink.
  shade: (value: number, most: number) => number;
  // The value that has the paper's colour, where it is not 0.
  least?: (most: number) => number;
  shades?: () => HeatShade[];
  pick?: (row: number) => void;
  tall?: number;
}

const inks = 256;
const grain = 64;
const axisHeight = 20; // below the rows, for the times
const nameStep = 14; // a name of a row is so high
const nameLetters = 10;
const type = 12; // pixels
const legendWidth = 96;

function channels(name: string): number[] {
  const found = color(name).match(/[0-9a-f]{2}/gi) ?? ["00", "00", "00"];
  return found.slice(0, 3).map((two) => parseInt(two, 16));
}

// From the paper to the ink, as the bytes of a picture.
function inksOf(): Uint32Array {
  const paper = channels("--paper");
  const ink = channels("--heat");
  const bytes = new Uint8ClampedArray(4 * inks);
  for (let i = 0; i < inks; i++) {
    for (let k = 0; k < 3; k++)
      bytes[4 * i + k] = paper[k] + (ink[k] - paper[k]) * (0.06 + (0.94 * i) / (inks - 1));
    bytes[4 * i + 3] = 255;
  }
  return new Uint32Array(bytes.buffer);
}

// Rows that adjoin, from and up to: one band has no seams.
function runsOf(rows: number[]): [number, number][] {
  const found: [number, number][] = [];
  for (const row of [...rows].sort((a, b) => a - b)) {
    const last = found[found.length - 1];
    if (last && last[1] === row) last[1]++;
    else found.push([row, row + 1]);
  }
  return found;
}

export class HeatMap implements Member {
  private readonly root = element("figure", { class: "chart" });
  private readonly canvas = element("canvas", {
    tabindex: "0",
    role: "application",
  }) as HTMLCanvasElement;
  private readonly line = element("i", { class: "cursor" });
  private readonly words = element("output", { class: "muted" });
  private readonly scale = element("span", { class: "scale" });
  private readonly ramp = element("canvas", {
    width: String(legendWidth),
    height: "1",
    "aria-hidden": "true",
  }) as HTMLCanvasElement;
  private readonly saves: HTMLElement[];
  private readonly resized: ResizeObserver;
  private readonly unpainted: () => void;
  private readonly image = document.createElement("canvas");
  private pixels?: ImageData;
  private cells?: Cells;
  private isPainted = false;
  private row = 0;
  private column = 0;
  private isChosen = false;

  constructor(
    parent: HTMLElement,
    private readonly options: HeatOptions,
    private readonly group: ChartGroup,
  ) {
    this.saves = [
      saveButton("CSV", options.title, () => this.csv()),
      saveButton("PNG", options.title, () => pictureOf(this.canvas, options.title)),
    ];
    for (const save of this.saves) save.tabIndex = -1;
    this.root.append(
      element(
        "figcaption",
        {},
        element("span", {}, options.title, ...this.hint()),
        this.scale,
        ...this.saves,
      ),
      element("div", { class: "heat" }, this.canvas, this.line),
      this.words,
    );
    // An empty canvas would be as high as a screen.
    this.root.hidden = true;
    this.line.hidden = true;
    parent.append(this.root);
    this.canvas.addEventListener("mousemove", (event) => {
      if (this.aim(event)) this.tell();
    });
    this.canvas.addEventListener("mouseleave", () => group.point(undefined, this));
    this.canvas.addEventListener("click", (event) => {
      if (this.aim(event)) options.pick?.(this.row);
    });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(this.canvas.parentElement as HTMLElement);
    const repaint = () => {
      this.isPainted = false;
      this.draw();
    };
    const ends = [whenColorsChange(repaint), whenPrinted(repaint)];
    this.unpainted = () => {
      for (const end of ends) end();
    };
    group.join(this);
  }

  private hint(): HTMLElement[] {
    const { hint } = this.options;
    return hint ? [element("span", { class: "hint" }, `; ${hint}`)] : [];
  }

  set(cells: Cells): void {
    this.cells = cells;
    this.isPainted = false;
    const { rows, begins, ends } = cells;
    this.row = Math.min(this.row, Math.max(0, rows.length - 1));
    this.column = Math.min(this.column, Math.max(0, ends.length - 1));
    const last = ends.length === 0 ? 0 : ends[ends.length - 1];
    this.canvas.setAttribute(
      "aria-label",
      `${this.options.title}, ${rows.length} rows, ${(begins[0] ?? 0).toFixed(1)} to ` +
        `${last.toFixed(1)} s; arrow keys choose a cell, s saves it as CSV, p as PNG`,
    );
    this.draw();
  }

  destroy(): void {
    this.resized.disconnect();
    this.unpainted();
  }
  rescale(): void {
    this.draw();
  }

  // One pixel a cell; the browser makes it as large as it is shown. Of more rows than it has pixels
  // several are one, here: the browser would mix columns, too, and those beside the last.
  private paint(cells: Cells): void {
    // It grows by many columns at a time.
    const width = grain * Math.ceil(Math.max(1, cells.ends.length) / grain);
    const { length } = cells.rows;
    const height = Math.max(1, Math.min(length, Math.round(this.tall * devicePixelRatio)));
    const context = this.image.getContext("2d") as CanvasRenderingContext2D;
    if (this.image.width !== width || this.image.height !== height || !this.pixels) {
      [this.image.width, this.image.height] = [width, height];
      this.pixels = context.createImageData(width, height);
    }
    const words = new Uint32Array(this.pixels.data.buffer);
    const inkOf = inksOf();
    let most = cells.most ?? 0;
    if (cells.most === undefined)
      for (let r = 0; r < cells.rows.length; r++)
        for (let c = 0; c < cells.ends.length; c++) {
          const value = cells.at(r, c);
          if (value > most) most = value;
        }
    const { shade } = this.options;
    for (let line = 0; line < height; line++) {
      const [from, to] = [line, line + 1].map((at) => Math.floor((at * length) / height));
      for (let c = 0, i = line * width; c < cells.ends.length; c++, i++) {
        let [sum, there] = [0, 0];
        for (let r = from; r < to; r++) {
          const value = cells.at(r, c);
          if (value !== value) continue;
          sum += Math.max(0, Math.min(1, shade(value, most)));
          there++;
        }
        // A missing value is see-through.
        words[i] = there === 0 ? 0 : inkOf[(((inks - 1) * sum) / there + 0.5) | 0];
      }
    }
    context.putImageData(this.pixels, 0, 0);
    this.tellScale(most, inkOf);
    this.isPainted = true;
  }

  // Explains the colours: from the least to the most, as they are drawn.
  private tellScale(most: number, inkOf: Uint32Array): void {
    if (!(most > 0)) return this.scale.replaceChildren();
    const { show, least } = this.options;
    const context = this.ramp.getContext("2d") as CanvasRenderingContext2D;
    const strip = context.createImageData(legendWidth, 1);
    const words = new Uint32Array(strip.data.buffer);
    for (let i = 0; i < legendWidth; i++)
      words[i] = inkOf[Math.round(((inks - 1) * i) / (legendWidth - 1))];
    context.putImageData(strip, 0, 0);
    this.scale.replaceChildren(show(least?.(most) ?? 0), " ", this.ramp, ` ${show(most)}`);
  }

  private get all(): number {
    return paperWidth() ?? this.canvas.parentElement?.clientWidth ?? 600;
  }
  private get tall(): number {
    const rows = this.cells?.rows.length ?? 0;
    return this.options.tall ?? Math.min(360, Math.max(80, rows * nameStep));
  }

  // The frame of the times in the charts above: pixels of the page, and seconds.
  private frame(): { left: number; width: number; from: number; to: number } {
    const { left, width } = this.group.areaIn(this.all);
    const [from, to] = this.group.range ?? [0, 1];
    return { left, width, from, to };
  }

  draw(): void {
    const { cells, canvas } = this;
    if (!cells || cells.rows.length === 0 || cells.ends.length === 0) return;
    this.root.hidden = false;
    const height = Math.round(this.tall * devicePixelRatio);
    canvas.width = Math.round(this.all * devicePixelRatio);
    canvas.height = height + axisHeight * devicePixelRatio;
    if (!this.isPainted) this.paint(cells);
    const context = canvas.getContext("2d") as CanvasRenderingContext2D;
    const frame = this.frame();
    const x = (seconds: number) =>
      devicePixelRatio *
      (frame.left + (frame.width * (seconds - frame.from)) / (frame.to - frame.from));
    const [least, most] = [x(frame.from), x(frame.to)];
    context.save();
    context.beginPath();
    context.rect(least, 0, most - least, height);
    context.clip();
    context.imageSmoothingEnabled = false;
    // Columns that adjoin and are equally long are drawn at once.
    for (let first = 0; first < cells.ends.length; ) {
      const length = cells.ends[first] - cells.begins[first];
      let next = first + 1;
      while (
        next < cells.ends.length &&
        Math.abs(cells.begins[next] - cells.ends[next - 1]) < length / 4 &&
        Math.abs(cells.ends[next] - cells.begins[next] - length) < length / 4
      )
        next++;
      const [a, b] = [x(cells.begins[first]), x(cells.ends[next - 1])];
      if (b >= least && a <= most)
        context.drawImage(
          this.image,
          ...[first, 0, next - first, this.image.height],
          ...([a, 0, Math.max(1, b - a), height] as [number, number, number, number]),
        );
      first = next;
    }
    this.shade(context, cells, x, height);
    if (this.isChosen) {
      const [a, b] = [x(cells.begins[this.column]), x(cells.ends[this.column])];
      const cell = height / cells.rows.length;
      context.strokeStyle = color("--bad");
      context.lineWidth = 2;
      context.strokeRect(a, this.row * cell, Math.max(3, b - a), Math.max(3, cell));
    }
    context.restore();
    this.axes(context, cells, x, height);
  }

  // The same bands as in the charts above, over the cells.
  private shade(
    context: CanvasRenderingContext2D,
    cells: Cells,
    x: (seconds: number) => number,
    height: number,
  ): void {
    const tall = height / cells.rows.length;
    for (const { from, to, kind, rows } of this.options.shades?.() ?? []) {
      const [left, width] = [x(from), x(to) - x(from)];
      for (const [first, end] of runsOf(rows ?? [...cells.rows.keys()])) {
        const box = { left, top: first * tall, width, height: (end - first) * tall };
        paintSpan(context, kind, box);
        nameSpan(context, kind, box, type);
      }
    }
  }

  // The names of rows on the left, as many as there is room for, and times below.
  private axes(
    context: CanvasRenderingContext2D,
    cells: Cells,
    x: (seconds: number) => number,
    height: number,
  ): void {
    const unit = devicePixelRatio;
    const { left, from, to } = this.frame();
    const names = cells.names ?? cells.rows;
    context.fillStyle = color("--muted");
    context.font = `${type * unit}px system-ui`;
    context.textAlign = "right";
    context.textBaseline = "middle";
    const every = Math.ceil((nameStep * unit * names.length) / height);
    let last = -Infinity;
    for (let row = 0; row < names.length; row += every) {
      const name = names[row];
      const short = name.length > nameLetters ? `${name.slice(0, nameLetters - 1)}…` : name;
      // The first is moved down to be whole, and would lie on the second of a thousand.
      const y = Math.max(7 * unit, ((row + 0.5) * height) / names.length);
      if (y - last < type * unit) continue;
      last = y;
      context.fillText(short, (left - 6) * unit, y, (left - 6) * unit);
    }
    context.textBaseline = "bottom";
    const rough = ((to - from) / Math.max(1, this.all / 110)) * 0.999;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((k) => k * power).find((one) => one >= rough) ?? rough;
    context.textAlign = "center";
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
      const text = `${Number(at.toPrecision(6))} s`;
      context.fillText(text, x(at), height + (axisHeight - 2) * unit);
    }
  }

  // The cursor of the charts.
  point(seconds: number | undefined): void {
    const { left, width, from, to } = this.frame();
    const at = seconds === undefined ? -1 : (seconds - from) / (to - from);
    this.line.hidden = at < 0 || at > 1;
    this.line.style.left = `${left + width * at}px`;
  }

  private aim(event: MouseEvent): boolean {
    const { cells } = this;
    if (!cells || cells.ends.length === 0) return false;
    const box = this.canvas.getBoundingClientRect();
    const { left, width, from, to } = this.frame();
    const seconds = from + ((event.clientX - box.left - left) / width) * (to - from);
    const found = cells.ends.findIndex((end) => end > seconds);
    this.column = found < 0 ? cells.ends.length - 1 : found;
    const y = (event.clientY - box.top) / this.tall;
    const { length } = cells.rows;
    this.row = Math.min(length - 1, Math.max(0, Math.floor(y * length)));
    this.group.point(seconds, this);
    return true;
  }

  private tell(): void {
    const { cells } = this;
    if (!cells) return;
    this.isChosen = true;
    const value = cells.at(this.row, this.column);
    const begin = cells.begins[this.column];
    this.words.textContent =
      `${cells.rows[this.row]}, ${begin.toFixed(1)} to ${cells.ends[this.column].toFixed(1)} s: ` +
      (Number.isNaN(value) ? "nothing" : this.options.show(value));
    this.draw();
  }

  private key(event: KeyboardEvent): void {
    const { cells } = this;
    if (!cells || event.ctrlKey || event.metaKey || event.altKey) return;
    const button = { s: 0, p: 1 }[event.key];
    if (button !== undefined) return this.saves[button].click();
    const steps: Record<string, [number, number]> = {
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
    };
    if (event.key === "Enter") {
      this.options.pick?.(this.row);
    } else if (event.key in steps) {
      const [down, right] = steps[event.key];
      this.row = Math.min(cells.rows.length - 1, Math.max(0, this.row + down));
      this.column = Math.min(cells.ends.length - 1, Math.max(0, this.column + right));
      this.group.point((cells.begins[this.column] + cells.ends[this.column]) / 2, this);
    } else {
      return;
    }
    event.preventDefault();
    this.tell();
  }

  private csv(): string {
    const { cells } = this;
    if (!cells) return "";
    const lines = [["", ...cells.ends.map((end) => end.toFixed(3))].join(",")];
    cells.rows.forEach((row, r) => {
      const values = cells.ends.map((_, c) => {
        const value = cells.at(r, c);
        return Number.isNaN(value) ? "" : String(value);
      });
      lines.push([quoted(row), ...values].join(","));
    });
    return fileOf(lines.join("\n") + "\n", "text/csv");
  }
}
