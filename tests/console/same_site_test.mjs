// A guest's page at PORT-ID.DOMAIN is on the same site as the console at DOMAIN: a browser sends cookies with
// what it asks for, and lets it set cookies for the domain. Over HTTPS, with the browser's own rules.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { KEY, URL_, api, at, endSandbox, exec, newSandbox, person, settled, until, write } from "./browser.mjs";

const DOMAIN = new URL(URL_).hostname;
const SERVER = "cd page && exec python3 -m http.server 8000";

async function withGuestPage(action, more = {}) {
  const sandbox = await newSandbox(more);
  try {
    await write(sandbox.id, "/home/user/page/index.html", "<!doctype html><link rel=icon href=data:,><title>guest</title><p id=said>the guest's page</p><iframe name=sink></iframe>");
    await exec(sandbox.id, SERVER, { background: true });
    const one = await person();
    // What the browser refuses to the guest's page it reports there.
    one.expect(/.*/s);
    await action({ one, sandbox, origin: `https://8000-${sandbox.id}.${DOMAIN}` });
    await one.context.close();
  } finally {
    await endSandbox(sandbox.id);
  }
}

async function guestPage(one, origin) {
  const guest = await one.context.newPage();
  await until(async () => {
    await guest.goto(origin + "/").catch(() => {});
    return guest.locator("#said").isVisible();
  }, "the guest's page");
  return guest;
}

const keysNamed = async (name) => (await api("GET", "/v1/keys")).keys.filter((key) => key.name === name).length;

test("a guest's page on the console's site changes nothing, reads nothing and frames nothing", () => withGuestPage(async ({ one, origin }) => {
  const page = await at(one, "/");
  await settled(page);
  const guest = await guestPage(one, origin);
  // Control: it is on the console's site, or this were about another site: a plain cookie that it sets for
  // the domain reaches the console's host.
  await guest.evaluate((domain) => { document.cookie = `same=site; Domain=${domain}; Path=/; Secure`; }, DOMAIN);
  assert.ok((await one.context.cookies(URL_ + "/")).some((cookie) => cookie.name === "same"));
  const tried = await guest.evaluate(async (base) => {
    const results = {}, body = JSON.stringify({ project: "default", name: "forged", role: "admin" });
    const attempt = async (name, path, options = {}) => {
      try { results[name] = (await fetch(base + path, { credentials: "include", ...options })).status; } catch { results[name] = "refused"; }
    };
    await attempt("read", "/v1/keys");
    await attempt("read opaquely", "/v1/keys", { mode: "no-cors" });
    await attempt("post", "/v1/keys", { method: "POST", body, headers: { "Content-Type": "application/json" } });
    await attempt("simple post", "/v1/keys", { method: "POST", mode: "no-cors", body, headers: { "Content-Type": "text/plain" } });
    await attempt("with a guessed token", "/v1/keys", { method: "POST", body, headers: { "Content-Type": "application/json", "X-Glovebox-CSRF": "0".repeat(64) } });
    await attempt("sign out", "/console/session", { method: "DELETE" });
    await attempt("ticket", "/console/tickets", { method: "POST", mode: "no-cors" });
    results.socket = await new Promise((done) => {
      const socket = new WebSocket(base.replace("http", "ws") + "/v1/live");
      socket.onopen = () => done("open");
      socket.onerror = () => done("refused");
    });
    // A form needs no script's rights, and sends the cookie if the browser thinks so.
    const form = document.createElement("form");
    Object.assign(form, { method: "post", action: base + "/v1/keys", enctype: "text/plain", target: "sink" });
    const field = document.createElement("input");
    Object.assign(field, { name: body.slice(0, -1) + ',"x":"', value: '"}' });
    form.append(field);
    document.body.append(form);
    form.submit();
    const frame = document.createElement("iframe");
    frame.id = "framed";
    frame.src = base + "/console/";
    document.body.append(frame);
    await new Promise((done) => { frame.onload = done; });
    return results;
  }, URL_);
  assert.deepEqual(tried, { read: "refused", "read opaquely": 0, post: "refused", "simple post": 0, "with a guessed token": "refused", "sign out": "refused", ticket: 0, socket: "refused" });
  assert.equal(await guest.frameLocator("#framed").locator("#app, .signin, #page-title").count(), 0);
  assert.equal(await keysNamed("forged"), 0);
  // Control: the same request of the console's own page makes a key; and its session is still there.
  const made = await page.evaluate(async () => {
    const known = await (await fetch("/console/session")).json();
    return (await fetch("/v1/keys", { method: "POST", body: JSON.stringify({ project: "default", name: "forged" }), headers: { "Content-Type": "application/json", "X-Glovebox-CSRF": known.csrf } })).status;
  });
  assert.equal(made, 201);
  assert.equal(await keysNamed("forged"), 1);
}));

test("a cookie that a guest's page sets for the domain does not become the console's", () => withGuestPage(async ({ one, origin }) => {
  const page = await at(one, "/runs");
  await settled(page);
  const mine = (await one.context.cookies(URL_ + "/")).find((cookie) => cookie.name === "__Host-glovebox");
  assert.ok(mine?.httpOnly && mine.secure && mine.sameSite === "Strict" && mine.domain === DOMAIN, JSON.stringify(mine));
  // The attacker has a session of their own, to be put into other people's browsers.
  const other = await person(), theirs = await at(other, "/runs");
  await settled(theirs);
  const tossed = (await other.context.cookies(URL_ + "/")).find((cookie) => cookie.name === "__Host-glovebox").value;
  const guest = await guestPage(one, origin);
  await guest.evaluate(({ domain, value }) => {
    for (const attributes of [`Domain=${domain}; Path=/; Secure`, `Domain=${domain}; Path=/console; Secure`, `Domain=${domain}; Path=/v1`, "Path=/; Secure"]) document.cookie = `__Host-glovebox=${value}; ${attributes}`;
    document.cookie = `control=1; Domain=${domain}; Path=/; Secure`;
  }, { domain: DOMAIN, value: tossed });
  const kept = await one.context.cookies(URL_ + "/console/session");
  assert.ok(kept.some((cookie) => cookie.name === "control"), "the guest's page set no cookie at all");
  assert.deepEqual(kept.filter((cookie) => cookie.name === "__Host-glovebox").map((cookie) => cookie.value), [mine.value]);
  await page.reload();
  await settled(page);
  assert.equal(await page.locator(".signin").count(), 0);
  await other.context.close();
}));

test("a link to a private port opens it once, in one browser", () => withGuestPage(async ({ one, sandbox, origin }) => {
  const page = await at(one, `/sandboxes/${sandbox.id}/ports`);
  await settled(page);
  await page.getByLabel("Port").fill("8000");
  // The address as the page is given it: what a thief might see.
  const answered = page.waitForResponse((response) => response.url().includes("/port-links"));
  const [tab] = await Promise.all([one.context.waitForEvent("page"), page.getByRole("button", { name: "Open", exact: true }).click()]);
  const { url } = await (await answered).json();
  assert.ok(url.startsWith(origin + "/.glovebox/open?link="), url);
  await tab.getByText("the guest's page").waitFor();
  assert.equal(tab.url(), origin + "/");
  assert.ok((await one.context.cookies(origin + "/")).some((cookie) => cookie.name === "__Host-glovebox-port" && cookie.httpOnly));
  await tab.reload();
  await tab.getByText("the guest's page").waitFor();
  const thief = await person();
  thief.expect(/.*/s);
  const stolen = await thief.context.newPage();
  assert.equal((await stolen.goto(url)).status(), 502);
  // Control: a new link would open it there, too.
  const fresh = await page.evaluate(async (path) => {
    const known = await (await fetch("/console/session")).json();
    return (await fetch(path, { method: "POST", body: '{"port":8000}', headers: { "Content-Type": "application/json", "X-Glovebox-CSRF": known.csrf } })).json();
  }, `/v1/sandboxes/${sandbox.id}/port-links`);
  await stolen.goto(fresh.url);
  await stolen.getByText("the guest's page").waitFor();
  await thief.context.close();
}, { private_ports: true }));

test("nothing of this is signed in by a key in an address", async () => {
  const one = await person();
  const page = await at(one, "/");
  await settled(page);
  const seen = await page.evaluate(() => performance.getEntriesByType("resource").map((entry) => entry.name).join(" ") + location.href + document.cookie);
  assert.ok(!seen.includes(KEY) && !seen.includes("__Host-"));
  await one.close();
});

test("a guest's answer does not clear the cookies of the domain", () => withGuestPage(async ({ one, sandbox, origin }) => {
  const page = await at(one, "/runs");
  await settled(page);
  const guest = await guestPage(one, origin), cookies = async () => (await one.context.cookies(URL_ + "/")).map((cookie) => cookie.name);
  await guest.evaluate((domain) => { document.cookie = `kept=1; Domain=${domain}; Path=/; Secure`; }, DOMAIN);
  assert.deepEqual((await cookies()).sort(), ["__Host-glovebox", "kept"]);
  await write(sandbox.id, "/home/user/clearing.py", `import http.server
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Clear-Site-Data", '"cookies"')
        self.send_header("Access-Control-Allow-Origin", "*")
        self.end_headers()
        self.wfile.write(b"asked to clear")
http.server.HTTPServer(("0.0.0.0", 8001), Answer).serve_forever()
`);
  await exec(sandbox.id, "exec python3 clearing.py", { background: true });
  const other = origin.replace("8000-", "8001-"), tab = await one.context.newPage();
  await until(async () => {
    await tab.goto(other + "/").catch(() => {});
    return tab.getByText("asked to clear").isVisible();
  }, "the answer that asks to clear");
  assert.deepEqual((await cookies()).sort(), ["__Host-glovebox", "kept"]);
  await page.reload();
  await settled(page);
  assert.equal(await page.locator(".signin").count(), 0);
}));

test("control: the browser clears cookies where an answer asks for it", async () => {
  const place = mkdtempSync(join(tmpdir(), "gbx-control-")), [key, cert] = ["key.pem", "cert.pem"].map((name) => join(place, name));
  execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=control"], { stdio: "ignore" });
  const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (request, response) => {
    if (request.url === "/clear") response.setHeader("Clear-Site-Data", '"cookies"');
    if (request.url === "/set") response.setHeader("Set-Cookie", "kept=1; Secure; Path=/");
    response.end("x");
  });
  rmSync(place, { recursive: true });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const one = await person(), page = await one.context.newPage(), there = `https://127.0.0.1:${server.address().port}`;
  one.expect(/.*/s);
  try {
    await page.goto(there + "/set");
    assert.equal((await one.context.cookies(there)).length, 1);
    await page.goto(there + "/clear");
    assert.deepEqual(await one.context.cookies(there), []);
  } finally {
    server.close();
    server.closeAllConnections();
  }
  await one.context.close();
});
