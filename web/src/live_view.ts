// A run in progress, from its begin on, by server-sent events; then its report.

import type { FleetInterval, PhaseChange, ProgressUpdate, RunSummary, WatchEvent } from "./api";
import { element } from "./dom";
import { eventLine } from "./events";
import { count, latency, percent, seconds, throughput } from "./format";
import { LiveCharts } from "./live_charts";
import { LiveData, whole } from "./live_data";
import { pill, syntheticMark } from "./verdict";
import { choices, choose, type View } from "./view";

// Samples are a second apart; drawing waits for what comes at once.
const drawMs = 250;
// Of a fleet so small every host is shown from the begin.
const fewHosts = 64;
const mostEvents = 500;
const mostMarks = 100;

export class LiveView implements View {
  private source?: EventSource;
  private readonly clock: number;
  private readonly strip = element("ol", { class: "strip" });
  private readonly line = element("p", { id: "live-line", role: "status" }, "waiting");
  private readonly age = element("span", { class: "muted" });
  private readonly progress = element("progress", {
    max: "1",
    "aria-label": "laid out",
  }) as HTMLProgressElement;
  private readonly verdict = element("span");
  private readonly tiles = element("div", { class: "tiles" });
  private readonly extremes = element("p", { class: "muted" });
  private readonly hostsButton = element("button", { type: "button" });
  private readonly plots = element("div", { id: "live-charts" });
  private readonly events = element("div");
  private phases: PhaseChange[] = [];
  private names: string[] = [];
  private phase = -1;
  private data = new LiveData();
  private charts?: LiveCharts;
  private heardAt = 0;
  private drawing = 0;
  private allHosts: boolean;
  private troubles = 0;

  constructor(
    main: HTMLElement,
    private readonly run: RunSummary,
    private readonly ended: () => void,
  ) {
    const chosen = choices().get("hosts");
    this.allHosts = chosen === "all" || (chosen === null && run.hosts <= fewHosts);
    this.progress.hidden = true;
    this.hostsButton.addEventListener("click", () => this.changeHosts());
    main.replaceChildren(
      element("h1", {}, run.jobName, " ", ...syntheticMark(run)),
      element(
        "div",
        { class: "bar" },
        this.verdict,
        this.strip,
        this.line,
        this.progress,
        this.age,
      ),
      this.tiles,
      this.extremes,
      element("p", {}, this.hostsButton),
      this.plots,
      element("h2", {}, "Events"),
      this.events,
    );
    this.listen();
    this.clock = window.setInterval(() => this.tick(), 1000);
  }

  destroy(): void {
    this.source?.close();
    clearInterval(this.clock);
    clearTimeout(this.drawing);
    this.charts?.destroy();
  }

  private listen(): void {
    this.source?.close();
    this.hostsButton.textContent = this.allHosts ? "show bands of hosts only" : "show every host";
    const hosts = this.allHosts ? "?hosts=all" : "";
    const source = new EventSource(`/api/runs/${this.run.runId}/events${hosts}`);
    this.source = source;
    source.onmessage = (message) => this.take(JSON.parse(message.data) as WatchEvent);
    // Not the run's end: the browser asks again by itself, unless that is in vain.
    source.addEventListener("failed", (message) => {
      const failed = JSON.parse((message as MessageEvent).data) as {
        retry: boolean;
        error: string;
      };
      this.line.textContent = failed.retry ? `${failed.error} (asking again)` : failed.error;
      if (!failed.retry) source.close();
    });
    source.onerror = () => {
      if (source.readyState === EventSource.CLOSED) {
        this.line.textContent = "no live events: too many pages watch already";
      } else if (this.data.last) {
        this.mark("the controller was away");
        this.line.textContent = "the controller is away (asking again)";
      }
    };
    source.addEventListener("end", () => {
      source.close();
      this.ended();
    });
  }

  private changeHosts(): void {
    this.allHosts = !this.allHosts;
    choose({ hosts: this.allHosts ? "all" : "bands" });
    // All is told again from the begin.
    this.phases = [];
    this.phase = -1;
    this.events.replaceChildren();
    this.troubles = 0;
    this.listen();
  }

  private mark(text: string): void {
    const at = this.data.last?.endSeconds;
    if (at === undefined || this.data.marks.length >= mostMarks) return;
    const last = this.data.marks[this.data.marks.length - 1];
    if (last?.at !== at || last.text !== text) this.data.marks.push({ at, text });
  }

  private take(event: WatchEvent): void {
    this.heardAt = performance.now();
    if (event.run) this.drawVerdict();
    if (event.phase) this.takePhase(event.phase);
    if (event.event) {
      this.events.prepend(eventLine(event.event));
      if (this.events.childElementCount > mostEvents) this.events.lastElementChild?.remove();
      if (event.event.severity !== "info") {
        this.troubles++;
        this.drawVerdict();
        this.mark(`${event.event.host ?? ""} ${event.event.severity}`);
      }
    }
    if (event.progress) this.takeProgress(event.progress);
    if (event.interval) this.takeInterval(whole(event.interval));
  }

  private takeProgress({ doneBytes, totalBytes }: ProgressUpdate): void {
    if (!(totalBytes > 0)) return;
    const share = (doneBytes ?? 0) / totalBytes;
    this.progress.hidden = false;
    this.progress.value = share;
    this.line.textContent = `${percent(share)} laid out`;
  }

  private takePhase(change: PhaseChange): void {
    const phase = { ...change, index: change.index ?? 0, hosts: change.hosts ?? [] };
    this.phases[phase.index] = phase;
    if (phase.hosts.length > 0) this.names = phase.hosts;
    this.strip.replaceChildren(
      ...Array.from({ length: phase.count }, (_, i) => {
        const known = this.phases[i];
        const words = known ? `${known.name}: ${known.state}` : `phase ${i + 1}`;
        return element("li", i === phase.index ? { "aria-current": "step" } : {}, words);
      }),
    );
    this.progress.hidden = true;
    const waiting = phase.waitingFor ?? [];
    const words = waiting.length > 0 ? `, waiting for ${waiting.join(", ")}` : "";
    this.line.textContent = `${phase.name}: ${phase.state}${words}`;
    if (waiting.length > 0) this.mark(`waiting for ${waiting[0]}`);
    else if (phase.state === "draining") this.mark("draining");
  }

  private takeInterval(interval: FleetInterval): void {
    if (interval.phase !== this.phase) this.begin(interval.phase);
    this.data.add(interval);
    if (this.drawing === 0)
      this.drawing = window.setTimeout(() => {
        this.drawing = 0;
        this.draw();
      }, drawMs);
  }

  private begin(phase: number): void {
    this.phase = phase;
    this.charts?.destroy();
    this.plots.replaceChildren();
    this.data = new LiveData();
    const change = this.phases[phase];
    this.charts = new LiveCharts(this.plots, this.data, change, this.names, this.allHosts);
  }

  private draw(): void {
    const { last } = this.data;
    if (!last) return;
    const change = this.phases[this.phase];
    const expected = change?.expectedSeconds ?? 0;
    const left = expected > last.endSeconds ? `, ${seconds(expected - last.endSeconds)} left` : "";
    const waiting = change?.waitingFor ?? [];
    this.line.textContent =
      `${last.endSeconds.toFixed(0)} s (${last.intervalClass})${left}: ` +
      `${count(last.iops)} IOPS, ${throughput(last.bytesPerSecond)}, p99 ${latency(last.p99Ns)}` +
      (waiting.length > 0 ? `; waiting for ${waiting.join(", ")}` : "");
    this.charts?.draw();
    this.drawTiles(last);
    this.drawVerdict();
  }

  private drawTiles(last: FleetInterval): void {
    const name = (position: number) => this.names[position] ?? `host ${position + 1}`;
    const slowest = last.worst.length > 0 ? last.worst[0] : -1;
    const tile = (what: string, value: string, tone = "") =>
      element("div", { class: `tile ${tone}` }, element("b", {}, value), element("span", {}, what));
    this.tiles.replaceChildren(
      tile("IOPS", count(last.iops)),
      tile("throughput", throughput(last.bytesPerSecond)),
      tile("p50", latency(last.p50Ns)),
      tile("p99", latency(last.p99Ns)),
      tile("p99.9", latency(last.p999Ns)),
      tile("errors so far", count(this.data.errors), this.data.errors > 0 ? "bad" : ""),
      tile("Jain over hosts", last.jain.toFixed(4)),
      tile("slowest host", slowest < 0 ? "–" : `${name(slowest)} ${count(last.worstIops[0] ?? 0)}`),
    );
    const list = (places: number[], iops: number[]) =>
      places.map((place, i) => `${name(place)} ${count(iops[i] ?? 0)}`).join(", ");
    this.extremes.textContent =
      `most: ${list(last.best, last.bestIops)}; ` +
      `least: ${list(last.worst, last.worstIops)} (IOPS)`;
  }

  // As far as it can be told before the end.
  private drawVerdict(): void {
    const isBad = this.data.errors > 0 || this.troubles > 0;
    const { state } = this.run;
    this.verdict.replaceChildren(
      pill(
        isBad
          ? { word: this.data.errors > 0 ? "errors so far" : "warnings so far", tone: "warn" }
          : { word: state === "queued" ? "queued" : "running", tone: "plain" },
      ),
    );
  }

  private tick(): void {
    if (this.heardAt === 0) return;
    const ago = Math.round((performance.now() - this.heardAt) / 1000);
    this.age.textContent = ago < 3 ? "" : `the last event came ${ago} s ago`;
  }
}
