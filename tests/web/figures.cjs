// The figures of the page are those of the text report.
const assert = require("node:assert");
const fs = require("node:fs");
const { reported, unfold } = require("./browser.cjs");

// The page has the signs of print, the text report those of a keyboard.
const plain = (text) =>
  text.replace(/\s+/g, " ").replace(/−/g, "-").replace(/≥/g, ">=").replace(/≤/g, "<=").trim();

// The rows of all tables that the text report has, as cells; their heads too.
function rowsOf(text) {
  return text
    .split("\n")
    .filter((line) => /^ {4}\S/.test(line))
    .map((line) => line.trim().split(/ {2,}/))
    .filter((cells) => cells.length >= 8);
}

// Whole sentences with figures, also where the text report breaks its lines.
function sentencesOf(text) {
  const one = plain(text);
  return [
    /latency is [^;]*; rates over [^ ]* s after T, (when all ran|the whole phase)/g,
    /first done .*? over \d+ hosts/g,
    /fairness of .*?\(n = \d+\)/g,
    /over time: Jain from [\d.]+ to [\d.]+/g,
    /threads fairness: .*? s(?= )/g,
    /limited by: .*?\)(?= )/g,
    /cross-check: .*?\)(?= )/g,
    /workers alone .*? system/g,
    /I\/Os per submission/g,
  ].flatMap((pattern) => {
    const found = one.match(pattern) ?? [];
    return found;
  });
}

async function sameFigures(page, url, run, file) {
  const text = fs.readFileSync(file, "utf8");
  await page.goto("about:blank");
  await page.goto(`${url}#/run/${run}`);
  await reported(page);
  await unfold(page);
  await page.locator("dd", { hasText: run }).waitFor();
  await page.locator("th", { hasText: "kernel of" }).waitFor();
  const there = await page
    .locator("main tr")
    .evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent)));
  const wanted = rowsOf(text);
  assert.ok(wanted.length >= 8, `the text report has ${wanted.length} rows`);
  for (const row of wanted) {
    const figures = row.filter((cell) => /\d/.test(cell));
    const isSame = there.some((cells) => {
      // Each of its figures, in its order; some columns are the page's alone.
      let at = 0;
      for (const cell of cells) {
        const shown = plain(cell);
        const wants = figures[at];
        if (shown === wants || (wants?.startsWith("+") && shown.startsWith(`${wants} ±`))) at++;
      }
      return at === figures.length;
    });
    const near = there.filter((cells) => cells[0]?.startsWith(row[0]));
    assert.ok(isSame, `${row.join(" | ")}: the page has ${JSON.stringify(near)}`);
  }
  const words = plain(await page.textContent("main"));
  const sentences = sentencesOf(text);
  assert.ok(sentences.length >= 8, `the text report has ${sentences.length} sentences`);
  for (const sentence of sentences)
    assert.ok(words.includes(sentence), `the page does not say: ${sentence}`);
}

module.exports = { sameFigures };
