// Images that sandboxes are made of: what is there, how large, and new ones from a registry or an archive.
import { html, useRef, useSignal } from "../html.js";
import { t } from "../texts.js";
import { ask, events, home, get, isAdmin, scope, uploading } from "../api.js";
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
  const load = () => setQuery({ new: 1 }), pull = () => setQuery({ pull: 1 });
  return html`<${Page} title=${t.images.title} about=${t.images.about} actions=${html`<${Button} kind="outline" icon="up" action=${load}>${t.images.load}<//><${Button} kind="filled" icon="down" action=${pull}>${t.images.pull}<//>`}>${tabs("images")}
    <${Loaded} data=${data}>${(list) => (list.length === 0 ? html`<div class="card"><${Empty} icon="templates" title=${t.images.none} text=${t.images.none_text} command="glovebox image pull python:3.13-slim"><${Button} kind="outline" icon="down" action=${pull}>${t.images.pull}<//><//></div>`
      : html`<${List} list=${list} now=${now} reload=${data.reload} />`)}<//>
    ${query.get("new") && html`<${Load} close=${() => setQuery({ new: null })} done=${data.reload} />`}
    ${query.get("pull") && html`<${Pull} close=${() => setQuery({ pull: null })} done=${data.reload} />`}
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

// Something that takes long: `begin` gives its events, the last of which is the image. {phase, text, problem, busy, run, stop}
function useImage(done, close) {
  const step = useSignal(null), problem = useSignal(null), running = useRef(null);
  async function run(first, begin) {
    if (step.value) return;
    problem.value = null;
    step.value = { phase: first, text: "" };
    const abort = (running.current = new AbortController());
    try {
      for await (const [event, data] of begin(abort.signal)) {
        if (event === "progress") step.value = data;
        else if (event === "error") throw Object.assign(new Error(data.message), { advice: t.errors.advice[data.code] ?? "" });
        else if (event === "image") { toast(data.new ? t.images.loaded(nameOf(data)) : t.images.was_there(nameOf(data))); done(); close(); }
      }
    } catch (error) { if (error.name !== "AbortError") problem.value = error; }
    step.value = null;
  }
  return { step, problem, run, busy: step.value !== null, leave: () => { running.current?.abort(); close(); } };
}

const phaseText = ({ phase, text }) => [t.images.phases[phase] ?? t.phases[phase] ?? phase, text].filter(Boolean).join(": ");

function Steps({ said, part = null }) {
  return html`<div role="status" class="stack tight"><span class="small">${said}</span><div class=${part === null ? "meter busy" : "meter"} role="progressbar" aria-label=${said}>${part !== null && html`<i style=${{ width: part * 100 + "%" }}></i>`}</div></div>`;
}

function Load({ close, done }) {
  const file = useSignal(null), name = useSignal(""), form = useSignal("image"), sent = useSignal(0), work = useImage(done, close), step = work.step.value;
  const load = () => {
    if (!file.value) return;
    const query = { name: name.value.trim(), format: form.value === "tree" ? "tree" : null, project: home() };
    sent.value = 0;
    work.run("sending", (signal) => uploading("/v1/images", { query, file: file.value, type: "application/x-tar", signal, progress: (part) => { sent.value = part; } }));
  };
  return html`<${Dialog} wide title=${t.images.load} close=${work.leave} submit=${load} foot=${html`<${Button} action=${work.leave}>${t.cancel}<//><button type="submit" class="button filled" disabled=${work.busy || !file.value || (form.value === "tree" && !name.value.trim())}>${work.busy ? t.images.busy : t.images.load}</button>`}>
    ${work.problem.value && html`<${Problem} error=${work.problem.value} />`}
    <div class="form"><${Field} full name=${t.images.file} hint=${t.images.file_hint}>${(id, about) => html`<input class="input" id=${id} type="file" aria-describedby=${about} disabled=${work.busy} onChange=${(event) => { file.value = event.target.files[0] ?? null; }} />`}<//>
      <${SelectField} name=${t.images.form} value=${form.value} set=${(one) => { form.value = one; }} options=${[["image", t.images.forms.image], ["tree", t.images.forms.tree]]} hint=${t.images.form_hints[form.value]} /><${TextField} mono name=${t.images.name} value=${name.value} set=${(text) => { name.value = text; }} hint=${form.value === "tree" ? t.images.name_needed : t.images.name_hint} placeholder="python:3.13-slim" maxlength="255" /></div>
    ${step && (step.phase === "sending" ? html`<${Steps} said=${t.images.sending(Math.round(sent.value * 100))} part=${sent.value} />` : html`<${Steps} said=${phaseText(step)} />`)}<//>`;
}

function Pull({ close, done }) {
  const name = useSignal(""), user = useSignal(""), password = useSignal(""), work = useImage(done, close);
  const pull = () => {
    const body = { name: name.value.trim() };
    if (!body.name) return;
    if (user.value || password.value) body.credentials = { username: user.value, password: password.value };
    work.run("resolving", (signal) => events("POST", "/v1/images/pull", { body, query: { project: home() }, signal }));
  };
  return html`<${Dialog} wide title=${t.images.pull} close=${work.leave} submit=${pull} foot=${html`<${Button} action=${work.leave}>${t.cancel}<//><button type="submit" class="button filled" disabled=${work.busy || !name.value.trim()}>${work.busy ? t.images.pulling : t.images.pull}</button>`}>
    ${work.problem.value && html`<${Problem} error=${work.problem.value} />`}
    <div class="form"><${TextField} full mono autofocus name=${t.images.name} value=${name.value} set=${(text) => { name.value = text; }} hint=${t.images.pull_hint} placeholder="python:3.13-slim" maxlength="255" />
      <${TextField} name=${t.images.user} value=${user.value} set=${(text) => { user.value = text; }} hint=${t.images.credentials_hint} /><${TextField} name=${t.images.password} type="password" value=${password.value} set=${(text) => { password.value = text; }} autocomplete="new-password" /></div>
    ${work.step.value && html`<${Steps} said=${phaseText(work.step.value)} />`}<//>`;
}
