// What a sandbox asked of the network, what was decided, and its policy.
import { html, useSignal } from "../../html.js";
import { t } from "../../texts.js";
import { ask, get, scope } from "../../api.js";
import { bytes } from "../../format.js";
import { useData, useNow } from "../../data.js";
import { Ago, Button, Card, Empty, Facts, Loaded, Notice } from "../../ui/basics.js";
import { NetFields, netFields, netPolicy, netText } from "../../ui/policy.js";
import { toast } from "../../ui/toast.js";

const targetOf = (one) => `${one.name ?? one.address ?? "?"}${one.port ? ":" + one.port : ""}`;

export default function Network({ sandbox, base, reload }) {
  const live = !["stopped", "error"].includes(sandbox.state), now = useNow();
  const data = useData((abort) => get(base + "/network", { project: scope() }, { signal: abort }), [sandbox.id], { every: live ? 5000 : 0, on: (message) => message.type === "event" && message.event.startsWith("network.") && (message.data.sandbox === sandbox.id || message.data.id === sandbox.id) });
  async function change(net, said) {
    await ask("PATCH", base, { body: { net }, query: { project: scope() } });
    toast(said);
    data.reload();
    reload();
  }
  const allow = (rule) => async () => {
    const fields = netFields(data.value.net);
    await change(netPolicy({ ...fields, allow: [fields.allow, rule].filter(Boolean).join("\n") }), t.network.allowed(rule));
  };
  return html`<${Loaded} data=${data}>${(got) => html`<div class="columns main-side"><div class="stack">
      ${got.incomplete && html`<${Notice} tone="busy">${t.network.incomplete}<//>`}
      ${got.refusals.length > 0 && html`<${Card} flush title=${t.network.refused}><ul>${got.refusals.map((one, i) => html`<li key=${i} class="refusal"><div class="grow"><div class="mono bright">${targetOf(one)}</div><div class="dim small">${one.message}</div></div>
        ${one.allow && live && html`<${Button} small kind="outline" icon="check" action=${allow(one.allow)} label=${t.network.allow_of(one.allow)}>${t.network.allow}<//>`}</li>`)}</ul><//>`}
      ${got.decisions.length === 0 ? html`<div class="card"><${Empty} icon="link" title=${t.network.none} text=${netText(got.net) === "none" ? t.network.no_network : t.network.none_text} command=${`glovebox sandbox create --net https-only`} /></div>`
        : html`<div class="table-wrap"><div class="table-scroll"><table class="table folding" aria-label=${t.network.decisions}><thead><tr><th scope="col">${t.network.target}</th><th scope="col">${t.network.decision}</th><th scope="col">${t.network.rule}</th><th scope="col" class="end">${t.network.times}</th><th scope="col" class="end">${t.network.sent}</th><th scope="col" class="end">${t.network.received}</th><th scope="col">${t.network.last}</th></tr></thead>
          <tbody>${[...got.decisions].reverse().map((one, i) => html`<tr key=${i}><td><div class="mono cut bright">${targetOf(one)}</div><div class="dim small">${t.network.what[one.what]}</div></td><td><span class=${"badge " + (one.allowed ? "live" : "bad")}>${one.allowed ? t.network.is_allowed : t.network.is_refused}</span></td>
            <td class="mono small cut hide-small">${one.rule}</td><td class="num end hide-small">${one.count}</td><td class="num end hide-small">${bytes(one.bytes_out)}</td><td class="num end hide-small">${bytes(one.bytes_in)}</td><td class="dim small wide-small"><${Ago} at=${one.last_at} now=${now} /></td></tr>`)}</tbody></table></div>
          ${got.left_out > 0 && html`<div class="table-foot">${t.network.left_out(got.left_out)}</div>`}</div>`}</div>
    <div class="stack"><${Card} title=${t.network.figures}><${Facts} of=${[[t.network.policy, html`<code>${netText(got.net)}</code>`], [t.network.connections, got.connections], [t.network.open, got.open], [t.network.denied, got.denied], [t.network.names, got.names], [t.network.sent, bytes(got.bytes_out)], [t.network.received, bytes(got.bytes_in)], got.spent.length > 0 && [t.network.spent, got.spent.join(", ")]]} /><//>
      ${live && html`<${Policy} key=${JSON.stringify(got.net)} net=${got.net} change=${change} />`}</div></div>`}<//>`;
}

function Policy({ net, change }) {
  const fields = useSignal(netFields(net)), same = JSON.stringify(netPolicy(fields.value)) === JSON.stringify(netPolicy(netFields(net)));
  return html`<${Card} title=${t.network.edit}><div class="stack"><${NetFields} value=${fields.value} set=${(value) => { fields.value = value; }} />
    <div class="row between"><span class="dim small">${t.network.at_once}</span><${Button} kind="filled" disabled=${same} action=${() => change(netPolicy(fields.value), t.network.saved)}>${t.save}<//></div></div><//>`;
}
