// The charts of a phase in progress.

import { pinnedAfter } from "./address";
import type { PhaseChange } from "./api";
import { ChartGroup, linesOf, withGaps, type Line, type Options, type TimeChart } from "./charts";
import { count, latency, percent, short, typeset } from "./format";
import { HeatMap } from "./heat_map";
import type { LiveData } from "./live_data";
import type { Wall } from "./wall";

const kinds = ["read", "write", "trim", "fsync"];

export class LiveCharts {
  private readonly group: ChartGroup;
  // An observe phase has none of these: it has no load.
  private readonly iops?: TimeChart;
  private readonly bytes?: TimeChart;
  private readonly latencies?: TimeChart;
  private readonly hosts?: TimeChart;
  private readonly heat?: HeatMap;
  private iostat: TimeChart[] = [];
  private later = 0;

  // `pinned`: the hosts that are drawn by themselves; `chosen` is told when they or the span that
  // is shown change.
  constructor(
    parent: HTMLElement,
    private readonly data: LiveData,
    private readonly change: PhaseChange | undefined,
    private readonly names: string[],
    hasHosts: boolean,
    private pinned: number[],
    span: [number, number] | undefined,
    wall: Wall,
    private readonly chosen: (pinned: number[], span?: [number, number]) => void,
  ) {
    this.group = new ChartGroup(
      "live",
      (shown) => this.chosen(this.pinned, shown),
      span,
      () => wall.layoutAt(this.group.grid),
    );
    const { group, common } = this;
    parent.append(group.root);
    if (change?.kind === "observe") return;
    this.iops = group.chart({
      title: "IOPS of the fleet, by kind",
      show: (v) => short("count", v),
      kind: "count",
      limits: this.limits("iops"),
      ...common,
    });
    this.latencies = group.chart({
      title: "Latency of the fleet",
      show: latency,
      kind: "latency",
      log: true,
      limits: this.limits("p50_ns", "p99_ns", "p999_ns"),
      ...common,
    });
    this.bytes = group.chart({
      title: "Throughput of the fleet",
      show: (v) => short("rate", v),
      kind: "rate",
      limits: this.limits("bytes_per_second"),
      ...common,
    });
    this.hosts = group.chart({
      title: "IOPS of hosts",
      show: (v) => short("count", v),
      kind: "count",
      isBands: true,
      ...common,
    });
    if (hasHosts) {
      this.heat = new HeatMap(
        group.grid,
        {
          title: "IOPS of each host",
          hint: "a click or Enter draws it above",
          show: (v) => `${count(v)} IOPS`,
          shade: (value, most) => (most > 0 ? value / most : 0),
          shades: () => this.data.shades,
          pick: (row) => this.pin(row),
        },
        group,
      );
    }
  }

  destroy(): void {
    clearTimeout(this.later);
    this.group.destroy();
    this.heat?.destroy();
  }

  private get common(): Pick<Options, "marks" | "measured" | "shades" | "latest"> {
    const { data } = this;
    return {
      marks: () => data.marks,
      measured: () => data.measured,
      shades: () => data.shades,
      latest: true,
    };
  }

  private limits(...figures: string[]): { value: number; text: string }[] {
    return (this.change?.limits ?? [])
      .filter((limit) => figures.includes(limit.figure))
      .map(({ value, text }) => ({ value, text: typeset(text) }));
  }

  // Takes the size that there is.
  fit(): void {
    this.group.fit();
  }

  draw(): void {
    const { data } = this;
    const ends = data.ends();
    const set = (chart: TimeChart | undefined, lines: Line[]) => {
      chart?.setTimed(withGaps(data.begins, ends, lines));
    };
    // One kind alone is all there is.
    const found = kinds.filter((_, k) => data.points.some((point) => (point.kindIops[k] ?? 0) > 0));
    const used = found.length > 1 ? found : [];
    set(this.iops, [
      { label: "I/Os", values: data.values((p) => p.iops) },
      ...used.map((label) => ({
        label,
        values: data.values((p) => p.kindIops[kinds.indexOf(label)] ?? 0),
      })),
    ]);
    set(this.bytes, [
      { label: "all", values: data.values((p) => p.bytesPerSecond) },
      ...used
        .filter((label) => label !== "fsync")
        .map((label) => ({
          label,
          values: data.values((p) => p.kindBytesPerSecond[kinds.indexOf(label)] ?? 0),
        })),
    ]);
    // A percentile of 0 is one that is not known.
    set(this.latencies, [
      { label: "p50", values: data.values((p) => p.p50Ns || undefined) },
      { label: "p99", values: data.values((p) => p.p99Ns || undefined) },
      { label: "p99.9", values: data.values((p) => p.p999Ns || undefined) },
    ]);
    set(this.hosts, [
      ...linesOf(data.bands()),
      ...this.pinned
        .filter((position) => position < this.names.length)
        .map((position) => ({ label: this.names[position], values: data.host(position) })),
    ]);
    this.drawIostat(set);
    // In a frame of its own: a thousand hosts are many cells.
    clearTimeout(this.later);
    if (this.heat) this.later = window.setTimeout(() => this.drawHeat());
  }

  private drawHeat(): void {
    const { columns, columnBegins, columnEnds, most } = this.data;
    if (columns.length === 0) return;
    this.heat?.set({
      rows: this.names,
      begins: columnBegins,
      ends: columnEnds,
      at: (row, column) => columns[column][row] ?? NaN,
      most,
    });
  }

  private pin(row: number): void {
    this.pinned = pinnedAfter(this.pinned, row);
    this.chosen(this.pinned, this.group.shown);
    this.draw();
  }

  // Devices come with the first interval that has them.
  private drawIostat(set: (chart: TimeChart, lines: Line[]) => void): void {
    const { data } = this;
    if (!data.points.some((point) => point.iostat.length > 0)) return;
    if (this.iostat.length === 0) {
      this.iostat = [
        {
          title: "await of a request (iostat)",
          show: latency,
          kind: "latency" as const,
          log: true,
          limits: this.limits("await_ns"),
        },
        {
          title: "aqu-sz: requests at a device (iostat)",
          show: (v: number) => short("number", v),
          kind: "number" as const,
        },
        {
          title: "areq-sz: size of a request (iostat)",
          show: (v: number) => short("bytes", v),
          kind: "bytes" as const,
        },
        { title: "busy, of a device (iostat)", show: percent, kind: "ratio" as const },
      ].map((options) => this.group.chart({ ...options, ...this.common, isExtra: true }));
    }
    this.iostat.forEach((chart, i) =>
      set(chart, [
        {
          label: ["await", "aqu-sz", "areq-sz", "busy"][i],
          values: data.values((p) => (p.iostat.length > i ? p.iostat[i] : undefined)),
        },
      ]),
    );
  }
}
