// A page that watches a run while the controller goes away and comes back: node away_test.cjs URL
// RUN DIRECTORY. Says when the controller is to go, and when it is missed.
const assert = require("node:assert");
const fs = require("node:fs");
const { drive, spanOf } = require("./browser.cjs");

const [url, run, directory] = process.argv.slice(2);

async function main(page) {
  await page.goto(`${url}#/run/${run}`);
  await page.waitForSelector("#live-charts .plot canvas");
  const chart = page.locator("#live-charts .plot[aria-label]").first();
  while ((await spanOf(chart))[1] < 3) await page.waitForTimeout(100);
  console.log("page: watches");
  await page.locator("#notices .bad", { hasText: "retrying" }).waitFor();
  console.log("page: asks again");
  await page.locator("#absences", { hasText: /mix at \d+ s: the controller was away/ }).waitFor();
  const [, at] = /at (\d+) s/.exec(await page.textContent("#absences"));
  // The samples of that time, and the new ones.
  while ((await spanOf(chart))[1] < Number(at) + 5) await page.waitForTimeout(100);
  assert.ok((await spanOf(chart))[0] <= 1.5, "it is told from the begin");
  const waiting = page.waitForEvent("download");
  await page.locator("#live-charts .save", { hasText: "CSV" }).first().click();
  const rows = fs
    .readFileSync(await (await waiting).path(), "utf8")
    .trim()
    .split("\n")
    .slice(1);
  const times = rows.map((row) => Number(row.split(",")[1])); // where each interval ends
  times.slice(1).forEach((time, i) => assert.ok(time - times[i] < 1.6, `a hole at ${time} s`));
  for (const row of rows) assert.ok(Number(row.split(",")[2]) > 0, `nothing in ${row}`);
  assert.ok(times[times.length - 1] >= Number(at) + 4);
  await elsewhere(page);
}

// Every view says it in the same words, and in none of a programmer.
async function elsewhere(page) {
  await page.route("**/api/**", (route) => route.abort());
  for (const [hash, said] of [
    ["#/fleet", "The controller does not answer. (retrying)"],
    ["#/compare/a,b", "The controller does not answer."],
  ]) {
    await page.evaluate((to) => (location.hash = to), hash);
    await page.locator("main p", { hasText: said }).first().waitFor();
    assert.ok(!(await page.textContent("main")).includes("Error:"), hash);
  }
}

void drive(directory, main, { bears: true });
