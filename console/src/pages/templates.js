// What sandboxes are made of: templates, and (in the other tab) the packages that were installed for them.
import { html, useSignal } from "../html.js";
import { t } from "../texts.js";
import { ask, get, home, post, scope } from "../api.js";
import { setQuery } from "../router.js";
import { useData } from "../data.js";
import { bytes } from "../format.js";
import { Button, Facts, Loaded, Menu, Notice, Page, Problem, SelectField, Status, Tabs, TextField } from "../ui/basics.js";
import { Dialog, confirm } from "../ui/dialog.js";
import { numberOr, pairs, words } from "../ui/policy.js";
import { toast } from "../ui/toast.js";

export const tabs = (current) => html`<${Tabs} label=${t.templates.parts} current=${current} tabs=${[{ id: "templates", name: t.nav.templates, to: "/templates" }, { id: "packages", name: t.packages.title, to: "/packages" }, { id: "images", name: t.images.title, to: "/images" }]} />`;

export default function Templates({ query }) {
  const project = scope() === "*" ? null : scope();
  const data = useData((abort) => get("/v1/templates", { project }, { signal: abort }).then((answer) => answer.templates), [], { on: (message) => message.type === "event" && message.event === "template.changed" });
  return html`<${Page} title=${t.nav.templates} about=${t.templates.about} actions=${html`<${Button} kind="filled" icon="plus" action=${() => setQuery({ new: 1 })}>${t.templates.create}<//>`}>${tabs("templates")}
    <${Loaded} data=${data}>${(list) => html`<div class="template-grid">${list.map((one) => html`<${Template} key=${one.name} one=${one} reload=${data.reload} project=${project} />`)}</div>
      ${query.get("new") && html`<${Create} bases=${list.filter((one) => !one.project)} close=${() => setQuery({ new: null })} done=${data.reload} />`}`}<//><//>`;
}

function Template({ one, reload, project }) {
  const remove = () => confirm({ title: t.templates.delete_title(one.name), text: t.templates.delete_text, verb: t.templates.delete, action: async () => { await ask("DELETE", "/v1/templates/" + one.name, { query: { project } }); toast(t.templates.deleted(one.name)); reload(); } });
  const limits = one.profile;
  return html`<section class="card" aria-label=${one.name}><div class="row between" style=${{ marginBottom: "6px", alignItems: "flex-start" }}><h2 class="cut">${one.name}</h2><span class="row"><${Status} state=${one.state} />${one.project && html`<${Menu} label=${t.templates.actions_of(one.name)} items=${[{ name: t.templates.delete, icon: "trash", danger: true, action: remove }]} />`}</span></div>
    <p class="dim small" style=${{ marginBottom: "12px" }}>${one.description}</p>
    <${Facts} of=${[[t.templates.language, t.languages[one.language] ?? one.language], one.from && [t.templates.from, one.from], one.snapshot && [t.box.snapshot, html`<code>${one.snapshot}</code>`], one.preload.length > 0 && [t.templates.preload, html`<span class="mono small">${one.preload.join(" ")}</span>`], one.dependencies?.packages?.length > 0 && [t.packages.title, html`<span class="mono small">${one.dependencies.packages.join(" ")}</span>`],
      [t.templates.limits, t.templates.limits_text(bytes(limits.memory_mb * 1048576), limits.cpu_thousandths / 1000, limits.timeout_ms / 1000)], [t.templates.warm, t.templates.warm_text(one.zygotes, one.pool?.min ?? 0, one.pool?.max ?? one.pool?.min ?? 0)], [t.templates.owner, one.project ?? (one.built_in ? t.templates.built_in : t.templates.administrator)]]} />
    ${one.error && html`<div style=${{ marginTop: "12px" }}><${Notice} tone="bad"><pre class="small mono" tabindex="0" style=${{ maxHeight: "160px", overflow: "auto" }}>${one.error}</pre><//></div>`}</section>`;
}

function Create({ bases, close, done }) {
  const fields = useSignal({ name: "", from: "python", description: "", packages: "", preload: "", env: "", memory: "", waiting: "" }), problem = useSignal(null), busy = useSignal(false);
  const field = (name) => ({ value: fields.value[name], set: (value) => { fields.value = { ...fields.value, [name]: value }; } });
  async function create() {
    if (busy.value) return;
    busy.value = true;
    problem.value = null;
    try {
      const given = fields.value, packages = words(given.packages), profile = { memory_mb: numberOr(given.memory) }, body = { name: given.name.trim(), from: given.from, env: pairs(given.env), preload: words(given.preload) };
      if (Number.isNaN(profile.memory_mb)) throw new Error(t.create.bad_number("memory_mb"));
      if (given.description.trim()) body.description = given.description.trim();
      if (packages.length) profile.dependencies = packages;
      if (Object.values(profile).some((value) => value !== undefined)) body.profile = profile;
      if (numberOr(given.waiting)) body.pool = { min: numberOr(given.waiting) };
      await post("/v1/templates", body, { query: { project: home() } });
      toast(t.templates.created(body.name));
      close();
      done();
    } catch (error) { problem.value = error; }
    busy.value = false;
  }
  return html`<${Dialog} wide title=${t.templates.create} close=${close} submit=${create} foot=${html`<${Button} action=${close}>${t.cancel}<//><button type="submit" class="button filled" disabled=${busy.value}>${busy.value ? t.templates.busy : t.templates.create}</button>`}>
    ${problem.value && html`<${Problem} error=${problem.value} />`}<div class="form"><${TextField} name=${t.templates.name} ...${field("name")} hint=${t.templates.name_hint} autofocus /><${SelectField} name=${t.templates.from} ...${field("from")} options=${bases.map((one) => [one.name, one.name])} />
      <${TextField} full name=${t.templates.description} ...${field("description")} maxlength="200" /><${TextField} full mono name=${t.create.packages} ...${field("packages")} placeholder="requests pydantic>=2" hint=${t.templates.packages_hint} /><${TextField} full mono name=${t.templates.preload} ...${field("preload")} placeholder="numpy pandas" hint=${t.templates.preload_hint} />
      <${TextField} name=${t.create.memory} ...${field("memory")} inputmode="numeric" placeholder=${t.templates.as_base} /><${TextField} name=${t.templates.waiting} ...${field("waiting")} inputmode="numeric" placeholder="0" /><${TextField} full area mono name=${t.create.env} ...${field("env")} rows="3" hint=${t.create.pairs_hint} /></div><//>`;
}
