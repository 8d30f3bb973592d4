// Drives the page in headless Chromium: node page_test.cjs URL RUN DIRECTORY. RUN is in progress.
const assert = require("node:assert");
const path = require("node:path");
const { chromium } = require("playwright-core");

async function main() {
  const [url, run, directory] = process.argv.slice(2);
  const context = await chromium.launchPersistentContext(path.join(directory, "chromium"), {
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    headless: true,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
  const errors = [];
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(240000); // a limit, not a measure: the machine may be busy
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("console", (message) => {
      if (message.type() === "error") errors.push(message.text());
    });
    await page.goto(url);
    await page.waitForSelector("tr[data-run]");
    assert.ok((await page.textContent("#status")).includes("2 workers attached"));
    assert.ok((await page.locator("tr[data-run]").count()) >= 2, "both runs are listed");

    // The run in progress: a line per second, and charts that are drawn.
    await page.click(`tr[data-run="${run}"]`);
    // Not page.waitForFunction(): it evaluates text, which the page's policy forbids, as it should.
    await page.locator("#live-line", { hasText: /IOPS, .*MiB\/s, p99/ }).waitFor();
    const first = await page.textContent("#live-line");
    await page.locator("#live-line").filter({ hasNotText: first }).waitFor();
    await page.waitForSelector("#live-iops canvas");
    await page.waitForSelector("#live-p99 canvas");

    // Its end, which whoever started this now brings about, turns into the report by itself.
    console.log("page: live");
    await page.waitForSelector("h2");
    const text = await page.textContent("main");
    for (const part of ["mix", "node1", "node2", "read", "write", "Jain", "Start skew", "done"])
      assert.ok(text.includes(part), `the report shows ${part}`);
    await page.waitForSelector(".chart canvas");
    // Where a point stands for several intervals, the seconds are still those of the phase.
    const seconds = async () => {
      const label = await page.locator(".chart").first().getAttribute("aria-label");
      return Number(/0 to ([0-9.]+) s/.exec(label)[1]);
    };
    const plain = await seconds();
    assert.ok(plain >= 1, `the chart reaches ${plain} s`);
    await page.route("**/report", async (route) => {
      const answer = await route.fetch();
      const report = await answer.json();
      for (const phase of report.phases) phase.intervalsPerPoint = 3;
      await route.fulfill({ response: answer, json: report });
    });
    await page.reload();
    await page.waitForSelector(".chart canvas");
    assert.strictEqual(await seconds(), 3 * plain);
    await page.screenshot({ path: path.join(directory, "report.png"), fullPage: true });
    assert.deepStrictEqual(errors, []);
    console.log("page: ok");
  } finally {
    await context.close();
  }
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
