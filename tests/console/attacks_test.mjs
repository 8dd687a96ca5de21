// What guests and other tenants can put in front of a signed-in person, and pages that would act in their name.
// Each attack has a control that shows that it works where nothing stops it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { URL_, api, at, box, endSandbox, exec, go, newSandbox, person, settled, until, withSandbox, write } from "./browser.mjs";

// Fires in a page that takes it for HTML: an element whose handler runs, and an image that is asked for.
const payload = (name) => `<img src=x onerror="window.gbxFired='${name}'">`;
// The same without a slash, for names of files.
const shortPayload = "<img src=x onerror=window.gbxFired=1>";

async function fired(page) {
  return page.evaluate(() => window.gbxFired ?? null);
}
// Elements that only a payload would have made.
async function planted(page) {
  return page.evaluate(() => document.querySelectorAll("img[src=x], [onerror], [onload], svg[onload], script:not([type=module])").length);
}

test("the page's policy allows no script but its own, and no frame", async () => {
  const policy = (await fetch(URL_ + "/console/")).headers.get("content-security-policy"), rules = policy.split(/;\s*/);
  for (const rule of ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "font-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"]) assert.ok(rules.includes(rule), rule + " is not in: " + policy);
  assert.ok(!rules.some((rule) => /unsafe|\*|https?:/.test(rule)), policy);
});

test("control: the payloads fire where they are taken for HTML", async () => {
  const one = await person();
  one.expect(/ERR_|404|Failed to load/);
  const server = createServer((_, response) => { response.setHeader("Content-Type", "text/html"); response.end("<!doctype html><title>x</title><body></body>"); });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  try {
    const page = await one.context.newPage();
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    for (const text of [payload("control"), shortPayload]) {
      await page.evaluate((html) => { window.gbxFired = null; document.body.innerHTML = html; }, text);
      await until(() => fired(page), "the payload " + text);
      assert.ok(await planted(page) > 0);
    }
  } finally {
    server.close();
  }
  await one.context.close();
});

test("no field that a guest or another tenant controls becomes HTML", async () => {
  const other = await api("POST", "/v1/keys", { project: "mallory", name: payload("key name") });
  const sandbox = await newSandbox({ metadata: { [payload("metadata key").slice(0, 60)]: payload("metadata") }, agent_id: payload("agent"), env: { A: payload("env") }, profile: { net: { base: "none", allow: ["example.com:443"] } } });
  const theirs = await api("POST", "/v1/sandboxes", { template: "python", name: payload("name").slice(0, 60), metadata: { m: payload("their metadata") } }, { key: other.key }).catch(() => api("POST", "/v1/sandboxes", { template: "python", metadata: { m: payload("their metadata") } }, { key: other.key }));
  try {
    await write(sandbox.id, "/home/user/" + shortPayload + ".txt", payload("file"));
    await write(sandbox.id, "/home/user/table.csv", `${payload("head")},b\n"${payload("cell").replaceAll('"', '""')}",2\n`);
    await write(sandbox.id, "/home/user/vector.svg", `<svg xmlns="http://www.w3.org/2000/svg" onload="parent.gbxFired='svg'"><script>parent.gbxFired='svg script'</script></svg>`);
    await exec(sandbox.id, `mkdir -p '${shortPayload}'; touch '${shortPayload}/${shortPayload}'; ln -sf '${shortPayload}' 'link ${shortPayload}'`);
    await exec(sandbox.id, `exec -a '${payload("argv")}' sleep 600 # ${payload("command")}`, { background: true, cwd: "/home/user" });
    await exec(sandbox.id, "python3 -c \"import socket; socket.getaddrinfo('wanted.example', 443)\"", { timeout_ms: 8000 });
    await api("POST", `/v1/sandboxes/${sandbox.id}/snapshots`, { name: payload("snapshot").slice(0, 60) }).catch(() => api("POST", `/v1/sandboxes/${sandbox.id}/snapshots`, { name: "plain" }));
    const run = await api("POST", "/v1/run", { language: "python", code: `import sys\nprint(${JSON.stringify(payload("stdout"))})\nprint(${JSON.stringify(payload("stderr"))}, file=sys.stderr)\nraise ValueError(${JSON.stringify(payload("error"))})`, env: { X: payload("run env") } });
    const template = await api("POST", "/v1/templates", { name: "hostile", from: "python", description: payload("description"), env: { D: payload("template env") }, preload: [] });
    await until(async () => (await api("GET", "/v1/runs")).runs.some((one) => one.id === run.id), "the record");

    const one = await person(), box = "/sandboxes/" + sandbox.id, file = (name) => `${box}/files?file=${encodeURIComponent("/home/user/" + name)}`;
    const page = await at(one, "/");
    let seen = "";
    for (const path of ["/", "/runs", "/runs?q=" + encodeURIComponent(payload("query")), "/runs/" + run.id, "/sandboxes?state=all", "/sandboxes?q=" + encodeURIComponent(payload("search")), box, `${box}/files`, file(shortPayload + ".txt"), file("table.csv"), file("vector.svg"), `${box}/files?at=${encodeURIComponent("/home/user/" + shortPayload)}`,
      `${box}/processes`, `${box}/logs`, `${box}/network`, `${box}/snapshots`, `${box}/settings`, `/sandboxes/${theirs.id}/settings`, "/templates", "/keys", "/packages", "/security", "/settings", "/" + encodeURIComponent("<img src=x onerror=gbxFired=1>")]) {
      await go(page, path);
      await settled(page);
      seen += await page.evaluate(() => document.body.innerText + [...document.querySelectorAll("input, textarea")].map((field) => field.value).join("\n"));
      assert.equal(await fired(page), null, path);
      assert.equal(await planted(page), 0, path);
      assert.deepEqual(one.complaints, [], path);
    }
    // They were shown: as the text that they are.
    for (const text of ["stdout", "stderr", "error", "metadata", "agent", "description", "key name", "head", "cell", "command", "search"].map(payload)) assert.ok(seen.includes(text), "never shown: " + text);
    assert.ok(seen.includes(shortPayload), "never shown: the name of a file");
    // What a terminal and an interpreter print.
    await go(page, box);
    await page.getByRole("button", { name: "Open a terminal" }).click();
    await page.locator('.terminal[data-state="open"]').waitFor();
    await page.keyboard.type(`ls -N; printf '\\033]0;${shortPayload}\\007${shortPayload}\\n'\n`);
    await page.locator(".xterm-rows").getByText("onerror").first().waitFor();
    await go(page, "/playground");
    await page.getByRole("textbox", { name: "Code" }).click();
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText(`print(${JSON.stringify(payload("live"))}); raise KeyError(${JSON.stringify(payload("live error"))})`);
    await page.keyboard.press("Control+Enter");
    await page.getByText("KeyError").first().waitFor();
    // A search whose answer is hostile: the palette lists another tenant's name.
    await page.keyboard.press("Control+k");
    await page.keyboard.type("img");
    await page.waitForLoadState("networkidle").catch(() => {});
    assert.equal(await fired(page), null);
    assert.equal(await planted(page), 0);
    await one.close();
    await api("DELETE", "/v1/templates/" + template.name);
  } finally {
    await endSandbox(sandbox.id);
    await endSandbox(theirs.id);
    await api("DELETE", `/v1/keys/${other.id}?project=mallory`);
  }
});

test("a guest's HTML runs in its frame and reaches nothing of the console", async () => {
  const one = await person();
  // What the frame's scripts try is refused and reported; that is what is looked for.
  const refusals = [];
  one.expect(/.*/s);
  const page = await at(one, "/playground");
  await settled(page);
  const attack = `<p id=said>waiting</p><script>
    const tried = {};
    const attempt = (name, action) => { try { action(); tried[name] = "worked"; } catch (error) { tried[name] = error.name; } };
    attempt("cookie", () => document.cookie);
    attempt("storage", () => localStorage.length);
    attempt("parent document", () => parent.document.body);
    attempt("parent address", () => { parent.location.href; });
    attempt("move the top", () => { top.location = "about:blank"; });
    parent.postMessage({ type: "frame-height", height: 1e9 }, "*");
    parent.postMessage({ type: "html", html: "<b>x</b>" }, "*");
    new Image().src = location.origin + "/v1/runs?from-a-frame";
    fetch("${URL_}/v1/runs").then(() => { tried.fetch = "worked"; }, () => { tried.fetch = "refused"; }).finally(() => { document.getElementById("said").textContent = JSON.stringify(tried); });
  </script>`;
  page.on("requestfinished", (request) => { if (request.url().includes("from-a-frame")) refusals.push(request.url()); });
  await page.getByRole("textbox", { name: "Code" }).click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(`class Page:\n    def _repr_html_(self):\n        return ${JSON.stringify(attack)}\nPage()`);
  await page.keyboard.press("Control+Enter");
  const said = page.frameLocator("iframe.guest-frame").locator("#said");
  // Control: its script ran, or nothing would be said.
  await said.getByText("fetch").waitFor();
  assert.deepEqual(JSON.parse(await said.textContent()), { cookie: "SecurityError", storage: "SecurityError", "parent document": "SecurityError", "parent address": "SecurityError", "move the top": "SecurityError", fetch: "refused" });
  assert.deepEqual(refusals, []);
  assert.match(page.url(), /\/console\/playground$/);
  assert.ok((await page.locator("iframe.guest-frame").boundingBox()).height <= 2000, "the frame grew as its guest liked");
  await one.context.close();
});

test("another site can neither frame the console nor act in its name", async () => {
  const one = await person();
  one.expect(/.*/s);
  const page = await at(one, "/");
  await settled(page);
  const html = (body) => `<!doctype html><title>evil</title><body>${body}</body>`;
  const control = createServer((_, response) => { response.setHeader("Content-Type", "text/html"); response.end(html("<p>framed</p>")); });
  await new Promise((done) => control.listen(0, "127.0.0.1", done));
  const framed = `http://127.0.0.1:${control.address().port}/`;
  const evil = createServer((_, response) => { response.setHeader("Content-Type", "text/html"); response.end(html(`<iframe id=a src="${URL_}/console/"></iframe><iframe id=b src="${framed}"></iframe>`)); });
  await new Promise((done) => evil.listen(0, "127.0.0.1", done));
  try {
    // The same site (127.0.0.1), another port: SameSite lets the cookie go along.
    const other = await one.context.newPage();
    await other.goto(`http://127.0.0.1:${evil.address().port}/`);
    // Control: that page may frame one that allows it.
    await other.frameLocator("#b").getByText("framed").waitFor();
    assert.equal(await other.frameLocator("#a").locator("#app, .signin, #page-title").count(), 0);
    // Requests with the cookie: none creates a key, none is read.
    const before = (await api("GET", "/v1/keys")).keys.length;
    const tried = await other.evaluate(async (base) => {
      const results = {};
      const attempt = async (name, path, options) => {
        try { const answer = await fetch(base + path, { credentials: "include", ...options }); results[name] = answer.status; } catch { results[name] = "refused"; }
      };
      await attempt("read", "/v1/runs");
      await attempt("simple post", "/v1/keys", { method: "POST", mode: "no-cors", body: '{"project":"evil"}', headers: { "Content-Type": "text/plain" } });
      await attempt("post", "/v1/keys", { method: "POST", body: '{"project":"evil"}', headers: { "Content-Type": "application/json" } });
      await attempt("session", "/console/session");
      await attempt("ticket", "/console/tickets", { method: "POST" });
      results.socket = await new Promise((done) => {
        const socket = new WebSocket(base.replace("http", "ws") + "/v1/live");
        socket.onopen = () => done("open");
        socket.onerror = () => done("refused");
      });
      return results;
    }, URL_);
    // An opaque answer has the status 0.
    assert.deepEqual(tried, { read: "refused", "simple post": 0, post: "refused", session: "refused", ticket: "refused", socket: "refused" });
    assert.equal((await api("GET", "/v1/keys")).keys.length, before);
    // Control: the same requests from the console's own page are answered.
    const own = await page.evaluate(async () => {
      const known = await (await fetch("/console/session")).json();
      const ticket = await (await fetch("/console/tickets", { method: "POST", headers: { "X-Glovebox-CSRF": known.csrf } })).json();
      const socket = new WebSocket(location.origin.replace("http", "ws") + "/v1/live", ["glovebox.v1", "glovebox.ticket." + ticket.ticket]);
      const opened = await new Promise((done) => { socket.onopen = () => done("open"); socket.onerror = () => done("refused"); });
      socket.close();
      return { read: (await fetch("/v1/runs")).status, socket: opened, "without the token": (await fetch("/v1/runs", { method: "POST" })).status >= 400 };
    });
    assert.deepEqual(own, { read: 200, socket: "open", "without the token": true });
  } finally {
    evil.close();
    control.close();
    evil.closeAllConnections();
    control.closeAllConnections();
  }
  await one.context.close();
});

test("a page elsewhere cannot make a browser go on with the key of its link", async () => {
  const mallory = await api("POST", "/v1/keys", { project: "mallory-links", name: "mallory" });
  const link = async () => (await api("POST", "/console/links", {}, { key: mallory.key })).path;
  const one = await person(), page = await at(one, "/runs");
  await settled(page);
  const whose = (tab) => tab.evaluate(async () => (await (await fetch("/console/session")).json()).project);
  const elsewhere = createServer((_, response) => { response.setHeader("Content-Type", "text/html"); response.end("<!doctype html><link rel=icon href=data:,><title>elsewhere</title>"); });
  await new Promise((done) => elsewhere.listen(0, "127.0.0.1", done));
  try {
    const other = await one.context.newPage(), question = other.getByRole("dialog", { name: "Sign in by the link?" });
    const follow = async (path) => {
      await other.goto(`http://127.0.0.1:${elsewhere.address().port}/`);
      await Promise.all([other.waitForURL("**/console/**"), other.evaluate((to) => { location.href = to; }, URL_ + path)]);
      await question.waitFor();
    };
    await follow(await link());
    assert.equal(await whose(other), "default");
    assert.ok(!other.url().includes("link="), other.url());
    // What the Enter of somebody who reads nothing does.
    await other.keyboard.press("Enter");
    await question.waitFor({ state: "detached" });
    await settled(other);
    assert.equal(await whose(other), "default");
    assert.equal(await whose(page), "default");
    // Control: who wants it can.
    await follow(await link());
    await question.getByRole("button", { name: "Sign in by the link" }).click();
    await until(() => whose(other).then((name) => name === "mallory-links", () => false), "the session of the link");
    await other.locator(".who").getByText("mallory-links").waitFor();
  } finally {
    elsewhere.close();
    elsewhere.closeAllConnections();
    await api("DELETE", `/v1/keys/${mallory.id}?project=mallory-links`);
  }
  await one.context.close();
});

test("a page that opens the console in a window has no hold of it", async () => {
  const one = await person(), signedIn = await at(one, "/");
  await settled(signedIn);
  one.expect(/.*/s);
  const server = createServer((_, response) => { response.setHeader("Content-Type", "text/html"); response.end("<!doctype html><link rel=icon href=data:,><title>x</title><p>here</p>"); });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const here = `http://127.0.0.1:${server.address().port}/`;
  try {
    const evil = await one.context.newPage();
    await evil.goto(here);
    const open = async (to) => {
      const [opened] = await Promise.all([one.context.waitForEvent("page"), evil.evaluate((address) => { window.held = window.open(address); }, to)]);
      await opened.waitForLoadState();
      return opened;
    };
    const lure = here + "lure";
    // Control: a window without that protection is led elsewhere by who opened it.
    const plain = await open(here + "plain");
    await evil.evaluate((to) => { window.held.location = to; }, lure);
    await plain.waitForURL(lure);
    const console_ = await open(URL_ + "/console/runs");
    await console_.locator("#page-title").waitFor();
    await evil.evaluate((to) => { window.held.location = to; }, lure);
    assert.ok(await evil.evaluate(() => window.held.closed), "the window is still held");
    await settled(console_);
    assert.match(console_.url(), /\/console\/runs$/);
    assert.equal(await console_.evaluate(() => window.opener), null);
  } finally {
    server.close();
    server.closeAllConnections();
  }
  await one.context.close();
});

// Everything that a page can make a browser ask of another server, but for what no policy governs (docs/console.md):
// WebRTC, and connections made in advance, which carry nothing.
const TELLTALE = (to) => `<link rel=prefetch href="${to}/prefetch"><link rel=preload as=image href="${to}/preload"><link rel=modulepreload href="${to}/module"><link rel=stylesheet href="${to}/sheet">
  <img src="${to}/image"><video src="${to}/video" autoplay></video><audio src="${to}/audio" autoplay></audio><object data="${to}/object"></object><embed src="${to}/embed"><iframe src="${to}/frame"></iframe><script src="${to}/script"></script>
  <style>@import url("${to}/import"); body { background: url("${to}/background"); } @font-face { font-family: q; src: url("${to}/font"); } p { font-family: q; }</style><svg><image href="${to}/in-svg" /></svg>
  <form method=post action="${to}/form"></form><p>waiting</p><script>
    const attempt = (action) => { try { Promise.resolve(action()).catch(() => {}); } catch { /* refused */ } };
    attempt(() => navigator.sendBeacon("${to}/beacon", "x"));
    attempt(() => fetch("${to}/fetch", { mode: "no-cors" }));
    attempt(() => new WebSocket("${to}/socket".replace("http", "ws")));
    attempt(() => new EventSource("${to}/events"));
    attempt(() => new Worker(URL.createObjectURL(new Blob(['fetch("${to}/worker", { mode: "no-cors" })']))));
    attempt(() => window.open("${to}/window"));
    const nested = document.createElement("iframe");
    nested.srcdoc = "<img src='${to}/nested'>";
    document.body.append(nested);
    setTimeout(() => { document.querySelector("p").textContent = "tried"; }, 1500);
    setTimeout(() => attempt(() => document.forms[0].submit()), 2000);
    setTimeout(() => attempt(() => { location.href = "${to}/navigation"; }), 2500);
  </script>`;

test("a guest's HTML sends no request to another server", () => withSandbox(async (sandbox) => {
  const asked = [];
  const server = createServer((request, response) => {
    const [, name] = request.url.split("/");
    asked.push(name);
    response.setHeader("Content-Type", "text/html");
    response.end(name === "control-page" ? "<!doctype html><title>x</title>" + TELLTALE(there) : "");
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const there = `http://127.0.0.1:${server.address().port}`;
  const one = await person();
  one.expect(/.*/s);
  try {
    await write(sandbox.id, "/home/user/telltale.html", TELLTALE(there));
    const page = await at(one, box(sandbox, "files?file=/home/user/telltale.html"));
    await page.frameLocator("iframe.guest-frame").getByText("tried").waitFor();
    await page.waitForTimeout(2000);
    assert.deepEqual(asked, []);
    // Nor does a table of the same in a result, whose frame is as high as it says.
    await go(page, "/playground");
    await page.getByRole("textbox", { name: "Code" }).click();
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText(`class Page:\n    def _repr_html_(self):\n        return ${JSON.stringify(TELLTALE(there))}\nPage()`);
    await page.keyboard.press("Control+Enter");
    await page.frameLocator("iframe.guest-frame").getByText("tried").waitFor();
    await page.waitForTimeout(2000);
    assert.deepEqual(asked, []);
    // Control: the same page where nothing stops it.
    const control = await one.context.newPage();
    await control.goto(there + "/control-page");
    await until(() => ["fetch", "beacon", "image", "sheet", "background", "frame", "script", "nested", "socket", "worker", "import"].every((name) => asked.includes(name)), "the requests of the control: " + asked);
    await control.waitForURL(/navigation|form/);
  } finally {
    server.close();
    server.closeAllConnections();
  }
  await one.context.close();
}));

test("a guest's HTML that never rests does not stop the console", () => withSandbox(async (sandbox) => {
  const one = await person();
  await write(sandbox.id, "/home/user/busy.html", "<p>busy</p><script>const end = Date.now() + 60000; let i = 0; while (Date.now() < end) parent.postMessage({ type: 'frame-height', height: ++i % 2000 }, '*');</script>");
  const page = await at(one, box(sandbox, "files?file=/home/user/busy.html"));
  const patience = async (tab) => {
    const began = Date.now();
    await tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
    return Date.now() - began;
  };
  await page.locator("iframe.guest-frame").waitFor();
  await page.waitForTimeout(1000);
  assert.ok(await patience(page) < 2000, "the page waits for the frame");
  await page.getByRole("link", { name: "Logs" }).click();
  await page.locator(".log-line").first().waitFor();
  // Control: a script of the page itself would stop it.
  const waiting = page.evaluate(() => { setTimeout(() => { const end = Date.now() + 3000; while (Date.now() < end); }, 100); }).then(() => new Promise((done) => setTimeout(done, 200))).then(() => patience(page));
  assert.ok(await waiting > 1500, "the control did not stop the page");
  await one.close();
}));

test("an image file with a script in it has no address in the console", () => withSandbox(async (sandbox) => {
  const one = await person();
  await write(sandbox.id, "/home/user/picture.svg", `<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"><rect width="20" height="20" fill="red"/><script>window.gbxFired = "svg"; try { opener.gbxFired = "svg"; } catch {}</script></svg>`);
  const page = await at(one, box(sandbox, "files?file=/home/user/picture.svg"));
  await until(() => page.locator(".picture img").evaluate((image) => image.naturalWidth === 20).catch(() => false), "the image");
  // A Blob's address would be a document of this origin, where one opens the image by itself.
  assert.match(await page.locator(".picture img").getAttribute("src"), /^data:image\/svg\+xml/);
  assert.equal(await fired(page), null);
  await one.close();
}));

test("what an image of somebody else says of itself is text", async () => {
  const place = mkdtempSync(join(tmpdir(), "gbx-hostile-image-"));
  const one = await person();
  try {
    mkdirSync(join(place, "tree"));
    writeFileSync(join(place, "tree", "file"), "x\n");
    execFileSync("tar", ["-C", join(place, "tree"), "-cf", join(place, "layer.tar"), "file"]);
    const digest = createHash("sha256").update(readFileSync(join(place, "layer.tar"))).digest("hex");
    writeFileSync(join(place, "config.json"), JSON.stringify({
      architecture: process.arch === "x64" ? "amd64" : process.arch, os: "linux", rootfs: { type: "layers", diff_ids: ["sha256:" + digest] },
      config: { Env: ["HOSTILE=" + payload("image env")], Entrypoint: [payload("entrypoint")], Cmd: [payload("cmd")], WorkingDir: "/" + shortPayload, Labels: { x: payload("label") } },
    }));
    writeFileSync(join(place, "manifest.json"), JSON.stringify([{ Config: "config.json", RepoTags: ["hostile:1"], Layers: ["layer.tar"] }]));
    execFileSync("tar", ["-C", place, "-cf", join(place, "image.tar"), "manifest.json", "config.json", "layer.tar"]);
    await api("POST", "/v1/images", readFileSync(join(place, "image.tar")), { raw: true, headers: { "Content-Type": "application/x-tar" } });
    const page = await at(one, "/images");
    await page.getByRole("button", { name: "Actions for hostile:1" }).click();
    await page.getByRole("menuitem", { name: "What it is" }).click();
    const seen = await page.getByRole("dialog").innerText();
    for (const text of ["image env", "entrypoint", "cmd"].map(payload)) assert.ok(seen.includes(text), "never shown: " + text);
    assert.equal(await fired(page), null);
    assert.equal(await planted(page), 0);
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("button", { name: "Actions for hostile:1" }).click();
    await page.getByRole("menuitem", { name: "Remove", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await page.getByRole("heading", { name: "No images yet" }).waitFor();
  } finally {
    rmSync(place, { recursive: true });
  }
  await one.close();
});
