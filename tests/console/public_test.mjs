// A console at a public address, on a server without a domain for ports: they open below /ports/ of the
// console's own host, in pages that have no origin.
import assert from "node:assert/strict";
import { test } from "node:test";
import { URL_, api, at, endSandbox, exec, newSandbox, person, settled, until, write } from "./browser.mjs";

// Loads a script and data of its own, and tries what a page of the console could do.
const PAGE = `<!doctype html><link rel=icon href=data:,><p id=said>waiting</p><script src="own.js"></script>`;
const SCRIPT = `
(async () => {
  const tried = {};
  const attempt = async (name, action) => { try { tried[name] = await action(); } catch (error) { tried[name] = error.name; } };
  await attempt("own data", async () => (await fetch("data.json")).json().then((got) => got.answer));
  await attempt("cookie", () => document.cookie);
  await attempt("storage", () => localStorage.length);
  await attempt("worker", () => navigator.serviceWorker.register("own.js"));
  await attempt("read", async () => (await fetch("/v1/keys", { credentials: "include" })).status);
  await attempt("session", async () => (await fetch("/console/session", { credentials: "include" })).status);
  await attempt("post", async () => (await fetch("/v1/keys", { method: "POST", mode: "no-cors", credentials: "include", body: '{"project":"default","name":"forged"}' })).status);
  tried.socket = await new Promise((done) => {
    const socket = new WebSocket(location.origin === "null" ? new URL("/v1/live", location.href).href.replace("http", "ws") : "/v1/live");
    socket.onopen = () => done("open");
    socket.onerror = () => done("refused");
  });
  document.getElementById("said").textContent = JSON.stringify(tried);
})();`;

test("a port opens in a tab, works by itself, and reaches nothing of the console", async () => {
  const sandbox = await newSandbox({ private_ports: true });
  try {
    await write(sandbox.id, "/home/user/page/index.html", PAGE);
    await write(sandbox.id, "/home/user/page/own.js", SCRIPT);
    await write(sandbox.id, "/home/user/page/data.json", '{"answer":42}');
    await exec(sandbox.id, "cd page && exec python3 -m http.server 8000", { background: true });
    await until(async () => (await exec(sandbox.id, "cat /proc/net/tcp")).stdout.includes(":1F40"), "the guest's server");
    const one = await person();
    one.expect(/.*/s);
    const page = await at(one, `/sandboxes/${sandbox.id}/ports`);
    await settled(page);
    await page.getByText("without cookies and storage").waitFor();
    await page.getByLabel("Port").fill("8000");
    const answered = page.waitForResponse((response) => response.url().includes("/port-links"));
    const [tab] = await Promise.all([one.context.waitForEvent("page"), page.getByRole("button", { name: "Open", exact: true }).click()]);
    const { url } = await (await answered).json();
    await tab.waitForURL(new RegExp(`/ports/${sandbox.id}/8000/[0-9]+-[0-9a-f]{64}/$`));
    // Control: its own script ran and read its own data.
    await tab.locator("#said").getByText("own data").waitFor();
    const tried = JSON.parse(await tab.locator("#said").textContent());
    assert.equal(tried["own data"], 42);
    assert.deepEqual({ cookie: tried.cookie, storage: tried.storage, read: tried.read, session: tried.session, post: tried.post, socket: tried.socket }, { cookie: "SecurityError", storage: "SecurityError", read: "TypeError", session: "TypeError", post: 0, socket: "refused" });
    assert.notEqual(tried.worker, "registered");
    assert.equal((await api("GET", "/v1/keys")).keys.filter((key) => key.name === "forged").length, 0);
    assert.equal(await tab.evaluate(() => window.opener), null);
    // The page's policy would take a script from there for one of its own: the server does not give it.
    const loaded = await page.evaluate((source) => new Promise((done) => {
      const script = document.createElement("script");
      Object.assign(script, { src: source, onload: () => done("loaded"), onerror: () => done("refused") });
      document.head.append(script);
    }), new URL("own.js", tab.url()).href);
    assert.equal(loaded, "refused");
    // The link is worth nothing any more; the address without its pass neither.
    const thief = await person();
    thief.expect(/.*/s);
    const stolen = await thief.context.newPage();
    assert.equal((await stolen.goto(url)).status(), 404);
    assert.equal((await stolen.goto(`${URL_}/ports/${sandbox.id}/8000/x/`)).status(), 404);
    await thief.context.close();
    await one.context.close();
  } finally {
    await endSandbox(sandbox.id);
  }
});
