// Native dialogs: the browser keeps the focus inside and closes them by Escape.
import { classes, html, signal, useLayoutEffect, useRef, useSignal } from "../html.js";
import { t } from "../texts.js";
import { Button, TextField, useId } from "./basics.js";
import { complain } from "./toast.js";

export function Dialog({ title, close, children, foot, wide, submit }) {
  const dialog = useRef(null), id = useId("d");
  // Before the next key is typed.
  useLayoutEffect(() => {
    const before = document.activeElement, shown = dialog.current;
    shown.showModal();
    (dialog.current.querySelector("[data-first]") ?? dialog.current.querySelector(".dialog-body input, .dialog-body select, .dialog-body textarea"))?.focus();
    return () => {
      // While it is modal, nothing else takes the focus.
      shown.close();
      if (before?.isConnected) before.focus();
      // What opened it may be gone with what was ended or deleted.
      setTimeout(() => { if (document.activeElement === document.body) document.getElementById("page-title")?.focus({ preventScroll: true }); }, 400);
    };
  }, []);
  const sent = (event) => { event.preventDefault(); submit?.(); };
  return html`<dialog ref=${dialog} class=${classes(wide && "wide")} aria-labelledby=${id} onCancel=${(event) => { event.preventDefault(); close(); }}
    onClick=${(event) => { if (event.target === dialog.current) close(); }}>
    <form class="row" style=${{ flexDirection: "column", alignItems: "stretch", minHeight: 0, gap: 0 }} onSubmit=${sent} novalidate>
      <div class="dialog-head"><h2 id=${id}>${title}</h2></div><div class="dialog-body">${children}</div>${foot && html`<div class="dialog-foot">${foot}</div>`}</form></dialog>`;
}

const asked = signal(null);

// Asks before something is done that cannot be taken back. `action` is done with the dialog still there.
// The Enter that opened a dangerous question, pressed twice, does not answer it: the focus is on "Cancel".
export function confirm({ title, text, verb, action, danger = true, careful = danger }) {
  asked.value = { title, text, verb, action, danger, careful };
}

// Asks for one line of text.
export function prompt({ title, name, value = "", verb, action, hint }) {
  asked.value = { title, name, value, verb, action, hint };
}

export function Asked() {
  const question = asked.value;
  return question && html`<${Question} key=${question.title} ...${question} />`;
}

function Question({ title, text, verb, action, danger, careful, name, value, hint }) {
  const typed = useSignal(value ?? ""), busy = useSignal(false);
  const close = () => { asked.value = null; };
  async function yes() {
    busy.value = true;
    try {
      await action(typed.value);
      close();
    } catch (error) {
      complain(error);
      busy.value = false;
    }
  }
  return html`<${Dialog} title=${title} close=${close} submit=${yes} foot=${html`<${Button} data-first=${careful ? "" : null} action=${close}>${t.cancel}<//>
    <button type="submit" data-first=${name || careful ? null : ""} class=${classes("button", "filled", danger && "danger")} disabled=${busy.value || (name && !typed.value.trim())}>${verb}</button>`}>
    ${text && html`<p>${text}</p>`}${name && html`<${TextField} name=${name} value=${typed.value} set=${(next) => { typed.value = next; }} hint=${hint} />`}<//>`;
}
