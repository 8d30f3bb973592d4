// Leaves out of the package that draws charts what this page never uses: axes of dates, bars,
// splines and helpers for plugins. They are a fifth of it. node trim_uplot.cjs FROM TO
const fs = require("node:fs");

// Each is found so many times. With another version of the package none may fail silently.
const cuts = [
  // The functions that it offers beside its constructor. Only chart_axes.ts uses any of them.
  // esbuild drops the rest.
  [
    /\nuPlot\.assign = assign;[^]*?(?=\nexport \{ uPlot as default \})/,
    1,
    "\nuPlot.rangeLog = rangeLog;",
  ],
  // No scale is of dates (scales.x.time in charts.ts).
  [/\n\s*let isTime = [^;]+;/, 3, ""],
  [/\bisTime\b/, 7, "false"],
  [/\n\tconst _(timeAxisSplits|timeAxisVals|timeSeriesVal|tzDate|fmtDate) [^\n]+/, 5, ""],
  [/\nconst \[ timeIncrs[^\n]+/, 2, ""],
];

const [from, to] = process.argv.slice(2);
let text = fs.readFileSync(from, "utf8");
for (const [pattern, times, instead] of cuts) {
  const all = new RegExp(pattern, "g");
  const found = (text.match(all) ?? []).length;
  if (found !== times) throw new Error(`${from}: ${pattern} is there ${found} times, not ${times}`);
  text = text.replace(all, instead);
}
fs.writeFileSync(to, text);
