// The dialog that makes a sandbox.
import { html, useSignal } from "../html.js";
import { t } from "../texts.js";
import { home, post, project, isAdmin, session } from "../api.js";
import { go } from "../router.js";
import { Button, Notice, Problem, SelectField, TextField } from "../ui/basics.js";
import { Dialog } from "../ui/dialog.js";
import { NetFields, netPolicy, numberOr, pairs, seconds, words } from "../ui/policy.js";
import { toast } from "../ui/toast.js";

export function CreateSandbox({ templates, snapshot, image, close }) {
  const source = snapshot ?? image;
  const fields = useSignal({ template: "python", name: "", ttl: "30m", on_timeout: "kill", memory: "", cpus: "", disk: "", metadata: "", env: "", packages: "" });
  const net = useSignal({ base: "none", allow: "", deny: "" }), problem = useSignal(null), busy = useSignal(false), more = useSignal(false);
  const field = (name) => ({ value: fields.value[name], set: (value) => { fields.value = { ...fields.value, [name]: value }; } });

  function body() {
    const given = fields.value, ttl = seconds(given.ttl), packages = words(given.packages);
    if (ttl === null || ttl < 1) throw new Error(t.create.bad_ttl(given.ttl));
    const profile = { memory_mb: numberOr(given.memory), cpus: numberOr(given.cpus), disk_mb: numberOr(given.disk), net: netPolicy(net.value) };
    if (packages.length) profile.dependencies = packages;
    for (const name of ["memory_mb", "cpus", "disk_mb"]) if (Number.isNaN(profile[name])) throw new Error(t.create.bad_number(name));
    const made = { ttl_s: ttl, on_timeout: given.on_timeout, profile, metadata: pairs(given.metadata), env: pairs(given.env) };
    if (snapshot) made.snapshot = snapshot;
    else if (image) profile.image = image;
    else made.template = given.template;
    if (given.name.trim()) made.name = given.name.trim();
    return made;
  }

  async function create() {
    if (busy.value) return;
    busy.value = true;
    problem.value = null;
    try {
      const made = await post("/v1/sandboxes", body(), { query: { project: home() } });
      toast(t.create.done(made.name ?? made.id));
      go("/sandboxes/" + made.id);
    } catch (error) {
      problem.value = error;
    }
    busy.value = false;
  }

  return html`<${Dialog} wide title=${snapshot ? t.create.from_snapshot : image ? t.create.from_image : t.create.title} close=${close} submit=${create} foot=${html`<${Button} action=${close}>${t.cancel}<//><button type="submit" class="button filled" disabled=${busy.value}>${busy.value ? t.create.busy : t.create.submit}</button>`}>
    ${isAdmin() && project.value === "*" && html`<p class="dim small">${t.create.project(session.value.project)}</p>`}
    ${problem.value && html`<${Problem} error=${problem.value} />`}
    <div class="form">${source ? html`<${Notice} tone="plain"><span class="mono">${source}</span><//>` : html`<${SelectField} name=${t.create.template} ...${field("template")} options=${templates.map((one) => [one.name, one.name])} hint=${templates.find((one) => one.name === fields.value.template)?.description} />`}
      <${TextField} name=${t.create.name} ...${field("name")} hint=${t.create.name_hint} autofocus maxlength="63" />
      <${TextField} name=${t.create.ttl} ...${field("ttl")} hint=${t.create.ttl_hint} /><${SelectField} name=${t.create.on_timeout} ...${field("on_timeout")} options=${[["kill", t.create.kill], ["pause", t.create.pause]]} /></div>
    <button type="button" class="button" style=${{ alignSelf: "flex-start" }} aria-expanded=${more.value ? "true" : "false"} onClick=${() => { more.value = !more.value; }}>${more.value ? t.create.less : t.create.more}</button>
    ${more.value && html`<div class="form"><${TextField} name=${t.create.memory} ...${field("memory")} inputmode="numeric" placeholder=${t.create.from_template} /><${TextField} name=${t.create.cpus} ...${field("cpus")} inputmode="decimal" placeholder=${t.create.from_template} /><${TextField} name=${t.create.disk} ...${field("disk")} inputmode="numeric" placeholder=${t.create.from_template} />
      <${TextField} full name=${t.create.packages} ...${field("packages")} mono hint=${t.create.packages_hint} placeholder="requests pydantic>=2" />
      <${NetFields} value=${net.value} set=${(value) => { net.value = value; }} />
      <${TextField} area mono name=${t.create.env} ...${field("env")} hint=${t.create.pairs_hint} rows="3" /><${TextField} area mono name=${t.create.metadata} ...${field("metadata")} hint=${t.create.pairs_hint} rows="3" /></div>`}<//>`;
}
