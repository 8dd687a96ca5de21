// What only appears once something was done: results, dialogs, previews, failures. In both themes and at both
// sizes axe finds nothing there either, and nothing is wider than the window.
import assert from "node:assert/strict";
import { chmodSync, rmSync, writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { KEY, SIZES, URL_, api, at, barriers, box, editor, endSandbox, exec, go, newSandbox, person, settled, toast, type, until, write } from "./browser.mjs";

const REPORT = process.env.GBX_CONSOLE_DATA + "/store/attack-report.json";
const PIXEL = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==", "base64");
const made = {};

before(async () => {
  made.sandbox = await newSandbox({ name: "looked-at", profile: { net: { base: "none", allow: ["example.com:443"] } } });
  made.ended = await newSandbox({ name: "has-ended" });
  await endSandbox(made.ended.id);
  made.paused = await newSandbox({ name: "is-paused" });
  await api("POST", `/v1/sandboxes/${made.paused.id}/pause`).catch(() => {});
  await write(made.sandbox.id, "/home/user/dot.png", PIXEL);
  await write(made.sandbox.id, "/home/user/page.html", "<title>page</title><h1>A page</h1>");
  await write(made.sandbox.id, "/home/user/noise.bin", Buffer.from([0, 255, 254, 0, 1]));
  await write(made.sandbox.id, "/home/user/notes.txt", "one\n");
  await exec(made.sandbox.id, "mkdir -p folder && touch folder/inside");
  await exec(made.sandbox.id, "python3 -c \"import socket; socket.getaddrinfo('wanted.example', 443)\"", { timeout_ms: 8000 });
  const failed = await api("POST", "/v1/run", { language: "python", code: "print('seen')\nraise ValueError('an error with a traceback')" });
  await until(async () => (await api("GET", "/v1/runs")).runs.some((one) => one.id === failed.id), "the record");
  made.run = failed.id;
  const verdict = (name, outcome) => ({ name, aims_at: "a wall", outcome, held: outcome === "stopped", by: outcome === "stopped" ? "seccomp" : "", counted: true, detail: "said so" });
  writeFileSync(REPORT, JSON.stringify({ at: new Date().toISOString(), engine: "jail", version: "0.1.0", counts: {}, attacks: [verdict("reads-a-file", "stopped"), verdict("leaves", "succeeded"), verdict("needs-more", "not-tried"), verdict("old", "kernel-lacks-it")] }));
  chmodSync(REPORT, 0o644);
});
after(async () => {
  rmSync(REPORT, { force: true });
  for (const one of [made.sandbox, made.paused]) await endSandbox(one.id);
});

// Each brings the page into a state; what it returns is done when that was looked at.
const STATES = {
  async "a run with everything"(page) {
    await go(page, "/playground");
    await editor(page, "Code").waitFor();
    await type(page, "Code", "import sys\nprint('out')\nprint('err', file=sys.stderr)\nclass Table:\n    def _repr_html_(self):\n        return '<table><tr><td>x</td></tr></table>'\nTable()");
    await page.keyboard.press("Control+Enter");
    await page.frameLocator(".rich iframe").getByRole("cell", { name: "x" }).waitFor();
    await page.getByText("Walls that stood").waitFor();
  },
  async "a run that failed, with all settings"(page) {
    await type(page, "Code", "def deep():\n    raise ValueError('no such column')\ndeep()");
    await page.keyboard.press("Control+Enter");
    await page.getByText("ValueError: no such column").first().waitFor();
    await page.getByRole("button", { name: "More settings" }).click();
    await page.getByRole("button", { name: "Copy as" }).click();
  },
  async "a settings problem"(page) {
    await page.keyboard.press("Escape");
    await page.getByLabel("Memory in MB").fill("much");
    await page.getByRole("button", { name: /^Run/ }).click();
    await page.locator(".notice.bad").waitFor();
    return () => page.getByLabel("Memory in MB").fill("");
  },
  async "a failed run's record"(page) {
    await go(page, "/runs/" + made.run);
    await page.getByText("an error with a traceback").first().waitFor();
  },
  async "a terminal"(page) {
    await go(page, box(made.sandbox));
    await settled(page);
    if (await page.getByRole("button", { name: "Open a terminal" }).count()) await page.getByRole("button", { name: "Open a terminal" }).click();
    await page.locator('.terminal[data-state="open"]').first().waitFor();
    await page.keyboard.type("ls --color=always; printf '\\033[31mred \\033[32mgreen \\033[33myellow \\033[34mblue \\033[35mmagenta \\033[36mcyan \\033[90mgrey\\033[0m\\n'\n");
    await page.locator(".xterm-rows").getByText("magenta").last().waitFor();
  },
  async "a terminal for screen readers"(page) {
    await page.getByRole("button", { name: "For screen readers" }).click();
    await page.locator(".xterm-accessibility-tree").getByText("magenta").first().waitFor({ state: "attached" });
    return () => page.getByRole("button", { name: "For screen readers" }).click();
  },
  async "an image"(page) {
    await go(page, box(made.sandbox, "files?file=/home/user/dot.png"));
    await until(() => page.locator(".picture img").evaluate((image) => image.naturalWidth === 1).catch(() => false), "the image");
  },
  async "a page in its frame"(page) {
    await go(page, box(made.sandbox, "files?file=/home/user/page.html"));
    await page.frameLocator("iframe.guest-frame").getByText("A page").waitFor();
  },
  async "a file without a preview"(page) {
    await go(page, box(made.sandbox, "files?file=/home/user/noise.bin"));
    await page.getByRole("heading", { name: "Not text" }).waitFor();
  },
  async "a file that was changed meanwhile"(page) {
    await write(made.sandbox.id, "/home/user/notes.txt", "one\n");
    await go(page, box(made.sandbox, "files?file=/home/user/notes.txt"));
    await editor(page, "Text of notes.txt").getByText("one").waitFor();
    await write(made.sandbox.id, "/home/user/notes.txt", "theirs\n");
    await type(page, "Text of notes.txt", "mine\n");
    await page.keyboard.press("Control+s");
    await page.getByText("Someone else changed this file").waitFor();
    return async () => {
      await page.getByRole("button", { name: "Discard" }).click();
      await page.getByText("Saved", { exact: true }).waitFor();
    };
  },
  async "the tree with a menu"(page) {
    await go(page, box(made.sandbox, "files"));
    await settled(page);
    await page.locator('.tree-row[data-entry="folder"]').click();
    await page.locator('.tree-row[data-entry="inside"]').waitFor();
    await page.getByRole("button", { name: "Actions for folder" }).click();
  },
  async "cells with results"(page) {
    await go(page, box(made.sandbox, "code"));
    await editor(page, "Cell 1").waitFor();
    await type(page, "Cell 1", "print('said')\n{'a': [1, 2]}");
    await page.keyboard.press("Control+Enter");
    await page.getByText('"a": [').waitFor();
    await page.getByRole("button", { name: "Add a cell", exact: true }).click();
    await editor(page, "Cell 2").waitFor();
    await type(page, "Cell 2", "1 / 0");
    await page.keyboard.press("Control+Enter");
    await page.getByText("ZeroDivisionError").first().waitFor();
  },
  async "what the network refused"(page) {
    await go(page, box(made.sandbox, "network"));
    await page.getByRole("button", { name: /^Allow wanted/ }).waitFor();
  },
  async "ports that were looked for"(page) {
    await go(page, box(made.sandbox, "ports"));
    await page.getByRole("button", { name: "Look" }).click();
    await page.getByRole("heading", { name: "Nothing listens" }).waitFor();
    await page.getByLabel("Port").fill("70000");
    await page.getByRole("button", { name: "Open", exact: true }).click();
    await page.getByText("A port is a number").waitFor();
  },
  async "one that has ended"(page) {
    await go(page, box(made.ended));
    await page.getByText(/^It ended/).waitFor();
  },
  async "one that is paused"(page) {
    await go(page, box(made.paused));
    await page.getByRole("heading", { name: "It is paused" }).waitFor();
  },
  async "none that there is"(page) {
    await go(page, "/sandboxes/sb" + "0".repeat(20));
    await page.getByRole("heading", { name: "There is no such sandbox" }).first().waitFor();
  },
  async "chosen sandboxes"(page) {
    await go(page, "/sandboxes");
    await page.getByLabel("Choose looked-at").check();
    await page.getByRole("toolbar").waitFor();
  },
  async "the question before they end"(page) {
    await page.getByRole("toolbar").getByRole("button", { name: /End/ }).click();
    await page.getByRole("dialog").waitFor();
    return () => page.keyboard.press("Escape");
  },
  async "a dialog with a fault"(page) {
    await go(page, "/sandboxes?new=1");
    await page.getByRole("button", { name: "Limits, network, packages" }).click();
    await page.getByLabel("Time to live").fill("soon");
    await page.getByRole("dialog").getByRole("button", { name: "Create" }).click();
    await page.getByText("“soon” is not a time").waitFor();
  },
  async "a key that is shown once"(page) {
    await go(page, "/keys?new=1");
    await page.getByRole("dialog").getByLabel("Name").fill("for a look");
    await page.getByRole("dialog").getByLabel("Project").fill("looked-at");
    await page.getByRole("dialog").getByRole("button", { name: "New key" }).click();
    await page.locator("[data-secret]").waitFor();
    return async () => {
      await page.getByRole("button", { name: "Done" }).click();
      const key = (await api("GET", "/v1/keys")).keys.find((one) => one.name === "for a look" && !one.revoked_at);
      await api("DELETE", `/v1/keys/${key.id}?project=looked-at`);
    };
  },
  async "the attacks' report"(page) {
    await go(page, "/security");
    await page.getByText("needs-more").waitFor();
  },
  async "the palette without a match"(page) {
    await go(page, "/");
    await settled(page);
    await page.keyboard.press("Control+k");
    await page.keyboard.type("zzzz");
    await page.getByText("Nothing matches.").waitFor();
    return () => page.keyboard.press("Escape");
  },
  async "a notice at the bottom"(page) {
    await page.evaluate(() => navigator.clipboard.writeText(""));
    await go(page, "/sandboxes/" + made.sandbox.id + "/settings");
    await page.getByRole("button", { name: "Save" }).click();
    await toast(page, "Saved.");
  },
};

for (const theme of ["light", "dark"]) {
  for (const [name, size] of Object.entries(SIZES)) {
    test(`no state has a barrier, ${theme}, ${name}`, async () => {
      const one = await person({ size, theme });
      one.expect(/4\d\d/);  // of what is refused on purpose
      const page = await at(one, "/"), found = [];
      for (const [title, reach] of Object.entries(STATES)) {
        const leave = await reach(page);
        await settled(page);
        found.push(...(await barriers(page)).map((said) => `${title}: ${said}`));
        const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        if (over > 0) found.push(`${title}: ${over} pixels wider than the window`);
        await leave?.();
        assert.deepEqual(one.complaints, [], title);
      }
      assert.deepEqual(found, []);
      await one.close();
    });
  }
}

test("a session that is over and a key that is refused have no barrier", async () => {
  for (const theme of ["light", "dark"]) {
    const one = await person({ theme, size: SIZES.narrow }), page = await one.context.newPage();
    one.expect(/401|WebSocket/);
    await page.goto(URL_ + "/console/");
    await page.getByLabel("API key").fill("gbx_" + "0".repeat(40));
    await page.keyboard.press("Enter");
    await page.getByText("This key is not valid here").waitFor();
    assert.deepEqual(await barriers(page), []);
    await page.getByLabel("API key").fill(KEY);
    await page.keyboard.press("Enter");
    await settled(page);
    await page.evaluate(async () => {
      const { csrf } = await (await fetch("/console/session")).json();
      await fetch("/console/session", { method: "DELETE", headers: { "X-Glovebox-CSRF": csrf } });
    });
    await page.getByRole("heading", { name: "Your session is over" }).waitFor({ timeout: 40000 });
    assert.deepEqual(await barriers(page), []);
    await one.close();
  }
});
