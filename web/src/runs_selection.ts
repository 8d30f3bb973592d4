// The runs that are ticked, and what can be done with them. They stay ticked while other views are
// shown.

import { runActions } from "./actions";
import type { RunSummary } from "./api";
import { element, labelsOf } from "./dom";
import { plural } from "./format";

const maxSets = 5;
const maxRuns = 100;
const ticked = new Map<string, RunSummary>();

// Runs of the same job and labels are one set: it is they that a difference is told from noise by.
function setsOf(runs: RunSummary[]): RunSummary[][] {
  const sets = new Map<string, RunSummary[]>();
  for (const run of runs) {
    const key = [run.jobName, ...labelsOf(run.labels)].join("\n");
    sets.set(key, [...(sets.get(key) ?? []), run]);
  }
  return [...sets.values()];
}

const addressOf = (sets: RunSummary[][]): string =>
  `#/compare/${sets.map((set) => set.map((run) => run.runId).join(".")).join(",")}`;

// The oldest is what the others are compared with.
const inOrder = (): RunSummary[] =>
  [...ticked.values()].sort((a, b) => a.submittedAt.localeCompare(b.submittedAt));

export class Selection {
  readonly root = element("div", { class: "selection", role: "region" });

  constructor(private readonly cleared: () => void) {
    this.root.setAttribute("aria-label", "what can be done with ticked runs");
    this.draw();
  }

  has(run: RunSummary): boolean {
    return ticked.has(run.runId);
  }

  set(run: RunSummary, isTicked: boolean): void {
    if (isTicked) ticked.set(run.runId, run);
    else ticked.delete(run.runId);
    this.draw();
  }

  private draw(): void {
    this.root.hidden = ticked.size === 0;
    if (ticked.size === 0) return this.root.replaceChildren();
    const clear = element("button", { type: "button" }, "untick all");
    clear.addEventListener("click", () => {
      ticked.clear();
      this.draw();
      this.cleared();
    });
    this.root.replaceChildren(...this.actions(), clear);
  }

  private actions(): HTMLElement[] {
    const runs = inOrder();
    if (runs.length === 1) {
      const more = element("span", { class: "muted" }, "tick another one to compare");
      return [element("b", {}, runs[0].jobName), ...runActions(runs[0]), more];
    }
    const sets = setsOf(runs);
    const links: HTMLElement[] = [];
    const link = (compared: RunSummary[][], words: string) =>
      links.push(element("a", { href: addressOf(compared) }, words));
    if (sets.length > 1 && sets.length <= maxSets && sets.length < runs.length)
      link(sets, `compare ${sets.length} sets of runs with the same labels`);
    if (runs.length <= maxSets)
      link(
        runs.map((run) => [run]),
        `compare the ${runs.length} runs that are ticked`,
      );
    if (links.length === 0 || runs.length > maxRuns) {
      const words =
        `${plural(runs.length, "run")} are ticked: at most ${maxSets} are compared one by one, ` +
        `and ${maxRuns} in sets of the same job and labels.`;
      return [element("span", {}, words)];
    }
    return links;
  }
}
