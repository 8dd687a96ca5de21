// One run: the whole record. Where its code was kept it can be run again, and the two compared.
import { html, useMemo, useSignal } from "../html.js";
import { t } from "../texts.js";
import { get, post, scope, session } from "../api.js";
import { go, href } from "../router.js";
import { useData } from "../data.js";
import { moment, ms } from "../format.js";
import { Button, Card, Copy, Empty, Facts, Loaded, Notice, Page, Status } from "../ui/basics.js";
import { Editor } from "../ui/editor.js";
import { Fault, Output, RichList, plain } from "../ui/output.js";
import { toast } from "../ui/toast.js";
import { Record, give } from "./playground.js";
import { difference } from "../diff.js";

export default function Run({ id }) {
  const data = useData((abort) => get("/v1/runs/" + id, { project: scope() }, { signal: abort }), [id]);
  const crumbs = html`<a href=${href("/runs")}>${t.nav.runs}</a><span aria-hidden="true">/</span><span class="mono cut">${id}</span><${Copy} text=${id} label=${t.run.copy_id} />`;
  if (data.error?.status === 404) return html`<${Page} title=${t.run.gone} crumbs=${crumbs}><${Empty} title=${t.run.gone} text=${t.run.gone_text} command="glovebox runs" /><//>`;
  return html`<${Page} title=${t.run.title} crumbs=${crumbs} head=${data.value ? html`<span class="row wrap">${t.run.title}<${Status} state=${data.value.status} /></span>` : t.run.title}><${Loaded} data=${data}>${(run) => html`<${Whole} run=${run} />`}<//><//>`;
}

function Whole({ run }) {
  const again = useSignal(null), answer = run.answer;
  const language = { shell: "bash" }[run.language] ?? run.language;
  async function repeat() {
    const request = { code: run.code, template: run.template };
    const result = await post("/v1/run", request);
    again.value = result;
    toast(t.run.repeated(ms(result.metrics.wall_ms)));
  }
  const tryIt = () => { give({ code: run.code, language: run.language, template: run.template }); go("/playground"); };
  const results = answer ? [answer.result, ...answer.results].filter(Boolean) : [];
  return html`${run.error && html`<${Notice} tone="bad"><div>${run.error.message}</div><code class="small">${run.error.code}</code><//>`}
    <${Card} title=${t.run.record}><${Facts} of=${[[t.run.started, moment(run.started_at)], [t.run.finished, moment(run.finished_at)], [t.sandboxes.template, run.template], [t.run.language, t.languages[run.language] ?? run.language], run.project && [t.project.one, run.project], [t.run.key, html`<code>${run.key_id}</code>`], [t.run.request, html`<code>${run.request_id}</code>`], [t.run.profile, html`<code>${run.profile}</code>`], [t.run.warm, run.warm ? t.playground.warm : t.playground.cold]]} /><//>
    ${run.code !== undefined && run.code !== null ? html`<${Card} title=${t.run.code} actions=${html`<${Button} small kind="outline" icon="edit" action=${tryIt}>${t.run.try}<//><${Button} small kind="filled" icon="refresh" action=${repeat} disabled=${run.code_cut}>${t.run.again}<//>`}><${Editor} text=${run.code} readOnly language=${language} label=${t.run.code} height="60px" most="480px" />${run.code_cut && html`<p class="dim small">${t.run.code_cut}</p>`}<//>`
      : html`<${Notice} tone="plain">${session.value.keep_code ? t.run.no_code : t.run.code_off} <code class="chip">store.keep_code = true</code><//>`}
    <${Card} title=${t.run.output}>${run.stdout || run.stderr ? html`<${Output} pieces=${[{ stream: "stdout", text: run.stdout }, { stream: "stderr", text: run.stderr }]} />` : html`<p class="dim">${t.playground.silent}</p>`}${(run.stdout_cut || run.stderr_cut) && html`<p class="dim small" style=${{ marginTop: "8px" }}>${t.run.output_cut}</p>`}
      ${results.length > 0 && html`<div style=${{ marginTop: "12px" }}><${RichList} results=${results} /></div>`}${answer?.error && html`<div style=${{ marginTop: "12px" }}><${Fault} error=${answer.error} printed=${run.stderr} /></div>`}<//>
    ${again.value && html`<${Difference} before=${run} after=${again.value} />`}
    ${answer && html`<${Record} exit=${answer} />`}`;
}

// As much of the new text as was kept of the old one.
const comparable = (before, after, name) => {
  const kept = before[name] ?? "", now = after[name] ?? "";
  return [plain(kept), plain(before[name + "_cut"] ? now.slice(0, kept.length) : now)];
};
const shownResult = (answer) => answer?.result?.["text/plain"] ?? "";

function Difference({ before, after }) {
  const texts = [["stdout", ...comparable(before, after, "stdout")], ["stderr", ...comparable(before, after, "stderr")], ["result", shownResult(before.answer), shownResult(after)]];
  const changed = texts.filter(([, was, is]) => was !== is);
  return html`<${Card} title=${t.run.compare}><${Facts} of=${[[t.record.exit, `${before.exit_code} → ${after.exit_code}`], [t.record.wall, `${ms(before.wall_us / 1000)} → ${ms(after.metrics.wall_ms)}`]]} />
    <div class="stack tight" style=${{ marginTop: "12px" }}>${changed.length === 0 ? html`<p>${t.run.same}</p>` : changed.map(([name, was, is]) => html`<${Changed} key=${name} name=${name} was=${was} is=${is} />`)}</div><//>`;
}

function Changed({ name, was, is }) {
  const { lines, skipped, more } = useMemo(() => difference(was, is), [was, is]);
  return html`<h3 class="label">${t.run.streams[name]}</h3>${skipped > 0 && html`<p class="dim small">${t.run.lines_before(skipped)}</p>`}
    <pre class="output diff" tabindex="0">${lines.map((line, i) => html`<span key=${i} class=${line.kind}>${{ same: "  ", gone: "- ", new: "+ " }[line.kind]}${line.text}${"\n"}</span>`)}</pre>${more > 0 && html`<p class="dim small">${t.run.lines_after(more)}</p>`}`;
}
