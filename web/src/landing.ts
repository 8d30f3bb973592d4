// Back lands where one was: how far a view was scrolled, and which run's link had the focus, stand
// in the browser's entry of its history.

interface Left {
  top: number;
  run?: string; // whose link had the focus
}
const quietMs = 150; // browsers limit how often an entry is written
const patienceMs = 10000;

function leave(): void {
  const run = (document.activeElement as HTMLElement | null)?.dataset.run;
  const left: Left = { top: Math.round(scrollY), ...(run ? { run } : {}) };
  history.replaceState(left, "");
}

export function rememberScroll(): void {
  history.scrollRestoration = "manual";
  let timer = 0;
  addEventListener("scroll", () => {
    clearTimeout(timer);
    timer = window.setTimeout(leave, quietMs);
  });
  // A link is followed after this.
  document.addEventListener("click", leave, true);
  addEventListener("hashchange", () => clearTimeout(timer));
}

// A view fills itself as its figures come. Until it reaches as far as it did, or the reader moves,
// it is waited for. Call it before the view is made; what it returns ends that.
export function land(main: HTMLElement): () => void {
  const left = history.state as Left | null;
  if (!left || (left.top === 0 && !left.run)) {
    scrollTo(0, 0);
    return () => undefined;
  }
  const own = new AbortController();
  const grown = new ResizeObserver(() => {
    if (document.documentElement.scrollHeight - innerHeight < left.top) return;
    const link = left.run && main.querySelector<HTMLElement>(`[data-run="${left.run}"]`);
    if (left.run && !link) return;
    if (link) link.focus({ preventScroll: true });
    scrollTo(0, left.top);
    end();
  });
  const timer = setTimeout(() => end(), patienceMs);
  const end = () => {
    clearTimeout(timer);
    grown.disconnect();
    own.abort();
  };
  for (const name of ["wheel", "touchstart", "pointerdown", "keydown"])
    addEventListener(name, end, { signal: own.signal, passive: true });
  grown.observe(main);
  return end;
}
