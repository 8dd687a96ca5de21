// Images that sandboxes are made of: what is there, how large, and new ones from an archive.
import { html, useRef, useSignal } from "../html.js";
import { t } from "../texts.js";
import { ask, home, get, isAdmin, scope, uploading } from "../api.js";
import { go, setQuery } from "../router.js";
import { useData, useNow } from "../data.js";
import { bytes, shortId } from "../format.js";
import { Ago, Button, Empty, Facts, Field, Loaded, Menu, Page, Problem, SelectField, TextField, copyText } from "../ui/basics.js";
import { Dialog, confirm } from "../ui/dialog.js";
import { toast } from "../ui/toast.js";
import { tabs } from "./templates.js";

// What a profile names it by.
const nameOf = (one) => one.names[0] ?? one.id;
const asProject = () => (scope() === "*" ? null : scope());
const shell = (text) => (/^[\w.:/@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

export default function Images({ query }) {
  const data = useData((abort) => get("/v1/images", { project: asProject() }, { signal: abort }).then((answer) => answer.images)), now = useNow();
  const load = () => setQuery({ new: 1 });
  return html`<${Page} title=${t.images.title} about=${t.images.about} actions=${html`<${Button} kind="filled" icon="up" action=${load}>${t.images.load}<//>`}>${tabs("images")}
    <${Loaded} data=${data}>${(list) => (list.length === 0 ? html`<div class="card"><${Empty} icon="templates" title=${t.images.none} text=${t.images.none_text} command="docker save python:3.13-slim | glovebox image load -"><${Button} kind="outline" icon="up" action=${load}>${t.images.load}<//><//></div>`
      : html`<${List} list=${list} now=${now} reload=${data.reload} />`)}<//>
    ${query.get("new") && html`<${Load} close=${() => setQuery({ new: null })} done=${data.reload} />`}
    ${query.get("image") && html`<${Shown} one=${(data.value ?? []).find((one) => one.id === query.get("image"))} now=${now} close=${() => setQuery({ image: null })} />`}<//>`;
}

function List({ list, now, reload }) {
  return html`<div class="table-wrap"><div class="table-scroll"><table class="table folding" aria-label=${t.images.title}><thead><tr><th scope="col">${t.images.image}</th><th scope="col" class="end">${t.images.size}</th><th scope="col">${t.images.owner}</th><th scope="col">${t.images.made}</th><th scope="col">${t.images.used}</th><th scope="col">${t.images.state}</th><th class="tight" scope="col"><span class="sr">${t.actions}</span></th></tr></thead>
    <tbody>${list.map((one) => html`<tr key=${one.id}><td><div class="bright cut mono" title=${one.names.join(", ")}>${one.names.join(" · ") || shortId(one.id)}</div><div class="dim small cut mono">${shortId(one.id)}</div></td><td class="num end">${bytes(one.bytes)}</td><td class="small hide-small">${one.public ? t.images.everyone : one.project}</td>
      <td class="dim small hide-small"><${Ago} at=${one.made_at} now=${now} /></td><td class="dim small" data-name=${t.images.used}><${Ago} at=${one.used_at} now=${now} /></td><td><span class="row wrap">${one.in_use ? html`<span class="badge live">${t.packages.in_use}</span>` : html`<span class="badge">${t.packages.unused}</span>`}${one.pinned && html`<span class="badge info">${t.images.pinned}</span>`}</span></td>
      <td class="tight end"><${Menu} label=${t.images.actions_of(nameOf(one))} items=${actions(one, reload)} /></td></tr>`)}</tbody></table></div></div>`;
}

function actions(one, reload) {
  const path = "/v1/images/" + one.id, name = nameOf(one), mine = one.project !== undefined, query = { project: isAdmin() ? one.project : null };
  const change = (body, said) => async () => { await ask("PATCH", path, { body, query }); toast(said(name)); reload(); };
  return [
    { name: t.images.start, icon: "plus", action: () => go(`/sandboxes?new=1&image=${encodeURIComponent(name)}`) },
    { name: t.images.copy_run, icon: "copy", action: () => copyText(`glovebox run --server --image ${shell(name)} -c 'print(1)'`) },
    { name: t.images.details, icon: "info", action: () => setQuery({ image: one.id }) },
    mine && { name: one.pinned ? t.images.unpin : t.images.pin, icon: "check", action: change({ pinned: !one.pinned }, one.pinned ? t.images.unpinned : t.images.is_pinned) },
    isAdmin() && { name: one.public ? t.images.unpublish : t.images.publish, icon: "open", action: change({ public: !one.public }, one.public ? t.images.unpublished : t.images.published) },
    mine && !one.in_use && { name: t.images.remove, icon: "trash", danger: true, action: () => confirm({ title: t.images.remove_title(name), text: t.images.remove_text, verb: t.images.remove, action: async () => { await ask("DELETE", path, { query }); toast(t.images.removed(name)); reload(); } }) },
  ];
}

function Shown({ one, now, close }) {
  if (!one) return null;
  const list = (words) => (words.length ? html`<code>${words.join(" ")}</code>` : "–");
  return html`<${Dialog} wide title=${nameOf(one)} close=${close} submit=${close} foot=${html`<button type="submit" class="button filled" data-first="">${t.done}</button>`}>
    <${Facts} of=${[[t.box.id, html`<code>${one.id}</code>`], [t.images.digest, html`<code>${one.digest}</code>`], [t.images.size, bytes(one.bytes)], [t.images.entries, one.entries], [t.images.layers, one.layers], one.devices_left_out > 0 && [t.images.devices, one.devices_left_out], one.capabilities_lost > 0 && [t.images.capabilities, one.capabilities_lost], [t.images.made, html`<${Ago} at=${one.made_at} now=${now} />`],
      ["USER", one.config.user || "–"], ["WORKDIR", one.config.workdir || "–"], ["ENTRYPOINT", list(one.config.entrypoint)], ["CMD", list(one.config.cmd)], ["ENV", one.config.env.length ? html`<pre class="small mono" tabindex="0">${one.config.env.join("\n")}</pre>` : "–"]]} /><//>`;
}

function Load({ close, done }) {
  const file = useSignal(null), name = useSignal(""), form = useSignal("image"), phase = useSignal(null), sent = useSignal(0), problem = useSignal(null), running = useRef(null);
  const busy = phase.value !== null;
  async function load() {
    if (busy || !file.value) return;
    problem.value = null;
    phase.value = "sending";
    sent.value = 0;
    running.current = new AbortController();
    try {
      const query = { name: name.value.trim(), format: form.value === "tree" ? "tree" : null, project: home() };
      for await (const [event, data] of uploading("/v1/images", { query, file: file.value, type: "application/x-tar", signal: running.current.signal, progress: (part) => { sent.value = part; } })) {
        if (event === "progress") phase.value = data.phase;
        else if (event === "error") throw Object.assign(new Error(data.message), { advice: t.errors.advice[data.code] ?? "" });
        else if (event === "image") { toast(data.new ? t.images.loaded(nameOf(data)) : t.images.was_there(nameOf(data))); done(); close(); }
      }
    } catch (error) { if (error.name !== "AbortError") problem.value = error; }
    phase.value = null;
  }
  const leave = () => { running.current?.abort(); close(); };
  const said = phase.value === "sending" ? t.images.sending(Math.round(sent.value * 100)) : t.phases[phase.value] ?? phase.value;
  return html`<${Dialog} wide title=${t.images.load} close=${leave} submit=${load} foot=${html`<${Button} action=${leave}>${t.cancel}<//><button type="submit" class="button filled" disabled=${busy || !file.value || (form.value === "tree" && !name.value.trim())}>${busy ? t.images.busy : t.images.load}</button>`}>
    ${problem.value && html`<${Problem} error=${problem.value} />`}
    <div class="form"><${Field} full name=${t.images.file} hint=${t.images.file_hint}>${(id, about) => html`<input class="input" id=${id} type="file" aria-describedby=${about} disabled=${busy} onChange=${(event) => { file.value = event.target.files[0] ?? null; }} />`}<//>
      <${SelectField} name=${t.images.form} value=${form.value} set=${(one) => { form.value = one; }} options=${[["image", t.images.forms.image], ["tree", t.images.forms.tree]]} hint=${t.images.form_hints[form.value]} /><${TextField} mono name=${t.images.name} value=${name.value} set=${(text) => { name.value = text; }} hint=${form.value === "tree" ? t.images.name_needed : t.images.name_hint} placeholder="python:3.13-slim" maxlength="255" /></div>
    ${busy && html`<div role="status" class="stack tight"><span class="small">${said}</span><div class=${phase.value === "sending" ? "meter" : "meter busy"} role="progressbar" aria-label=${said}>${phase.value === "sending" && html`<i style=${{ width: sent.value * 100 + "%" }}></i>`}</div></div>`}<//>`;
}
