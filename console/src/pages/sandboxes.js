// All sandboxes of the project: searched, sorted and paged by the server.
import { html, useEffect, useSignal } from "../html.js";
import { t } from "../texts.js";
import { get, isAdmin, post, scope, ask } from "../api.js";
import { href, setQuery } from "../router.js";
import { useData, useNow } from "../data.js";
import { bytes, duration, shortId } from "../format.js";
import { Ago, Button, Empty, Loaded, Menu, Page, Search, Select, Status } from "../ui/basics.js";
import { confirm } from "../ui/dialog.js";
import { pageActions } from "../ui/palette.js";
import { Sparkline } from "../ui/sparkline.js";
import { toast } from "../ui/toast.js";
import { CreateSandbox } from "./sandbox_create.js";

const LIVE = "pending,starting,running,paused";
const SIZE = 50;
const STATES = [["live", LIVE], ["all", ""], ["running", "running"], ["paused", "paused"], ["stopped", "stopped"], ["error", "error"]];

export default function Sandboxes({ query }) {
  const q = query.get("q") ?? "", state = query.get("state") ?? "live", template = query.get("template") ?? "", sort = query.get("sort") ?? "-created", page = Math.max(1, Number(query.get("page")) || 1);
  const wanted = STATES.find(([name]) => name === state)?.[1] ?? LIVE;
  const data = useData((abort) => get("/v1/sandboxes", { q, state: wanted, template, sort, limit: SIZE, offset: (page - 1) * SIZE, stats: 1, project: scope() }, { signal: abort }),
    [q, state, template, sort, page], { every: 15000, on: (message) => message.type === "event" && message.event.startsWith("sandbox.") });
  const templates = useData((abort) => get("/v1/templates", {}, { signal: abort }).then((answer) => answer.templates));
  const chosen = useSignal(new Set());
  useEffect(() => { chosen.value = new Set(); }, [q, state, template, sort, page]);
  const create = () => setQuery({ new: 1 });
  useEffect(() => { pageActions.value = [{ name: t.sandboxes.create, icon: "plus", action: create }]; }, []);
  const filter = (changes) => setQuery({ page: null, ...changes });

  return html`<${Page} title=${t.nav.sandboxes} about=${t.sandboxes.about} actions=${html`<${Button} kind="filled" icon="plus" action=${create}>${t.sandboxes.create}<//>`}>
    <div class="filters"><${Search} value=${q} set=${(text) => filter({ q: text })} label=${t.sandboxes.search} />
      <${Select} aria-label=${t.sandboxes.state} value=${state} set=${(value) => filter({ state: value === "live" ? null : value })} options=${STATES.map(([name]) => [name, t.sandboxes.states[name]])} />
      <${Select} aria-label=${t.sandboxes.template} value=${template} set=${(value) => filter({ template: value })} options=${[["", t.sandboxes.any_template], ...(templates.value ?? []).map((one) => [one.name, one.name])]} /></div>
    <${Loaded} data=${data} lines=${6}>${(got) => html`<${List} got=${got} page=${page} sort=${sort} chosen=${chosen} reload=${data.reload} filtered=${Boolean(q || template || state !== "live")} create=${create} />`}<//>
    ${query.get("new") && html`<${CreateSandbox} templates=${templates.value ?? []} snapshot=${query.get("snapshot")} image=${query.get("image")} close=${() => setQuery({ new: null, snapshot: null, image: null })} />`}<//>`;
}

function Sorted({ name, by, sort }) {
  const down = sort === "-" + by, up = sort === by;
  return html`<th scope="col" aria-sort=${down ? "descending" : up ? "ascending" : "none"}><button type="button" onClick=${() => setQuery({ sort: down ? by : "-" + by, page: null })}>${name}<span aria-hidden="true">${down ? "↓" : up ? "↑" : ""}</span></button></th>`;
}

function List({ got, page, sort, chosen, reload, filtered, create }) {
  const now = useNow(), rows = got.sandboxes, total = got.total ?? rows.length, picked = chosen.value;
  // The last of a page have ended, or the address is of another day.
  useEffect(() => { if (rows.length === 0 && page > 1) setQuery({ page: total > SIZE ? Math.ceil(total / SIZE) : null }); }, [rows.length, page, total]);
  if (rows.length === 0 && page === 1) {
    return html`<div class="card"><${Empty} icon="sandboxes" title=${filtered ? t.sandboxes.no_match : t.sandboxes.none} text=${filtered ? t.sandboxes.no_match_text : t.sandboxes.none_text} command=${filtered ? null : "glovebox sandbox create --template python --ttl 30m"}>
      ${!filtered && html`<${Button} kind="outline" icon="plus" action=${create}>${t.sandboxes.create}<//>`}<//></div>`;
  }
  const pick = (id, on) => { const next = new Set(picked); if (on) next.add(id); else next.delete(id); chosen.value = next; };
  const all = rows.length > 0 && rows.every((row) => picked.has(row.id)), admin = isAdmin() && rows.some((row) => row.project);
  return html`<div class="table-wrap">${picked.size > 0 && html`<${Bulk} rows=${rows.filter((row) => picked.has(row.id))} all=${all ? null : () => { chosen.value = new Set(rows.map((row) => row.id)); }} done=${() => { chosen.value = new Set(); reload(); }} />`}
    <div class="table-scroll"><table class="table folding" aria-label=${t.nav.sandboxes}><thead><tr>
      <th class="tight" scope="col"><input type="checkbox" aria-label=${t.sandboxes.pick_all} checked=${all} onChange=${(event) => { chosen.value = event.target.checked ? new Set(rows.map((row) => row.id)) : new Set(); }} /></th>
      <${Sorted} name=${t.sandboxes.name} by="name" sort=${sort} /><${Sorted} name=${t.sandboxes.state} by="state" sort=${sort} /><${Sorted} name=${t.sandboxes.template} by="template" sort=${sort} />
      ${admin && html`<th scope="col">${t.project.one}</th>`}<${Sorted} name=${t.sandboxes.age} by="created" sort=${sort} /><${Sorted} name=${t.sandboxes.expires} by="expires" sort=${sort} /><th scope="col">${t.sandboxes.cpu}</th><th scope="col">${t.sandboxes.memory}</th><th class="tight" scope="col"><span class="sr">${t.actions}</span></th></tr></thead>
      <tbody>${rows.map((row) => html`<${Row} key=${row.id} row=${row} now=${now} admin=${admin} picked=${picked.has(row.id)} pick=${pick} reload=${reload} />`)}</tbody></table></div>
    <div class="table-foot"><span class="num" role="status">${t.sandboxes.range((page - 1) * SIZE + (rows.length ? 1 : 0), (page - 1) * SIZE + rows.length, got.total_is_bounded ? `${total}+` : total)}</span>${got.total_is_bounded && html`<span>${t.sandboxes.bounded}</span>`}
      <span class="row" style=${{ marginLeft: "auto" }}><${Button} small icon="left" label=${t.previous} disabled=${page <= 1} action=${() => setQuery({ page: page <= 2 ? null : page - 1 })} /><${Button} small icon="right" label=${t.next} disabled=${page * SIZE >= total} action=${() => setQuery({ page: page + 1 })} /></span></div></div>`;
}

function Row({ row, now, admin, picked, pick, reload }) {
  const live = row.state === "running" || row.state === "paused", stats = row.stats;
  const cpu = stats?.cpus ?? [], memory = stats?.memory_bytes ?? [];
  return html`<tr aria-selected=${picked ? "true" : "false"}><td class="tight pick"><input type="checkbox" aria-label=${t.sandboxes.pick(row.name ?? row.id)} checked=${picked} onChange=${(event) => pick(row.id, event.target.checked)} /></td>
    <td><a class="primary" href=${href("/sandboxes/" + row.id)}>${row.name ?? html`<span class="mono">${shortId(row.id)}</span>`}</a>${row.name && html`<div class="mono small dim cut">${shortId(row.id)}</div>`}</td>
    <td><${Status} state=${row.state} />${row.reason && row.state !== "running" ? html`<span class="sr">${row.reason}</span>` : ""}</td>
    <td class="cut">${row.template}</td>${admin && html`<td class="cut hide-small">${row.project}</td>`}<td class="dim small"><${Ago} at=${row.created_at} now=${now} /></td>
    <td class="dim small nowrap hide-small">${live && row.expires_at ? duration((new Date(row.expires_at) - now) / 1000) : "–"}</td>
    <td class="hide-small"><${Sparkline} values=${cpu} label=${t.sandboxes.cpu_now(cpu.at(-1)?.toFixed(2) ?? "–")} most=${0.1} /></td>
    <td class="hide-small"><${Sparkline} values=${memory} label=${t.sandboxes.memory_now(bytes(memory.at(-1)))} most=${row.limits.memory_mb * 1048576 * 0.25} /></td>
    <td class="tight end">${live && html`<${Menu} label=${t.sandboxes.actions_of(row.name ?? row.id)} items=${rowActions(row, reload)} />`}</td></tr>`;
}

export const path = (row) => "/v1/sandboxes/" + row.id;
const wordOf = (row) => row.name ?? row.id;

export async function pause(row) { await post(path(row) + "/pause", undefined, { query: { project: scope() } }); }
export async function resume(row) { await post(path(row) + "/resume", undefined, { query: { project: scope() } }); }
export async function kill(row) { await ask("DELETE", path(row), { query: { project: scope() } }); }

function rowActions(row, reload) {
  return [
    row.state === "running" && row.features?.pause !== false && { name: t.sandboxes.pause, icon: "pause", action: async () => { await pause(row); toast(t.sandboxes.paused(wordOf(row))); reload(); } },
    row.state === "paused" && { name: t.sandboxes.resume, icon: "play", action: async () => { await resume(row); toast(t.sandboxes.resumed(wordOf(row))); reload(); } },
    { name: t.sandboxes.kill, icon: "trash", danger: true, action: () => confirm({ title: t.sandboxes.kill_title(wordOf(row)), text: t.sandboxes.kill_text, verb: t.sandboxes.kill, action: async () => { await kill(row); toast(t.sandboxes.killed(wordOf(row))); reload(); } }) },
  ];
}

// A few at a time; each answer counts for itself.
async function each(rows, action) {
  const waiting = [...rows], failures = [];
  const worker = async () => {
    for (let row = waiting.shift(); row; row = waiting.shift()) {
      try { await action(row); } catch (error) { failures.push(`${wordOf(row)}: ${error.message}`); }
    }
  };
  await Promise.all(Array.from({ length: 4 }, worker));
  return failures;
}

function Bulk({ rows, all, done }) {
  const running = rows.filter((row) => row.state === "running"), paused = rows.filter((row) => row.state === "paused"), live = rows.filter((row) => ["running", "paused", "starting", "pending"].includes(row.state));
  const run = (targets, action, said) => async () => {
    const failures = await each(targets, action);
    toast(said(targets.length - failures.length), failures.length ? { tone: "bad", advice: failures.slice(0, 3).join(" · ") } : {});
    done();
  };
  const button = (targets, icon, name, action, danger) => html`<${Button} small kind="outline" icon=${icon} danger=${danger} disabled=${!targets.length} action=${action}>${name} ${targets.length || ""}<//>`;
  return html`<div class="bulk" role="toolbar" aria-label=${t.sandboxes.bulk}><span class="bright">${t.sandboxes.picked(rows.length)}</span>${all && html`<${Button} small action=${all}>${t.sandboxes.pick_page}<//>`}
    ${button(running, "pause", t.sandboxes.pause, () => confirm({ title: t.sandboxes.pause_many(running.length), text: t.sandboxes.pause_text, verb: t.sandboxes.pause, danger: false, action: run(running, pause, t.sandboxes.paused_many) }))}
    ${button(paused, "play", t.sandboxes.resume, () => confirm({ title: t.sandboxes.resume_many(paused.length), verb: t.sandboxes.resume, danger: false, action: run(paused, resume, t.sandboxes.resumed_many) }))}
    ${button(live, "trash", t.sandboxes.kill, () => confirm({ title: t.sandboxes.kill_many(live.length), text: t.sandboxes.kill_text, verb: t.sandboxes.kill, action: run(live, kill, t.sandboxes.killed_many) }), true)}</div>`;
}
