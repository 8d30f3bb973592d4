// The page: the list of runs, one run live, one run's report. The part after # in the address says
// which, and is the link to send.

import { get, type Report, type StatusReply } from "./api";
import { element } from "./dom";
import { LiveView } from "./live_view";
import { ReportView } from "./report_view";
import { RunsView } from "./runs_view";
import { Asking, type View } from "./view";

const main = document.getElementById("main") as HTMLElement;
let view: View | undefined;
let asking = new Asking();

function show(next: View): void {
  view?.destroy();
  view = next;
}

async function showRun(id: string): Promise<void> {
  const mine = asking;
  const report = await get<Report>(`/api/runs/${id}/report`, mine.signal);
  if (mine.isOver) return;
  if (!report.run) throw new Error(`run ${id}: it is not in the report`);
  const { run } = report;
  document.title = `${run.jobName} – Lockstep`;
  show(
    run.state === "running" || run.state === "queued"
      ? new LiveView(main, run, () => void route())
      : new ReportView(main, report),
  );
}

async function route(): Promise<void> {
  asking.end();
  asking = new Asking();
  const mine = asking;
  const found = /^#\/run\/([0-9a-z-]+)/.exec(location.hash);
  try {
    if (found) return await showRun(found[1]);
    document.title = "Lockstep";
    show(new RunsView(main));
  } catch (error) {
    if (mine.isOver) return;
    view?.destroy();
    view = undefined;
    main.replaceChildren(element("p", { class: "error" }, String(error)));
  }
}

async function showStatus(): Promise<void> {
  const status = await get<StatusReply>("/api/status");
  (document.getElementById("status") as HTMLElement).textContent =
    `${status.workers.length} workers attached, store: ${status.store}, version ${status.version}`;
}

window.addEventListener("hashchange", () => void route());
void route();
void showStatus().catch((error) => {
  (document.getElementById("status") as HTMLElement).textContent = String(error);
});
