// A run in progress, from its begin on, by server-sent events; then its report.

import { choices, choose, pinnedOf } from "./address";
import type {
  EventReport,
  FleetInterval,
  PhaseChange,
  ProgressUpdate,
  RunSummary,
  WatchEvent,
} from "./api";
import { element } from "./dom";
import { eventLine, markOf, mostMarks } from "./events";
import { count, latency, none, orNone, percent, seconds, size } from "./format";
import { LiveCharts } from "./live_charts";
import { beyond, LiveData, whole } from "./live_data";
import { pill, syntheticMark } from "./verdict";
import type { View } from "./view";

// Samples are a second apart; drawing waits for what comes at once.
const drawMs = 250;
const againMs = 3000;
// Of a fleet so small every host is shown from the begin.
const fewHosts = 64;
const mostEvents = 500;
// Phases of the strip on each side of the one in progress.
const stripSide = 3;
const known = orNone(latency); // an interval of few I/Os has no percentiles
const inProgress = ["arming", "running", "draining"];

export class LiveView implements View {
  private source?: EventSource;
  private readonly clock: number;
  private requests = 0;
  private readonly title = element("h1");
  private readonly strip = element("ol", { class: "strip" });
  private readonly line = element("p", { id: "live-line" }, "waiting");
  private readonly said = element("p", { class: "unseen", role: "status" });
  private readonly age = element("span", { class: "warn" });
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
  private readonly absences = element("div", { id: "absences" });
  private phases: PhaseChange[] = [];
  private names: string[] = [];
  private phase = -1;
  private data = new LiveData();
  private charts?: LiveCharts;
  private sampledAt = 0;
  private isOver = false; // the phase of the figures
  private drawing = 0;
  private allHosts: boolean;
  private isChosen: boolean; // whether all hosts are shown: by the reader, or in the address
  private errors = 0;
  private troubles = 0;
  private epoch = 0; // of the controller that tells
  // When nothing came: phase, second, and what it was.
  private lostAt?: [number, number];
  private aways: [number, number, string][] = [];
  private pinned: number[];
  private span?: [number, number];

  constructor(
    main: HTMLElement,
    private run: RunSummary,
    private readonly ended: () => void,
  ) {
    const all = choices();
    const chosen = all.get("hosts");
    this.isChosen = chosen !== null;
    this.allHosts = chosen === "all" || (chosen === null && this.isFew());
    this.pinned = pinnedOf(all.get("pin"));
    if (all.has("from")) this.span = [Number(all.get("from")), Number(all.get("to"))];
    this.hostsButton.addEventListener("click", () => this.changeHosts());
    main.replaceChildren(
      this.title,
      element(
        "div",
        { class: "bar" },
        this.verdict,
        this.strip,
        this.line,
        this.progress,
        this.age,
      ),
      this.said,
      this.tiles,
      this.extremes,
      element("p", {}, this.hostsButton),
      this.plots,
      element("h2", {}, "Events"),
      this.absences,
      this.events,
    );
    this.listen();
    this.clock = window.setInterval(() => this.tick(), 1000);
  }

  destroy(): void {
    this.source?.close();
    clearInterval(this.clock);
    clearTimeout(this.drawing);
    clearTimeout(this.requests);
    this.charts?.destroy();
  }

  private isFew(): boolean {
    return this.run.hosts > 0 && this.run.hosts <= fewHosts;
  }

  // All is told from the begin.
  private forget(): void {
    this.phases = [];
    this.phase = -1;
    this.errors = this.troubles = 0;
    this.events.replaceChildren();
  }

  private listen(): void {
    this.source?.close();
    this.forget();
    this.drawTitle();
    this.hostsButton.textContent = this.allHosts ? "show bands of hosts only" : "show every host";
    const hosts = this.allHosts ? "?hosts=all" : "";
    const source = new EventSource(`/api/runs/${this.run.runId}/events${hosts}`);
    this.source = source;
    source.onmessage = (message: MessageEvent<string>) => {
      // The upper half of an event's number is the epoch of its controller: another one tells all
      // that it has.
      const epoch = Math.floor(Number(message.lastEventId) / 2 ** 32);
      const isOther = epoch > 0 && this.epoch > 0 && epoch !== this.epoch;
      if (epoch > 0) this.isBack(isOther ? "the controller was away" : "the connection was lost");
      if (isOther) this.forget();
      if (epoch > 0) this.epoch = epoch;
      this.take(JSON.parse(message.data) as WatchEvent);
    };
    // Not the run's end: the browser asks again by itself, unless that is in vain.
    source.addEventListener("failed", (message) => {
      const failed = JSON.parse((message as MessageEvent<string>).data) as {
        retry: boolean;
        error: string;
      };
      this.line.textContent = failed.retry ? `${failed.error} (retrying)` : failed.error;
      if (!failed.retry) source.close();
    });
    source.onerror = () => {
      if (this.phase >= 0 && !this.lostAt && this.data.last)
        this.lostAt = [this.phase, this.data.last.endSeconds];
      this.line.textContent = "no live events (retrying)";
      // An answer that is none ends a browser's patience, not ours.
      if (source.readyState === EventSource.CLOSED)
        this.requests = window.setTimeout(() => this.listen(), againMs);
    };
    source.addEventListener("end", () => {
      source.close();
      this.ended();
    });
  }

  private changeHosts(): void {
    this.allHosts = !this.allHosts;
    this.isChosen = true;
    choose({ hosts: this.allHosts ? "all" : "bands" });
    this.listen();
  }

  // Events come again.
  private isBack(why: string): void {
    if (!this.lostAt) return;
    const [phase, at] = this.lostAt;
    this.lostAt = undefined;
    if (this.aways.length >= mostMarks) return;
    this.aways.push([phase, at, why]);
    if (phase === this.phase) this.data.marks.push({ at, text: why });
    const name = this.phases[phase]?.name ?? `phase ${phase + 1}`;
    this.absences.append(element("p", { class: "warn" }, `${name} at ${at.toFixed(0)} s: ${why}`));
  }

  private mark(text: string): void {
    const at = this.data.last?.endSeconds ?? 0;
    if (this.phase < 0 || this.data.marks.length >= mostMarks) return;
    const last = this.data.marks[this.data.marks.length - 1];
    if (last?.at !== at || last.text !== text) this.data.marks.push({ at, text });
  }

  private take(event: WatchEvent): void {
    if (event.run) this.takeRun(event.run);
    if (event.phase) this.takePhase(event.phase);
    if (event.event) this.takeEvent(event.event);
    if (event.progress) this.takeProgress(event.progress);
    if (event.interval) this.takeInterval(whole(event.interval));
  }

  private takeRun(run: RunSummary): void {
    const told = Object.fromEntries(Object.entries(run).filter(([, value]) => value));
    this.run = { ...this.run, ...told };
    this.drawTitle();
    this.drawVerdict();
    // Of a queued run it was not known how many.
    if (this.isChosen || this.allHosts || !this.isFew() || this.data.last) return;
    this.allHosts = true;
    this.listen();
  }

  private takeEvent(event: EventReport): void {
    this.events.prepend(eventLine(event));
    if (this.events.childElementCount > mostEvents) this.events.lastElementChild?.remove();
    if (event.severity === "info") return;
    this.troubles++;
    this.drawVerdict();
    this.mark(markOf(event));
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
    // Another attempt begins anew.
    if (phase.state === "arming" && phase.index === this.phase) this.phase = -1;
    this.phases[phase.index] = { ...phase, hosts: [] };
    if (phase.hosts.length > 0) this.names = phase.hosts;
    this.drawStrip(phase);
    this.progress.hidden = true;
    const waiting = phase.waitingFor ?? [];
    const words = waiting.length > 0 ? `, waiting for ${waiting.join(", ")}` : "";
    this.line.textContent = `${phase.name}: ${phase.state}${words}`;
    this.said.textContent = this.line.textContent;
    this.isOver = phase.index !== this.phase || !inProgress.includes(phase.state);
    this.drawExtremes();
    if (phase.index !== this.phase) {
      this.sampledAt = 0;
      return;
    }
    if (waiting.length > 0) this.mark(`waiting for ${waiting[0]}`);
    else if (phase.state === "draining") this.mark("draining");
  }

  private takeInterval(interval: FleetInterval): void {
    if (interval.phase < this.phase) return; // told before
    if (interval.phase !== this.phase) this.begin(interval.phase);
    const { errors } = this.data;
    this.data.add(interval);
    this.errors += this.data.errors - errors;
    this.sampledAt = performance.now();
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
    for (const [of, at, text] of this.aways) if (of === phase) this.data.marks.push({ at, text });
    this.charts = new LiveCharts(
      this.plots,
      this.data,
      this.phases[phase],
      this.names,
      this.allHosts,
      this.pinned,
      this.span,
      (pinned, span) => {
        this.pinned = pinned;
        this.span = span;
        const at = (value?: number) => (value === undefined ? null : value.toFixed(1));
        choose({ pin: pinned.join(","), from: at(span?.[0]), to: at(span?.[1]) });
      },
    );
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
      this.figures(last) +
      (waiting.length > 0 ? `; waiting for ${waiting.join(", ")}` : "");
    this.charts?.draw();
    this.drawTiles(last);
    this.drawVerdict();
  }

  private get isObserve(): boolean {
    return this.phases[this.phase]?.kind === "observe";
  }

  private figures(last: FleetInterval): string {
    if (!this.isObserve)
      return `${count(last.iops)} IOPS, ${size(last.bytesPerSecond)}/s, p99 ${known(last.p99Ns)}`;
    if (last.iostat.length < 4) return "no device";
    return `await ${known(last.iostat[0])}, busy ${percent(last.iostat[3])}`;
  }

  private drawTitle(): void {
    this.title.replaceChildren(this.run.jobName, " ", ...syntheticMark(this.run));
  }

  // A sweep has a thousand phases: those around the one in progress.
  private drawStrip(phase: PhaseChange): void {
    const from = Math.max(0, phase.index - stripSide);
    const to = Math.min(phase.count, phase.index + stripSide + 1);
    const entries = Array.from({ length: to - from }, (_, k) => {
      const i = from + k;
      const known = this.phases[i];
      const words = known ? `${known.name}: ${known.state}` : `phase ${i + 1}`;
      return element("li", i === phase.index ? { "aria-current": "step" } : {}, words);
    });
    if (from > 0 || to < phase.count)
      entries.push(element("li", {}, `${phase.index + 1} of ${phase.count} phases`));
    this.strip.replaceChildren(...entries);
  }

  private drawTiles(last: FleetInterval): void {
    const slowest = last.worst.length > 0 ? last.worst[0] : -1;
    const tile = (what: string, value: string, tone = "") =>
      element("div", { class: `tile ${tone}` }, element("b", {}, value), element("span", {}, what));
    if (this.isObserve) {
      const [await_, queue, request, busy] = last.iostat;
      const shown = (value: number | undefined, show: (value: number) => string) =>
        value === undefined ? none : show(value);
      this.tiles.replaceChildren(
        tile("await", shown(await_, known)),
        tile("size of a request", shown(request, orNone(size))),
        tile(
          "requests at a device",
          shown(queue, (v) => v.toFixed(1)),
        ),
        tile("busy", shown(busy, percent)),
      );
      return this.drawExtremes();
    }
    this.tiles.replaceChildren(
      tile("IOPS", count(last.iops)),
      tile("throughput", `${size(last.bytesPerSecond)}/s`),
      tile("p50", known(last.p50Ns)),
      tile("p99", known(last.p99Ns)),
      tile("p99.9", known(last.p999Ns)),
      tile("errors so far", count(this.errors), this.errors > 0 ? "bad" : ""),
      tile("Jain over hosts", last.jain.toFixed(4)),
      tile(
        "slowest host",
        slowest < 0 ? none : `${this.nameOf(slowest)} ${count(last.worstIops[0] ?? 0)}`,
      ),
    );
    this.drawExtremes();
  }

  // The hosts with the most and the least; of a phase that is over, that it is.
  private drawExtremes(): void {
    const { last } = this.data;
    if (!last) return;
    const list = (places: number[], iops: number[]) =>
      places.map((place, i) => `${this.nameOf(place)} ${count(iops[i] ?? 0)}`).join(", ");
    if (this.isObserve && !this.isOver) {
      this.extremes.textContent = "";
      return;
    }
    this.extremes.textContent = this.isOver
      ? `the last figures of ${this.phases[this.phase]?.name ?? "a phase"}, which is over`
      : `most: ${list(last.best, last.bestIops)}; ` +
        `least: ${list(last.worst, last.worstIops)} (IOPS)`;
  }

  private nameOf(position: number): string {
    return this.names[position] ?? `host ${position + 1}`;
  }

  // As far as it can be told before the end.
  private drawVerdict(): void {
    const isBad = this.errors > 0 || this.troubles > 0;
    const isQueued = this.run.state === "queued" && this.phases.length === 0;
    this.verdict.replaceChildren(
      pill(
        isBad
          ? { word: this.errors > 0 ? "errors so far" : "warnings so far", tone: "warn" }
          : { word: isQueued ? "queued" : "running", tone: "plain" },
      ),
      ...this.beyondNow().flatMap((text) => [
        " ",
        pill({ word: `now beyond: ${text}`, tone: "warn" }),
      ]),
    );
  }

  private beyondNow(): string[] {
    const { last } = this.data;
    const change = this.phases[this.phase];
    return last && change?.state === "running" ? beyond(last, change.limits ?? []) : [];
  }

  private tick(): void {
    if (this.sampledAt === 0) {
      this.age.textContent = "";
      return;
    }
    const ago = Math.round((performance.now() - this.sampledAt) / 1000);
    this.age.textContent = ago < 3 ? "" : `the last sample came ${ago} s ago`;
  }
}
