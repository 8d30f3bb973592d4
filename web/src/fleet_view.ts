// The workers that are attached and what they do, and the devices that they see, by identity.

import { keptSorting } from "./address";
import {
  get,
  type AttachedWorker,
  type BlockDevice,
  type DevicesReply,
  type StatusReply,
} from "./api";
import { element, figure, labelsOf, table, text, type Cell } from "./dom";
import { latency, orNone, plural, size } from "./format";
import { Requests, type View } from "./view";

const refreshMs = 5000;

interface Seen {
  host: string;
  device: BlockDevice;
}

function signed(nanoseconds: number): string {
  return `${nanoseconds < 0 ? "−" : "+"}${latency(Math.abs(nanoseconds))}`;
}

export class FleetView implements View {
  private readonly requests = new Requests();
  private readonly note = element("p", { class: "muted", role: "status" }, "loading");
  private readonly workers = element("div");
  private readonly devices = element("div");
  private readonly again = element("button", { type: "button" }, "ask the hosts again");
  private readonly sorting = keptSorting("workers");

  constructor(main: HTMLElement) {
    this.again.addEventListener("click", () => void this.askDevices());
    main.replaceChildren(
      element("h1", {}, "Fleet"),
      this.note,
      element("h2", {}, "Workers"),
      this.workers,
      element("h2", {}, "Devices"),
      element("p", {}, this.again),
      this.devices,
    );
    void this.askStatus();
    void this.askDevices();
  }

  destroy(): void {
    this.requests.end();
  }

  private async askStatus(): Promise<void> {
    try {
      const status = await get<StatusReply>("/api/status", this.requests.signal);
      this.drawStatus(status);
    } catch (error) {
      if (this.requests.isOver) return;
      this.note.textContent = `${String(error)} (retrying)`;
    }
    this.requests.again(refreshMs, () => void this.askStatus());
  }

  private drawStatus(status: StatusReply): void {
    const { storeState } = status;
    const seconds = Math.round(storeState?.unavailableSeconds ?? 0);
    const outage = storeState?.unavailable
      ? `; the store has been unavailable for ${seconds} s: ${storeState.reason}`
      : "";
    const workers = plural(status.workers.length, "worker");
    const hosts = new Set(status.workers.map((worker) => worker.hello?.host?.name)).size;
    const fleet = `${workers} on ${plural(hosts, "host")}, epoch ${status.epoch}`;
    this.note.textContent = fleet + outage;
    const runs = new Map(status.runs.map((run) => [run.runId, run.jobName]));
    const rows = status.workers.map((worker) => this.workerRow(worker, runs));
    const numeric = (title: string) => ({ title, numeric: true });
    const focused = this.place(document.activeElement);
    this.workers.replaceChildren(
      table(
        [
          { title: "host" },
          { title: "does" },
          numeric("clock against the controller's"),
          numeric("±"),
          numeric("drift, ppm"),
          numeric("round trip"),
          numeric("wall clock"),
          numeric("CPUs"),
          numeric("memory"),
          { title: "kernel" },
          { title: "version" },
          { title: "allowed" },
          { title: "labels" },
        ],
        rows,
        true,
        this.sorting,
      ),
    );
    this.refocus(focused);
  }

  // What somebody is at in the table stays so when its figures change.
  private inTable(): HTMLElement[] {
    return Array.from(this.workers.querySelectorAll<HTMLElement>("button, a, [tabindex]"));
  }
  private place(at: Element | null): number {
    return this.inTable().indexOf(at as HTMLElement);
  }
  private refocus(place: number): void {
    if (place >= 0) this.inTable()[place]?.focus();
  }

  private workerRow(worker: AttachedWorker, runs: Map<string, string>): Cell[] {
    const { hello } = worker;
    const host = hello?.host;
    const labels = labelsOf(hello?.labels);
    const doing = element("span");
    if (worker.disconnected) {
      doing.append(
        element("span", { class: "warn" }, "disconnected; the controller waits for it"),
        " ",
      );
    }
    if (worker.runId) {
      const name = runs.get(worker.runId) ?? worker.runId.slice(0, 8);
      doing.append("leased to ", element("a", { href: `#/run/${worker.runId}` }, name));
    } else {
      doing.append("free");
    }
    return [
      text(host?.name ?? ""),
      { show: doing },
      figure(worker.clockOffsetNs, signed),
      figure(worker.clockBoundNs, latency),
      figure(
        worker.clockDriftPpm,
        (v) => `${v.toFixed(2)} ± ${worker.clockDriftBoundPpm.toFixed(2)}`,
      ),
      figure(worker.roundTripNs, latency),
      figure(worker.wallDifferenceNs, signed),
      figure(host?.cpus ?? 0, orNone(String)),
      figure(Number(host?.memoryBytes ?? 0), orNone(size)),
      text(host?.kernel ?? ""),
      text(hello?.softwareVersion ?? ""),
      text([...(hello?.allow ?? []), ...(hello?.allowExpendable ?? [])].join(" ")),
      text(labels.join(" ")),
    ];
  }

  private async askDevices(): Promise<void> {
    this.devices.replaceChildren(element("p", { class: "muted" }, "loading every host"));
    try {
      const { hosts } = await get<DevicesReply>("/api/devices", this.requests.signal);
      this.drawDevices(hosts);
    } catch (error) {
      if (this.requests.isOver) return;
      this.devices.replaceChildren(element("p", { class: "error" }, String(error)));
    }
  }

  // A LUN that several hosts see is one row. What has no identity is of its host alone.
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
      ...hosts
        .filter((host) => host.missing)
        .map((host) => element("p", { class: "warn" }, `${host.host}: ${host.missing}`)),
      rows.length > 0
        ? table(columns, rows, true, keptSorting("devices"))
        : element("p", { class: "muted" }, "No host tells of a block device."),
    );
  }
}
