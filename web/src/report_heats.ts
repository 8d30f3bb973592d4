// The charts of a phase that come after those of the whole fleet: heat maps of latencies and of
// hosts, and how the latencies are distributed.

import "./base";
import type { LatencySeries, PhaseReport, SeriesReply } from "./api";
import { halves } from "./api";
import { TimeChart, wholeSpans, type ChartGroup } from "./charts";
import { count, latency, percent } from "./format";
import { HeatMap, type HeatOptions, type HeatShade } from "./heat_map";
import { shadesOf, type HostLines } from "./report_charts";

// To the last nine that the count of I/Os carries.
export function drawDistribution(group: ChartGroup, phase: PhaseReport): TimeChart | undefined {
  const { total } = phase;
  const points = [...(total?.percentiles ?? []), ...(total?.tail ?? [])].filter(
    (p) => p.percent < 100 && p.latencyNs !== undefined,
  );
  if (points.length < 2) return undefined;
  const all = new Set(phase.workloads.map((w) => w.total?.metric).filter(Boolean));
  const own = total?.metric === "response_time" ? "response time" : "service time";
  const metric = all.size > 1 ? "response and service times" : own;
  const chart = new TimeChart(group.grid, {
    title: `Distribution of ${metric}, ${phase.name}: latency by nines (2 is p99, 3 p99.9)`,
    show: latency,
    log: true,
    kind: "latency",
    unit: "nines",
  });
  chart.set(
    points.map((p) => -Math.log10(1 - p.percent / 100)),
    [{ label: "latency", values: points.map((p) => p.latencyNs ?? null) }],
  );
  return chart;
}

export function drawLatencies(
  group: ChartGroup,
  phase: PhaseReport,
  reply: SeriesReply,
  series: LatencySeries,
): HeatMap[] {
  const { spans } = reply;
  const places = wholeSpans(reply);
  const rows = series.edgesNs.length - 1;
  if (!spans || rows < 1) return [];
  const shares = halves(series.shares);
  const columns = spans.endSeconds.length;
  const heat = new HeatMap(
    group.grid,
    {
      title: `Latencies over time, ${phase.name}: the slowest on top`,
      show: (v) => `${v < 0.0005 ? `${count(v * 1e6)} in a million` : percent(v)} of the I/Os`,
      // One I/O in a million is still seen.
      shade: (value, most) => (value > 0 ? 1 + Math.log10(value / most) / 6 : 0),
      least: (most) => most / 1e6,
      shades: () => shadesOf(phase),
      tall: Math.max(120, rows * 6),
    },
    group,
  );
  heat.set({
    rows: Array.from({ length: rows }, (_, i) => {
      const row = rows - 1 - i;
      return `${latency(series.edgesNs[row])} to ${latency(series.edgesNs[row + 1])}`;
    }),
    names: Array.from({ length: rows }, (_, i) => latency(series.edgesNs[rows - 1 - i])),
    begins: places.map((i) => spans.beginSeconds[i]),
    ends: places.map((i) => spans.endSeconds[i]),
    at: (row, column) => shares[(rows - 1 - row) * columns + places[column]] || NaN,
  });
  return [heat];
}

// The outages of each host. The report names only so many hosts of one: if some are missing, or if
// several hosts have such a name, its band is over all rows, as in the charts of the fleet.
function hostShades({ outages }: PhaseReport, names: string[]): HeatShade[] {
  return outages.map(({ beginSeconds: from, endSeconds: to, hosts, hostsCount }) => {
    const silent = new Set(hosts);
    const rows = names.flatMap((name, row) => (silent.has(name) ? [row] : []));
    const isAll = rows.length === 0 || rows.length !== hostsCount;
    return { from, to, kind: "outage", ...(isAll ? {} : { rows }) };
  });
}

// IOPS and p99 of each host. `pick` is told the row of a host that the reader chooses.
export function drawHosts(
  group: ChartGroup,
  phase: PhaseReport,
  hosts: HostLines,
  pick: (row: number) => void,
): HeatMap[] {
  const { spans } = hosts.spans;
  if (!spans) return [];
  const places = wholeSpans(hosts.spans);
  const shades = hostShades(phase, hosts.names);
  const draw = (
    what: string,
    values: Float32Array[],
    options: Pick<HeatOptions, "show" | "shade" | "least">,
  ): HeatMap => {
    const heat = new HeatMap(
      group.grid,
      {
        title: `${what} of each host, ${phase.name}`,
        hint: "a click or Enter draws it above",
        ...options,
        shades: () => shades,
        pick,
      },
      group,
    );
    heat.set({
      rows: hosts.names,
      begins: places.map((i) => spans.beginSeconds[i]),
      ends: places.map((i) => spans.endSeconds[i]),
      at: (row, column) => values[row][places[column]],
    });
    return heat;
  };
  return [
    draw("IOPS", hosts.iops, {
      show: (v) => `${count(v)} IOPS`,
      shade: (value, most) => (most > 0 ? value / most : 0),
    }),
    // From a thousandth of the longest on.
    draw("p99", hosts.p99, {
      show: latency,
      shade: (value, most) => (most > 0 && value > 0 ? 1 + Math.log10(value / most) / 3 : 0),
      least: (most) => most / 1000,
    }),
  ];
}
