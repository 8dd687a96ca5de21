// Processes beyond the conformance suite: slow readers, two readers, connections that are lost.

import assert from "node:assert/strict";
import * as net from "node:net";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { inspect } from "node:util";

import { Client, GloveboxError, NotFoundError, Sandbox, TimeoutExpired } from "@glovebox/sdk";

import { serverOf, until } from "./support/server.js";

const server = serverOf();
const client = new Client(server);
let sandbox: Sandbox;

before(async () => {
  sandbox = await Sandbox.create({ client, ttlSeconds: 300 });
});
after(async () => {
  await sandbox.kill();
  await client.close();
});

test("a slow reader slows the program, and loses nothing", async () => {
  const process = await sandbox.start("head -c 8000000 /dev/zero; echo all >&2", { outputKb: 1 });
  const state = async () => (await sandbox.processes()).find((each) => each.process === process.number);
  // No client reads: the program blocks, with no more printed than fits into the buffers.
  await until(async () => ((await state())?.stdout.end ?? 0) > 0);
  assert.equal((await state())?.state, "running");
  let size = 0;
  let lost = 0;
  for await (const event of process) {
    if (event.type === "stdout") size += event.bytes.length;
    if (event.type === "lost") lost += event.bytes;
  }
  assert.deepEqual([size, lost], [8_000_000, 0]);
  const result = await process.wait();
  assert.deepEqual([result.truncated, result.stdout.length, result.exitCode], [true, 1024, 0]);
});

test("wait in the middle of a loop, and beside one, takes nothing from it", async () => {
  const process = await sandbox.start("for i in 1 2 3 4 5; do echo $i; sleep 0.02; done");
  let inside = "";
  let text = "";
  for await (const event of process) {
    if (inside === "") inside = (await process.wait()).stdout;
    if (event.type === "stdout") text += event.text;
  }
  assert.deepEqual([inside, text], ["1\n2\n3\n4\n5\n", "1\n2\n3\n4\n5\n"]);

  const other = await sandbox.start("for i in 1 2 3 4 5; do echo $i; sleep 0.02; done");
  const ended = other.wait();
  let beside = "";
  for await (const event of other) if (event.type === "stdout") beside += event.text;
  assert.equal((await ended).stdout, "1\n2\n3\n4\n5\n");
  assert.ok("1\n2\n3\n4\n5\n".endsWith(beside));
});

test("a wait has a limit, and the process goes on", async () => {
  const process = await sandbox.start(["sleep", "60"]);
  await assert.rejects(process.wait({ timeoutMs: 50 }), TimeoutExpired);
  await assert.rejects(process.wait({ signal: AbortSignal.timeout(50) }), { name: "TimeoutError" });
  await process.kill();
  assert.equal((await process.wait()).signal, 9);
  await assert.rejects(process.write("x"), GloveboxError);
});

test("a signal ends a command that is followed, and the command with it", async () => {
  const stop = new AbortController();
  const result = sandbox.exec("echo begun; exec sleep 61", {
    onStdout: () => stop.abort(new Error("enough")),
    signal: stop.signal,
  });
  await assert.rejects(result, /enough/);
  await until(async () => (await sandbox.shell("pgrep -f 'sleep 6[1]'")).exitCode === 1);
});

test("a callback that throws ends it, and is thrown", async () => {
  const result = sandbox.exec("echo a; exec sleep 62", {
    onStdout: () => {
      throw new Error("mine");
    },
  });
  await assert.rejects(result, /mine/);
  await until(async () => (await sandbox.shell("pgrep -f 'sleep 6[2]'")).exitCode === 1);
});

test("an asynchronous callback that fails ends it, and is thrown", async () => {
  const result = sandbox.exec("echo a; exec sleep 63", {
    onStdout: async () => {
      await Promise.resolve();
      throw new Error("mine");
    },
  });
  await assert.rejects(result, /mine/);
  await until(async () => (await sandbox.shell("pgrep -f 'sleep 6[3]'")).exitCode === 1);
});

test("who prints a process prints no key", async () => {
  const process = await sandbox.start(["true"]);
  assert.ok(!inspect(process, { depth: Infinity, showHidden: true }).includes(server.apiKey));
  await process.wait();
});

test("a connection that is lost is made again, from where it was", async () => {
  const target = new URL(server.url);
  const open = new Set<net.Socket>();
  const relay = net.createServer((inner) => {
    const outer = net.connect(Number(target.port), target.hostname);
    for (const socket of [inner, outer]) {
      open.add(socket);
      socket.on("error", () => undefined).on("close", () => {
        inner.destroy();
        outer.destroy();
      });
    }
    inner.pipe(outer).pipe(inner);
  });
  await new Promise<void>((resolve) => relay.listen(0, "127.0.0.1", resolve));
  const through = new Client({ ...server, url: `http://127.0.0.1:${(relay.address() as AddressInfo).port}` });
  try {
    const same = await Sandbox.connect(sandbox.id, { client: through });
    const process = await same.start("for i in 1 2 3; do echo $i; sleep 0.2; done; exit 4");
    let text = "";
    for await (const event of process) {
      if (event.type !== "stdout") continue;
      text += event.text;
      if (text === "1\n") for (const socket of open) socket.destroy();
    }
    assert.equal(text, "1\n2\n3\n");
    const result = await process.wait();
    assert.deepEqual([result.stdout, result.exitCode], ["1\n2\n3\n", 4]);
  } finally {
    await through.close();
    for (const socket of open) socket.destroy();
    relay.close();
  }
});

test("what cannot be started says why", async () => {
  await assert.rejects(sandbox.start(["/no/such"]), /program not found: \/no\/such/);
  await assert.rejects(sandbox.attach(12345), NotFoundError);
  const gone = await Sandbox.create({ client });
  await gone.kill();
  await assert.rejects(gone.start(["true"]), { status: 409 });
});
