// Whether sets of runs are of one experiment, which has a phase of each name in all of them, and
// what is different in those that are not.

import type { ComparedFigure, Report } from "./api";
import type { Compared, Difference } from "./compare_words";
import { banner } from "./dom";
import { plural } from "./format";

// An experiment changes one thing, or a few that belong together.
const maxVaried = 5;

export interface Alike {
  common: Set<string>; // phases of all sets
  all: number; // phases of any
  isUnlike: boolean;
}

const isThere = (one: ComparedFigure, set: number): boolean => one.values[set]?.runs > 0;

// A figure that all sets have, so that they can be held beside each other.
export const isInAll = (one: ComparedFigure): boolean =>
  one.values.every((_, set) => isThere(one, set));

export function alikeOf(compared: Compared, differences: Difference[], heads: Report[]): Alike {
  const sets = compared.sets.map((_, set) => {
    const own = compared.figures.filter((one) => isThere(one, set));
    return new Set(own.map((one) => one.phase));
  });
  const all = new Set(sets.flatMap((own) => [...own]));
  const common = new Set([...all].filter((phase) => sets.every((own) => own.has(phase))));
  const names = new Set(heads.map((head) => head.run?.jobName ?? ""));
  const fields = differences.filter(({ kind }) => kind === "job").length;
  // A run that ended early has not all phases of its job either.
  const isOtherJob = fields > 0 || names.size > 1;
  const isEmpty = compared.sets.some(({ runs }) => runs.length === 0);
  const isFew = 2 * common.size < all.size;
  const isMuch = names.size > 1 && fields > maxVaried;
  return { common, all: all.size, isUnlike: !isEmpty && isOtherJob && (isFew || isMuch) };
}

// Before all else: figures of two experiments say nothing about each other.
export function unlike(alike: Alike, differences: Difference[], heads: Report[]): HTMLElement[] {
  const { common, all, isUnlike } = alike;
  if (!isUnlike) return [];
  const names = [...new Set(heads.map((head) => head.run?.jobName ?? ""))];
  const fields = differences.filter(({ kind }) => kind === "job").length;
  const parts = [
    names.length > 1 ? `the jobs are ${names.join(" and ")}` : "",
    fields > 0
      ? `${plural(fields, "field")} of the jobs ${fields === 1 ? "differs" : "differ"}`
      : "",
    `${common.size} of ${plural(all, "phase")} ${common.size === 1 ? "is" : "are"} in all sets`,
  ].filter(Boolean);
  const rest =
    common.size === 0
      ? "No figure can be compared."
      : "Below are only figures of phases that all sets have.";
  return [banner("warn", "THESE ARE NOT THE SAME EXPERIMENT", `${parts.join("; ")}. ${rest}`)];
}
