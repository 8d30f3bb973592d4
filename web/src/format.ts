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

export function percent(ratio: number): string {
  return `${(100 * ratio).toFixed(1)} %`;
}

export function seconds(value: number): string {
  if (value < 60) return `${value.toFixed(value < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(value / 60);
  const rest = Math.floor(value % 60);
  if (minutes < 60) return `${minutes} min ${rest} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function instant(rfc3339: string): string {
  return rfc3339.replace("T", " ").replace(/\.\d+Z$|Z$/, "");
}
