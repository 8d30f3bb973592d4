// Reads the page for tests/truth: node truth_test.cjs URL DIRECTORY. Each line of standard input is
// a view: `runs`, `live RUN` or `run RUN`. The page's texts in it, and the JSON that it fetched, go
// to DIRECTORY/VIEW.json, which a line on standard output names.
const fs = require("node:fs");
const path = require("node:path");
const readline = require("node:readline");
const { drive, reported, unfold } = require("./browser.cjs");

const [url, directory] = process.argv.slice(2);

// The page as data: what each section says, in its order; first what is in none.
const contents = () => {
  const plain = (node) => node.textContent.replace(/\s+/g, " ").trim();
  const tableOf = (table) => ({
    head: [...table.querySelectorAll("thead th")].map(plain),
    rows: [...table.querySelectorAll("tbody tr")].map((row) => [...row.children].map(plain)),
    lines: [...table.querySelectorAll("polyline")].map((line) => line.getAttribute("points")),
  });
  const sectionOf = (root) => {
    const all = (what) =>
      [...(root ?? document).querySelectorAll(what)].filter(
        (node) => node.closest("section") === root,
      );
    return {
      name: root?.querySelector("h2")?.firstChild.textContent.trim() ?? "",
      pills: all("h1 .pill, h2 .pill").map((pill) => [pill.textContent, pill.classList[1]]),
      // Tables come as such, what is between them as its words.
      parts: all("main p, main table:not(.u-legend), .remark, .tile, .banner, li").map((part) =>
        part.tagName === "TABLE" ? tableOf(part) : plain(part),
      ),
    };
  };
  return [null, ...document.querySelectorAll("main > section")].map(sectionOf);
};

const views = {
  runs: (page) => page.locator("a[data-run]").first().waitFor(),
  live: (page) => page.locator(".tile", { hasText: /^[\d,.]+( k)?IOPS/ }).waitFor(),
  // A phase is filled when it comes into sight.
  run: async (page) => {
    await reported(page);
    await unfold(page);
  },
};

async function main(page) {
  let fetched = [];
  page.on("response", (response) => {
    if (response.headers()["content-type"]?.startsWith("application/json"))
      fetched.push(
        response.json().then(
          (json) => [response.url(), json],
          () => [response.url(), null], // the page was left during that time
        ),
      );
  });
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [view, run] = line.split(" ");
    fetched = [];
    await page.goto(run ? `${url}#/run/${run}` : `${url}#/`);
    await views[view](page);
    const sections = await page.evaluate(contents);
    const json = Object.fromEntries(await Promise.all(fetched));
    await page.goto("about:blank"); // a run in progress goes on to fetch
    const file = path.join(directory, `${line.replace(" ", "-")}.json`);
    fs.writeFileSync(file, JSON.stringify({ sections, json }));
    console.log(`page: ${file}`);
  }
}

void drive(directory, main);
