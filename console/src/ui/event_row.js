// One thing that happened, in a line.
import { html } from "../html.js";
import { t } from "../texts.js";
import { shortId } from "../format.js";
import { Ago, Dot, Link } from "./basics.js";

const STATES = { "run.failed": "failed", "sandbox.running": "running", "sandbox.created": "running", "sandbox.resumed": "running", "sandbox.paused": "paused", "sandbox.stopped": "stopped", "layer.failed": "failed", "layer.corrupt": "failed", "layer.built": "ok", "layer.building": "building" };

function stateOf(event) {
  if (event.event === "run.finished") return event.data.status ?? "ok";
  if (event.event === "template.changed") return event.data.state;
  if (event.event === "network.decided") return event.data.allowed === false || event.data.decision?.allowed === false ? "failed" : "ok";
  return STATES[event.event] ?? "stopped";
}

export function EventRow({ event, now }) {
  const data = event.data ?? {}, id = data.id ?? data.sandbox, text = t.events[event.event] ?? event.event;
  const more = [data.template, data.name, data.status && t.states[data.status], data.error?.message ?? (typeof data.error === "string" ? data.error : null), data.reason].filter(Boolean);
  const target = typeof id !== "string" ? null : event.event.startsWith("run.") ? `/runs/${id}` : event.event.startsWith("sandbox.") || event.event.startsWith("network.") ? `/sandboxes/${id}` : null;
  return html`<li class="event"><${Dot} state=${stateOf(event)} /><span class="bright nowrap">${text}</span>
    <span class="cut dim grow">${more.join(" · ")}</span>${target && html`<${Link} to=${target} class="mono small nowrap">${shortId(id)}<//>`}
    ${(event.at ?? data.at) && html`<span class="dim small nowrap"><${Ago} at=${event.at ?? data.at} now=${now} /></span>`}</li>`;
}
