// Which server is used, and the private one: started when it is needed, shared, and gone with its
// process. Each case is a process of its own, with an environment of its own.

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { serving } from "./support/serving.js";
import { packageRoot, programs, serverOf, until } from "./support/server.js";

const folder = mkdtempSync(join(tmpdir(), "gbx-sdk-"));
const empty = join(folder, "empty");
mkdirSync(empty);
const standIns: ChildProcess[] = [];
after(() => {
  for (const child of standIns) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

const SDK = JSON.stringify(join(packageRoot, "dist/esm/index.js"));
const PRIVATE = { GLOVEBOX_BIN: programs() };

function begin(script: string, environment: Record<string, string>, data = empty): ChildProcess {
  const { PATH = "" } = process.env;
  // HOME and XDG: an ordinary user's data directory is below it. Root's is a fixed one, so it is named.
  const env = { PATH, HOME: folder, GLOVEBOX_DATA_DIR: data, ...environment };
  const code = `import * as gbx from ${SDK};\n${script}`;
  return spawn(process.execPath, ["--input-type=module", "-e", code], { env, stdio: ["ignore", "pipe", "pipe"] });
}

function lines(child: ChildProcess): { text: string } {
  const seen = { text: "" };
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (seen.text += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (seen.text += text));
  return seen;
}

async function ran(script: string, environment: Record<string, string>, data?: string): Promise<string> {
  const child = begin(script, environment, data);
  const seen = lines(child);
  const late = setTimeout(() => child.kill("SIGKILL"), 60_000);
  const status = await new Promise((resolve) => child.once("close", resolve));
  clearTimeout(late);
  assert.equal(status, 0, seen.text);
  return seen.text.trim();
}

/** A process that is called like the server. */
function standIn(): ChildProcess {
  const program = join(folder, "glovebox-server");
  if (!existsSync(program)) symlinkSync("/bin/sleep", program);
  const child = spawn(program, ["600"], { argv0: "sleep", stdio: "ignore" });
  standIns.push(child);
  return child;
}

async function answers(url: string): Promise<boolean> {
  return fetch(`${url}/health`).then((answer) => answer.ok, () => false);
}

test("nothing is configured: a private server, for two clients one, and gone with the process", async () => {
  const said = await ran(
    `const [one, two] = await Promise.all([gbx.run("6*7"), new gbx.Client().run("1")]);
     const where = await Promise.all([gbx.defaultClient().server(), new gbx.Client().server()]);
     console.log(JSON.stringify([one.value, two.value, where[0].url, where[1].url, where[0].origin]));`,
    PRIVATE,
  );
  const [one, two, url, same, origin] = JSON.parse(said) as [number, number, string, string, string];
  assert.deepEqual([one, two, same], [42, 1, url]);
  assert.match(origin, /glovebox serve --private$/);
  await until(async () => !(await answers(url)));
});

test("a process that is killed takes its private server along", async () => {
  const child = begin(
    `await gbx.run("1"); console.log((await gbx.defaultClient().server()).url); setInterval(() => 0, 1000);`,
    PRIVATE,
  );
  const seen = lines(child);
  await until(() => seen.text.includes("\n"), 60);
  const url = seen.text.trim();
  assert.ok(await answers(url), seen.text);
  child.kill("SIGKILL");
  await until(async () => !(await answers(url)));
});

test("a private server that was stopped is started anew", async () => {
  const said = await ran(
    `const urlOf = async () => (await gbx.run({ command: "exit 0" }), (await gbx.defaultClient().server()).url);
     const first = await urlOf();
     await gbx.stopPrivateServer();
     await gbx.stopPrivateServer();
     const gone = await fetch(first + "/health").then(() => false, () => true);
     const second = await urlOf();
     console.log(JSON.stringify([gone, (await gbx.run("1+1")).value, second.startsWith("http://127.0.0.1:")]));
     await gbx.stopPrivateServer();`,
    PRIVATE,
  );
  assert.deepEqual(JSON.parse(said), [true, 2, true]);
});

test("a private server mounts what its starter can open, another does not", async () => {
  const shared = join(folder, "shared");
  mkdirSync(shared);
  writeFileSync(join(shared, "a.txt"), "from the host");
  const script = `
    const dir = ${JSON.stringify(shared)};
    const read = await gbx.run("open('" + dir + "/a.txt').read()", { fs: ["r:" + dir] });
    const write = await gbx.run({ command: ["touch", "/inside/b"], fs: ["r:" + dir + ":/inside"] });
    console.log(JSON.stringify([read.value, write.exitCode]));`;
  assert.deepEqual(JSON.parse(await ran(script, PRIVATE)), ["from the host", 1]);
  const { url, apiKey } = serverOf();
  const refused = await ran(
    `await gbx.run("1", { fs: ["r:${shared}"] }).catch((error) => console.log(error.name, error.status));`,
    { GLOVEBOX_URL: url, GLOVEBOX_API_KEY: apiKey },
  );
  assert.equal(refused, "ForbiddenError 403");
});

test("GLOVEBOX_URL and GLOVEBOX_API_KEY come first; no server there is an error", async () => {
  const { url, apiKey } = serverOf();
  const configured = { ...PRIVATE, GLOVEBOX_URL: url, GLOVEBOX_API_KEY: apiKey };
  assert.equal(await ran(`await gbx.run("1"); console.log((await gbx.defaultClient().server()).origin);`, configured), "GLOVEBOX_URL");
  const unreachable = { ...configured, GLOVEBOX_URL: "http://127.0.0.1:1" };
  assert.match(
    await ran(`await gbx.run("1").catch((error) => console.log(error.name, error.message));`, unreachable),
    /^ConnectionFailed no server responds at http:\/\/127\.0\.0\.1:1: /,
  );
});

test("a server of this machine is found by its data directory; one that is gone is not", async () => {
  const { url, apiKey } = serverOf();
  const data = join(folder, "data");
  mkdirSync(data);
  writeFileSync(join(data, "admin.key"), `${apiKey}\n`);
  const say = `console.log((await gbx.defaultClient().server()).origin);`;
  const { pid } = standIn();
  writeFileSync(join(data, "serve.json"), JSON.stringify({ url, pid }));
  assert.equal(await ran(`await gbx.run("1"); ${say}`, PRIVATE, data), join(data, "serve.json"));
  // A URL that is this server's gets its key, too; another's does not.
  assert.equal(await ran(`console.log((await gbx.run("1")).exitCode);`, { GLOVEBOX_URL: url }, data), "0");
  const other = await ran(`await gbx.run("1").catch((error) => console.log(error.message));`, { GLOVEBOX_URL: "http://127.0.0.1:1" }, data);
  assert.match(other, /there is no key for/);
  for (const gone of [{ url, pid: 2 ** 22 + 1 }, { url: "http://127.0.0.1:1", pid }, { url, pid: process.pid }, { url }, "[]", "{"]) {
    writeFileSync(join(data, "serve.json"), typeof gone === "string" ? gone : JSON.stringify(gone));
    assert.match(await ran(say, PRIVATE, data), /--private$/, JSON.stringify(gone));
  }
});

test("the admin key only goes to the server", async () => {
  const { apiKey } = serverOf();
  const data = join(folder, "stale");
  mkdirSync(data);
  writeFileSync(join(data, "admin.key"), `${apiKey}\n`);
  await serving(
    (request, response) => {
      assert.equal(request.headers["x-api-key"], undefined);
      response.end('{"status":"ok"}');
    },
    async (url) => {
      const { port } = new URL(url);
      // The server is gone, and another process has its id and its port.
      writeFileSync(join(data, "serve.json"), JSON.stringify({ url, pid: process.pid }));
      assert.match(await ran(`console.log((await gbx.defaultClient().server()).origin);`, PRIVATE, data), /--private$/);
      const caught = `await gbx.run("1").catch((error) => console.log(error.message));`;
      assert.match(await ran(caught, { GLOVEBOX_URL: url }, data), /there is no key for/);
      // It runs, and the URL is another's that only looks like this machine.
      writeFileSync(join(data, "serve.json"), JSON.stringify({ url, pid: standIn().pid }));
      for (const other of [`http://127.evil.example:${port}`, `http://127.0.0.1.evil.example:${port}`, `https://127.0.0.1:${port}`]) {
        assert.match(await ran(caught, { GLOVEBOX_URL: other }, data), /there is no key for/, other);
      }
    },
  );
});

test("a private server that cannot be started says why", async () => {
  const caught = `await gbx.run("1").catch((error) => console.log(error.name, error.message));`;
  assert.match(await ran(caught, { GLOVEBOX_BIN: "/no/such" }), /^ServerStartError GLOVEBOX_BIN: \/no\/such is not an executable program/);
  assert.match(await ran(caught, { PATH: empty }), /^ServerStartError no server is known, and the program/);
  const broken = join(folder, "broken");
  writeFileSync(broken, "#!/bin/sh\necho 'the reason' >&2\nexit 1\n", { mode: 0o755 });
  assert.match(await ran(caught, { GLOVEBOX_BIN: broken }), /^ServerStartError .*: it ended with status 1\nthe reason/s);
  writeFileSync(broken, "#!/bin/sh\necho 'no json'\nexec sleep 60\n", { mode: 0o755 });
  assert.match(await ran(caught, { GLOVEBOX_BIN: broken }), /^ServerStartError /);
});
