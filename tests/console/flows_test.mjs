// What people do in the console, each against the real server.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KEY, SIZES, URL_, api, at, barriers, box, editor, endSandbox, exec, go, newSandbox, read, settled, toast, type, until, withPerson, withSandbox, write } from "./browser.mjs";

const run = promisify(execFile);

test("signing in by a key, and out", () => withPerson(async (one) => {
  one.expect(/401/);
  const page = await one.context.newPage();
  await page.goto(URL_ + "/console/runs");
  await page.getByLabel("API key").fill("nonsense");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("That is not a key").waitFor();
  await page.getByLabel("API key").fill("gbx_" + "0".repeat(40));
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("This key is not valid here").waitFor();
  await page.getByLabel("API key").fill(KEY);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();  // the page that was asked for
  const [cookie] = await one.context.cookies(URL_);
  assert.ok(cookie.httpOnly && cookie.sameSite === "Strict", JSON.stringify(cookie));
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.locator(".signin").waitFor();
  await page.reload();
  await page.locator(".signin").waitFor();
  assert.deepEqual(await one.context.cookies(URL_), []);
}));

test("a one-time link signs in once, and leaves the address", async () => {
  const { stdout } = await run(process.env.GLOVEBOX_BIN_DIR + "/glovebox", ["console", "--print", "--data-dir", process.env.GBX_CONSOLE_DATA]);
  const link = URL_ + "/console/" + new URL(stdout.trim().split(/\s+/).find((word) => word.includes("#"))).hash;
  await withPerson(async (one) => {
    const page = await one.context.newPage();
    await page.goto(link);
    await page.locator("#page-title", { hasText: "Overview" }).waitFor();
    assert.equal(await page.evaluate(() => location.hash), "");
    // Neither the address nor what came before it has the link.
    assert.ok(!(await page.evaluate(() => performance.getEntriesByType("resource").map((entry) => entry.name).join(" "))).includes("link="));
  });
  await withPerson(async (one) => {
    one.expect(/401/);
    const page = await one.context.newPage();
    await page.goto(link);
    await page.getByLabel("API key").waitFor();
    await page.locator(".toast.bad").waitFor();
    assert.deepEqual(await one.context.cookies(URL_), []);
  });
});

test("a link that is put into the address of an open console signs in, too", async () => withPerson(async (one) => {
  const page = await one.context.newPage();
  await page.goto(URL_ + "/console/");
  await page.locator(".signin").waitFor();
  const { path } = await api("POST", "/console/links", {});
  await page.evaluate((to) => { location.href = to; }, URL_ + path);
  await page.locator("#page-title", { hasText: "Overview" }).waitFor();
  assert.equal(await page.evaluate(() => location.hash), "");
}));

test("a session that ended elsewhere ends here, and the page is kept", () => withPerson(async (one) => {
  one.expect(/401/);
  one.expect(/WebSocket/);
  const made = await api("POST", "/v1/keys", { project: "passing", name: "short-lived" });
  const page = await at(one, "/sandboxes?q=kept", { key: made.key });
  await settled(page);
  assert.ok(!await page.getByRole("link", { name: "Keys and projects" }).count(), "a user sees no keys");
  await api("DELETE", `/v1/keys/${made.id}?project=passing`);
  await page.getByRole("heading", { name: "Your session is over" }).waitFor({ timeout: 40000 });
  assert.match(page.url(), /\/console\/sandboxes\?q=kept$/);
  await page.getByLabel("API key").fill(KEY);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Sandboxes", exact: true }).waitFor();
}));

test("the overview moves by itself", () => withPerson(async (one) => {
  const page = await at(one, "/");
  await settled(page);
  await page.locator("[data-connection=live]").waitFor();
  const made = await api("POST", "/v1/run", { language: "python", code: "1" });
  await page.locator(".event", { hasText: made.id.slice(0, 12) }).first().waitFor();
}));

test("the overview shows what doctor found, to administrators", () => withPerson(async (one) => {
  const report = await api("GET", "/v1/doctor"), open = report.findings.filter((found) => found.state !== "ok");
  const page = await at(one, "/");
  await settled(page);
  const card = page.locator(".card", { hasText: "What doctor found" });
  await (open.length ? card.getByText(`${open[0].area}: ${open[0].name}`) : card.getByText("Everything this host needs is there.")).waitFor();
  assert.equal(await card.locator(".finding").count(), open.length);
  const made = await api("POST", "/v1/keys", { project: "no-admin", name: "no-admin" });
  await withPerson(async (other) => {
    const theirs = await at(other, "/", { key: made.key });
    await settled(theirs);
    assert.equal(await theirs.getByText("What doctor found").count(), 0);
  });
  await api("DELETE", `/v1/keys/${made.id}?project=no-admin`);
}));

test("the last report of the attacks is shown, and the command for another", () => withPerson(async (one) => {
  const page = await at(one, "/security");
  await settled(page);
  await page.getByRole("heading", { name: "Not attacked yet" }).waitFor();
  await page.getByText("glovebox attack", { exact: true }).waitFor();
  // As the command keeps it.
  const verdict = (name, outcome) => ({ name, aims_at: "a wall", outcome, held: outcome === "stopped", by: outcome === "stopped" ? "seccomp" : "", counted: true, detail: "said so" });
  const attacks = [verdict("reads-a-file", "stopped"), verdict("leaves", "succeeded"), verdict("needs-more", "not-tried")];
  const file = process.env.GBX_CONSOLE_DATA + "/store/attack-report.json";
  writeFileSync(file, JSON.stringify({ at: new Date(Date.now() - 3600e3).toISOString(), engine: "jail", version: "0.1.0", counts: {}, attacks }), { mode: 0o644 });
  chmodSync(file, 0o644);
  try {
    await page.reload();
    await settled(page);
    await page.getByText("engine jail, Glovebox 0.1.0").waitFor();
    const rows = page.getByRole("region", { name: "Attacks on this kernel" }).locator("tbody tr");
    assert.equal(await rows.count(), 3);
    await page.getByRole("group", { name: "Which attacks" }).getByRole("button", { name: "succeeded" }).click();
    await until(async () => await rows.count() === 1, "one row");
    await rows.getByText("leaves").waitFor();
  } finally {
    rmSync(file);
  }
}));

test("the editor completes, and keeps up with fast typing", () => withPerson(async (one) => {
  const page = await at(one, "/playground");
  await settled(page);
  await type(page, "Code", "remembered_value = 1\n");
  await page.keyboard.press("Control+End");
  await page.keyboard.type("remem");
  await page.locator(".cm-tooltip-autocomplete").getByText("remembered_value").waitFor();
  await page.waitForTimeout(120);  // CodeMirror ignores Enter in the first 75 ms, which may be meant for the line
  await page.keyboard.press("Enter");
  await page.keyboard.type(" + 1");
  await page.keyboard.press("Control+Enter");
  await page.getByText("Succeeded").waitFor();
  await editor(page, "Code").getByText("remembered_value + 1").waitFor();
  // However fast one types: the page's own copy of the text, which comes later, changes nothing.
  const lines = Array.from({ length: 12 }, (_, i) => `# line ${i}: the quick brown fox`);
  await type(page, "Code", "");
  for (const line of lines) await page.keyboard.type(line + "\n");
  await until(async () => (await editor(page, "Code").innerText()).trim().split("\n").map((line) => line.trim()).join("|") === lines.join("|"), "what was typed");
}));

test("the playground runs, streams, and copies", () => withPerson(async (one) => {
  const page = await at(one, "/playground");
  await settled(page);
  await editor(page, "Code").waitFor();
  await type(page, "Code", "import time\nprint('first', flush=True)\ntime.sleep(2)\nprint('second')\n{'answer': 6 * 7}");
  await page.keyboard.press("Control+Enter");
  const output = page.locator(".output").first();
  await output.getByText("first").waitFor();
  assert.ok(!(await output.textContent()).includes("second"), "the output came all at once");
  await output.getByText("second").waitFor();
  await page.getByText('"answer": 42').waitFor();
  await page.getByText("Walls that stood").waitFor();
  await page.getByText("Succeeded").waitFor();
  // An error has its traceback; a time limit says so.
  await type(page, "Code", "def f():\n    return 1 / 0\nf()");
  await page.keyboard.press("Control+Enter");
  await page.getByText("ZeroDivisionError: division by zero").first().waitFor();
  await page.getByText("More settings").click();
  await page.getByLabel("Time limit in seconds").fill("1");
  await type(page, "Code", "while True: pass");
  await page.keyboard.press("Control+Enter");
  await page.getByText("Timed out").waitFor();
  // The request as a program has it, without a key; the shell's form works as it is.
  await page.getByLabel("Time limit in seconds").fill("5");
  await type(page, "Code", "print('it\\'s copied', 6 * 7)");
  for (const name of ["Python", "TypeScript", "curl"]) {
    await page.getByRole("button", { name: "Copy as" }).click();
    await page.getByRole("menuitem", { name }).click();
    await toast(page, `Copied for ${name}`);
    const text = await page.evaluate(() => navigator.clipboard.readText());
    assert.ok(text.includes("6 * 7") && !text.includes(KEY), text);
    if (name === "curl") {
      const done = await run("bash", ["-c", text], { env: { ...process.env, GLOVEBOX_API_KEY: KEY } });
      assert.equal(JSON.parse(done.stdout).stdout, "it's copied 42\n");
    }
  }
  // The draft is still there after another page.
  await page.getByRole("link", { name: "Runs", exact: true }).click();
  await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
  await page.getByRole("link", { name: "Playground" }).click();
  await editor(page, "Code").getByText("copied").waitFor();
}));

test("figures and tables are shown as a notebook does", () => withPerson(async (one) => {
  const page = await at(one, "/playground");
  await settled(page);
  await editor(page, "Code").waitFor();
  // An image of 120 by 3 pixels, as a figure is, and a table, as a data frame is.
  await type(page, "Code", `import struct, zlib
class Figure:
    def _repr_png_(self):
        chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        rows = b"".join(b"\\0" + b"\\x5e\\x8c\\x58" * 120 for _ in range(3))
        return b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 120, 3, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
Figure()`);
  await page.keyboard.press("Control+Enter");
  await until(() => page.locator(".rich img").evaluate((image) => image.naturalWidth === 120).catch(() => false), "the figure");
  await type(page, "Code", "class Table:\n    def _repr_html_(self):\n        return '<table><tr><td>x</td><td>y</td></tr></table>'\nTable()");
  await page.keyboard.press("Control+Enter");
  await page.frameLocator(".rich iframe").getByRole("cell", { name: "y" }).waitFor();
}));

test("runs are listed, filtered and shown", () => withPerson(async (one) => {
  const fails = await api("POST", "/v1/run", { language: "python", code: "print('to the record'); raise SystemExit(3)" });
  await until(async () => (await api("GET", "/v1/runs")).runs.some((one_) => one_.id === fails.id), "the record");
  const page = await at(one, "/runs?status=failed");
  await settled(page);
  await page.getByRole("link", { name: fails.id.slice(0, 12) }).click();
  await page.locator(".output").getByText("to the record").waitFor();
  await page.getByText("Failed").first().waitFor();
  assert.match(page.url(), new RegExp(`/console/runs/${fails.id}$`));
  await page.goBack();
  await page.getByLabel("Status").selectOption("timed_out");
  await page.waitForURL(/status=timed_out/);
}));

test("a sandbox is created, paused, resumed and ended", () => withPerson(async (one) => {
  const page = await at(one, "/sandboxes");
  await settled(page);
  await page.getByRole("button", { name: "New sandbox" }).first().click();
  await page.getByRole("dialog").getByLabel("Name").fill("made-by-hand");
  await page.getByLabel("Time to live").fill("soon");
  await page.getByRole("dialog").getByRole("button", { name: "Create" }).click();
  await page.getByText("“soon” is not a time").waitFor();
  await page.getByLabel("Time to live").fill("10m");
  await page.getByRole("button", { name: "Limits, network, packages" }).click();
  await page.getByLabel("Memory in MB").fill("200");
  await page.getByRole("dialog").getByLabel("Metadata").fill("ticket=20");
  await page.getByRole("dialog").getByRole("button", { name: "Create" }).click();
  await page.getByRole("heading", { name: /made-by-hand/ }).waitFor();
  const id = /sandboxes\/(sb[a-z0-9]{20})/.exec(page.url())[1], made = await api("GET", "/v1/sandboxes/" + id);
  assert.deepEqual([made.ttl_s, made.limits.memory_mb, made.metadata], [600, 200, { ticket: "20" }]);
  if (made.features.pause) {
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("heading", { name: "It is paused" }).waitFor();
    await page.getByRole("button", { name: "Resume" }).first().click();
    await page.getByRole("button", { name: "Pause" }).waitFor();
  }
  await page.getByRole("button", { name: "End", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "End" }).click();
  await page.getByText(/^It ended/).waitFor();
  assert.equal((await api("GET", "/v1/sandboxes/" + id)).state, "stopped");
}));

test("many sandboxes are searched and ended together", () => withPerson(async (one) => {
  const made = await Promise.all([1, 2, 3].map((n) => newSandbox({ name: `herd-${n}` })));
  try {
    const page = await at(one, "/sandboxes?sort=name");
    await settled(page);
    await page.getByRole("searchbox").fill("herd-");
    await page.waitForURL(/q=herd-/);
    await until(async () => await page.locator("tbody tr").count() === 3, "three rows");
    const bulk = page.getByRole("toolbar"), states = async () => (await Promise.all(made.map((sandbox) => api("GET", "/v1/sandboxes/" + sandbox.id)))).map((one_) => one_.state).join(" ");
    await page.getByLabel("Choose all on this page").check();
    if (made[0].features?.pause) {
      for (const [verb, state, said] of [["Pause", "paused", "3 sandboxes paused."], ["Resume", "running", "3 sandboxes resumed."]]) {
        await bulk.getByRole("button", { name: verb }).click();
        await page.getByRole("dialog").getByRole("button", { name: verb }).click();
        await toast(page, said);
        assert.equal(await states(), `${state} ${state} ${state}`);
        await page.getByLabel("Choose all on this page").check();
      }
    }
    await page.getByRole("toolbar").getByRole("button", { name: /End/ }).click();
    await page.getByRole("heading", { name: "End 3 sandboxes?" }).waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "End" }).click();
    await toast(page, "3 sandboxes ended.");
    await page.getByText("Nothing matches").waitFor();
    for (const sandbox of made) assert.equal((await api("GET", "/v1/sandboxes/" + sandbox.id)).state, "stopped");
  } finally {
    await Promise.all(made.map((sandbox) => endSandbox(sandbox.id)));
  }
}));

test("on a narrow window, sandboxes are chosen and ended together, too", () => withPerson(async (one) => {
  const made = await Promise.all([1, 2].map((n) => newSandbox({ name: `pair-${n}` })));
  try {
    const page = await at(one, "/sandboxes?q=pair-");
    await settled(page);
    await page.getByLabel("Choose pair-1").check();
    await page.getByRole("button", { name: "Choose the whole page" }).click();
    await page.getByRole("toolbar").getByRole("button", { name: "End 2" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "End" }).click();
    await toast(page, "2 sandboxes ended.");
  } finally {
    await Promise.all(made.map((sandbox) => endSandbox(sandbox.id)));
  }
}, { size: SIZES.narrow }));

test("a terminal is real, resizes, and is found again after a reload", () => withSandbox((sandbox) => withPerson(async (one) => {
  const page = await at(one, box(sandbox));
  await settled(page);
  await page.getByRole("button", { name: "Open a terminal" }).click();
  await page.locator('.terminal[data-state="open"]').waitFor();
  const rows = page.locator(".terminal:not([hidden]) .xterm-rows");
  await page.keyboard.type("echo $((6*7)) > answer; tty; kept=before\n");
  await rows.getByText("/dev/pts/").waitFor();
  await until(async () => (await read(sandbox.id, "/home/user/answer").catch(() => "")) === "42\n", "what the shell wrote");
  // Colours of 24 bits are set without a style attribute that the policy refuses.
  await page.keyboard.type("printf '\\033[38;2;10;200;30mtinted\\033[0m\\n'\n");
  await until(() => rows.evaluate((node) => [...node.querySelectorAll("span")].some((span) => span.textContent === "tinted" && span.style.color !== "")), "the colour");
  await page.keyboard.type("stty size > before\n");
  await until(() => read(sandbox.id, "/home/user/before").catch(() => ""), "the size");
  await page.setViewportSize({ width: 900, height: 700 });
  await until(async () => {
    await exec(sandbox.id, "rm -f after");
    await page.keyboard.type("stty size > after\n");
    const after = await until(() => read(sandbox.id, "/home/user/after").catch(() => ""), "the new size");
    return after !== await read(sandbox.id, "/home/user/before");
  }, "another size");
  // Copy and paste.
  await page.evaluate(() => navigator.clipboard.writeText("echo pasted-$((1+1))"));
  await page.keyboard.press("Control+v");
  await page.keyboard.press("Enter");  // bash takes a line that is pasted as text until then
  await rows.getByText("pasted-2").waitFor();
  // The shell goes on while the page is away.
  await page.reload();
  await page.locator('.terminal[data-state="open"]').waitFor();
  await page.locator(".xterm-rows").getByText("pasted-2").waitFor();
  await page.locator(".terminal .xterm").click();
  await page.keyboard.type("echo still-$kept\n");
  await page.locator(".xterm-rows").getByText("still-before").waitFor();
  // A second one beside it; another window takes the first over.
  await page.getByRole("button", { name: "New terminal" }).click();
  await until(async () => await page.getByRole("tab").count() === 2, "two tabs");
  await page.getByRole("tab").first().click();
  const other = await one.context.newPage();
  await other.goto(page.url());
  const taken = page.locator(".terminal:not([hidden]) .terminal-note", { hasText: "Another window has taken this terminal over." });
  await taken.waitFor();
  await taken.getByRole("button", { name: "Take it back" }).click();
  await other.getByText("Another window has taken this terminal over.").first().waitFor();
  await other.close();
  await page.keyboard.press("Tab");
  await page.locator(".terminal:not([hidden]) .xterm").click();
  await page.keyboard.type("exit\n");
  await page.getByText("the shell has exited").waitFor();
})));

test("files are uploaded, edited, downloaded and shown", () => withSandbox((sandbox) => withPerson(async (one) => {
  one.expect(/412/);
  await write(sandbox.id, "/home/user/notes.txt", "one\n");
  await write(sandbox.id, "/home/user/table.csv", 'name,note\nAda,"a, b"\n');
  await write(sandbox.id, "/home/user/page.html", "<p id=p>old</p><script>document.getElementById('p').textContent = 'script ran'</script>");
  await exec(sandbox.id, "python3 -c \"import base64; open('dot.png','wb').write(base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='))\"; head -c 100 /dev/urandom > noise.bin");
  const page = await at(one, box(sandbox, "files"));
  await settled(page);
  const row = (name) => page.locator(`.tree-row[data-entry="${name}"]`);
  await row("notes.txt").click();
  const text = editor(page, "Text of notes.txt");
  await text.getByText("one").waitFor();
  await type(page, "Text of notes.txt", "two\n");
  await page.keyboard.press("Control+s");
  await toast(page, "notes.txt is saved.");
  assert.equal(await read(sandbox.id, "/home/user/notes.txt"), "two\n");
  // Changed inside meanwhile: nothing is lost without a word.
  await exec(sandbox.id, "echo from inside > notes.txt");
  await type(page, "Text of notes.txt", "three\n");
  await page.getByRole("button", { name: /^Save/ }).click();
  await page.getByText("Someone else changed this file").waitFor();
  assert.equal(await read(sandbox.id, "/home/user/notes.txt"), "from inside\n");
  await page.getByRole("button", { name: "Save mine over it" }).click();
  await until(async () => await read(sandbox.id, "/home/user/notes.txt") === "three\n", "what was written over it");
  // Previews.
  await row("table.csv").click();
  await page.getByRole("cell", { name: "a, b" }).waitFor();
  await row("dot.png").click();
  await until(() => page.locator(".picture img").evaluate((image) => image.naturalWidth === 1).catch(() => false), "the image");
  await row("page.html").click();
  await page.frameLocator("iframe.guest-frame").getByText("script ran").waitFor();
  await row("noise.bin").click();
  await page.getByRole("heading", { name: "Not text" }).waitFor();
  // Down and up.
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator(".file-view").getByRole("button", { name: "Download" }).first().click()]);
  assert.equal(download.suggestedFilename(), "noise.bin");
  await page.locator("input[type=file]").setInputFiles({ name: "up.txt", mimeType: "text/plain", buffer: Buffer.from("chosen") });
  await row("up.txt").waitFor();
  const data = await page.evaluateHandle(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File(["dropped"], "dropped.txt"));
    return transfer;
  });
  await page.locator(".file-tree").dispatchEvent("drop", { dataTransfer: data });
  await row("dropped.txt").waitFor();
  assert.equal(await read(sandbox.id, "/home/user/dropped.txt"), "dropped");
  // On a folder of the tree: into it.
  await exec(sandbox.id, "mkdir inbox");
  await page.getByRole("button", { name: "Refresh" }).click();
  await row("inbox").dispatchEvent("drop", { dataTransfer: data });
  await until(async () => await read(sandbox.id, "/home/user/inbox/dropped.txt").catch(() => "") === "dropped", "the file in the folder");
  // The same name again is asked about.
  await page.locator("input[type=file]").setInputFiles({ name: "up.txt", mimeType: "text/plain", buffer: Buffer.from("again") });
  await page.getByRole("heading", { name: "Replace up.txt?" }).waitFor();
  assert.equal(await read(sandbox.id, "/home/user/up.txt"), "chosen");
  await page.getByRole("dialog").getByRole("button", { name: "Replace" }).click();
  await until(async () => await read(sandbox.id, "/home/user/up.txt") === "again", "the replaced file");
  // Folders, new files, removal.
  await page.getByRole("button", { name: "Add or download" }).click();
  await page.getByRole("menuitem", { name: "New folder" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("drawer");
  await page.keyboard.press("Enter");
  await row("drawer").waitFor();
  await row("drawer").focus();
  await page.keyboard.press("ArrowRight");
  await page.getByText("empty", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Actions for up.txt" }).click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await row("up.txt").waitFor({ state: "detached" });
  assert.equal((await api("GET", `/v1/sandboxes/${sandbox.id}/files/exists?path=up.txt`)).exists, false);
})));

test("code cells keep their variables and show rich results", () => withSandbox((sandbox) => withPerson(async (one) => {
  const page = await at(one, box(sandbox, "code"));
  await settled(page);
  await editor(page, "Cell 1").waitFor();
  await type(page, "Cell 1", "x = 20\nprint('assigned')");
  await page.keyboard.press("Control+Enter");
  await page.getByText("assigned").last().waitFor();
  await page.getByRole("button", { name: "Add a cell", exact: true }).click();
  await editor(page, "Cell 2").waitFor();
  await type(page, "Cell 2", "class Table:\n    def _repr_html_(self):\n        return '<table><tr><td>cell ' + str(x + 22) + '</td></tr></table>'\nTable()");
  await page.keyboard.press("Control+Enter");
  await page.frameLocator("iframe.guest-frame").getByText("cell 42").waitFor();
  await page.getByRole("button", { name: "Add a cell", exact: true }).click();
  await editor(page, "Cell 3").waitFor();
  await type(page, "Cell 3", "import time\nprint('long', flush=True)\ntime.sleep(300)");
  await page.keyboard.press("Control+Enter");
  await page.locator(".cell").nth(2).locator(".output").getByText("long").waitFor();
  await page.getByRole("button", { name: "Interrupt" }).click();
  await page.getByText(/KeyboardInterrupt/).first().waitFor();
  // Another tab of the page and back.
  await page.getByRole("link", { name: "Logs" }).click();
  await page.getByRole("link", { name: "Code" }).click();
  await page.frameLocator("iframe.guest-frame").getByText("cell 42").waitFor();
})));

test("processes are listed and get signals; the log follows", () => withSandbox((sandbox) => withPerson(async (one) => {
  const started = await exec(sandbox.id, "trap 'echo caught > caught; exit 9' USR1; while :; do sleep 0.1; done", { background: true });
  const page = await at(one, box(sandbox, "processes"));
  await settled(page);
  await page.getByRole("button", { name: `Signals for process ${started.process}` }).click();
  await page.getByRole("menuitem", { name: "SIGUSR1" }).click();
  await toast(page, "SIGUSR1 sent");
  await until(async () => (await read(sandbox.id, "/home/user/caught").catch(() => "")) === "caught\n", "the signal");
  await page.getByText("Exited with 9").waitFor();
  await page.getByRole("link", { name: "Logs" }).click();
  await settled(page);
  const lines = page.locator(".log-line");
  const before = await lines.count();
  await exec(sandbox.id, "true", { background: true });
  await until(async () => await lines.count() > before, "a new line");
})));

test("a refused connection is allowed by one click", () => withSandbox((sandbox) => withPerson(async (one) => {
  await exec(sandbox.id, "python3 -c \"import socket; socket.getaddrinfo('wanted.example', 443)\"", { timeout_ms: 8000 });
  await until(async () => (await api("GET", `/v1/sandboxes/${sandbox.id}/network`)).refusals.length > 0, "the refusal");
  const page = await at(one, box(sandbox, "network"));
  await settled(page);
  await page.getByRole("button", { name: /^Allow wanted\.example/ }).click();
  await toast(page, "is allowed now");
  const net = (await api("GET", "/v1/sandboxes/" + sandbox.id)).net;
  assert.ok(net.allow.some((rule) => rule.startsWith("wanted.example")), JSON.stringify(net));
}), { profile: { net: { base: "none", allow: ["example.com:443"] } } }));

test("metrics, ports and snapshots", () => withSandbox((sandbox) => withPerson(async (one) => {
  one.expect(/409/);  // the page of the second sandbox, when that is ended below
  const page = await at(one, box(sandbox, "metrics"));
  await settled(page);
  await page.getByRole("meter", { name: "Memory" }).waitFor();
  await exec(sandbox.id, "mkdir -p site && echo '<link rel=icon href=data:,>served from inside' > site/index.html && cd site && exec python3 -m http.server 8123", { background: true });
  await go(page, box(sandbox, "ports"));
  await until(async () => {
    await page.getByRole("button", { name: "Look" }).click();
    return page.getByRole("button", { name: "Open port 8123" }).isVisible();
  }, "the port that listens");
  const [opened] = await Promise.all([one.context.waitForEvent("page"), page.getByRole("button", { name: "Open port 8123" }).click()]);
  await opened.getByText("served from inside").waitFor();
  assert.equal(await opened.evaluate(() => window.opener), null);
  await opened.close();
  await go(page, box(sandbox, "snapshots"));
  await settled(page);
  await page.getByRole("button", { name: "Take a snapshot" }).first().click();
  await page.getByLabel("Name of the snapshot").fill("kept-state");
  await page.getByRole("button", { name: "Take it" }).click();
  await toast(page, "Snapshot taken.");
  await page.getByRole("button", { name: "Actions for kept-state" }).click();
  await page.getByRole("menuitem", { name: "New sandbox from it" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Create" }).click();
  await page.waitForURL(/\/sandboxes\/sb[a-z0-9]{20}$/);
  const id = /sb[a-z0-9]{20}$/.exec(page.url())[0];
  assert.equal(await read(id, "/home/user/site/index.html"), "<link rel=icon href=data:,>served from inside\n");
  await endSandbox(id);
})));

test("time to live and metadata are changed", () => withSandbox((sandbox) => withPerson(async (one) => {
  const page = await at(one, box(sandbox, "settings"));
  await settled(page);
  await page.getByLabel("Time to live").fill("2h");
  await page.getByLabel("Metadata").fill("owner=grace\nteam=compilers");
  await page.getByRole("button", { name: "Save" }).click();
  await toast(page, "Saved.");
  const now = await api("GET", "/v1/sandboxes/" + sandbox.id);
  assert.deepEqual([now.ttl_s, now.metadata], [7200, { owner: "grace", team: "compilers" }]);
})));

test("a key is made, shown once, works, and is revoked", () => withPerson(async (one) => {
  const page = await at(one, "/keys");
  await settled(page);
  await page.getByRole("button", { name: "New key" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("made in the console");
  await page.getByRole("dialog").getByLabel("Project").fill("console-made");
  await page.getByRole("dialog").getByRole("button", { name: "New key" }).click();
  const secret = await page.locator("[data-secret]").textContent();
  assert.match(secret, /^gbx_[0-9a-f]{40}$/);
  await api("GET", "/v1/runs", undefined, { key: secret });
  await page.getByRole("button", { name: "Copy the key" }).click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), secret);
  await page.getByRole("button", { name: "Done" }).click();
  await page.reload();
  await settled(page);
  assert.ok(!(await page.content()).includes(secret));
  await page.getByRole("button", { name: "Revoke made in the console" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await toast(page, "is revoked");
  const refused = await fetch(URL_ + "/v1/runs", { headers: { "X-API-Key": secret } });
  assert.equal(refused.status, 401);
}));

test("a template is made and removed", () => withPerson(async (one) => {
  const page = await at(one, "/templates");
  await settled(page);
  await page.getByRole("button", { name: "New template" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("by-hand");
  await page.getByRole("dialog").getByLabel("Imported before").fill("decimal");
  await page.getByRole("dialog").getByRole("button", { name: "New template" }).click();
  await page.getByRole("region", { name: "by-hand" }).waitFor();
  assert.deepEqual((await api("GET", "/v1/templates/by-hand")).preload.slice(-1), ["decimal"]);
  await page.getByRole("button", { name: "Actions for by-hand" }).click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByRole("region", { name: "by-hand" }).waitFor({ state: "detached" });
}));

test("an image is loaded from an archive, used and removed", () => withPerson(async (one) => {
  one.expect(/400/);  // of an archive that is none
  const place = mkdtempSync(join(tmpdir(), "gbx-image-")), tree = join(place, "tree"), archive = join(place, "tiny.tar");
  mkdirSync(join(tree, "bin"), { recursive: true });
  copyFileSync("/bin/busybox", join(tree, "bin", "busybox"));
  for (const name of ["sh", "cat", "echo"]) symlinkSync("busybox", join(tree, "bin", name));
  writeFileSync(join(tree, "hello"), "from the image\n");
  await run("tar", ["-C", tree, "-cf", archive, "."]);
  try {
    const page = await at(one, "/images");
    await settled(page);
    await page.getByText("glovebox image pull python:3.13-slim").waitFor();
    await page.getByRole("button", { name: "Load an archive" }).first().click();
    const dialog = page.getByRole("dialog"), submit = dialog.getByRole("button", { name: "Load an archive" });
    // What is no archive is refused, with the reason.
    await dialog.getByLabel("Archive").setInputFiles({ name: "not.tar", mimeType: "application/x-tar", buffer: Buffer.from("not a tar archive") });
    await submit.click();
    await dialog.getByRole("alert").waitFor();
    await dialog.getByLabel("Archive").setInputFiles(archive);
    await dialog.getByLabel("What it is").selectOption("tree");
    await dialog.getByLabel("Name").fill("tiny:1");
    await submit.click();
    await toast(page, "tiny:1 is loaded.");
    const row = page.getByRole("row", { name: /tiny:1/ });
    await row.waitFor();
    assert.deepEqual(await barriers(page), []);
    const menu = async (name) => {
      await page.getByRole("button", { name: "Actions for tiny:1" }).click();
      await page.getByRole("menuitem", { name, exact: true }).click();
    };
    await menu("Pin");
    await row.getByText("Pinned").waitFor();
    await menu("What it is");
    await page.getByRole("dialog").getByText("ENTRYPOINT").waitFor();
    assert.deepEqual(await barriers(page), []);
    await page.getByRole("button", { name: "Done" }).click();
    await menu("Remove");
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await toast(page, "tiny:1 is removed.");
    await page.getByRole("heading", { name: "No images yet" }).waitFor();
    // Used: what is in use is not offered to be removed.
    await api("POST", "/v1/images?format=tree&name=tiny:1", readFileSync(archive), { raw: true, headers: { "Content-Type": "application/x-tar" } });
    await page.reload();
    await settled(page);
    await menu("New sandbox from it");
    await page.getByRole("dialog").getByText("tiny:1").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Create" }).click();
    await page.waitForURL(/\/sandboxes\/sb[a-z0-9]{20}$/);
    const id = /sb[a-z0-9]{20}$/.exec(page.url())[0];
    assert.equal((await exec(id, "cat /hello")).stdout, "from the image\n");
    await page.getByRole("button", { name: "Open a terminal" }).click();
    await page.locator('.terminal[data-state="open"]').waitFor();
    await go(page, "/images");
    await row.getByText("In use").waitFor();
    await page.getByRole("button", { name: "Actions for tiny:1" }).click();
    await page.getByRole("menuitem", { name: "Pin", exact: true }).waitFor();
    assert.equal(await page.getByRole("menuitem", { name: "Remove" }).count(), 0);
    await endSandbox(id);
  } finally {
    rmSync(place, { recursive: true });
  }
}));

test("a server that is away is noticed, and so is its return", () => withPerson(async (one) => {
  one.expect(/ERR_INTERNET_DISCONNECTED|WebSocket/);
  const page = await at(one, "/sandboxes");
  await settled(page);
  await page.locator("[data-connection=live]").waitFor();
  await one.context.setOffline(true);
  await page.getByRole("searchbox").fill("while offline");
  await page.getByText("The server does not answer.").first().waitFor();
  await page.locator("[data-connection=waiting]").waitFor();
  await one.context.setOffline(false);
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("Nothing matches").waitFor();
  await page.locator("[data-connection=waiting]").click().catch(() => {});
  await page.locator("[data-connection=live]").waitFor();
}));

test("a server that was started anew is found again, and the session holds", () => withPerson(async (one) => {
  one.expect(/WebSocket|ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET|503/);
  const page = await at(one, "/sandboxes"), serving = () => JSON.parse(readFileSync(process.env.GBX_CONSOLE_DATA + "/serve.json", "utf8"));
  await settled(page);
  await page.locator("[data-connection=live]").waitFor();
  const before = serving().pid;
  process.kill(before, "SIGKILL");
  await page.locator("[data-connection=waiting]").waitFor();
  await until(() => { try { return serving().pid !== before; } catch { return false; } }, "the new server");
  await page.locator("[data-connection=live]").waitFor({ timeout: 60000 });
  await withSandbox(async (sandbox) => {
    await page.getByRole("link", { name: sandbox.name }).waitFor();
  }, { name: "after-the-restart" });
}));
