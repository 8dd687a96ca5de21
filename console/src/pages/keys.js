// Keys and the projects they belong to. A secret is shown once, when its key is made.
import { html, useSignal } from "../html.js";
import { t } from "../texts.js";
import { ask, get, post, project, scope, session } from "../api.js";
import { setQuery } from "../router.js";
import { useData, useNow } from "../data.js";
import { Ago, Button, Copy, Empty, Loaded, Notice, Page, Problem, SelectField, TextField } from "../ui/basics.js";
import { Dialog, confirm } from "../ui/dialog.js";
import { numberOr } from "../ui/policy.js";
import { toast } from "../ui/toast.js";

// All keys, or those of one project.
const one = () => (scope() === "*" ? null : scope());

export default function Keys({ query }) {
  const data = useData((abort) => get("/v1/keys", { project: one() }, { signal: abort }).then((answer) => answer.keys)), now = useNow(), revoked = useSignal(false);
  const revoke = (key) => confirm({ title: t.keys.revoke_title(key.name || key.id), text: key.id === session.value.key.id ? t.keys.revoke_own : t.keys.revoke_text, verb: t.keys.revoke, action: async () => { await ask("DELETE", "/v1/keys/" + key.id, { query: { project: one() } }); toast(t.keys.revoked(key.name || key.id)); data.reload(); } });
  return html`<${Page} title=${t.nav.keys} about=${t.keys.about} actions=${html`<${Button} kind="filled" icon="plus" action=${() => setQuery({ new: 1 })}>${t.keys.create}<//>`}>
    <${Loaded} data=${data}>${(keys) => html`<${Groups} keys=${keys.filter((key) => revoked.value || !key.revoked_at)} now=${now} revoke=${revoke} />
      ${keys.some((key) => key.revoked_at) && html`<label class="check"><input type="checkbox" checked=${revoked.value} onChange=${(event) => { revoked.value = event.target.checked; }} />${t.keys.show_revoked}</label>`}`}<//>
    ${query.get("new") && html`<${Create} close=${() => setQuery({ new: null })} done=${data.reload} />`}<//>`;
}

const limitsText = (limits) => [limits.max_in_flight && t.keys.in_flight(limits.max_in_flight), limits.runs_per_minute && t.keys.per_minute(limits.runs_per_minute), limits.max_memory_mb && t.keys.memory(limits.max_memory_mb)].filter(Boolean).join(", ") || t.keys.unlimited;

function Groups({ keys, now, revoke }) {
  const projects = [...new Set(keys.map((key) => key.project))].sort();
  if (!keys.length) return html`<div class="card"><${Empty} icon="keys" title=${t.keys.none} text=${t.keys.none_text} command="glovebox key create --project ci --name nightly" /></div>`;
  return html`${projects.map((name) => html`<section key=${name} class="stack tight"><h2>${name}</h2><div class="table-wrap"><div class="table-scroll"><table class="table folding" aria-label=${t.keys.of(name)}><thead><tr><th scope="col">${t.keys.name}</th><th scope="col">${t.keys.role}</th><th scope="col">${t.keys.limits}</th><th scope="col">${t.keys.made}</th><th scope="col">${t.keys.used}</th><th class="tight" scope="col"><span class="sr">${t.actions}</span></th></tr></thead>
    <tbody>${keys.filter((key) => key.project === name).map((key) => html`<tr key=${key.id}><td><div class="bright cut">${key.name || t.keys.unnamed}</div><div class="mono small dim cut">${key.id}</div></td><td>${key.revoked_at ? html`<span class="badge">${t.states.revoked}</span>` : html`<span class=${"badge " + (key.role === "admin" ? "busy" : "")}>${t.keys.roles[key.role]}</span>`}</td>
      <td class="small wide-small" data-name=${t.keys.limits}>${limitsText(key.limits)}</td><td class="dim small hide-small"><${Ago} at=${key.created_at} now=${now} /></td><td class="dim small" data-name=${t.keys.used}>${key.last_used_at ? html`<${Ago} at=${key.last_used_at} now=${now} />` : t.keys.never}</td><td class="tight end">${!key.revoked_at && html`<${Button} small danger icon="trash" label=${t.keys.revoke_of(key.name || key.id)} action=${() => revoke(key)} />`}</td></tr>`)}</tbody></table></div></div></section>`)}`;
}

function Create({ close, done }) {
  const fields = useSignal({ project: project.value === "*" ? "default" : project.value, name: "", role: "user", max_in_flight: "", runs_per_minute: "", max_memory_mb: "" }), problem = useSignal(null), made = useSignal(null), busy = useSignal(false);
  const field = (name) => ({ value: fields.value[name], set: (value) => { fields.value = { ...fields.value, [name]: value }; } });
  async function create() {
    if (busy.value) return;
    if (made.value) { close(); return; }
    busy.value = true;
    problem.value = null;
    try {
      const given = fields.value, limits = {};
      for (const name of ["max_in_flight", "runs_per_minute", "max_memory_mb"]) {
        const value = numberOr(given[name]);
        if (Number.isNaN(value)) throw new Error(t.create.bad_number(name));
        if (value !== undefined) limits[name] = value;
      }
      made.value = await post("/v1/keys", { project: given.project.trim(), name: given.name.trim(), role: given.role, limits });
      done();
    } catch (error) { problem.value = error; }
    busy.value = false;
  }
  if (made.value) return html`<${Dialog} title=${t.keys.made_title} close=${close} submit=${create} foot=${html`<button type="submit" class="button filled" data-first="">${t.done}</button>`}><${Notice} tone="busy">${t.keys.once}<//><div class="command secret"><code data-secret="">${made.value.key}</code><${Copy} text=${made.value.key} label=${t.keys.copy} /></div><p class="dim small">${t.keys.use} <code class="chip">export GLOVEBOX_API_KEY=…</code></p><//>`;
  return html`<${Dialog} title=${t.keys.create} close=${close} submit=${create} foot=${html`<${Button} action=${close}>${t.cancel}<//><button type="submit" class="button filled" disabled=${busy.value}>${t.keys.create}</button>`}>${problem.value && html`<${Problem} error=${problem.value} />`}
    <div class="form"><${TextField} name=${t.keys.name} ...${field("name")} autofocus maxlength="100" hint=${t.keys.name_hint} /><${TextField} name=${t.project.one} ...${field("project")} mono hint=${t.keys.project_hint} /><${SelectField} full name=${t.keys.role} ...${field("role")} options=${[["user", t.keys.roles.user], ["admin", t.keys.roles.admin]]} hint=${t.keys.role_hints[fields.value.role]} />
      <${TextField} name=${t.keys.max_in_flight} ...${field("max_in_flight")} inputmode="numeric" placeholder=${t.keys.no_limit} /><${TextField} name=${t.keys.runs_per_minute} ...${field("runs_per_minute")} inputmode="numeric" placeholder=${t.keys.no_limit} /><${TextField} name=${t.keys.max_memory} ...${field("max_memory_mb")} inputmode="numeric" placeholder=${t.keys.no_limit} /></div><//>`;
}
