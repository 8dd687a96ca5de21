// What stands around every page: where one can go, whether the server is heard, who is signed in.
import { html, useEffect, useSignal } from "./html.js";
import { t } from "./texts.js";
import { get, isAdmin, project, session, signOut } from "./api.js";
import { href, path } from "./router.js";
import { drafts } from "./drafts.js";
import { choose, chosen, remember } from "./theme.js";
import { connection, reconnect } from "./live.js";
import { Button, Dot, Select } from "./ui/basics.js";
import { confirm } from "./ui/dialog.js";
import { Icon, Mark } from "./ui/icons.js";
import { paletteOpen } from "./ui/palette.js";

export const PLACES = [
  { id: "overview", to: "/", icon: "overview", also: [] },
  { id: "playground", to: "/playground", icon: "play", also: [] },
  { id: "runs", to: "/runs", icon: "runs", also: ["run"] },
  { id: "sandboxes", to: "/sandboxes", icon: "sandboxes", also: ["sandbox"] },
  { id: "templates", to: "/templates", icon: "templates", also: ["packages", "images"], group: "host", parts: [{ id: "packages", to: "/packages", icon: "templates" }, { id: "images", to: "/images", icon: "templates" }] },
  { id: "keys", to: "/keys", icon: "keys", also: [], admin: true, group: "host" },
  { id: "security", to: "/security", icon: "security", also: [], group: "host" },
  { id: "settings", to: "/settings", icon: "settings", also: [], group: "host" },
];

export const themeActions = () => [
  { name: t.theme.light, where: t.palette.action, icon: "sun", action: () => choose("light") },
  { name: t.theme.dark, where: t.palette.action, icon: "moon", action: () => choose("dark") },
  { name: t.theme.system, where: t.palette.action, icon: "system", action: () => choose(null) },
];

// Asks first where something would be lost.
export function leave() {
  if (!drafts.size) return signOut();
  return confirm({ title: t.leave_title(drafts.size), text: t.leave_text, verb: t.sign_out, action: signOut });
}

function Connection() {
  const state = connection.value, text = t.connection[state];
  return state === "waiting"
    ? html`<button type="button" class="connection" onClick=${reconnect} data-connection=${state}><${Dot} state="waiting" /><span role="status">${text}</span></button>`
    : html`<div class="connection" data-connection=${state}><${Dot} state=${state === "live" ? "live" : state === "connecting" ? "connecting" : "stopped"} /><span role="status">${text}</span></div>`;
}

function ProjectSwitch() {
  const names = useSignal([]);
  useEffect(() => {
    get("/v1/keys").then(({ keys }) => { names.value = [...new Set(keys.filter((key) => !key.revoked_at).map((key) => key.project))].sort(); }, () => {});
  }, []);
  const all = [...new Set([...names.value, ...(project.value === "*" ? [] : [project.value])])].sort();
  const set = (name) => { project.value = name; remember("glovebox.project", name); };
  return html`<${Select} aria-label=${t.project.label} value=${project.value} set=${set} options=${[["*", t.project.all], ...all.map((name) => [name, name])]} />`;
}

export function Shell({ current, children }) {
  const open = useSignal(false), known = session.value;
  useEffect(() => { open.value = false; }, [path.value]);
  useEffect(() => {
    if (!open.value) return undefined;
    const keys = (event) => { if (event.key === "Escape") open.value = false; };
    document.addEventListener("keydown", keys);
    return () => document.removeEventListener("keydown", keys);
  }, [open.value]);
  const listed = PLACES.filter((one) => !one.admin || known.admin);
  const item = (one) => html`<a key=${one.id} href=${href(one.to)} aria-current=${one.id === current || one.also.includes(current) ? "page" : null}><${Icon} name=${one.icon} />${t.nav[one.id]}</a>`;
  const themeIcon = chosen.value === "light" ? "sun" : chosen.value === "dark" ? "moon" : "system";
  return html`<a class="skip" href="#content" onClick=${(event) => { event.preventDefault(); document.getElementById("page-title")?.focus(); }}>${t.skip}</a>
    <div class="shell"><header class="top">
      <${Button} icon="menu" label=${t.menu} action=${() => { open.value = true; }} aria-expanded=${open.value ? "true" : "false"} />
      <a class="wordmark" href=${href("/")}><${Mark} />Glovebox</a><span role="img" aria-label=${t.connection[connection.value]}><${Dot} state=${connection.value === "live" ? "live" : connection.value === "paused" ? "stopped" : "waiting"} /></span>
      <${Button} icon="search" label=${t.palette.open} action=${() => { paletteOpen.value = true; }} /></header>
    ${open.value && html`<button type="button" class="veil" aria-label=${t.close} onClick=${() => { open.value = false; }}></button>`}
    <aside class="side" aria-label=${t.nav.side} data-open=${open.value ? "true" : "false"}><a class="wordmark" href=${href("/")}><${Mark} />Glovebox</a>
      <button type="button" class="button outline palette-button" onClick=${() => { paletteOpen.value = true; }}><${Icon} name="search" /><span>${t.palette.open}</span><kbd>Ctrl K</kbd></button>
      <nav class="nav" aria-label=${t.nav.label}>${listed.filter((one) => !one.group).map(item)}<div class="label">${t.nav.host}</div>${listed.filter((one) => one.group).map(item)}</nav>
      <div class="side-foot">${isAdmin() && html`<${ProjectSwitch} />`}<${Connection} />
        <div class="who"><div class="grow"><div class="name cut bright" title=${known.key.id}>${known.key.name || known.key.id}</div><div class="dim small cut">${known.admin ? t.admin : known.project}</div></div>
          <${ThemeMenu} icon=${themeIcon} /><${Button} icon="out" label=${t.sign_out} action=${leave} /></div></div></aside>
    <main class="main" id="content">${children}</main></div>`;
}

function ThemeMenu({ icon }) {
  const next = chosen.value === null ? "light" : chosen.value === "light" ? "dark" : null;
  return html`<${Button} icon=${icon} label=${t.theme.now(t.theme[chosen.value ?? "system"])} action=${() => choose(next)} />`;
}
