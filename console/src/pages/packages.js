// Sets of packages that were installed once, in a sandbox of their own, and are read-only since.
import { html, useSignal } from "../html.js";
import { t } from "../texts.js";
import { ask, events, get, home, isAdmin, post, scope } from "../api.js";
import { setQuery } from "../router.js";
import { useData, useNow } from "../data.js";
import { bytes, shortId } from "../format.js";
import { Ago, Button, Empty, Loaded, Menu, Page, Problem, SelectField, TextField } from "../ui/basics.js";
import { Dialog, confirm } from "../ui/dialog.js";
import { words } from "../ui/policy.js";
import { toast } from "../ui/toast.js";
import { tabs } from "./templates.js";

export default function Packages({ query }) {
  const data = useData((abort) => get("/v1/layers", { project: scope() === "*" ? null : scope() }, { signal: abort }).then((answer) => answer.layers), [], { on: (message) => message.type === "event" && /^layer\.(built|removed|corrupt)$/.test(message.event) }), now = useNow();
  const install = () => setQuery({ new: 1 });
  const remove = (one) => confirm({ title: t.packages.remove_title(shortId(one.id)), text: t.packages.remove_text, verb: t.packages.remove, action: async () => { await ask("DELETE", "/v1/layers/" + one.id); toast(t.packages.removed); data.reload(); } });
  const check = (one) => async () => { const answer = await post(`/v1/layers/${one.id}/check`); toast(answer.intact ? t.packages.intact : t.packages.corrupt, answer.intact ? {} : { tone: "bad" }); data.reload(); };
  return html`<${Page} title=${t.packages.title} about=${t.packages.about} actions=${html`<${Button} kind="filled" icon="plus" action=${install}>${t.packages.install}<//>`}>${tabs("packages")}
    <${Loaded} data=${data}>${(list) => list.length === 0 ? html`<div class="card"><${Empty} icon="templates" title=${t.packages.none} text=${t.packages.none_text} command="glovebox run --with humanize -c 'import humanize'" /></div>`
      : html`<div class="table-wrap"><div class="table-scroll"><table class="table folding" aria-label=${t.packages.title}><thead><tr><th scope="col">${t.packages.packages}</th><th scope="col">${t.packages.manager}</th><th scope="col" class="end">${t.packages.size}</th><th scope="col">${t.packages.made}</th><th scope="col">${t.packages.used}</th><th scope="col">${t.packages.state}</th><th class="tight" scope="col"><span class="sr">${t.actions}</span></th></tr></thead>
        <tbody>${list.map((one) => html`<tr key=${one.id}><td><div class="bright cut" title=${one.packages.map((item) => `${item.name} ${item.version}`).join(", ")}>${one.asked.join(" · ") || one.packages.map((item) => item.name).join(" ")}</div><div class="dim small cut">${t.packages.count(one.packages.length)} <span class="mono">${shortId(one.id)}</span></div></td><td class="small">${one.manager}<span class="dim"> ${one.interpreter}</span></td><td class="num end">${bytes(one.bytes)}</td>
          <td class="dim small hide-small"><${Ago} at=${one.made_at} now=${now} /></td><td class="dim small hide-small"><${Ago} at=${one.used_at} now=${now} /></td><td>${one.in_use ? html`<span class="badge live">${t.packages.in_use}</span>` : html`<span class="badge">${t.packages.unused}</span>`}</td>
          <td class="tight end">${isAdmin() && html`<${Menu} label=${t.packages.actions_of(shortId(one.id))} items=${[{ name: t.packages.check, icon: "check", action: check(one) }, { name: t.packages.remove, icon: "trash", danger: true, action: () => remove(one) }]} />`}</td></tr>`)}</tbody></table></div></div>`}<//>
    ${query.get("new") && html`<${Install} close=${() => setQuery({ new: null })} done=${data.reload} />`}<//>`;
}

function Install({ close, done }) {
  const packages = useSignal(""), language = useSignal("python"), lines = useSignal([]), problem = useSignal(null), busy = useSignal(false), phase = useSignal("");
  async function install() {
    const list = words(packages.value);
    if (busy.value || !list.length) return;
    busy.value = true;
    problem.value = null;
    lines.value = [];
    try {
      for await (const [name, data] of events("POST", "/v1/layers", { body: { dependencies: list, language: language.value }, query: { project: home() } })) {
        if (name === "build") { phase.value = data.phase; if (data.text) lines.value = [...lines.value, data.text].slice(-100); }
        else if (name === "error") throw Object.assign(new Error(data.message), { advice: "" });
        else if (name === "layer") { toast(data.built ? t.packages.built : t.packages.was_there); close(); done(); }
      }
    } catch (error) { problem.value = error; }
    busy.value = false;
  }
  return html`<${Dialog} wide title=${t.packages.install} close=${close} submit=${install} foot=${html`<${Button} action=${close}>${t.cancel}<//><button type="submit" class="button filled" disabled=${busy.value || !packages.value.trim()}>${busy.value ? t.phases[phase.value] ?? t.packages.busy : t.packages.install}</button>`}>
    ${problem.value && html`<${Problem} error=${problem.value} />`}<div class="form"><${TextField} full mono name=${t.create.packages} value=${packages.value} set=${(text) => { packages.value = text; }} placeholder="requests pydantic>=2" hint=${t.packages.hint} autofocus /><${SelectField} name=${t.packages.language} value=${language.value} set=${(one) => { language.value = one; }} options=${[["python", t.languages.python], ["node", t.languages.javascript]]} /></div>
    ${lines.value.length > 0 && html`<div class="output" role="log" aria-label=${t.playground.build} tabindex="0">${lines.value.join("\n")}</div>`}<//>`;
}
