// What a run came to, in one word. No bad run is green.

import type { PhaseReport, Report, RunSummary } from "./api";
import { element } from "./dom";

export type Tone = "good" | "bad" | "warn" | "plain";
export interface Verdict {
  word: string;
  tone: Tone;
}

// As far as the list of runs knows; docs/reports.md has the words.
export function verdictOf(run: RunSummary): Verdict {
  if (run.state === "running" || run.state === "queued") return { word: run.state, tone: "plain" };
  if (run.state !== "done") return { word: run.state, tone: "bad" };
  if (run.invalid) return { word: "invalid", tone: "bad" };
  const held = /^(\d+) of (\d+) held$/.exec(run.expectations);
  if (held && Number(held[1]) < Number(held[2]))
    return { word: "expectations failed", tone: "bad" };
  if (run.degraded) return { word: "degraded", tone: "warn" };
  return { word: held ? "passed" : "done", tone: "good" };
}

// The controller's own.
export function verdictOfReport(report: Report): Verdict {
  const { verdict } = report;
  if (!verdict) return report.run ? verdictOf(report.run) : { word: "", tone: "plain" };
  const isHalf = verdict.word === "degraded" || verdict.word === "errors";
  const tone = verdict.good ? "good" : !verdict.over ? "plain" : isHalf ? "warn" : "bad";
  return { word: verdict.word, tone };
}

export function verdictOfPhase(phase: PhaseReport): Verdict {
  if (phase.state !== "done") {
    const going = ["arming", "running", "draining"].includes(phase.state);
    return { word: phase.state, tone: going ? "plain" : "bad" };
  }
  if (phase.invalid) return { word: "invalid", tone: "bad" };
  if (phase.expectations.some((e) => !e.held)) return { word: "expectations failed", tone: "bad" };
  if (phase.workersLost > 0) return { word: "degraded", tone: "warn" };
  if ((phase.total?.errors ?? 0) > 0) return { word: "errors", tone: "warn" };
  return { word: "done", tone: "good" };
}

export function pill(verdict: Verdict): HTMLElement {
  return element("span", { class: `pill ${verdict.tone}` }, verdict.word);
}

// Figures that were made up are told wherever they are shown.
export function syntheticMark(run: RunSummary | undefined): HTMLElement[] {
  if (!run?.synthetic) return [];
  return [element("span", { class: "pill warn", title: "its workers are simulated" }, "synthetic")];
}
