// One cell for each worker, in its state's colour and shape: a thousand fit a screen.

import { element } from "./dom";
import { wordsOf, type Member, type State } from "./fleet_state";
import { oneStop } from "./keyboard";

const classes: Record<State, string> = { "needs you": "needs", busy: "busy", ready: "ready" };

export class FleetMap {
  readonly root = element("div", { class: "map", role: "group" });
  private readonly said = element("output");
  private readonly cells = element("div", { class: "cells" });
  private readonly settle = oneStop(this.cells, "button");
  private shown = "";

  // `chosen`: a cell was clicked, or Enter pressed on it.
  constructor(chosen: (name: string) => void) {
    this.root.setAttribute("aria-label", "workers, one cell each; arrows move among them");
    this.root.append(this.cells, this.said);
    const nameOf = (event: Event) =>
      (event.target as HTMLElement).closest<HTMLElement>("button")?.getAttribute("aria-label");
    for (const name of ["focusin", "pointerover"])
      this.cells.addEventListener(name, (event) => {
        this.said.textContent = nameOf(event) ?? this.said.textContent;
      });
    this.cells.addEventListener("click", (event) => {
      const name = (event.target as HTMLElement).closest("button")?.dataset.host;
      if (name) chosen(name);
    });
  }

  // By name, so that a cell is where it was when its state changes.
  set(members: Member[], isChosen: (member: Member) => boolean): void {
    const ordered = [...members].sort((a, b) =>
      a.name.localeCompare(b.name, "en", { numeric: true }),
    );
    const looks = ordered.map((one) => ({
      name: one.name,
      look: `${classes[one.state]}${isChosen(one) ? "" : " other"}`,
      words: wordsOf(one),
    }));
    const state = JSON.stringify(looks);
    if (state === this.shown) return;
    this.shown = state;
    const cells = Array.from(this.cells.children) as HTMLElement[];
    looks.forEach(({ name, look, words }, i) => {
      const cell = cells[i] ?? this.cells.appendChild(element("button", { type: "button" }));
      cell.className = look;
      cell.dataset.host = name;
      cell.setAttribute("aria-label", words);
    });
    for (const cell of cells.slice(looks.length)) cell.remove();
    this.settle();
  }
}
