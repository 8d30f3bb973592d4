// Drives the page in headless Chromium: node page_test.cjs URL RUN DIRECTORY. RUN is in progress.
const assert = require("node:assert");
const path = require("node:path");
const axe = require("axe-core");
const { chromium } = require("playwright-core");

const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

// From and to which second a chart goes.
async function spanOf(chart) {
  const label = await chart.getAttribute("aria-label");
  const [, from, to] = /, ([0-9.]+) to ([0-9.]+) s/.exec(label);
  return [Number(from), Number(to)];
}

// In all widths, light and dark: nothing is wider than the window, and axe finds nothing.
async function everySize(page, name, directory) {
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [360, 1280, 2560]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 900 });
      const file = path.join(directory, `${name}-${width}-${colorScheme}.png`);
      await page.screenshot({ path: file, fullPage: true });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `${name} at ${width}: ${wide} wide`);
      const { violations } = await page.evaluate(() => window.axe.run(document));
      const found = violations.flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.html}`));
      assert.deepStrictEqual(found, [], `${name} at ${width}, ${colorScheme}`);
    }
  }
  await page.setViewportSize({ width: 1280, height: 900 });
}

// The run in progress: a line per second, and charts that go back to the run's begin, also for who
// comes late.
async function live(page) {
  // Not page.waitForFunction(): it evaluates text, which the page's policy forbids, as it should.
  await page.locator("#live-line", { hasText: /IOPS, .*MiB\/s, p99/ }).waitFor();
  const first = await page.textContent("#live-line");
  await page.locator("#live-line").filter({ hasNotText: first }).waitFor();
  await page.waitForSelector("#live-charts canvas");
  const [, seen] = await spanOf(page.locator("#live-charts .plot").first());
  assert.ok(seen >= 2, `the chart reaches ${seen} s`);
  await page.reload();
  await page.waitForSelector("#live-charts canvas");
  const [from, to] = await spanOf(page.locator("#live-charts .plot").first());
  assert.ok(from <= 1.5, `opened late, the chart begins at ${from} s`);
  assert.ok(to >= seen, `and reaches ${to} s`);
  assert.strictEqual(await page.locator(".tile").count(), 6);
}

async function report(page, directory) {
  await page.waitForSelector("h2[id]");
  const text = await page.textContent("main");
  for (const part of ["mix", "node1", "node2", "read", "write", "Jain", "Start skew", "done"])
    assert.ok(text.includes(part), `the report shows ${part}`);
  await page.waitForSelector(".chart canvas");
  await everySize(page, "report", directory);
  // By the keyboard alone: a table is sorted.
  const head = page.locator("th button", { hasText: "host" }).first();
  await head.focus();
  await page.keyboard.press("Enter");
  assert.ok(await page.locator('th[aria-sort="ascending"]').count());
  // The time axis is that of the intervals: after the ramp, and where a point stands for several.
  let expected = [];
  await page.route("**/report", async (route) => {
    const answer = await route.fetch();
    const json = await answer.json();
    for (const phase of json.phases) {
      phase.intervalsPerPoint = 3;
      phase.pointsBeginSeconds = 2;
      if (phase.hosts.length === 0 || phase.hosts[0].iopsByInterval.length === 0) continue;
      const step = 3 * phase.intervalSeconds;
      // Of more than a few hosts there are bands.
      phase.hosts = Array.from({ length: 4 }, () => phase.hosts).flat();
      const points = Math.max(...phase.hosts.map((host) => host.iopsByInterval.length));
      if (expected.length === 0) expected = [2 + step, 2 + points * step];
    }
    await route.fulfill({ response: answer, json });
  });
  await page.reload();
  await page.waitForSelector(".chart canvas");
  assert.deepStrictEqual(await spanOf(page.locator(".plot").first()), expected);
  const legend = await page.locator(".u-legend").first().textContent();
  assert.ok(legend.includes("median host"), legend);
  await page.unroute("**/report");
}

// No bad run is green, whatever made it bad.
async function verdicts(page, url, directory) {
  const kinds = [
    [{ state: "done" }, "done", "good"],
    [{ state: "done", expectations: "2 of 2 held" }, "passed", "good"],
    [{ state: "failed" }, "failed", "bad"],
    [{ state: "aborted" }, "aborted", "bad"],
    [{ state: "cancelled" }, "cancelled", "bad"],
    [{ state: "done", invalid: true }, "invalid", "bad"],
    [{ state: "done", degraded: true }, "degraded", "warn"],
    [{ state: "done", expectations: "1 of 2 held" }, "expectations failed", "bad"],
    [{ state: "running" }, "running", "plain"],
  ];
  await page.route("**/api/runs?*", async (route) => {
    const answer = await route.fetch();
    const json = await answer.json();
    const plain = { ...json.runs[0], degraded: false, invalid: false, expectations: "" };
    json.runs = kinds.map(([change], i) => ({ ...plain, runId: `run${i}`, ...change }));
    await route.fulfill({ response: answer, json });
  });
  await page.goto(`${url}#/`);
  await page.reload();
  await page.waitForSelector('a[data-run="run8"]');
  const pills = await page
    .locator(".pill")
    .evaluateAll((all) =>
      all.map((pill) => [pill.textContent, pill.className.replace("pill ", "")]),
    );
  assert.deepStrictEqual(
    pills,
    kinds.map(([, word, tone]) => [word, tone]),
  );
  await everySize(page, "runs", directory);
  await page.fill('input[type="search"]', "degraded");
  await page.locator('a[data-run="run0"]').waitFor({ state: "detached" });
  assert.strictEqual(await page.locator("a[data-run]").count(), 1);
}

async function main() {
  const [url, run, directory] = process.argv.slice(2);
  const context = await chromium.launchPersistentContext(path.join(directory, "chromium"), {
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    headless: true,
    args: flags,
  });
  const errors = [];
  try {
    const page = await context.newPage();
    await page.addInitScript({ content: axe.source });
    page.setDefaultTimeout(240000); // a limit, not a measure: the machine may be busy
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("console", (message) => {
      if (message.type() === "error") errors.push(message.text());
    });
    await page.goto(url);
    await page.waitForSelector("a[data-run]");
    assert.ok((await page.textContent("#status")).includes("2 workers attached"));
    assert.ok((await page.locator("a[data-run]").count()) >= 2, "both runs are listed");
    await page.click(`a[data-run="${run}"]`);
    await live(page);
    // Its end, which whoever started this now brings about, turns into the report by itself.
    console.log("page: live");
    await report(page, directory);
    await verdicts(page, url, directory);
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
