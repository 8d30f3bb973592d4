// The page: the list of runs, one run live, one run's report. The part after # in the address says
// which.

import {
  get,
  type EventReport,
  type HistoryReply,
  type OperationReport,
  type PhaseReport,
  type Report,
  type StatusReply,
  type WatchEvent,
} from "./api";
import { HostChart } from "./charts";
import { count, element, latency, table, throughput } from "./format";

const main = document.getElementById("main") as HTMLElement;
let live: EventSource | undefined;

function state(run: { state: string; degraded?: boolean }): HTMLElement {
  return element(
    "span",
    { class: `state-${run.state}` },
    run.state + (run.degraded ? " (degraded)" : ""),
  );
}

async function showRuns(): Promise<void> {
  const { runs } = await get<HistoryReply>("/api/runs?limit=100");
  main.replaceChildren(element("h1", {}, "Runs"));
  if (runs.length === 0)
    main.append(element("p", { class: "muted" }, "None yet. Submit one: lockstep run FILE"));
  const list = table(
    [
      { title: "submitted" },
      { title: "job" },
      { title: "state" },
      { title: "owner" },
      { title: "hosts", numeric: true },
      { title: "IOPS", numeric: true },
      { title: "throughput", numeric: true },
      { title: "expectations" },
    ],
    runs.map((run) => [
      run.submittedAt.replace("T", " ").replace("Z", ""),
      run.jobName,
      state(run),
      run.owner,
      String(run.hosts),
      run.iops > 0 ? count(run.iops) : "",
      run.iops > 0 ? throughput(run.bytesPerSecond) : "",
      run.expectations,
    ]),
  );
  list.querySelectorAll("tbody tr").forEach((row, i) => {
    row.className = "link";
    (row as HTMLElement).dataset.run = runs[i].runId;
    row.addEventListener("click", () => {
      location.hash = `#/run/${runs[i].runId}`;
    });
  });
  main.append(list);
}

function percentile(operation: OperationReport, percent: number): string {
  const found = operation.percentiles.find((p) => p.percent === percent);
  return found ? latency(found.latencyNs) : "";
}

function operations(phase: PhaseReport): HTMLElement {
  const rows = phase.workloads.flatMap((workload) =>
    workload.operations.map((o) => [
      workload.name,
      o.kind,
      count(o.iops),
      throughput(o.bytesPerSecond),
      latency(o.latencyAvgNs),
      percentile(o, 50),
      percentile(o, 99),
      percentile(o, 99.9),
      latency(o.latencyMaxNs),
      count(o.errors),
    ]),
  );
  return table(
    [
      { title: "workload" },
      { title: "operation" },
      ...["IOPS", "throughput", "avg", "p50", "p99", "p99.9", "max", "errors"].map((title) => ({
        title,
        numeric: true,
      })),
    ],
    rows,
  );
}

function hosts(phase: PhaseReport): HTMLElement {
  return table(
    [
      { title: "host" },
      ...["IOPS", "throughput", "p50", "p99"].map((title) => ({ title, numeric: true })),
    ],
    phase.hosts.map((h) => [
      h.host + (h.lost ? " (lost)" : ""),
      count(h.iops),
      throughput(h.bytesPerSecond),
      latency(h.p50Ns),
      latency(h.p99Ns),
    ]),
  );
}

function showPhase(phase: PhaseReport): void {
  main.append(
    element(
      "h2",
      {},
      `${phase.name} `,
      element("span", { class: "muted" }, `${phase.kind}, ${phase.durationSeconds.toFixed(1)} s, `),
      state(phase),
    ),
  );
  for (const remark of phase.remarks) main.append(element("div", { class: "remark" }, remark));
  if (phase.workloads.length === 0) {
    main.append(
      element(
        "p",
        {},
        `${count(phase.filesMade)} files made, ${count(phase.filesReused)} kept, ` +
          `${count(phase.filesRemoved)} removed`,
      ),
    );
    return;
  }
  for (const workload of phase.workloads) {
    main.append(
      element("p", { class: "muted" }, `${workload.name}: ${workload.summary}; ${workload.engine}`),
    );
    if (workload.limitedBy)
      main.append(
        element("p", {}, `Limited by: ${workload.limitedBy} (${workload.limitedBecause})`),
      );
    if (workload.verification) {
      const v = workload.verification;
      main.append(
        element(
          "p",
          { class: v.mismatches > 0 ? "error" : "state-done" },
          `${count(v.checked)} blocks verified, ` +
            (v.mismatches > 0 ? `mismatches: ${v.byVerdict}` : "all as written"),
        ),
      );
    }
  }
  main.append(operations(phase));
  const box = element("div", { class: "chart" });
  main.append(box);
  const chart = new HostChart(box, "IOPS per host", count);
  for (const host of phase.hosts)
    host.iopsByInterval.forEach((iops, i) =>
      chart.add(host.host, (i + 1) * phase.intervalSeconds, iops),
    );
  chart.draw();
  main.append(hosts(phase));
  const fairness = phase.fairness
    .map((f) => `${f.of}: Jain ${f.jain.toFixed(4)}, max/min ${f.maxOverMin.toFixed(2)}`)
    .join("; ");
  main.append(
    element(
      "p",
      {},
      `Fairness of ${fairness}. ` +
        `Start skew ${latency(phase.startSkewNs)} ± ${latency(phase.startSkewBoundNs)}.`,
    ),
  );
  for (const device of phase.devices) {
    if (device.crossCheck)
      main.append(
        element(
          "p",
          {},
          `${device.name}: ${device.crossCheck.verdict.toLowerCase().replace("_", " ")}: ` +
            device.crossCheck.reason,
        ),
      );
  }
  for (const e of phase.expectations) {
    main.append(
      element(
        "p",
        { class: e.held ? "state-done" : "error" },
        `${e.held ? "held" : "NOT held"}: ${e.text} (found ${e.found})`,
      ),
    );
  }
}

function eventLine(event: EventReport): HTMLElement {
  return element(
    "p",
    { class: event.severity === "error" ? "error" : "muted" },
    `${event.at} ${event.host} ${event.message}`,
  );
}

async function showReport(id: string): Promise<void> {
  const report = await get<Report>(`/api/runs/${id}/report`);
  const run = report.run;
  if (!run) throw new Error(`run ${id}: the report says nothing of it`);
  main.replaceChildren(element("h1", {}, run.jobName, " ", state(run)));
  main.append(
    element(
      "p",
      { class: "muted" },
      `${run.runId}, by ${run.owner}, ${run.submittedAt}, ${run.hosts} hosts`,
    ),
  );
  if (report.description) main.append(element("p", {}, report.description));
  if (run.outcome) main.append(element("p", { class: "error" }, run.outcome));
  report.phases.forEach(showPhase);
  if (report.events.length > 0)
    main.append(element("h2", {}, "Events"), ...report.events.map(eventLine));
}

// A run in progress: charts that grow by server-sent events, then the report.
function showLive(id: string, name: string): void {
  const line = element("p", { id: "live-line" }, "waiting");
  const rates = element("div", { class: "chart", id: "live-iops" });
  const tails = element("div", { class: "chart", id: "live-p99" });
  const events = element("div");
  main.replaceChildren(
    element("h1", {}, name, " ", element("span", { class: "state-running" }, "running")),
    line,
    rates,
    tails,
    events,
  );
  let phase = -1;
  let iops: HostChart | undefined;
  let p99: HostChart | undefined;
  live = new EventSource(`/api/runs/${id}/events`);
  live.onmessage = (message) => {
    const event = JSON.parse(message.data) as WatchEvent;
    if (event.phase)
      line.textContent =
        `phase ${event.phase.index + 1} of ${event.phase.count}, ` +
        `${event.phase.name}: ${event.phase.state}`;
    if (event.event) events.prepend(eventLine(event.event));
    if (event.interval) {
      if (event.interval.phase !== phase) {
        phase = event.interval.phase;
        rates.replaceChildren();
        tails.replaceChildren();
        iops = new HostChart(
          rates.appendChild(element("div", { style: "height:100%" })),
          "IOPS per host",
          count,
        );
        p99 = new HostChart(
          tails.appendChild(element("div", { style: "height:100%" })),
          "p99 per host",
          latency,
          true,
        );
      }
      for (const host of event.interval.hosts) {
        iops?.add(host.host, event.interval.endSeconds, host.iops);
        p99?.add(host.host, event.interval.endSeconds, host.p99Ns);
      }
      iops?.draw();
      p99?.draw();
      line.textContent =
        `${event.interval.endSeconds.toFixed(0)} s (${event.interval.intervalClass}): ` +
        `${count(event.interval.iops)} IOPS, ` +
        `${throughput(event.interval.bytesPerSecond)}, p99 ${latency(event.interval.p99Ns)}`;
    }
  };
  // Not the run's end: the browser asks again by itself, unless that is in vain.
  live.addEventListener("failed", (message) => {
    const failed = JSON.parse((message as MessageEvent).data) as { retry: boolean; error: string };
    line.textContent = failed.retry ? `${failed.error} (asking again)` : failed.error;
    if (!failed.retry) live?.close();
  });
  live.onerror = () => {
    if (live?.readyState === EventSource.CLOSED) line.textContent = "no events: too many watch";
  };
  live.addEventListener("end", () => {
    live?.close();
    void showReport(id);
  });
}

async function route(): Promise<void> {
  live?.close();
  const found = /^#\/run\/([0-9a-z-]+)/.exec(location.hash);
  try {
    if (!found) return await showRuns();
    const report = await get<Report>(`/api/runs/${found[1]}/report`);
    if (report.run?.state === "running" || report.run?.state === "queued")
      return showLive(report.run.runId, report.run.jobName);
    await showReport(found[1]);
  } catch (error) {
    main.replaceChildren(element("p", { class: "error" }, String(error)));
  }
}

async function showStatus(): Promise<void> {
  const status = await get<StatusReply>("/api/status");
  (document.getElementById("status") as HTMLElement).textContent =
    `${status.workers.length} workers attached, store: ${status.store}, version ${status.version}`;
}

window.addEventListener("hashchange", () => {
  void route();
});
void route();
void showStatus().catch((error) => {
  main.append(element("p", { class: "error" }, String(error)));
});
