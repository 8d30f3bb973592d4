// The fleet: what needs a person first, then what each worker does, and the devices that they see.

import "./base";
import { command } from "./actions";
import { address, learnAddress } from "./controller_address";
import { choices, choose, keptSorting } from "./address";
import { get, messageOf, type BlockDevice, type DevicesReply, type StatusReply } from "./api";
import { banner, element, figure, fold, labelsOf, signs, table, text, type Cell } from "./dom";
import { FleetMap } from "./fleet_map";
import {
  groupsOf,
  membersOf,
  signedLatency,
  states,
  textOf,
  type Group,
  type Member,
  type State,
} from "./fleet_state";
import { count, latency, orNone, plural, seconds, size, typeset } from "./format";
import { Requests, type View } from "./view";

const refreshMs = 5000;
const namedHosts = 8;
const shownGroups = 10;

interface Seen {
  host: string;
  device: BlockDevice;
}

export class FleetView implements View {
  private readonly requests = new Requests();
  private readonly note = element("p", { class: "muted", role: "status" }, "loading");
  private readonly trouble = element("div", { class: "trouble" });
  private readonly summary = element("div", { class: "summary" });
  private readonly map = new FleetMap((name) => this.look(name));
  private readonly workers = element("div", { class: "fleet-table" });
  private readonly clocks = element("div");
  private readonly clocksFold = fold("Clocks", "", (box) => box.append(this.clocks), { level: 2 });
  private readonly devices = element("div", { class: "fleet-table" });
  private readonly again = element("button", { type: "button" }, "ask the hosts again");
  private readonly find = element("input", {
    type: "search",
    placeholder: "find: host, state, label=value, kernel, path …",
    "aria-label": "find workers",
  }) as HTMLInputElement;
  private readonly sorting = keptSorting("workers");
  private readonly clockSorting = keptSorting("clocks");
  private status?: StatusReply;
  private devicesReply?: DevicesReply;

  constructor(main: HTMLElement) {
    this.find.value = choices().get("find") ?? "";
    this.find.addEventListener("input", () => this.look(this.find.value));
    this.again.addEventListener("click", () => void this.askDevices());
    const devices = fold(
      "Devices",
      "by identity, and what is on them",
      (box) => box.append(element("p", {}, this.again), this.devices),
      { level: 2, isOpen: true },
    );
    main.replaceChildren(
      element("h1", {}, "Fleet"),
      this.trouble,
      this.summary,
      this.map.root,
      element("p", {}, this.find),
      this.note,
      element("h2", {}, "Workers"),
      this.workers,
      this.clocksFold,
      devices,
    );
    void this.askStatus();
    void this.askDevices();
  }

  destroy(): void {
    this.requests.end();
  }

  private async askStatus(): Promise<void> {
    try {
      this.status = await get<StatusReply>("/api/status", this.requests.signal);
      learnAddress(this.status);
      this.draw();
    } catch (error) {
      if (this.requests.isOver) return;
      this.note.textContent = `${messageOf(error)} (retrying)`;
    }
    this.requests.again(refreshMs, () => void this.askStatus());
  }

  // Only the workers that match are listed; the map shows them among all.
  private look(words: string): void {
    this.find.value = words;
    choose({ find: words });
    this.draw();
  }

  private matches(member: Member): boolean {
    const all = textOf(member);
    const { value } = this.find;
    if (states.includes(value as State)) return member.state === value;
    return value
      .toLowerCase()
      .split(/\s+/)
      .every((word) => all.includes(word));
  }

  private draw(): void {
    const { status } = this;
    if (!status) return;
    const members = membersOf(status, this.devicesReply);
    const found = members.filter((member) => this.matches(member));
    const hosts = new Set(members.map(({ name }) => name)).size;
    const workers = plural(members.length, "worker");
    const shown = found.length < members.length ? `${count(found.length)} of ` : "";
    this.note.textContent =
      `${shown}${workers} on ${plural(hosts, "host")}, epoch ${status.epoch}, ` +
      `store: ${status.store}`;
    this.trouble.replaceChildren(...storeTrouble(status), ...troubles(groupsOf(members)));
    if (members.length === 0) {
      for (const part of [this.summary, this.workers, this.clocks]) part.replaceChildren();
      this.clocksFold.hidden = true;
      this.map.set([], () => true);
      return this.workers.replaceChildren(...firstSteps());
    }
    this.drawSummary(members);
    this.map.set(members, (member) => this.matches(member));
    this.drawTable(found, new Map(status.runs.map((run) => [run.runId, run.jobName])));
    this.drawClocks(found);
  }

  // How the hosts agree on the time, beyond what the table of workers has of it.
  private drawClocks(members: Member[]): void {
    const bound = Math.max(0, ...members.map(({ worker }) => worker.clockBoundNs));
    const words = `known to ±${latency(bound)} or better`;
    this.clocksFold.hidden = members.length === 0;
    const summary = this.clocksFold.querySelector("summary > span");
    if (summary && summary.textContent !== words) summary.textContent = words;
    const titles = [
      "clock against the controller's",
      "±",
      "drift, ppm",
      "round trip",
      "wall clock",
    ];
    const columns = [{ title: "host" }, ...titles.map((title) => ({ title, numeric: true }))];
    if (this.clocks.contains(document.activeElement)) return; // somebody reads or sorts it
    this.clocks.replaceChildren(table(columns, members.map(clockRow), true, this.clockSorting));
  }

  // 997 ready · 2 busy · 1 needs you: each is a filter.
  private drawSummary(members: Member[]): void {
    const wasAt = Array.from(this.summary.children).indexOf(document.activeElement as Element);
    const of = (state: State) => members.filter((member) => member.state === state).length;
    const buttons = [...states].reverse().map((state) => {
      const isChosen = this.find.value === state;
      const name = { "needs you": "needs", busy: "busy", ready: "ready" }[state];
      // Nobody is looked for by a colour that no worker has.
      const look = of(state) > 0 ? name : `${name} nobody`;
      const button = element(
        "button",
        { type: "button", class: look, "aria-pressed": String(isChosen) },
        element("b", {}, count(of(state))),
        ` ${state === "needs you" && of(state) !== 1 ? "need you" : state}`,
      );
      button.addEventListener("click", () => this.look(isChosen ? "" : state));
      return button;
    });
    this.summary.replaceChildren(...buttons);
    buttons[wasAt]?.focus();
  }

  private drawTable(members: Member[], runs: Map<string, string>): void {
    const numeric = (title: string) => ({ title, numeric: true });
    const focused = this.place(document.activeElement);
    const columns = [
      { title: "host" },
      { title: "state" },
      ...["allowed", "labels"].map((title) => ({ title })),
      numeric("clock against the controller's"),
      numeric("CPUs"),
      numeric("memory"),
      ...["kernel", "version"].map((title) => ({ title })),
    ];
    this.workers.replaceChildren(
      members.length > 0
        ? table(
            columns,
            members.map((member) => workerRow(member, runs)),
            true,
            this.sorting,
          )
        : element("p", { class: "muted" }, "No worker matches."),
    );
    this.refocus(focused);
  }

  // The element that has the focus keeps it when the table's figures change.
  private inTable(): HTMLElement[] {
    return Array.from(this.workers.querySelectorAll<HTMLElement>("button, a, [tabindex]"));
  }
  private place(at: Element | null): number {
    return this.inTable().indexOf(at as HTMLElement);
  }
  private refocus(place: number): void {
    if (place >= 0) this.inTable()[place]?.focus();
  }

  private async askDevices(): Promise<void> {
    this.devices.replaceChildren(element("p", { class: "muted" }, "loading every host"));
    try {
      this.devicesReply = await get<DevicesReply>("/api/devices", this.requests.signal);
      this.drawDevices(this.devicesReply.hosts);
      this.draw();
    } catch (error) {
      if (this.requests.isOver) return;
      this.devices.replaceChildren(element("p", { class: "error" }, messageOf(error)));
    }
  }

  // A LUN that several hosts see is one row. A device without an identity is of its host alone.
  private drawDevices(hosts: DevicesReply["hosts"]): void {
    const groups = new Map<string, Seen[]>();
    for (const host of hosts) {
      for (const device of host.devices) {
        const key = device.identity || `${host.bootId} ${device.name}`;
        groups.set(key, [...(groups.get(key) ?? []), { host: host.host, device }]);
      }
    }
    const rows = [...groups.values()].map((seen): Cell[] => {
      const { device } = seen[0];
      const unique = (of: (one: Seen) => string) =>
        [...new Set(seen.map(of).filter(Boolean))].join("; ");
      const paths = (one: Seen) =>
        one.device.paths.length > 1
          ? `${one.host}: ${one.device.paths.map((p) => `${p.name} ${p.state}`).join(", ")}`
          : "";
      const on = (one: Seen) =>
        [
          one.device.inUse,
          one.device.enrolled && `enrolled ${one.device.enrolled}`,
          ...one.device.mounts,
          ...one.device.holders,
        ]
          .filter(Boolean)
          .join(", ");
      return [
        text(device.identity || "(none)"),
        text(unique((one) => `${one.host} ${one.device.name}`)),
        text(device.model),
        figure(Number(device.sizeBytes), size),
        text(device.transport),
        text(unique(paths)),
        text(unique(on)),
        text(unique((one) => (one.device.allowed ? `${one.host}: allowed` : ""))),
      ];
    });
    const titles = ["identity", "seen as", "model", "size", "transport", "paths", "what is on it"];
    const columns = [...titles, "allowed"].map((title) => ({ title, numeric: title === "size" }));
    this.devices.replaceChildren(
      rows.length > 0
        ? table(columns, rows, true, keptSorting("devices"))
        : element("p", { class: "muted" }, "No host tells of a block device."),
    );
  }
}

// The store takes no samples: that is of the whole fleet.
function storeTrouble({ storeState }: StatusReply): HTMLElement[] {
  if (!storeState?.unavailable) return [];
  const since = seconds(storeState.unavailableSeconds);
  const words =
    `${storeState.reason}. Phases that run go on, and the controller's disk keeps their samples. ` +
    "No new phase starts. Bring PostgreSQL back; nothing else is to be done.";
  return [banner("bad", `The store has been unavailable for ${since}`, words)];
}

// Each trouble once, with the hosts that have it, and what helps.
function troubles(groups: Group[]): HTMLElement[] {
  const entries = groups.slice(0, shownGroups).map(({ trouble, names }) => {
    const more = names.length > namedHosts ? ` and ${count(names.length - namedHosts)} more` : "";
    const who = names.slice(0, namedHosts).join(", ") + more;
    const remedy = [
      " ",
      trouble.remedy,
      ...(trouble.command ? [" ", command(trouble.command)] : []),
    ];
    const headline = names.length > 1 ? `${count(names.length)} hosts: ` : "";
    return element(
      "li",
      { class: trouble.tone },
      element("b", {}, `${signs[trouble.tone]} ${headline}${who}`),
      `: ${trouble.what}. `,
      element("span", { class: "remedy" }, ...remedy),
    );
  });
  const more = groups.length - entries.length;
  if (more > 0) entries.push(element("li", {}, `and ${plural(more, "more trouble")}`));
  return entries.length > 0 ? [element("ul", {}, ...entries)] : [];
}

function firstSteps(): HTMLElement[] {
  const at = address() || `${location.hostname}:9640`;
  const join = `lockstep-worker --controller ${at} --allow /mnt/test`;
  return [
    element("p", {}, "No worker is attached. On each host that is to do I/O:"),
    element("p", {}, command(join)),
  ];
}

function workerRow(member: Member, runs: Map<string, string>): Cell[] {
  const { worker, state, troubles: found } = member;
  const { hello } = worker;
  const host = hello?.host;
  const tone = found[0]?.tone ?? "plain";
  const doing = element("span", { class: "state" });
  if (found.length > 0) {
    const title = found.map((one) => one.what).join("; ");
    doing.append(element("span", { class: tone, title }, `${signs[tone]} ${state}`), " ");
  }
  if (worker.runId) {
    const name = runs.get(worker.runId) ?? worker.runId.slice(0, 8);
    doing.append("busy with ", element("a", { href: `#/run/${worker.runId}` }, name));
  } else if (found.length === 0) {
    doing.append("ready");
  }
  return [
    text(host?.name ?? ""),
    { show: doing, sort: states.indexOf(state) },
    text([...(hello?.allow ?? []), ...(hello?.allowExpendable ?? [])].join(" ")),
    text(labelsOf(hello?.labels).join(" ")),
    figure(worker.clockOffsetNs, (v) => `${signedLatency(v)} ± ${latency(worker.clockBoundNs)}`),
    figure(host?.cpus ?? 0, orNone(String)),
    figure(Number(host?.memoryBytes ?? 0), orNone(size)),
    text(host?.kernel ?? ""),
    text(hello?.softwareVersion ?? ""),
  ];
}

function clockRow({ name, worker }: Member): Cell[] {
  return [
    text(name),
    figure(worker.clockOffsetNs, signedLatency),
    figure(worker.clockBoundNs, latency),
    figure(worker.clockDriftPpm, (v) =>
      typeset(`${v.toFixed(2)} ± ${worker.clockDriftBoundPpm.toFixed(2)}`),
    ),
    figure(worker.roundTripNs, latency),
    figure(worker.wallDifferenceNs, signedLatency),
  ];
}
