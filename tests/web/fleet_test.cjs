// Every view of the page with a synthetic fleet: node fleet_test.cjs URL RUN OTHER HOSTS DIRECTORY.
// RUN is in progress, OTHER has ended. DIRECTORY is the browser's.
const assert = require("node:assert");
const { drive, everySize, step } = require("./browser.cjs");

const [url, run, other, hosts, directory] = process.argv.slice(2);
const count = Number(hosts);

// Names beside the rows of a heat map do not lie on each other, however many hosts there are.
async function namesApart(page) {
  const named = await page.evaluate(async () => {
    const found = [];
    const { fillText } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...more) {
      if (this.canvas.closest(".heat") && this.textAlign === "right") found.push(y);
      fillText.call(this, text, x, y, ...more);
    };
    while (found.length === 0) await new Promise((done) => setTimeout(done, 100));
    CanvasRenderingContext2D.prototype.fillText = fillText;
    return found;
  });
  // A map is drawn from its top: where the next one begins, the place goes back.
  const steps = named.slice(1).map((y, i) => y - named[i]);
  const least = Math.min(...steps.filter((step) => step > 0));
  assert.ok(least >= 12, `names are ${least} px apart`);
}

async function main(page) {
  const marked = async (where) =>
    assert.ok((await page.locator(`${where} .pill`, { hasText: "synthetic" }).count()) > 0, where);
  step("the list of runs");
  await page.goto(`${url}#/`);
  await page.waitForSelector("a[data-run]");
  await marked(`tr:has(a[data-run="${run}"])`); // also while it is in progress
  step("the live page");
  await page.goto(`${url}#/run/${run}?hosts=all`);
  const heat = page.locator("#live-charts .heat canvas[aria-label]").first();
  await heat.waitFor();
  assert.ok((await heat.getAttribute("aria-label")).includes(` ${count} rows`), "every host");
  await marked("h1");
  step("the live page in every size");
  await everySize(page, `live-${count}`);
  step("the names of the hosts");
  await namesApart(page);
  step("the last host by the keyboard");
  // The last host is found by the keyboard, and drawn by itself.
  await heat.focus();
  for (let i = 0; i < count; i++) await page.keyboard.press("ArrowDown");
  await page.locator("#live-charts .heat + output", { hasText: /IOPS/ }).waitFor();
  const words = await page.textContent("#live-charts .heat + output");
  await page.keyboard.press("Enter");
  const name = words.split(",")[0];
  await page.locator("#live-charts .u-legend", { hasText: name }).waitFor();
  assert.ok(page.url().includes(`pin=${count - 1}`), page.url());
  console.log("page: live");
  // Its end, which whoever started this now brings about, turns into the report by itself.
  step("the end of the run, and its report");
  await page.waitForSelector("h2[id]");
  step("the charts of the report");
  await page.locator(".heat canvas").nth(2).waitFor();
  await page.locator("details[id^=hosts-] > summary").first().click();
  await page.locator("th button", { hasText: "straggler" }).first().waitFor();
  await marked("h1");
  const table = page.locator(".table", { hasText: "straggler" }).first();
  assert.strictEqual(await table.locator("tbody tr").count(), Math.min(count, 200));
  step("the report in every size");
  await everySize(page, `report-${count}`);
  step("the sorted table");
  await table.locator("th button", { hasText: "host" }).click();
  await table.locator("th button", { hasText: "host" }).click();
  const first = await table.locator("tbody td").first().textContent();
  assert.ok(first.startsWith(name), `the last host comes first: ${first}, not ${name}`);
  if (count > 200) {
    await table.locator("button.more").click();
    assert.strictEqual(await table.locator("tbody tr").count(), count);
  }
  step("a host that is looked for");
  await page.getByLabel("hosts with").first().fill(name);
  const found = page.locator(".table", { hasText: "straggler" }).first().locator("tbody tr");
  for (let tries = 0; (await found.count()) >= count; tries++) {
    assert.ok(tries < 200, "all hosts are still there");
    await page.waitForTimeout(50);
  }
  assert.match(await found.first().textContent(), new RegExp(name));
  step("the comparison");
  await page.goto(`${url}#/compare/${other},${run}`);
  await page.waitForSelector("#overlays .plot canvas");
  await everySize(page, `compare-${count}`);
  step("the fleet");
  await page.goto(`${url}#/fleet`);
  await page.locator("th", { hasText: "clock against" }).waitFor();
  assert.strictEqual(await page.locator(".cells button").count(), count);
  await page
    .locator(".summary button", { hasText: `${count.toLocaleString("en")} ready` })
    .waitFor();
  await everySize(page, `fleet-${count}`);
  step("the list of runs in every size");
  await page.goto(`${url}#/`);
  await page.waitForSelector("a[data-run]");
  await marked("tbody");
  await everySize(page, `runs-${count}`);
}

void drive(directory, main);
