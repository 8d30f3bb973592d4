// The preferences of a reader, remembered by the browser: light or dark, and the zone of times.

export const themes = ["auto", "light", "dark"] as const;
export const zones = ["UTC", "local"] as const;
type Theme = (typeof themes)[number];
type Zone = (typeof zones)[number];

const scheme = matchMedia("(prefers-color-scheme: dark)");
const recolored = new Set<() => void>();

// A browser may forbid its storage, to a file for one: then a choice holds as long as the page.
function kept<T extends string>(name: string, all: readonly T[]): T {
  try {
    const value = localStorage.getItem(name);
    return all.find((one) => one === value) ?? all[0];
  } catch {
    return all[0];
  }
}
function keep(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    // It is told by `kept` that there is no storage.
  }
}

let theme: Theme = kept("theme", themes);
let isOnPaper = false; // which is white
let zone: Zone = kept("zone", zones);

// The style sheet has its colours by this attribute, so that a choice and the system's scheme are
// one case.
function paint(): void {
  const isDark = !isOnPaper && (theme === "auto" ? scheme.matches : theme === "dark");
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
  for (const work of recolored) work();
}
scheme.addEventListener("change", paint);
paint();

export const chosenTheme = (): Theme => theme;
export function chooseTheme(next: Theme): void {
  theme = next;
  keep("theme", next);
  paint();
}
// Light becomes dark, or the other way; what it returns ends that.
export function whenColorsChange(work: () => void): () => void {
  recolored.add(work);
  return () => recolored.delete(work);
}

export function setOnPaper(isOn: boolean): void {
  isOnPaper = isOn;
  paint();
}

export const chosenZone = (): Zone => zone;
export function chooseZone(next: Zone): void {
  zone = next;
  keep("zone", next);
}

const two = (value: number): string => String(value).padStart(2, "0");

// An instant with its zone, in the one that is chosen: 2026-11-23 20:47:13 UTC, or ... UTC+01:00. A
// text that is no time stays as it came.
export function inZone(rfc3339: string): string {
  const at = new Date(rfc3339);
  if (Number.isNaN(at.getTime())) return rfc3339;
  const offset = zone === "UTC" ? 0 : -at.getTimezoneOffset(); // minutes
  const shifted = new Date(at.getTime() + offset * 60000);
  const text = shifted.toISOString().replace("T", " ").slice(0, 19);
  if (zone === "UTC") return `${text} UTC`;
  const size = Math.abs(offset);
  return `${text} UTC${offset < 0 ? "−" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}
