// What listens in a sandbox, opened in a tab of its own by a link that is good for once.
import { html, useSignal } from "../../html.js";
import { t } from "../../texts.js";
import { post, scope, session } from "../../api.js";
import { Button, Card, Empty, Notice, TextField } from "../../ui/basics.js";
import { complain } from "../../ui/toast.js";

// Where each sandbox has its way to the network, and nothing that a browser could open (src/sys/own_network.cc).
const OWN_PORT = 1;

// /proc/net/tcp: local address, remote address, state 0A for those that listen.
function listening(text) {
  const found = new Set();
  for (const line of text.split("\n")) {
    const match = /^\s*\d+:\s+[0-9A-F]+:([0-9A-F]{4})\s+\S+\s+0A\s/.exec(line);
    if (match) found.add(parseInt(match[1], 16));
  }
  found.delete(OWN_PORT);
  return [...found].sort((a, b) => a - b);
}

export default function Ports({ sandbox, base }) {
  const number = useSignal(""), fault = useSignal(""), found = useSignal(null), missing = useSignal(false);
  // Off loopback, ports have host names of their own only below a domain.
  const shared = !session.value.domain && !/^(localhost|127\.0\.0\.1|\[::1\])$/.test(location.hostname);
  async function open(port) {
    const answer = await post(base + "/port-links", { port }, { query: { project: scope() } });
    if (answer.url === null) { missing.value = true; return; }
    window.open(answer.url, "_blank", "noopener,noreferrer");
  }
  async function look() {
    const answer = await post(base + "/exec", { cmd: "cat /proc/net/tcp /proc/net/tcp6 2>/dev/null", timeout_ms: 5000 }, { query: { project: scope() } });
    found.value = listening(answer.stdout);
  }
  const submit = (event) => {
    event.preventDefault();
    const port = Number(number.value);
    if (!Number.isInteger(port) || port < 1 || port > 65535) { fault.value = t.ports.bad; return; }
    open(port).catch(complain);
  };
  return html`${missing.value && html`<${Notice} tone="busy" role="alert">${t.ports.missing} <code class="chip">${base}/ports/PORT/</code><//>`}<div class="columns"><${Card} title=${t.ports.listening} actions=${html`<${Button} small kind="outline" icon="search" action=${look}>${t.ports.look}<//>`}>
      ${found.value === null ? html`<p class="dim">${t.ports.look_text}</p>` : found.value.length === 0 ? html`<${Empty} title=${t.ports.none} text=${t.ports.none_text} command="python3 -m http.server 8000" />`
        : html`<ul class="stack tight">${found.value.map((port) => html`<li key=${port} class="row between"><span class="mono bright">${port}</span><${Button} small kind="outline" icon="open" action=${() => open(port)} label=${t.ports.open_of(port)}>${t.ports.open}<//></li>`)}</ul>`}<//>
    <${Card} title=${t.ports.other}><form class="stack" onSubmit=${submit} novalidate><${TextField} name=${t.ports.number} value=${number.value} set=${(text) => { number.value = text; fault.value = ""; }} fault=${fault.value} inputmode="numeric" placeholder="8000" /><div><button type="submit" class="button filled">${t.ports.open}</button></div></form>
      <p class="dim small" style=${{ marginTop: "12px" }}>${t.ports.about}${shared ? " " + t.ports.shared : ""}</p><//></div>`;
}
