// A view fills the page's main part from the moment it is mounted until it is destroyed. Its
// requests are given up when it is left.

export interface View {
  destroy(): void;
  // When what is seen first is drawn, where the rest of the page waits for that.
  readonly begun?: Promise<void>;
}

export class Requests {
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
