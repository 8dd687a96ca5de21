// The first page: a key, or how to get in without typing one.
import { html, useEffect, useSignal } from "./html.js";
import { t } from "./texts.js";
import { loadSession, signIn } from "./api.js";
import { Button, Command, Notice, TextField } from "./ui/basics.js";
import { Mark } from "./ui/icons.js";

export function SignIn({ known }) {
  const key = useSignal(""), fault = useSignal(""), busy = useSignal(false);
  useEffect(() => { document.title = `${t.signin.title} · Glovebox`; }, []);

  async function submit(event) {
    event.preventDefault();
    const given = key.value.trim();
    if (!/^(gbx|e2b)_[0-9a-f]{40}$/.test(given)) { fault.value = given ? t.signin.malformed : t.signin.missing; return; }
    busy.value = true;
    fault.value = "";
    try {
      await signIn({ key: given });
    } catch (error) {
      fault.value = error.status === 401 ? t.signin.refused : [error.message, error.advice].filter(Boolean).join(" ");
    }
    busy.value = false;
  }

  return html`<main class="signin"><div class="signin-card">
    <div class="wordmark"><${Mark} size=${30} /><span>Glovebox</span></div>
    <h1>${known.over ? t.signin.over : t.signin.title}</h1>
    <p class="dim">${known.over ? t.signin.over_text : t.signin.about}</p>
    ${known.failed && html`<${Notice} tone="bad" role="alert">${t.errors.unreachable} <${Button} small action=${loadSession}>${t.retry}<//><//>`}
    ${known.reason && html`<${Notice} tone="busy" role="alert">${known.reason}<//>`}
    ${!known.reason && html`<form class="stack" onSubmit=${submit} novalidate><input type="text" name="username" autocomplete="username" value="glovebox" hidden readonly />
      <${TextField} name=${t.signin.key} value=${key.value} set=${(text) => { key.value = text; fault.value = ""; }} mono type="password" autofocus fault=${fault.value} hint=${t.signin.hint} placeholder="gbx_…" autocomplete="current-password" />
      <button type="submit" class="button filled" disabled=${busy.value}>${busy.value ? t.signin.busy : t.signin.submit}</button></form>`}
    <div class="signin-other"><p class="dim small">${t.signin.other}</p><${Command} text="glovebox console" /></div></div></main>`;
}
