// What a sandbox uses, now and in the last minutes.
import { html, useMemo } from "../../html.js";
import { t } from "../../texts.js";
import { get, scope } from "../../api.js";
import { bytes, count } from "../../format.js";
import { useData } from "../../data.js";
import { Card, Empty, Loaded } from "../../ui/basics.js";
import { BYTE_STEPS, Chart } from "../../ui/chart.js";

export default function Metrics({ sandbox, base }) {
  const data = useData((abort) => get(base + "/metrics", { project: scope() }, { signal: abort }), [sandbox.id], { every: 5000 });
  return html`<${Loaded} data=${data}>${(got) => html`<${Shown} got=${got} sandbox=${sandbox} />`}<//>`;
}

function Bar({ name, value, of, form }) {
  const part = of && value !== null ? Math.min(1, value / of) : 0;
  return html`<div class="card metric"><div class="label">${name}</div><div class="value">${form(value).split(" ")[0]}<span class="unit">${form(value).split(" ")[1] ?? ""}</span></div>
    <div class="meter" role="meter" aria-label=${name} aria-valuenow=${Math.round(part * 100)} aria-valuemin="0" aria-valuemax="100"><i style=${{ width: part * 100 + "%" }}></i></div><div class="note">${of ? t.metrics.of(form(of)) : ""}</div></div>`;
}

function Shown({ got, sandbox }) {
  const now = got.now, history = got.history;
  const times = useMemo(() => history.map((one) => new Date(one.at).getTime() / 1000), [history]);
  // CPUs used: processor time between two points by the time between them.
  const cpus = useMemo(() => history.map((one, i) => {
    const before = history[i - 1];
    if (!before || one.cpu_us === null || before.cpu_us === null) return null;
    return Math.max(0, (one.cpu_us - before.cpu_us) / 1e6 / Math.max(0.001, times[i] - times[i - 1]));
  }), [history]);
  const chart = (name, values, form, tone = "accent") => html`<${Card}><${Chart} title=${name} times=${times} lines=${[{ name: t.metrics.now, tone, values, fill: true }]} form=${form} steps=${form === bytes ? BYTE_STEPS : undefined} /><//>`;
  const latest = cpus.at(-1) ?? null, cpuForm = (n) => (n === null || n === undefined ? "–" : n.toFixed(2));
  return html`<div class="stack"><div class="cards"><${Bar} name=${t.metrics.cpu} value=${latest} of=${sandbox.limits.cpus} form=${cpuForm} /><${Bar} name=${t.metrics.memory} value=${now.memory_bytes} of=${now.memory_limit_bytes} form=${bytes} />
      <${Bar} name=${t.metrics.disk} value=${now.disk_bytes} of=${now.disk_limit_bytes} form=${bytes} /><${Bar} name=${t.metrics.processes} value=${now.processes} of=${now.processes_limit} form=${count} /></div>
    ${history.length > 1 ? html`<div class="columns">${chart(t.metrics.cpu, cpus, cpuForm)}${chart(t.metrics.memory, history.map((one) => one.memory_bytes), bytes)}${chart(t.metrics.disk, history.map((one) => one.disk_bytes), bytes, "blue")}${chart(t.metrics.processes, history.map((one) => one.processes), count, "amber")}</div>`
    : html`<div class="card"><${Empty} icon="overview" title=${t.metrics.young} text=${t.metrics.young_text} command=${`glovebox top`} /></div>`}</div>`;
}
