// Rows over time as colours: hosts, or latencies. A cell is chosen by the mouse or by the arrow
// keys; a click or Enter picks its row.

import { color, type ChartGroup } from "./charts";
import { element, saveButton } from "./dom";

export interface Cells {
  rows: string[]; // from the top
  ends: number[]; // of the columns, seconds; each begins where the one before ends
  begin: number; // of the first
  at: (row: number, column: number) => number; // not a number: there is none
}

export interface HeatOptions {
  title: string;
  show: (value: number) => string;
  // Of a value: 0 is the paper, 1 the ink.
  shade: (value: number, most: number) => number;
  pick?: (row: number) => void;
  tall?: number;
}

function channels(name: string): number[] {
  const found = color(name).match(/[0-9a-f]{2}/gi) ?? ["00", "00", "00"];
  return found.slice(0, 3).map((two) => parseInt(two, 16));
}

export class HeatMap {
  private readonly canvas = element("canvas", { tabindex: "0", role: "img" }) as HTMLCanvasElement;
  private readonly words = element("output", { class: "muted" });
  private readonly resized: ResizeObserver;
  private cells?: Cells;
  private image?: HTMLCanvasElement;
  private row = 0;
  private column = 0;
  private isChosen = false;

  constructor(
    parent: HTMLElement,
    private readonly options: HeatOptions,
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
          saveButton("PNG", options.title, () => this.canvas.toDataURL("image/png")),
        ),
        element("div", { class: "heat" }, this.canvas),
        this.words,
      ),
    );
    this.canvas.addEventListener("mousemove", (event) => {
      if (this.aim(event)) this.tell();
    });
    this.canvas.addEventListener("click", (event) => {
      if (this.aim(event)) options.pick?.(this.row);
    });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(this.canvas.parentElement as HTMLElement);
  }

  set(cells: Cells): void {
    this.cells = cells;
    this.image = undefined;
    const { rows, ends } = cells;
    this.row = Math.min(this.row, Math.max(0, rows.length - 1));
    this.column = Math.min(this.column, Math.max(0, ends.length - 1));
    const last = ends.length === 0 ? 0 : ends[ends.length - 1];
    this.canvas.setAttribute(
      "aria-label",
      `${this.options.title}, ${rows.length} rows, ${cells.begin.toFixed(1)} to ` +
        `${last.toFixed(1)} s; arrow keys choose a cell`,
    );
    this.draw();
  }

  destroy(): void {
    this.resized.disconnect();
  }

  // One pixel a cell; the browser makes it as large as it is shown.
  private paint(cells: Cells): HTMLCanvasElement {
    const image = document.createElement("canvas");
    image.width = Math.max(1, cells.ends.length);
    image.height = Math.max(1, cells.rows.length);
    const context = image.getContext("2d") as CanvasRenderingContext2D;
    const pixels = context.createImageData(image.width, image.height);
    const paper = channels("--paper");
    const ink = channels("--heat");
    let most = 0;
    for (let r = 0; r < cells.rows.length; r++)
      for (let c = 0; c < cells.ends.length; c++) {
        const value = cells.at(r, c);
        if (value > most) most = value;
      }
    for (let r = 0, i = 0; r < cells.rows.length; r++) {
      for (let c = 0; c < cells.ends.length; c++, i += 4) {
        const value = cells.at(r, c);
        if (Number.isNaN(value)) continue; // see-through
        const share = Math.max(0, Math.min(1, this.options.shade(value, most)));
        for (let k = 0; k < 3; k++)
          pixels.data[i + k] = paper[k] + (ink[k] - paper[k]) * (0.06 + 0.94 * share);
        pixels.data[i + 3] = 255;
      }
    }
    context.putImageData(pixels, 0, 0);
    return image;
  }

  // The columns that are shown, first and beyond the last.
  private columns(cells: Cells): [number, number] {
    const span = this.group?.shown;
    if (!span) return [0, cells.ends.length];
    let from = cells.ends.findIndex((end) => end > span[0]);
    if (from < 0) from = cells.ends.length;
    let to = cells.ends.findIndex((end) => end > span[1]);
    if (to < 0) to = cells.ends.length;
    return [from, Math.max(to, from + 1)];
  }

  draw(): void {
    const { cells, canvas } = this;
    if (!cells || cells.rows.length === 0 || cells.ends.length === 0) return;
    const tall = this.options.tall ?? Math.min(360, Math.max(80, cells.rows.length * 14));
    const width = canvas.parentElement?.clientWidth ?? 600;
    canvas.width = Math.round(width * devicePixelRatio);
    canvas.height = Math.round(tall * devicePixelRatio);
    this.image ??= this.paint(cells);
    const context = canvas.getContext("2d") as CanvasRenderingContext2D;
    context.imageSmoothingEnabled = cells.rows.length > canvas.height;
    const [from, to] = this.columns(cells);
    const size: [number, number] = [canvas.width, canvas.height];
    context.drawImage(this.image, from, 0, to - from, cells.rows.length, 0, 0, ...size);
    if (!this.isChosen || this.column < from || this.column >= to) return;
    const cell = [canvas.width / (to - from), canvas.height / cells.rows.length];
    context.strokeStyle = color("--bad");
    context.lineWidth = 2;
    context.strokeRect(
      (this.column - from) * cell[0],
      this.row * cell[1],
      Math.max(3, cell[0]),
      Math.max(3, cell[1]),
    );
  }

  private aim(event: MouseEvent): boolean {
    if (!this.cells) return false;
    const box = this.canvas.getBoundingClientRect();
    const [from, to] = this.columns(this.cells);
    const x = (event.clientX - box.left) / box.width;
    const y = (event.clientY - box.top) / box.height;
    this.column = Math.min(to - 1, Math.max(from, from + Math.floor(x * (to - from))));
    const { length } = this.cells.rows;
    this.row = Math.min(length - 1, Math.max(0, Math.floor(y * length)));
    return true;
  }

  private tell(): void {
    const { cells } = this;
    if (!cells) return;
    this.isChosen = true;
    const value = cells.at(this.row, this.column);
    const begin = this.column === 0 ? cells.begin : cells.ends[this.column - 1];
    this.words.textContent =
      `${cells.rows[this.row]}, ${begin.toFixed(1)} to ${cells.ends[this.column].toFixed(1)} s: ` +
      (Number.isNaN(value) ? "nothing" : this.options.show(value));
    this.draw();
  }

  private key(event: KeyboardEvent): void {
    const { cells } = this;
    if (!cells) return;
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
    } else {
      return;
    }
    event.preventDefault();
    this.tell();
  }

  private csv(): string {
    const { cells } = this;
    if (!cells) return "";
    const quote = (value: string) => `"${value.replace(/"/g, '""')}"`;
    const lines = [["", ...cells.ends.map((end) => end.toFixed(3))].join(",")];
    cells.rows.forEach((row, r) => {
      const values = cells.ends.map((_, c) => {
        const value = cells.at(r, c);
        return Number.isNaN(value) ? "" : String(value);
      });
      lines.push([quote(row), ...values].join(","));
    });
    return URL.createObjectURL(new Blob([lines.join("\n") + "\n"], { type: "text/csv" }));
  }
}
