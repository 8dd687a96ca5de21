// Terminals of a sandbox: each is a shell that goes on when the page is left, and is found again after a reload.
import { html, signal, useEffect, useRef, useSignal } from "../../html.js";
import { t } from "../../texts.js";
import { ask, closeSocket, get, openSocket, scope } from "../../api.js";
import { remember, remembered, theme } from "../../theme.js";
import { Button, Empty, Loaded } from "../../ui/basics.js";
import { pageActions } from "../../ui/palette.js";
import { complain } from "../../ui/toast.js";
import { useData } from "../../data.js";

const SPOKEN = "glovebox.terminal.spoken";
// Whether what terminals show is also there for screen readers, which makes much output slower.
const spoken = signal(remembered(SPOKEN) === "yes");
let created = 0;

function speak(on) {
  spoken.value = on;
  remember(SPOKEN, on ? "yes" : null);
}

export default function Terminals({ sandbox, base }) {
  const tabs = useSignal([]), current = useSignal(null);
  const found = useData((abort) => get(base + "/processes", { project: scope() }, { signal: abort }).then((answer) => answer.processes.filter((one) => one.terminal && one.state === "running")), [sandbox.id]);
  useEffect(() => {
    if (!found.value || tabs.value.length) return;
    tabs.value = found.value.map((one) => ({ key: ++created, process: one.process, from: one.stdout.begin, name: t.terminal.named(one.process) }));
    current.value = tabs.value[0]?.key ?? null;
  }, [found.value]);

  const add = () => {
    const key = ++created;
    tabs.value = [...tabs.value, { key, process: null, from: 0, name: t.terminal.fresh }];
    current.value = key;
  };
  // By the arrow keys one only looks; a click or Enter goes into the terminal.
  const enter = (key) => {
    current.value = key;
    requestAnimationFrame(() => document.querySelector(`#term-${key} textarea`)?.focus());
  };
  const change = (key, words) => { tabs.value = tabs.value.map((tab) => (tab.key === key ? { ...tab, ...words } : tab)); };
  async function close(tab) {
    tabs.value = tabs.value.filter((one) => one.key !== tab.key);
    if (current.value === tab.key) current.value = tabs.value.at(-1)?.key ?? null;
    if (tab.process !== null && !tab.ended) await ask("DELETE", `${base}/processes/${tab.process}`, { query: { project: scope() } }).catch((error) => { if (error.status !== 404) complain(error); });
  }
  useEffect(() => { pageActions.value = [{ name: t.terminal.add, icon: "terminal", action: add }, ...pageActions.value.filter((one) => one.name !== t.terminal.add)]; }, []);

  const keys = (event) => {
    if (!["ArrowLeft", "ArrowRight"].includes(event.key) || !event.target.matches("[role=tab]")) return;
    const at = tabs.value.findIndex((tab) => tab.key === current.value), next = tabs.value[(at + (event.key === "ArrowRight" ? 1 : tabs.value.length - 1)) % tabs.value.length];
    current.value = next.key;
    event.currentTarget.querySelector(`[data-tab="${next.key}"]`)?.focus();
    event.preventDefault();
  };
  return html`<${Loaded} data=${found}>${() => tabs.value.length === 0
    ? html`<div class="card"><${Empty} icon="terminal" title=${t.terminal.none} text=${t.terminal.none_text} command=${`glovebox shell ${sandbox.id}`}><${Button} kind="filled" icon="terminal" data-first="" action=${add}>${t.terminal.open}<//><//></div>`
    : html`<div class="terminals"><div class="terminal-bar"><div class="row grow" role="tablist" aria-label=${t.terminal.list} onKeyDown=${keys}>${tabs.value.map((tab) => html`<button key=${tab.key} type="button" role="tab" data-tab=${tab.key} id=${"term-tab-" + tab.key} aria-controls=${"term-" + tab.key} aria-selected=${tab.key === current.value ? "true" : "false"} tabindex=${tab.key === current.value ? 0 : -1}
        class="terminal-tab" onClick=${() => enter(tab.key)}><span class=${"dot " + (tab.ended ? "tone-off" : "tone-live")}></span><span class="cut">${tab.name}</span></button>`)}</div>
        <${Button} small icon="speaker" label=${t.terminal.spoken} aria-pressed=${spoken.value ? "true" : "false"} action=${() => speak(!spoken.value)} /><${Button} small icon="plus" label=${t.terminal.add} action=${add} /><${Button} small icon="close" label=${t.terminal.close} action=${() => close(tabs.value.find((tab) => tab.key === current.value))} /></div>
      ${tabs.value.map((tab) => html`<${Screen} key=${tab.key} tab=${tab} base=${base} shown=${tab.key === current.value} change=${(words) => change(tab.key, words)} />`)}</div><p class="dim small">${t.terminal.hint}</p>`}<//>`;
}

const decode = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

function Screen({ tab, base, shown, change }) {
  const host = useRef(null), view = useRef(null), state = useSignal("connecting"), line = useRef({ socket: null, offset: tab.from, process: tab.process, gone: false, tries: 0, timer: null });

  async function connect() {
    const mine = line.current;
    clearTimeout(mine.timer);
    state.value = "connecting";
    let socket;
    try {
      socket = await openSocket(base + "/exec/stream", { project: scope() });
    } catch (error) {
      if (!mine.gone) later(error);
      return;
    }
    if (mine.gone) { closeSocket(socket); return; }
    mine.socket = socket;
    socket.onopen = () => {
      socket.send(JSON.stringify(mine.process === null
        ? { type: "start", cmd: "if command -v bash >/dev/null; then exec bash -l; fi; exec sh -l", terminal: view.current.size(), on_disconnect: "keep", env: { TERM: "xterm-256color", COLORTERM: "truecolor", LANG: "C.UTF-8" } }
        : { type: "attach", process: mine.process, stdout_from: mine.offset }));
    };
    socket.onmessage = (event) => take(JSON.parse(event.data));
    socket.onclose = () => { if (mine.socket === socket && !mine.gone && !["exited", "taken"].includes(state.value)) later(); };
  }

  function take(message) {
    const mine = line.current;
    if (message.type === "started") {
      mine.process = message.process;
      mine.tries = 0;
      state.value = "open";
      change({ process: message.process, name: t.terminal.named(message.process) });
      const { rows, columns } = view.current.size();
      mine.socket.send(JSON.stringify({ type: "resize", rows, columns }));
    } else if (message.type === "stdout") {
      const bytes = message.data_base64 !== undefined ? decode(message.data_base64) : new TextEncoder().encode(message.data);
      mine.offset = message.offset + bytes.length;
      view.current.write(bytes);
    } else if (message.type === "lost") {
      view.current.write(`\r\n\x1b[2m${t.terminal.lost(message.bytes)}\x1b[0m\r\n`);
    } else if (message.type === "exit") {
      state.value = "exited";
      change({ ended: true });
      view.current.write(`\r\n\x1b[2m${t.terminal.exited(message.exit_code)}\x1b[0m\r\n`);
    } else if (message.type === "error") {
      if (message.code === "taken_over") state.value = "taken";
      else { state.value = "failed"; view.current.write(`\r\n\x1b[31m${message.message}\x1b[0m\r\n`); }
    }
  }

  function later(error) {
    const mine = line.current;
    if (error && error.status && error.status < 500 && error.status !== 429) { state.value = "failed"; complain(error); return; }
    if (state.value === "failed") return;
    state.value = "waiting";
    mine.timer = setTimeout(connect, Math.min(10000, 400 * 2 ** mine.tries++));
  }

  useEffect(() => {
    const mine = line.current;
    mine.gone = false;
    import("../../ui/xterm.js").then(({ createTerminal }) => {
      if (mine.gone) return;
      view.current = createTerminal(host.current, {
        label: t.terminal.label(tab.name), spoken: spoken.value, onLeave: () => document.querySelector(`[data-tab="${tab.key}"]`)?.focus(),
        onData: (text) => { if (mine.socket?.readyState === 1 && state.value === "open") mine.socket.send(JSON.stringify({ type: "stdin", data: text })); },
        onResize: (rows, columns) => { if (mine.socket?.readyState === 1 && state.value === "open") mine.socket.send(JSON.stringify({ type: "resize", rows, columns })); },
      });
      connect();
      if (shown) view.current.focus();
    }, complain);
    return () => {
      mine.gone = true;
      clearTimeout(mine.timer);
      closeSocket(mine.socket);
      view.current?.destroy();
      view.current = null;
    };
  }, []);
  useEffect(() => { view.current?.applyTheme(); }, [theme.value]);
  useEffect(() => { view.current?.speak(spoken.value); }, [spoken.value]);

  return html`<div class="terminal" role="tabpanel" id=${"term-" + tab.key} aria-labelledby=${"term-tab-" + tab.key} hidden=${!shown} data-state=${state.value}><div class="terminal-host" ref=${host}></div>
    ${["waiting", "taken", "failed"].includes(state.value) && html`<div class="terminal-note" role="status">${t.terminal.states[state.value]} <${Button} small kind="outline" action=${() => { state.value = "connecting"; connect(); }}>${state.value === "taken" ? t.terminal.take_back : t.retry}<//></div>`}</div>`;
}
