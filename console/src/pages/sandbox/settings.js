// How long a sandbox lives and what is known of it; the walls around it.
import { html, useSignal } from "../../html.js";
import { t } from "../../texts.js";
import { ask, scope } from "../../api.js";
import { moment } from "../../format.js";
import { Button, Card, Copy, Facts, Grade, Problem, SelectField, Status, TextField } from "../../ui/basics.js";
import { netText, pairs, pairsText, seconds, secondsText } from "../../ui/policy.js";
import { toast } from "../../ui/toast.js";

export default function Settings({ sandbox, base, reload }) {
  const live = !["stopped", "error"].includes(sandbox.state), walls = sandbox.isolation;
  return html`<div class="columns"><div class="stack">${live && html`<${Life} sandbox=${sandbox} base=${base} reload=${reload} />`}
      <${Card} title=${t.box.facts}><${Facts} of=${[[t.box.id, html`<span class="row"><code class="cut">${sandbox.id}</code><${Copy} text=${sandbox.id} /></span>`], [t.box.state, html`<${Status} state=${sandbox.state} />`], sandbox.project && [t.project.one, sandbox.project], [t.box.template, sandbox.template], sandbox.snapshot && [t.box.snapshot, html`<code>${sandbox.snapshot}</code>`], sandbox.agent_id && [t.box.agent, html`<code>${sandbox.agent_id}</code>`],
        [t.box.created, moment(sandbox.created_at)], sandbox.expires_at && [t.box.expires, moment(sandbox.expires_at)], sandbox.ended_at && [t.box.ended, moment(sandbox.ended_at)], sandbox.reason && [t.box.reason, sandbox.reason],
        [t.box.limits, t.sandbox.limits(sandbox.limits)], [t.box.disk, `${sandbox.limits.disk_mb} MB`], [t.box.pids, sandbox.limits.pids], [t.box.net, html`<code>${netText(sandbox.net)}</code>`], sandbox.dependencies?.packages?.length > 0 && [t.box.packages, html`<code>${sandbox.dependencies.packages.join(" ")}</code>`], [t.box.ports, sandbox.private_ports ? t.box.private : t.box.public], [t.box.profile, html`<code>${sandbox.profile}</code>`]]} /><//></div>
    <${Card} title=${t.box.walls} actions=${html`<${Grade} grade=${walls.grade} />`}><p style=${{ marginBottom: "12px" }}>${t.grades[walls.grade]}</p><div class="row wrap">${walls.walls.map((one) => html`<span class="tag" key=${one}>${one}</span>`)}</div>
      ${walls.missing.length > 0 && html`<h3 class="label" style=${{ margin: "16px 0 8px" }}>${t.box.missing}</h3><div class="row wrap">${walls.missing.map((one) => html`<span class="badge busy" key=${one}>${one}</span>`)}</div>`}<//></div>`;
}

function Life({ sandbox, base, reload }) {
  const ttl = useSignal(secondsText(sandbox.ttl_s)), end = useSignal(sandbox.on_timeout), metadata = useSignal(pairsText(sandbox.metadata)), problem = useSignal(null);
  async function save() {
    problem.value = null;
    try {
      const body = { on_timeout: end.value, metadata: pairs(metadata.value) }, ttl_s = seconds(ttl.value);
      if (ttl_s === null) throw new Error(t.create.bad_ttl(ttl.value));
      if (ttl_s !== sandbox.ttl_s) body.ttl_s = ttl_s;
      await ask("PATCH", base, { body, query: { project: scope() } });
      toast(t.box.saved);
      reload();
    } catch (error) { problem.value = error; }
  }
  return html`<${Card} title=${t.box.life}><div class="stack">${problem.value && html`<${Problem} error=${problem.value} />`}<div class="form"><${TextField} name=${t.create.ttl} value=${ttl.value} set=${(text) => { ttl.value = text; }} hint=${t.box.ttl_hint} />
    <${SelectField} name=${t.create.on_timeout} value=${end.value} set=${(one) => { end.value = one; }} options=${[["kill", t.create.kill], ...(sandbox.features.pause ? [["pause", t.create.pause]] : [])]} />
    <${TextField} full area mono name=${t.create.metadata} value=${metadata.value} set=${(text) => { metadata.value = text; }} hint=${t.create.pairs_hint} rows="3" /></div><div class="row"><${Button} kind="filled" action=${save}>${t.save}<//></div></div><//>`;
}
