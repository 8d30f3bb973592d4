// The state of each worker of the fleet, and which of them need a person: why, and the remedy.

import type { AttachedWorker, DevicesReply, StatusReply } from "./api";
import type { Tone } from "./dom";
import { latency } from "./format";

export const states = ["needs you", "busy", "ready"] as const; // what needs a person is the first
export type State = (typeof states)[number];

export interface Trouble {
  tone: Tone;
  what: string;
  remedy: string;
  command?: string;
}
export interface Member {
  name: string;
  worker: AttachedWorker;
  state: State;
  troubles: Trouble[];
}

const maxWallNs = 60e9; // of difference, before logs of hosts cannot be read side by side
const log = "journalctl -u lockstep-worker";
const brokenPath = /offline|blocked|fail|dead|delet/;

function ofWorker(worker: AttachedWorker, version: string): Trouble[] {
  const found: Trouble[] = [];
  const { hello } = worker;
  if (worker.disconnected)
    found.push({
      tone: "bad",
      what: "its connection ended, and it is waited for",
      remedy: "On the host, see whether its worker runs and reaches this controller:",
      command: log,
    });
  if (hello && version && hello.softwareVersion !== version)
    found.push({
      tone: "warn",
      what: `it has version ${hello.softwareVersion}, the controller ${version}`,
      remedy: "Install the controller's version on it, and start its worker again.",
    });
  if (hello && hello.allow.length + hello.allowExpendable.length === 0)
    found.push({
      tone: "warn",
      what: "its worker may use nothing",
      remedy: "Start it with --allow and the directory or device that jobs may use.",
    });
  if (Math.abs(worker.wallDifferenceNs) > maxWallNs)
    found.push({
      tone: "warn",
      what: "its wall clock is wrong by a minute or more",
      remedy:
        "Set it, with chrony for one. Figures are right all the same; times in its log are not.",
    });
  return found;
}

function ofDevices(host: DevicesReply["hosts"][number] | undefined): Trouble[] {
  if (!host) return [];
  const found: Trouble[] = [];
  if (host.missing)
    found.push({
      tone: "warn",
      what: `it does not tell its devices: ${host.missing}`,
      remedy: "On the host, read its worker's log:",
      command: log,
    });
  const broken = host.devices.flatMap((device) =>
    device.paths
      .filter((path) => brokenPath.test(path.state))
      .map((path) => `${path.name} of ${device.name} is ${path.state}`),
  );
  if (broken.length > 0)
    found.push({
      tone: "bad",
      what: `a path is down: ${broken.slice(0, 3).join(", ")}`,
      remedy: "Look at its cable, zone or portal; on the host:",
      command: "multipath -ll",
    });
  return found;
}

const collator = new Intl.Collator("en", { numeric: true });

// Workers that need a person come first; hosts of a state in the order of their names.
export function membersOf(status: StatusReply, devices?: DevicesReply): Member[] {
  const told = new Map((devices?.hosts ?? []).map((host) => [host.host, host]));
  const members = status.workers.map((worker): Member => {
    const name = worker.hello?.host?.name ?? "";
    const troubles = [...ofWorker(worker, status.version), ...ofDevices(told.get(name))];
    const state: State = troubles.length > 0 ? "needs you" : worker.runId ? "busy" : "ready";
    return { name, worker, state, troubles };
  });
  return members.sort(
    (a, b) => states.indexOf(a.state) - states.indexOf(b.state) || collator.compare(a.name, b.name),
  );
}

export interface Group {
  trouble: Trouble;
  names: string[];
}
// Hosts with the same trouble are told together; the worst, of the most hosts, first.
export function groupsOf(members: Member[]): Group[] {
  const groups = new Map<string, Group>();
  for (const { name, troubles } of members) {
    for (const trouble of troubles) {
      const group = groups.get(trouble.what) ?? { trouble, names: [] };
      group.names.push(name);
      groups.set(trouble.what, group);
    }
  }
  const rank = (group: Group) => (group.trouble.tone === "bad" ? 0 : 1);
  return [...groups.values()].sort((a, b) => rank(a) - rank(b) || b.names.length - a.names.length);
}

export function wordsOf(member: Member): string {
  const doing = member.worker.runId ? "busy" : "ready";
  return [member.name, member.state, ...member.troubles.map((one) => one.what)]
    .concat(member.state === "needs you" ? [doing] : [])
    .join(", ");
}

// A member, as far as it is found by words.
export function textOf({ name, state, worker }: Member): string {
  const { hello } = worker;
  const labels = Object.entries(hello?.labels ?? {}).map(([key, value]) => `${key}=${value}`);
  const own = [hello?.host?.kernel, hello?.softwareVersion, ...(hello?.allow ?? []), ...labels];
  return [name, state, worker.runId, ...own].join(" ").toLowerCase();
}

export const signedLatency = (nanoseconds: number): string =>
  `${nanoseconds < 0 ? "−" : "+"}${latency(Math.abs(nanoseconds))}`;
