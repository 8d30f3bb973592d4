// The work of each host, thread, device and kernel in a phase.

import { choices, choose, keptSorting } from "./address";
import type { DeviceReport, HostReport, PhaseReport } from "./api";
import { wholeSpans, withGaps } from "./charts";
import { element, figure, optional, table, text, type Cell } from "./dom";
import {
  count,
  fixed,
  latency,
  mebibytes,
  none,
  percent,
  plural,
  rate,
  seconds,
  size,
  wholePercent,
} from "./format";
import { percentile, stallsShown } from "./operation";
import type { HostLines } from "./report_charts";
import { sparkline, thinned, topOf } from "./sparkline";

const sparkPoints = 40;
const fewHosts = 4;
const tellRatio = 0.0005; // what rounds to 0.1 %
const numeric = (title: string) => ({ title, numeric: true });

// Nothing is known of one that was lost.
const unknown = text(none, -1);
const known = (h: HostReport, cell: Cell): Cell => (h.lost ? unknown : cell);
function limits(h: HostReport): string {
  const found = [...h.throttles];
  const tell = (words: string, ratio = 0) => {
    if (ratio >= tellRatio) found.push(`${words} ${percent(ratio)}`);
  };
  tell("CPU quota used up in", h.throttledRatio);
  tell("TCP sent again", h.tcpRetransmitRatio);
  return found.join("; ");
}

// The IOPS of each worker over the time of the charts, with their gaps.
function overTime(lines: HostLines | undefined): Map<number, (number | null)[]> {
  const spans = lines?.spans.spans;
  if (!spans) return new Map();
  // Only the measured time: the rate during a drain, for a moment, would be a spike.
  const places = wholeSpans(lines.spans).filter(
    (i) =>
      spans.beginSeconds[i] < spans.measuredToSeconds &&
      Math.min(spans.endSeconds[i], spans.measuredToSeconds) - spans.beginSeconds[i] >=
        (spans.endSeconds[i] - spans.beginSeconds[i]) / 2,
  );
  const { lines: whole } = withGaps(
    places.map((i) => spans.beginSeconds[i]),
    places.map((i) => spans.endSeconds[i]),
    lines.iops.map((iops, host) => ({
      label: lines.names[host],
      values: places.map((i) => (Number.isNaN(iops[i]) ? null : iops[i])),
    })),
  );
  return new Map(
    whole.map(({ values }, host) => [lines.workers[host], thinned(values, sparkPoints)]),
  );
}

// By host: why it stands out. Hosts that were starved say so where no cause is known.
function standing(phase: PhaseReport): Map<string, string> {
  return new Map([
    ...phase.starvations.map((s): [string, string] => [s.host, "starved"]),
    ...phase.stragglers.map((s): [string, string] => [
      s.host,
      s.latencyRatio === undefined
        ? `${percent(s.share)} of the others: ${s.cause}`
        : `latency ×${fixed(s.latencyRatio, 1)}: ${s.cause}`,
    ]),
  ]);
}

// Where no host stood still the corrected p99 is the p99.
const hasStalls = (phase: PhaseReport): boolean =>
  phase.hosts.some((h) => (h.stalledRatio ?? 0) >= stallsShown);
const stallCells = (h: HostReport): Cell[] => [
  optional(h.correctedP99Ns, latency),
  optional(h.stalledRatio, percent),
];

function hostRows(phase: PhaseReport, all: HostReport[], lines?: HostLines): Cell[][] {
  const over = overTime(lines);
  // With scales of their own, a slow host would look like a fast one.
  const top = topOf([...over.values()].map(topOf));
  const causes = standing(phase);
  const start = (h: HostReport) => (offset: number) =>
    `+${latency(offset)}` + (h.startBoundNs ? ` ± ${latency(h.startBoundNs)}` : "");
  const hasLimits = phase.hosts.some((h) => limits(h) !== "");
  const withStalls = hasStalls(phase);
  return all.map((h) => [
    text(h.host + (h.lost ? " (lost)" : "")),
    optional(h.iops, count),
    optional(h.bytesPerSecond, mebibytes),
    known(h, percentile(h.total, 50)),
    known(h, percentile(h.total, 99)),
    ...(withStalls ? stallCells(h) : []),
    optional(h.errors, count),
    known(h, optional(h.lastDoneSeconds, seconds)),
    optional(h.startOffsetNs, start(h)),
    { show: sparkline(over.get(h.workerIndex) ?? [], "IOPS", top), sort: h.iops ?? -1 },
    text(causes.get(h.host) ?? ""),
    ...(hasLimits ? [text(limits(h))] : []),
  ]);
}

// The hosts of a phase; more than a few can be looked for by their names and what is said of them.
export function hosts(phase: PhaseReport, lines?: HostLines): HTMLElement {
  const causes = standing(phase);
  const hasLimits = phase.hosts.some((h) => limits(h) !== "");
  const columns = [
    { title: "host" },
    ...["IOPS", "MiB/s", "p50", "p99"].map(numeric),
    ...(hasStalls(phase) ? ["corrected p99", "stalled"].map(numeric) : []),
    ...["errors", "done", "start"].map(numeric),
    { title: "IOPS over time" },
    { title: "straggler" },
    ...(hasLimits ? [{ title: "held back by" }] : []),
  ];
  const sorting = keptSorting(`hosts-${phase.index}`);
  const key = `find-hosts-${phase.index}`;
  const field = element("input", {
    type: "search",
    "aria-label": "hosts with",
    placeholder: "hosts with: a name, a cause",
  }) as HTMLInputElement;
  field.value = choices().get(key) ?? "";
  const box = element("div");
  const shown = element("span", { class: "muted" });
  const fill = () => {
    const words = field.value.toLowerCase();
    const found = phase.hosts.filter((h) =>
      `${h.host} ${h.lost ? "lost" : ""} ${causes.get(h.host) ?? ""} ${limits(h)}`
        .toLowerCase()
        .includes(words),
    );
    shown.textContent = words ? ` ${found.length} of ${plural(phase.hosts.length, "host")}` : "";
    box.replaceChildren(table(columns, hostRows(phase, found, lines), true, sorting));
  };
  field.addEventListener("input", () => {
    choose({ [key]: field.value || null });
    fill();
  });
  fill();
  return element(
    "div",
    {},
    ...(phase.hosts.length > fewHosts ? [element("p", {}, field, shown)] : []),
    box,
  );
}

// One kind of requests, as iostat -x prints it.
interface Requests {
  perSecond?: number;
  bytesPerSecond?: number;
  awaitMs?: number;
  requestBytes?: number;
  mergesPerSecond?: number;
  mergedRatio?: number;
}
const reads = (d: DeviceReport): Requests => ({
  perSecond: d.readsPerSecond,
  bytesPerSecond: d.readBytesPerSecond,
  awaitMs: d.readAwaitMs,
  requestBytes: d.readRequestBytes,
  mergesPerSecond: d.readMergesPerSecond,
  mergedRatio: d.readMergedRatio,
});
const writes = (d: DeviceReport): Requests => ({
  perSecond: d.writesPerSecond,
  bytesPerSecond: d.writeBytesPerSecond,
  awaitMs: d.writeAwaitMs,
  requestBytes: d.writeRequestBytes,
  mergesPerSecond: d.writeMergesPerSecond,
  mergedRatio: d.writeMergedRatio,
});
const discards = (d: DeviceReport): Requests => ({
  perSecond: d.discardsPerSecond,
  bytesPerSecond: d.discardBytesPerSecond,
  awaitMs: d.discardAwaitMs,
  requestBytes: d.discardRequestBytes,
  mergesPerSecond: d.discardMergesPerSecond,
  mergedRatio: d.discardMergedRatio,
});

const await_ = (ms: number | undefined): Cell => optional(ms, (v) => latency(v * 1e6));

function requestCells(r: Requests): Cell[] {
  return [
    optional(r.perSecond, count),
    optional(r.bytesPerSecond, mebibytes),
    optional(r.mergesPerSecond, count),
    optional(r.mergedRatio, wholePercent),
    await_(r.awaitMs),
    optional(r.requestBytes, (bytes) => `${fixed(bytes / 1024, 1)}k`),
  ];
}
const requestTitles = (kind: string): string[] => [
  `${kind}/s`,
  `${kind}MiB/s`,
  `${kind}rqm/s`,
  `%${kind}rqm`,
  `${kind}_await`,
  `${kind}areq-sz`,
];

// Deeper stacks are not drawn deeper.
const deepest = 16;

function deviceRow(
  d: DeviceReport,
  kinds: ((d: DeviceReport) => Requests)[],
  engines: Cell[],
): Cell[] {
  const indent = "\u2003".repeat(Math.min(d.depth, deepest));
  return [
    text(`${indent}${d.name}`, d.name),
    ...kinds.flatMap((kind) => requestCells(kind(d))),
    optional(d.flushesPerSecond, count),
    await_(d.flushAwaitMs),
    optional(d.queueSize, (v) => fixed(v, 2)),
    optional(d.busyRatio, wholePercent),
    ...engines,
    text(d.hosts.join(", ")),
    text(d.identity),
    text([...d.filesystems, d.kind, d.label].filter((word) => word).join(" → ")),
  ];
}

function crossCheck(d: DeviceReport): HTMLElement[] {
  if (!d.crossCheck) return [];
  const { verdict, factor, reason } = d.crossCheck;
  const name = verdict
    .replace(/^VERDICT_/, "")
    .toLowerCase()
    .replace(/_/g, " ");
  const words = name === "amplified" ? `amplified ×${fixed(factor, 2)}` : name;
  const of = d.hosts.length === 1 ? "1 host" : `${d.hosts.length} hosts`;
  return [
    element(
      "p",
      { class: name === "agree" ? "muted" : "warn" },
      `cross-check: ${d.name} against the engines of ${of}: ${words} (${reason})`,
    ),
  ];
}

export function devices(phase: PhaseReport): HTMLElement[] {
  if (phase.devices.length === 0) return [];
  // Few devices ever discard.
  const hasDiscards = phase.devices.some((d) => (d.discardsPerSecond ?? 0) > 0);
  const kinds = hasDiscards ? [reads, writes, discards] : [reads, writes];
  const titles = ["r", "w", "d"].slice(0, kinds.length).flatMap(requestTitles);
  const all = ["f/s", "f_await", "aqu-sz", "util"];
  // An observe phase has no engines. Those of a load are compared with the topmost device alone.
  const ofEngines = phase.observed ? [] : ["engines' IOPS", "engines' queue"];
  const engines = (d: DeviceReport): Cell[] =>
    phase.observed
      ? []
      : [optional(d.engineIops, count), optional(d.engineQueueSize, (v) => fixed(v, 2))];
  return [
    table(
      [
        { title: "device" },
        ...[...titles, ...all, ...ofEngines].map(numeric),
        { title: "hosts" },
        { title: "identity" },
        { title: "layers" },
      ],
      phase.devices.map((d) => deviceRow(d, kinds, engines(d))),
      true,
      keptSorting(`devices-${phase.index}`),
    ),
    ...phase.devices.flatMap((d) => [
      ...crossCheck(d),
      ...d.findings.map((f) => element("p", { class: "warn" }, `${d.name}: ${f.sentence}`)),
    ]),
  ];
}

// The figures of vmstat: memory, swap space and block devices, over the measured time.
function memory(phase: PhaseReport): HTMLElement[] {
  if (phase.kernels.every((k) => k.freeBytesAvg === undefined)) return [];
  const amounts = ["swpd", "free", "buff", "cache", "dirty", "dirty, most", "writeback"];
  const rates = ["si", "so", "bi", "bo"];
  return [
    table(
      [{ title: "memory of" }, ...[...amounts, ...rates].map(numeric)],
      phase.kernels.map((k) => [
        text(k.hosts.join(", ")),
        ...[
          k.swapUsedBytesAvg,
          k.freeBytesAvg,
          k.buffersBytesAvg,
          k.cacheBytesAvg,
          k.dirtyBytesAvg,
          k.dirtyBytesMax,
          k.writebackBytesAvg,
        ].map((bytes) => optional(bytes, size)),
        ...[
          k.swapInBytesPerSecond,
          k.swapOutBytesPerSecond,
          k.blockInBytesPerSecond,
          k.blockOutBytesPerSecond,
        ].map((bytesPerSecond) => optional(bytesPerSecond, rate)),
      ]),
    ),
  ];
}

export function kernels(phase: PhaseReport): HTMLElement[] {
  if (phase.kernels.length === 0) return [];
  const ratios = ["us", "sy", "id", "wa", "st"];
  const user = phase.workerCpuUserNsPerIo;
  const system = phase.workerCpuSystemNsPerIo;
  return [
    table(
      [
        { title: "kernel of" },
        ...[
          ...[...ratios, "run queue", "blocked", "cs/s", "in/s"],
          ...["cs per I/O", "in per I/O", "CPU per I/O"],
        ].map(numeric),
        { title: "other programs" },
      ],
      phase.kernels.map((k) => [
        text(k.hosts.join(", ")),
        ...[k.userRatio, k.systemRatio, k.idleRatio, k.iowaitRatio, k.stealRatio].map((v) =>
          figure(v, wholePercent),
        ),
        figure(k.runQueueAvg, (v) => fixed(v, 1)),
        figure(k.blockedAvg, (v) => fixed(v, 1)),
        optional(k.contextSwitchesPerSecond, count),
        optional(k.interruptsPerSecond, count),
        optional(k.contextSwitchesPerIo, (v) => fixed(v, 2)),
        optional(k.interruptsPerIo, (v) => fixed(v, 2)),
        optional(k.cpuNsPerIo, latency),
        text(k.others.join(", ")),
      ]),
    ),
    ...memory(phase),
    // Without a load there is no I/O of the workers.
    ...(user === undefined || system === undefined
      ? []
      : [
          element(
            "p",
            {},
            `per I/O: workers alone ${latency(user)} user + ${latency(system)} system`,
          ),
        ]),
  ];
}

export function threads(phase: PhaseReport): HTMLElement[] {
  const f = phase.threadFairness;
  const pair = (mean: number, deviation: number) => `${fixed(mean, 4)}/${fixed(deviation, 2)}`;
  const events = f ? pair(f.eventsAvg, f.eventsStddev) : "";
  const times = f ? pair(f.executionTimeAvgSeconds, f.executionTimeStddevSeconds) : "";
  const words =
    `threads fairness: events (avg/stddev) ${events}, ` + `execution time (avg/stddev) ${times} s`;
  const fair = f ? [element("p", {}, words)] : [];
  if (phase.threads.length === 0) return fair;
  const rows = table(
    [
      { title: "thread" },
      { title: "workload" },
      ...["I/Os", "IOPS", "exec time", "in I/O", "fsync", "rate", "think", "CPU"].map(numeric),
    ],
    phase.threads.map((t) => [
      text(`${t.host}/${t.thread}`),
      text(t.workload),
      figure(t.operations, count),
      optional(t.iops, count),
      figure(t.executionTimeSeconds, (v) => `${fixed(v, 3)} s`),
      ...[t.waitRatio, t.fsyncRatio, t.rateRatio, t.thinkRatio, t.cpuRatio].map((v) =>
        optional(v, wholePercent),
      ),
    ]),
    true,
    keptSorting(`threads-${phase.index}`),
  );
  return [rows, ...fair];
}

export function settings(phase: PhaseReport): HTMLElement[] {
  return phase.settings
    .filter((s) => s.before !== s.value)
    .map((s) =>
      element(
        "p",
        { class: s.notRestored ? "error" : "" },
        `setting: ${s.thing} ${s.name} ${s.value} instead of ${s.before} on ` +
          `${s.hosts.join(", ")}; ${s.notRestored ? `NOT restored: ${s.notRestored}` : "restored"}`,
      ),
    );
}
