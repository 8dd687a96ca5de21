// In a real browser: a page that uses a bundle of this package against a real server, whose
// `server.origins` names the page's origin; and one whose origin is not named.

import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { packageRoot, programs, until } from "./support/server.js";

const browser = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
const skip = browser === undefined ? "there is no Chromium here (Debian: apt-get install chromium)" : false;

const PAGE = String.raw`
import { configure, ConnectionFailed, NotFoundError, run, Sandbox } from ${JSON.stringify(join(packageRoot, "dist/esm/index.js"))};

async function everything(say) {
  say("run", (await run("6*7")).value);
  let live = "";
  const done = await run("print('one'); print('two')", { onStdout: (text) => (live += text) });
  say("live", [live, done.stdout]);
  const sandbox = await Sandbox.create({ ttlSeconds: 60 });
  try {
    say("exec", (await sandbox.exec(["echo", "hi"])).stdout);
    const process = await sandbox.start("read x; echo got $x; exit 3");
    await process.write("input\n");
    const events = [];
    for await (const event of process) events.push(event.type === "exit" ? event.exitCode : event.text);
    say("process", events);
    await sandbox.files.upload(new Blob(["from a blob"]).stream(), "up.txt");
    say("files", await sandbox.files.readText("up.txt"));
    const stream = await sandbox.files.download("up.txt");
    say("download", await new Response(stream).text());
    const watch = await sandbox.files.watch("/home/user");
    await sandbox.files.write("new.txt", "x");
    for await (const event of watch) {
      say("watch", event.path);
      break;
    }
    await sandbox.code("x = 2");
    say("code", (await sandbox.code("x * 2")).value);
    await sandbox.files.read("none").catch((error) => say("error", [error instanceof NotFoundError, error.status, error.code]));
  } finally {
    await sandbox.kill();
  }
  await sandbox.start(["true"]).catch((error) => say("gone", [error.name, error.status]));
  await run("1", { fs: ["r:/etc"] }).catch((error) => say("mount", error.status));
}

const said = {};
const { url, apiKey } = await (await fetch("/place")).json();
configure({ url, apiKey });
try {
  await everything((name, value) => (said[name] = value));
} catch (error) {
  said.failed = [error instanceof ConnectionFailed, String(error), error.stack];
}
await fetch("/said", { method: "POST", body: JSON.stringify(said) });
`;

let folder = "";
let server: ChildProcess;
let pages: http.Server;
let origin = "";
let said: Record<string, unknown> | null = null;

before(async () => {
  if (skip) return;
  folder = mkdtempSync(join(tmpdir(), "gbx-sdk-"));
  chmodSync(folder, 0o755); // the server gives root up
  const place = { url: "", apiKey: "" };
  const bundle = execFileSync(join(packageRoot, "node_modules/esbuild/bin/esbuild"),
    ["--bundle", "--platform=browser", "--format=esm", "--log-level=error"], { input: PAGE, cwd: folder, encoding: "utf8" });
  pages = http.createServer((request, response) => {
    if (request.url === "/place") return response.end(JSON.stringify(place));
    if (request.url === "/page.js") return response.writeHead(200, { "Content-Type": "text/javascript" }).end(bundle);
    if (request.url !== "/said") return response.writeHead(200, { "Content-Type": "text/html" }).end('<script type="module" src="/page.js"></script>');
    let body = "";
    request.on("data", (piece) => (body += String(piece))).on("end", () => {
      said = JSON.parse(body) as Record<string, unknown>;
      response.end();
    });
    return undefined;
  });
  await new Promise<void>((resolve) => pages.listen(0, resolve));
  const { port } = pages.address() as AddressInfo;
  origin = `http://127.0.0.1:${port}`;
  const data = join(folder, "data");
  server = spawn(join(programs(), "glovebox"),
    ["serve", "--data-dir", data, "--listen", "127.0.0.1:0", "--set", `server.origins=${origin}`, "--set", "log.requests=false"],
    { stdio: "ignore" });
  await until(() => existsSync(join(data, "serve.json")) && existsSync(join(data, "admin.key")), 60);
  place.url = (JSON.parse(readFileSync(join(data, "serve.json"), "utf8")) as { url: string }).url;
  place.apiKey = readFileSync(join(data, "admin.key"), "utf8").trim();
});

after(async () => {
  if (skip) return;
  pages.closeAllConnections();
  pages.close();
  const ended = new Promise((resolve) => server.once("close", resolve));
  server.kill("SIGTERM");
  await ended;
  rmSync(folder, { recursive: true, force: true });
});

async function visit(address: string): Promise<Record<string, unknown>> {
  said = null;
  const child = spawn(browser ?? "", [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--no-proxy-server",
    `--user-data-dir=${join(folder, "profile")}`, address,
    // A killed browser leaves a directory in the one for temporary files.
  ], { stdio: "ignore", detached: true, env: { ...process.env, TMPDIR: folder } });
  const ended = new Promise((resolve) => child.once("close", resolve));
  try {
    await until(() => said !== null, 90);
  } finally {
    // All of the browser's processes are in a group of their own.
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    await ended;
  }
  return said ?? {};
}

test("a page does everything that a program does", { skip, timeout: 120_000 }, async () => {
  assert.deepEqual(await visit(origin), {
    run: 42,
    live: ["one\ntwo\n", "one\ntwo\n"],
    exec: "hi\n",
    process: ["got input\n", 3],
    files: "from a blob",
    download: "from a blob",
    watch: "/home/user/new.txt",
    code: 4,
    error: [true, 404, "not_found"],
    gone: ["ConflictError", 409],
    mount: 403,
  });
});

test("a page of an origin that is not named gets nothing", { skip, timeout: 120_000 }, async () => {
  const { failed, ...rest } = await visit(origin.replace("127.0.0.1", "localhost"));
  assert.deepEqual(rest, {});
  assert.equal((failed as unknown[])[0], true, String(failed));
});
