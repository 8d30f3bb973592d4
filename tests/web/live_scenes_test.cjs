// The first view of the live page, and its size: node live_scenes_test.cjs URL DIRECTORY. The
// controller of URL serves the page; its events of a run are made up here, one by one, so that each
// scene is one that the test has chosen.
const assert = require("node:assert");
const path = require("node:path");
const { drive, everySize, step } = require("./browser.cjs");
const {
  run,
  job,
  hosts,
  fakeEvents,
  keepWritten,
  tell,
  phase,
  second,
  stuck,
  several,
} = require("./live_events.cjs");

const [url, directory] = process.argv.slice(2);

let report = {};
let status = {};

async function open(page, query = "") {
  const summary = { runId: run, jobName: job, state: "running", hosts: 9 };
  report = { run: summary, phases: [], events: [], sweeps: [], curves: [] };
  status = {
    version: "0.1.0",
    store: "embedded",
    workers: [],
    runs: [summary],
  };
  await page.goto("about:blank");
  await page.goto(`${url}#/run/${run}${query}`);
  await page.locator("#notices").waitFor({ state: "attached" });
  await tell(
    page,
    {
      phase: {
        index: 0,
        count: 4,
        name: "fill",
        kind: "prepare",
        state: "done",
        runHosts: 9,
      },
    },
    phase(),
  );
}

const banners = (page) =>
  // At once: those that are found first may be replaced before they are measured.
  page.evaluate(() =>
    [...document.querySelectorAll("#notices .banner")].map((one) => ({
      tone: one.classList[1],
      text: one.textContent,
      size: parseFloat(getComputedStyle(one.querySelector("strong")).fontSize),
      color: getComputedStyle(one).color,
      width: one.getBoundingClientRect().width,
      height: one.getBoundingClientRect().height,
    })),
  );
const tiles = (page) =>
  page.locator(".live-head .tile").evaluateAll((all) =>
    Object.fromEntries(
      all.map((one) => [
        one.querySelector("span").textContent.replace(/^[✓✗⚠\ufe0e ]+/, ""),
        {
          value: one.querySelector("b").textContent,
          size: parseFloat(getComputedStyle(one.querySelector("b")).fontSize),
          tone: one.classList[1],
          text: one.textContent,
        },
      ]),
    ),
  );
// page.waitForFunction() evaluates a text each time but the first, which the page's policy forbids.
async function until(page, check, argument) {
  for (let tries = 0; !(await page.evaluate(check, argument)); tries++) {
    assert.ok(tries < 200, String(check));
    await page.waitForTimeout(50);
  }
}
const said = (page, text) => page.locator("#notices .banner", { hasText: text }).first().waitFor();

// All is well: no banner, the figures with their units, the phases by their names.
async function good(page) {
  await open(page);
  await tell(page, ...several(27, (k) => second(k)));
  await page.locator(".tile", { hasText: /48\.[5-7] k/ }).waitFor();
  assert.deepStrictEqual(await banners(page), []);
  const shown = await tiles(page);
  assert.strictEqual(shown["throughput"].value, "380 MiB/s");
  assert.strictEqual(shown["p99"].value, "5.93 ms");
  assert.strictEqual(shown["hosts"].value, "9 of 9");
  assert.strictEqual(shown["IOPS"].tone, "good");
  assert.ok(shown["IOPS"].text.includes("✓ iops ≥ 5,000"), shown["IOPS"].text);
  assert.ok(shown["IOPS"].size >= 32, `${shown["IOPS"].size}`);
  const steps = await page.textContent(".strip");
  for (const part of ["✓ fill", "mix (2 of 4)", "then: scan, verify"])
    assert.ok(steps.includes(part), steps);
  assert.match(await page.textContent("#live-line"), /^0:2\d of 0:40, 0:1\d left$/);
  assert.ok(!(await page.textContent(".facts")).includes("which is over"));
  assert.strictEqual(await page.title(), `mix · ${job}`);
  await page.waitForSelector("#live-charts .plot canvas");
  // A logarithmic axis has the powers of ten alone: others would be written over each other.
  const axis = await page.evaluate(() => window.written.filter((one) => /^\d+ ms$/.test(one)));
  assert.deepStrictEqual([...new Set(axis)].sort(), ["1 ms", "10 ms", "100 ms"]);
  await everySize(page, "live-good");
}

// A rate is drawn in the middle of the interval in which it was measured, and the cursor says which
// that is; where no interval was told there is a gap.
async function intervals(page) {
  await open(page);
  await tell(page, second(0), second(1), second(2, { iops: 9000 }), second(5), second(6));
  const chart = page.locator("#live-charts .plot").first();
  await page.locator("#live-charts .plot[aria-label*='0.0 to 7.0 s']").first().waitFor();
  const { x, y, width, height } = await chart.locator(".u-over").boundingBox();
  const at = async (seconds, time, value) => {
    await page.mouse.move(x + (width * seconds) / 7, y + height / 2);
    const legend = chart.locator(".u-legend");
    await legend.filter({ hasText: `time${time}` }).waitFor();
    assert.ok((await legend.textContent()).includes(value), await legend.textContent());
  };
  await at(0.2, "0.0 to 1.0 s", "I/Os48.7 k");
  await at(2.1, "2.0 to 3.0 s", "I/Os9,000");
  await at(2.9, "2.0 to 3.0 s", "I/Os9,000");
  await at(4, "3.0 to 5.0 s", "I/Os–");
  await at(5.2, "5.0 to 6.0 s", "I/Os48.7 k");
  await chart.focus();
  await page.keyboard.press("ArrowRight");
  const said = page.locator("#live-charts figure").first().locator("output");
  await said.filter({ hasText: /^1\.0 to 2\.0 s; I\/Os 48\.7 k/ }).waitFor();
}

// What is wrong comes first, over the whole width, in white on red, and nothing is larger.
async function isLargest(page) {
  const [first] = await banners(page);
  assert.strictEqual(first.tone, "bad");
  assert.strictEqual(first.color, "rgb(255, 255, 255)");
  const main = await page.locator("main").evaluate((one) => one.clientWidth);
  assert.ok(first.width >= main - 64, `${first.width} of ${main}`);
  const sizes = Object.values(await tiles(page)).map((tile) => tile.size);
  assert.ok(sizes.length > 0);
  assert.ok(first.size >= Math.max(...sizes), `${first.size} beside ${sizes}`);
}

async function totalStall(page) {
  await open(page);
  await tell(page, ...several(10, (k) => second(k)), ...several(4, (k) => stuck(10 + k, k + 1)));
  await said(page, /NO I\/O HAS COMPLETED on 9 of 9 hosts for [4-9] s/);
  await isLargest(page);
  const shown = await tiles(page);
  assert.strictEqual(shown["IOPS"].value, "0");
  assert.strictEqual(shown["IOPS"].tone, "bad");
  assert.strictEqual(shown["p99"].value, "–");
  assert.match(await page.textContent(".facts"), /Jain over hosts –/);
  assert.strictEqual(await page.title(), `✗ NO I/O · ${job}`);
  await everySize(page, "live-stall");
  // It is over: nothing is said any more.
  await tell(page, second(14));
  await page.locator("#notices .banner.bad").first().waitFor({ state: "detached" });
}

async function lostHost(page) {
  await open(page);
  await tell(page, ...several(5, (k) => second(k)), phase({ lost: ["vm-9"], lostCount: 1 }));
  await said(page, "vm-9 lost, 8 of 9 go on");
  await isLargest(page);
  const shown = await tiles(page);
  assert.strictEqual(shown["hosts"].value, "8 of 9");
  assert.strictEqual(shown["hosts"].tone, "bad");
  assert.strictEqual(await page.title(), `✗ 8 OF 9 HOSTS · ${job}`);
  await everySize(page, "live-lost");
  await tell(page, phase({ lost: ["vm-2", "vm-3"], lostCount: 5 }));
  await said(page, "vm-2, vm-3 and 3 more lost, 4 of 9 go on");
}

async function absentController(page) {
  await open(page);
  await tell(page, ...several(5, (k) => second(k)));
  await page
    .locator(".tile", { hasText: /48\.[5-7] k/ })
    .first()
    .waitFor();
  await page.evaluate(() => window.feeds[window.feeds.length - 1].onerror());
  await said(page, /THE CONTROLLER DOES NOT ANSWER for \d+ s/);
  await page.locator(".tiles.stale").waitFor();
  await isLargest(page);
  assert.match(await page.textContent(".facts"), /the figures are \d+ s old/);
  const dimmed = await page.evaluate(() => {
    const color = (where) => getComputedStyle(document.querySelector(where)).color;
    return color(".live-head .tile b") === color(".facts .muted");
  });
  assert.ok(dimmed, "tiles of an absent controller are not as bright as others");
  assert.strictEqual(await page.title(), `✗ NO CONTROLLER · ${job}`);
  await everySize(page, "live-away");
  await tell(page, second(5));
  await page.locator("#notices .banner").first().waitFor({ state: "detached" });
  await page.locator("#absences", { hasText: "mix at 5 s: the connection was lost" }).waitFor();
}

async function missedAndCorrupt(page) {
  await open(page);
  await tell(page, ...several(3, (k) => second(k, { iops: 4461, errors: k === 0 ? 2 : 0 })));
  await said(page, "iops ≥ 5,000 is missed: 4,461");
  let shown = await tiles(page);
  assert.strictEqual(shown["IOPS"].tone, "bad");
  assert.strictEqual(shown["errors so far"].tone, "warn");
  await tell(page, second(3));
  const often = /missed before, in 3 of \d+ intervals/;
  await page.locator(".tile.warn", { hasText: often }).waitFor();
  shown = await tiles(page);
  assert.strictEqual(shown["IOPS"].tone, "warn");
  // The result of a phase is in its report.
  const sentence = "24 of 9,000 checked blocks are not as written, on vm-3, vm-6";
  report.verdict = { word: "running", reasons: [sentence], warnings: [] };
  report.phases = [
    {
      name: "verify",
      state: "done",
      workloads: [{ verification: { mismatches: 24 } }],
      expectations: [{ text: "p99 <= 8 ms", found: "9.1 ms", met: false }],
    },
  ];
  await tell(page, phase({ state: "done" }), phase({ index: 2, name: "scan", limits: [] }));
  await said(page, sentence);
  const [first, next] = await banners(page);
  assert.strictEqual(first.tone, "corrupt");
  assert.match(next.text, /EXPECTATIONS FAILED in verify.*p99 ≤ 8 ms, found 9.1 ms/);
  // Figures of a phase that is over are said to be that, and only then.
  await page.locator(".facts", { hasText: "the last figures of mix, which is over" }).waitFor();
  await tell(page, { interval: { ...second(0).interval, phase: 2 } });
  await page.locator(".facts", { hasText: "which is over" }).waitFor({ state: "detached" });
}

// Warnings are amber, and in the list of events; what is only told is neither.
async function warnings(page) {
  await open(page);
  const event = (severity, message, change = {}) => ({
    event: { severity, message, ...change },
  });
  await tell(
    page,
    ...several(3, (k) => second(k)),
    event("info", "a note"),
    event("warning", "a path is away", {
      at: "2026-01-02T03:04:05.678Z",
      host: "vm-2",
    }),
    phase({ waitingFor: ["vm-3", "vm-4"] }),
  );
  await said(page, "Waiting for vm-3 and vm-4");
  // The controller names the first of many.
  await tell(page, phase({ waitingFor: hosts.slice(0, 5) }));
  await said(page, "Waiting for 5 hosts or more: vm-1, vm-2, vm-3, vm-4, vm-5");
  const found = await banners(page);
  assert.deepStrictEqual([...new Set(found.map(({ tone }) => tone))], ["warn"]);
  assert.ok(
    found.some(({ text }) => text.includes("1 warning") && text.includes("a path is away")),
  );
  const entries = await page.locator(".events li").allTextContents();
  assert.deepStrictEqual(
    entries.map((text) => text.trim()),
    ["03:04:05 UTC ⚠\ufe0e vm-2: a path is away", "a note"],
  );
  // Its flag says what it is when the cursor is there: at the end of the last interval.
  const over = await page.locator("#live-charts .u-over").first().boundingBox();
  await page.mouse.move(over.x + over.width - 1, over.y + over.height / 2);
  await page.locator("#live-charts .words", { hasText: "vm-2 a path is away" }).first().waitFor();
}

// A note of a person is no warning. It has its author in the list, and its flag at the time that
// the person gave: one that came before the first interval, too.
async function notes(page) {
  await open(page);
  const note = (number, author, at, message) => ({
    event: { severity: "note", number, author, at: `2026-01-02T03:04:${at}Z`, message },
  });
  await tell(
    page,
    phase({ startedAt: "2026-01-02T03:04:00.000Z" }),
    note(1, "anna", "02", "first switch powered off"),
    ...several(10, (k) => second(k)),
    note(2, "berta", "05", "second switch powered off"),
  );
  await page.locator(".events li", { hasText: "second switch" }).waitFor();
  await page.locator(".tile", { hasText: /48\.[5-7] k/ }).waitFor();
  const entries = await page.locator(".events li").allTextContents();
  assert.deepStrictEqual(
    entries.map((text) => text.trim()),
    [
      "03:04:05 UTC berta: second switch powered off",
      "03:04:02 UTC anna: first switch powered off",
    ],
  );
  assert.deepStrictEqual(await banners(page), []);
  assert.strictEqual(await page.title(), `mix · ${job}`);
  const chart = page.locator("#live-charts .plot").first();
  await page.locator("#live-charts .plot[aria-label*='0.0 to 10.0 s']").first().waitFor();
  const { x, y, width, height } = await chart.locator(".u-over").boundingBox();
  const at = async (seconds, text) => {
    await page.mouse.move(x + (width * seconds) / 10, y + height / 2);
    await until(
      page,
      (words) => document.querySelector("#live-charts .words").textContent === words,
      text,
    );
  };
  await at(2, "first switch powered off");
  await at(5, "second switch powered off");
  await at(9.9, "");
  await everySize(page, "live-notes");
}

// Equal warnings are one entry that counts them, the newest on top, and there are not endless ones.
async function manyWarnings(page) {
  await open(page);
  const at = (i) => `2026-01-02T03:04:${String(i % 60).padStart(2, "0")}Z`;
  const event = (i, change) => ({
    event: { severity: "warning", at: at(i), ...change },
  });
  const failed = (i) => event(i, { host: `vm-${1 + (i % 5)}`, message: `${i + 1} I/Os failed` });
  const away = (i) => event(i, { host: "vm-2", message: `nvme${i}n1 is away` });
  await tell(page, ...several(3, (k) => second(k)), ...several(200, failed), away(1), away(2));
  const entries = () => page.locator(".events li").allTextContents();
  const who = "vm-1, vm-2, vm-3 and 2 more";
  const often = "200 I/Os failed 200 times, since 03:04:00 UTC";
  await page.locator(".events li", { hasText: "200 times" }).waitFor();
  const [newest, next, oldest, ...rest] = (await entries()).map((one) => one.trim());
  assert.deepStrictEqual(rest, []);
  assert.match(newest, /vm-2: nvme2n1 is away$/);
  assert.match(next, /vm-2: nvme1n1 is away$/);
  assert.ok(oldest.startsWith("03:04:19 UTC") && oldest.endsWith(`${who}: ${often}`), oldest);
  // One that comes again is the newest.
  await tell(page, failed(200));
  await page.locator(".events li").first().filter({ hasText: "201 times" }).waitFor();
  await tell(page, ...several(300, (i) => away(10 + i)));
  await page.locator(".events .earlier").waitFor();
  const shown = await entries();
  assert.strictEqual(shown.length, 41);
  assert.match(shown[0], /nvme309n1/);
  assert.strictEqual(shown[40], "and 463 earlier events, which the report will have");
  await everySize(page, "live-events");
}

// Errors and fairness are held against what the job requires, as all else is.
async function limitsOfCounts(page) {
  const limits = [
    { figure: "errors", value: 3, text: "errors <= 3" },
    { figure: "errors", value: 100, text: "abort_if errors >= 100" },
    { figure: "fairness", value: 0.9, text: "fairness over hosts >= 0.900" },
  ];
  await open(page);
  await tell(page, phase({ limits }), ...several(5, (k) => second(k, { errors: k === 2 ? 2 : 0 })));
  await page.locator(".tile.good", { hasText: "errors ≤ 3" }).waitFor();
  const [errors, fairness] = ["errors so far", "fairness, over hosts"];
  let shown = await tiles(page);
  assert.deepStrictEqual([shown[errors].value, shown[errors].tone], ["2", "good"]);
  assert.deepStrictEqual([shown[fairness].value, shown[fairness].tone], ["0.998", "good"]);
  assert.ok(!(await page.textContent(".facts")).includes("Jain"), "its tile has it");
  await tell(page, ...several(3, (k) => second(5 + k, { jain: 0.62, errors: k })));
  await said(page, "fairness over hosts ≥ 0.900 is missed: 0.620");
  await said(page, "errors ≤ 3 is missed: 5");
  shown = await tiles(page);
  assert.strictEqual(shown[fairness].tone, "bad");
  assert.strictEqual(shown[errors].tone, "bad");
  assert.ok(shown[errors].text.includes("✗ errors ≤ 3"), shown[errors].text);
  await tell(page, second(8, { errors: 95 }));
  await said(page, "abort_if errors ≥ 100 is reached: 100");
  await everySize(page, "live-limits");
}

async function storeAway(page) {
  await open(page);
  status.storeState = {
    unavailable: true,
    unavailableSeconds: 12,
    spoolLimitBytes: 100,
    spooledBytes: 3,
  };
  await page.reload();
  await page.locator("#notices").waitFor({ state: "attached" });
  await tell(page, phase(), ...several(3, (k) => second(k)));
  await said(page, "THE STORE IS UNAVAILABLE for 12 s");
}

// A thousand hosts are one line of a tile on the narrowest screen, in letters that are large.
async function manyHosts(page) {
  await open(page);
  await page.setViewportSize({ width: 360, height: 740 });
  await tell(page, phase({ runHosts: 1000 }), second(0));
  const figure = page.locator(".tile", { hasText: "1,000 of 1,000" }).locator("b");
  const shown = await figure.evaluate((one) => ({
    size: parseFloat(getComputedStyle(one).fontSize),
    height: one.clientHeight,
  }));
  assert.ok(shown.size >= 20 && shown.height < 1.6 * shown.size, JSON.stringify(shown));
  await page.setViewportSize({ width: 1280, height: 900 });
  await everyHost(page);
}

// A thousand hosts that do the same have one colour, up to the last interval: the edge of a map is
// not mixed with what lies beside it.
async function everyHost(page) {
  await open(page, "?hosts=all");
  const names = Array.from({ length: 1000 }, (_, i) => `vm-${i + 1}`);
  const allIops = names.map(() => 5000);
  await tell(page, phase({ runHosts: 1000, hosts: names }));
  await tell(page, ...several(5, (k) => second(k, { hosts: 1000, allIops })));
  await page.locator(".heat canvas[aria-label*='1000 rows, 0.0 to 5.0 s']").waitFor();
  const colours = await page.locator(".heat canvas").evaluate((canvas) => {
    const { width } = canvas;
    const left = Math.round(width / 6); // of the names
    const { data } = canvas.getContext("2d").getImageData(left, 100, width - left, 1);
    const found = new Set();
    let faint = 0;
    for (let i = 0; i < data.length; i += 4) {
      if (data[i + 3] === 255) found.add(data.slice(i, i + 4).join());
      else if (data[i + 3] > 0) faint++;
    }
    return { opaque: [...found], faint };
  });
  assert.strictEqual(colours.opaque.length, 1, colours.opaque.join("; "));
  assert.ok(colours.faint <= 2, `${colours.faint} pixels are mixed with what lies beside the map`);
}

async function wall(page) {
  await page.setViewportSize({ width: 1920, height: 1080 });
  await open(page);
  await tell(page, ...several(20, (k) => second(k)));
  await page.locator(".tile", { hasText: /48\.[5-7] k/ }).waitFor();
  // Never by itself.
  assert.ok(await page.locator("#nav").isVisible());
  await page.keyboard.press("w");
  await page.locator("body.wall").waitFor();
  await page.waitForURL(/wall=1/);
  assert.ok(!(await page.locator("#nav").isVisible()));
  for (const [name, { size }] of Object.entries(await tiles(page)))
    assert.ok(size >= 40 && size <= 72, `${name}: ${size}`);
  const charts = await page
    .locator("#live-charts .plot")
    .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().toJSON()));
  const seen = charts.filter((box) => box.width > 0);
  assert.strictEqual(seen.length, 4);
  assert.strictEqual(seen[0].top, seen[1].top, "two columns");
  assert.ok(seen[1].left > seen[0].right);
  const last = seen[3];
  for (let tries = 0; ; tries++) {
    const tall = await page.evaluate(() => document.documentElement.scrollHeight);
    if (tall <= 1080) break;
    assert.ok(tries < 100, `${tall} high, the last chart ends at ${last.bottom}`);
    await page.waitForTimeout(50);
  }
  // Texts beside the figures grow with the screen; a figure and its unit have one line.
  for (const [width, height, least] of [
    [1280, 800, 20],
    [2560, 1440, 28],
    [1920, 1080, 23],
  ]) {
    await page.setViewportSize({ width, height });
    const { type, lines } = await page.evaluate(() => {
      const size = (one) => parseFloat(getComputedStyle(one).fontSize);
      const all = (what) => [...document.querySelectorAll(what)];
      return {
        type: all(".live-head .tile span, .strip, #live-line").map(size),
        lines: all(".live-head .tile b").map((one) => one.clientHeight / size(one)),
      };
    });
    assert.ok(Math.min(...type) >= least, `${type} at ${width}`);
    assert.ok(Math.max(...lines) < 1.6, `${lines} at ${width}`);
  }
  await tell(page, ...several(4, (k) => stuck(20 + k, k + 1)));
  await said(page, "NO I/O HAS COMPLETED");
  const [first] = await banners(page);
  assert.ok(first.height >= 1080 / 3 - 1, `${first.height}`);
  assert.ok(first.size >= 56, `${first.size}`);
  assert.strictEqual(await page.title(), `✗ NO I/O · ${job}`);
  assert.match(await page.locator("link[rel=icon]").getAttribute("href"), /^data:image\/svg/);
  // On a low screen both rows of charts stay below it.
  await page.setViewportSize({ width: 1280, height: 800 });
  await until(page, () => {
    const all = [...document.querySelectorAll("#live-charts .plot")];
    const seen = all.map((one) => one.getBoundingClientRect()).filter(({ width }) => width > 0);
    const isLow = document.documentElement.scrollHeight <= 800;
    return (
      isLow &&
      seen.length === 4 &&
      seen.every(({ bottom, height }) => bottom <= 800 && height > 100)
    );
  });
  await everySize(page, "live-wall");
  await page.keyboard.press("w");
  await page.locator("body.wall").waitFor({ state: "detached" });
}

// #wall: whichever run is in progress; without one, what the last came to.
async function anyRun(page) {
  await open(page);
  const { run: summary } = report;
  let runs = [{ ...summary, runId: "another", state: "queued" }, summary];
  await page.route("**/api/runs?limit=*", (route) => route.fulfill({ json: { runs } }));
  await page.goto("about:blank");
  await page.goto(`${url}#wall`);
  await page.locator("body.wall #notices").waitFor({ state: "attached" });
  await tell(page, phase(), ...several(3, (k) => second(k)));
  await page.locator(".tile", { hasText: /48\.[5-7] k/ }).waitFor();
  runs = [
    {
      ...summary,
      state: "done",
      verdict: "expectations failed",
      endedAt: "2026-01-01T00:00:00Z",
    },
  ];
  await page.evaluate(() => window.feeds[window.feeds.length - 1].dispatchEvent(new Event("end")));
  await page.locator(".banner.plain", { hasText: "No run is in progress" }).waitFor();
  await page.locator(".banner.bad", { hasText: `${job}: expectations failed` }).waitFor();
  const time = page.locator("time");
  assert.strictEqual(await time.getAttribute("title"), "2026-01-01 00:00:00 UTC");
  await everySize(page, "live-none");
}

// A point of a sweep is shorter than a clock's second; of two hosts each is named once; a span
// without I/Os says so in words; a percentile that nobody knows was missed, and is not.
async function fewAndShort(page) {
  await open(page);
  await tell(page, ...several(27, (k) => second(k)));
  const line = page.locator("#live-line", { hasText: "left" });
  const [, passed, left] = /^0:(\d+) of 0:40, 0:(\d+) left$/.exec(await line.textContent());
  assert.strictEqual(Number(passed) + Number(left), 40);
  await open(page);
  await tell(page, phase({ expectedSeconds: 0.8, hosts: hosts.slice(0, 2), runHosts: 2 }));
  const two = {
    hosts: 2,
    worst: [1, 0],
    worstIops: [10, 5500],
    best: [0, 1],
    bestIops: [5500, 10],
  };
  await tell(page, second(0, { ...two, endSeconds: 0.4 }));
  await page.locator("#live-line", { hasText: /^0\.\d of 0\.8 s/ }).waitFor();
  const facts = await page.textContent(".facts");
  assert.ok(facts.includes("slowest hosts, IOPS vm-2 10"), facts);
  assert.ok(facts.includes("fastest vm-1 5,500"), facts);
  assert.strictEqual(facts.split("vm-1").length, 2, facts);
  await open(page);
  await tell(page, ...several(9, (k) => (k < 4 ? second(k, { p99Ns: 40e6 }) : stuck(k, k - 3))));
  await said(page, "p99 ≤ 8 ms was missed; the figure is not known now");
  // Within its span, and over the line of the limit, which would strike it out.
  await until(page, () =>
    window.written.some((text, i) => {
      const { align, at } = window.places[i];
      const isWithin = align === "left" && at > 0.45 && at < 0.9;
      return text === "no I/O" && isWithin && window.written[i - 1] === "iops ≥ 5,000";
    }),
  );
}

// Ticks of small figures are not all "0.1": a queue of a device that is nearly idle.
async function smallFigures(page) {
  await open(page);
  await tell(page, ...several(5, (k) => second(k, { iostat: [1e6, 0.17, 4096, 0.011] })));
  await page.locator(".plot[aria-label^='areq-sz: size of a request (iostat)']").waitFor();
  await until(page, () =>
    ["0.05", "0.1", "0.15", "4 KiB", "1 %"].every((tick) => window.written.includes(tick)),
  );
}

async function main(page) {
  await page.addInitScript(fakeEvents);
  await page.addInitScript(keepWritten);
  await page.route(`**/api/runs/${run}`, (route) => route.fulfill({ json: report }));
  await page.route("**/api/status", (route) => route.fulfill({ json: status }));
  const scenes = [
    good,
    intervals,
    totalStall,
    lostHost,
    absentController,
    missedAndCorrupt,
    warnings,
    notes,
    manyWarnings,
    limitsOfCounts,
    storeAway,
    manyHosts,
    wall,
    anyRun,
    fewAndShort,
    smallFigures,
  ];
  const wanted = process.argv[4];
  for (const scene of scenes.filter(({ name }) => !wanted || name === wanted)) {
    step(scene.name);
    await scene(page);
  }
}

void drive(path.join(directory, "scenes"), main);
