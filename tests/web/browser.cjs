// Headless Chromium for tests of the page.
const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const axe = require("axe-core");
const { chromium } = require("playwright-core");

const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-dev-shm-usage", // a container may have little of it
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
// One that does not see the network namespaces of other tests.
const executablePath = path.join(__dirname, "chromium");

// Milliseconds; 0 is none, where whoever started the script decides by events when it is in vain.
const limit = Number(process.env.PAGE_TIMEOUT ?? 240000);

// A tab, and what its scripts complain of.
async function launch(directory) {
  const context = await chromium.launchPersistentContext(path.join(directory, "chromium"), {
    executablePath,
    headless: true,
    args: flags,
    timeout: limit,
  });
  const page = await context.newPage();
  await page.addInitScript({ content: axe.source });
  page.setDefaultTimeout(limit);
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  return { context, page, errors };
}

// Runs a script in a tab to its end, which it says. A failure says its reason. `bears`: the script
// provokes errors in the console.
async function drive(directory, script, { bears = false } = {}) {
  const { context, page, errors } = await launch(directory);
  // tools/coverage names a directory for what the page's script has run.
  const coverage = process.env.LOCKSTEP_PAGE_COVERAGE;
  if (coverage) await page.coverage.startJSCoverage({ resetOnNavigation: false });
  try {
    await script(page);
    if (!bears) assert.deepStrictEqual(errors, []);
    console.log("page: ok");
  } catch (error) {
    console.error(error);
    process.exitCode = 1;
  } finally {
    // A fetch that a route still makes is in vain.
    await page.unrouteAll({ behavior: "ignoreErrors" });
    if (coverage) {
      const ran = await page.coverage.stopJSCoverage();
      fs.writeFileSync(path.join(coverage, `${process.pid}.json`), JSON.stringify(ran));
    }
    await context.close();
  }
}

// From and to which second a chart goes.
async function spanOf(chart) {
  const label = await chart.getAttribute("aria-label");
  const [, from, to] = /, ([0-9.]+) to ([0-9.]+) s/.exec(label);
  return [Number(from), Number(to)];
}

// Charts take their new width in the frame after the window has it.
const settled = async () => {
  for (let frame = 0; frame < 100; frame++) {
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    if (frame > 2 && document.documentElement.scrollWidth <= innerWidth) return;
  }
};

// In all widths, light and dark: nothing is wider than the window, and axe finds nothing. Pictures
// are left where LOCKSTEP_SCREENSHOTS says.
async function everySize(page, name) {
  const directory = process.env.LOCKSTEP_SCREENSHOTS;
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [360, 1280, 2560]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 900 });
      await page.evaluate(settled);
      if (directory) {
        const file = path.join(directory, `${name}-${width}-${colorScheme}.png`);
        await page.screenshot({ path: file, fullPage: true });
      }
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `${name} at ${width}: ${wide} wide`);
      // The rules depend on the layout, of which there are two, and on the colours.
      if (width === 2560 || (width === 360 && colorScheme === "dark")) continue;
      const { violations } = await page.evaluate(() => window.axe.run(document));
      const found = violations.flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.html}`));
      assert.deepStrictEqual(found, [], `${name} at ${width}, ${colorScheme}`);
    }
  }
  await page.setViewportSize({ width: 1280, height: 900 });
}

// Texts on the background: at least 4.5:1 (WCAG 2.2, 1.4.3), light and dark.
async function contrasts(page) {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    const found = await page.evaluate(() => {
      const style = getComputedStyle(document.body);
      const luminance = (name) => {
        const hex = style.getPropertyValue(name).trim();
        const parts = [1, 3, 5]
          .map((at) => parseInt(hex.slice(at, at + 2), 16) / 255)
          .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
      };
      const paper = luminance("--paper");
      const names = ["--c1", "--c2", "--c3", "--c4", "--c5", "--band", "--heat", "--bad"];
      return names.map((name) => {
        const own = luminance(name);
        return [name, (Math.max(own, paper) + 0.05) / (Math.min(own, paper) + 0.05)];
      });
    });
    for (const [name, ratio] of found)
      assert.ok(ratio >= 4.5, `${name}, ${colorScheme}: ${ratio.toFixed(2)}:1`);
  }
}

// Opens what a report has folded, but the points of a sweep; what is in a fold comes when it opens.
async function unfold(page) {
  const closed = "main details:not([open], .single, .single details)";
  for (let more = 1; more > 0; ) {
    more = await page.locator(closed).evaluateAll((all) => {
      for (const one of all) one.open = true;
      return all.length;
    });
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
  }
}

// A report of which each phase is there, with what it has folded. It must be the first that the tab
// shows, or the one before must be gone: its job would be taken for that of this one.
async function reported(page) {
  await page.locator("#job").waitFor();
  for (const section of await page.locator("main > section:has(.charts)").all()) {
    await section
      .locator("h2")
      .first()
      .evaluate((head) => head.scrollIntoView());
    await section.locator("details.fold").first().waitFor();
  }
}

// What of a page had come when it drew its first chart (window.firstLoad): its addresses. What is
// asked for after that makes nobody wait for a chart. A script for the tab, before it opens a page.
const noteFirstLoad = () => {
  new MutationObserver((_, observer) => {
    if (!document.querySelector(".plot canvas")) return;
    observer.disconnect();
    const files = performance.getEntriesByType("resource").map(({ name }) => name);
    window.firstLoad = [location.href.split("#")[0], ...files];
  }).observe(document, { childList: true, subtree: true });
};

// Counts what a tab loads from now on. The function that it returns has the bytes on the wire,
// heads and bodies, of the addresses of which `isMeant` says so, once `all` have come.
function countBytes(page) {
  const asked = [];
  page.on("requestfinished", (request) => asked.push(request));
  const addressOf = (request) => request.url().split("#")[0];
  return async (isMeant, all = []) => {
    // The browser's timeline knows of a file before its last bytes are here.
    while (!all.every((one) => asked.some((request) => addressOf(request) === one)))
      await page.waitForEvent("requestfinished");
    const meant = asked.filter((request) => isMeant(addressOf(request)));
    const sizes = await Promise.all(meant.map((request) => request.sizes()));
    return sizes.reduce((sum, one) => sum + one.responseBodySize + one.responseHeadersSize, 0);
  };
}

// Says which step begins, with the seconds since the script did, for whoever reads what failed.
function step(name) {
  console.error(`step at ${process.uptime().toFixed(0)} s: ${name}`);
}

module.exports = {
  contrasts,
  countBytes,
  drive,
  everySize,
  executablePath,
  flags,
  noteFirstLoad,
  reported,
  spanOf,
  step,
  unfold,
};
