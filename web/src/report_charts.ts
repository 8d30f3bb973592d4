// A phase of a report over time: fetched when it comes into sight, drawn in one group of charts.

import { choices, choose, pinnedAfter, pinnedOf } from "./address";
import {
  get,
  halves,
  NotThere,
  type EventReport,
  type FleetSeries,
  type HostSeries,
  type PhaseReport,
  type SeriesReply,
} from "./api";
import {
  ChartGroup,
  linesOf,
  wholeSpans,
  withGaps,
  type Line,
  type Mark,
  type Options,
  type Shade,
  type TimeChart,
} from "./charts";
import { element, type Tone } from "./dom";
import { marksFrom } from "./events";
import { latency, percent, short, typeset } from "./format";
import type { HeatMap } from "./heat_map";
import { loaded } from "./scripts";
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
  // When the first of them is drawn, or never will be.
  readonly begun: Promise<void>;
  private begin = () => {};
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
    this.begun = new Promise((done) => (this.begin = done));
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
      this.begin();
      const { drawDistribution } = await loaded(import("./report_heats"));
      if (!this.requests.isOver) this.distribution = drawDistribution(this.group, this.phase);
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
    this.begin();
    // An observe phase has no load, and so neither hosts' IOPS nor latencies.
    if (this.phase.observed) return undefined;
    const [hosts, latencies, heats] = await Promise.all([
      find<SeriesReply>(`${of}/hosts${which}&bins=${bins}`, this.requests),
      find<SeriesReply>(`${of}/latency${which}&bins=${bins}`, this.requests),
      loaded(import("./report_heats")),
    ]);
    if (this.requests.isOver) return undefined;
    const { group, phase } = this;
    if (latencies?.latencies)
      this.heats.push(...heats.drawLatencies(group, phase, latencies, latencies.latencies));
    if (!hosts?.hosts) return undefined;
    this.hosts = hostLines(hosts, hosts.hosts);
    if (this.hosts.names.length > 1)
      this.heats.push(...heats.drawHosts(group, phase, this.hosts, (row) => this.pin(row)));
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
    draw(
      "aqu-sz: requests at a device (iostat)",
      (v) => short("number", v),
      [{ label: "aqu-sz", values: fleet.queueSize }],
      { kind: "number" },
    );
    draw(
      "areq-sz: size of a request (iostat)",
      (v) => short("bytes", v),
      [{ label: "areq-sz", values: fleet.requestBytes }],
      { kind: "bytes" },
    );
    draw("busy, of a device (iostat)", percent, [{ label: "busy", values: fleet.busyRatio }], {
      kind: "ratio",
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
