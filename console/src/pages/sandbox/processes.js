// What runs in a sandbox, and signals to it.
import { html } from "../../html.js";
import { t } from "../../texts.js";
import { ask, get, post, scope } from "../../api.js";
import { useData, useNow } from "../../data.js";
import { Ago, Button, Empty, Loaded, Menu, Status } from "../../ui/basics.js";
import { confirm } from "../../ui/dialog.js";
import { toast } from "../../ui/toast.js";

const SIGNALS = ["INT", "TERM", "KILL", "HUP", "USR1", "USR2", "STOP", "CONT"];

export default function Processes({ sandbox, base }) {
  const data = useData((abort) => get(base + "/processes", { project: scope() }, { signal: abort }).then((answer) => answer.processes), [sandbox.id], { every: 3000 });
  const now = useNow(3000);
  const send = (one, signal) => async () => { await post(`${base}/processes/${one.process}/signal`, { signal, group: true }, { query: { project: scope() } }); toast(t.processes.sent(signal, one.process)); data.reload(); };
  const end = (one) => confirm({ title: t.processes.end_title(one.process), text: one.cmd, verb: t.processes.end, action: async () => { await ask("DELETE", `${base}/processes/${one.process}`, { query: { project: scope() } }); toast(t.processes.ended(one.process)); data.reload(); } });
  return html`<${Loaded} data=${data}>${(list) => list.length === 0 ? html`<div class="card"><${Empty} icon="runs" title=${t.processes.none} text=${t.processes.none_text} command=${`glovebox exec ${sandbox.id} -- ps -ef`} /></div>`
    : html`<div class="table-wrap"><div class="table-scroll"><table class="table folding" aria-label=${t.sandbox.tabs.processes}><thead><tr><th scope="col">${t.processes.command}</th><th scope="col">${t.processes.state}</th><th scope="col">${t.processes.pid}</th><th scope="col">${t.processes.user}</th><th scope="col">${t.processes.started}</th><th class="tight" scope="col"><span class="sr">${t.actions}</span></th></tr></thead>
      <tbody>${[...list].reverse().map((one) => html`<tr key=${one.process}><td><div class="mono cut bright" title=${one.cmd}>${one.cmd}</div><div class="dim small cut">${one.kind === "context" ? t.processes.context(one.context) : one.terminal ? t.processes.terminal : one.cwd}</div></td>
        <td><${Status} state=${one.state} text=${one.state === "running" ? t.states.running : one.signal ? t.processes.by_signal(one.signal) : t.processes.exit(one.exit_code)} />${one.oom_killed && html` <span class="badge bad">${t.states.oom_killed}</span>`}</td>
        <td class="mono small hide-small">${one.pid}</td><td class="mono small hide-small">${one.user}</td><td class="dim small"><${Ago} at=${one.started_at} now=${now} /></td>
        <td class="tight end">${one.state === "running" && html`<span class="row"><${Button} small icon="stop" label=${t.processes.end_of(one.process)} action=${() => end(one)} /><${Menu} label=${t.processes.signals_of(one.process)} items=${SIGNALS.map((name) => ({ name: "SIG" + name, action: send(one, name) }))} /></span>`}</td></tr>`)}</tbody></table></div></div>`}<//>`;
}
