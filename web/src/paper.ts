// The page on paper: what is folded is open, and charts have the width of a page. A browser says
// when it begins to print; views and charts are told here.

import { setOnPaper } from "./settings";

type Listener = (isOnPaper: boolean) => void;

const listeners = new Set<Listener>();
let isOn = false;

// Half a page of A4, across: two charts stand side by side (report.css).
const chartWidth = 500;

function turn(isOnPaper: boolean): void {
  isOn = isOnPaper;
  setOnPaper(isOnPaper); // the colours of the screen may be those of the dark
  for (const listener of [...listeners]) listener(isOnPaper);
}
window.addEventListener("beforeprint", () => turn(true));
window.addEventListener("afterprint", () => turn(false));

// The width of a chart now; nothing: that of its place.
export const paperWidth = (): number | undefined => (isOn ? chartWidth : undefined);

// The returned function ends that. Listeners are told in the order in which they came.
export function whenPrinted(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
