// The page: runs, one run live, one run's report, some compared, the fleet. The part after # in the
// address says which, and what is chosen there: it is the link to send.

import "./base";
import { isOfAnyRun } from "./address";
import { get, messageOf, NotThere, type HistoryReply, type Report } from "./api";
import { learnAddress } from "./controller_address";
import { banner, element, signs, timeOf } from "./dom";
import { exportedRun } from "./file";
import { plural } from "./format";
import { skipTo } from "./keyboard";
import { land, rememberScroll } from "./landing";
import { loaded, NoScript } from "./scripts";
import { chooseTheme, chooseZone, chosenTheme, chosenZone, themes, zones } from "./settings";
import { pollStatus, whenStatus } from "./status";
import { setTab } from "./tab";
import { verdictOf } from "./verdict";
import { Requests, type View } from "./view";
import "uplot/dist/uPlot.min.css";
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
const wallMs = 5000;
let view: View | undefined;
let landed = (): void => undefined;
let requests = new Requests();

function show(next: View): void {
  view = next;
}

// Sets of runs with commas between; the runs of one with dots.
async function showCompared(text: string): Promise<void> {
  const mine = requests;
  const { CompareView } = await loaded(import("./compare_view"));
  const sets = text.split(",").map((set) => set.split(".").filter(Boolean));
  if (!mine.isOver) show(new CompareView(main, sets));
}

// Among the runs of the same job, the last that was submitted before this one.
async function showBefore(id: string): Promise<void> {
  const mine = requests;
  const { run } = await get<Report>(`/api/runs/${id}`, mine.signal);
  if (!run) throw new Error(`run ${id}: it is not in the report`);
  const ask = new URLSearchParams({ job: run.jobName, until: run.submittedAt, limit: "2" });
  const { runs } = await get<HistoryReply>(`/api/runs?${ask}`, mine.signal);
  const before = runs.find((other) => other.runId !== run.runId);
  if (mine.isOver) return;
  if (before) return location.replace(`#/compare/${before.runId},${run.runId}`);
  throw new NotThere(`There is no run of ${run.jobName} before ${id.slice(0, 8)}.`);
}

async function showRuns(): Promise<void> {
  const mine = requests;
  const { RunsView } = await loaded(import("./runs_view"));
  if (!mine.isOver) show(new RunsView(main));
}

async function showFleet(): Promise<void> {
  const mine = requests;
  const { FleetView } = await loaded(import("./fleet_view"));
  if (!mine.isOver) show(new FleetView(main));
}

async function showRun(id: string): Promise<void> {
  const mine = requests;
  const report = await get<Report>(`/api/runs/${id}`, mine.signal);
  if (mine.isOver) return;
  if (!report.run) throw new Error(`run ${id}: it is not in the report`);
  const { run } = report;
  const isLive = run.state === "running" || run.state === "queued";
  if (isLive) {
    const { LiveView } = await loaded(import("./live_view"));
    if (mine.isOver) return;
    setTab(`${run.jobName} – Lockstep`);
    return show(new LiveView(main, report, run, () => void route()));
  }
  const hasPoints = report.sweeps.length + report.curves.length > 0;
  const scripts = [
    import("./report_view"),
    hasPoints ? import("./report_sweeps") : undefined,
  ] as const;
  const [{ ReportView }, points] = await loaded(Promise.all(scripts));
  if (mine.isOver) return;
  setTab(`${run.jobName} – Lockstep`);
  show(new ReportView(main, report, mine, points?.sectionsOf(report)));
}

// On a wall: the run in progress, whichever it is; without one, what the last came to.
async function showAnyRun(): Promise<void> {
  const mine = requests;
  const { runs } = await get<HistoryReply>("/api/runs?limit=20", mine.signal);
  if (mine.isOver) return;
  const running = runs.find((run) => run.state === "running");
  if (running) return showRun(running.runId);
  document.body.classList.add("wall");
  const [last] = runs;
  const title = element("h1", { class: "unseen" }, "Lockstep");
  const parts = [title, banner("plain", "No run is in progress")];
  if (last) {
    const { word, tone } = verdictOf(last);
    const ended = element("span", {}, "ended ", timeOf(last.endedAt));
    parts.push(banner(tone, `${last.jobName}: ${word}`, ended));
    setTab([signs[tone], word, "·", last.jobName].filter(Boolean).join(" "), tone);
  }
  main.replaceChildren(...parts);
  mine.again(wallMs, () => void route());
}

async function route(): Promise<void> {
  requests.end();
  requests = new Requests();
  const mine = requests;
  view?.destroy();
  view = undefined;
  const [path] = location.hash.split("?");
  const run = /^#\/run\/([0-9a-z-]+)$/.exec(path);
  const before = /^#\/before\/([0-9a-z-]+)$/.exec(path);
  const compared = /^#\/compare\/([0-9a-z,.-]+)$/.exec(path);
  landed();
  landed = land(main);
  document.body.classList.remove("wall");
  setTab("Lockstep");
  try {
    if (exportedRun) return await showRun(exportedRun);
    if (isOfAnyRun()) return await showAnyRun();
    if (run) return await showRun(run[1]);
    if (before) return await showBefore(before[1]);
    if (compared) return await showCompared(compared[1]);
    if (path === "#/fleet") return await showFleet();
    if (path === "" || path === "#/") return await showRuns();
    const words = `There is nothing at ${path}: the links above lead to what there is.`;
    main.replaceChildren(element("p", { class: "error" }, words));
  } catch (error) {
    if (mine.isOver) return;
    const isFinal = error instanceof NotThere;
    const retries = isFinal ? [] : ["(retrying)"];
    main.replaceChildren(banner(isFinal ? "plain" : "bad", messageOf(error), ...retries));
    if (isFinal) return;
    mine.again(againMs, () => (error instanceof NoScript ? location.reload() : void route()));
  }
}

function showStatus(): void {
  whenStatus(({ status, problem }) => {
    if (problem) {
      statusLine.textContent = problem;
    } else if (status) {
      learnAddress(status);
      const { workers, store, version } = status;
      statusLine.replaceChildren(
        `${plural(workers.length, "worker")} attached`,
        element("span", { class: "system", title: store }, `, version ${version}`),
      );
    }
    statusLine.classList.toggle("bad", problem !== undefined);
  });
}

// The status of a large fleet is larger than a report's first screen, which comes first.
async function start(): Promise<void> {
  await route();
  if (exportedRun) return;
  await view?.begun;
  pollStatus();
}

function navigate(): void {
  const links = [
    ["#/", "Runs"],
    ["#/fleet", "Fleet"],
  ].map(([href, name]) => element("a", { href }, name));
  document.getElementById("nav")?.replaceChildren(...links);
}

// A button that goes on to the next choice.
function cycle<T extends string>(
  what: string,
  all: readonly T[],
  chosen: () => T,
  choose: (next: T) => void,
): HTMLElement {
  const button = element("button", { type: "button" });
  const tell = () => (button.textContent = `${what}: ${chosen()}`);
  button.addEventListener("click", () => {
    choose(all[(all.indexOf(chosen()) + 1) % all.length]);
    tell();
  });
  tell();
  return button;
}

function offerPreferences(): void {
  const zone = (next: (typeof zones)[number]) => {
    chooseZone(next);
    void route(); // every time is told again
  };
  document
    .getElementById("preferences")
    ?.append(
      cycle("theme", themes, chosenTheme, chooseTheme),
      cycle("times", zones, chosenZone, zone),
    );
}

const skip = document.getElementById("skip");
if (skip) skipTo(skip, main);
rememberScroll();
offerPreferences();
if (exportedRun) {
  statusLine.textContent = "saved report";
} else {
  navigate();
  showStatus();
}
window.addEventListener("hashchange", () => {
  if (exportedRun) return;
  // Under the new address nobody shall read what is of the old one.
  main.replaceChildren();
  void route();
});
void start();
