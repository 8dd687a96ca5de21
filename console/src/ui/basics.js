// Small parts that pages are made of.
import { classes, html, useEffect, useRef, useSignal } from "../html.js";
import { t } from "../texts.js";
import { ago, moment } from "../format.js";
import { href } from "../router.js";
import { Icon } from "./icons.js";
import { attempt, toast } from "./toast.js";

// `action` may be asynchronous: the button waits for it, and what goes wrong is shown.
export function Button({ kind, danger, small, icon, label, action, children, disabled, ...rest }) {
  const busy = useSignal(false);
  async function click(event) {
    if (busy.value || !action) return;
    const result = action(event);
    if (!(result instanceof Promise)) return;
    busy.value = true;
    await attempt(() => result);
    busy.value = false;
  }
  return html`<button type="button" class=${classes("button", kind, danger && "danger", small && "small", icon && !children && "icon")}
    aria-label=${label} title=${icon && !children ? label : null} aria-busy=${busy.value ? "true" : null} disabled=${disabled || busy.value} onClick=${click} ...${rest}>
    ${icon && html`<${Icon} name=${icon} />`}${children}</button>`;
}

export function Link({ to, button, children, icon, ...rest }) {
  return html`<a href=${href(to)} class=${button ? classes("button", button) : rest.class} ...${rest}>${icon && html`<${Icon} name=${icon} />`}${children}</a>`;
}

// --- Status ---------------------------------------------------------------------------------------

const TONES = {
  running: "live", ready: "live", ok: "live", live: "live", idle: "off", pending: "busy", starting: "busy", building: "busy", connecting: "busy", waiting: "busy", busy: "busy", restarting: "busy",
  paused: "info", stopped: "off", exited: "off", cancelled: "off", removed: "off", error: "bad", failed: "bad", timed_out: "bad", oom_killed: "bad", killed: "bad", revoked: "off",
};
const PULSING = new Set(["running", "starting", "pending", "building", "connecting", "live", "waiting"]);

const toneOf = (state) => TONES[state] ?? "off";

export function Dot({ state }) {
  return html`<span class=${classes("dot", "tone-" + toneOf(state), PULSING.has(state) && "pulse")} aria-hidden="true"></span>`;
}

export function Status({ state, text }) {
  return html`<span class=${classes("badge", toneOf(state))}><${Dot} state=${state} />${text ?? t.states[state] ?? state}</span>`;
}

export function Grade({ grade }) {
  if (!grade) return "–";
  const tone = { vm: "live", "user-kernel": "live", jail: "live", "jail-partial": "busy", process: "bad" }[grade] ?? "";
  return html`<span class=${classes("badge", tone)} title=${t.grades[grade] ?? ""}>${grade}</span>`;
}

// --- Words of data --------------------------------------------------------------------------------

export function Ago({ at, now }) {
  if (!at) return html`<span class="dim">–</span>`;
  return html`<time datetime=${at} title=${moment(at)} class="num nowrap">${ago(at, now)}</time>`;
}

export async function copyText(text, said = t.copied) {
  await navigator.clipboard.writeText(text);
  toast(said);
}

export function Copy({ text, label = t.copy, small = true }) {
  return html`<${Button} small=${small} icon="copy" label=${label} action=${() => copyText(text)} />`;
}

export function Command({ text }) {
  return html`<span class="command"><code tabindex="0">${text}</code><${Copy} text=${text} label=${t.copy_command} /></span>`;
}

// A state without data that teaches what would give some.
export function Empty({ title, text, command, children, icon }) {
  return html`<div class="empty">${icon && html`<span class="dim"><${Icon} name=${icon} size=${28} /></span>`}
    <h2>${title}</h2>${text && html`<p>${text}</p>`}${children}${command && html`<${Command} text=${command} />`}</div>`;
}

export function Notice({ tone = "info", children, role }) {
  return html`<div class=${classes("notice", tone)} role=${role}><${Icon} name=${tone === "info" || tone === "plain" ? "info" : "warn"} /><div class="grow">${children}</div></div>`;
}

export function Problem({ error, retry }) {
  return html`<div class="notice bad" role="alert"><${Icon} name="warn" /><div class="grow"><div>${error.message}</div>
    ${error.advice && html`<div class="advice">${error.advice}</div>`}
    ${error.request_id && html`<div class="advice">${t.errors.request_id} <code>${error.request_id}</code></div>`}</div>
    ${retry && html`<${Button} small icon="refresh" action=${retry}>${t.retry}<//>`}</div>`;
}

// What is loaded, or why not, or that it is being loaded.
export function Loaded({ data, children, lines = 3 }) {
  if (data.value !== null) return html`${data.error && html`<${Problem} error=${data.error} retry=${data.reload} />`}${children(data.value)}`;
  if (data.error) return html`<${Problem} error=${data.error} retry=${data.reload} />`;
  return html`<div class="stack tight" role="status" aria-busy="true" aria-label=${t.loading}>${Array.from({ length: lines }, (_, i) => html`<div class="skeleton" key=${i} style=${{ height: "34px", opacity: 1 - i * 0.22 }}></div>`)}</div>`;
}

// --- Pages ----------------------------------------------------------------------------------------

export function Page({ title, about, actions, children, wide, crumbs, head }) {
  useEffect(() => { document.title = `${title} · Glovebox`; }, [title]);
  return html`<div class=${classes("page", wide && "wide")}>
    <header class="page-head"><div class="grow">${crumbs && html`<nav class="crumbs" aria-label=${t.breadcrumbs}>${crumbs}</nav>`}
      <h1 tabindex="-1" id="page-title">${head ?? title}</h1>${about && html`<p class="about">${about}</p>`}</div>
      ${actions && html`<div class="actions">${actions}</div>`}</header>${children}</div>`;
}

export function Card({ title, actions, children, flush, ...rest }) {
  return html`<section class=${classes("card", flush && "flush")} ...${rest}>
    ${(title || actions) && html`<div class="card-head">${title && html`<h2 class="label">${title}</h2>`}${actions && html`<div class="row" style=${{ marginLeft: "auto" }}>${actions}</div>`}</div>`}${children}</section>`;
}

export function Facts({ of }) {
  return html`<dl class="facts">${of.filter(Boolean).map(([name, value]) => html`<dt>${name}</dt><dd>${value ?? "–"}</dd>`)}</dl>`;
}

export function Tabs({ tabs, current, label }) {
  const list = useRef(null);
  useEffect(() => { list.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" }); }, [current]);
  return html`<nav class="tabs" aria-label=${label} ref=${list}>${tabs.map(({ id, name, to }) => html`<a key=${id} href=${href(to)} aria-current=${id === current ? "page" : null}>${name}</a>`)}</nav>`;
}

// --- Fields ---------------------------------------------------------------------------------------

let numbers = 0;
export function useId(prefix = "f") {
  const id = useRef(null);
  id.current ??= `${prefix}${++numbers}`;
  return id.current;
}

export function Field({ name, hint, fault, full, children }) {
  const id = useId();
  return html`<div class=${classes("field", full && "full")}><label for=${id}>${name}</label>${children(id, hint || fault ? id + "h" : null)}
    ${(hint || fault) && html`<span id=${id + "h"} class=${fault ? "fault" : "hint"} role=${fault ? "alert" : null}>${fault || hint}</span>`}</div>`;
}

export function TextField({ name, value, set, hint, fault, full, mono, area, autofocus, ...rest }) {
  const field = useRef(null);
  useEffect(() => { if (autofocus) field.current?.focus(); }, []);
  return html`<${Field} name=${name} hint=${hint} fault=${fault} full=${full}>${(id, about) => html`<${area ? "textarea" : "input"} ref=${field} id=${id} class=${classes("input", mono && "mono")}
    aria-describedby=${about} aria-invalid=${fault ? "true" : null} value=${value} onInput=${(event) => set(event.target.value)} autocomplete="off" spellcheck=${false} ...${rest} />`}<//>`;
}

export function SelectField({ name, value, set, options, hint, full }) {
  return html`<${Field} name=${name} hint=${hint} full=${full}>${(id, about) => html`<${Select} id=${id} value=${value} set=${set} options=${options} aria-describedby=${about} />`}<//>`;
}

// Options are [value, text].
export function Select({ value, set, options, ...rest }) {
  return html`<select class="select" value=${value} onChange=${(event) => set(event.target.value)} ...${rest}>
    ${options.map(([key, text]) => html`<option key=${key} value=${key} selected=${key === value}>${text}</option>`)}</select>`;
}

export function Search({ value, set, label }) {
  // What is typed stays in the field when the page is drawn again before it is searched for.
  const text = useSignal(value), late = useRef(null), told = useRef(value);
  useEffect(() => { if (value !== told.current) text.value = told.current = value; }, [value]);
  const typed = (event) => {
    text.value = event.target.value;
    clearTimeout(late.current);
    late.current = setTimeout(() => { told.current = text.value; set(text.value); }, 200);
  };
  return html`<div class="searchbox"><${Icon} name="search" /><input class="input" type="search" value=${text.value} placeholder=${label} aria-label=${label} onInput=${typed} spellcheck=${false} autocomplete="off" /></div>`;
}

// A choice of few, as buttons side by side.
export function Choice({ value, set, options, label }) {
  return html`<div class="group" role="group" aria-label=${label}>${options.map(([key, text]) => html`<button key=${key} type="button" class="button" aria-pressed=${key === value ? "true" : "false"} onClick=${() => set(key)}>${text}</button>`)}</div>`;
}

// --- A menu of actions ----------------------------------------------------------------------------

export function Menu({ label, items, icon = "more", text }) {
  const open = useSignal(false), box = useRef(null);
  useEffect(() => {
    if (!open.value) return undefined;
    // In the top layer, so that no table or card cuts it off.
    const list = box.current.querySelector(".menu-list"), at = box.current.getBoundingClientRect();
    list.showPopover();
    const up = at.bottom + list.offsetHeight + 8 > innerHeight && at.top > list.offsetHeight + 8;
    Object.assign(list.style, { top: (up ? at.top - list.offsetHeight - 4 : at.bottom + 4) + "px", left: Math.max(8, Math.min(at.right - list.offsetWidth, innerWidth - list.offsetWidth - 8)) + "px" });
    list.querySelector("button")?.focus({ preventScroll: true });
    const away = (event) => { if (event.type === "scroll" || !box.current?.contains(event.target)) open.value = false; };
    document.addEventListener("pointerdown", away);
    document.addEventListener("scroll", away, true);
    return () => { document.removeEventListener("pointerdown", away); document.removeEventListener("scroll", away, true); };
  }, [open.value]);
  const keys = (event) => {
    if (!open.value) return;
    const all = [...box.current.querySelectorAll(".menu-list button")], at = all.indexOf(document.activeElement);
    if (event.key === "Escape") { open.value = false; box.current.querySelector("button").focus(); event.stopPropagation(); }
    else if (event.key === "ArrowDown") { all[(at + 1) % all.length].focus(); event.preventDefault(); }
    else if (event.key === "ArrowUp") { all[(at + all.length - 1) % all.length].focus(); event.preventDefault(); }
    else if (event.key === "Tab") open.value = false;
  };
  return html`<div class="menu" ref=${box} onKeyDown=${keys}><button type="button" class=${classes("button", text ? "outline" : "icon")} aria-label=${text ? null : label} title=${text ? null : label} aria-haspopup="menu" aria-expanded=${open.value ? "true" : "false"} onClick=${() => { open.value = !open.value; }}><${Icon} name=${icon} />${text}</button>
    ${open.value && html`<div class="menu-list" role="menu" popover="manual">${items.filter(Boolean).map((item) => html`<button key=${item.name} type="button" role="menuitem" class=${item.danger ? "danger" : ""}
      onClick=${() => { open.value = false; box.current.querySelector("button").focus(); attempt(item.action); }}>${item.icon && html`<${Icon} name=${item.icon} />`}${item.name}</button>`)}</div>`}</div>`;
}
