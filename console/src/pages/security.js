// Which walls stand on this host, and what became of the attacks on them. The attacks are started by a
// command, never by a page.
import { html, useSignal } from "../html.js";
import { t } from "../texts.js";
import { get, isAdmin } from "../api.js";
import { useData, useNow } from "../data.js";
import { Ago, Card, Choice, Command, Empty, Grade, Loaded, Notice, Page } from "../ui/basics.js";

export default function Security() {
  const engines = useData((abort) => get("/v1/engines", {}, { signal: abort }).then((answer) => answer.engines));
  return html`<${Page} title=${t.nav.security} about=${t.security.about}>
    <${Loaded} data=${engines}>${(list) => html`<div class="columns">${list.map((one) => html`<${Engine} key=${one.name} one=${one} />`)}</div>`}<//>${isAdmin() && html`<${Attacks} />`}<//>`;
}

function Walls({ name, walls }) {
  return walls && html`<div class="stack tight"><div class="row wrap"><h3 class="label">${name}</h3><${Grade} grade=${walls.grade} /></div><div class="row wrap">${walls.walls.map((one) => html`<span class="tag" key=${one}>${one}</span>`)}</div>
    ${walls.missing.length > 0 && html`<div class="row wrap"><span class="dim small">${t.overview.missing}</span>${walls.missing.map((one) => html`<span class="badge busy" key=${one}>${one}</span>`)}</div>`}</div>`;
}

function Engine({ one }) {
  const features = Object.entries(one.features).map(([name, value]) => html`<span key=${name} class=${"badge " + (value ? "live" : "")}>${value ? "" : html`<span class="sr">${t.security.without} </span>`}${t.security.features[name] ?? name}${value === null ? " ?" : value ? "" : ` ${t.security.off}`}</span>`);
  return html`<section class="card stack" aria-label=${one.name}><div class="row between"><h2>${one.name}</h2><span class="row">${one.default && html`<span class="badge info">${t.security.default}</span>`}<span class=${"badge " + (one.usable ? "live" : "")}>${one.usable ? t.security.usable : t.security.unusable}</span></span></div>
    <p class="dim">${one.description}</p>${one.reason && html`<${Notice} tone="busy">${one.reason}<//>`}<${Walls} name=${t.security.for_runs} walls=${one.run} /><${Walls} name=${t.security.for_sandboxes} walls=${one.sandbox} />${!one.run && !one.sandbox && html`<p class="dim small">${t.security.not_yet}</p>`}<div class="row wrap">${features}</div></section>`;
}

const OUTCOMES = { stopped: "live", succeeded: "bad", "not-tried": "busy", "kernel-lacks-it": "" };

function Attacks() {
  const data = useData((abort) => get("/v1/attack-report", {}, { signal: abort })), now = useNow(), which = useSignal("all");
  return html`<section class="stack"><h2>${t.security.attacks}</h2><${Loaded} data=${data}>${({ report: got }) => {
    if (!got) return html`<div class="card"><${Empty} icon="security" title=${t.security.no_report} text=${t.security.no_report_text} command="glovebox attack" /></div>`;
    const attacks = got.attacks ?? [], counts = {};
    for (const one of attacks) counts[one.outcome] = (counts[one.outcome] ?? 0) + 1;
    const shown = attacks.filter((one) => which.value === "all" || one.outcome === which.value);
    return html`<${Card}><div class="row wrap between"><div class="row wrap">${Object.entries(OUTCOMES).filter(([name]) => counts[name]).map(([name, tone]) => html`<span key=${name} class=${"badge " + tone}>${counts[name]} ${t.security.outcomes[name]}</span>`)}<span class="dim small"><${Ago} at=${got.at} now=${now} /> · ${t.security.against(got.engine, got.version)}</span></div><${Command} text="glovebox attack" /></div><p class="dim small" style=${{ marginTop: "10px" }}>${t.security.by_command}</p><//>
      <${Choice} label=${t.security.which} value=${which.value} set=${(one) => { which.value = one; }} options=${[["all", t.security.all], ...Object.keys(OUTCOMES).filter((name) => counts[name]).map((name) => [name, t.security.outcomes[name]])]} />
      <div class="table-wrap"><div class="table-scroll attack-list" tabindex="0" role="region" aria-label=${t.security.attacks}><table class="table folding"><thead><tr><th scope="col">${t.security.attack}</th><th scope="col">${t.security.aims_at}</th><th scope="col">${t.security.outcome}</th><th scope="col">${t.security.by}</th></tr></thead>
        <tbody>${shown.map((one) => html`<tr key=${one.name}><td class="mono small bright">${one.name}</td><td class="small hide-small">${one.aims_at}</td><td><span class=${"badge " + OUTCOMES[one.outcome]}>${t.security.outcomes[one.outcome] ?? one.outcome}</span></td><td class="small dim wide-small">${one.by ?? one.detail}</td></tr>`)}</tbody></table></div></div>`;
  }}<//></section>`;
}
