// Everything by the keyboard: Ctrl-K lists pages, sandboxes and actions.
import { html, signal, useEffect, useLayoutEffect, useRef, useSignal } from "../html.js";
import { t } from "../texts.js";
import { go } from "../router.js";
import { get, scope } from "../api.js";
import { Icon } from "./icons.js";
import { attempt } from "./toast.js";

export const paletteOpen = signal(false);
// What the page that is shown adds: [{name, icon, action}].
export const pageActions = signal([]);

export function Palette({ places, actions }) {
  const dialog = useRef(null), typed = useSignal(""), at = useSignal(0), found = useSignal([]);
  const close = () => { paletteOpen.value = false; };
  // Before the next key is typed.
  useLayoutEffect(() => {
    const before = document.activeElement, shown = dialog.current;
    shown.showModal();
    return () => {
      // While it is modal, nothing else takes the focus.
      shown.close();
      if (before?.isConnected) before.focus();
    };
  }, []);

  useEffect(() => {
    const words = typed.value.trim();
    if (words.length < 2) { found.value = []; return undefined; }
    const abort = new AbortController();
    const late = setTimeout(async () => {
      try {
        const answer = await get("/v1/sandboxes", { q: words, limit: 6, project: scope() }, { signal: abort.signal });
        found.value = answer.sandboxes.map((one) => ({ name: one.name ?? one.id, where: t.states[one.state] ?? one.state, icon: "sandboxes", action: () => go("/sandboxes/" + one.id) }));
      } catch { found.value = []; }
    }, 150);
    return () => { clearTimeout(late); abort.abort(); };
  }, [typed.value]);

  const words = typed.value.trim().toLowerCase();
  const fits = (item) => words === "" || item.name.toLowerCase().includes(words);
  const listed = [...pageActions.value.map((item) => ({ where: t.palette.here, ...item })), ...places, ...actions].filter(fits).concat(found.value);
  const chosen = Math.min(at.value, listed.length - 1);
  const take = (item) => { close(); attempt(async () => item.action()); };
  const keys = (event) => {
    if (!listed.length) return;
    if (event.key === "ArrowDown") at.value = (chosen + 1) % listed.length;
    else if (event.key === "ArrowUp") at.value = (chosen + listed.length - 1) % listed.length;
    else if (event.key === "Enter" && listed[chosen]) take(listed[chosen]);
    else return;
    event.preventDefault();
  };
  return html`<dialog class="palette" ref=${dialog} aria-label=${t.palette.title} onCancel=${(event) => { event.preventDefault(); close(); }} onClick=${(event) => { if (event.target === dialog.current) close(); }}>
    <input class="input" autofocus placeholder=${t.palette.ask} aria-label=${t.palette.ask} role="combobox" aria-expanded="true" aria-controls="palette-list" aria-activedescendant=${listed.length ? `palette-${chosen}` : null}
      value=${typed.value} onInput=${(event) => { typed.value = event.target.value; at.value = 0; }} onKeyDown=${keys} spellcheck=${false} autocomplete="off" />
    ${listed.length === 0 && html`<p class="none">${t.palette.none}</p>`}
    <ul id="palette-list" role="listbox" aria-label=${t.palette.title} hidden=${listed.length === 0}>${listed.map((item, i) => html`<li key=${i + item.name} id=${"palette-" + i} role="option" aria-selected=${i === chosen ? "true" : "false"}
      ref=${(row) => { if (row && i === chosen) row.scrollIntoView({ block: "nearest" }); }} onClick=${() => take(item)} onPointerMove=${() => { if (at.value !== i) at.value = i; }}><${Icon} name=${item.icon} /><span class="cut">${item.name}</span><span class="where">${item.where}</span></li>`)}</ul>
    <div class="keys"><span><kbd>↑</kbd> <kbd>↓</kbd> ${t.palette.move}</span><span><kbd>↵</kbd> ${t.palette.take}</span><span><kbd>Esc</kbd> ${t.palette.close}</span></div></dialog>`;
}
