// The history of runs, with filters; the newest first.
import { html, useEffect, useSignal } from "../html.js";
import { t } from "../texts.js";
import { get, isAdmin, scope, session } from "../api.js";
import { href, setQuery } from "../router.js";
import { useData, useNow } from "../data.js";
import { bytes, ms, shortId } from "../format.js";
import { Ago, Button, Empty, Grade, Link, Loaded, Page, Search, Select, Status } from "../ui/basics.js";
import { complain } from "../ui/toast.js";

const STATUSES = ["ok", "failed", "timed_out", "oom_killed", "killed", "cancelled", "error"];
const SINCE = { hour: 3600e3, day: 86400e3, week: 7 * 86400e3 };
const SIZE = 50;

export default function Runs({ query }) {
  const q = query.get("q") ?? "", status = query.get("status") ?? "", template = query.get("template") ?? "", since = query.get("since") ?? "";
  const page = (cursor, abort) => get("/v1/runs", { q, status, template, since_ms: SINCE[since] ? Date.now() - SINCE[since] : null, limit: SIZE, cursor, project: scope() }, { signal: abort });
  const more = useSignal([]), cursor = useSignal(null);
  const data = useData((abort) => page(null, abort), [q, status, template, since], { on: (message) => message.type === "event" && message.event === "run.finished" && more.value.length === 0 });
  const templates = useData((abort) => get("/v1/templates", {}, { signal: abort }).then((answer) => answer.templates));
  useEffect(() => { more.value = []; cursor.value = data.value?.next_cursor ?? null; }, [data.value]);
  const next = async () => {
    const answer = await page(cursor.value).catch((error) => { complain(error); return null; });
    if (answer) { more.value = [...more.value, ...answer.runs]; cursor.value = answer.next_cursor; }
  };
  return html`<${Page} title=${t.nav.runs} about=${session.value.keep_code ? t.runs.about_kept : t.runs.about} actions=${html`<${Link} to="/playground" button="filled" icon="play">${t.playground.run}<//>`}>
    <div class="filters"><${Search} value=${q} set=${(text) => setQuery({ q: text })} label=${t.runs.search} />
      <${Select} aria-label=${t.runs.status} value=${status} set=${(value) => setQuery({ status: value })} options=${[["", t.runs.any_status], ...STATUSES.map((one) => [one, t.states[one]])]} />
      <${Select} aria-label=${t.sandboxes.template} value=${template} set=${(value) => setQuery({ template: value })} options=${[["", t.sandboxes.any_template], ...(templates.value ?? []).map((one) => [one.name, one.name])]} />
      <${Select} aria-label=${t.runs.since} value=${since} set=${(value) => setQuery({ since: value })} options=${[["", t.runs.ever], ...Object.keys(SINCE).map((one) => [one, t.runs.last[one]])]} /></div>
    <${Loaded} data=${data} lines=${6}>${(got) => html`<${List} rows=${[...got.runs, ...more.value]} next=${cursor.value && next} filtered=${Boolean(q || status || template || since)} />`}<//><//>`;
}

function List({ rows, next, filtered }) {
  const now = useNow(), admin = isAdmin() && rows.some((row) => row.project);
  if (rows.length === 0) return html`<div class="card"><${Empty} icon="runs" title=${filtered ? t.runs.no_match : t.runs.none} text=${filtered ? t.runs.no_match_text : t.runs.none_text} command=${filtered ? null : "glovebox run -c 'print(1 + 1)'"} /></div>`;
  return html`<div class="table-wrap"><div class="table-scroll"><table class="table folding" aria-label=${t.nav.runs}><thead><tr><th scope="col">${t.runs.run}</th><th scope="col">${t.runs.status}</th><th scope="col">${t.sandboxes.template}</th>${admin && html`<th scope="col">${t.project.one}</th>`}<th scope="col">${t.runs.started}</th><th scope="col" class="end">${t.runs.took}</th><th scope="col" class="end">${t.runs.cpu}</th><th scope="col" class="end">${t.runs.memory}</th><th scope="col">${t.runs.grade}</th></tr></thead>
    <tbody>${rows.map((row) => html`<tr key=${row.id}><td><a class="primary mono" href=${href("/runs/" + row.id)}>${shortId(row.id)}</a></td><td><${Status} state=${row.status} />${row.exit_code > 0 && row.status === "failed" ? html` <span class="dim small mono">${row.exit_code}</span>` : ""}</td>
      <td class="cut">${row.template}<span class="dim small"> ${row.language !== row.template ? row.language : ""}</span></td>${admin && html`<td class="cut hide-small">${row.project}</td>`}<td class="dim small"><${Ago} at=${row.started_at} now=${now} /></td><td class="num end hide-small">${ms(row.wall_us / 1000)}</td><td class="num end hide-small">${row.cpu_us === null ? "–" : ms(row.cpu_us / 1000)}</td><td class="num end hide-small">${bytes(row.peak_memory_bytes)}</td><td class="hide-small"><${Grade} grade=${row.grade} /></td></tr>`)}</tbody></table></div>
    <div class="table-foot"><span class="num" role="status">${t.runs.shown(rows.length)}</span>${next && html`<span style=${{ marginLeft: "auto" }}><${Button} small kind="outline" action=${next}>${t.runs.more}<//></span>`}</div></div>`;
}
