// The console begins here: who is signed in, where we are, and which page shows it. Pages are loaded when
// they are first gone to.
import "./style/main.css";
import { html, render, signal, useEffect, useRef, useSignal } from "./html.js";
import { t } from "./texts.js";
import { ApiError, loadSession, project, session, signIn } from "./api.js";
import { go, href, match, navigating, path, place, startRouter } from "./router.js";
import { remembered, startTheme } from "./theme.js";
import { startLive } from "./live.js";
import { slash } from "./shortcuts.js";
import { PLACES, Shell, leave, themeActions } from "./shell.js";
import { SignIn } from "./signin.js";
import { Empty, Link, Notice, Page } from "./ui/basics.js";
import { Asked, confirm } from "./ui/dialog.js";
import { Toasts, complain } from "./ui/toast.js";
import { Palette, paletteOpen, pageActions } from "./ui/palette.js";

const ROUTES = [
  { id: "overview", pattern: "/", load: () => import("./pages/overview.js") },
  { id: "playground", pattern: "/playground", load: () => import("./pages/playground.js") },
  { id: "runs", pattern: "/runs", load: () => import("./pages/runs.js") },
  { id: "run", pattern: "/runs/:id", load: () => import("./pages/run.js") },
  { id: "sandboxes", pattern: "/sandboxes", load: () => import("./pages/sandboxes.js") },
  { id: "sandbox", pattern: "/sandboxes/:id/:tab?", load: () => import("./pages/sandbox.js") },
  { id: "templates", pattern: "/templates", load: () => import("./pages/templates.js") },
  { id: "images", pattern: "/images", load: () => import("./pages/images.js") },
  { id: "packages", pattern: "/packages", load: () => import("./pages/packages.js") },
  { id: "keys", pattern: "/keys", load: () => import("./pages/keys.js") },
  { id: "settings", pattern: "/settings", load: () => import("./pages/settings.js") },
  { id: "security", pattern: "/security", load: () => import("./pages/security.js") },
];

function routeOf(at) {
  for (const route of ROUTES) {
    const parameters = match(route.pattern, at);
    if (parameters) return { ...route, parameters };
  }
  return null;
}

// The page for where we are. The one before stays until the next is loaded.
function Outlet() {
  const shown = useSignal(null), failed = useSignal(null), first = useRef(true);
  const route = routeOf(path.value);
  useEffect(() => {
    let gone = false;
    if (!route) { shown.value = null; return undefined; }
    if (shown.value?.id !== route.id) navigating.value = true;
    pageActions.value = [];
    route.load().then((module) => {
      if (gone) return;
      failed.value = null;
      const another = shown.value?.id !== route.id;
      shown.value = { id: route.id, component: module.default, parameters: route.parameters };
      navigating.value = false;
      if (another && !first.current) requestAnimationFrame(() => document.getElementById("page-title")?.focus({ preventScroll: true }));
      first.current = false;
    }, () => {
      if (gone) return;
      navigating.value = false;
      failed.value = new ApiError(0, "unreachable", t.errors.page_not_loaded);
    });
    return () => { gone = true; };
  }, [path.value]);
  if (failed.value) return html`<${Page} title=${t.errors.page_title}><${Notice} tone="bad">${failed.value.message} <a href=${location.href} class="inline-link" onClick=${() => location.reload()}>${t.errors.reload}</a><//><//>`;
  if (!route) return html`<${Page} title=${t.not_found.title}><${Empty} title=${t.not_found.title} text=${t.not_found.text}><${Link} to="/" button="outline">${t.not_found.back}<//><//><//>`;
  if (!shown.value) return null;
  return html`<${shown.value.component} key=${shown.value.id + (shown.value.parameters.id ?? "")} ...${shown.value.parameters} query=${place.value.query} />`;
}

function App() {
  const known = session.value;
  useEffect(() => {
    const keys = (event) => {
      // Ctrl-K in a terminal is the shell's: it cuts the rest of the line. With Shift it is never.
      const shells = event.ctrlKey && !event.shiftKey && event.target.closest?.(".xterm");
      if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k" && !shells && session.value?.signed_in) {
        event.preventDefault();
        event.stopPropagation();
        paletteOpen.value = !paletteOpen.value;
      }
      if (event.key === "/" && slash.value && !event.ctrlKey && !event.metaKey && !event.altKey && !event.target.closest?.("input, textarea, select, [contenteditable], .xterm, .editor, dialog")) {
        const search = document.querySelector(".page input[type=search]");
        if (search) { event.preventDefault(); search.focus(); }
      }
    };
    // Before editors and terminals take the key.
    document.addEventListener("keydown", keys, true);
    return () => document.removeEventListener("keydown", keys, true);
  }, []);
  const bar = html`<div class="loading-bar" role="progressbar" aria-label=${t.loading}></div>`;
  if (known === null) return html`<main>${bar}</main><${Toasts} />`;
  if (!known.signed_in) return html`<${SignIn} known=${known} /><${Toasts} />`;
  return html`<${Shell} current=${routeOf(path.value)?.id}>${navigating.value && bar}<${Outlet} /><//>
    ${paletteOpen.value && html`<${Palette} places=${PLACES.filter((one) => !one.admin || known.admin).flatMap((one) => [one, ...(one.parts ?? [])]).map((one) => ({ name: t.nav[one.id] ?? t[one.id].title, where: t.palette.page, icon: one.icon, action: () => go(one.to) }))}
      actions=${[...themeActions(), { name: t.sign_out, where: t.palette.action, icon: "out", action: leave }]} />`}
    <${Asked} /><${Toasts} />`;
}

// A page elsewhere can open the console with a link of its own key. Who is signed in already is asked first: else they
// would go on in a session that the sender of the link can read.
function askAboutLink(link) {
  const { key, project: mine } = session.value;
  confirm({ title: t.signin.by_link, text: t.signin.by_link_text(key.name || key.id, mine), verb: t.signin.by_link_verb, danger: false, careful: true, action: () => signIn({ link }) });
}

// A link that signs in leaves the address before anything else is done with it.
function takeLink() {
  const link = new URLSearchParams(location.hash.slice(1)).get("link");
  if (link) history.replaceState(null, "", location.pathname + location.search);
  return link;
}

async function follow(link) {
  if (link && session.value?.signed_in) askAboutLink(link);
  else if (link) await signIn({ link });
}

async function start() {
  startTheme();
  const link = takeLink();
  // In an address that was put into a tab of the console, nothing is loaded anew.
  window.addEventListener("hashchange", () => { follow(takeLink()).catch(complain); });
  startRouter();
  const wanted = remembered("glovebox.project");
  if (wanted) project.value = wanted;
  render(html`<${App} />`, document.getElementById("app"));
  try {
    await loadSession();
    await follow(link);
  } catch (error) {
    if (session.value === null) session.value = { signed_in: false, reason: null, failed: true };
    complain(error);
  }
  startLive();
}

export const started = signal(false);
start().finally(() => { started.value = true; });
