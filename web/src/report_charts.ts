// A phase of a report over time: fetched when it comes into sight, drawn in one group of charts.

import { choices, choose, pinnedAfter, pinnedOf } from "./address";
import {
  get,
  halves,
  NotThere,
  type EventReport,
  type FleetSeries,
  type HostSeries,
  type LatencySeries,
  type PhaseReport,
  type SeriesReply,
} from "./api";
import {
  ChartGroup,
  linesOf,
  TimeChart,
  withGaps,
  type Line,
  type Mark,
  type Options,
  type Shade,
} from "./charts";
import { element, type Tone } from "./dom";
import { marksFrom } from "./events";
import { count, latency, percent, short, typeset } from "./format";
import { HeatMap, type HeatOptions } from "./heat_map";
import type { Requests } from "./view";

type Draw = (
  title: string,
  show: (v: number) => string,
  lines: Line[],
  more?: Partial<Options>,
) => TimeChart;

const warn: Tone = "warn";
const rate = (v: number): string => short("count", v);
const maxPoints = 1000;
const bins = 240;

export interface HostLines {
  spans: SeriesReply;
  names: string[];
  workers: number[]; // their indices
  iops: Float32Array[];
  p99: Float32Array[];
}

// A drain that is over at once is no interval: its rates say nothing. A load that short has nothing
// else.
export function wholeSpans(reply: SeriesReply): number[] {
  if (!reply.spans) return [];
  const { beginSeconds, endSeconds, measuredToSeconds } = reply.spans;
  const all = endSeconds.map((_, i) => i);
  const whole = all.filter((i) => endSeconds[i] - beginSeconds[i] >= reply.intervalSeconds / 2);
  return whole.length > 0 ? whole : all.filter((i) => beginSeconds[i] < measuredToSeconds);
}

// The times in which no I/O completed.
export function shadesOf(phase: PhaseReport): Shade[] {
  return phase.outages.map(({ beginSeconds, endSeconds }) => ({
    from: beginSeconds,
    to: endSeconds,
    kind: "outage",
  }));
}

async function find<T>(path: string, requests: Requests): Promise<T | undefined> {
  try {
    return await get<T>(path, requests.signal);
  } catch (error) {
    if (error instanceof NotThere) return undefined; // of a run without stored series
    throw error;
  }
}

function hostLines(spans: SeriesReply, series: HostSeries): HostLines {
  return {
    spans,
    names: series.hosts.map((host) => host.host),
    workers: series.hosts.map((host) => host.workerIndex),
    iops: series.hosts.map((host) => halves(host.iops)),
    p99: series.hosts.map((host) => halves(host.p99Ns)),
  };
}

// The span that the address names for this phase.
function chosenSpan(phase: number): [number, number] | undefined {
  const all = choices();
  if (all.get("phase") !== String(phase) || !all.has("from")) return undefined;
  return [Number(all.get("from")), Number(all.get("to"))];
}

export class PhaseCharts {
  readonly root = element("div");
  private readonly group: ChartGroup;
  private readonly heats: HeatMap[] = [];
  private hostChart?: TimeChart;
  private hosts?: HostLines;
  private bands: Line[] = [];
  private begins: number[] = [];
  private ends: number[] = [];
  private pinned: number[];
  private distribution?: TimeChart;
  private happened: Mark[] = [];

  constructor(
    private readonly run: string,
    private readonly phase: PhaseReport,
    private readonly requests: Requests,
    // Told the fleet's figures when they are there.
    private readonly onFleet: (fleet: SeriesReply) => void = () => {},
  ) {
    this.group = new ChartGroup(
      `phase-${phase.index}`,
      (span) => this.keep(span),
      chosenSpan(phase.index),
    );
    const isOurs = choices().get("phase") === String(phase.index);
    this.pinned = pinnedOf(isOurs ? choices().get("hosts") : null);
    this.root.append(this.group.root);
  }

  // The hosts' lines when they are there.
  async draw(): Promise<HostLines | undefined> {
    try {
      return await this.drawSeries();
    } finally {
      if (!this.requests.isOver) this.drawDistribution();
    }
  }

  private async drawSeries(): Promise<HostLines | undefined> {
    const of = `/api/runs/${this.run}`;
    const which = `?phase=${this.phase.index}`;
    const fleet = await find<SeriesReply>(`${of}/series${which}&bins=${maxPoints}`, this.requests);
    if (this.requests.isOver) return undefined;
    if (!fleet?.fleet || !fleet.spans) {
      this.group.root.replaceChildren(
        element("p", { class: "muted" }, "The store has no series of this phase."),
        this.group.grid,
      );
      return undefined;
    }
    this.drawFleet(fleet);
    this.onFleet(fleet);
    // An observe phase has no load, and so neither hosts' IOPS nor latencies.
    if (this.phase.observed) return undefined;
    const [hosts, latencies] = await Promise.all([
      find<SeriesReply>(`${of}/hosts${which}&bins=${bins}`, this.requests),
      find<SeriesReply>(`${of}/latency${which}&bins=${bins}`, this.requests),
    ]);
    if (this.requests.isOver) return undefined;
    if (latencies?.latencies) this.drawLatencies(latencies, latencies.latencies);
    if (!hosts?.hosts) return undefined;
    this.hosts = hostLines(hosts, hosts.hosts);
    if (this.hosts.names.length > 1) this.drawHosts(this.hosts);
    this.drawPinned();
    return this.hosts;
  }

  // Marks the events of the run, with those of other phases.
  mark(events: EventReport[]): void {
    if (!this.phase.startedAt) return;
    this.happened = marksFrom(this.phase.startedAt, events);
    this.group.redraw();
  }

  destroy(): void {
    this.group.destroy();
    this.distribution?.destroy();
    for (const heat of this.heats) heat.destroy();
  }

  private keep(span?: [number, number]): void {
    const at = (value?: number) => (value === undefined ? null : value.toFixed(1));
    const other = choices().get("phase");
    // A choice in another phase stays in the address.
    if (!span && this.pinned.length === 0 && other !== String(this.phase.index)) return;
    const isChosen = span !== undefined || this.pinned.length > 0;
    choose({
      phase: isChosen ? String(this.phase.index) : null,
      from: at(span?.[0]),
      to: at(span?.[1]),
      hosts: this.pinned.join(","),
    });
  }

  private set(chart: TimeChart | undefined, lines: Line[]): void {
    chart?.setTimed(withGaps(this.begins, this.ends, lines));
  }

  // A host is given up some time after its last sample: the event stands where that was.
  private lossMarks(): Mark[] {
    const { validFromSeconds, validToSeconds, workersLost } = this.phase;
    if (workersLost === 0 || validToSeconds <= validFromSeconds) return [];
    return [{ at: validToSeconds, text: "the last samples of all hosts" }];
  }

  private limits(...figures: string[]): { value: number; text: string }[] {
    return this.phase.limits
      .filter((limit) => figures.includes(limit.figure))
      .map(({ value, text }) => ({ value, text: typeset(text) }));
  }

  // The marks of events: of hosts and paths, and of the run.
  private marks(measuredFrom: number): Mark[] {
    const { stragglers, starvations } = this.phase;
    // A host that straggled from the begin does so on the whole chart.
    const late = stragglers.filter((s) => s.beginSeconds > measuredFrom);
    return [
      ...late.map((s) => ({ at: s.beginSeconds, text: `${s.host}: ${s.cause}`, tone: warn })),
      ...starvations.map((s) => ({ at: s.beginSeconds, text: `${s.host}: starved`, tone: warn })),
      ...this.lossMarks(),
      ...this.happened,
    ];
  }

  private drawFleet(reply: SeriesReply): void {
    const { spans, fleet } = reply;
    if (!spans || !fleet) return;
    const { name } = this.phase;
    const places = wholeSpans(reply);
    const at = (values: number[]) => places.map((i) => values[i]);
    this.begins = at(spans.beginSeconds);
    this.ends = at(spans.endSeconds);
    const x = this.ends;
    const measured = (): [number, number] => [spans.measuredFromSeconds, spans.measuredToSeconds];
    const marks = () => this.marks(spans.measuredFromSeconds);
    const shades = () => shadesOf(this.phase);
    const step = x.length > 1 && x[1] - x[0] > 1.5 ? `, ${(x[1] - x[0]).toFixed(0)} s a point` : "";
    const draw: Draw = (title, show, lines, more = {}) => {
      const chart = this.group.chart({
        title: `${title}, ${name}${step}`,
        show,
        measured,
        marks,
        shades,
        startedAt: this.phase.startedAt || undefined,
        ...more,
      });
      this.set(
        chart,
        lines.map((line) => ({ ...line, values: places.map((i) => line.values[i]) })),
      );
      return chart;
    };
    if (this.phase.observed) return this.drawDevices(fleet, draw);
    this.drawRates(fleet, draw);
    const bands = linesOf({
      least: fleet.hostMin,
      p10: fleet.hostP10,
      middle: fleet.hostMedian,
      p90: fleet.hostP90,
      most: fleet.hostMax,
    });
    this.hostChart = draw("IOPS of hosts", rate, bands, { isBands: true, kind: "count" });
    this.bands = bands.map((line) => ({ ...line, values: places.map((i) => line.values[i]) }));
    this.drawDevices(fleet, draw);
  }

  private drawRates(fleet: FleetSeries, draw: Draw): void {
    const kinds = fleet.kinds.length > 1 ? fleet.kinds : [];
    draw(
      "IOPS of the fleet",
      rate,
      [
        { label: kinds.length > 0 ? "all" : "I/Os", values: fleet.iops },
        ...kinds.map((kind) => ({ label: kind.kind, values: kind.iops })),
      ],
      { kind: "count", limits: this.limits("iops") },
    );
    draw(
      "Latency of the fleet",
      latency,
      [
        { label: "p50", values: fleet.p50Ns },
        { label: "p90", values: fleet.p90Ns },
        { label: "p99", values: fleet.p99Ns },
        { label: "p99.9", values: fleet.p999Ns },
        { label: "max", values: fleet.maxNs },
      ],
      { log: true, kind: "latency", limits: this.limits("p50_ns", "p99_ns", "p999_ns") },
    );
    draw(
      "Throughput of the fleet",
      (v) => short("rate", v),
      [
        { label: kinds.length > 0 ? "all" : "bytes", values: fleet.bytesPerSecond },
        ...kinds
          .filter((kind) => kind.kind !== "fsync")
          .map((kind) => ({ label: kind.kind, values: kind.bytesPerSecond })),
      ],
      { kind: "rate", limits: this.limits("bytes_per_second") },
    );
  }

  private drawDevices(fleet: FleetSeries, draw: Draw): void {
    if (fleet.awaitNs.length === 0) return;
    draw("await of a request (iostat)", latency, [{ label: "await", values: fleet.awaitNs }], {
      log: true,
      kind: "latency",
      limits: this.limits("await_ns"),
    });
    const one = (v: number) => v.toFixed(1);
    draw("aqu-sz: requests at a device (iostat)", one, [
      { label: "aqu-sz", values: fleet.queueSize },
    ]);
    draw(
      "areq-sz: size of a request (iostat)",
      (v) => short("bytes", v),
      [{ label: "areq-sz", values: fleet.requestBytes }],
      { kind: "bytes" },
    );
    draw("busy, of a device (iostat)", percent, [{ label: "busy", values: fleet.busyRatio }]);
  }

  // To the last nine that the count of I/Os carries.
  private drawDistribution(): void {
    const total = this.phase.total;
    const points = [...(total?.percentiles ?? []), ...(total?.tail ?? [])].filter(
      (p) => p.percent < 100 && p.latencyNs !== undefined,
    );
    if (points.length < 2) return;
    const all = new Set(this.phase.workloads.map((w) => w.total?.metric).filter(Boolean));
    const own = total?.metric === "response_time" ? "response time" : "service time";
    const metric = all.size > 1 ? "response and service times" : own;
    this.distribution = new TimeChart(this.group.grid, {
      title: `Distribution of ${metric}, ${this.phase.name}: latency by nines (2 is p99, 3 p99.9)`,
      show: latency,
      log: true,
      kind: "latency",
      unit: "nines",
    });
    this.distribution.set(
      points.map((p) => -Math.log10(1 - p.percent / 100)),
      [{ label: "latency", values: points.map((p) => p.latencyNs ?? null) }],
    );
  }

  private drawLatencies(reply: SeriesReply, series: LatencySeries): void {
    const { spans } = reply;
    const places = wholeSpans(reply);
    const rows = series.edgesNs.length - 1;
    if (!spans || rows < 1) return;
    const shares = halves(series.shares);
    const columns = spans.endSeconds.length;
    const heat = new HeatMap(
      this.group.grid,
      {
        title: `Latencies over time, ${this.phase.name}: the slowest on top`,
        show: (v) => `${v < 0.0005 ? `${count(v * 1e6)} in a million` : percent(v)} of the I/Os`,
        // One I/O in a million is still seen.
        shade: (value, most) => (value > 0 ? 1 + Math.log10(value / most) / 6 : 0),
        least: (most) => most / 1e6,
        tall: Math.max(120, rows * 6),
      },
      this.group,
    );
    heat.set({
      rows: Array.from({ length: rows }, (_, i) => {
        const row = rows - 1 - i;
        return `${latency(series.edgesNs[row])} to ${latency(series.edgesNs[row + 1])}`;
      }),
      names: Array.from({ length: rows }, (_, i) => latency(series.edgesNs[rows - 1 - i])),
      begins: places.map((i) => spans.beginSeconds[i]),
      ends: places.map((i) => spans.endSeconds[i]),
      at: (row, column) => shares[(rows - 1 - row) * columns + places[column]] || NaN,
    });
    this.heats.push(heat);
  }

  private drawHosts(hosts: HostLines): void {
    const { spans } = hosts.spans;
    if (!spans) return;
    const places = wholeSpans(hosts.spans);
    const add = (
      what: string,
      values: Float32Array[],
      options: Pick<HeatOptions, "show" | "shade" | "least">,
    ) => {
      const heat = new HeatMap(
        this.group.grid,
        {
          title: `${what} of each host, ${this.phase.name}`,
          hint: "a click or Enter draws it above",
          ...options,
          pick: (row) => this.pin(row),
        },
        this.group,
      );
      heat.set({
        rows: hosts.names,
        begins: places.map((i) => spans.beginSeconds[i]),
        ends: places.map((i) => spans.endSeconds[i]),
        at: (row, column) => values[row][places[column]],
      });
      this.heats.push(heat);
    };
    add("IOPS", hosts.iops, {
      show: (v) => `${count(v)} IOPS`,
      shade: (value, most) => (most > 0 ? value / most : 0),
    });
    // From a thousandth of the longest on.
    add("p99", hosts.p99, {
      show: latency,
      shade: (value, most) => (most > 0 && value > 0 ? 1 + Math.log10(value / most) / 3 : 0),
      least: (most) => most / 1000,
    });
  }

  private pin(row: number): void {
    this.pinned = pinnedAfter(this.pinned, row);
    this.keep(this.group.shown);
    this.drawPinned();
  }

  private drawPinned(): void {
    const { hosts } = this;
    const spans = hosts?.spans.spans;
    if (!hosts || !spans) return;
    const lines = this.pinned
      .filter((row) => row < hosts.names.length)
      .map((row) => {
        let column = 0;
        return {
          label: hosts.names[row],
          values: this.ends.map((end) => {
            while (column + 1 < spans.endSeconds.length && spans.endSeconds[column] < end) column++;
            if (spans.beginSeconds[column] >= end || spans.endSeconds[column] < end - 0.5)
              return null;
            const value = hosts.iops[row][column];
            return value === undefined || Number.isNaN(value) ? null : value;
          }),
        };
      });
    this.set(this.hostChart, [...this.bands, ...lines]);
  }
}
