// Every page, in both themes and at both sizes: axe finds nothing, nothing is wider than the window, the browser
// complains about nothing. And what the first visit costs.
import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { after, before, test } from "node:test";
import { KEY, SIZES, URL_, api, at, barriers, endSandbox, go, newSandbox, person, settled, until, write } from "./browser.mjs";

const fixtures = {};
before(async () => {
  const sandbox = await newSandbox({ name: "reading-room", metadata: { user: "ada", purpose: "a page that is looked at" } });
  await write(sandbox.id, "/home/user/analysis.py", "import pandas as pd\n\nprint(pd.read_csv('sales.csv').sum())\n");
  await write(sandbox.id, "/home/user/sales.csv", "region,total\nNorth,1200\nSouth,\"1,340\"\n");
  await api("POST", `/v1/sandboxes/${sandbox.id}/exec`, { cmd: "sleep 600", background: true });
  await api("POST", `/v1/sandboxes/${sandbox.id}/snapshots`, { name: "clean" });
  const run = await api("POST", "/v1/run", { language: "python", code: "print('a line'); {'answer': 42}" });
  await until(async () => (await api("GET", "/v1/runs")).runs.some((one) => one.id === run.id), "the run's record");
  Object.assign(fixtures, { sandbox: sandbox.id, run: run.id });
});
after(() => endSandbox(fixtures.sandbox));

const pages = () => {
  const box = "/sandboxes/" + fixtures.sandbox;
  return {
    overview: "/", playground: "/playground", runs: "/runs", "runs, none found": "/runs?q=nothing-is-called-that", run: "/runs/" + fixtures.run, sandboxes: "/sandboxes", "sandboxes, create": "/sandboxes?new=1", terminal: box, files: box + "/files", "files, text": box + "/files?file=/home/user/analysis.py", "files, table": box + "/files?file=/home/user/sales.csv",
    code: box + "/code", processes: box + "/processes", logs: box + "/logs", network: box + "/network", metrics: box + "/metrics", ports: box + "/ports", snapshots: box + "/snapshots", "sandbox settings": box + "/settings",
    templates: "/templates", "templates, create": "/templates?new=1", packages: "/packages", images: "/images", "images, load": "/images?new=1", "images, pull": "/images?pull=1", "packages, install": "/packages?new=1", keys: "/keys", "keys, create": "/keys?new=1", settings: "/settings", security: "/security", "no such page": "/nothing/here",
  };
};

for (const theme of ["light", "dark"]) {
  for (const [name, size] of Object.entries(SIZES)) {
    test(`no page has a barrier, ${theme}, ${name}`, async () => {
      const one = await person({ size, theme }), page = await at(one, "/");
      assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), theme);
      for (const [title, path] of Object.entries(pages())) {
        await go(page, path);
        await settled(page);
        assert.deepEqual(await barriers(page), [], `${title}, ${theme}, ${name}`);
        const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        assert.ok(over <= 0, `${title} is ${over} pixels wider than the window`);
        assert.deepEqual(one.complaints, [], title);
      }
      await one.close();
    });

    test(`signing in has no barrier, ${theme}, ${name}`, async () => {
      const one = await person({ size, theme }), page = await one.context.newPage();
      await page.goto(URL_ + "/console/runs");
      await page.locator(".signin").waitFor();
      assert.deepEqual(await barriers(page), []);
      await one.close();
    });
  }
}

test("nothing is wider than a window of 320 pixels", async () => {
  const one = await person({ size: { width: 320, height: 640 } }), page = await at(one, "/"), over = [];
  for (const [title, path] of Object.entries(pages())) {
    await go(page, path);
    await settled(page);
    const pixels = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    if (pixels > 0) over.push(`${title}: ${pixels}`);
  }
  assert.deepEqual(over, []);
  await one.close();
});

test("the shortcut of one character is switched off", async () => {
  const one = await person(), page = await at(one, "/settings"), typed = () => page.evaluate(() => document.activeElement.type);
  await settled(page);
  await page.locator("#page-title").focus();
  await page.keyboard.press("/");
  assert.equal(await typed(), "search");
  await page.getByLabel("/ goes to the search field").uncheck();
  await page.reload();
  await settled(page);
  await page.locator("#page-title").focus();
  await page.keyboard.press("/");
  assert.notEqual(await typed(), "search");
  await one.close();
});

test("the dialogs, menus and the palette have no barrier", async () => {
  for (const theme of ["light", "dark"]) {
    const one = await person({ theme }), page = await at(one, "/sandboxes");
    await settled(page);
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog").waitFor();
    assert.deepEqual(await barriers(page), [], "palette");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: /^Actions for/ }).first().click();
    assert.deepEqual(await barriers(page), [], "menu");
    await page.getByRole("menuitem", { name: "End" }).click();
    await page.getByRole("dialog").waitFor();
    assert.deepEqual(await barriers(page), [], "confirmation");
    await page.getByRole("button", { name: "Cancel" }).click();
    await one.close();
  }
});

test("on a narrow window the pages are in a drawer, which closes", async () => {
  const one = await person({ size: SIZES.narrow }), page = await at(one, "/sandboxes");
  await settled(page);
  const drawer = page.locator(".side"), link = drawer.getByRole("link", { name: "Runs", exact: true });
  assert.equal(await link.isVisible(), false);
  await page.getByRole("button", { name: "Menu" }).click();
  await link.waitFor();
  assert.deepEqual(await barriers(page), []);
  await page.keyboard.press("Escape");
  await link.waitFor({ state: "hidden" });
  await page.getByRole("button", { name: "Menu" }).click();
  await link.click();
  await page.waitForURL("**/console/runs");
  await link.waitFor({ state: "hidden" });
  await one.close();
});

test("the first visit is light and quick", async () => {
  const one = await person(), page = await at(one, "/");
  await settled(page);
  // Another visit with nothing kept, signed in.
  const visit = await one.context.newPage(), sizes = new Map(), session = await one.context.newCDPSession(visit);
  await session.send("Network.enable");
  await session.send("Network.setCacheDisabled", { cacheDisabled: true });
  session.on("Network.loadingFinished", (event) => sizes.set(event.requestId, event.encodedDataLength));
  const bodies = [];
  visit.on("response", (response) => { if (response.url().includes("/console")) bodies.push(response); });
  await visit.goto(URL_ + "/console/");
  await visit.locator("[data-cards]").waitFor();
  const shown = await visit.evaluate(() => performance.now());
  await settled(visit);
  await visit.waitForLoadState("networkidle").catch(() => {});
  const sent = [...sizes.values()].reduce((total, bytes) => total + bytes, 0);
  console.log(`first visit: ${Math.round(sent / 1024)} KB on the wire, shown after ${Math.round(shown)} ms`);
  assert.ok(sent > 50 * 1024, "nothing was counted");
  assert.ok(sent < 350 * 1024, `${sent} bytes`);
  // A noisy machine: the best of three.
  const times = [shown];
  for (let i = 0; i < 2 && Math.min(...times) >= 1000; i++) {
    await visit.reload();
    await visit.locator("[data-cards]").waitFor();
    times.push(await visit.evaluate(() => performance.now()));
  }
  assert.ok(Math.min(...times) < 1000, `shown after ${times.map(Math.round)} ms`);
  // Large libraries come with the pages that need them.
  const names = bodies.map((response) => new URL(response.url()).pathname);
  assert.ok(!names.some((name) => /xterm|codemirror/.test(name)), names.join(" "));
  await one.close();
});

test("a style in the page is refused, as the other cases rely on", async () => {
  const one = await person(), page = await at(one, "/");
  await page.evaluate(() => document.body.setAttribute("style", "color: red"));
  await until(() => one.complaints.some((text) => /style-src/.test(text)), "the refusal");
  await one.context.close();
});

test("nothing is asked for while the tab is hidden", async () => {
  const one = await person(), page = await at(one, `/sandboxes/${fixtures.sandbox}/processes`);
  await settled(page);
  await page.locator("[data-connection=live]").waitFor({ state: "attached" });
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  const hide = (hidden) => page.evaluate((value) => {
    Object.defineProperty(document, "hidden", { value, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);
  // Control: it asks every three seconds while it is seen.
  await until(() => asked.some((url) => url.includes("/processes")), "a request while it is seen");
  await hide(true);
  await page.locator("[data-connection=paused]").waitFor({ state: "attached" });
  await page.waitForTimeout(500);  // what was under way
  asked.length = 0;
  await page.waitForTimeout(7000);  // two intervals and more
  assert.deepEqual(asked, []);
  await hide(false);
  await until(() => asked.some((url) => url.includes("/processes")), "a request when it is seen again");
  await page.locator("[data-connection=live]").waitFor({ state: "attached" });
  await one.close();
});

test("nothing moves where the system asks for that", async () => {
  const moving = async (page) => {
    await settled(page);
    await page.getByRole("textbox", { name: "Code" }).click();
    await page.locator(".connection .pulse").waitFor();
    return page.evaluate(() => {
      const cursors = document.querySelector(".editor .host").shadowRoot.querySelector(".cm-cursorLayer");
      return [document.querySelector(".connection .pulse"), cursors].map((one) => { const style = getComputedStyle(one); return style.animationName !== "none" && parseFloat(style.animationDuration) > 0; });
    });
  };
  const calm = await person(), lively = await person({ reducedMotion: "no-preference" });
  assert.deepEqual(await moving(await at(calm, "/playground")), [false, false]);
  // Control.
  assert.deepEqual(await moving(await at(lively, "/playground")), [true, true]);
  await calm.close();
  await lively.close();
});

test("everything is there by the keyboard", async () => {
  const one = await person(), page = await at(one, "/");
  await settled(page);
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "page-title");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("Keys and");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/console/keys");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("reading-room");
  await page.locator("[role=option]", { hasText: "reading-room" }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/console/sandboxes/${fixtures.sandbox}`);
  await settled(page);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("Dark");
  await page.keyboard.press("Enter");
  await until(() => page.evaluate(() => document.documentElement.dataset.theme === "dark"), "the dark theme");
  // Remembered, and stronger than the system's.
  await page.reload();
  await settled(page);
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  // Nothing that could sign in is kept where scripts reach it.
  const kept = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage, cookie: document.cookie, html: document.documentElement.outerHTML }));
  assert.ok(!kept.includes(KEY) && !/gbx_[0-9a-f]{40}/.test(kept));
  await one.close();
});
