// The head of a run in progress: what is wrong, in which phase it is and for how long, and its
// figures.

import { banner, element, signs, type Tone } from "./dom";
import { clock, count, passedOf, percent, wholeSeconds } from "./format";
import type { LiveRun } from "./live_run";
import { awaited, type Notice } from "./live_state";
import { factsOf, isLaidOut, tilesOf } from "./live_tiles";
import { setTab } from "./tab";
import { syntheticMark } from "./verdict";

// So many notices are shown; the rest is counted.
const maxNotices = 4;
// Phases that are over which are named.
const maxPast = 3;

const stateTones: Record<string, Tone> = { done: "good", failed: "bad", void: "warn" };

export class LiveHead {
  readonly root = element("div", { class: "live-head" });
  private readonly notices = element("div", { id: "notices" });
  private readonly said = element("p", { class: "unseen", role: "status" });
  private readonly title = element("h1");
  private readonly steps = element("ol", { class: "strip" });
  private readonly bar = element("progress", {
    max: "1",
    "aria-label": "of the phase",
  }) as HTMLProgressElement;
  private readonly time = element("span", { id: "live-line" });
  private readonly tiles = element("div", { class: "tiles" });
  private readonly facts = element("p", { class: "facts" });
  private shown = ""; // what the notices say

  constructor(wall: HTMLElement) {
    this.root.append(
      this.notices,
      this.said,
      element("div", { class: "bar" }, this.title, this.steps, this.bar, this.time, wall),
      this.tiles,
      this.facts,
    );
  }

  draw(live: LiveRun, notices: Notice[], now: number, isAway: boolean): void {
    this.drawNotices(notices);
    const { run } = live;
    this.title.replaceChildren(run.jobName, " ", ...syntheticMark(run));
    this.drawSteps(live);
    this.drawBar(live, now, isAway);
    this.drawTiles(live, now, isAway);
    this.say(live, notices);
    const [first] = notices;
    const name = live.change?.name ?? run.state;
    if (first && first.tone !== "plain")
      setTab(`${signs[first.tone]} ${first.short} · ${run.jobName}`, first.tone);
    else setTab(`${name} · ${run.jobName}`, "good");
  }

  // Only when it is another: somebody may select its text.
  private drawNotices(notices: Notice[]): void {
    const words = notices.map((n) => `${n.tone}${n.headline}${n.detail}`).join("\n");
    if (words === this.shown) return;
    this.shown = words;
    const shown = notices.slice(0, maxNotices);
    const more = notices.length - shown.length;
    this.notices.replaceChildren(
      ...shown.map(({ tone, headline, detail }) =>
        banner(tone, headline, ...(detail ? [detail] : [])),
      ),
      ...(more > 0 ? [banner("plain", `and ${more} more`)] : []),
    );
  }

  // For those who are read to: the state when it changes, without the seconds.
  private say(live: LiveRun, notices: Notice[]): void {
    const { change } = live;
    const state = change ? `${change.name}: ${change.state}` : live.run.state;
    const words = [...notices.slice(0, 2).map((notice) => notice.short), state].join("; ");
    if (this.said.textContent !== words) this.said.textContent = words;
  }

  // The phases before, this one, and the names of those to come. A sweep has a thousand.
  private drawSteps(live: LiveRun): void {
    const { change } = live;
    if (!change) {
      this.steps.replaceChildren(element("li", { "aria-current": "step" }, live.run.state));
      return;
    }
    const from = Math.max(0, change.index - maxPast);
    const past = live.phases.slice(from, change.index).map((phase) => {
      const tone = stateTones[phase?.state ?? ""] ?? "plain";
      return element("li", { class: tone }, [signs[tone], phase?.name].filter(Boolean).join(" "));
    });
    const state = change.state === "running" ? "" : `: ${change.state}`;
    const place = change.count > 1 ? ` (${change.index + 1} of ${count(change.count)})` : "";
    const now = element("li", { "aria-current": "step" }, `${change.name}${state}${place}`);
    const next =
      change.next.length > 0 ? [element("li", {}, `then: ${change.next.join(", ")}`)] : [];
    this.steps.replaceChildren(...past, now, ...next);
  }

  private drawBar(live: LiveRun, now: number, isAway: boolean): void {
    const { change, data } = live;
    const { last } = data;
    const waiting = change?.waitingFor ?? [];
    const awaits = waiting.length > 0 ? `waiting for ${awaited(waiting)}` : "";
    if (isLaidOut(live) && live.progress) {
      const share = live.progress.done / live.progress.total;
      this.bar.hidden = false;
      this.bar.value = share;
      this.time.textContent = `${percent(share)} laid out`;
      return;
    }
    const expected = change?.expectedSeconds ?? 0;
    const isRunning = !live.isOver && last !== undefined;
    this.bar.hidden = !isRunning || expected <= 0;
    if (!isRunning) {
      this.time.textContent = awaits || (change ? change.state : "waiting");
      return;
    }
    // Between two samples the time goes on.
    const extra = isAway ? 0 : Math.min(live.age(now), 2 * data.usual);
    const passed = last.endSeconds + extra;
    const kind = last.intervalClass === "measured" ? "" : ` (${last.intervalClass})`;
    if (expected > 0) {
      this.bar.value = Math.min(1, passed / expected);
      this.time.textContent = `${passedOf(passed, expected)}${kind}`;
    } else {
      this.time.textContent = `${clock(passed)}${kind}`;
    }
  }

  private drawTiles(live: LiveRun, now: number, isAway: boolean): void {
    const { data } = live;
    const tiles = tilesOf(live);
    const isLoad = data.last !== undefined && !isLaidOut(live);
    const age = live.age(now);
    const isOld = isAway || (!live.isOver && age > 2 * data.usual + 1);
    const isOver = isLoad && live.isOver;
    const words = isOver
      ? `the last figures of ${live.measured?.name ?? "a phase"}, which is over`
      : isLoad && isOld && age > 0
        ? `the figures are ${wholeSeconds(age)} old`
        : "";
    this.tiles.replaceChildren(...tiles);
    this.tiles.classList.toggle("stale", isOver || (isLoad && isOld));
    this.facts.replaceChildren(
      ...(words ? [element("strong", {}, words)] : []),
      ...factsOf(live).flatMap((fact) => [" ", fact]),
    );
  }
}
