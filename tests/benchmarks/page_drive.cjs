// The figures of the page in a browser of its own: node page_drive.cjs URL PROFILE first PATH
// TIMES, or … live PATH SECONDS. Prints one line of JSON.
const fs = require("node:fs");
const { chromium } = require("playwright-core");
const { countBytes, executablePath, flags, noteFirstLoad } = require("../web/browser.cjs");

// Milliseconds from the navigation to the frame after the first drawn chart.
const watchForChart = () => {
  const look = () => {
    if (!document.querySelector(".charts .plot canvas")) return requestAnimationFrame(look);
    requestAnimationFrame(() => {
      window.firstChart = performance.now();
    });
  };
  look();
};

// Every frame of more than 50 ms, and the longest time between two.
const watchFrames = () => {
  window.frames_ = { long: [], scripts: {}, gap: 0, count: 0 };
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      window.frames_.long.push(entry.duration);
      for (const script of entry.scripts) {
        const name = `${script.invoker} ${script.sourceFunctionName}`;
        window.frames_.scripts[name] = Math.max(window.frames_.scripts[name] ?? 0, script.duration);
      }
    }
  }).observe({ type: "long-animation-frame", buffered: true });
  let before = 0;
  const step = (now) => {
    const { frames_ } = window;
    if (before > 0) frames_.gap = Math.max(frames_.gap, now - before);
    before = now;
    frames_.count++;
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
};

async function first(page, context, url, path, times) {
  const took = [];
  const bytes = {};
  for (let i = 0; i < times; i++) {
    const tab = await context.newPage();
    const session = await context.newCDPSession(tab);
    await session.send("Network.enable");
    await session.send("Network.setCacheDisabled", { cacheDisabled: true });
    const bytesOf = countBytes(tab);
    await tab.addInitScript(watchForChart);
    await tab.addInitScript(noteFirstLoad);
    await tab.goto(url + path);
    for (;;) {
      const at = await tab.evaluate(() => window.firstChart ?? 0);
      if (at > 0) {
        took.push(at);
        break;
      }
      await tab.waitForTimeout(20);
    }
    // All that the page asks for by itself, but its status after ten seconds.
    await tab.waitForLoadState("networkidle");
    const files = await tab.evaluate(() => window.firstLoad);
    bytes.first = await bytesOf((address) => files.includes(address), files);
    bytes.own = await bytesOf((address) => files.includes(address) && !address.includes("/api/"));
    bytes.all = await bytesOf(() => true);
    await tab.close();
  }
  return { took, bytes };
}

// Memory of the renderer that shows the page: what is its own.
function ownMiB(pid) {
  const text = fs.readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/RssAnon:\s+(\d+)/.exec(text)[1]) / 1024;
}

async function live(page, context, url, path, seconds) {
  const browser = await context.browser().newBrowserCDPSession();
  await page.addInitScript(watchFrames);
  await page.goto(url + path);
  await page.locator(".charts .plot canvas").first().waitFor({ timeout: 120000 });
  // Until then it is opened.
  const opening = await page.evaluate(() => {
    const { long } = window.frames_;
    Object.assign(window.frames_, { long: [], scripts: {}, gap: 0, count: 0 });
    return Math.max(0, ...long);
  });
  const { processInfo } = await browser.send("SystemInfo.getProcessInfo");
  const renderers = processInfo.filter(({ type }) => type === "renderer").map(({ id }) => id);
  const memory = [];
  const until = Date.now() + seconds * 1000;
  while (Date.now() < until) {
    await page.waitForTimeout(5000);
    memory.push(Math.max(...renderers.map(ownMiB)));
  }
  const frames = await page.evaluate(() => window.frames_);
  const line = await page.textContent("#live-line");
  const label = await page.locator(".charts .plot[aria-label]").first().getAttribute("aria-label");
  const heap = await page.evaluate(() => performance.memory.usedJSHeapSize / 2 ** 20);
  return {
    frames,
    opening,
    memory,
    heap,
    line,
    label,
    rows: await page.locator(".heat canvas").count(),
  };
}

async function main() {
  const [url, profile, what, path, number] = process.argv.slice(2);
  const browser = await chromium.launch({
    executablePath,
    headless: true,
    args: flags,
    env: { ...process.env, HOME: profile },
  });
  try {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    const page = await context.newPage();
    page.on("pageerror", (error) => console.error(String(error)));
    const done = await { first, live }[what](page, context, url, path, Number(number));
    console.log(JSON.stringify(done));
  } finally {
    await browser.close();
  }
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
