// The points of a sweep side by side, and the steps of a curve.

import { choices, choose } from "./address";
import type { CurveReport, KneeReport, SweepReport } from "./api";
import { TimeChart } from "./charts";
import { element, figure, table, text, type Cell } from "./dom";
import { count, latency, none, orNone, percent, throughput } from "./format";

export interface Section {
  readonly root: HTMLElement;
  draw(): void;
  destroy(): void;
}

type Point = SweepReport["points"][number];

type Figure = [title: string, of: (point: Point) => number, words: (value: number) => string];

const jain = orNone((v) => v.toFixed(4));
const figures: Figure[] = [
  ["IOPS", (p) => p.iops, count],
  ["throughput", (p) => p.bytesPerSecond, throughput],
  ["p50", (p) => p.p50Ns, orNone(latency)],
  ["p99", (p) => p.p99Ns, orNone(latency)],
  ["Jain", (p) => p.jain, jain],
  ["thread Jain", (p) => p.threadJain, jain],
];

// A point without a whole run has no figures.
const cellOf = (point: Point, [, of, words]: Figure): Cell =>
  point.runs > 0 ? figure(of(point), words) : text(none, -1);

// Fewer than six runs have no interval of their median: then the least and the most.
function range(point: Point): string {
  if (point.runs === 0) return none;
  return point.iopsHigh > 0
    ? `${count(point.iopsLow)} – ${count(point.iopsHigh)}`
    : `${count(point.iopsMin)} – ${count(point.iopsMax)}`;
}

function kneeText(knee: KneeReport): string {
  const sure =
    knee.confidence > 0
      ? `; the same in ${(100 * knee.confidence).toFixed(0)} % of the resamplings of its runs`
      : "";
  return knee.reason + sure;
}

function warmUp(runs: number): HTMLElement[] {
  if (runs === 0) return [];
  const words = runs === 1 ? "first run of each point" : `first ${runs} runs of each point`;
  return [element("p", { class: "muted" }, `The ${words} warmed up, and count in no figure.`)];
}

function select(label: string, names: string[], chosen: number): HTMLSelectElement {
  const made = element("select", { "aria-label": label }) as HTMLSelectElement;
  for (const name of names) made.append(element("option", {}, name));
  if (chosen > 0 && chosen < names.length) made.selectedIndex = chosen;
  return made;
}

// The first two axes as a matrix of one figure; the ink says how much. The reader chooses the
// figure and the values of the other axes, which stand in the address: sweep-NUMBER=2,0,1
function matrix(sweep: SweepReport, number: number): HTMLElement {
  const box = element("div");
  const key = `sweep-${number}`;
  const kept = (choices().get(key) ?? "").split(",").map(Number);
  const [down, across, ...others] = sweep.axes;
  const choice = select(
    "figure of the matrix",
    figures.map(([name]) => name),
    kept[0],
  );
  const values = others.map((axis, i) => select(axis.field, axis.values, kept[i + 1]));
  const show = () => {
    const chosen = figures[choice.selectedIndex];
    const [, of] = chosen;
    const most = Math.max(...sweep.points.map(of), 1e-9);
    const cell = (d: number, a: number): Cell => {
      const at = [d, a, ...values.map((value) => value.selectedIndex)];
      const point = sweep.points.find((p) => p.indices.every((index, i) => index === at[i]));
      if (!point) return text("");
      const plain = cellOf(point, chosen);
      if (plain.show === none) return plain;
      const meter = element("meter", {
        min: "0",
        max: String(most),
        value: String(of(point)),
        "aria-label": `${down.values[d]}, ${across.values[a]}`,
      });
      return { ...plain, show: element("span", {}, plain.show, " ", meter) };
    };
    box.replaceChildren(
      table(
        [
          { title: `${down.field} ↓ ${across.field} →` },
          ...across.values.map((title) => ({ title, numeric: true })),
        ],
        down.values.map((value, d) => [text(value), ...across.values.map((_, a) => cell(d, a))]),
        false,
      ),
    );
  };
  const all = [choice, ...values];
  for (const one of all)
    one.addEventListener("change", () => {
      const chosen = all.map(({ selectedIndex }) => selectedIndex);
      choose({ [key]: chosen.some((index) => index > 0) ? chosen.join(",") : null });
      show();
    });
  show();
  const fields = values.map((value, i) => element("label", {}, `${others[i].field} `, value, " "));
  return element("div", {}, element("p", {}, choice, " ", ...fields), box);
}

// Axes that go together have the diagonal alone.
function isGrid(sweep: SweepReport): boolean {
  if (sweep.axes.length < 2) return false;
  const cells = sweep.axes.reduce((product, axis) => product * axis.values.length, 1);
  return sweep.points.length > cells / 2;
}

export function sweepSection(sweep: SweepReport, number: number): Section {
  const [iops, ...others] = figures;
  const points = sweep.points.map((point) => [
    ...sweep.axes.map((axis, a) => text(axis.values[point.indices[a]])),
    figure(point.runs, String),
    cellOf(point, iops),
    text(range(point)),
    ...others.map((one) => cellOf(point, one)),
    text(point.limitedBy || none),
  ]);
  const list = table(
    [
      ...sweep.axes.map((axis) => ({ title: axis.field })),
      { title: "runs", numeric: true },
      { title: "IOPS", numeric: true },
      { title: "range of IOPS", numeric: true },
      ...others.map(([title]) => ({ title, numeric: true })),
      { title: "limited by" },
    ],
    points,
  );
  const root = element(
    "section",
    {},
    element("h2", {}, `Sweep of ${sweep.phase}`),
    ...(sweep.conclusion ? [element("p", {}, sweep.conclusion.sentence)] : []),
    ...(isGrid(sweep)
      ? [matrix(sweep, number), element("details", {}, element("summary", {}, "all figures"), list)]
      : [list]),
    ...sweep.remarks.map((remark) => element("p", {}, remark)),
    ...sweep.knees.map((knee) => element("p", {}, `Knee: ${kneeText(knee)}`)),
    ...sweep.withoutKnee.map((reason) => element("p", { class: "muted" }, reason)),
    ...warmUp(sweep.warmUp),
    ...(sweep.ended ? [element("p", { class: "muted" }, sweep.ended)] : []),
  );
  return { root, draw: () => {}, destroy: () => {} };
}

// Offered against achieved load, and latencies beside it; the knee is marked.
export function curveSection(curve: CurveReport): Section {
  const plots = element("div");
  const charts: TimeChart[] = [];
  const root = element(
    "section",
    {},
    element("h2", {}, `Offered and achieved: ${curve.phase}`),
    plots,
    table(
      [
        { title: "share", numeric: true },
        { title: "offered", numeric: true },
        { title: "achieved", numeric: true },
        { title: "mean", numeric: true },
        { title: "p50", numeric: true },
        { title: "p99", numeric: true },
      ],
      curve.points.map((point) => [
        figure(point.share, percent),
        figure(point.offered, count),
        figure(point.achieved, count),
        figure(point.meanNs, orNone(latency)),
        figure(point.p50Ns, orNone(latency)),
        figure(point.p99Ns, orNone(latency)),
      ]),
    ),
    ...(curve.knee ? [element("p", {}, `Knee: ${kneeText(curve.knee)}`)] : []),
    ...(curve.withoutKnee ? [element("p", { class: "muted" }, curve.withoutKnee)] : []),
  );
  const draw = () => {
    const points = [...curve.points].sort((a, b) => a.offered - b.offered);
    const x = points.map((p) => p.offered);
    const knee = points.find(
      (p) => `${Number((100 * p.share).toPrecision(4))} %` === curve.knee?.value,
    );
    const common = {
      unit: "offered per second",
      marks: () => (knee ? [{ at: knee.offered, text: "knee" }] : []),
    };
    const load = new TimeChart(plots, {
      title: `Offered and achieved load, ${curve.phase}`,
      show: count,
      ...common,
    });
    load.set(x, [
      { label: "achieved", values: points.map((p) => p.achieved) },
      { label: "offered", values: x },
    ]);
    const times = new TimeChart(plots, {
      title: `Latency by offered load, ${curve.phase}`,
      show: latency,
      log: true,
      ...common,
    });
    times.set(x, [
      { label: "p50", values: points.map((p) => p.p50Ns) },
      { label: "p99", values: points.map((p) => p.p99Ns) },
    ]);
    charts.push(load, times);
  };
  return {
    root,
    draw,
    destroy: () => {
      for (const chart of charts) chart.destroy();
    },
  };
}
