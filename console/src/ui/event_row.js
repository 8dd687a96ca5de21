// One thing that happened, in a line.
import { html } from "../html.js";
import { t } from "../texts.js";
import { clock, shortId } from "../format.js";
import { Ago, Dot, Link } from "./basics.js";

const STATES = { "run.failed": "failed", "sandbox.running": "running", "sandbox.created": "running", "sandbox.resumed": "running", "sandbox.paused": "paused", "sandbox.stopped": "stopped", "layer.failed": "failed", "layer.corrupt": "failed", "layer.built": "ok", "layer.building": "building" };

function stateOf(event) {
  if (event.type === "run.finished") return event.data.status ?? "ok";
  if (event.type === "template.changed") return event.data.state;
  if (event.type === "network.decided") return event.data.allowed === false || event.data.decision?.allowed === false ? "failed" : "ok";
  return STATES[event.type] ?? "stopped";
}

export function EventRow({ event, now }) {
  const data = event.data ?? {}, id = data.id ?? data.sandbox, text = t.events[event.type] ?? event.type;
  const more = [data.template, data.name, data.status && t.states[data.status], data.error?.message ?? (typeof data.error === "string" ? data.error : null), data.reason].filter(Boolean);
  const target = typeof id !== "string" ? null : event.type.startsWith("run.") ? `/runs/${id}` : event.type.startsWith("sandbox.") || event.type.startsWith("network.") ? `/sandboxes/${id}` : null;
  return html`<li class="event"><${Dot} state=${stateOf(event)} /><span class="bright nowrap">${text}</span>
    <span class="cut dim grow">${more.join(" · ")}</span>${target && html`<${Link} to=${target} class="mono small nowrap">${shortId(id)}<//>`}
    <span class="dim small nowrap" title=${clock(event.at)}><${Ago} at=${event.at} now=${now} /></span></li>`;
}
