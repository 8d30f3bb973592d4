// A chart as a file: its figures, or a picture with its title and what each colour is.

import { color } from "./dom";

export const quoted = (value: string): string => `"${value.replace(/"/g, '""')}"`;

export function fileOf(text: string, type: string): string {
  return URL.createObjectURL(new Blob([text], { type }));
}

// `columns`: what comes before the lines' values.
export function csvOf(
  columns: { name: string; values: number[] }[],
  lines: { label: string; values: (number | null)[] }[],
): string {
  const names = [...columns.map(({ name }) => name), ...lines.map(({ label }) => label)];
  const head = names.map(quoted).join(",");
  const rows = (columns[0]?.values ?? []).map((_, i) =>
    [...columns.map(({ values }) => values[i]), ...lines.map((line) => line.values[i] ?? "")].join(
      ",",
    ),
  );
  return fileOf([head, ...rows].join("\n") + "\n", "text/csv");
}

export function pictureOf(
  canvas: HTMLCanvasElement,
  title: string,
  lines: { label: string; ink: string }[] = [],
): string {
  const scale = devicePixelRatio;
  const line = 20 * scale;
  const copy = document.createElement("canvas");
  copy.width = canvas.width;
  copy.height = canvas.height + 2 * line;
  const context = copy.getContext("2d");
  if (!context) return "";
  context.fillStyle = color("--paper");
  context.fillRect(0, 0, copy.width, copy.height);
  context.drawImage(canvas, 0, line);
  context.font = `${12 * scale}px system-ui`;
  context.fillStyle = color("--ink");
  context.fillText(title, 8 * scale, 14 * scale, copy.width - 16 * scale);
  let at = 8 * scale;
  for (const { label, ink } of lines) {
    context.fillStyle = ink;
    context.fillRect(at, copy.height - 14 * scale, 10 * scale, 10 * scale);
    context.fillStyle = color("--ink");
    context.fillText(label, at + 14 * scale, copy.height - 5 * scale);
    at += 30 * scale + context.measureText(label).width;
  }
  return copy.toDataURL("image/png");
}
