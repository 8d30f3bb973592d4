// The title and the icon of the browser's tab: the state, for whoever looks at something else.

import { color, type Tone } from "./dom";

const inks: Record<Tone, string> = {
  good: "--good",
  bad: "--bad-field",
  corrupt: "--corrupt-field",
  warn: "--warn-field",
  plain: "--muted",
};
const shapes: Record<Tone, string> = {
  good: "<circle cx='8' cy='8' r='6'/>",
  bad: "<rect width='16' height='16'/>",
  corrupt: "<rect width='16' height='16'/>",
  warn: "<path d='M8 1 16 15H0Z'/>",
  plain: "<circle cx='8' cy='8' r='3'/>",
};

export function setTab(title: string, tone?: Tone): void {
  if (document.title !== title) document.title = title;
  const icon = document.querySelector("link[rel=icon]");
  const drawing = tone
    ? `data:image/svg+xml,${encodeURIComponent(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16' fill='" +
          `${color(inks[tone])}'>${shapes[tone]}</svg>`,
      )}`
    : "data:,";
  if (icon && icon.getAttribute("href") !== drawing) icon.setAttribute("href", drawing);
}
