// The known facts about the hosts of a run, and where they differ.

import type { Report } from "./api";
import { element, fold, table, text } from "./dom";
import { plural } from "./format";

export type Facts = Map<string, Map<string, string[]>>; // fact → value → hosts

export function factsOf(report: Report): Facts {
  const facts: Facts = new Map();
  for (const [key, value] of Object.entries(report.environment)) {
    const space = key.indexOf(" ");
    if (space < 0) continue;
    const values = facts.get(key.slice(space + 1)) ?? new Map<string, string[]>();
    values.set(value, [...(values.get(value) ?? []), key.slice(0, space)]);
    facts.set(key.slice(space + 1), values);
  }
  return facts;
}

// So many hosts are named; of more it is said how many.
const namedHosts = 8;
const namedValues = 50;
function namesOf(hosts: string[]): string {
  const shown = hosts.slice(0, namedHosts).join(", ");
  return hosts.length > namedHosts ? `${shown} and ${hosts.length - namedHosts} more` : shown;
}

// Facts of hosts: those that are equal once, and where they differ host by host.
export function environment(report: Report): HTMLElement[] {
  const facts = factsOf(report);
  if (facts.size === 0) return [];
  const all = new Set([...facts.values()].flatMap((values) => [...values.values()].flat())).size;
  const rows = [...facts].map(([fact, values]) => {
    const known = [...values.values()].reduce((sum, names) => sum + names.length, 0);
    const differs = values.size > 1 || known < all;
    const hosts = [...values].map(([value, names]) =>
      differs ? `${namesOf(names)}: ${value}` : value,
    );
    if (hosts.length > namedValues)
      hosts.splice(
        namedValues,
        hosts.length,
        `and ${plural(hosts.length - namedValues, "more value")}`,
      );
    const silent = all - known;
    if (silent > 0) hosts.push(`${plural(silent, "host")} ${silent === 1 ? "does" : "do"} not say`);
    return { differs, cells: [text(fact), text(hosts.join("; "))] };
  });
  const columns = [{ title: "fact" }, { title: "value" }];
  const differing = rows.filter((row) => row.differs).map((row) => row.cells);
  const verb = differing.length === 1 ? "differs" : "differ";
  const differ = `${plural(differing.length, "fact")} ${verb}`;
  const words = `${plural(rows.length, "fact")} of ${plural(all, "host")}, ${
    differing.length === 0 ? "all the same" : differ
  }`;
  const details = fold(
    "Environment",
    words,
    (box) => {
      if (differing.length > 0)
        box.append(
          element("h3", {}, "Differences between the hosts"),
          table(columns, differing),
          element("h3", {}, "All facts"),
        );
      box.append(
        table(
          columns,
          rows.map((row) => row.cells),
        ),
      );
    },
    { level: 2 },
  );
  details.id = "environment";
  return [details];
}
