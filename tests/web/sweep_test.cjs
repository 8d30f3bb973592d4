// The report of a sweep of three axes and of a curve: node sweep_test.cjs URL RUN DIRECTORY.
const assert = require("node:assert");
const { drive, everySize } = require("./browser.cjs");

// The matrix' cells without its heads, as figures of the one that is chosen.
const cells = (page) =>
  page
    .locator("section:has(h2) .table")
    .first()
    .locator("tbody tr")
    .evaluateAll((rows) =>
      rows.map((row) => [...row.children].slice(1).map((cell) => Number(cell.dataset.value))),
    );

async function sweep(page, report) {
  const { axes, points } = report.sweeps[0];
  assert.strictEqual(axes.length, 3);
  const expected = (of, third) =>
    axes[0].values.map((_, d) =>
      axes[1].values.map((_, a) => {
        const at = [d, a, third];
        return of(points.find((p) => p.indices.every((index, i) => index === at[i])));
      }),
    );
  await page.getByLabel("figure of the matrix").waitFor();
  // The section begins with the answer.
  const title = page.locator("h2", { hasText: "Sweep of grid" });
  const answer = title.locator("xpath=following-sibling::p[1]");
  const { sentence } = report.sweeps[0].conclusion;
  assert.strictEqual(await answer.textContent(), sentence);
  assert.ok(sentence.startsWith("No point can be called best after 1 round"), sentence);
  // At first of the figure that decides.
  const isOfBytes = report.sweeps[0].conclusion.figure === "throughput";
  const deciding = (p) => (isOfBytes ? p.bytesPerSecond : p.iops);
  assert.deepStrictEqual(await cells(page), expected(deciding, 0));
  // With three digits; all of them are in the table, and at the cursor.
  const shown = await page.locator(".matrix td").allTextContents();
  for (const text of shown)
    assert.match(text, /^\d{1,3}(,\d{3}|\.\d+)?( [kMG]?(iB\/s)?)?( ★ leads)?$/);
  const seen = [await page.textContent(".matrix")];
  await drawn(page, axes, isOfBytes);
  await page.locator(`select[aria-label="${axes[2].field}"]`).selectOption({ index: 1 });
  assert.deepStrictEqual(await cells(page), expected(deciding, 1));
  // After one round none is called the best.
  seen.push(await page.textContent(".matrix"));
  assert.strictEqual(seen.join().split("★ leads").length, 2, seen.join());
  await page.getByLabel("figure of the matrix").selectOption("p99");
  assert.deepStrictEqual(
    await cells(page),
    expected((p) => p.p99Ns, 1),
  );
  // On paper there are no fields: words say what is chosen.
  const words = page.locator(".on-paper");
  assert.ok(!(await words.isVisible()));
  await page.emulateMedia({ media: "print" });
  assert.ok(await words.isVisible());
  assert.strictEqual(await words.textContent(), `p99, ${axes[2].field}=${axes[2].values[1]}`);
  await page.emulateMedia({ media: null });
  // The choice is there for everybody who opens the address.
  await page.waitForURL(/sweep-0=3%2C1/);
  await page.reload();
  await page.getByLabel("figure of the matrix").waitFor();
  assert.deepStrictEqual(
    await cells(page),
    expected((p) => p.p99Ns, 1),
  );
}

// A line for each value of one axis over the values of another, and latencies below. The points are
// no sections of their own.
async function drawn(page, axes, isOfBytes) {
  const title = isOfBytes ? "throughput of grid" : "IOPS of grid";
  for (const name of [title, "p99 of grid"]) {
    const figure = page.locator("figure.chart", { hasText: name });
    await figure.locator("svg polyline").first().waitFor();
    const caption = await figure.locator("figcaption").textContent();
    assert.ok(caption.endsWith(`, a line for each ${axes[0].field}`), caption);
    assert.strictEqual(await figure.locator("svg polyline").count(), axes[0].values.length);
    const box = await figure.locator("svg").boundingBox();
    assert.ok(box.width > 400 && box.height >= 200, `${name}: ${box.width} × ${box.height}`);
    const words = await figure.locator("svg").textContent();
    for (const value of [...axes[0].values, ...axes[1].values])
      assert.ok(words.includes(value), `${value} in ${words}`);
  }
  const titles = await page.locator("main > section > h2").allTextContents();
  assert.deepStrictEqual(
    titles.filter((one) => /^(grid|curve) /.test(one)),
    [],
  );
  await page.locator("#points").waitFor();
}

// The points' shares of time wait to be asked for, and so does a phase's line of them.
async function timeSpent(page, report) {
  const [{ axes, points }] = report.sweeps;
  const fold = page.locator("details:has(> summary h3:text-is('Where the time went'))").first();
  await fold.locator("summary").click();
  const heads = await fold.locator("thead th").allTextContents();
  assert.deepStrictEqual(
    heads.slice(0, axes.length),
    axes.map(({ field }) => field),
  );
  const at = heads.indexOf("threads in I/O");
  assert.ok(at >= axes.length, heads.join());
  const rows = await fold
    .locator("tbody tr")
    .evaluateAll((all) => all.map((row) => [...row.children].map((one) => one.textContent)));
  assert.strictEqual(rows.length, points.length);
  rows.forEach((row, i) => {
    const [shown, ratio] = [Number(row[at].replace(" %", "")), points[i].timeSpent.waitRatio];
    assert.ok(Math.abs(shown - 100 * ratio) < 0.501, `${row[at]} of ${ratio}`);
  });
  // No figure is there that no point has.
  for (const [title, name] of [
    ["amplification", "amplification"],
    ["CPU per I/O", "cpuNsPerIo"],
  ]) {
    const isKnown = points.some((point) => point.timeSpent[name] !== undefined);
    assert.strictEqual(heads.includes(title), isKnown, heads.join());
  }
  const full = report.phases.find(({ name }) => name === "full");
  const method = page.locator(`#method-${full.index}`);
  await method.scrollIntoViewIfNeeded();
  await method.locator("> summary").click();
  await method.locator("p", { hasText: /^where the time went: .*threads in I\/O \d+ %/ }).waitFor();
}

// Opens the report with other sweeps than its own.
async function withSweeps(page, report, sweeps) {
  await page.route(`**/api/runs/${run}`, (route) => route.fulfill({ json: { ...report, sweeps } }));
  await page.goto("about:blank");
  await page.goto(`${url}#/run/${run}`);
}
const forgetSweeps = (page) => page.unroute(`**/api/runs/${run}`);

// Of one axis, with values that go down, as those of a series that begins with the most files.
function downwards(report) {
  const [grid] = report.sweeps;
  const axis = { field: "threads", values: ["128", "16", "1"], numbers: [128, 16, 1] };
  const points = grid.points.slice(0, 3).map((point, i) => ({
    ...point,
    ...{ indices: [i], iops: 1000 * (i + 1), iopsMin: 1000 * (i + 1), iopsMax: 1000 * (i + 1) },
  }));
  const conclusion = { ...grid.conclusion, figure: "IOPS", leading: 2 };
  return { ...grid, axes: [axis], points, conclusion };
}

// It is drawn from the least value to the most all the same.
async function descending(page, report) {
  await withSweeps(page, report, [downwards(report)]);
  const figure = page.locator("figure.chart", { hasText: "IOPS of grid, by threads" });
  await figure.locator("svg polyline").waitFor();
  const ticks = await figure.locator("svg text.middle").allTextContents();
  assert.deepStrictEqual(ticks, ["1", "16", "128", "threads"]);
  const points = await figure.locator("svg polyline").getAttribute("points");
  const heights = points.split(" ").map((point) => Number(point.split(",")[1]));
  assert.ok(heights[0] < heights[1] && heights[1] < heights[2], points);
  await forgetSweeps(page);
}

// The bands of both charts, and the words on them.
async function bands(page, report) {
  const swept = downwards(report);
  const range = (middle, name, unit, [low, high]) => ({
    [`${name}${low}${unit}`]: 0.5 * middle,
    [`${name}${high}${unit}`]: 2 * middle,
  });
  const shown = async (runs, ends, endsOfP99 = ends) => {
    const points = swept.points.map((point) => ({
      ...{ ...point, runs },
      ...range(point.iops, "iops", "", ends),
      ...range(point.p99Ns, "p99", "Ns", endsOfP99),
    }));
    await withSweeps(page, report, [{ ...swept, points }]);
    const captions = [];
    for (const name of ["IOPS of grid", "p99 of grid"]) {
      const figure = page.locator("figure.chart", { hasText: name });
      await figure.locator("svg polygon").waitFor();
      captions.push(await figure.locator("figcaption span").last().textContent());
    }
    await forgetSweeps(page);
    return captions;
  };
  const extremes = "band: least to most of 3 runs";
  assert.deepStrictEqual(await shown(3, ["Min", "Max"]), [extremes, extremes]);
  const interval = "band: 95 % interval of the median";
  assert.deepStrictEqual(await shown(8, ["Low", "High"]), [interval, interval]);
  // Each chart speaks of its own figure.
  assert.deepStrictEqual(await shown(8, ["Low", "High"], ["Min", "Max"]), [
    interval,
    "band: least to most of 8 runs",
  ]);
}

// Axes of names have a matrix and no lines.
async function names(page, report) {
  const [grid] = report.sweeps;
  const axes = grid.axes.slice(0, 2).map((axis, i) => ({
    field: `names${i}`,
    values: axis.values.map((value) => `n${value}`),
    numbers: [],
  }));
  const points = grid.points
    .filter(({ indices }) => indices[2] === 0)
    .map((point) => ({ ...point, indices: point.indices.slice(0, 2) }));
  const conclusion = { ...grid.conclusion, leading: undefined };
  await withSweeps(page, report, [{ ...grid, axes, points, conclusion }]);
  await page.locator(".matrix", { hasText: "names0 ↓ names1 →" }).waitFor();
  assert.strictEqual(await page.locator("figure.chart", { hasText: "of grid, by" }).count(), 0);
  await forgetSweeps(page);
}

// Of two axes of numbers the one with more values is across, whichever is first.
async function longerAcross(page, report) {
  const [grid] = report.sweeps;
  const [depth, share] = [grid.axes[1], grid.axes[2]];
  const points = grid.points
    .filter(({ indices }) => indices[0] === 0)
    .map((point) => ({ ...point, indices: point.indices.slice(1) }));
  const conclusion = { ...grid.conclusion, leading: undefined };
  await withSweeps(page, report, [{ ...grid, axes: [depth, share], points, conclusion }]);
  const named = `of grid, by ${depth.field}, a line for each ${share.field}`;
  const figure = page.locator("figure.chart", { hasText: named }).first();
  await figure.locator("svg polyline").first().waitFor();
  assert.strictEqual(await figure.locator("svg polyline").count(), share.values.length);
  await forgetSweeps(page);
}

async function curve(page, report) {
  const [{ points }] = report.curves;
  const chart = page.locator("figure.chart", { hasText: "Offered and achieved load" });
  await chart.locator("canvas").waitFor();
  const text = await page
    .locator("section", { hasText: "Offered and achieved:" })
    .last()
    .textContent();
  assert.match(text, /★ best/);
  for (const { share } of points) assert.ok(text.includes(`${100 * share}`), `${share} in ${text}`);
}

// A finding that many points share is one, which names its hosts.
async function grouped(page, report) {
  const points = report.sweeps[0].points.flatMap((point) => point.phases);
  const slow = (host) => ({
    ...{ host, beginSeconds: 0, endSeconds: 1, slowSeconds: 1, share: 0.5 },
    ...{ cause: "not known", reason: "because" },
  });
  const phases = report.phases.map((phase) => {
    const at = points.indexOf(phase.index);
    const stragglers = at < 0 ? [] : at < 2 ? [slow("vm-1"), slow("vm-2")] : [slow("vm-2")];
    return { ...phase, stragglers, starvations: [], findingGroups: [] };
  });
  await withSweeps(page, { ...report, phases }, report.sweeps);
  const line = page.locator("p.finding", { hasText: "hosts did fewer I/Os" });
  await line.waitFor();
  // It is on the first screen, and above the matrix.
  const [{ y, height }, matrix] = await Promise.all(
    [line, page.locator(".matrix").first()].map((one) => one.boundingBox()),
  );
  assert.ok(y + height <= 900, `the finding ends at ${y + height} px`);
  assert.ok(y + height <= matrix.y, `the matrix begins at ${matrix.y} px, the finding at ${y}`);
  const count = points.length;
  const words = `grid: hosts did fewer I/Os than the others at ${count} of ${count} points`;
  const text = await line.textContent();
  assert.ok(text.includes(`${words}: vm-2 (${count}), vm-1 (2)`), text);
  assert.strictEqual(await page.locator("p.finding", { hasText: "straggler" }).count(), 0);
  await line.getByRole("button", { name: "show the points" }).click();
  await forgetSweeps(page);
}

const [url, run, directory] = process.argv.slice(2);

async function main(page) {
  await page.goto(`${url}#/run/${run}`);
  const report = await (await page.request.get(`${url}api/runs/${run}`)).json();
  await sweep(page, report);
  await curve(page, report);
  await everySize(page, "sweep");
  await timeSpent(page, report);
  await descending(page, report);
  await longerAcross(page, report);
  await bands(page, report);
  await names(page, report);
  await grouped(page, report);
}

void drive(directory, main);
