// Code in, result out: one run in a fresh sandbox, as it happens, and the same as a program would ask for it.
import { html, signal, useEffect, useSignal } from "../html.js";
import { t } from "../texts.js";
import { events, get, isAdmin, project, scope, session } from "../api.js";
import { useData } from "../data.js";
import { bytes, ms } from "../format.js";
import { Button, Card, Choice, Empty, Facts, Grade, Link, Menu, Notice, Page, Problem, Select, SelectField, Status, TextField, copyText } from "../ui/basics.js";
import { Editor } from "../ui/editor.js";
import { Fault, Output, RichList } from "../ui/output.js";
import { stream } from "../ui/stream.js";
import { NetFields, netPolicy, numberOr, pairs, words } from "../ui/policy.js";
import { pageActions } from "../ui/palette.js";
import * as snippets from "../snippets.js";

const KEPT = "glovebox.playground";
const LANGUAGES = ["python", "javascript", "shell"];
const empty = { language: "python", template: "", timeout: "", memory: "", cpus: "", packages: "", stdin: "", env: "", min_grade: "" };

// The draft of another key's holder is not shown.
const who = () => session.value.key.id;
function kept() {
  try {
    const draft = JSON.parse(sessionStorage.getItem(KEPT));
    return draft?.by === who() ? draft : {};
  } catch { return {}; }
}
// One draft for the tab: another page and back does not lose it.
const before = kept();
const code = signal(before.code ?? t.playground.examples.python), fields = signal({ ...empty, ...before.fields }), net = signal(before.net ?? { base: "none", allow: "", deny: "" });
const run = signal(null);

// Another page gives code to try.
export function give(request) {
  code.value = request.code ?? "";
  fields.value = { ...empty, language: request.language ?? "python", template: request.template ?? "" };
  run.value = null;
}

function requestOf() {
  const given = fields.value, packages = words(given.packages), env = pairs(given.env), policy = netPolicy(net.value);
  const profile = { timeout_ms: given.timeout === "" ? undefined : Math.round(Number(given.timeout) * 1000), memory_mb: numberOr(given.memory), cpus: numberOr(given.cpus) };
  for (const [name, value] of Object.entries(profile)) if (Number.isNaN(value)) throw new Error(t.create.bad_number(name));
  if (policy !== "none") profile.net = policy;
  if (packages.length) profile.dependencies = packages;
  const request = { code: code.value };
  if (given.template) request.template = given.template; else request.language = given.language;
  if (given.stdin) request.stdin = given.stdin;
  if (Object.keys(env).length) request.env = env;
  if (given.min_grade) request.min_grade = given.min_grade;
  if (Object.values(profile).some((value) => value !== undefined)) request.profile = profile;
  return request;
}

async function start() {
  run.value?.abort.abort();
  const one = { abort: new AbortController(), state: signal("running"), builds: signal([]), output: stream(), results: signal([]), error: signal(null), exit: signal(null), problem: signal(null) };
  run.value = one;
  try {
    const request = requestOf();
    for await (const [name, data] of events("POST", "/v1/run", { body: request, signal: one.abort.signal })) {
      if (name === "stdout" || name === "stderr") one.output.add(name, data);
      else if (name === "result") one.results.value = [...one.results.value, data.mime];
      else if (name === "build") one.builds.value = [...one.builds.value, data].slice(-200);
      else if (name === "error") one.error.value = data;
      else if (name === "exit") one.exit.value = data;
    }
    one.output.flush();
    one.state.value = one.exit.value ? (one.exit.value.timed_out ? "timed_out" : one.exit.value.oom_killed ? "oom_killed" : one.exit.value.exit_code === 0 ? "ok" : "failed") : "failed";
  } catch (error) {
    one.output.flush();
    if (error.name !== "AbortError") one.problem.value = error;
    one.state.value = error.name === "AbortError" ? "cancelled" : "error";
  }
}

export default function Playground() {
  const templates = useData((abort) => get("/v1/templates", { project: scope() === "*" ? null : scope() }, { signal: abort }).then((answer) => answer.templates)), more = useSignal(false);
  const field = (name) => ({ value: fields.value[name], set: (value) => { fields.value = { ...fields.value, [name]: value }; } });
  useEffect(() => { sessionStorage.setItem(KEPT, JSON.stringify({ by: who(), code: code.value, fields: fields.value, net: net.value })); }, [code.value, fields.value, net.value]);
  useEffect(() => { pageActions.value = [{ name: t.playground.run, icon: "play", action: start }]; }, []);
  const template = (templates.value ?? []).find((one) => one.name === fields.value.template), language = template?.language ?? fields.value.language;
  const setLanguage = (name) => {
    const known = Object.values(t.playground.examples);
    if (known.includes(code.value) || !code.value.trim()) code.value = t.playground.examples[name] ?? code.value;
    fields.value = { ...fields.value, language: name, template: "" };
  };
  const running = run.value?.state.value === "running";
  const copyAs = (form, name) => ({ name, icon: "copy", action: () => copyText(snippets[form](requestOf()), t.playground.copied(name)) });

  return html`<${Page} wide title=${t.nav.playground} about=${t.playground.about}
    actions=${html`<${Menu} icon="copy" text=${t.playground.copy_as} items=${[copyAs("curl", "curl"), copyAs("python", "Python"), copyAs("typescript", "TypeScript")]} />
      ${running ? html`<${Button} kind="outline" danger icon="stop" action=${() => run.value.abort.abort()}>${t.playground.stop}<//>` : html`<${Button} kind="filled" icon="play" action=${() => { start(); }}>${t.playground.run} <kbd>Ctrl ↵</kbd><//>`}`}>
    <div class="playground"><div class="stack"><div class="filters"><${Choice} label=${t.playground.language} value=${fields.value.template ? "" : fields.value.language} set=${setLanguage} options=${LANGUAGES.map((name) => [name, t.languages[name]])} />
          <${Select} aria-label=${t.playground.template} value=${fields.value.template} set=${field("template").set} options=${[["", t.playground.by_language], ...(templates.value ?? []).map((one) => [one.name, one.name])]} />
          <button type="button" class="button" aria-expanded=${more.value ? "true" : "false"} aria-controls="play-options" style=${{ marginLeft: "auto" }} onClick=${() => { more.value = !more.value; }}>${more.value ? t.playground.fewer : t.playground.options}</button></div>
        ${more.value && html`<div class="card form" id="play-options"><${TextField} name=${t.playground.timeout} ...${field("timeout")} inputmode="decimal" placeholder=${t.create.from_template} /><${TextField} name=${t.create.memory} ...${field("memory")} inputmode="numeric" placeholder=${t.create.from_template} /><${TextField} name=${t.create.cpus} ...${field("cpus")} inputmode="decimal" placeholder=${t.create.from_template} />
          <${SelectField} name=${t.playground.min_grade} ...${field("min_grade")} options=${[["", t.playground.any_grade], ...["jail-partial", "jail", "user-kernel", "vm"].map((one) => [one, one])]} />
          <${TextField} full name=${t.create.packages} ...${field("packages")} mono placeholder="requests pydantic>=2" hint=${t.playground.packages_hint} /><${NetFields} value=${net.value} set=${(value) => { net.value = value; }} />
          <${TextField} area mono name=${t.playground.stdin} ...${field("stdin")} rows="3" /><${TextField} area mono name=${t.create.env} ...${field("env")} rows="3" hint=${t.create.pairs_hint} /></div>`}
        <${Editor} text=${code.value} set=${(text) => { code.value = text; }} language=${language === "shell" ? "bash" : language} label=${t.playground.editor} run=${start} height="max(340px, calc(100dvh - 300px))" focus />
        ${isAdmin() && project.value !== "*" && project.value !== session.value.project && html`<p class="dim small">${t.playground.own_project(session.value.project)}</p>`}
        <p class="dim small">${t.playground.keys} ${session.value.keep_code ? t.playground.code_kept : t.playground.code_not_kept}</p></div>
      <div class="stack" aria-live="off">${run.value ? html`<${Result} one=${run.value} />` : html`<div class="card"><${Empty} icon="play" title=${t.playground.idle} text=${t.playground.idle_text} command="glovebox run -c 'print(1 + 1)'" /></div>`}</div></div><//>`;
}

function Result({ one }) {
  const exit = one.exit.value, state = one.state.value, pieces = one.output.pieces.value, builds = one.builds.value, error = one.error.value ?? exit?.error;
  const quiet = exit && !pieces.length && !one.results.value.length && !error;
  return html`<div class="row wrap between" role="status"><${Status} state=${state} text=${state === "running" && builds.length && !pieces.length ? t.phases[builds.at(-1).phase] ?? builds.at(-1).phase : t.states[state]} />
      ${exit && html`<span class="row small dim num"><span>${t.playground.took(ms(exit.metrics.wall_ms))}</span><span>${exit.warm ? t.playground.warm : t.playground.cold}</span></span>`}</div>
    ${state === "running" && html`<div class="meter busy" role="progressbar" aria-label=${t.states.running}></div>`}
    ${builds.length > 0 && !exit && html`<div class="output" role="log" aria-label=${t.playground.build} tabindex="0">${builds.map((line, i) => html`<div key=${i}>${line.text || t.phases[line.phase] || line.phase}</div>`)}</div>`}
    ${one.problem.value && html`<${Problem} error=${one.problem.value} />`}
    <${Output} pieces=${pieces} cut=${one.output.cut.value} live=${state === "running"} /><${RichList} results=${one.results.value} />${error && html`<${Fault} error=${error} printed=${pieces.map((piece) => piece.text).join("")} />`}
    ${quiet && html`<p class="dim">${t.playground.silent}</p>`}${exit?.truncated && html`<${Notice} tone="busy">${t.playground.truncated}<//>`}
    ${exit && html`<${Record} exit=${exit} />`}`;
}

// What a run used and which walls stood; for a run that was and for one that is.
export function Record({ exit }) {
  const used = exit.metrics, walls = exit.isolation;
  return html`<div class="columns"><${Card} title=${t.record.used}><${Facts} of=${[[t.record.exit, html`<code>${exit.exit_code}</code>`], exit.signal && [t.record.signal, exit.signal], [t.record.wall, ms(used.wall_ms)], [t.record.setup, ms(used.setup_ms)], [t.record.queue, ms(used.queue_ms)], [t.record.cpu, ms(used.cpu_ms)], [t.record.memory, bytes(used.peak_memory_bytes)], [t.record.processes, used.processes_peak ?? "–"], [t.record.output, bytes(used.output_bytes)], used.network && [t.record.network, t.record.traffic(bytes(used.network.bytes_out), bytes(used.network.bytes_in), used.network.denied)]]} />
      <div class="row" style=${{ marginTop: "12px" }}><${Link} to=${"/runs/" + exit.id} class="inline-link small">${t.record.open}<//></div><//>
    <${Card} title=${t.record.walls} actions=${html`<${Grade} grade=${walls.grade} />`}><div class="row wrap">${walls.walls.map((one) => html`<span class="tag" key=${one}>${one}</span>`)}</div>${walls.missing.length > 0 && html`<div class="row wrap" style=${{ marginTop: "10px" }}><span class="dim small">${t.overview.missing}</span>${walls.missing.map((one) => html`<span class="badge busy" key=${one}>${one}</span>`)}</div>`}<//></div>`;
}
