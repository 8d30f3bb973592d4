// The events of a run in progress, from its begin on, by server-sent events. Connects again by
// itself, for as long as that is not in vain.

import type { WatchEvent } from "./api";

export interface FeedListener {
  // All is told from the begin.
  begins(): void;
  takes(event: WatchEvent): void;
  // Nothing comes; `why` is what the controller says, if it says anything.
  isLost(why: string, isFinal: boolean): void;
  // Events come again, and why they did not.
  isBack(why: string): void;
  ended(): void;
}

const againMs = 3000;

export class LiveFeed {
  private source?: EventSource;
  private timer = 0;
  private epoch = 0; // of the controller that tells
  private isOut = false;

  constructor(
    private readonly runId: string,
    private readonly listener: FeedListener,
  ) {}

  // `allHosts`: with the figures of every host.
  open(allHosts: boolean): void {
    this.close();
    this.listener.begins();
    const hosts = allHosts ? "?hosts=all" : "";
    const source = new EventSource(`/api/runs/${this.runId}/events${hosts}`);
    this.source = source;
    source.onmessage = (message: MessageEvent<string>) => this.take(message);
    // Not the run's end: the browser asks again by itself, unless that is in vain.
    source.addEventListener("failed", (message) => {
      const failed = JSON.parse((message as MessageEvent<string>).data) as {
        retry: boolean;
        error: string;
      };
      if (!failed.retry) source.close();
      this.isOut = true;
      this.listener.isLost(failed.error, !failed.retry);
    });
    source.onerror = () => {
      this.isOut = true;
      this.listener.isLost("", false);
      // An answer that is none ends a browser's patience, not ours.
      if (source.readyState === EventSource.CLOSED)
        this.timer = window.setTimeout(() => this.open(allHosts), againMs);
    };
    source.addEventListener("end", () => {
      this.close();
      this.listener.ended();
    });
  }

  close(): void {
    clearTimeout(this.timer);
    this.source?.close();
  }

  private take(message: MessageEvent<string>): void {
    // The upper half of an event's number is the epoch of its controller: another one tells all
    // that it has.
    const epoch = Math.floor(Number(message.lastEventId) / 2 ** 32);
    const isOther = epoch > 0 && this.epoch > 0 && epoch !== this.epoch;
    if (epoch > 0 && this.isOut) {
      this.isOut = false;
      this.listener.isBack(isOther ? "the controller was away" : "the connection was lost");
    }
    if (isOther) this.listener.begins();
    if (epoch > 0) this.epoch = epoch;
    this.listener.takes(JSON.parse(message.data) as WatchEvent);
  }
}
