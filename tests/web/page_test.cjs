// Drives the page in headless Chromium: node page_test.cjs URL RUN OTHER DIRECTORY. RUN is in
// progress, OTHER has ended.
const assert = require("node:assert");
const path = require("node:path");
const { contrasts, drive, everySize, reported, spanOf, unfold } = require("./browser.cjs");
const { sameFigures } = require("./figures.cjs");

// The run in progress: a line per second, and charts that go back to the run's begin, also for who
// comes late.
async function live(page) {
  // Not page.waitForFunction(): it evaluates text, which the page's policy forbids, as it should.
  await page.locator(".live-head .tile", { hasText: /^[\d,.]+( k)?IOPS/ }).waitFor();
  const first = await page.textContent("#live-line");
  await page.locator("#live-line").filter({ hasNotText: first }).waitFor();
  await page.waitForSelector("#live-charts .plot canvas");
  const [, seen] = await spanOf(page.locator("#live-charts .plot[aria-label]").first());
  assert.ok(seen >= 2, `the chart reaches ${seen} s`);
  await page.reload();
  await page.waitForSelector("#live-charts .plot canvas");
  const [from, to] = await spanOf(page.locator("#live-charts .plot[aria-label]").first());
  assert.ok(from <= 1.5, `opened late, the chart begins at ${from} s`);
  assert.ok(to >= seen, `and reaches ${to} s`);
  const names = await page.locator(".live-head .tile span:first-of-type").allTextContents();
  assert.deepStrictEqual(names, ["IOPS", "throughput", "p99", "hosts", "errors so far"]);
  await page.locator(".tile", { hasText: "2 of 2hosts" }).waitFor();
  assert.deepStrictEqual(await page.locator("#notices .bad").allTextContents(), []);
  assert.match(await page.textContent(".strip"), /mix \(2 of 3\)/);
  // Every host over time; one is chosen and drawn by the keyboard alone.
  const heat = page.locator("#live-charts .heat canvas").first();
  await heat.focus();
  await page.keyboard.press("ArrowDown");
  await page.locator("#live-charts .heat + output", { hasText: /node2, .*IOPS/ }).waitFor();
  await page.keyboard.press("Enter");
  await page.locator("#live-charts .u-legend", { hasText: "node2" }).waitFor();
  // Without the hosts the rest is told again from the begin.
  await page.getByRole("button", { name: "show bands of hosts only" }).click();
  await page.locator("#live-charts .heat").waitFor({ state: "detached" });
  await page.waitForSelector("#live-charts .plot canvas");
  assert.ok(page.url().includes("hosts=bands"), page.url());
  await everySize(page, "live");
}

async function report(page) {
  await page.waitForSelector("h2[id]");
  await reported(page);
  assert.strictEqual(await page.locator("details[id^=hosts-][open]").count(), 0);
  await everySize(page, "report");
  await unfold(page);
  await page.locator("th button", { hasText: "straggler" }).first().waitFor();
  const text = await page.textContent("main");
  for (const part of ["mix", "node1", "node2", "read", "write", "Jain", "start skew", "done"])
    assert.ok(text.includes(part), `the report shows ${part}`);
  await page.waitForSelector(".charts .plot canvas");
  await page.locator(".heat canvas").nth(2).waitFor(); // latencies, hosts' IOPS, hosts' p99
  await page.locator("pre.job", { hasText: "phases:" }).waitFor();
  const titles = await page.locator("figcaption span").allTextContents();
  for (const part of ["IOPS of the fleet", "Latency of the fleet", "await", "Distribution"])
    assert.ok(
      titles.some((title) => title.includes(part)),
      `a chart of ${part}: ${titles}`,
    );
  await everySize(page, "report-open");
  // By the keyboard alone: a table is sorted.
  const head = page.locator("th button", { hasText: "host" }).first();
  await head.focus();
  await page.keyboard.press("Enter");
  assert.ok(await page.locator('th[aria-sort="ascending"]').count());
  await page.waitForURL(/sort-hosts-\d+=0/);
  await zoomed(page);
  await page.locator('th[aria-sort="ascending"]').first().waitFor();
  await strangePins(page);
  await intervalsOwnAxis(page);
  await eventsAreMarks(page);
}

// A part of the time is chosen, stands in the address, and is there for whoever opens that.
async function zoomed(page) {
  await page.getByLabel("from, seconds").first().fill("1");
  await page.getByLabel("to, seconds").first().fill("2");
  await page.keyboard.press("Tab");
  await page.waitForURL(/from=1\.0&to=2\.0/);
  const address = page.url();
  await page.goto("about:blank");
  await page.goto(address);
  await page.waitForSelector(".charts .plot canvas");
  assert.strictEqual(await page.getByLabel("from, seconds").first().inputValue(), "1");
  assert.strictEqual(await page.getByLabel("to, seconds").first().inputValue(), "2");
  await page.getByRole("button", { name: "all of it" }).first().click();
  await page.waitForURL((url) => !url.hash.includes("from="));
}

// The time axis is that of the intervals, also where a point stands for several and the ramp is
// before.
async function intervalsOwnAxis(page) {
  let expected = [];
  await page.route("**/series?*", async (route) => {
    const answer = await route.fetch();
    const json = await answer.json();
    const { spans } = json;
    spans.beginSeconds = spans.endSeconds.map((_, i) => 2 + 3 * i);
    spans.endSeconds = spans.endSeconds.map((_, i) => 5 + 3 * i);
    expected = [2, spans.endSeconds[spans.endSeconds.length - 1]];
    await route.fulfill({ response: answer, json });
  });
  await page.reload();
  await page.waitForSelector(".charts .plot canvas");
  assert.deepStrictEqual(await spanOf(page.locator(".charts .plot[aria-label]").first()), expected);
  await page.unroute("**/series?*");
}

// An address that names hosts that are none, or one twice, draws those that are there, once.
async function strangePins(page) {
  const address = page.url();
  const [own] = address.split("?");
  const phase = /sort-hosts-(\d+)/.exec(address)[1];
  await page.goto("about:blank");
  await page.goto(`${own}?phase=${phase}&hosts=-1,0.5,abc,1,1,999999,&sort-hosts-${phase}=99`);
  await page.locator(".heat canvas").nth(2).waitFor();
  const legend = page.locator("figure", { hasText: "IOPS of hosts" }).first().locator(".u-legend");
  await legend.locator("th", { hasText: "node2" }).waitFor();
  assert.strictEqual(await legend.locator("th").count(), 7); // time, five bands, node2
  await page.goto("about:blank");
  await page.goto(address);
  await page.waitForSelector(".charts .plot canvas");
}

// An event is drawn at its time: a flag above the chart, in the colour of a warning.
async function eventsAreMarks(page) {
  const flags = () =>
    page.evaluate(() => {
      const canvas = document.querySelector(".charts .plot canvas");
      const ink = document.createElement("canvas").getContext("2d");
      ink.fillStyle = getComputedStyle(document.body).getPropertyValue("--warn").trim();
      ink.fillRect(0, 0, 1, 1);
      const [r, g, b] = ink.getImageData(0, 0, 1, 1).data;
      const lane = Math.round(18 * devicePixelRatio);
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, lane);
      let found = 0;
      for (let i = 0; i < data.length; i += 4)
        if (data[i] === r && data[i + 1] === g && data[i + 2] === b) found++;
      return found;
    });
  await page.reload();
  await page.locator("#job").waitFor();
  await page.locator(".heat canvas").nth(2).waitFor();
  const before = await flags();
  const head = await (
    await page.request.get(page.url().replace(/#\/run\/([^?]*).*/, "api/runs/$1"))
  ).json();
  const { startedAt } = head.phases.find((phase) => phase.workloads.length > 0);
  assert.match(startedAt, /^\d{4}-\d\d-\d\dT.*Z$/);
  await page.route("**/environment", async (route) => {
    const answer = await route.fetch();
    const json = await answer.json();
    const at = new Date(Date.parse(startedAt) + 1500).toISOString();
    json.events.push({ at, severity: "warning", host: "node1", message: "a path is away" });
    await route.fulfill({ response: answer, json });
  });
  await page.reload();
  await page.locator(".events li", { hasText: "a path is away" }).waitFor();
  for (let tries = 0; (await flags()) <= before; tries++) {
    assert.ok(tries < 200, `no flag is drawn: ${before} points before and after`);
    await page.waitForTimeout(50);
  }
  await page.unroute("**/environment");
}

// What is shown is of the address, also while the answer is awaited.
async function left(page, url, run) {
  let release;
  const held = new Promise((done) => (release = done));
  await page.route(`**/api/runs/${run}`, async (route) => {
    await held;
    await route.continue();
  });
  assert.ok((await page.locator("main > *").count()) > 0);
  await page.evaluate((to) => (location.hash = to), `#/run/${run}`);
  await page.locator("main > *").first().waitFor({ state: "detached" });
  assert.strictEqual(await page.textContent("main"), "");
  release();
  await page.locator("#job").waitFor();
  await page.unroute(`**/api/runs/${run}`);
}

// Two runs are ticked and compared; the figures are the controller's.
async function compared(page, url, run, other) {
  await page.goto(`${url}#/`);
  for (const id of [run, other]) await page.check(`[data-tick="${id}"]`);
  await page.getByRole("link", { name: /compare the 2 runs/ }).click();
  await page.waitForSelector("#overlays .plot canvas");
  const answer = await page.request.get(`${url}api/compare?runs=${other},${run}`);
  const { figures, limits } = await answer.json();
  await page.locator("summary", { hasText: "All figures" }).click();
  const all = page.locator("details", { hasText: "All figures" }).locator(".table");
  const rows = await all.locator("tbody tr").count();
  assert.strictEqual(rows, Math.min(200, figures.length + limits.length));
  const text = await page.textContent("main");
  for (const part of [
    "against",
    "All figures",
    "Over time",
    "Job of",
    "duration: 600s",
    "Environment",
  ])
    assert.ok(text.includes(part), `the comparison shows ${part}`);
  await everySize(page, "compare");
}

async function fleet(page, url) {
  await page.goto(`${url}#/`);
  await page.getByRole("link", { name: "Fleet" }).click();
  await page.locator("td", { hasText: "node2" }).first().waitFor();
  await page.locator("th", { hasText: "what is on it" }).waitFor();
  const text = await page.textContent("main");
  for (const part of ["2 workers", "ready", "clock against", "Devices"])
    assert.ok(text.includes(part), `the fleet shows ${part}`);
  await everySize(page, "fleet");
}

// One file, which opens without a network and shows the same charts.
async function exported(page, url, run, directory) {
  await page.goto(`${url}#/run/${run}`);
  await page.locator(".heat canvas").nth(2).waitFor();
  const titles = await page.locator("figcaption span").allTextContents();
  const waiting = page.waitForEvent("download");
  await page.getByRole("link", { name: "save as one file" }).click();
  const file = path.join(directory, "report.html");
  await (await waiting).saveAs(file);
  await page.context().setOffline(true);
  const asked = [];
  const note = (request) => {
    if (!/^(file|data|blob):/.test(request.url())) asked.push(request.url());
  };
  page.on("request", note);
  await page.goto(`file://${file}`);
  await page.locator(".heat canvas").nth(2).waitFor();
  assert.deepStrictEqual(await page.locator("figcaption span").allTextContents(), titles);
  assert.deepStrictEqual(asked, []);
  await everySize(page, "file");
  page.off("request", note);
  await page.context().setOffline(false);
}

// No bad run is green, whatever made it bad.
async function verdicts(page, url) {
  const kinds = [
    [{ state: "done", verdict: "done" }, "done", "good"],
    [{ state: "done", verdict: "passed" }, "passed", "good"],
    [{ state: "failed", verdict: "failed" }, "failed", "bad"],
    [{ state: "aborted", verdict: "" }, "aborted", "bad"],
    [{ state: "cancelled", verdict: "" }, "cancelled", "plain"],
    [{ state: "done", verdict: "invalid" }, "invalid", "bad"],
    [{ state: "done", verdict: "degraded" }, "degraded", "warn"],
    [{ state: "done", verdict: "expectations failed" }, "expectations failed", "bad"],
    [{ state: "running", verdict: "" }, "running", "plain"],
    [{ state: "done", verdict: "errors" }, "errors", "warn"],
    [{ state: "done", verdict: "" }, "done", "plain"],
    [{ state: "done", verdict: "something new" }, "something new", "bad"],
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
  await everySize(page, "runs");
  await page.fill('input[type="search"]', "degraded");
  await page.locator('a[data-run="run0"]').waitFor({ state: "detached" });
  assert.strictEqual(await page.locator("a[data-run]").count(), 1);
}

const [url, run, other, directory] = process.argv.slice(2);

async function main(page) {
  await page.goto(url);
  await page.waitForSelector("a[data-run]");
  await page.locator("#status", { hasText: "2 workers attached" }).waitFor();
  assert.ok((await page.locator("a[data-run]").count()) >= 2, "both runs are listed");
  await contrasts(page);
  await page.click(`a[data-run="${run}"]`);
  await live(page);
  // Its end, which whoever started this now brings about, turns into the report by itself.
  console.log("page: live");
  await report(page);
  await left(page, url, other);
  await sameFigures(page, url, other, path.join(directory, "report.txt"));
  await compared(page, url, run, other);
  await fleet(page, url);
  await exported(page, url, run, directory);
  await verdicts(page, url);
}

void drive(directory, main);
