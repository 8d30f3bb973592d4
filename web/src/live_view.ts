// A run in progress, from its begin on, by server-sent events; then its report.

import type { FleetInterval, PhaseChange, RunSummary, WatchEvent } from "./api";
import { bandsOf, linesOf, TimeChart } from "./charts";
import { element } from "./dom";
import { count, latency, percent, seconds, throughput } from "./format";
import { eventLine } from "./events";
import { pill } from "./verdict";
import type { View } from "./view";

// Samples are a second apart; drawing waits for what comes at once.
const drawMs = 200;
// Of one phase; then every second point is left out.
const mostPoints = 4000;

function jain(values: number[]): number {
  const sum = values.reduce((a, b) => a + b, 0);
  const squares = values.reduce((a, b) => a + b * b, 0);
  return squares > 0 ? (sum * sum) / (values.length * squares) : 1;
}

// What has come of one phase.
class PhaseData {
  x: number[] = [];
  iops: number[] = [];
  mib: number[] = [];
  p99: number[] = [];
  hosts: number[][] = []; // of each point, the hosts' IOPS; none where they are not kept
  errors = 0;
  ramp = 0;
  marks: { at: number; text: string }[] = [];
  last?: FleetInterval;

  add(interval: FleetInterval): void {
    const at = interval.endSeconds;
    if (this.x.length > 0 && at <= this.x[this.x.length - 1]) return; // told twice
    this.x.push(at);
    this.iops.push(interval.iops);
    this.mib.push(interval.bytesPerSecond / 1048576);
    this.p99.push(interval.p99Ns);
    this.hosts.push(interval.hosts.map((host) => host.iops).sort((a, b) => a - b));
    this.errors += interval.errors;
    if (interval.intervalClass === "ramp") this.ramp = at;
    this.last = interval;
    if (this.x.length > mostPoints) this.thin();
  }

  private thin(): void {
    const even = <T>(list: T[]) => list.filter((_, i) => i % 2 === 0);
    this.x = even(this.x);
    this.iops = even(this.iops);
    this.mib = even(this.mib);
    this.p99 = even(this.p99);
    this.hosts = even(this.hosts);
  }
}

export class LiveView implements View {
  private readonly source: EventSource;
  private readonly clock: number;
  private readonly strip = element("ol", { class: "strip" });
  private readonly line = element("p", { id: "live-line", role: "status" }, "waiting");
  private readonly age = element("span", { class: "muted" });
  private readonly tiles = element("div", { class: "tiles" });
  private readonly plots = element("div", { id: "live-charts" });
  private readonly events = element("div");
  private phases: PhaseChange[] = [];
  private phase = -1;
  private data = new PhaseData();
  private charts: TimeChart[] = [];
  private heardAt = 0;
  private drawing = 0;

  constructor(
    main: HTMLElement,
    run: RunSummary,
    private readonly ended: () => void,
  ) {
    main.replaceChildren(
      element("h1", {}, run.jobName, " ", pill({ word: run.state, tone: "plain" })),
      element("div", { class: "bar" }, this.strip, this.line, this.age),
      this.tiles,
      this.plots,
      element("h2", {}, "Events"),
      this.events,
    );
    this.source = new EventSource(`/api/runs/${run.runId}/events`);
    this.source.onmessage = (message) => this.take(JSON.parse(message.data) as WatchEvent);
    // Not the run's end: the browser asks again by itself, unless that is in vain.
    this.source.addEventListener("failed", (message) => {
      const failed = JSON.parse((message as MessageEvent).data) as {
        retry: boolean;
        error: string;
      };
      this.line.textContent = failed.retry ? `${failed.error} (asking again)` : failed.error;
      if (!failed.retry) this.source.close();
    });
    this.source.onerror = () => {
      if (this.source.readyState === EventSource.CLOSED) {
        this.line.textContent = "no live events: too many pages watch already";
      } else if (this.data.x.length > 0) {
        const at = this.data.x[this.data.x.length - 1];
        if (this.data.marks[this.data.marks.length - 1]?.at !== at)
          this.data.marks.push({ at, text: "the controller was away" });
        this.line.textContent = "the controller is away (asking again)";
      }
    };
    this.source.addEventListener("end", () => {
      this.source.close();
      this.ended();
    });
    this.clock = window.setInterval(() => this.tick(), 1000);
  }

  destroy(): void {
    this.source.close();
    clearInterval(this.clock);
    clearTimeout(this.drawing);
    for (const chart of this.charts) chart.destroy();
  }

  private take(event: WatchEvent): void {
    this.heardAt = performance.now();
    if (event.phase) this.takePhase(event.phase);
    if (event.event) {
      this.events.prepend(eventLine(event.event));
      if (event.event.severity !== "info" && this.data.x.length > 0)
        this.data.marks.push({
          at: this.data.x[this.data.x.length - 1],
          text: `${event.event.host} ${event.event.severity}`,
        });
    }
    if (event.progress && event.progress.totalBytes > 0) {
      const share = event.progress.doneBytes / event.progress.totalBytes;
      this.line.textContent = `${percent(share)} laid out`;
    }
    if (event.interval) {
      if (event.interval.phase !== this.phase) this.begin(event.interval.phase);
      this.data.add(event.interval);
      if (this.drawing === 0)
        this.drawing = window.setTimeout(() => {
          this.drawing = 0;
          this.draw();
        }, drawMs);
    }
  }

  private takePhase(phase: PhaseChange): void {
    this.phases[phase.index] = phase;
    this.strip.replaceChildren(
      ...Array.from({ length: phase.count }, (_, i) => {
        const known = this.phases[i];
        const words = known ? `${known.name}: ${known.state}` : `phase ${i + 1}`;
        return element("li", i === phase.index ? { "aria-current": "step" } : {}, words);
      }),
    );
    this.line.textContent = `${phase.name}: ${phase.state}`;
  }

  private begin(phase: number): void {
    this.phase = phase;
    this.data = new PhaseData();
    for (const chart of this.charts) chart.destroy();
    this.plots.replaceChildren();
    const marks = () => this.data.marks;
    const ramp = () => this.data.ramp;
    this.charts = [
      new TimeChart(this.plots, { title: "IOPS of the fleet", show: count, marks, ramp }),
      new TimeChart(this.plots, {
        title: "Throughput of the fleet, MiB/s",
        show: (v) => v.toFixed(0),
        marks,
        ramp,
      }),
      new TimeChart(this.plots, {
        title: "p99 of the fleet",
        show: latency,
        log: true,
        marks,
        ramp,
      }),
      new TimeChart(this.plots, { title: "IOPS of hosts", show: count, marks, ramp }, true),
    ];
  }

  private draw(): void {
    const { x, iops, mib, p99, hosts, last } = this.data;
    if (!last) return;
    const expected = this.phases[this.phase]?.expectedSeconds ?? 0;
    const left = expected > last.endSeconds ? `, ${seconds(expected - last.endSeconds)} left` : "";
    this.line.textContent =
      `${last.endSeconds.toFixed(0)} s (${last.intervalClass})${left}: ` +
      `${count(last.iops)} IOPS, ${throughput(last.bytesPerSecond)}, p99 ${latency(last.p99Ns)}`;
    this.charts[0].set(x, [{ label: "IOPS", values: iops }]);
    this.charts[1].set(x, [{ label: "MiB/s", values: mib }]);
    this.charts[2].set(x, [{ label: "p99", values: p99 }]);
    this.charts[3].set(x, linesOf(bandsOf(hosts)));
    this.drawTiles(last);
  }

  private drawTiles(last: FleetInterval): void {
    const slowest = last.hosts.reduce<{ host: string; iops: number } | undefined>(
      (worst, host) => (worst === undefined || host.iops < worst.iops ? host : worst),
      undefined,
    );
    const tile = (name: string, value: string, tone = "") =>
      element("div", { class: `tile ${tone}` }, element("b", {}, value), element("span", {}, name));
    this.tiles.replaceChildren(
      tile("IOPS", count(last.iops)),
      tile("throughput", throughput(last.bytesPerSecond)),
      tile("p99", latency(last.p99Ns)),
      tile("errors so far", count(this.data.errors), this.data.errors > 0 ? "bad" : ""),
      tile("Jain over hosts", jain(last.hosts.map((host) => host.iops)).toFixed(4)),
      tile("slowest host", slowest ? `${slowest.host} ${count(slowest.iops)}` : "–"),
    );
  }

  private tick(): void {
    if (this.heardAt === 0) return;
    const ago = Math.round((performance.now() - this.heardAt) / 1000);
    this.age.textContent = ago < 3 ? "" : `the last event came ${ago} s ago`;
  }
}
