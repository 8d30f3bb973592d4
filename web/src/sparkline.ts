// Lines without axes, for tables.

// What a line without axes reaches up to.
export function topOf(values: (number | null)[]): number {
  return values.reduce<number>((most, value) => Math.max(most, value ?? 0), 1e-9);
}

// A line without axes, with a gap where there is nothing (null). Lines that are to be compared have
// one scale, up to `top`.
export function sparkline(values: (number | null)[], label: string, top = topOf(values)): Element {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 100 20");
  svg.setAttribute("class", "spark");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
  if (values.length < 2) return svg;
  const pieces: string[][] = [[]];
  values.forEach((value, i) => {
    const x = ((100 * i) / (values.length - 1)).toFixed(1);
    if (value === null) pieces.push([]);
    else pieces[pieces.length - 1].push(`${x},${(19 - (18 * value) / top).toFixed(1)}`);
  });
  for (const piece of pieces.filter((one) => one.length > 0)) {
    const line = document.createElementNS(space, "polyline");
    const points = piece.length > 1 ? piece : [...piece, ...piece]; // alone it is a dot
    line.setAttribute("points", points.join(" "));
    svg.append(line);
  }
  return svg;
}

// At most so many values: means of neighbours. A gap among them stays one.
export function thinned(values: (number | null)[], most: number): (number | null)[] {
  const step = Math.ceil(values.length / most);
  if (step <= 1) return values;
  const means: (number | null)[] = [];
  for (let i = 0; i < values.length; i += step) {
    const part = values.slice(i, i + step);
    const there = part.filter((value) => value !== null);
    const mean = there.reduce((a, b) => a + b, 0) / part.length;
    means.push(there.length < part.length ? null : mean);
  }
  return means;
}
