// The keyboard's way through many things of a kind.

// The things that match are one stop of the Tab key: arrows, Home and End move among them. Arrows
// up and down move by a row where several stand in one. Call what it returns when they are others.
export function oneStop(root: HTMLElement, selector: string): () => void {
  const all = () => Array.from(root.querySelectorAll<HTMLElement>(selector));
  let stop: HTMLElement | undefined;
  const stopAt = (item: HTMLElement) => {
    if (stop) stop.tabIndex = -1;
    stop = item;
    item.tabIndex = 0;
  };
  const settle = () => {
    const items = all();
    for (const item of items) item.tabIndex = -1;
    const [first] = items;
    if (stop && items.includes(stop)) stopAt(stop);
    else if (first) stopAt(first);
  };
  root.addEventListener("focusin", (event) => {
    const item = (event.target as HTMLElement).closest<HTMLElement>(selector);
    if (item) stopAt(item);
  });
  root.addEventListener("keydown", (event) => {
    const items = all();
    const at = items.indexOf(document.activeElement as HTMLElement);
    if (at < 0) return;
    const to = moved(items, at, event.key);
    if (to < 0) return;
    event.preventDefault();
    items[to]?.focus();
  });
  settle();
  return settle;
}

// The item that a key leads to from the one at `at`; -1 for a key that leads nowhere.
function moved(items: HTMLElement[], at: number, key: string): number {
  const last = items.length - 1;
  const within = (place: number) => Math.max(0, Math.min(last, place));
  const topOf = (item: HTMLElement) => item.getBoundingClientRect().top;
  const inRow = () => items.filter((item) => topOf(item) === topOf(items[at])).length;
  switch (key) {
    case "ArrowLeft":
      return within(at - 1);
    case "ArrowRight":
      return within(at + 1);
    case "ArrowUp":
      return within(at - inRow());
    case "ArrowDown":
      return within(at + inRow());
    case "Home":
      return 0;
    case "End":
      return last;
    default:
      return -1;
  }
}

// A link past the head of the page. The address after # belongs to a view, not to the browser.
export function skipTo(link: HTMLElement, main: HTMLElement): void {
  main.tabIndex = -1;
  link.addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
  });
}
