// The actions of a reader. The page only reads: commands that change something are there to copy.

import type { RunSummary } from "./api";
import { commandText } from "./controller_address";
import { element } from "./dom";

const thanksMs = 2000;

// navigator.clipboard is there only over HTTPS and on this machine. The other way is an old one.
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = element("textarea", { class: "unseen", "aria-hidden": "true" });
    field.textContent = text;
    document.body.append(field);
    (field as HTMLTextAreaElement).select();
    const isDone = document.execCommand("copy");
    field.remove();
    return isDone;
  }
}

// `of` says what is copied to whoever does not see what stands beside it.
export function copyButton(words: string, text: () => string, of = words): HTMLElement {
  const button = element("button", { type: "button", class: "copy", "aria-label": of }, words);
  let timer = 0;
  button.addEventListener("click", () => {
    void copy(text()).then((isDone) => {
      button.textContent = isDone ? "copied" : "select it, and copy it by hand";
      button.setAttribute("aria-label", button.textContent);
      clearTimeout(timer);
      timer = window.setTimeout(() => {
        button.textContent = words;
        button.setAttribute("aria-label", of);
      }, thanksMs);
    });
  });
  return button;
}

// A command as it is typed, and a button that copies it.
export function command(text: string): HTMLElement {
  const code = commandText(text);
  const button = copyButton("copy", () => code.textContent ?? text, `copy ${text}`);
  return element("span", { class: "command" }, code, " ", button);
}

export const rerun = (id: string): string => `lockstep rerun ${id.slice(0, 8)}`;

// The actions for one run, in its report and in the list.
export function runActions(run: RunSummary): HTMLElement[] {
  const link = () => `${location.href.split("#")[0]}#/run/${run.runId}`;
  const before = element("a", { href: `#/before/${run.runId}` }, "compare with the one before");
  return [
    copyButton("copy link", link, `copy the link to ${run.jobName}`),
    ...(run.state === "queued" || run.state === "running" ? [] : [before]),
    command(rerun(run.runId)),
  ];
}
