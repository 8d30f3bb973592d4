// The page: the list of runs, one run live, one run's report. The part after # in the address says
// which.

import { get, type HistoryReply, type Report, type StatusReply, type WatchEvent } from "./api";
import { HostChart } from "./charts";
import { count, element, latency, state, table, throughput } from "./format";
import { eventLine, phaseSection } from "./report";

const main = document.getElementById("main") as HTMLElement;
let live: EventSource | undefined;

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

async function showReport(id: string): Promise<void> {
  const report = await get<Report>(`/api/runs/${id}/report`);
  const run = report.run;
  if (!run) throw new Error(`run ${id}: it is not in the report`);
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
  for (const phase of report.phases) main.append(...phaseSection(phase));
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
    if (live?.readyState === EventSource.CLOSED) {
      line.textContent = "no live events: too many pages watch already";
    }
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
