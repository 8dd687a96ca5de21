// Deep links below /console/ by the History API: one signal holds where we are.
import { computed, signal } from "./html.js";

const BASE = "/console";

const here = () => ({ path: decodePath(location.pathname.slice(BASE.length)) || "/", query: new URLSearchParams(location.search) });

// A path that is not UTF-8 is no page of ours.
function decodePath(path) {
  try { return decodeURI(path); } catch { return "/"; }
}

export const place = signal(here());
export const path = computed(() => place.value.path);
export const navigating = signal(false);

export function href(to) {
  return BASE + to;
}

export function go(to, { replace = false } = {}) {
  history[replace ? "replaceState" : "pushState"](null, "", href(to));
  place.value = here();
  if (!replace) window.scrollTo(0, 0);
}

// Changes some of the query and keeps the rest; null takes a name away.
export function setQuery(changes, { replace = true } = {}) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  go(location.pathname.slice(BASE.length) + (text ? "?" + text : ""), { replace });
}

export function startRouter() {
  window.addEventListener("popstate", () => { place.value = here(); });
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    if (link.target || link.hasAttribute("download") || link.origin !== location.origin) return;
    const to = new URL(link.href);
    if (to.pathname !== BASE && !to.pathname.startsWith(BASE + "/")) return;
    if (to.hash && to.pathname === location.pathname) return;
    event.preventDefault();
    go(to.pathname.slice(BASE.length) + to.search || "/");
  });
}

// "/sandboxes/:id/:tab?" against a path: the parameters, or null.
export function match(pattern, given) {
  const wanted = pattern.split("/").filter(Boolean), parts = given.split("/").filter(Boolean), found = {};
  for (let i = 0; i < wanted.length; i++) {
    const optional = wanted[i].endsWith("?"), name = wanted[i].replace(/\?$/, "");
    if (parts[i] === undefined) { if (optional) continue; return null; }
    if (name.startsWith(":")) found[name.slice(1)] = parts[i];
    else if (name !== parts[i]) return null;
  }
  return parts.length > wanted.length ? null : found;
}
