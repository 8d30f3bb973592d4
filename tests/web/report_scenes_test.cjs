// The first screen of a report, and its size: node report_scenes_test.cjs URL STILL WRONG
// DIRECTORY. STILL is a run in which all hosts stood still, WRONG one that found corrupted data;
// something is expected of both. Then a report on paper, by the keyboard, and after "back".
const assert = require("node:assert");
const {
  countBytes,
  drive,
  everySize,
  noteFirstLoad,
  reported,
  step,
  unfold,
} = require("./browser.cjs");

const [url, still, wrong, directory] = process.argv.slice(2);
const screen = { width: 1280, height: 900 };

async function open(page, run) {
  await page.setViewportSize(screen);
  await page.emulateMedia({ colorScheme: "light" });
  await page.goto("about:blank");
  await page.goto(`${url}#/run/${run}`);
  await reported(page);
  await page.evaluate(() => scrollTo(0, 0));
}

// The size of what is shown, its letters, and its field.
async function look(where) {
  const { width, y, height } = await where.boundingBox();
  const [type, field] = await where.evaluate((one) => {
    const { fontSize, backgroundColor } = getComputedStyle(one);
    return [parseFloat(fontSize), backgroundColor];
  });
  return { width, top: y, bottom: y + height, type, field };
}

// In each chart of time the outage is a red band: it has points that are redder than all else.
const reddened = (canvas) => {
  const { width, height } = canvas;
  const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
  let found = 0;
  for (let i = 0; i < data.length; i += 4)
    if (data[i + 3] > 0 && data[i + 3] < 80 && data[i] > data[i + 1] + 80) found++;
  return found / (width * height);
};

// Over the cells of a heat map, which cover what is below them.
const reddenedCells = (canvas) => {
  const { width, height } = canvas;
  const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
  let found = 0;
  for (let i = 0; i < data.length; i += 4)
    if (data[i + 3] > 0 && data[i] > data[i + 1] + 15 && data[i] > data[i + 2] + 15) found++;
  return found / (width * height);
};

async function outage(page) {
  step("an outage in a report");
  await open(page, still);
  const verdict = await look(page.locator("h1 .pill").first());
  assert.strictEqual(await page.textContent("h1 .pill"), "expectations failed");
  assert.ok(verdict.type >= 32, `the verdict has ${verdict.type} px`);
  const banner = page.locator("main > .banner.bad").first();
  assert.match(await banner.textContent(), /^✗ NO I\/O COMPLETED on 2 of 2 hosts/);
  const red = await look(banner);
  assert.ok(red.width > 0.9 * screen.width, `the outage has ${red.width} px`);
  assert.ok((await look(banner.locator("strong"))).type >= 20);
  assert.strictEqual(red.field, "rgb(180, 35, 24)");
  // Before all else there is the outage; all of it is on the first screen.
  const tiles = page.locator("main > .tiles > .tile");
  assert.strictEqual(await tiles.count(), 4);
  const first = await look(tiles.first());
  assert.ok(red.bottom < first.top, "the outage comes before the tiles");
  assert.ok((await look(tiles.first().locator("b"))).type >= 32);
  const drawing = page.locator(".overview canvas");
  for (const part of [tiles.last(), page.locator(".expectations").first(), drawing]) {
    const { bottom } = await look(part);
    assert.ok(bottom <= screen.height, `it ends at ${bottom} px`);
  }
  const sentence = page.locator("p.conclusion");
  assert.match(await sentence.textContent(), /^[\d,]+ IOPS/);
  // It is told once, in words; each outage waits to be asked for.
  const said = async () => (await page.locator("main").innerText()).match(/no i\/o /gi);
  assert.deepStrictEqual(await said(), ["NO I/O "]);
  assert.strictEqual(await page.locator(".banner").count(), 1);
  await page.locator("#outages-0 > summary", { hasText: "2 times" }).click();
  const rows = page.locator("#outages-0 tbody tr");
  assert.strictEqual(await rows.count(), 2);
  assert.match(await rows.first().textContent(), /node1, node2$/);
  await page.locator("#outages-0 > summary").click();
  // A finding of the head is not repeated in a phase.
  const texts = (what) => page.locator(what).allTextContents();
  const found = (await texts("p.finding")).join("\n");
  assert.match(found, /no storage: these are the load generator's own figures/);
  for (const remark of await texts(".remark")) assert.ok(!found.includes(remark), remark);
  // The host names come after a click.
  assert.strictEqual(await page.getByText(still).count(), 0);
  const charts = page.locator(".overview canvas, .charts .plot:has(.u-legend) canvas");
  assert.ok((await charts.count()) > 3);
  for (const chart of await charts.all()) {
    const label = await chart
      .locator("xpath=ancestor::*[@aria-label][1]")
      .getAttribute("aria-label");
    if (label.startsWith("Distribution")) continue; // not of time
    const share = await chart.evaluate(reddened);
    assert.ok(share > 0.03, `${label}: ${share} of it is red`);
  }
  const heats = page.locator(".heat canvas");
  await heats.nth(2).waitFor();
  for (const heat of await heats.all()) {
    const share = await heat.evaluate(reddenedCells);
    assert.ok(share > 0.03, `${await heat.getAttribute("aria-label")}: ${share} of it is red`);
  }
  await phone(page);
  await everySize(page, "report-outage");
}

// On a phone a row of what is expected is read at once, also where much was found, and the load
// over time comes before what is read later.
async function phone(page) {
  await page.setViewportSize({ width: 360, height: 740 });
  const rows = page.locator(".expectations").first().locator("tbody tr");
  for (const row of await rows.all()) {
    const { width } = await row.locator("td").first().boundingBox();
    assert.ok(width > 120, `what is expected has ${width} px`);
  }
  const { top } = await look(page.locator(".overview"));
  const { top: later } = await look(page.locator(".about"));
  assert.ok(top < later, `the chart begins at ${top} px, what is read later at ${later}`);
  await page.setViewportSize(screen);
}

async function corruption(page) {
  step("corrupted data");
  await open(page, wrong);
  const banner = page.locator("main > .banner.corrupt");
  assert.match(await banner.textContent(), /^✗ DATA CORRUPTED: 1 block on node1/);
  const { width, bottom, field } = await look(banner);
  assert.ok(width > 0.9 * screen.width, `it has ${width} px`);
  assert.strictEqual(field, "rgb(134, 25, 143)");
  const { type } = await look(banner.locator("strong"));
  assert.ok(type >= 20, `its words have ${type} px`);
  const expected = await look(page.locator(".expectations").first());
  assert.ok(bottom < expected.top, "it stands above what was expected");
  assert.strictEqual(
    (await page.textContent("#corruption > summary")).trim(),
    "Contents, place and last writer",
  );
  const details = page.locator("#corruption li");
  assert.strictEqual(await details.count(), 0);
  await page.locator("#corruption > summary").click();
  await details.first().waitFor();
  assert.match(await details.first().textContent(), /node1: .* at offset 8192 of .*wrote that/s);
  await phone(page);
  await everySize(page, "report-corruption");
}

// Notes of people are on the first screen: in words, and as a flag of the chart.
async function noted(page) {
  step("notes");
  await page.route(`**/api/runs/${still}/environment`, async (route) => {
    const answer = await route.fetch();
    const json = await answer.json();
    const head = await (await page.request.get(`${url}api/runs/${still}`)).json();
    const at = new Date(Date.parse(head.phases[0].startedAt) + 4000).toISOString();
    const note = { at, severity: "note", host: "", author: "anna", number: 1 };
    json.events = [...json.events, { ...note, message: "a path was pulled" }];
    await route.fulfill({ response: answer, json });
  });
  await open(page, still);
  const line = page.locator(".noted li", { hasText: /anna: a path was pulled$/ });
  assert.ok((await look(line)).bottom <= screen.height);
  const { x, y, width, height } = await page.locator(".overview .u-over").boundingBox();
  await page.mouse.move(x + (width * 4) / 9, y + height / 2);
  await page.locator(".overview .words", { hasText: "a path was pulled" }).waitFor();
  await everySize(page, "report-notes");
  await page.unroute(`**/api/runs/${still}/environment`);
}

// A device of which each column has a figure: the widest table of a report.
function wideDevice() {
  const device = { name: "nvme0n1", hosts: ["node1", "node2"], depth: 0, findings: [] };
  for (const kind of ["read", "write", "discard", "flush"])
    Object.assign(device, {
      [`${kind}${kind === "flush" ? "e" : ""}sPerSecond`]: 123456.7,
      [`${kind}BytesPerSecond`]: 1.2e9,
      [`${kind}MergesPerSecond`]: 1234.5,
      [`${kind}MergedRatio`]: 0.123,
      [`${kind}AwaitMs`]: 123.4,
      [`${kind}RequestBytes`]: 131072,
    });
  return {
    ...device,
    ...{ queueSize: 1234.56, busyRatio: 1, engineIops: 123456, engineQueueSize: 1234.5 },
    ...{ identity: "SAMSUNG MZQL23T8HCLS S64HNE0T", filesystems: ["xfs"], kind: "disk", label: "" },
  };
}

// Words of heads, and figures, that are broken within: they may break after a blank, "-" and "/".
const brokenWords = () => {
  const found = [];
  for (const head of document.querySelectorAll("main .table :is(thead th, td.n)")) {
    const walker = document.createTreeWalker(head, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode())
      for (const { 0: word, index } of node.data.matchAll(/[^\s/-]+/g)) {
        const range = document.createRange();
        range.setStart(node, index);
        range.setEnd(node, index + word.length);
        const tops = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
        if (tops.size > 1) found.push(`${word} of ${head.textContent}`);
      }
  }
  return found;
};

// All of it, in pages, with charts that are whole, whatever the reader has seen of it.
async function print(page) {
  step("print");
  await page.route(`**/api/runs/${still}/phases/0`, async (route) => {
    const answer = await route.fetch();
    const json = await answer.json();
    json.phases[0].devices = [wideDevice()];
    await route.fulfill({ response: answer, json });
  });
  await open(page, still);
  const paper = { width: 1047, height: 718 }; // A4 across, without its margins
  const pdf = await page.pdf({ preferCSSPageSize: true, printBackground: true });
  const pages = pdf.toString("latin1").match(/\/Type \/Page\b/g);
  assert.ok(pages.length > 2, `${pages.length} pages`);
  await page.setViewportSize(paper);
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await page.locator("th", { hasText: "kernel of" }).first().waitFor();
  await page.locator("th", { hasText: "r_await" }).waitFor();
  assert.deepStrictEqual(await page.evaluate(brokenWords), []);
  const found = await page.evaluate((width) => {
    const right = (one) => one.getBoundingClientRect().right;
    const all = (what) => [...document.querySelectorAll(what)];
    return {
      closed: all("main details:not([open], .single, .single details)").length,
      cut: all("main table, main canvas, main p").filter((one) => right(one) > width + 1).length,
      charts: all(".plot canvas, .heat canvas").map((one) => one.getBoundingClientRect().width),
      hints: all(".chart .hint").map((one) => getComputedStyle(one).display),
      // Chromium repeats no head that has the boxes of buttons in it.
      heads: all(".table th button").map((one) => getComputedStyle(one).display),
      times: all(".u-legend .u-series:first-child").map((one) => getComputedStyle(one).display),
      paper: getComputedStyle(document.body).backgroundColor,
    };
  }, paper.width);
  assert.deepStrictEqual([found.closed, found.cut], [0, 0]);
  assert.strictEqual(found.paper, "rgb(255, 255, 255)");
  assert.ok(found.hints.length > 0);
  assert.deepStrictEqual([...new Set(found.hints)], ["none"], "paper is not clicked on");
  assert.deepStrictEqual([...new Set(found.heads)], ["contents"], "the head on each page");
  assert.deepStrictEqual([...new Set(found.times)], ["none"], "paper has no cursor");
  assert.ok(found.charts.length > 5);
  for (const width of found.charts) assert.ok(width > 300 && width < 520, `a chart of ${width} px`);
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  await page.emulateMedia({ media: null });
  await page.setViewportSize(screen);
  assert.strictEqual(await page.locator("#hosts-0[open]").count(), 0);
  await page.unroute(`**/api/runs/${still}/phases/0`);
}

// A run of many phases is complete on paper though nobody has scrolled to them. Paper says what is
// not there yet.
async function manyPhases(page) {
  step("print many phases");
  const count = 14;
  const last = count - 1;
  const json = async (path) => (await page.request.get(`${url}api/runs/${still}${path}`)).json();
  const head = await json("");
  const names = Array.from({ length: count }, (_, index) => `mix ${index}`);
  const many = (phase) => names.map((name, index) => ({ ...phase, name, index }));
  await page.route(`**/api/runs/${still}`, (route) =>
    route.fulfill({ json: { ...head, phases: many(head.phases[0]) } }),
  );
  // Each of them is like the first, and the last one is late.
  let release;
  const released = new Promise((done) => (release = done));
  const part = await json("/phases/0");
  await page.route(`**/api/runs/${still}/phases/*`, async (route) => {
    const index = Number(route.request().url().split("/").pop());
    if (index === last) await released;
    await route.fulfill({ json: { ...part, phases: [many(part.phases[0])[index]] } });
  });
  await page.route(/\/(series|hosts|latency)\?phase=\d+/, async (route) => {
    const address = route
      .request()
      .url()
      .replace(/phase=\d+/, "phase=0");
    await route.fulfill({ response: await route.fetch({ url: address }) });
  });
  await page.setViewportSize(screen);
  await page.goto("about:blank");
  await page.goto(`${url}#/run/${still}`);
  const folds = (index) => page.locator(`section:has(> #phase-${index}) details.fold`).first();
  await folds(last - 1).waitFor({ state: "attached" });
  await page.emulateMedia({ media: "print" });
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  const missing = page.locator("#missing");
  assert.ok(await missing.isVisible());
  assert.match(await missing.textContent(), /^1 phase \(mix 13\) had not been loaded/);
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  assert.strictEqual(await missing.count(), 0);
  release();
  await folds(last).waitFor({ state: "attached" });
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  assert.strictEqual(await missing.count(), 0);
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  await page.emulateMedia({ media: null });
  await page.unrouteAll({ behavior: "ignoreErrors" });
}

// Findings that are alike are one, which leads to its hosts.
async function grouped(page) {
  step("findings that are alike");
  const one = { beginSeconds: 1, endSeconds: 2, slowSeconds: 1, share: 0.1, reason: "because" };
  const cause = (i) => (i < 20 ? "I/O throttle" : "not known");
  const stragglers = Array.from({ length: 22 }, (_, i) => ({
    ...one,
    host: `vm-${i}`,
    cause: cause(i),
  }));
  await page.route(`**/api/runs/${still}`, async (route) => {
    const answer = await route.fetch();
    const json = await answer.json();
    Object.assign(json.phases[0], { stragglers, hostsCount: 64, findingGroups: [] });
    await route.fulfill({ response: answer, json });
  });
  await open(page, still);
  const line = page.locator("p.finding", { hasText: "I/O throttle" });
  const words = "22 of 64 hosts at 10 % of the others' IOPS: I/O throttle (20), not known (2)";
  assert.ok((await line.textContent()).includes(words), await line.textContent());
  // One by one they wait to be asked for.
  const single = page.locator("main p.warn", { hasText: "vm-7 is a straggler" });
  assert.ok(!(await single.isVisible()));
  await page.locator("summary", { hasText: "22 times that a host fell behind" }).click();
  await single.waitFor();
  await line.getByRole("button", { name: "only not known" }).click();
  await page.locator("#hosts-0[open] th", { hasText: "straggler" }).waitFor();
  assert.match(page.url(), /find-hosts-0=not\+known/);
  await page.unroute(`**/api/runs/${still}`);
}

// A chart is one stop of the keyboard and says its values; what is open is open after "back".
async function keyboard(page) {
  step("the keyboard, and back");
  await open(page, still);
  const chart = page.locator(".charts .plot[aria-label]").first();
  await chart.focus();
  await page.keyboard.press("ArrowRight");
  const said = page.locator(".charts figure.chart").first().locator("output");
  await said.filter({ hasText: /^\d+\.\d to \d+\.\d s, .* UTC; .*\d/ }).waitFor();
  const stops = await page
    .locator(".charts figure")
    .first()
    .evaluate((figure) => {
      const all = [...figure.querySelectorAll("button, a, [tabindex]")];
      return all.filter((one) => one.tabIndex >= 0).length;
    });
  assert.strictEqual(stops, 1);
  await page.locator("#hosts-0 > summary").click();
  await page.waitForURL(/open=hosts-0/);
  await page.evaluate(() => (location.hash = "#/"));
  await page.waitForSelector("a[data-run]");
  await page.goBack();
  await page.locator("#hosts-0[open] th", { hasText: "straggler" }).waitFor();
  await unfold(page);
}

// A browser that was never here: what it loads for the first chart of a report, with the heads of
// answers. What is folded or below comes later.
async function firstLoad(page) {
  step("the first load");
  // The tests of one class share a browser's directory, and so its cache.
  const session = await page.context().newCDPSession(page);
  await session.send("Network.clearBrowserCache");
  await session.detach();
  const bytesOf = countBytes(page);
  await page.addInitScript(noteFirstLoad);
  await page.goto(`${url}#/run/${still}`);
  await reported(page);
  const files = await page.evaluate(() => window.firstLoad);
  const names = files.map((file) => file.slice(url.length).replace(/[-.][0-9A-Za-z]{8,16}\./, "."));
  assert.ok(!names.includes("api/status"), "the status of a large fleet is large");
  for (const later of ["report_folds", "report_heats", "report_sweeps", "fleet_view", "live_view"])
    assert.ok(!names.includes(`${later}.js`), `${later} comes with the first chart: ${names}`);
  for (const first of ["", "main.css", "main.js", "report_view.js", `api/runs/${still}`])
    assert.ok(names.includes(first), `${first} is in ${names}`);
  if (process.env.LOCKSTEP_PAGE_COVERAGE) return; // its scripts are not minified
  const bytes = await bytesOf((address) => files.includes(address), files);
  assert.ok(bytes > 30 * 1024, `${bytes} bytes of ${names}`);
  assert.ok(bytes <= 60 * 1024, `the first load has ${bytes} bytes: ${names}`);
}

async function main(page) {
  await firstLoad(page); // while nothing is in the browser's cache
  await outage(page);
  await corruption(page);
  await noted(page);
  await print(page);
  await manyPhases(page);
  await grouped(page);
  await keyboard(page);
}

void drive(directory, main);
