// The parts of a phase that wait to be opened. They come after its first chart.

import "./base";
import { choices } from "./address";
import type { PhaseReport } from "./api";
import { element, fold } from "./dom";
import { exportedRun } from "./file";
import { count, fixed, plural, short, wholePercent } from "./format";
import type { HostLines } from "./report_charts";
import { devices, hosts, kernels, settings, threads } from "./report_hosts";
import { methods, window as measuredWindow } from "./report_method";
import { network } from "./report_network";
import { observedHosts } from "./report_observed_hosts";
import { outageSummary, outageTable } from "./report_outages";

export { environment } from "./report_environment";

type Fill = (box: HTMLElement) => void;

// `fair`: lines on fairness, which are made beside what is shown at first (report_load.ts).
export function foldsOf(
  run: string,
  phase: PhaseReport,
  fair: HTMLElement[],
  lines?: HostLines,
): HTMLDetailsElement[] {
  const made: HTMLDetailsElement[] = [];
  const add = (name: string, title: string, summary: string, fill: Fill, isOpen = false) => {
    const all = choices();
    const kept = `${name}-${phase.index}`;
    const isChosen = all.has(`sort-${kept}`) || all.has(`find-${kept}`);
    const one = fold(title, summary, fill, { isOpen: isOpen || isChosen });
    one.id = kept;
    made.push(one);
  };
  if (phase.outages.length > 0)
    add("outages", "Outages", outageSummary(phase), (box) => box.append(...outageTable(phase)));
  if (phase.observed) {
    const own = phase.observed.hosts;
    add("hosts", "Hosts", plural(own.length, "host"), (box) => box.append(...observedHosts(phase)));
  } else if (phase.workloads.length > 0) {
    const span = `${fixed(phase.windowBeginSeconds, 2)}–${fixed(phase.windowEndSeconds, 2)} s`;
    const engines = [...new Set(phase.workloads.map((w) => w.engine))].join(", ");
    add("method", "How it was measured", `${span} after T, by ${engines}`, (box) =>
      box.append(
        ...(phase.workersLost < phase.workers ? measuredWindow(phase) : []),
        ...fair,
        ...methods(phase),
        ...csvLink(run, phase),
      ),
    );
    add("hosts", "Hosts", hostSummary(phase), (box) => box.append(hosts(phase, lines)));
  }
  const { devices: d, kernels: k, interfaces: i, nfs: n, threads: t, settings: s } = phase;
  if (d.length > 0)
    add("devices", "Devices", deviceSummary(phase), (box) => box.append(...devices(phase)));
  if (i.length + n.length > 0)
    add("network", "Network", plural(i.length, "interface"), (box) =>
      box.append(...network(phase)),
    );
  if (k.length > 0)
    add("kernels", "Kernels", kernelSummary(phase), (box) => box.append(...kernels(phase)));
  if (t.length > 0 || phase.threadFairness) {
    const words = t.length > 0 ? plural(t.length, "thread") : "fairness";
    add("threads", "Threads", words, (box) => box.append(...threads(phase)));
  }
  const changed = settings(phase);
  if (changed.length > 0) {
    const isOpen = s.some((one) => one.notRestored !== "");
    const words = `${changed.length} changed`;
    add("settings", "Settings", words, (box) => box.append(...changed), isOpen);
  }
  return made;
}

function csvLink(run: string, phase: PhaseReport): HTMLElement[] {
  if (exportedRun) return [];
  const href = `/api/runs/${run}/export.csv?phase=${phase.index}`;
  const link = element("a", { href, download: "" }, "fleet over time as CSV");
  return [element("p", { class: "actions" }, link)];
}

// "8, 548 to 563 IOPS, none stands out"
function hostSummary(phase: PhaseReport): string {
  const there = phase.hosts.filter((h) => !h.lost);
  const rates = there.map((h) => h.iops ?? 0);
  const lost = phase.hosts.length - there.length;
  const behind = new Set([...phase.stragglers, ...phase.starvations].map((s) => s.host)).size;
  const outage = phase.outageSummary?.count ? phase.outageSummary.hosts : 0;
  const parts = [plural(phase.hosts.length, "host")];
  if (rates.length > 1)
    parts.push(
      `${short("count", Math.min(...rates))} to ${short("count", Math.max(...rates))} IOPS`,
    );
  if (lost > 0) parts.push(`${lost} lost`);
  if (behind > 0) parts.push(`${behind} behind the others`);
  if (outage > 0) parts.push(`${outage} stood still for a time`);
  if (lost + behind + outage === 0) parts.push("none stands out");
  return parts.join(", ");
}

const isAgreed = (verdict: string): boolean => verdict === "VERDICT_AGREE";

function deviceSummary(phase: PhaseReport): string {
  const busiest = phase.devices.reduce((a, b) =>
    (b.busyRatio ?? -1) > (a.busyRatio ?? -1) ? b : a,
  );
  const odd = phase.devices.filter(
    (d) => d.findings.length > 0 || (d.crossCheck && !isAgreed(String(d.crossCheck.verdict))),
  ).length;
  const parts = [plural(phase.devices.length, "device")];
  if (busiest.busyRatio !== undefined)
    parts.push(`${busiest.name} busy ${wholePercent(busiest.busyRatio)} of the time`);
  if (odd > 0) parts.push(`${odd} with a finding`);
  return parts.join(", ");
}

function kernelSummary(phase: PhaseReport): string {
  const idle = phase.kernels.map((k) => k.idleRatio);
  const least = idle.length > 0 ? Math.min(...idle) : 1;
  const words = `the busiest ${fixed(100 * (1 - least), 0)} % busy`;
  return `${count(phase.kernels.length)}, ${words}`;
}
