// The points of a sweep side by side, and the steps of a curve.

import "./base";
import { choices, choose } from "./address";
import type { CurveReport, KneeReport, Report, SweepReport } from "./api";
import { TimeChart, type Mark } from "./charts";
import { element, figure, fold, table, text, type Cell } from "./dom";
import {
  bound,
  count,
  latency,
  marked,
  none,
  orNone,
  percent,
  plural,
  short,
  shown,
  rate,
  type Kind,
} from "./format";
import { bestPoint, bestStep, pointName, standingOf } from "./points";
import { SweepCharts } from "./sweep_charts";
import { spentColumns } from "./time_spent";

export interface Section {
  readonly root: HTMLElement;
  draw(): void;
  destroy(): void;
}

type Point = SweepReport["points"][number];

type Figure = [
  title: string,
  of: (point: Point) => number,
  words: (value: number) => string,
  kind?: Kind,
];

const jain = orNone((v) => v.toFixed(4));
const figures: Figure[] = [
  ["IOPS", (p) => p.iops ?? 0, count, "count"],
  ["throughput", (p) => p.bytesPerSecond ?? 0, rate, "rate"],
  ["p50", (p) => p.p50Ns ?? 0, orNone(latency), "latency"],
  ["p99", (p) => p.p99Ns ?? 0, orNone(latency), "latency"],
  ["Jain", (p) => p.jain ?? 0, jain],
  ["thread Jain", (p) => p.threadJain ?? 0, jain],
];

const isUncertain = (point: Point, title: string) =>
  (title === "p50" && point.isP50Uncertain) || (title === "p99" && point.isP99Uncertain);

// A point without a whole run has no figures.
const cellOf = (point: Point, [title, of, words]: Figure): Cell =>
  point.runs > 0 ? figure(of(point), marked(isUncertain(point, title), words)) : text(none, -1);

// Fewer than six runs have no interval of their median: then the least and the most.
function range(point: Point): string {
  if (point.runs === 0) return none;
  return point.iopsLow !== undefined && point.iopsHigh !== undefined
    ? `${count(point.iopsLow)} – ${count(point.iopsHigh)}`
    : `${shown(point.iopsMin, count)} – ${shown(point.iopsMax, count)}`;
}

function kneeText(knee: KneeReport): string {
  const sure =
    knee.confidence !== undefined
      ? `; the same in ${(100 * knee.confidence).toFixed(0)} % of the resamplings of its runs`
      : "";
  return knee.reason + sure;
}

const namedRows = 3;
// "block_size=4KiB: no knee: 3 values are too few" of each row is one sentence that names the rows.
function reasonsOf(withoutKnee: string[]): string[] {
  const rows = new Map<string, string[]>();
  for (const words of withoutKnee) {
    const at = words.indexOf(": no knee: ");
    const reason = words.slice(at < 0 ? 0 : at + 2);
    rows.set(reason, [...(rows.get(reason) ?? []), ...(at < 0 ? [] : [words.slice(0, at)])]);
  }
  return [...rows].map(([reason, names]) => {
    if (names.length < 2) return [...names, reason].join(": ");
    const more = names.length - namedRows;
    const named = more > 0 ? [...names.slice(0, namedRows), `${more} more`] : names;
    return `${reason} (${plural(names.length, "row")}: ${named.join(", ")})`;
  });
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

// At most so dark is a cell, so that its figure is read on it.
const darkest = 0.35;

// A field of colour from nothing to `darkest`.
function shade(made: HTMLElement, part: number): HTMLElement {
  made.classList.add("shaded");
  made.style.setProperty("--share", `${100 * darkest * part}%`);
  return made;
}

// In a matrix a figure has three digits; the table below it has all of them.
const shortWords = ([, , words, kind]: Figure): ((value: number) => string) =>
  kind ? orNone((value) => short(kind, value)) : words;

// Explains the cells' colours.
function legend(shown: Figure, least: number, most: number): HTMLElement {
  const [name] = shown;
  const words = shortWords(shown);
  const swatches = [0, 1, 2, 3, 4].map((i) =>
    shade(element("i", { "aria-hidden": "true" }), i / 4),
  );
  return element(
    "p",
    { class: "muted scale" },
    `${name}: `,
    element("span", {}, bound(words(least)), "\u00a0", ...swatches, "\u00a0", bound(words(most))),
  );
}

// One figure of the first two axes, with these values of the others. Cells are the darker (in the
// dark: the lighter) the more they have.
function cellsOf(sweep: SweepReport, chosen: Figure, others: number[]): HTMLElement[] {
  const [down, across] = sweep.axes;
  const [name, of] = chosen;
  const best = bestPoint(sweep);
  const there = sweep.points.filter((p) => cellOf(p, chosen).show !== none).map(of);
  const [least, most] = [Math.min(...there), Math.max(...there)];
  const cell = (d: number, a: number): HTMLElement => {
    const place = [d, a, ...others];
    const point = sweep.points.find((p) => p.indices.every((index, i) => index === place[i]));
    const made = element("td", { class: "n" });
    if (!point) return made;
    const plain = point.runs > 0 ? shortWords(chosen)(of(point)) : none;
    made.title = `${pointName(sweep, point)}: ${chosen[2](of(point))}`;
    made.append(
      plain,
      ...(point === best ? [element("b", {}, ` ★ ${standingOf(sweep, point)}`)] : []),
    );
    if (point === best) made.classList.add("best");
    if (plain === none) return made;
    made.dataset.value = String(of(point));
    return shade(made, shareOf(of(point), least, most));
  };
  const axes = element("th", { scope: "col" }, `${down.field} ↓ `, element("wbr"));
  axes.append(element("span", {}, `${across.field} →`));
  const head = [
    axes,
    ...across.values.map((title) => element("th", { scope: "col", class: "n" }, title)),
  ];
  const rows = down.values.map((value, d) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, value),
      ...across.values.map((_, a) => cell(d, a)),
    ),
  );
  const box = element("div", {
    class: "table matrix",
    tabindex: "0",
    role: "group",
    "aria-label": `${name} by ${down.field} and ${across.field}`,
  });
  box.append(
    element(
      "table",
      {},
      element("thead", {}, element("tr", {}, ...head)),
      element("tbody", {}, ...rows),
    ),
  );
  return [box, legend(chosen, least, most)];
}

// The first two axes as a matrix of one figure: at first of that which decides. The reader chooses
// the figure and the values of the other axes, which stand in the address: sweep-NUMBER=2,0,1.
// `changed` is told the values of the other axes.
function matrix(
  sweep: SweepReport,
  number: number,
  changed: (others: number[]) => void,
): HTMLElement {
  const box = element("div");
  const key = `sweep-${number}`;
  const [own, ...kept] = (choices().get(key) ?? "").split(",");
  const others = sweep.axes.slice(2);
  const names = figures.map(([name]) => name);
  const first = Math.max(0, names.indexOf(sweep.conclusion?.figure ?? ""));
  const choice = select("figure of the matrix", names, own ? Number(own) : first);
  const values = others.map((axis, i) => select(axis.field, axis.values, Number(kept[i])));
  const at = () => values.map(({ selectedIndex }) => selectedIndex);
  // The choice, as words: fields are not printed.
  const said = element("p", { class: "on-paper" });
  const show = () => {
    box.replaceChildren(...cellsOf(sweep, figures[choice.selectedIndex], at()));
    const chosen = at().map((index, i) => `${others[i].field}=${others[i].values[index]}`);
    said.textContent = [names[choice.selectedIndex], ...chosen].join(", ");
    changed(at());
  };
  for (const one of [choice, ...values])
    one.addEventListener("change", () => {
      const isFirst = choice.selectedIndex === first && at().every((index) => index === 0);
      choose({ [key]: isFirst ? null : [choice.selectedIndex, ...at()].join(",") });
      show();
    });
  show();
  const fields = values.map((value, i) => element("label", {}, `${others[i].field} `, value, " "));
  return element("div", {}, element("p", { class: "choice" }, choice, " ", ...fields), said, box);
}

function shareOf(value: number, least: number, most: number): number {
  return most > least ? (value - least) / (most - least) : 1;
}

// Axes that go together have the diagonal alone.
function isGrid(sweep: SweepReport): boolean {
  if (sweep.axes.length < 2) return false;
  const cells = sweep.axes.reduce((product, axis) => product * axis.values.length, 1);
  return sweep.points.length > cells / 2;
}

// A table of its own: beside the other figures it would be too wide.
function spentFold(sweep: SweepReport): HTMLElement[] {
  const { columns, cells } = spentColumns(sweep.points.map((point) => point.timeSpent));
  if (columns.length === 0) return [];
  const rows = sweep.points.map((point, p) => [
    ...sweep.axes.map((axis, a) => text(axis.values[point.indices[a]])),
    ...cells[p],
  ]);
  const titles = sweep.axes.map((axis) => ({ title: axis.field }));
  const words = "context switches, CPU time, waiting";
  return [
    fold("Where the time went", words, (box) => box.append(table([...titles, ...columns], rows))),
  ];
}

function sweepSection(sweep: SweepReport, number: number): Section {
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
  const charts = new SweepCharts(sweep);
  const isMatrix = isGrid(sweep);
  const root = element(
    "section",
    {},
    element("h2", { id: `sweep-${number}` }, `Sweep of ${sweep.phase}`),
    ...(sweep.conclusion ? [element("p", {}, sweep.conclusion.sentence)] : []),
    ...(isMatrix ? [matrix(sweep, number, (others) => charts.draw(others))] : []),
    charts.root,
    ...(isMatrix ? [] : [list]),
    ...sweep.knees.map((knee) => element("p", {}, `Knee: ${kneeText(knee)}`)),
    ...sweep.remarks.map((remark) => element("p", {}, remark)),
    ...reasonsOf(sweep.withoutKnee).map((reason) => element("p", { class: "muted" }, reason)),
    ...warmUp(sweep.warmUp),
    ...(sweep.ended ? [element("p", { class: "muted" }, sweep.ended)] : []),
    ...(isMatrix
      ? [fold("All figures", plural(sweep.points.length, "point"), (box) => box.append(list))]
      : []),
    ...spentFold(sweep),
  );
  if (!isMatrix) charts.draw([]);
  return { root, draw: () => {}, destroy: () => charts.destroy() };
}

type Step = CurveReport["points"][number];

function stepTable(curve: CurveReport, best?: Step): HTMLElement {
  const titles = ["share", "offered", "achieved", "mean", "p50", "p99"];
  return table(
    titles.map((title) => ({ title, numeric: true })),
    curve.points.map((point) => [
      { show: percent(point.share) + (point === best ? " ★ best" : ""), sort: point.share },
      figure(point.offered, count),
      figure(point.achieved ?? 0, orNone(count)),
      figure(point.meanNs ?? 0, orNone(latency)),
      figure(point.p50Ns ?? 0, marked(point.isP50Uncertain, orNone(latency))),
      figure(point.p99Ns ?? 0, marked(point.isP99Uncertain, orNone(latency))),
    ]),
  );
}

function drawCurve(plots: HTMLElement, curve: CurveReport, best?: Step): TimeChart[] {
  const points = [...curve.points].sort((a, b) => a.offered - b.offered);
  const x = points.map((p) => p.offered);
  const knee = points.find(
    (p) => `${Number((100 * p.share).toPrecision(4))} %` === curve.knee?.value,
  );
  const marks = (): Mark[] => [
    ...(knee ? [{ at: knee.offered, text: "knee", tone: "plain" as const }] : []),
    ...(best ? [{ at: best.offered, text: "the most IOPS", tone: "good" as const }] : []),
  ];
  const common = { unit: "offered per second", marks };
  const load = new TimeChart(plots, {
    title: `Offered and achieved load, ${curve.phase}`,
    show: count,
    kind: "count",
    ...common,
  });
  load.set(x, [
    { label: "achieved", values: points.map((p) => p.achieved ?? null) },
    { label: "offered", values: x },
  ]);
  const times = new TimeChart(plots, {
    title: `Latency by offered load, ${curve.phase}`,
    show: latency,
    kind: "latency",
    log: true,
    ...common,
  });
  times.set(x, [
    { label: "p50", values: points.map((p) => p.p50Ns ?? null) },
    { label: "p99", values: points.map((p) => p.p99Ns ?? null) },
  ]);
  return [load, times];
}

// Offered against achieved load, and latencies beside it; the knee and the best point are marked.
function curveSection(curve: CurveReport, number: number): Section {
  const plots = element("div", { class: "grid" });
  const best = bestStep(curve);
  const charts: TimeChart[] = [];
  const most = best
    ? `The most (green flag) is ${count(best.achieved ?? 0)} IOPS at ${percent(best.share)} of ` +
      `the load, p99 ${marked(best.isP99Uncertain, orNone(latency))(best.p99Ns ?? 0)}.`
    : "";
  const root = element(
    "section",
    {},
    element("h2", { id: `curve-${number}` }, `Offered and achieved: ${curve.phase}`),
    ...(most ? [element("p", { class: "conclusion" }, most)] : []),
    ...(curve.knee ? [element("p", {}, `Knee (grey flag): ${kneeText(curve.knee)}`)] : []),
    ...(curve.withoutKnee ? [element("p", { class: "muted" }, curve.withoutKnee)] : []),
    plots,
    stepTable(curve, best),
  );
  return {
    root,
    draw: () => charts.push(...drawCurve(plots, curve, best)),
    destroy: () => {
      for (const chart of charts) chart.destroy();
    },
  };
}

// Those of a report, in its order.
export const sectionsOf = (report: Report): Section[] => [
  ...report.sweeps.map(sweepSection),
  ...report.curves.map(curveSection),
];
