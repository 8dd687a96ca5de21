// More of what people do day by day, each against the real server.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { promisify } from "node:util";
import { KEY, URL_, api, at, box, editor, endSandbox, exec, go, newSandbox, read, settled, toast, type, until, withPerson, withSandbox, write } from "./browser.mjs";

const run = promisify(execFile);
const ROOT = new URL("../../", import.meta.url).pathname;

test("an administrator looks at one project", () => withPerson(async (one) => {
  const made = await api("POST", "/v1/keys", { project: "narrow", name: "of the narrow project" });
  const theirs = await api("POST", "/v1/sandboxes", { template: "python", name: "in-narrow", ttl_s: 600 }, { key: made.key }), ours = await newSandbox({ name: "in-default" });
  try {
    const page = await at(one, "/sandboxes"), link = (name) => page.getByRole("link", { name, exact: true });
    await link("in-narrow").waitFor();
    await link("in-default").waitFor();
    await page.getByLabel("Project", { exact: true }).selectOption("narrow");
    await link("in-default").waitFor({ state: "detached" });
    await link("in-narrow").waitFor();
    // It is remembered, and new things belong to it.
    await page.reload();
    await link("in-narrow").waitFor();
    assert.equal(await link("in-default").count(), 0);
    await page.getByRole("button", { name: "New sandbox" }).first().click();
    await page.getByRole("dialog").getByLabel("Name").fill("also-narrow");
    await page.getByRole("dialog").getByRole("button", { name: "Create" }).click();
    await page.waitForURL(/sandboxes\/sb[a-z0-9]{20}$/);
    const id = /sb[a-z0-9]{20}$/.exec(page.url())[0];
    assert.equal((await api("GET", "/v1/sandboxes/" + id, undefined, { key: made.key })).name, "also-narrow");
    // Who signs out leaves nothing of that for the next one.
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.locator(".signin").waitFor();
    assert.equal(await page.evaluate(() => Object.keys(localStorage).filter((name) => name.includes("project")).length + sessionStorage.length), 0);
    await endSandbox(id);
  } finally {
    await endSandbox(theirs.id);
    await endSandbox(ours.id);
    await api("DELETE", `/v1/keys/${made.id}?project=narrow`);
  }
}));

test("who signs in next finds nothing of who was there before", () => withPerson(async (one) => {
  one.expect(/401/);
  one.expect(/WebSocket/);
  const made = [], key = async (name) => { made.push({ name, ...await api("POST", "/v1/keys", { project: name, name }) }); return made.at(-1); };
  const revoke = ({ id, name }) => api("DELETE", `/v1/keys/${id}?project=${name}`);
  const [first, second, third] = [await key("first"), await key("second"), await key("third")];
  const page = await at(one, "/playground", { key: first.key }), code = editor(page, "Code");
  const signIn = async (secret) => {
    await page.getByLabel("API key").fill(secret);
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Playground" }).click();
    await code.waitFor();
    await settled(page);
  };
  const endedElsewhere = async (one_) => {
    await revoke(one_);
    await page.getByRole("link", { name: "Runs", exact: true }).click();
    await page.getByRole("heading", { name: "Your session is over" }).waitFor();
  };
  const seen = async () => (await page.locator("body").innerText()) + await code.innerText();
  await settled(page);
  await type(page, "Code", "'the secret of ' + 'the first'");
  await page.keyboard.press("Control+Enter");
  await page.getByText("the secret of the first").waitFor();
  await endedElsewhere(first);
  await signIn(second.key);
  assert.ok(!(await seen()).includes("the secret of"), "the draft or the result of the first is still there");
  // Control: a draft survives a reload, for who wrote it.
  await type(page, "Code", "'a draft of the second'");
  await until(() => page.evaluate(() => Object.values(sessionStorage).join("").includes("a draft of")), "the draft to be kept");
  await page.reload();
  await code.getByText("a draft of the second").waitFor();
  // The page is loaded again before the next one signs in: what the tab kept is not theirs either.
  await endedElsewhere(second);
  await page.reload();
  await signIn(third.key);
  assert.ok(!(await seen()).includes("a draft of"), "the draft of the second is still there");
  await type(page, "Code", "'a draft of the third'");
  await page.waitForTimeout(200);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.locator(".signin").waitFor();
  await signIn(KEY);
  assert.ok(!(await seen()).includes("a draft of"), "the draft of the third is still there");
  await revoke(third);
}));

test("the playground's settings reach the run", () => withPerson(async (one) => {
  one.expect(/4\d\d/);  // of what is refused below
  const page = await at(one, "/playground");
  await settled(page);
  await page.getByRole("button", { name: "JavaScript" }).click();
  await editor(page, "Code").getByText("squares").first().waitFor();
  await editor(page, "Code").click();
  await page.keyboard.press("Control+Enter");
  await page.locator(".output", { hasText: "1 4 9 16" }).waitFor();
  await page.getByLabel("Template").selectOption("python");
  await page.getByRole("button", { name: "More settings" }).click();
  await page.getByLabel("Memory in MB").fill("96");
  await page.getByLabel("Standard input").fill("typed beforehand");
  await page.getByLabel("Environment").fill("GIVEN=by hand");
  await page.getByLabel("Network").selectOption("https-only");
  await type(page, "Code", "import os, sys\nprint(sys.stdin.read(), os.environ['GIVEN'])");
  const [request] = await Promise.all([page.waitForRequest((sent) => sent.url().endsWith("/v1/run")), page.keyboard.press("Control+Enter")]);
  await page.locator(".output", { hasText: "typed beforehand by hand" }).waitFor();
  const sent = request.postDataJSON();
  assert.deepEqual([sent.template, sent.profile.memory_mb, sent.profile.net], ["python", 96, "https-only"]);
  // More isolation than there is: the reason, and nothing ran.
  await page.getByLabel("Weakest isolation").selectOption("vm");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: /^Run/ }).click();
  await page.locator(".notice.bad", { hasText: "vm" }).waitFor();
  await page.getByLabel("Weakest isolation").selectOption("");
  // A run that is stopped.
  await type(page, "Code", "import time\nprint('on its way', flush=True)\ntime.sleep(60)");
  await page.keyboard.press("Control+Enter");
  await page.locator(".output", { hasText: "on its way" }).waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByText("Cancelled").waitFor();
}));

test("much output is shown as it comes, and the page keeps up", () => withPerson(async (one) => {
  const page = await at(one, "/playground");
  await settled(page);
  await editor(page, "Code").waitFor();
  await page.evaluate(() => {
    window.gbxLongest = 0;
    new PerformanceObserver((list) => { for (const entry of list.getEntries()) window.gbxLongest = Math.max(window.gbxLongest, entry.duration); }).observe({ entryTypes: ["longtask"] });
  });
  // 900 KB in 18,000 lines, each written by itself: as much as a run may print by default.
  await type(page, "Code", "for i in range(18000):\n    print(f'{i:06} ' + 'x' * 42, flush=True)\nprint('the last line')");
  await page.keyboard.press("Control+Enter");
  const output = page.locator(".output").first();
  await output.getByText("the last line").waitFor();
  await page.getByText("Succeeded").waitFor();
  const longest = await page.evaluate(() => window.gbxLongest);
  console.log(`the longest task while 900 KB came: ${Math.round(longest)} ms`);
  assert.ok((await output.textContent()).startsWith("000000 x"), "the first line is gone");
  // The newest was followed.
  assert.ok(await output.evaluate((box_) => box_.scrollHeight - box_.scrollTop - box_.clientHeight < 60), "the end is not in view");
  // A task that is much longer would be felt as a page that hangs; the machine of the test may be busy.
  assert.ok(longest < 700, `a task took ${longest} ms`);
}));

test("the request as Python is a program that works, and as TypeScript one that compiles", () => withPerson(async (one) => {
  const page = await at(one, "/playground"), copied = async (name) => {
    await page.getByRole("button", { name: "Copy as" }).click();
    await page.getByRole("menuitem", { name }).click();
    await toast(page, `Copied for ${name}`);
    return page.evaluate(() => navigator.clipboard.readText());
  };
  await settled(page);
  await editor(page, "Code").waitFor();
  await page.getByRole("button", { name: "More settings" }).click();
  await page.getByLabel("Time limit in seconds").fill("7.5");
  await page.getByLabel("Memory in MB").fill("128");
  await page.getByLabel("Processors").fill("1");
  await page.getByLabel("Standard input").fill("it's \"in\"\n");
  await page.getByLabel("Environment").fill("A=b c");
  await page.getByLabel("Weakest isolation").selectOption("jail-partial");
  await page.getByLabel("Also allow").fill("example.com:443");
  await type(page, "Code", "import os, sys\nprint(repr(sys.stdin.read()), os.environ['A'], '\\u00e9\\n')\n6 * 7");
  const python = await copied("Python");
  assert.ok(!python.includes(KEY));
  const ran = await run("python3", ["-c", python], { env: { ...process.env, PYTHONPATH: ROOT + "sdk/python", GLOVEBOX_API_KEY: KEY } });
  assert.equal(ran.stdout, `'it\\'s "in"\\n' b c é\n\n 42\n`);
  // Each word of it is an option that the SDK has.
  const typescript = await copied("TypeScript"), sources = readdirSync(ROOT + "sdk/typescript/src").filter((name) => name.endsWith(".ts")).map((name) => readFileSync(ROOT + "sdk/typescript/src/" + name, "utf8")).join("\n");
  const words = [...typescript.matchAll(/^ {2}(\w+): /gm)].map((found) => found[1]);
  assert.deepEqual(words, ["language", "stdin", "env", "timeoutMs", "memoryMb", "cpus", "net", "minGrade"]);
  for (const word of words) assert.match(sources, new RegExp(`^ {2}${word}\\?: `, "m"));
  assert.match(typescript, /^import \{ Client \} from "@glovebox\/sdk";$/m);
  assert.match(sources, /export \{ Client,/);
}));

test("what was written in a file and not saved is there again, and conflicts are still noticed", () => withSandbox((sandbox) => withPerson(async (one) => {
  one.expect(/412/);
  await write(sandbox.id, "/home/user/notes.txt", "one\n");
  const page = await at(one, box(sandbox, "files?file=/home/user/notes.txt"));
  await editor(page, "Text of notes.txt").getByText("one").waitFor();
  await type(page, "Text of notes.txt", "two, by hand\n");
  await page.getByText("Not saved yet").waitFor();
  await page.getByRole("link", { name: "Logs" }).click();
  await page.getByRole("heading", { name: sandbox.name ?? sandbox.id }).waitFor();
  await exec(sandbox.id, "echo from inside > notes.txt");
  await page.goBack();
  await editor(page, "Text of notes.txt").getByText("two, by hand").waitFor();
  await page.getByText("Not saved yet").waitFor();
  await page.getByRole("button", { name: /^Save/ }).click();
  await page.getByText("Someone else changed this file").waitFor();
  assert.equal(await read(sandbox.id, "/home/user/notes.txt"), "from inside\n");
  // Leaving asks first: the browser for the address, the page for the session.
  let asked = 0;
  page.on("dialog", (dialog) => { asked++; dialog.dismiss(); });
  await page.evaluate(() => { location.href = "/docs"; });
  await until(() => asked === 1, "the browser's question");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign out and lose 1 unsaved file?" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Load theirs" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Load theirs" }).click();
  await editor(page, "Text of notes.txt").getByText("from inside").waitFor();
  await page.getByText("Saved", { exact: true }).waitFor();
})));

test("entries are renamed, folders opened and downloaded", () => withSandbox((sandbox) => withPerson(async (one) => {
  await exec(sandbox.id, "mkdir -p box/inner && echo deep > box/inner/deep.txt && echo x > plain.txt");
  const page = await at(one, box(sandbox, "files")), row = (name) => page.locator(`.tree-row[data-entry="${name}"]`), menu = async (name, item) => {
    await page.getByRole("button", { name: `Actions for ${name}`, exact: true }).click();
    await page.getByRole("menuitem", { name: item }).click();
  };
  await settled(page);
  await menu("plain.txt", "Rename or move");
  await page.getByLabel("New path").fill("/home/user/box/moved.txt");
  await page.getByRole("dialog").getByRole("button", { name: "Rename or move" }).click();
  await row("plain.txt").waitFor({ state: "detached" });
  assert.equal(await read(sandbox.id, "/home/user/box/moved.txt"), "x\n");
  await menu("box", "Open as the top folder");
  await page.waitForURL(/at=%2Fhome%2Fuser%2Fbox/);
  await row("inner").click();
  await row("deep.txt").waitFor();
  await page.getByRole("button", { name: "Add or download" }).click();
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", { name: "Download the folder" }).click()]);
  assert.equal(download.suggestedFilename(), "box.tar");
  const listed = await run("tar", ["-tf", await download.path()]);
  assert.match(listed.stdout, /inner\/deep\.txt/);
  await page.getByRole("button", { name: "Add or download" }).click();
  await page.getByRole("menuitem", { name: "New file" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("fresh.py");
  await page.keyboard.press("Enter");
  await editor(page, "Text of fresh.py").waitFor();
  assert.equal((await api("GET", `/v1/sandboxes/${sandbox.id}/files/exists?path=/home/user/box/fresh.py`)).exists, true);
})));

test("a terminal is copied from, and processes are ended", () => withSandbox((sandbox) => withPerson(async (one) => {
  const page = await at(one, box(sandbox));
  await settled(page);
  await page.getByRole("button", { name: "Open a terminal" }).click();
  await page.locator('.terminal[data-state="open"]').waitFor();
  await page.keyboard.type("clear; echo take-$((40+2))-this\n");
  const word = page.locator(".xterm-rows").getByText("take-42-this").first();
  await word.waitFor();
  await word.dblclick({ force: true });  // what takes the clicks lies above the text
  await page.keyboard.press("Control+Shift+C");
  await until(async () => (await page.evaluate(() => navigator.clipboard.readText())).includes("42"), "the copied text");
  // Ctrl-C belongs to the program while nothing is selected.
  await page.locator(".terminal .xterm").click();
  await page.keyboard.type("sleep 500\n");
  await until(async () => (await exec(sandbox.id, "pgrep -x sleep || true")).stdout.trim(), "the program");
  await page.keyboard.press("Control+c");
  await until(async () => !(await exec(sandbox.id, "pgrep -x sleep || true")).stdout.trim(), "its end");
  const started = await exec(sandbox.id, "sleep 300", { background: true });
  await page.getByRole("link", { name: "Processes" }).click();
  await page.getByRole("button", { name: `End process ${started.process}` }).click();
  await page.getByRole("dialog").getByRole("button", { name: "End" }).click();
  await toast(page, `Process ${started.process} has ended.`);
})));

test("the policy of a sandbox is changed, and holds at once", () => withSandbox((sandbox) => withPerson(async (one) => {
  const page = await at(one, box(sandbox, "network"));
  await settled(page);
  await page.getByLabel("Network").selectOption("https-only");
  await page.getByLabel("But never").fill("example.org");
  await page.getByRole("button", { name: "Save" }).click();
  await toast(page, "Policy saved.");
  const { net } = await api("GET", "/v1/sandboxes/" + sandbox.id);
  assert.deepEqual([net.base, net.deny], ["https-only", ["example.org"]]);
}), { profile: { net: { base: "none", allow: ["example.com:443"] } } }));

test("settings are shown with where they come from", () => withPerson(async (one) => {
  const page = await at(one, "/settings");
  await settled(page);
  const row = (name) => page.getByRole("row", { name: new RegExp("^" + name.replace(".", "\\.")) });
  await row("net.ceiling").getByText("option").waitFor();
  await row("console.session_ttl").getByText("default").waitFor();
  await page.getByRole("group", { name: "Which settings" }).getByRole("button", { name: "Changed" }).click();
  await row("console.session_ttl").waitFor({ state: "detached" });
  await row("net.ceiling").waitFor();
  await page.getByRole("searchbox").fill("nothing is called that");
  await page.getByText("glovebox config").waitFor();
}));

test("a key's limits and last use are shown, and revoked ones on demand", () => withPerson(async (one) => {
  const made = await api("POST", "/v1/keys", { project: "limited", name: "with limits", limits: { max_in_flight: 3, runs_per_minute: 60 } });
  const page = await at(one, "/keys"), row = page.getByRole("row", { name: /with limits/ });
  await row.getByText("3 at once, 60 a minute").waitFor();
  await row.getByText("never").waitFor();
  await api("GET", "/v1/runs", undefined, { key: made.key });
  await page.reload();
  await row.getByText("just now").first().waitFor();
  assert.equal(await row.getByText("never").count(), 0);
  await api("DELETE", `/v1/keys/${made.id}?project=limited`);
  await page.reload();
  await settled(page);
  assert.equal(await row.count(), 0);
  await page.getByLabel("Show revoked keys").check();
  await row.getByText("Revoked").waitFor();
}));

test("an address behind the last page leads to the last", () => withSandbox((sandbox) => withPerson(async (one) => {
  const page = await at(one, "/sandboxes?page=7&q=alone");
  await page.getByRole("link", { name: "alone-here" }).waitFor();
  assert.ok(!page.url().includes("page="), page.url());
  assert.equal(sandbox.name, "alone-here");
}), { name: "alone-here" }));
