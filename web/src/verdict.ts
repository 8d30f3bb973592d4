// The verdict of a run, in one word. No bad run is green.

import type { PhaseReport, Report, RunSummary } from "./api";
import { element, type Tone } from "./dom";

export interface Verdict {
  word: string;
  tone: Tone;
}

// By severity: green, amber, red, or grey for a word that says neither. A cancelled run has found
// no fault. Words that this page does not know are bad.
const tones: Record<string, Tone> = {
  passed: "good",
  done: "good",
  degraded: "warn",
  errors: "warn",
  backlog: "warn",
  cancelled: "plain",
  void: "plain",
  "data corrupted": "corrupt",
};
const toneOf = (word: string): Tone => tones[word] ?? "bad";

// The word of its report; of a run that has none yet, or never came to one, its state.
export function verdictOf(run: RunSummary): Verdict {
  if (run.verdict) return { word: run.verdict, tone: toneOf(run.verdict) };
  // A run that has ended just now, and has no report, is not good yet.
  const isOpen = ["queued", "running", "done"].includes(run.state);
  return { word: run.state, tone: isOpen ? "plain" : toneOf(run.state) };
}

// The controller's own.
export function verdictOfReport(report: Report): Verdict {
  const { verdict } = report;
  if (!verdict) return report.run ? verdictOf(report.run) : { word: "", tone: "plain" };
  return { word: verdict.word, tone: verdict.over ? toneOf(verdict.word) : "plain" };
}

export function verdictOfPhase(phase: PhaseReport): Verdict {
  // Wrong data is wrong however the phase ended.
  if (phase.workloads.some((w) => (w.verification?.mismatches ?? 0) > 0))
    return { word: "data corrupted", tone: "corrupt" };
  if (phase.state !== "done") {
    const going = ["arming", "running", "draining"].includes(phase.state);
    return { word: phase.state, tone: going ? "plain" : toneOf(phase.state) };
  }
  if (phase.invalid) return { word: "invalid", tone: "bad" };
  if (phase.expectations.some((e) => !e.met)) return { word: "expectations failed", tone: "bad" };
  const io = (phase.total?.operations ?? 0) + (phase.total?.errors ?? 0);
  if (phase.kind === "run" && phase.workloads.length > 0 && io === 0)
    return { word: "nothing measured", tone: "bad" };
  if (phase.workersLost > 0) return { word: "degraded", tone: "warn" };
  if ((phase.total?.errors ?? 0) > 0) return { word: "errors", tone: "warn" };
  if (phase.expectations.length === 0 && phase.workloads.some((w) => w.hasBacklog))
    return { word: "backlog", tone: "warn" };
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
