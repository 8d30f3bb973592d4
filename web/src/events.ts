// What happened in a run, a line each.

import type { EventReport } from "./api";
import { element } from "./dom";

export function eventLine(event: EventReport): HTMLElement {
  return element(
    "p",
    { class: event.severity === "error" ? "error" : "muted" },
    [event.at, event.host, event.message].filter(Boolean).join(" "),
  );
}
