// A real browser at the console, for the files *_test.mjs: each page that is opened here fails its test if the
// console of the browser reports an error, a script throws, or the page's policy refuses something.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { after, before } from "node:test";

const require = createRequire(process.env.GBX_CONSOLE_TOOLS + "/");
const { chromium } = require("playwright-core");
const AXE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

export const URL_ = process.env.GBX_CONSOLE_URL;
// The same server for what is asked outside of the browser, which alone knows the name in URL_.
const API = process.env.GBX_CONSOLE_API ?? URL_;
export const KEY = process.env.GBX_CONSOLE_KEY;
export const PATIENCE = 20000;
export const SIZES = { wide: { width: 1440, height: 900 }, narrow: { width: 390, height: 844 } };

let browser = null;
before(async () => {
  browser = await chromium.launch({ executablePath: process.env.GBX_CHROMIUM, args: ["--no-sandbox", "--disable-dev-shm-usage", ...(process.env.GBX_CONSOLE_NAMES ? ["--host-resolver-rules=" + process.env.GBX_CONSOLE_NAMES] : [])] });
});
after(async () => { await browser?.close(); });

// The API with the administrator's key, to arrange things and to look at what became of them.
export async function api(method, path, body, { raw = false, key = KEY, headers = {} } = {}) {
  const response = await fetch(API + path, {
    method, headers: { "X-API-Key": key, ...(body !== undefined && !raw ? { "Content-Type": "application/json" } : {}), ...headers },
    body: body === undefined ? undefined : raw ? body : JSON.stringify(body),
  });
  const text = await response.text();
  assert.ok(response.ok, `${method} ${path}: ${response.status} ${text.slice(0, 500)}`);
  return text && response.headers.get("content-type")?.includes("json") ? JSON.parse(text) : text;
}

export async function newSandbox(more = {}) {
  return api("POST", "/v1/sandboxes", { template: "python", ttl_s: 900, ...more });
}
export const endSandbox = (id) => api("DELETE", `/v1/sandboxes/${id}?project=*`).catch(() => {});
export const write = (id, path, content) => api("PUT", `/v1/sandboxes/${id}/files?path=${encodeURIComponent(path)}`, content, { raw: true, headers: { "Content-Type": "application/octet-stream" } });
export const read = (id, path) => api("GET", `/v1/sandboxes/${id}/files?path=${encodeURIComponent(path)}`);
export const exec = (id, cmd, more = {}) => api("POST", `/v1/sandboxes/${id}/exec`, { cmd, ...more });

// A browser of its own, as a person has it. `complaints` is what went wrong in its pages so far.
export async function person({ size = SIZES.wide, theme = "light", ...more } = {}) {
  const context = await browser.newContext({ viewport: size, colorScheme: theme, acceptDownloads: true, reducedMotion: "reduce", ignoreHTTPSErrors: true, permissions: ["clipboard-read", "clipboard-write"], ...more });
  context.setDefaultTimeout(PATIENCE);
  const complaints = [], expected = [];
  context.on("weberror", (error) => complaints.push("script: " + (error.error().stack ?? error.error())));
  context.on("console", (message) => {
    if (!["error", "warning"].includes(message.type())) return;
    const text = message.text();
    if (!expected.some((one) => one.test(text))) complaints.push(`${message.type()}: ${text}`);
  });
  // Beside the console's line: violations that the browser only reports.
  await context.exposeBinding("gbxViolation", (_, said) => complaints.push("policy: " + said));
  await context.addInitScript(() => document.addEventListener("securitypolicyviolation", (event) => window.gbxViolation?.(`${event.effectiveDirective} ${event.blockedURI} ${event.target?.outerHTML?.slice(0, 200) ?? event.sample}`)));
  // The pages do without inline styles, which the server's policy may still allow: here it is one rule stricter.
  await context.addInitScript((origin) => {
    if (location.origin !== origin || !/^\/console(\/(?!frame\/)|$)/.test(location.pathname)) return;
    const watcher = new MutationObserver(() => {
      if (!document.head) return;
      watcher.disconnect();
      const rule = document.createElement("meta");
      rule.httpEquiv = "Content-Security-Policy";
      rule.content = "style-src 'self'";
      document.head.prepend(rule);
    });
    watcher.observe(document, { childList: true, subtree: true });
  }, URL_);
  return {
    context, complaints,
    // An answer of the server that the browser reports and this test is about.
    expect: (pattern) => expected.push(pattern),
    async close() {
      await context.close();
      assert.deepEqual(complaints, []);
    },
  };
}

// Signed in at a page of the console.
export async function at(one, path, { key = KEY } = {}) {
  const page = await one.context.newPage();
  await page.goto(URL_ + "/console" + path);
  await page.locator("#page-title, .signin").first().waitFor();
  if (await page.locator(".signin").count()) {
    await page.getByLabel("API key").fill(key);
    await page.getByRole("button", { name: "Sign in" }).click();
  }
  await page.locator("#page-title").waitFor();
  return page;
}

export async function go(page, path) {
  await page.goto(URL_ + "/console" + path);
  await page.locator("#page-title").waitFor();
}

// Until the page shows its data: no skeletons, no bar.
export async function settled(page) {
  await page.waitForFunction(() => document.querySelector("#page-title") && !document.querySelector(".skeleton, .loading-bar, [aria-busy=true]") && document.fonts.status === "loaded");
}

export async function barriers(page) {
  // By the tools' own channel: the page's policy allows no such script.
  await page.evaluate(AXE);
  const found = await page.evaluate(() => window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"], rules: { "target-size": { enabled: true } } }));
  assert.ok(found.passes.length > 8, "axe looked at nothing");
  assert.ok([...found.passes, ...found.violations, ...found.incomplete].some((one) => one.id === "target-size"), "axe did not look at sizes");
  return found.violations.flatMap((one) => one.nodes.map((node) => `${one.id}: ${node.target.join(" ")} ${node.any[0]?.message ?? node.all[0]?.message ?? one.help}`));
}

export async function until(condition, what, patience = PATIENCE) {
  const end = Date.now() + patience;
  for (;;) {
    const found = await condition();
    if (found) return found;
    assert.ok(Date.now() < end, "not seen in time: " + what);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export const toast = (page, text) => page.locator(".toast", { hasText: text }).first().waitFor();

// A sandbox for one case, ended with it.
export async function withSandbox(action, more = {}) {
  const sandbox = await newSandbox(more);
  try {
    await action(sandbox);
  } finally {
    await endSandbox(sandbox.id);
  }
}
export async function withPerson(action, options) {
  const one = await person(options);
  await action(one);
  await one.close();
}
export const box = (sandbox, tab = "") => `/sandboxes/${sandbox.id}${tab ? "/" + tab : ""}`;
// An editor's text is in a shadow root.
export const editor = (page, label) => page.getByRole("textbox", { name: label });
export async function type(page, label, text) {
  await editor(page, label).click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
}
