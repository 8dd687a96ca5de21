// The files of a sandbox as they were: kept, and begun from again.
import { html } from "../../html.js";
import { t } from "../../texts.js";
import { ask, get, post, scope } from "../../api.js";
import { go } from "../../router.js";
import { bytes } from "../../format.js";
import { useData, useNow } from "../../data.js";
import { Ago, Button, Empty, Loaded, Menu } from "../../ui/basics.js";
import { confirm, prompt } from "../../ui/dialog.js";
import { toast } from "../../ui/toast.js";

export default function Snapshots({ sandbox, base }) {
  const data = useData((abort) => get("/v1/snapshots", { project: scope() }, { signal: abort }).then((answer) => answer.snapshots.filter((one) => one.sandbox === sandbox.id)), [sandbox.id]), now = useNow();
  const take = () => prompt({ title: t.sandbox.snapshot, name: t.sandbox.snapshot_name, verb: t.sandbox.snapshot_verb, value: sandbox.name ?? "snapshot", hint: t.sandbox.snapshot_hint,
    action: async (name) => { await post(base + "/snapshots", { name: name.trim() }, { query: { project: scope() } }); toast(t.sandbox.snapshot_done); data.reload(); } });
  const actions = (one) => [
    { name: t.snapshots.start, icon: "plus", action: () => go(`/sandboxes?new=1&snapshot=${one.id}`) },
    { name: t.snapshots.template, icon: "templates", action: () => prompt({ title: t.snapshots.template, name: t.templates.name, verb: t.templates.create, hint: t.templates.name_hint, action: async (name) => { await post("/v1/templates", { name: name.trim(), snapshot: one.id }, { query: { project: scope() === "*" ? null : scope() } }); toast(t.templates.created(name.trim())); go("/templates"); } }) },
    { name: t.snapshots.delete, icon: "trash", danger: true, action: () => confirm({ title: t.snapshots.delete_title(one.name ?? one.id), text: t.snapshots.delete_text, verb: t.snapshots.delete, action: async () => { await ask("DELETE", "/v1/snapshots/" + one.id, { query: { project: scope() } }); toast(t.snapshots.deleted); data.reload(); } }) },
  ];
  const button = sandbox.state === "running" && html`<${Button} kind="outline" icon="camera" action=${take}>${t.sandbox.snapshot}<//>`;
  return html`<${Loaded} data=${data}>${(list) => list.length === 0 ? html`<div class="card"><${Empty} icon="camera" title=${t.snapshots.none} text=${t.snapshots.none_text} command=${`glovebox sandbox snapshot ${sandbox.id}`}>${button}<//></div>`
    : html`<div class="stack"><div>${button}</div><div class="table-wrap"><div class="table-scroll"><table class="table folding" aria-label=${t.sandbox.tabs.snapshots}><thead><tr><th scope="col">${t.snapshots.name}</th><th scope="col" class="end">${t.snapshots.size}</th><th scope="col" class="end">${t.snapshots.files}</th><th scope="col">${t.snapshots.made}</th><th class="tight" scope="col"><span class="sr">${t.actions}</span></th></tr></thead>
      <tbody>${list.map((one) => html`<tr key=${one.id}><td><div class="bright cut">${one.name ?? one.id}</div><div class="mono small dim cut">${one.id}</div></td><td class="end num">${bytes(one.bytes)}</td><td class="end num hide-small">${one.files}</td><td class="dim small"><${Ago} at=${one.created_at} now=${now} /></td><td class="tight end"><${Menu} label=${t.snapshots.actions_of(one.name ?? one.id)} items=${actions(one)} /></td></tr>`)}</tbody></table></div></div></div>`}<//>`;
}
