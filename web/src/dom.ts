// Elements and tables. Text is never read as HTML.

import { ago, exact, none, typeset } from "./format";
import { oneStop } from "./keyboard";

export { whenColorsChange } from "./settings";

// A colour of the style sheet.
export function color(name: string): string {
  return getComputedStyle(document.body).getPropertyValue(name).trim();
}

export function element(
  tag: string,
  attributes: Record<string, string> = {},
  ...children: (Node | string)[]
): HTMLElement {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// Severities. A sign or a word says the same as the colour.
export type Tone = "good" | "bad" | "warn" | "corrupt" | "plain";
export const signs: Record<Tone, string> = {
  good: "✓",
  bad: "✗",
  corrupt: "✗",
  warn: "⚠\ufe0e",
  plain: "",
};

// Over the full width: a headline, and what is to be known of it.
export function banner(tone: Tone, headline: string, ...rest: (Node | string)[]): HTMLElement {
  const words = rest.length > 0 ? [element("span", {}, ...rest)] : [];
  const title = element("strong", {}, [signs[tone], headline].filter(Boolean).join(" "));
  return element("div", { class: `banner ${tone}` }, title, ...words);
}

// A large figure and what it is. Its unit is smaller; `note` is a line below; `title` says more.
// From more letters on a value has smaller ones on a narrow screen: "1,000 of 1,000".
const longValue = 10;
export function tile(
  what: string,
  value: string,
  { tone = "plain" as Tone, note = "", title = "" } = {},
): HTMLElement {
  const [figure, ...unit] = value.split(" ");
  const isFigure = /^[−+±≥≤~]?[\d.,]+$/.test(figure);
  const rest = unit.length > 0 ? [element("small", {}, ` ${unit.join(" ")}`)] : [];
  const large = isFigure ? [figure, ...rest] : [value];
  return element(
    "div",
    {
      class: `tile ${tone}${value.length > longValue ? " long" : ""}`,
      ...(title ? { title } : {}),
    },
    element("b", {}, ...large),
    // A note has a sign of its own.
    element("span", {}, note || tone === "good" ? what : `${signs[tone]} ${what}`.trim()),
    ...(note ? [element("span", {}, note)] : []),
  );
}

// A label, a filter, a small fact.
export function chip(text: string, title = ""): HTMLElement {
  return element("span", { class: "chip", ...(title ? { title } : {}) }, text);
}

// How long ago; the exact time, with its zone, is what it says when it is pointed at.
export function timeOf(rfc3339: string): HTMLElement {
  if (!rfc3339) return element("span", { class: "plain" }, none);
  return element("time", { datetime: rfc3339, title: exact(rfc3339) }, ago(rfc3339));
}

// A section that waits to be opened. Its headline has a summary of what is in it; `fill` makes that
// when it is opened first, or printed.
export function fold(
  title: string,
  summary: string,
  fill: (box: HTMLElement) => void,
  { level = 3, isOpen = false } = {},
): HTMLDetailsElement {
  const box = element("div");
  const head = element(
    "summary",
    {},
    element(`h${level}`, {}, title),
    element("span", {}, summary),
  );
  const root = element("details", { class: "fold" }, head, box) as HTMLDetailsElement;
  let isFilled = false;
  root.addEventListener("toggle", () => {
    if (!root.open || isFilled) return;
    isFilled = true;
    fill(box);
  });
  root.open = isOpen;
  return root;
}

// An expectation: the requirement, the figure, and whether it is met; undefined: it is not known.
export interface Expectation {
  what: string;
  required: string;
  found: string;
  met?: boolean;
}
export function expectationTable(rows: Expectation[]): HTMLElement {
  const verdict = ({ met }: Expectation): HTMLElement => {
    const tone: Tone = met === undefined ? "plain" : met ? "good" : "bad";
    const word = met === undefined ? `${none} not known` : met ? "met" : "missed";
    return element(
      "span",
      { class: `pill ${tone}` },
      [signs[tone], word].filter(Boolean).join(" "),
    );
  };
  const columns = ["expectation", "required", "found", "met"].map((title, i) => ({
    title,
    numeric: i === 1 || i === 2,
  }));
  const box = table(
    columns,
    rows.map((row) => [
      text(row.what),
      text(typeset(row.required)),
      text(row.found),
      { show: verdict(row) },
    ]),
    false,
  );
  box.classList.add("expectations");
  box.setAttribute("aria-label", "expectations: required, found, met or not");
  return box;
}

// In the order of their names: that of messages is any.
export function labelsOf(labels: Record<string, string> | undefined): string[] {
  return Object.entries(labels ?? {})
    .map(([name, value]) => `${name}=${value}`)
    .sort();
}

// The first of them; the rest is there to be opened.
export function shortened(all: HTMLElement[], most: number): HTMLElement[] {
  if (all.length <= most + 1) return all;
  const rest = element("summary", {}, `and ${all.length - most} more`);
  return [...all.slice(0, most), element("details", {}, rest, ...all.slice(most))];
}

export interface Column {
  title: string;
  numeric?: boolean;
}

export interface Cell {
  show: Node | string;
  sort?: number | string; // by what its column is sorted; what is shown, where it is a text
}

function keyOf(cell: Cell): number | string {
  if (cell.sort !== undefined) return cell.sort;
  return typeof cell.show === "string" ? cell.show : (cell.show.textContent ?? "");
}

const collator = new Intl.Collator("en", { numeric: true });
function compare(a: number | string, b: number | string): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return collator.compare(String(a), String(b));
}

// So many rows are in the document; the rest come when they are asked for.
const shownAtFirst = 200;

// How a reader has sorted a table: kept by who draws it again.
export interface Sorting {
  by: number; // column; -1: as it came
  descending: boolean;
  shown: number;
  changed?: () => void; // by a reader
}
export const unsorted = (): Sorting => ({ by: -1, descending: false, shown: shownAtFirst });

// A table that is sorted by a click on a column's title, or by Enter on it. The keyboard scrolls it
// by its titles, or by itself where those do nothing.
export function table(
  columns: Column[],
  rows: Cell[][],
  sortable = true,
  sorting = unsorted(),
): HTMLElement {
  const body = element("tbody");
  const more = element("button", { type: "button", class: "more" });
  const canSort = sortable && rows.length > 1;
  const box = element("div", { class: "table", role: "group" });
  let sorted = rows;
  const sort = () => {
    const { by, descending } = sorting;
    if (by >= 0 && by < columns.length)
      sorted = [...rows].sort(
        (a, b) => compare(keyOf(a[by]), keyOf(b[by])) * (descending ? -1 : 1),
      );
    heads.forEach((head, i) => {
      if (i === by) head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
  };
  const fill = () => {
    const { shown } = sorting;
    body.replaceChildren(
      ...sorted
        .slice(0, shown)
        .map((row) =>
          element(
            "tr",
            {},
            ...row.map((cell, i) =>
              element("td", columns[i].numeric ? { class: "n" } : {}, cell.show),
            ),
          ),
        ),
    );
    more.textContent = `show all ${rows.length} rows`;
    more.hidden = rows.length <= shown;
  };
  more.addEventListener("click", () => {
    sorting.shown = Infinity;
    fill();
  });
  const heads = columns.map((column, i) => {
    const head = element("th", { scope: "col", ...(column.numeric ? { class: "n" } : {}) });
    if (!canSort) {
      head.append(column.title);
      return head;
    }
    const button = element("button", { type: "button" }, column.title);
    button.addEventListener("click", () => {
      sorting.descending = sorting.by === i ? !sorting.descending : Boolean(column.numeric);
      sorting.by = i;
      sort();
      fill();
      sorting.changed?.();
    });
    head.append(button);
    return head;
  });
  sort();
  fill();
  box.setAttribute("aria-label", columns.map((column) => column.title).join(", "));
  const titles = element("tr", {}, ...heads);
  if (canSort) oneStop(titles, "button");
  else box.tabIndex = 0;
  box.append(element("table", {}, element("thead", {}, titles), body), more);
  return box;
}

export const text = (show: string, sort?: number | string): Cell => ({ show, sort });
export const figure = (value: number, show: (value: number) => string): Cell => ({
  show: show(value),
  sort: value,
});

// A figure that is absent where it is not known; below all others when sorted.
export const optional = (value: number | undefined, show: (value: number) => string): Cell =>
  value === undefined ? text(none, -1) : figure(value, show);

// Gives the reader a file of what `make` gives the address of.
export function saveButton(kind: string, title: string, make: () => string): HTMLElement {
  const button = element("button", { type: "button", class: "save" }, kind);
  button.setAttribute("aria-label", `${kind} of ${title}`);
  button.addEventListener("click", () => {
    const url = make();
    const name = title.replace(/[^A-Za-z0-9]+/g, "-");
    element("a", { href: url, download: `${name}.${kind.toLowerCase()}` }).click();
    if (url.startsWith("blob:")) setTimeout(() => URL.revokeObjectURL(url), 1000);
  });
  return button;
}
