// Code cells: a live interpreter of the sandbox keeps its variables from one to the next.
import { html, signal, useEffect, useSignal } from "../../html.js";
import { t } from "../../texts.js";
import { ask, events, get, post, scope } from "../../api.js";
import { ms } from "../../format.js";
import { Button, Notice, Select, Status } from "../../ui/basics.js";
import { confirm } from "../../ui/dialog.js";
import { Editor } from "../../ui/editor.js";
import { Fault, Output, RichList } from "../../ui/output.js";
import { stream } from "../../ui/stream.js";
import { attempt, toast } from "../../ui/toast.js";

const LANGUAGES = ["python", "javascript", "typescript", "bash", "r", "java"];
// Cells of the sandboxes that were looked at in this tab, so that another tab of the page does not lose them.
const books = new Map();
let numbers = 0;

const cell = (code = "") => ({ key: ++numbers, code: signal(code), output: stream(), results: signal([]), error: signal(null), exit: signal(null), state: signal("idle"), abort: null });

function bookOf(id) {
  if (!books.has(id)) books.set(id, { language: signal("python"), cells: signal([cell()]) });
  return books.get(id);
}

export default function Code({ sandbox, base }) {
  const book = bookOf(sandbox.id), contexts = useSignal([]);
  const load = () => get(base + "/contexts", { project: scope() }).then((answer) => { contexts.value = answer.contexts; }, () => {});
  useEffect(() => { load(); }, []);
  const mine = contexts.value.find((one) => one.id === book.language.value);

  const restart = () => confirm({ title: t.code.restart_title, text: t.code.restart_text, verb: t.code.restart, action: async () => {
    await ask("DELETE", `${base}/contexts/${book.language.value}`, { query: { project: scope() } });
    toast(t.code.restarted);
    load();
  } });
  const add = (after) => {
    const made = cell(), at = after ? book.cells.value.indexOf(after) + 1 : book.cells.value.length;
    book.cells.value = [...book.cells.value.slice(0, at), made, ...book.cells.value.slice(at)];
  };
  const remove = (one) => {
    one.abort?.abort();
    book.cells.value = book.cells.value.filter((other) => other !== one);
    if (!book.cells.value.length) add();
  };
  async function runAll() {
    for (const one of book.cells.value) {
      await run(one, base, book.language.value);
      if (one.error.value) break;
    }
    load();
  }
  return html`<div class="stack"><div class="filters"><${Select} aria-label=${t.code.language} value=${book.language.value} set=${(name) => { book.language.value = name; load(); }} options=${LANGUAGES.map((one) => [one, t.languages[one]])} />
      ${mine ? html`<${Status} state=${mine.state === "idle" ? "ready" : mine.state} text=${mine.state === "idle" ? t.code.ready(mine.warm) : t.states[mine.state]} />` : html`<span class="dim small">${t.code.starts_first}</span>`}
      <span class="row" style=${{ marginLeft: "auto" }}><${Button} small kind="outline" icon="play" action=${runAll}>${t.code.run_all}<//>${mine && html`<${Button} small kind="outline" icon="refresh" action=${restart}>${t.code.restart}<//>`}</span></div>
    ${book.cells.value.map((one, i) => html`<${Cell} key=${one.key} one=${one} number=${i + 1} base=${base} language=${book.language.value} ran=${load} add=${() => add(one)} remove=${() => remove(one)} last=${i === book.cells.value.length - 1} />`)}
    <div><${Button} icon="plus" action=${() => add()}>${t.code.add}<//></div></div>`;
}

async function run(one, base, language) {
  if (one.state.value === "running") return;
  one.state.value = "running";
  one.output = stream();
  one.results.value = [];
  one.error.value = one.exit.value = null;
  one.abort = new AbortController();
  try {
    for await (const [name, data] of events("POST", base + "/code", { body: { code: one.code.value, language, timeout_ms: 0 }, query: { project: scope() }, signal: one.abort.signal })) {
      if (name === "stdout" || name === "stderr") one.output.add(name, data);
      else if (name === "result") one.results.value = [...one.results.value, data.mime];
      else if (name === "error") one.error.value = data;
      else if (name === "exit") one.exit.value = data;
    }
    if (one.exit.value?.error && !one.error.value) one.error.value = one.exit.value.error;
  } catch (error) {
    one.error.value = error.name === "AbortError" ? { message: t.code.interrupted } : error;
  }
  one.output.flush();
  one.state.value = "idle";
}

function Cell({ one, number, base, language, ran, add, remove, last }) {
  const running = one.state.value === "running";
  const go = async () => { await run(one, base, language); ran(); };
  const stop = () => attempt(() => post(`${base}/contexts/${language}/interrupt`, undefined, { query: { project: scope() } }));
  return html`<article class="cell" aria-label=${t.code.cell(number)}><div class="cell-side"><span class="mono dim">${number}</span>
      ${running ? html`<${Button} small icon="stop" label=${t.code.stop} action=${stop} />` : html`<${Button} small icon="play" label=${t.code.run(number)} action=${go} />`}</div>
    <div class="grow stack tight"><${Editor} text=${one.code.value} set=${(text) => { one.code.value = text; }} language=${language} label=${t.code.cell(number)} run=${go} height="76px" most="520px" focus=${last} />
      ${running && html`<div class="meter busy" role="progressbar" aria-label=${t.code.running}></div>`}
      <${Output} pieces=${one.output.pieces.value} cut=${one.output.cut.value} live=${running} /><${RichList} results=${one.results.value} />${one.error.value && html`<${Fault} error=${one.error.value} />`}
      ${one.exit.value?.truncated && html`<${Notice} tone="busy">${t.playground.truncated}<//>`}${one.exit.value?.restarted && html`<${Notice} tone="busy">${t.code.was_restarted}<//>`}
      <div class="row dim small between"><span class="num">${one.exit.value ? ms(one.exit.value.metrics.wall_ms) : ""}</span><span class="row"><${Button} small icon="plus" label=${t.code.add_below} action=${add} /><${Button} small icon="trash" label=${t.code.remove(number)} action=${remove} /></span></div></div></article>`;
}
