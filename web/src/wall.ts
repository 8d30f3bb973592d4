// For a screen on a wall: the whole width, large figures, no navigation. By the link or the key w,
// never by itself; it stands in the address.

import { choose, isWall } from "./address";
import { usualLook, type Look } from "./chart_lines";
import { element } from "./dom";

// Between the charts' rows, beside the lines of a chart's caption and legend.
const chartRest = 32;
const lineHeight = 1.45;
// On a low screen what is wrong takes a part of it: the charts are lower then, but all are there.
const leastHeight = 130;

// Type in pixels, as --wall-text and --wall-legend of live.css have it.
const within = (least: number, most: number, share: number): number =>
  Math.min(most, Math.max(least, share * window.innerWidth));
const captionType = (): number => within(20, 28, 0.012);
const legendType = (): number => within(16, 22, 0.009);

export class Wall {
  readonly link = element("button", { type: "button", class: "wall-link" });
  private isOn = false;
  private readonly pressed = (event: KeyboardEvent): void => this.key(event);
  private readonly resized = (): void => this.changed();

  // `changed`: what depends on it is to be drawn again.
  constructor(private readonly changed: () => void) {
    this.link.addEventListener("click", () => this.set(!this.isOn));
    document.addEventListener("keydown", this.pressed);
    window.addEventListener("resize", this.resized);
    this.show(isWall());
  }

  destroy(): void {
    document.removeEventListener("keydown", this.pressed);
    window.removeEventListener("resize", this.resized);
    document.body.classList.remove("wall");
  }

  // The size of charts in a place: two rows of them fill the rest of the screen.
  layoutAt(plots: HTMLElement): Look {
    if (!this.isOn) return usualLook;
    const left = window.innerHeight - plots.getBoundingClientRect().top - window.scrollY;
    const rest = chartRest + lineHeight * (captionType() + legendType());
    return {
      height: Math.max(leastHeight, Math.floor(left / 2 - rest)),
      type: Math.round(Math.max(20, legendType())),
    };
  }

  private set(isOn: boolean): void {
    choose({ wall: isOn ? "1" : null });
    this.show(isOn);
    this.changed();
  }

  private show(isOn: boolean): void {
    this.isOn = isOn;
    document.body.classList.toggle("wall", isOn);
    this.link.textContent = isOn ? "leave the wall (w)" : "wall (w)";
  }

  private key(event: KeyboardEvent): void {
    const { target } = event;
    const isTyped = target instanceof HTMLElement && target.matches("input, select, textarea");
    if (event.key !== "w" || event.ctrlKey || event.altKey || event.metaKey || isTyped) return;
    this.set(!this.isOn);
  }
}
