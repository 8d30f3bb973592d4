// A view fills the page's main part from the moment it is mounted until it is destroyed. What it
// asks for is given up when it is left.

export interface View {
  destroy(): void;
}

export class Asking {
  private readonly controller = new AbortController();
  private timer = 0;

  get signal(): AbortSignal {
    return this.controller.signal;
  }
  get isOver(): boolean {
    return this.controller.signal.aborted;
  }
  again(milliseconds: number, work: () => void): void {
    clearTimeout(this.timer);
    if (!this.isOver) this.timer = window.setTimeout(work, milliseconds);
  }
  end(): void {
    clearTimeout(this.timer);
    this.controller.abort();
  }
}

// What is chosen in a view stands after its name in the address, which is the link to send:
// #/run/ID?from=10&to=20
export function choices(): URLSearchParams {
  return new URLSearchParams(location.hash.split("?")[1] ?? "");
}

// Changes them without a new view; null takes one away.
export function choose(changes: Record<string, string | null>): void {
  const all = choices();
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") all.delete(name);
    else all.set(name, value);
  }
  const text = all.toString();
  const path = location.hash.split("?")[0] || "#/";
  history.replaceState(null, "", path + (text ? `?${text}` : ""));
}
