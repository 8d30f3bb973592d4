// Figures as people read them; the same forms as the text report's.

export function count(value: number): string {
  if (value >= 1e6) return (value / 1e6).toPrecision(3) + " M";
  if (value >= 1e5) return (value / 1e3).toFixed(0) + " k";
  return value < 100 && value !== Math.floor(value)
    ? value.toFixed(1)
    : Math.round(value).toLocaleString("en");
}

export function throughput(bytesPerSecond: number): string {
  return `${(bytesPerSecond / 1048576).toFixed(1)} MiB/s`;
}

export function latency(nanoseconds: number): string {
  const units: [number, string][] = [
    [1e9, "s"],
    [1e6, "ms"],
    [1e3, "µs"],
    [1, "ns"],
  ];
  for (const [factor, unit] of units) {
    if (nanoseconds >= factor) return `${(nanoseconds / factor).toPrecision(3)} ${unit}`;
  }
  return "0";
}

// An element with text and children; text is never read as HTML.
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

export function state(run: { state: string; degraded?: boolean }): HTMLElement {
  return element(
    "span",
    { class: `state-${run.state}` },
    run.state + (run.degraded ? " (degraded)" : ""),
  );
}

export interface Column {
  title: string;
  numeric?: boolean;
}

export function table(columns: Column[], rows: (Node | string)[][]): HTMLElement {
  const kind = (column: Column): Record<string, string> => (column.numeric ? { class: "n" } : {});
  const head = element(
    "tr",
    {},
    ...columns.map((column) => element("th", kind(column), column.title)),
  );
  const body = rows.map((row) =>
    element("tr", {}, ...row.map((cell, i) => element("td", kind(columns[i]), cell))),
  );
  return element("table", {}, element("thead", {}, head), element("tbody", {}, ...body));
}
