// The address at which a reader's command line finds this controller: 127.0.0.1:9640 by default.

import type { StatusReply } from "./api";
import { element } from "./dom";

const usual = "127.0.0.1:9640";

const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "[::1]" || host.startsWith("127.");
const isAny = (host: string): boolean => ["", "*", "0.0.0.0", "[::]"].includes(host);

function parts(address: string): { host: string; port: string } {
  const colon = address.lastIndexOf(":");
  return { host: address.slice(0, colon), port: address.slice(colon + 1) };
}

// The address, among those that the controller listens at, by which a reader reaches it who reads
// the page at `host`. Empty: none is known.
export function reachedAt(listen: string[], host: string): string {
  const all = listen.map(parts);
  // On the controller's own machine, or through a tunnel to it.
  if (isLoopback(host)) {
    const near = all.find((one) => isLoopback(one.host) || isAny(one.host));
    if (near) return `${isLoopback(near.host) ? near.host : "127.0.0.1"}:${near.port}`;
    return listen[0] ?? "";
  }
  const same = all.find((one) => one.host === host || isAny(one.host));
  if (same) return `${host}:${same.port}`;
  // Only the page is reached from elsewhere: then the command is for the controller's machine.
  return listen[all.findIndex((one) => !isLoopback(one.host))] ?? listen[0] ?? "";
}

let listen: string[] = [];

export const address = (): string => reachedAt(listen, location.hostname);

// Command lines as the reader's shell needs them.
function addressed(commands: string): string {
  const at = address();
  if (at === "" || at === usual) return commands;
  return commands.replace(/(^|[\s;])lockstep (?!--)/g, `$1lockstep --controller ${at} `);
}

// Shows the commands. The address may be learned later.
export function commandText(commands: string): HTMLElement {
  return element("code", { "data-commands": commands }, addressed(commands));
}

// A controller that is older than the page does not send the field.
export function learnAddress(status: StatusReply & { listen?: string[] }): void {
  listen = status.listen ?? [];
  const shown = document.querySelectorAll<HTMLElement>("code[data-commands]");
  for (const code of Array.from(shown)) {
    const text = addressed(code.dataset.commands ?? "");
    if (code.textContent !== text) code.textContent = text;
  }
}
