// How the host is: what runs, how fast it starts, what happened, and what stands around it.
import { html, useEffect, useMemo, useSignal } from "../html.js";
import { t } from "../texts.js";
import { get, isAdmin, project, scope } from "../api.js";
import { listen } from "../live.js";
import { useData, useNow } from "../data.js";
import { bytes, count, ms } from "../format.js";
import { Ago, Card, Command, Copy, Empty, Grade, Link, Loaded, Notice, Page } from "../ui/basics.js";
import { BYTE_STEPS, Chart } from "../ui/chart.js";
import { EventRow } from "../ui/event_row.js";

// A run's end says all that its start says; the installer's lines are too many.
const isShown = (event) => !["run.started", "layer.progress"].includes(event.event);
const listed = (events) => events.filter(isShown).reverse();
const MOST_SAMPLES = 360, MOST_EVENTS = 50;

export default function Overview() {
  const data = useData((abort) => get("/v1/overview", { project: scope() }, { signal: abort }), [], { every: 60000, on: (message) => message.type === "event" && message.event.startsWith("sandbox.") });
  return html`<${Page} title=${t.overview.title} about=${t.overview.about(isAdmin() && project.value === "*")}
    actions=${html`<${Link} to="/playground" button="outline" icon="play">${t.overview.run}<//><${Link} to="/sandboxes?new=1" button="filled" icon="plus">${t.sandboxes.create}<//>`}>
    <${Loaded} data=${data} lines=${6}>${(first) => html`<${Board} first=${first} />`}<//><//>`;
}

function Board({ first }) {
  const samples = useSignal(first.samples), events = useSignal(listed(first.events)), moved = useSignal(false), now = useNow();
  useEffect(() => { samples.value = first.samples; events.value = listed(first.events); moved.value = false; }, [first]);
  useEffect(() => listen((message) => {
    if (message.type === "sample") {
      if (message.sample.at === samples.value.at(-1)?.at) return;
      samples.value = [...samples.value, message.sample].slice(-MOST_SAMPLES);
      moved.value = true;
    } else if (message.type === "event" && isShown(message)) {
      if (events.value.some((one) => one.id === message.id)) return;
      events.value = [{ at: new Date().toISOString(), ...message }, ...events.value].slice(0, MOST_EVENTS);
    }
  }), []);

  const cards = first.cards, last = moved.value ? samples.value.at(-1) : null;
  const minute = samples.value.slice(-6);
  const sum = (name) => minute.reduce((total, one) => total + (one[name] ?? 0), 0);
  const runs = last ? sum("runs") : cards.runs_per_minute, refusals = last ? sum("refusals") : cards.refusals_per_minute;
  const p50 = last?.p50_ms ?? cards.start_ms.p50, p99 = last?.p99_ms ?? cards.start_ms.p99;
  const [size, unit] = bytes(cards.memory.used_bytes).split(" ");

  const series = useMemo(() => ({
    times: samples.value.map((one) => new Date(one.at).getTime() / 1000),
    of: (name) => samples.value.map((one) => one[name] ?? null),
  }), [samples.value]);
  const runLines = useMemo(() => [{ name: t.overview.runs_10s, tone: "accent", values: series.of("runs"), fill: true }, { name: t.overview.refused, tone: "red", values: series.of("refusals") }], [series]);
  const startLines = useMemo(() => [{ name: "p50", tone: "accent", values: series.of("p50_ms") }, { name: "p99", tone: "amber", values: series.of("p99_ms") }], [series]);
  const boxLines = useMemo(() => [{ name: t.overview.live, tone: "accent", values: series.of("sandboxes"), fill: true }, { name: t.overview.warm, tone: "blue", values: series.of("warm_ready") }], [series]);
  const memoryLines = useMemo(() => [{ name: t.overview.promised, tone: "accent", values: series.of("memory_bytes"), fill: true }], [series]);

  return html`<div class="cards" data-cards>
      <${Metric} name=${t.overview.sandboxes} value=${count(cards.sandboxes.running)} note=${cards.sandboxes.paused ? t.overview.paused(cards.sandboxes.paused) : t.overview.none_paused} />
      <${Metric} name=${t.overview.runs_minute} value=${count(runs)} note=${t.overview.last_minute} />
      <${Metric} name=${t.overview.start} value=${p50 === null ? "–" : number(p50)} unit=${p50 === null ? "" : "ms"} note=${p99 === null ? t.overview.no_runs : t.overview.p99(ms(p99))} />
      <${Metric} name=${t.overview.warm_ready} value=${count(last?.warm_ready ?? cards.warm_ready)} note=${t.overview.waiting} />
      <${Metric} name=${t.overview.memory} value=${size} unit=${unit} note=${cards.memory.limit_bytes ? t.overview.of(bytes(cards.memory.limit_bytes)) : ""} />
      <${Metric} name=${t.overview.refusals} value=${count(refusals)} note=${refusals ? t.overview.refusals_note : t.overview.no_refusals} /></div>
    ${series.times.length > 1 ? html`<div class="columns">
      <${Card}><${Chart} title=${t.overview.chart_runs} times=${series.times} lines=${runLines} form=${count} /><//>
      <${Card}><${Chart} title=${t.overview.chart_start} times=${series.times} lines=${startLines} form=${(n) => (n === 0 ? "0" : ms(n))} /><//>
      <${Card}><${Chart} title=${t.overview.chart_sandboxes} times=${series.times} lines=${boxLines} form=${count} /><//>
      <${Card}><${Chart} title=${t.overview.chart_memory} times=${series.times} lines=${memoryLines} form=${bytes} steps=${BYTE_STEPS} /><//></div>`
    : html`<${Notice} tone="plain">${t.overview.no_samples}<//>`}
    <div class="columns main-side"><${Card} flush title=${t.overview.events}>${events.value.length === 0
      ? html`<${Empty} title=${t.overview.quiet} text=${t.overview.quiet_text} command="glovebox run -c 'print(1 + 1)'" />`
      : html`<ul class="event-list" aria-label=${t.overview.events}>${events.value.slice(0, 14).map((event, i) => html`<${EventRow} key=${event.id ?? i} event=${event} now=${now} />`)}</ul>`}<//>
      <div class="stack"><${Walls} grade=${first.grade} />${isAdmin() && html`<${Doctor} now=${now} />`}</div></div>`;
}

const number = (n) => (n < 10 ? n.toFixed(n < 1 ? 2 : 1) : String(Math.round(n)));

function Metric({ name, value, unit, note }) {
  return html`<div class="card metric"><div class="label">${name}</div><div class="value">${value}${unit && html`<span class="unit">${unit}</span>`}</div><div class="note">${note}</div></div>`;
}

function Walls({ grade }) {
  return html`<${Card} title=${t.overview.isolation}>${grade ? html`<div class="stack tight"><div class="row wrap"><${Grade} grade=${grade.grade} /><span class="dim">${t.overview.by(grade.engine)}</span></div>
      <p>${t.grades[grade.grade]}</p>${grade.missing.length > 0 && html`<div class="row wrap"><span class="dim small">${t.overview.missing}</span>${grade.missing.map((wall) => html`<span class="tag" key=${wall}>${wall}</span>`)}</div>`}
      <${Link} to="/security" class="inline-link small">${t.overview.more_walls}<//></div>` : html`<p class="dim">${t.overview.no_grade}</p>`}<//>`;
}

const FINDING_TONES = { warn: "busy", missing: "bad" };

// Asked when the rest of the page is there: the first time, the host is examined for it.
function Doctor({ now }) {
  const ready = useSignal(false);
  useEffect(() => {
    const soon = window.requestIdleCallback ?? ((call) => setTimeout(call, 300)), never = window.cancelIdleCallback ?? clearTimeout;
    const handle = soon(() => { ready.value = true; }, { timeout: 3000 });
    return () => never(handle);
  }, []);
  return ready.value && html`<${Findings} now=${now} />`;
}

function Findings({ now }) {
  const data = useData((abort) => get("/v1/doctor", {}, { signal: abort })), findings = (data.value?.findings ?? []).filter((found) => found.state !== "ok");
  return html`<${Card} title=${t.overview.doctor} actions=${data.value && html`<span class="dim small"><${Ago} at=${data.value.at} now=${now} /></span>`}><${Loaded} data=${data} lines=${2}>${() => (findings.length === 0 ? html`<p>${t.overview.healthy}</p>`
      : html`<ul class="stack" data-findings>${findings.map((found) => html`<li key=${found.area + found.name} class="finding"><span class=${"badge " + (FINDING_TONES[found.state] ?? "")}>${t.levels[found.state] ?? found.state}</span>
        <div class="grow"><div class="bright">${found.area}: ${found.name}</div><div class="small">${found.detail}</div>${found.fix && html`<div class="row small dim" style=${{ alignItems: "flex-start" }}><code class="grow">${found.fix}</code><${Copy} text=${found.fix} label=${t.copy_command} /></div>`}</div></li>`)}</ul>`)}<//>
      <div style=${{ marginTop: "12px" }}><${Command} text="glovebox doctor" /></div><//>`;
}
