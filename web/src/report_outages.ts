// When no I/O completed in a phase, outage by outage. The head of the report has the sentence, and
// the charts have the bands.

import type { PhaseReport } from "./api";
import { element, table, text, type Cell } from "./dom";
import { fixed, none, plural, seconds } from "./format";

const namedHosts = 8;

const sorted = (value: number, words: string): Cell => ({ show: words, sort: value });

// "2 times, 6.0 s in all"
export function outageSummary({ outageSummary: all }: PhaseReport): string {
  if (!all) return "";
  return `${plural(all.count, "time")}, ${seconds(all.totalSeconds)} in all`;
}

export function outageTable(phase: PhaseReport): HTMLElement[] {
  const { outages, outageSummary: all } = phase;
  const rows = outages.map((one): Cell[] => {
    const count = Math.max(one.hostsCount, one.hosts.length);
    const names = one.hosts.slice(0, namedHosts);
    const more = count > names.length ? ` and ${count - names.length} more` : "";
    return [
      sorted(one.beginSeconds, `${fixed(one.beginSeconds, 1)} s`),
      sorted(one.endSeconds - one.beginSeconds, seconds(one.endSeconds - one.beginSeconds)),
      one.recoverySeconds === undefined
        ? text(none, Infinity)
        : sorted(one.recoverySeconds, seconds(one.recoverySeconds)),
      sorted(count, names.length > 0 ? names.join(", ") + more : String(count)),
    ];
  });
  const left = (all?.count ?? 0) - outages.length;
  return [
    table(
      [
        { title: "from", numeric: true },
        { title: "for", numeric: true },
        { title: "until the rate was back", numeric: true },
        { title: "hosts" },
      ],
      rows,
    ),
    ...(left > 0 ? [element("p", { class: "muted" }, `and ${left} more, later`)] : []),
  ];
}
