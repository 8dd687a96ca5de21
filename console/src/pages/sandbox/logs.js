// What happened in a sandbox, line by line; followed while the newest is in view.
import { html, useEffect, useRef, useSignal } from "../../html.js";
import { t } from "../../texts.js";
import { get, scope } from "../../api.js";
import { clock } from "../../format.js";
import { useData } from "../../data.js";
import { Empty, Loaded, Search } from "../../ui/basics.js";
import { plain } from "../../ui/output.js";

export default function Logs({ sandbox, base }) {
  const following = useSignal(true), words = useSignal(""), box = useRef(null), live = !["stopped", "error"].includes(sandbox.state);
  const data = useData((abort) => get(base + "/logs", { project: scope(), limit: 256 }, { signal: abort }).then((answer) => answer.entries), [sandbox.id], { every: live ? 2000 : 0 });
  useEffect(() => { if (following.value && box.current) box.current.scrollTop = box.current.scrollHeight; }, [data.value, following.value]);
  const scrolled = () => { const at = box.current; following.value = at.scrollHeight - at.scrollTop - at.clientHeight < 40; };
  return html`<${Loaded} data=${data}>${(entries) => {
    const wanted = words.value.toLowerCase(), shown = entries.filter((one) => !wanted || `${one.kind} ${one.message}`.toLowerCase().includes(wanted));
    if (entries.length === 0) return html`<div class="card"><${Empty} icon="runs" title=${t.logs.none} text=${t.logs.none_text} command=${`glovebox logs ${sandbox.id}`} /></div>`;
    return html`<div class="filters"><${Search} value=${words.value} set=${(text) => { words.value = text; }} label=${t.logs.search} /><label class="check"><input type="checkbox" checked=${following.value} onChange=${(event) => { following.value = event.target.checked; }} />${t.logs.follow}</label><span class="dim small num">${t.logs.count(shown.length, entries.length)}</span></div>
      <div class="log" ref=${box} onScroll=${scrolled} tabindex="0" role="log" aria-label=${t.sandbox.tabs.logs}>${shown.map((one, i) => html`<div key=${i} class="log-line"><time datetime=${one.at}>${clock(one.at)}</time><span class="kind">${one.kind}</span><span class="grow">${plain(one.message)}</span>${one.process !== null && html`<span class="dim">#${one.process}</span>`}</div>`)}</div>`;
  }}<//>`;
}
