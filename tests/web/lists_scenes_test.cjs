// The first view of the lists and the comparison, and its size: node lists_scenes_test.cjs URL
// DIRECTORY. The controller of URL serves the page; its answers about runs and workers are made up
// here, so that each scene is one that the test has chosen.
const assert = require("node:assert");
const { drive, everySize, step } = require("./browser.cjs");
const { idOf, runOf, runs, headOf, workerOf, comparisonOf, noted } = require("./lists_answers.cjs");

const [url, directory] = process.argv.slice(2);

const helloOf = (hello) => ({
  ...hello,
  host: { ...hello.host, kernel: worker.kernel ?? hello.host.kernel },
  labels: worker.labels ?? hello.labels,
  allow: worker.allow ?? hello.allow,
});
const statusOf = (count) => ({
  version: "0.1.0",
  epoch: "1",
  store: "embedded",
  listen,
  storeState: { unavailable: false, unavailableSeconds: 0, reason: "" },
  workers: Array.from({ length: count }, (_, i) => {
    const one = workerOf(i);
    return { ...one, hello: helloOf(one.hello) };
  }),
  runs: [runs[0]],
});

let workers = 9;
let listen = [];
let change = (compared) => compared;
let devices = [];
let worker = {}; // what is other than usual of each
let listed = runs;
async function fake(page) {
  await page.route(/\/api\//, (route) => {
    const { pathname, searchParams } = new URL(route.request().url());
    const tell = (json) => route.fulfill({ json });
    const of = /^\/api\/runs\/([0-9a-f-]+)(\/.*)?$/.exec(pathname);
    if (pathname === "/api/runs") return tell({ runs: listed, total: listed.length });
    if (pathname === "/api/status") return tell(statusOf(workers));
    if (pathname === "/api/devices") return tell({ hosts: devices });
    if (pathname === "/api/compare") {
      const sets = searchParams.get("runs").split(",");
      return tell(change(comparisonOf(sets.map((set) => set.split(".")))));
    }
    if (of?.[2] === "/job") return tell({ source: `name: nightly\n# ${Number(of[1][7]) % 2}\n` });
    if (of?.[2] === "/environment") return tell({ ...headOf(of[1]), events: noted(of[1]) });
    if (of && !of[2]) return tell(headOf(of[1]));
    return route.fulfill({ status: 404, json: { error: "not in this test" } });
  });
}
const open = async (page, path, there) => {
  await page.goto("about:blank");
  await page.goto(`${url}#/${path}`);
  await page.locator(there).first().waitFor();
};
const sizeOf = (locator) => locator.evaluate((one) => parseFloat(getComputedStyle(one).fontSize));

async function listOfRuns(page) {
  await open(page, "", "a[data-run]");
  const row = page.locator("tbody tr").first();
  const text = await row.textContent();
  for (const part of ["expectations failed", "48,700 IOPS", "firmware=1.2"])
    assert.ok(text.includes(part), `${part} in ${text}`);
  assert.match(await row.locator("time").textContent(), /^\d+ (min|h) ago$/);
  assert.match(await row.locator("time").getAttribute("title"), /^\d{4}-.* UTC$/);
  await page.setViewportSize({ width: 360, height: 900 });
  // A card: what it came to is its largest, and nothing lies over anything else.
  assert.ok((await sizeOf(row.locator("td").nth(3))) >= 20);
  assert.ok(!(await page.locator("thead").first().isVisible()), "a card has no column titles");
  const boxes = await row.locator("td").evaluateAll((cells) =>
    cells
      .map((cell) => cell.getBoundingClientRect())
      .filter((box) => box.width > 0)
      .map(({ left, right, top, bottom }) => ({ left, right, top, bottom })),
  );
  assert.strictEqual(boxes.length, 7);
  for (const [i, a] of boxes.entries()) {
    assert.ok(a.left >= 0 && a.right <= 360, JSON.stringify(a));
    for (const b of boxes.slice(i + 1)) {
      const isApart = [a.right - b.left, b.right - a.left, a.bottom - b.top, b.bottom - a.top];
      assert.ok(Math.min(...isApart) <= 1, `${JSON.stringify(a)} over ${JSON.stringify(b)}`);
    }
  }
  const { height } = await row.boundingBox();
  assert.ok(height <= 180, `a card is ${height} high`);
  await page.setViewportSize({ width: 1280, height: 900 });
}

// Rates are as FormatThroughput() of common/units.h writes them; units_test.cc has the same table.
async function rates(page) {
  const cases = [
    [512, "512 B/s (512 B/s)"],
    [38 * 2 ** 10, "38.0 KiB/s (38.9 kB/s)"],
    [28 * 2 ** 20, "28.0 MiB/s (29.4 MB/s)"],
    [1000 * 2 ** 20, "1,000 MiB/s (1.05 GB/s)"],
    [1023.9 * 2 ** 20, "1.00 GiB/s (1.07 GB/s)"],
    [1427.5 * 2 ** 20, "1.39 GiB/s (1.50 GB/s)"],
  ];
  listed = cases.map(([bytesPerSecond], i) => runOf(i, { bytesPerSecond }));
  await open(page, "", "a[data-run]");
  const titles = await page
    .locator("tbody tr [title*=IOPS]")
    .evaluateAll((all) => all.map((one) => one.title));
  assert.deepStrictEqual(
    titles,
    cases.map(([, text]) => `48,700 IOPS, ${text}`),
  );
  listed = runs;
}

// A verdict is green, amber, red or grey by how grave it is; that a person ended a run is no fault.
async function severities(page) {
  const words = {
    done: "good",
    backlog: "warn",
    degraded: "warn",
    failed: "bad",
    "nothing measured": "bad",
    cancelled: "plain",
    "data corrupted": "corrupt",
  };
  listed = Object.keys(words).map((verdict, i) =>
    runOf(i, { verdict, jobName: `job-${i}`, conclusion: "curve stayed behind its rate; 5 IOPS" }),
  );
  await open(page, "", "a[data-run]");
  const pills = await page
    .locator("tbody .pill")
    .evaluateAll((all) => all.map((one) => [one.textContent, one.classList[1]]));
  assert.deepStrictEqual(Object.fromEntries(pills), words);
  const fields = await page
    .locator("tbody .pill")
    .evaluateAll((all) => all.map((one) => getComputedStyle(one).backgroundColor));
  assert.strictEqual(new Set(fields).size, 5, `${fields}`);
  const reasons = page.locator("tbody .reason");
  assert.strictEqual(await reasons.count(), 5, "what is neither good nor grey says why");
  // A degraded run names the lost host, whatever its conclusion begins with.
  const conclusion = "no I/O for 5 s; lost vm-9, 8 of 9 hosts went on; 1,000 IOPS";
  const lost = { verdict: "degraded", degraded: true, conclusion };
  listed = [
    ...listed,
    runOf(7, { ...lost, lostHosts: "vm-9 and 1 more" }),
    runOf(8, lost), // of a controller that is older than the page
  ];
  await open(page, "", "a[data-run]");
  assert.deepStrictEqual((await reasons.allTextContents()).slice(-2), [
    "lost vm-9 and 1 more",
    "lost vm-9, 8 of 9 hosts went on",
  ]);
  // What the headline says is not said again as the reason.
  const told = "queue_depth=8 leads 24 points with 3.82 GiB/s";
  const same = { headline: { text: `${told}; too few rounds` }, conclusion: told };
  const before = listed;
  listed = [
    runOf(9, { ...same, verdict: "backlog" }),
    runOf(10, { ...same, verdict: "errors" }),
    ...listed,
  ];
  await open(page, "", "a[data-run]");
  const behind = "the load stayed behind the rate that was due";
  assert.strictEqual(await reasons.first().textContent(), behind);
  assert.strictEqual(await page.locator("tbody tr").nth(1).locator(".reason").count(), 0);
  // A figure and its unit stay on one line.
  const text = await page.locator("tbody tr").first().textContent();
  assert.ok(text.includes("3.82\u00a0GiB/s"), text);
  // The sign of a verdict does not touch its word.
  const sign = await page.evaluate(() => {
    const head = document.createElement("h1");
    head.className = "verdict";
    head.innerHTML = '<span class="pill warn">backlog</span>';
    document.body.append(head);
    const { content } = getComputedStyle(head.firstChild, "::before");
    head.remove();
    return content;
  });
  assert.match(sign, /^"⚠\ufe0e "$/);
  listed = before;
  await open(page, "", "a[data-run]");
  await page.fill('input[type="search"]', "vm-9 more");
  await page.locator(`a[data-run="${idOf(8)}"]`).waitFor({ state: "detached" });
  assert.strictEqual(await page.locator("a[data-run]").count(), 1);
  await page.fill('input[type="search"]', "");
  await everySize(page, "runs-verdicts");
  listed = runs;
}

// One of many has the stop of the Tab key; arrows move. Back lands where one was.
async function keyboard(page) {
  await open(page, "", "a[data-run]");
  const stops = await page.evaluate(
    () =>
      [...document.querySelectorAll("a[href], button, input, summary, [tabindex]")].filter(
        (one) => one.tabIndex >= 0 && one.checkVisibility(),
      ).length,
  );
  assert.ok(stops <= 20, `${stops} stops for ${runs.length} runs`);
  const address = page.url();
  await page.locator("#skip").focus();
  assert.ok(await page.locator("#skip").isVisible());
  await page.keyboard.press("Enter");
  const focused = () =>
    page.evaluate(() => document.activeElement.dataset.run ?? document.activeElement.id);
  assert.strictEqual(await focused(), "main");
  assert.strictEqual(page.url(), address);
  await page.locator("a[data-run]").first().focus();
  for (let i = 0; i < 60; i++) await page.keyboard.press("ArrowDown");
  assert.strictEqual(await focused(), idOf(60));
  const top = await page.evaluate(() => scrollY);
  assert.ok(top > 500, `scrolled to ${top}`);
  await page.keyboard.press("Enter");
  await page.locator("h1", { hasText: "nightly" }).waitFor();
  await page.locator("a[data-run]").first().waitFor({ state: "detached" });
  await page.goBack();
  await page.locator(`a[data-run="${idOf(60)}"]:focus`).waitFor();
  assert.strictEqual(await page.evaluate(() => Math.round(scrollY)), Math.round(top));
}

async function actions(page) {
  await open(page, "", "a[data-run]");
  await page.check(`[data-tick="${idOf(3)}"]`);
  const bar = page.locator(".selection");
  await bar.locator("code", { hasText: "lockstep rerun 00000003" }).waitFor();
  const before = await bar.getByRole("link", { name: "compare with the one before" });
  assert.strictEqual(await before.getAttribute("href"), `#/before/${idOf(3)}`);
  await bar.getByRole("button", { name: "copy lockstep rerun 00000003" }).click();
  await bar.getByRole("button", { name: "copied" }).waitFor();
  // Those with the same labels are a set; the oldest is the first.
  for (const i of [1, 2]) await page.check(`[data-tick="${idOf(i)}"]`);
  const sets = await bar.getByRole("link", { name: "compare 2 sets" }).getAttribute("href");
  assert.strictEqual(sets, `#/compare/${idOf(3)}.${idOf(1)},${idOf(2)}`);
  await bar.getByRole("button", { name: "untick all" }).click();
  assert.ok(!(await bar.isVisible()));
  await everySize(page, "runs-many");
}

// They are remembered.
async function preferences(page) {
  await page.emulateMedia({ colorScheme: "light" });
  await open(page, "", "a[data-run]");
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  await page.getByRole("button", { name: "theme: auto" }).click();
  await page.getByRole("button", { name: "theme: light" }).click();
  assert.notStrictEqual(await paper(), light);
  await page.getByRole("button", { name: "times: UTC" }).click();
  await page.reload();
  await page.getByRole("button", { name: "times: local" }).waitFor();
  await page.locator("a[data-run]").first().waitFor();
  const title = await page.locator("tbody time").first().getAttribute("title");
  assert.match(title, / UTC[+−]\d\d:\d\d$/);
  assert.notStrictEqual(await paper(), light);
  await page.getByRole("button", { name: "times: local" }).click();
  await page.getByRole("button", { name: "theme: dark" }).click();
  assert.strictEqual(await paper(), light);
}

async function emptyList(page) {
  listed = [];
  await open(page, "", "h2");
  const command = "lockstep run examples/rehearsal.yaml";
  await page.locator("code", { hasText: command }).waitFor();
  await page.getByRole("button", { name: `copy ${command}` }).waitFor();
  await everySize(page, "runs-none");
  // If the command line's own address is not that of this controller, the command has it.
  listen = ["0.0.0.0:9740"];
  await page.reload();
  const whole = "lockstep --controller 127.0.0.1:9740 run examples/rehearsal.yaml";
  await page.locator("code", { hasText: whole }).waitFor();
  await page.getByRole("button", { name: `copy ${command}` }).click();
  await page.getByRole("button", { name: "copied" }).waitFor();
  assert.deepStrictEqual(
    (await page.locator("code").allTextContents()).filter((one) => !one.includes(":9740")),
    [],
  );
  listen = ["127.0.0.1:9640", "[::1]:9640"];
  await page.reload();
  await page.locator("code", { hasText: /^lockstep run examples\/rehearsal.yaml$/ }).waitFor();
  // The command for a fleet without workers, for the hosts.
  listen = ["0.0.0.0:9740"];
  workers = 0;
  await open(page, "fleet", "code");
  const join = /^lockstep-worker --controller 127\.0\.0\.1:9740 --allow/;
  await page.locator("code", { hasText: join }).waitFor();
  [listed, listen, workers] = [runs, [], 9];
}

async function oneRunEach(page) {
  await open(page, `compare/${idOf(2)},${idOf(1)}`, ".conclusion");
  assert.strictEqual(await page.textContent("h1"), "firmware=1.3 against firmware=1.2");
  const words = (await page.textContent(".conclusion")).replaceAll("\u00a0", " ");
  for (const part of ["+12 % IOPS", "p50 −19 %", "p99.9 +130 %", "one run each proves nothing"])
    assert.ok(words.includes(part), `${part} in ${words}`);
  assert.ok((await sizeOf(page.locator(".conclusion"))) >= 20);
  const command = await page.textContent("main .command code");
  assert.ok(command.includes("lockstep rerun 00000002; lockstep rerun 00000001"), command);
  const all = await page.textContent("main");
  assert.strictEqual(all.split("too few runs").length, 2, "too few runs is said once");
  assert.ok(!all.includes("pairs"), "one run each is one pair, which has no median");
  assert.deepStrictEqual(await bars(page), [
    ["IOPS", "right", "plain", ""],
    ["p50", "right", "plain", ""],
    ["p99", "right", "plain", ""],
    ["p99.9", "left", "plain", ""],
  ]);
  await page.locator("main li", { hasText: /#2 .*anna: a path was pulled/ }).waitFor();
  await everySize(page, "compare-one");
}

// No difference has no bar, one beyond the axis ends in its point, and a label that begins the
// sentence is written as the user wrote it.
async function ends(page) {
  const of = (places) => places.map(idOf).join(".");
  const conclusions = ["firmware=1.3 is as fast as firmware=1.2: 0.0 % IOPS"];
  change = (compared) => {
    Object.assign(compared.figures[0].values[1], { change: 0.0002, changeHigh: 0.9 });
    return { ...compared, conclusions };
  };
  await open(page, `compare/${of([8, 6, 4, 2])},${of([7, 5, 3, 1])}`, ".conclusion");
  const sentence = (await page.textContent(".conclusion")).replace(/\s/g, " ");
  assert.ok(sentence.endsWith(` ${conclusions[0]}`), sentence);
  const drawn = await page.locator(".differences .difference").evaluateAll((all) =>
    all.map((one) => ({
      from: Number(one.querySelector("rect").getAttribute("x")),
      width: Number(one.querySelector("rect").getAttribute("width")),
      ends: one.querySelectorAll(".interval").length - 1,
    })),
  );
  assert.deepStrictEqual([drawn[0].width, drawn[0].ends], [0, 1]);
  assert.deepStrictEqual([drawn[1].width > 0, drawn[1].ends], [true, 2]);
  assert.deepStrictEqual([drawn[3].from, drawn[3].width, drawn[3].ends], [6, 94, 0]);
  change = (compared) => compared;
}

// Each row: its figure, to which side its bar goes, its tone and its word.
const bars = (page) =>
  page.locator(".differences tbody tr").evaluateAll((rows) =>
    rows.map((row) => {
      const rect = row.querySelector("rect");
      const middle = Number(rect.getAttribute("x")) + Number(rect.getAttribute("width")) / 2;
      return [
        row.querySelector("th").textContent,
        middle > 100 ? "right" : "left",
        row.querySelector("svg").classList[1],
        row.querySelector(".word").textContent,
      ];
    }),
  );

async function setsOfRuns(page) {
  const of = (places) => places.map(idOf).join(".");
  await open(page, `compare/${of([8, 6, 4, 2])},${of([7, 5, 3, 1])}`, ".conclusion");
  await page.locator(".conclusion .pill.warn", { hasText: "better and worse" }).waitFor();
  assert.deepStrictEqual(await bars(page), [
    ["IOPS", "right", "good", "✓ better"],
    ["p50", "right", "good", "✓ better"],
    ["p99", "right", "plain", "may be chance"],
    ["p99.9", "left", "bad", "✗ worse"],
  ]);
  const differs = await page.textContent(".differs");
  assert.ok(differs.includes("firmware 1.2 → 1.3"), differs);
  assert.ok(differs.includes("the job files"), differs);
  // A difference that is not that of the two medians beside it says what it is.
  const heads = await page.locator(".differences thead th").allTextContents();
  assert.deepStrictEqual(heads.slice(1, 3), [
    "firmware=1.2median of 4 runs",
    "firmware=1.3median of 4 runs",
  ]);
  assert.strictEqual(heads.at(-1), "differencemedian of 16 pairs of runs");
  const note = page.locator("p", { hasText: "the median over all pairs of a run of each set" });
  assert.strictEqual(await note.count(), 1);
  const fills = await page
    .locator(".differences rect")
    .evaluateAll((all) => all.map((one) => getComputedStyle(one).fill));
  assert.strictEqual(new Set(fills).size, 3, `${fills}`);
  const width = await page
    .locator(".difference")
    .first()
    .evaluate((one) => one.clientWidth);
  assert.ok(width >= 400, `bars are ${width} wide`);
  await page.setViewportSize({ width: 360, height: 900 });
  const cut = await page.locator(".sets").evaluate((one) => one.scrollWidth - one.clientWidth);
  assert.strictEqual(cut, 0, "a phone shows which runs are compared");
  const names = page.locator(".sets td:is(:first-child, :nth-child(2)):visible");
  for (const { height } of await Promise.all((await names.all()).map((one) => one.boundingBox())))
    assert.ok(height < 60, `a name that is broken: ${height} px high`);
  await everySize(page, "compare-sets");
}

// Two jobs that have nothing, or one phase of many, in common: that is said first, only what can be
// compared is shown, and the page is short.
async function unlikeJobs(page) {
  const places = [runs[2], runs[1]];
  Object.assign(places[0], { jobName: "still" });
  Object.assign(places[1], { jobName: "points" });
  const only = (set) => (one) => ({
    ...one,
    phase: set === 0 ? "mix" : one.phase,
    values: one.values.map((value, i) =>
      i === set
        ? { ...value, change: undefined }
        : { runs: 0, median: 0, verdict: "CHANGE_UNKNOWN" },
    ),
  });
  change = (compared) => {
    const many = Array.from({ length: 24 }, (_, i) =>
      compared.figures.map((one) => only(1)({ ...one, phase: `grid queue_depth=${i}` })),
    );
    compared.differences = Array.from({ length: 30 }, (_, i) => ({
      kind: "job",
      name: `phases.grid${i}`,
      values: ["-", "there"],
    }));
    compared.warnings = [
      "00000002 has not all figures that 00000001 has of phase grid, grid, grid",
    ];
    return { ...compared, figures: [...compared.figures.map(only(0)), ...many.flat()] };
  };
  const address = `compare/${idOf(2)},${idOf(1)}`;
  await open(page, address, ".banner");
  const said = await page.textContent("main > div > .banner.warn");
  for (const part of [
    "NOT THE SAME EXPERIMENT",
    "the jobs are still and points",
    "30 fields of the jobs differ",
    "0 of 25 phases are in all sets",
    "No figure can be compared",
  ])
    assert.ok(said.includes(part), `${part} in ${said}`);
  const top = await page.locator(".banner").evaluate((one) => one.previousElementSibling.tagName);
  assert.strictEqual(top, "H1", "it is said before all else");
  assert.strictEqual(await page.locator(".differences").count(), 0);
  assert.strictEqual(await page.locator(".conclusion").count(), 0, "more runs would not help");
  await page.locator("details", { hasText: "Not comparable" }).first().waitFor();
  const height = () => page.evaluate(() => document.documentElement.scrollHeight);
  assert.ok((await height()) <= 1200, `${await height()} px high`);
  await everySize(page, "compare-unlike");
  // One phase is in both: its bars alone are there.
  const unlike = change;
  change = (compared) => {
    const { figures: all, ...rest } = unlike(compared);
    return {
      ...rest,
      figures: [...comparisonOf(compared.sets.map((set) => set.runs)).figures, ...all.slice(4)],
    };
  };
  await open(page, address, ".banner");
  assert.match(await page.textContent(".banner"), /1 of 25 phases is in all sets/);
  assert.strictEqual((await bars(page)).length, 4);
  assert.ok((await height()) <= 1600, `${await height()} px high`);
  // Runs that only observe are compared, too.
  const sentence = "no difference found between B and A in evening, sda of db-1: reads/s 0.0 %";
  change = (compared) => ({
    ...compared,
    sets: compared.sets.map((set) => ({ ...set, runs: [], observedRuns: set.runs })),
    figures: [],
    observedConclusions: [sentence],
  });
  await open(page, address, ".conclusion");
  const shown = `Observed: ${sentence.replace(" %", "\u00a0%")}`;
  assert.strictEqual(await page.textContent(".conclusion"), shown);
  assert.strictEqual(await page.getByText("none can be compared").count(), 0);
  const ids = [2, 1].map((i) => idOf(i).slice(0, 8));
  await page.getByText(`lockstep compare ${ids.join(" ")}`).waitFor();
  change = (compared) => compared;
  for (const run of places) run.jobName = runs[0].jobName;
}

async function fleet(page) {
  workers = 1000;
  await open(page, "fleet", ".cells button");
  const shown = await page.locator(".summary button").allTextContents();
  assert.deepStrictEqual(shown, ["997 ready", "2 busy", "1 needs you"]);
  const trouble = await page.textContent(".trouble li");
  for (const part of ["vm-9", "its connection ended", "journalctl -u lockstep-worker"])
    assert.ok(trouble.includes(part), `${part} in ${trouble}`);
  assert.ok(
    (await page.textContent("tbody tr")).startsWith("vm-9"),
    "it is the first in the table",
  );
  assert.strictEqual(await page.locator(".cells button").count(), 1000);
  for (const width of [360, 1280]) {
    await page.setViewportSize({ width, height: 900 });
    const { y, height } = await page.locator(".cells").boundingBox();
    assert.ok(y + height <= 900, `at ${width} the map ends at ${y + height}`);
  }
  await page.getByRole("button", { name: "2 busy" }).click();
  await page.locator("[role=status]", { hasText: "2 of 1,000 workers" }).waitFor();
  assert.strictEqual(await page.locator(".table").first().locator("tbody tr").count(), 2);
  assert.ok(page.url().includes("find=busy"), page.url());
  // By the keyboard: a cell says its worker, and Enter lists that one.
  await page.locator(".cells button").first().focus();
  await page.keyboard.press("End");
  await page.locator(".map output", { hasText: "vm-1000, ready" }).waitFor();
  await page.keyboard.press("Enter");
  await page.locator("[role=status]", { hasText: "1 of 1,000 workers" }).waitFor();
  workers = 9;
  await open(page, "fleet", ".cells button");
  await page.locator(".fold summary", { hasText: "known to ±2 µs or better" }).click();
  await page.locator("th", { hasText: "drift, ppm" }).waitFor();
  await everySize(page, "fleet-trouble");
}

// Every column is within the window from 1,280 px on, also of hosts with much to tell.
async function wideFleet(page) {
  const paths = ["/mnt/san-array-7/benchmarks", "naa.600a098038303053453f463045727a44", "/dev/sdb"];
  const labels = { rack: "r12-u34-left", array: "blue-primary", firmware: "1.3.0-build-4711" };
  const device = (i) => ({
    name: `nvme${i}n1`,
    identity: `naa.600a098038303053453f463045727a4${i}`,
    model: "A model with a name that nobody shortened",
    sizeBytes: "3840755982336",
    transport: "nvme",
    paths: [],
    mounts: ["/mnt/san-array-7/benchmarks"],
    holders: [],
    inUse: "LVM2_member",
    enrolled: "",
    allowed: true,
  });
  [workers, devices] = [9, [{ host: "vm-1", bootId: "b", devices: [0, 1].map(device) }]];
  worker = { labels, allow: paths, kernel: "Linux 6.1.0-28-amd64-with-a-long-suffix" };
  await open(page, "fleet", ".cells button");
  await page.locator("td", { hasText: "nobody shortened" }).first().waitFor();
  for (const width of [1280, 2560]) {
    await page.setViewportSize({ width, height: 900 });
    const cut = await page
      .locator(".fleet-table .table")
      .evaluateAll((all) => all.map((one) => one.scrollWidth - one.clientWidth));
    assert.deepStrictEqual(cut, [0, 0], `at ${width}`);
  }
  assert.match(await page.textContent("tbody tr"), /blue-primary/);
  await everySize(page, "fleet-wide");
  [devices, worker] = [[], {}];
}

async function main(page) {
  await fake(page);
  const scenes = [
    listOfRuns,
    rates,
    severities,
    keyboard,
    actions,
    preferences,
    emptyList,
    oneRunEach,
    setsOfRuns,
    ends,
    unlikeJobs,
    fleet,
    wideFleet,
  ];
  const wanted = process.argv[4];
  for (const scene of scenes.filter(({ name }) => !wanted || name === wanted)) {
    step(scene.name);
    await scene(page);
  }
}

void drive(directory, main);
