// One sandbox: its state and what can be done with it; the rest is in tabs, each loaded when it is shown.
import { html, useEffect, useSignal } from "../html.js";
import { ApiError, get, post, scope } from "../api.js";
import { t } from "../texts.js";
import { go, href, navigating } from "../router.js";
import { useData, useNow } from "../data.js";
import { duration } from "../format.js";
import { Button, Copy, Empty, Grade, Link, Loaded, Menu, Notice, Page, Status, Tabs } from "../ui/basics.js";
import { confirm, prompt } from "../ui/dialog.js";
import { pageActions } from "../ui/palette.js";
import { complain, toast } from "../ui/toast.js";
import { kill, pause, resume } from "./sandboxes.js";

const TABS = {
  terminal: () => import("./sandbox/terminal.js"), files: () => import("./sandbox/files.js"), code: () => import("./sandbox/code.js"), processes: () => import("./sandbox/processes.js"), logs: () => import("./sandbox/logs.js"),
  network: () => import("./sandbox/network.js"), metrics: () => import("./sandbox/metrics.js"), ports: () => import("./sandbox/ports.js"), snapshots: () => import("./sandbox/snapshots.js"), settings: () => import("./sandbox/settings.js"),
};
// What can be seen of a sandbox that has ended.
const AFTER = ["logs", "network", "snapshots", "settings"];

export default function Sandbox({ id, tab = "terminal" }) {
  const data = useData((abort) => get("/v1/sandboxes/" + id, { project: scope() }, { signal: abort }), [id],
    { every: 30000, on: (message) => message.type === "event" && (message.data?.id === id || message.data?.sandbox === id) });
  if (data.error?.status === 404) {
    return html`<${Page} title=${t.sandbox.gone}><${Empty} title=${t.sandbox.gone} text=${t.sandbox.gone_text} command="glovebox sandbox list"><${Link} to="/sandboxes" button="outline">${t.sandbox.all}<//><//><//>`;
  }
  if (!data.value) return html`<${Page} title=${t.sandbox.title}><${Loaded} data=${data} /><//>`;
  return html`<${One} sandbox=${data.value} tab=${tab} reload=${data.reload} error=${data.error} />`;
}

function One({ sandbox, tab, reload, error }) {
  const now = useNow(), live = !["stopped", "error"].includes(sandbox.state), name = sandbox.name ?? sandbox.id;
  const names = Object.keys(TABS).filter((one) => live || AFTER.includes(one)), current = names.includes(tab) ? tab : names[0];
  const shown = useSignal(null);
  useEffect(() => {
    let gone = false;
    navigating.value = true;
    TABS[current]().then((module) => { if (!gone) { shown.value = { id: current, component: module.default }; navigating.value = false; } },
      () => { if (!gone) { navigating.value = false; complain(new ApiError(0, "unreachable", t.errors.page_not_loaded)); } });
    return () => { gone = true; };
  }, [current]);

  const snapshot = () => prompt({ title: t.sandbox.snapshot, name: t.sandbox.snapshot_name, verb: t.sandbox.snapshot_verb, value: name.slice(0, 40), hint: t.sandbox.snapshot_hint,
    action: async (text) => { await post(`/v1/sandboxes/${sandbox.id}/snapshots`, { name: text.trim() }, { query: { project: scope() } }); toast(t.sandbox.snapshot_done); go(`/sandboxes/${sandbox.id}/snapshots`); } });
  const actions = [
    sandbox.state === "running" && sandbox.features.pause && { name: t.sandboxes.pause, icon: "pause", action: async () => { await pause(sandbox); toast(t.sandboxes.paused(name)); reload(); } },
    sandbox.state === "paused" && { name: t.sandboxes.resume, icon: "play", action: async () => { await resume(sandbox); toast(t.sandboxes.resumed(name)); reload(); } },
    live && { name: t.sandbox.keepalive, icon: "clock", action: async () => { await post(`/v1/sandboxes/${sandbox.id}/keepalive`, {}, { query: { project: scope() } }); toast(t.sandbox.kept); reload(); } },
    sandbox.state === "running" && { name: t.sandbox.snapshot, icon: "camera", action: snapshot },
  ].filter(Boolean);
  const end = () => confirm({ title: t.sandboxes.kill_title(name), text: t.sandboxes.kill_text, verb: t.sandboxes.kill, action: async () => { await kill(sandbox); toast(t.sandboxes.killed(name)); reload(); } });
  useEffect(() => { pageActions.value = [...actions, ...names.map((one) => ({ name: t.sandbox.tabs[one], icon: "right", action: () => go(`/sandboxes/${sandbox.id}/${one}`) }))]; }, [sandbox.state]);

  const left = live && sandbox.expires_at ? (new Date(sandbox.expires_at) - now) / 1000 : null;
  return html`<${Page} wide title=${name} head=${html`<span class="row wrap"><span class="cut">${name}</span><${Status} state=${sandbox.state} /></span>`}
    crumbs=${html`<a href=${href("/sandboxes")}>${t.nav.sandboxes}</a><span aria-hidden="true">/</span><span class="mono cut">${sandbox.id}</span><${Copy} text=${sandbox.id} label=${t.sandbox.copy_id} />`}
    about=${html`<span class="row wrap small" style=${{ gap: "4px 14px" }}><span>${sandbox.template}</span><${Grade} grade=${sandbox.isolation.grade} /><span class="num">${t.sandbox.limits(sandbox.limits)}</span>${left !== null && html`<span class="num">${t.sandbox.left(duration(left), sandbox.on_timeout)}</span>`}</span>`}
    actions=${live && html`${actions.slice(0, 1).map((one) => html`<${Button} key=${one.name} kind="outline" icon=${one.icon} action=${one.action}>${one.name}<//>`)}
      <${Button} kind="outline" danger icon="trash" action=${end}>${t.sandboxes.kill}<//>${actions.length > 1 && html`<${Menu} label=${t.sandbox.more} items=${actions.slice(1)} />`}`}>
    ${error && html`<${Notice} tone="busy">${error.message}<//>`}
    ${sandbox.reason && !live && html`<${Notice} tone=${sandbox.state === "error" ? "bad" : "plain"}>${t.sandbox.ended(sandbox.reason)}<//>`}
    <${Tabs} label=${t.sandbox.parts} current=${current} tabs=${names.map((one) => ({ id: one, name: t.sandbox.tabs[one], to: `/sandboxes/${sandbox.id}/${one}` }))} />
    ${sandbox.state === "paused" && ["terminal", "files", "code", "processes"].includes(current)
      ? html`<${Empty} icon="pause" title=${t.sandbox.is_paused} text=${t.sandbox.is_paused_text}><${Button} kind="filled" icon="play" action=${actions[0].action}>${t.sandboxes.resume}<//><//>`
      : shown.value && shown.value.id === current ? html`<${shown.value.component} sandbox=${sandbox} reload=${reload} base=${"/v1/sandboxes/" + sandbox.id} />` : html`<div class="skeleton" style=${{ height: "220px" }}></div>`}<//>`;
}
