// The controller's own status: requested every few seconds, once for all parts that use it.

import { get, messageOf, type StatusReply } from "./api";

export interface Known {
  status?: StatusReply; // the last one
  problem?: string; // why there is none now
  since: number; // performance.now() at which the problem began; 0 where there is none
}
type Listener = (known: Known) => void;

const everyMs = 10000;
const soonMs = 2000; // when it did not answer
const listeners = new Set<Listener>();
let known: Known = { since: 0 };

async function ask(): Promise<void> {
  try {
    known = { status: await get<StatusReply>("/api/status"), since: 0 };
  } catch (error) {
    const problem = messageOf(error);
    known = { ...known, problem, since: known.since || performance.now() };
  }
  for (const listener of listeners) listener(known);
  setTimeout(() => void ask(), known.problem ? soonMs : everyMs);
}

export function pollStatus(): void {
  void ask();
}

// Told at once what is known, and then whenever it was asked for; what it returns ends that.
export function whenStatus(listener: Listener): () => void {
  listeners.add(listener);
  listener(known);
  return () => listeners.delete(listener);
}
