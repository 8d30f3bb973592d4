// A run in progress, from its begin on, by server-sent events; then its report.

import "./base";
import { choices, choose, pinnedOf } from "./address";
import { get, type Report, type RunSummary, type WatchEvent } from "./api";
import { element } from "./dom";
import { EventList } from "./event_list";
import { LiveCharts } from "./live_charts";
import { LiveFeed, type FeedListener } from "./live_feed";
import { LiveHead } from "./live_head";
import { LiveRun } from "./live_run";
import { noticesOf, noticesOfReport, type Facts, type Notice } from "./live_state";
import { whenStatus, type Known } from "./status";
import { setTab } from "./tab";
import type { View } from "./view";
import { Wall } from "./wall";

// Samples are a second apart; drawing waits for what comes at once.
const drawMs = 250;
// A phase that is over is in the store a moment later; it is judged by its report, which is not
// asked for more often than this.
const judgeMs = 2000;
const judgeAgainMs = 15000;
// A fleet so small shows every host from the begin.
const fewHosts = 64;

export class LiveView implements View, FeedListener {
  private readonly live: LiveRun;
  private readonly feed: LiveFeed;
  private readonly wall = new Wall(() => this.charts?.fit());
  private readonly head = new LiveHead(this.wall.link);
  private readonly hostsButton = element("button", { type: "button" });
  private readonly plots = element("div", { id: "live-charts" });
  private readonly events = new EventList();
  private readonly absences = element("div", { id: "absences" });
  private readonly clock: number;
  private readonly unheard: () => void;
  private charts?: LiveCharts;
  private drawing = 0;
  private judging = 0;
  private judgedAt = -Infinity;
  private allHosts: boolean;
  private isChosen: boolean; // whether all hosts are shown: by the reader, or in the address
  private pinned: number[];
  private span?: [number, number];
  private known: Known = { since: 0 };
  private away?: { since: number; why: string; isFinal: boolean };
  private ofPhases: Notice[];
  private readonly left = new AbortController();

  constructor(
    main: HTMLElement,
    report: Report,
    run: RunSummary,
    private readonly whenEnded: () => void,
  ) {
    const all = choices();
    const chosen = all.get("hosts");
    this.isChosen = chosen !== null;
    this.pinned = pinnedOf(all.get("pin"));
    if (all.has("from")) this.span = [Number(all.get("from")), Number(all.get("to"))];
    this.live = new LiveRun(
      run,
      () => this.begin(),
      (event) => this.events.add(event),
    );
    this.allHosts = chosen === "all" || (chosen === null && this.isFew());
    this.ofPhases = noticesOfReport(report);
    this.hostsButton.addEventListener("click", () => this.changeHosts());
    main.replaceChildren(
      this.head.root,
      this.plots,
      element("p", { class: "actions" }, this.hostsButton),
      element(
        "section",
        { class: "live-events" },
        element("h2", {}, "Events"),
        this.absences,
        this.events.root,
      ),
    );
    this.feed = new LiveFeed(run.runId, this);
    this.unheard = whenStatus((known) => {
      this.known = known;
    });
    this.listen();
    this.clock = window.setInterval(() => this.drawHead(), 1000);
  }

  destroy(): void {
    this.feed.close();
    this.unheard();
    this.left.abort();
    clearInterval(this.clock);
    clearTimeout(this.drawing);
    clearTimeout(this.judging);
    this.charts?.destroy();
    this.wall.destroy();
    setTab("Lockstep");
  }

  private isFew(): boolean {
    const { hosts } = this.live.run;
    return hosts > 0 && hosts <= fewHosts;
  }

  private listen(): void {
    this.hostsButton.textContent = this.allHosts ? "show bands of hosts only" : "show every host";
    this.feed.open(this.allHosts);
  }

  private changeHosts(): void {
    this.allHosts = !this.allHosts;
    this.isChosen = true;
    choose({ hosts: this.allHosts ? "all" : "bands" });
    this.listen();
  }

  begins(): void {
    this.live.forget();
    this.events.clear();
    this.drawHead();
  }

  takes(event: WatchEvent): void {
    this.live.take(event);
    if (event.run) this.takesRun();
    if (event.phase) this.takesPhase(event.phase.state);
    if (this.drawing !== 0) return;
    this.drawing = window.setTimeout(() => {
      this.drawing = 0;
      this.drawHead();
      if (this.live.data.last) this.charts?.draw();
    }, drawMs);
  }

  // The number of hosts of a queued run was not known.
  private takesRun(): void {
    if (this.isChosen || this.allHosts || !this.isFew() || this.live.data.last) return;
    this.allHosts = true;
    this.listen();
  }

  private takesPhase(state: string): void {
    if (!["done", "failed"].includes(state) || this.judging !== 0) return;
    const wait = Math.max(judgeMs, this.judgedAt + judgeAgainMs - performance.now());
    this.judging = window.setTimeout(() => {
      this.judging = 0;
      this.judgedAt = performance.now();
      void this.judge();
    }, wait);
  }

  private async judge(): Promise<void> {
    try {
      const path = `/api/runs/${this.live.run.runId}`;
      this.ofPhases = noticesOfReport(await get<Report>(path, this.left.signal));
    } catch {
      return; // the next phase's end asks again
    }
  }

  isLost(why: string, isFinal: boolean): void {
    this.live.isLost();
    this.away = { since: this.away?.since ?? performance.now(), why, isFinal };
    this.drawHead();
  }

  isBack(why: string): void {
    this.away = undefined;
    const absence = this.live.isBack(why);
    if (!absence) return;
    const name = this.live.phases[absence.phase]?.name ?? `phase ${absence.phase + 1}`;
    const words = `${name} at ${absence.at.toFixed(0)} s: ${why}`;
    this.absences.append(element("p", { class: "warn" }, words));
  }

  ended(): void {
    this.whenEnded();
  }

  private begin(): void {
    const { live } = this;
    this.charts?.destroy();
    this.plots.replaceChildren();
    this.charts = new LiveCharts(
      this.plots,
      live.data,
      live.measured,
      live.names,
      this.allHosts,
      this.pinned,
      this.span,
      this.wall,
      (pinned, span) => {
        this.pinned = pinned;
        this.span = span;
        const at = (value?: number) => (value === undefined ? null : value.toFixed(1));
        choose({ pin: pinned.join(","), from: at(span?.[0]), to: at(span?.[1]) });
      },
    );
  }

  private drawHead(): void {
    const now = performance.now();
    this.head.draw(this.live, noticesOf(this.facts(now)), now, this.away !== undefined);
    this.charts?.fit();
  }

  private facts(now: number): Facts {
    const { live, away, known } = this;
    const { last } = live.data;
    const { change } = live;
    const age = live.age(now);
    const store = known.status?.storeState;
    const isSilent = last !== undefined && !live.isOver && last.silentHosts > 0;
    const late = age > 1.5 * live.data.usual ? age : 0;
    return {
      lostFor: away ? (now - away.since) / 1000 : undefined,
      lostWhy: away?.why ?? "",
      isFinal: away?.isFinal ?? false,
      ofPhases: this.ofPhases,
      silent: isSilent
        ? {
            hosts: last.silentHosts,
            all: last.hosts,
            seconds: last.silentSeconds + (away ? 0 : late),
            names: last.worst
              .filter((_, i) => last.worstIops[i] === 0)
              .slice(0, last.silentHosts)
              .map((place) => live.nameOf(place)),
          }
        : undefined,
      lost: change?.lost ?? [],
      lostCount: change?.lostCount ?? 0,
      runHosts: live.hosts,
      store: store?.unavailable
        ? {
            seconds: store.unavailableSeconds,
            reason: store.reason,
            spooled: store.spoolLimitBytes > 0 ? store.spooledBytes / store.spoolLimitBytes : 0,
          }
        : undefined,
      endProblem: live.run.endProblem,
      limits: live.isRunning ? live.limits.states : [],
      lastEnd: last?.endSeconds ?? 0,
      errors: live.errors,
      waiting: change?.waitingFor ?? [],
      isRunning: live.isRunning,
      sampleAge: age,
      interval: live.data.usual,
      warnings: live.warnings,
      lastWarning: live.lastWarning,
    };
  }
}
