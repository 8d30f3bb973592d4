// The page: runs, one run live, one run's report, some compared, the fleet. The part after # in the
// address says which, and what is chosen there: it is the link to send.

import { get, messageOf, NotThere, type Report, type StatusReply } from "./api";
import { CompareView } from "./compare_view";
import { element } from "./dom";
import { exportedRun } from "./file";
import { FleetView } from "./fleet_view";
import { plural } from "./format";
import { LiveView } from "./live_view";
import { ReportView } from "./report_view";
import { RunsView } from "./runs_view";
import { Requests, type View } from "./view";
// After what the charts' package brings, so that ours holds.
import "./style.css";
import "./charts.css";
import "./live.css";
import "./report.css";
import "./compare.css";
import "./lists.css";

const main = document.getElementById("main") as HTMLElement;
const statusLine = document.getElementById("status") as HTMLElement;
const againMs = 3000;
const statusMs = 10000;
let view: View | undefined;
let requests = new Requests();

function show(next: View): void {
  view = next;
}

async function showRun(id: string): Promise<void> {
  const mine = requests;
  const report = await get<Report>(`/api/runs/${id}`, mine.signal);
  if (mine.isOver) return;
  if (!report.run) throw new Error(`run ${id}: it is not in the report`);
  const { run } = report;
  document.title = `${run.jobName} – Lockstep`;
  show(
    run.state === "running" || run.state === "queued"
      ? new LiveView(main, run, () => void route())
      : new ReportView(main, report, mine),
  );
}

async function route(): Promise<void> {
  requests.end();
  requests = new Requests();
  const mine = requests;
  view?.destroy();
  view = undefined;
  const [path] = location.hash.split("?");
  const run = /^#\/run\/([0-9a-z-]+)$/.exec(path);
  const compared = /^#\/compare\/([0-9a-z,-]+)$/.exec(path);
  document.title = "Lockstep";
  try {
    if (exportedRun) return await showRun(exportedRun);
    if (run) return await showRun(run[1]);
    if (compared) return show(new CompareView(main, compared[1].split(",")));
    if (path === "#/fleet") return show(new FleetView(main));
    if (path === "" || path === "#/") return show(new RunsView(main));
    const words = `There is nothing at ${path}: the links above lead to what there is.`;
    main.replaceChildren(element("p", { class: "error" }, words));
  } catch (error) {
    if (mine.isOver) return;
    const words = error instanceof NotThere ? messageOf(error) : `${messageOf(error)} (retrying)`;
    main.replaceChildren(element("p", { class: "error" }, words));
    if (!(error instanceof NotThere)) mine.again(againMs, () => void route());
  }
}

async function showStatus(): Promise<void> {
  try {
    const { workers, store, version } = await get<StatusReply>("/api/status");
    const known = `${plural(workers.length, "worker")} attached, store: ${store}`;
    statusLine.textContent = `${known}, version ${version}`;
  } catch (error) {
    statusLine.textContent = String(error);
  }
  setTimeout(() => void showStatus(), statusMs);
}

function navigate(): void {
  const links = [
    ["#/", "Runs"],
    ["#/fleet", "Fleet"],
  ].map(([href, name]) => element("a", { href }, name));
  document.getElementById("nav")?.replaceChildren(...links);
}

if (exportedRun) {
  statusLine.textContent = "saved report";
} else {
  navigate();
  void showStatus();
}
window.addEventListener("hashchange", () => {
  if (!exportedRun) void route();
});
void route();
