// Said at the bottom of the page: what an action did, or why it failed and what to do.
import { html, signal } from "../html.js";
import { t } from "../texts.js";
import { Icon } from "./icons.js";

const shown = signal([]);
let number = 0;

export function toast(text, { tone = "good", advice = "", seconds = tone === "bad" ? 12 : 4 } = {}) {
  const id = ++number;
  shown.value = [...shown.value.slice(-3), { id, text, tone, advice }];
  setTimeout(() => dismiss(id), seconds * 1000);
}

function dismiss(id) {
  shown.value = shown.value.filter((one) => one.id !== id);
}

export const complain = (error) => toast(error.message || String(error), { tone: "bad", advice: error.advice ?? "" });

// Does something whose failure is shown; true if it worked.
export async function attempt(action, done) {
  try {
    await action();
  } catch (error) {
    if (error?.name !== "AbortError") complain(error);
    return false;
  }
  if (done) toast(done);
  return true;
}

// Above everything else, dialogs too: a popover is in the top layer, and is put there anew with each toast.
export function Toasts() {
  const raise = (box) => {
    if (!box?.showPopover) return;
    if (box.matches(":popover-open")) box.hidePopover();
    if (shown.value.length) box.showPopover();
  };
  return html`<div class="toasts" popover="manual" ref=${raise} role="status" aria-live="polite">
    ${shown.value.map((one) => html`<div key=${one.id} class=${"toast " + one.tone}><span class="dot" aria-hidden="true"></span>
      <div><div>${one.text}</div>${one.advice && html`<div class="advice">${one.advice}</div>`}</div>
      <button type="button" aria-label=${t.dismiss} onClick=${() => dismiss(one.id)}><${Icon} name="close" size=${14} /></button></div>`)}</div>`;
}
