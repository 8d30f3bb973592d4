// The large figures of a run in progress, and the smaller ones below them.

import type { FleetInterval } from "./api";
import { element, signs, tile, type Tone } from "./dom";
import {
  count,
  fixed,
  latency,
  none,
  orNone,
  percent,
  plural,
  short,
  size,
  unitOf,
  withUnit,
} from "./format";
import { foundOf, type LimitState } from "./live_limits";
import type { LiveRun } from "./live_run";

const known = orNone(latency); // an interval of few I/Os has no percentiles

// The limits are of a whole phase: a few intervals that missed one are told, but are no warning.
const rareMisses = 0.05;

// How often it was missed before.
const misses = ({ missedAll, judged }: LimitState): string =>
  `missed before, in ${count(missedAll)} of ${plural(judged, "interval")}`;

// Missed now, missed before, met; of several limits the worst.
function judged(states: LimitState[]): { tone: Tone; note: string } {
  const say = (state: LimitState, tone: Tone) => ({ tone, note: `${signs[tone]} ${state.text}` });
  const now = states.find((state) => state.isMet === false);
  if (now) return say(now, "bad");
  const isOften = (state: LimitState) => state.missedAll > Math.max(1, rareMisses * state.judged);
  const often = states.find(isOften);
  if (often) return { tone: "warn", note: `${signs.warn} ${often.text}: ${misses(often)}` };
  const rare = states.find(({ missedAll, isMet }) => missedAll > 0 && isMet);
  if (rare) return { tone: "good", note: `${signs.good} ${rare.text}; ${misses(rare)}` };
  const met = states.find((state) => state.isMet);
  if (met) return say(met, "good");
  return { tone: "plain", note: states.map((state) => `${none} ${state.text}`).join(", ") };
}

function hostsTile(live: LiveRun): HTMLElement {
  const all = live.hosts;
  const lost = live.change?.lostCount ?? 0;
  if (all === 0) return tile("hosts", none);
  const tone: Tone = lost > 0 ? "bad" : "plain";
  return tile("hosts", `${count(all - lost)} of ${count(all)}`, {
    tone,
    note: lost > 0 ? `${count(lost)} lost` : "",
  });
}

// By what is required of them. Errors that nobody allowed are a warning, and bad as they happen.
function errorsTile(live: LiveRun, last?: FleetInterval): HTMLElement {
  const states = live.limits.of("errors");
  const { tone, note } = judged(states);
  const isAllowed = states.some((state) => !state.isAbort);
  const own: Tone = (last?.errors ?? 0) > 0 ? "bad" : live.errors > 0 ? "warn" : tone;
  return tile("errors so far", count(live.errors), {
    tone: tone === "bad" || isAllowed ? tone : own,
    note,
  });
}

function loadTiles(live: LiveRun, last?: FleetInterval): HTMLElement[] {
  const { data, limits } = live;
  const percentile = (name: string, figure: string, value?: number) => {
    const unit = unitOf("latency", Math.max(data.topP99, value ?? 0));
    // Below a hundredth of the unit of its axis it has one of its own.
    const show = (v: number) => (v < unit.factor / 100 ? short("latency", v) : withUnit(v, unit));
    return tile(name, value ? show(value) : none, judged(limits.of(figure)));
  };
  const tiles = [
    tile(
      "IOPS",
      last ? withUnit(last.iops, unitOf("count", data.topIops)) : none,
      judged(limits.of("iops")),
    ),
    tile(
      "throughput",
      last ? withUnit(last.bytesPerSecond, unitOf("rate", data.topBytes)) : none,
      judged(limits.of("bytes_per_second")),
    ),
    percentile("p99", "p99_ns", last?.p99Ns),
  ];
  // The others only where something is required of them.
  if (limits.of("p50_ns").length > 0) tiles.push(percentile("p50", "p50_ns", last?.p50Ns));
  if (limits.of("p999_ns").length > 0) tiles.push(percentile("p99.9", "p999_ns", last?.p999Ns));
  for (const state of limits.of("await_ns"))
    tiles.push(tile("await", last?.iostat[0] ? foundOf(state) : none, judged([state])));
  for (const state of limits.of("fairness")) {
    const jain = last?.jain === undefined ? none : fixed(last.jain, 3);
    tiles.push(tile("fairness, over hosts", jain, judged([state])));
  }
  return [...tiles, hostsTile(live), errorsTile(live, last)];
}

function deviceTiles(live: LiveRun, last?: FleetInterval): HTMLElement[] {
  const [await_, queue, request, busy] = last?.iostat ?? [];
  const shown = (value: number | undefined, show: (value: number) => string) =>
    value === undefined ? none : show(value);
  return [
    tile("await", shown(await_, known), judged(live.limits.of("await_ns"))),
    tile("size of a request", shown(request, orNone(size))),
    tile(
      "requests at a device",
      shown(queue, (v) => fixed(v, 1)),
    ),
    tile("busy", shown(busy, percent)),
    hostsTile(live),
  ];
}

// The progress of a phase that has no load.
function progressTiles(live: LiveRun): HTMLElement[] {
  const { progress } = live;
  const share = progress ? progress.done / progress.total : undefined;
  return [
    tile("laid out", share === undefined ? none : percent(share)),
    tile("written", progress ? size(progress.done) : none, {
      note: progress ? `of ${size(progress.total)}` : "",
    }),
    hostsTile(live),
    errorsTile(live),
  ];
}

// Whether the phase in progress has no figures, and tells only how far it is.
export const isLaidOut = (live: LiveRun): boolean =>
  live.progress !== undefined && live.phase !== live.current;

export function tilesOf(live: LiveRun): HTMLElement[] {
  if (isLaidOut(live)) return progressTiles(live);
  const { last } = live.data;
  return live.measured?.kind === "observe" ? deviceTiles(live, last) : loadTiles(live, last);
}

// The extremes of hosts that differ: which of a hundred equal ones is the slowest is chance.
const equalHosts = 1.05;
const mostNamed = 3; // of each
function hostFacts(live: LiveRun, last: FleetInterval): [string, string][] {
  const [least, most] = [last.worstIops[0] ?? 0, last.bestIops[0] ?? 0];
  if (most <= 0) return [];
  if (most <= equalHosts * least)
    return [["hosts, IOPS", `${count(least)} to ${count(most)} each`]];
  // Of few hosts the slowest would also be among the fastest: each is named once.
  const named = Math.min(mostNamed, Math.max(1, Math.floor(last.hosts / 2)));
  const list = (places: number[], iops: number[]) =>
    places
      .slice(0, named)
      .map((place, i) => `${live.nameOf(place)} ${count(iops[i] ?? 0)}`)
      .join(", ") || none;
  return [
    ["slowest hosts, IOPS", list(last.worst, last.worstIops)],
    ["fastest", list(last.best, last.bestIops)],
  ];
}

// Smaller than tiles: a load's other percentiles, and the extremes of its hosts.
export function factsOf(live: LiveRun): HTMLElement[] {
  const { last } = live.data;
  if (!last || isLaidOut(live) || live.measured?.kind === "observe") return [];
  // A required index has a tile.
  const hasTile = live.limits.of("fairness").length > 0;
  const jain: [string, string][] = hasTile
    ? []
    : [["Jain over hosts", last.jain === undefined ? none : fixed(last.jain, 4)]];
  const facts: [string, string][] = [
    ["p50", known(last.p50Ns)],
    ["p99.9", known(last.p999Ns)],
    ...jain,
    ...hostFacts(live, last),
  ];
  return facts.map(([name, value]) =>
    element("span", {}, element("span", { class: "muted" }, `${name} `), value),
  );
}
