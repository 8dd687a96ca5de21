// What the server was told, and where from; and what this browser remembers.
import { html, useSignal } from "../html.js";
import { t } from "../texts.js";
import { get, isAdmin, session } from "../api.js";
import { moment } from "../format.js";
import { useData } from "../data.js";
import { setSlash, slash } from "../shortcuts.js";
import { choose, chosen } from "../theme.js";
import { Card, Choice, Empty, Facts, Loaded, Page, Search } from "../ui/basics.js";

export default function Settings() {
  const known = session.value;
  return html`<${Page} title=${t.nav.settings} about=${t.settings.about}><div class="columns"><${Card} title=${t.settings.look}><${Choice} label=${t.settings.theme} value=${chosen.value ?? "system"} set=${(one) => choose(one === "system" ? null : one)} options=${["system", "light", "dark"].map((one) => [one, t.theme[one]])} /><div style=${{ marginTop: "14px" }}><label class="check"><input type="checkbox" checked=${slash.value} onChange=${(event) => setSlash(event.target.checked)} />${t.settings.slash}</label></div><p class="dim small" style=${{ marginTop: "10px" }}>${t.settings.look_text}</p><//>
      <${Card} title=${t.settings.you}><${Facts} of=${[[t.settings.key, html`<span>${known.key.name} <code class="dim">${known.key.id}</code></span>`], [t.project.one, known.project], [t.settings.since, moment(known.created_at)], [t.settings.until, moment(known.expires_at)], [t.settings.version, html`<code>${known.version}</code>`], [t.settings.address, html`<code>${known.public_url ?? location.origin}</code>`], [t.settings.ports_domain, known.domain ? html`<code>${known.domain}</code>` : t.settings.no_domain], [t.settings.licences, html`<a class="inline-link" href=${document.querySelector('meta[name="licences"]')?.content} target="_blank" rel="noopener">${t.settings.licences_link}</a>`]]} /><//></div>
    ${isAdmin() && html`<${Server} />`}<//>`;
}

const short = (value) => (value === null || value === undefined || value === "" || (Array.isArray(value) && !value.length) ? "–" : typeof value === "string" ? value : JSON.stringify(value));

function Server() {
  const data = useData((abort) => get("/v1/settings", {}, { signal: abort }).then((answer) => answer.settings)), words = useSignal(""), only = useSignal("all");
  if (data.error?.code === "route_not_found") return null;
  return html`<section class="stack"><div class="row wrap between"><h2>${t.settings.server}</h2></div><${Loaded} data=${data}>${(all) => {
    const wanted = words.value.toLowerCase(), list = all.filter((one) => (only.value === "all" || one.origin !== "default") && (!wanted || `${one.name} ${one.help}`.toLowerCase().includes(wanted)));
    return html`<div class="filters"><${Search} value=${words.value} set=${(text) => { words.value = text; }} label=${t.settings.search} /><${Choice} label=${t.settings.which} value=${only.value} set=${(one) => { only.value = one; }} options=${[["all", t.settings.all], ["changed", t.settings.changed]]} /></div>
      ${list.length === 0 ? html`<div class="card"><${Empty} icon="settings" title=${t.settings.none} text=${t.settings.none_text} command="glovebox config" /></div>` : html`<div class="table-wrap"><div class="table-scroll"><table class="table folding" aria-label=${t.settings.server}><thead><tr><th scope="col">${t.settings.name}</th><th scope="col">${t.settings.value}</th><th scope="col">${t.settings.origin}</th></tr></thead>
        <tbody>${list.map((one) => html`<tr key=${one.name}><td class="wide-small"><div class="mono bright">${one.name}</div><div class="dim small" style=${{ whiteSpace: "normal" }}>${one.help}</div></td><td><code class="setting-value">${short(one.value)}</code></td><td class="small"><${Origin} text=${one.origin} /></td></tr>`)}</tbody></table></div></div>`}`;
  }}<//></section>`;
}

// "file PATH:LINE", "environment NAME", "flag --set": what kind, and where exactly.
function Origin({ text }) {
  const [kind, ...where] = text.split(" ");
  if (kind === "default") return html`<span class="dim">${t.settings.origins.default}</span>`;
  return html`<span class="badge info">${t.settings.origins[kind] ?? kind}</span><div class="mono small dim" style=${{ overflowWrap: "anywhere" }}>${where.join(" ")}</div>`;
}
