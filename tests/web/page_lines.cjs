// Which lines of the page's sources were run: node page_lines.cjs DIRECTORY, in which browser.cjs
// has left what browsers say (V8's ranges of the bundle). Prints one line of JSON: by source file,
// its lines with code and those of them that were run.
const fs = require("node:fs");
const path = require("node:path");
const toIstanbul = require("v8-to-istanbul");

// By file: line → whether it was run. A line that one of several browsers has run counts.
const lines = new Map();

async function take({ source, functions }) {
  const converter = toIstanbul("main.js", 0, { source });
  await converter.load();
  converter.applyCoverage(functions);
  for (const [file, found] of Object.entries(converter.toIstanbul())) {
    const at = file.indexOf("src/");
    if (at < 0 || !file.endsWith(".ts")) continue; // of a package
    const name = `web/${file.slice(at)}`;
    if (!lines.has(name)) lines.set(name, new Map());
    const own = lines.get(name);
    for (const [id, range] of Object.entries(found.statementMap)) {
      const { line } = range.start;
      own.set(line, (own.get(line) ?? false) || found.s[id] > 0);
    }
  }
}

async function main(directory) {
  for (const name of fs.readdirSync(directory)) {
    const scripts = JSON.parse(fs.readFileSync(path.join(directory, name), "utf8"));
    for (const script of scripts) {
      if (script.url.endsWith(".js") && script.source) await take(script);
    }
  }
  const counts = {};
  for (const [name, own] of lines) {
    counts[name] = { lines: own.size, run: [...own.values()].filter(Boolean).length };
  }
  console.log(JSON.stringify(counts));
}

main(process.argv[2]);
