// Files by streams, by ranges and as archives: what the conformance suite leaves to each language.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { Client, NotFoundError, Sandbox } from "@glovebox/sdk";

import { serverOf } from "./support/server.js";

const client = new Client(serverOf());
const folder = mkdtempSync(join(tmpdir(), "gbx-sdk-"));
let sandbox: Sandbox;

before(async () => {
  sandbox = await Sandbox.create({ client, ttlSeconds: 300 });
});
after(async () => {
  await sandbox.kill();
  await client.close();
  rmSync(folder, { recursive: true });
});

const content = randomBytes(3_000_000);

test("a local file goes in and comes out again", async () => {
  writeFileSync(join(folder, "in"), content);
  assert.equal((await sandbox.files.upload(join(folder, "in"), "up")).size, content.length);
  await sandbox.files.download("up", join(folder, "out"));
  assert.ok(readFileSync(join(folder, "out")).equals(content));
});

test("a local file that is not there, and one inside that is not there", async () => {
  await assert.rejects(sandbox.files.upload(join(folder, "none"), "x"), /ENOENT/);
  assert.equal(await sandbox.files.exists("x"), false);
  await assert.rejects(sandbox.files.download("none", join(folder, "x")), NotFoundError);
});

test("a Blob, a stream and pieces go in; a stream comes out", async () => {
  const pieces = async function* () {
    for (let at = 0; at < content.length; at += 100_000) yield new Uint8Array(content.subarray(at, at + 100_000));
  };
  const sources = { blob: new Blob([content]), stream: new Blob([content]).stream(), pieces: pieces() };
  for (const [name, source] of Object.entries(sources)) {
    await sandbox.files.upload(source, name);
    const parts: Uint8Array[] = [];
    for await (const part of await sandbox.files.download(name)) parts.push(part);
    assert.ok(Buffer.concat(parts).equals(content), name);
  }
});

test("pieces that fail half-way leave no file", async () => {
  const failing = async function* () {
    yield new Uint8Array(100_000);
    throw new Error("the source broke");
  };
  await assert.rejects(sandbox.files.upload(failing(), "half"), { name: "Error", message: "the source broke" });
  assert.equal(await sandbox.files.exists("half"), false);
  // What the source says of its own connection is not said of ours.
  const unreachable = async function* () {
    yield new Uint8Array(1);
    throw Object.assign(new Error("of the source"), { code: "ECONNREFUSED" });
  };
  await assert.rejects(sandbox.files.upload(unreachable(), "half"), { name: "Error", message: "of the source" });
});

test("a download may be left, and goes into a stream", async () => {
  await sandbox.files.write("big", content);
  for await (const part of await sandbox.files.download("big")) {
    assert.ok(part.length > 0);
    break;
  }
  const parts: Uint8Array[] = [];
  await sandbox.files.download("big", new WritableStream({ write: (part) => void parts.push(part) }));
  assert.ok(Buffer.concat(parts).equals(content));
});

test("a file that looks larger than it may be is not read, and leaves no local file", async () => {
  await sandbox.exec(["truncate", "-s", "1500M", "sparse"]);
  await assert.rejects(sandbox.files.read("sparse"), { name: "GloveboxError", message: /larger than 268435456 bytes/ });
  await assert.rejects(sandbox.files.download("sparse", join(folder, "sparse")), /larger than 1073741824 bytes/);
  assert.equal((await sandbox.files.read("sparse", { length: 10 })).length, 10);
  await sandbox.files.write("small", "0123456789");
  assert.equal((await sandbox.files.read("small", { maxBytes: 10 })).length, 10);
  await assert.rejects(sandbox.files.download("small", join(folder, "sparse"), { maxBytes: 9 }), /larger than 9 bytes/);
  assert.deepEqual(readdirSync(folder).filter((name) => name.includes("sparse")), []);
});

test("a download takes a link's place, and is not written through it", async () => {
  await sandbox.files.write("small", "0123456789");
  writeFileSync(join(folder, "target"), "mine");
  symlinkSync(join(folder, "target"), join(folder, "link"));
  await sandbox.files.download("small", join(folder, "link"));
  assert.equal(readFileSync(join(folder, "target"), "utf8"), "mine");
  assert.equal(readFileSync(join(folder, "link"), "utf8"), "0123456789");
});

test("ranges", async () => {
  await sandbox.files.write("r", "0123456789");
  assert.equal(await sandbox.files.readText("r", { offset: 3, length: 4 }), "3456");
  assert.equal(await sandbox.files.readText("r", { offset: 8 }), "89");
  assert.equal(await sandbox.files.readText("r", { length: 2 }), "01");
  assert.equal(await sandbox.files.readText("r", { length: 0 }), "");
  await assert.rejects(sandbox.files.read("r", { offset: 100 }), { status: 416, code: "range_not_satisfiable" });
});

test("a tree as an archive, into another place", async () => {
  await sandbox.files.write("tree/a/b.txt", "b");
  await sandbox.files.write("tree/c.txt", "c");
  const packed = await sandbox.files.uploadTar(await sandbox.files.downloadTar("tree"), "/tmp/unpacked");
  assert.ok(packed.entries >= 3);
  const { stdout } = await sandbox.shell("cd /tmp/unpacked && find . -type f | sort");
  assert.match(stdout, /a\/b\.txt\n.*c\.txt\n$/s);
});

test("a watch is closed from outside, and by a signal", async () => {
  const watch = await sandbox.files.watch("/home/user");
  setTimeout(() => watch.close(), 50);
  for await (const event of watch) assert.ok(event.type);
  const stop = new AbortController();
  const other = await sandbox.files.watch("/home/user", { signal: stop.signal });
  setTimeout(() => stop.abort(new Error("enough")), 50);
  await assert.rejects(async () => {
    for await (const event of other) assert.ok(event.type);
  }, /enough/);
  await assert.rejects(sandbox.files.watch("/no/such"), NotFoundError);
});

test("names that are not UTF-8", async () => {
  const name = Uint8Array.from([...Buffer.from("/home/user/odd-"), 0xff]);
  await sandbox.files.write(name, "odd");
  const found = (await sandbox.files.list("/home/user")).find((entry) => entry.name.startsWith("odd-"));
  const path = Uint8Array.from(Buffer.from(found?.pathBase64 ?? "", "base64"));
  assert.deepEqual(path, name);
  assert.equal(await sandbox.files.readText(path), "odd");
  await sandbox.files.move(path, "even");
  assert.equal(await sandbox.files.readText("even"), "odd");
});

test("a download that fails leaves what was there, and nothing beside it", async () => {
  const target = join(folder, "kept");
  writeFileSync(target, "before");
  await sandbox.files.write("big", content);
  const stop = new AbortController();
  const failing = sandbox.files.download("big", target, { signal: stop.signal });
  stop.abort(new Error("enough"));
  await assert.rejects(failing, /enough/);
  assert.equal(readFileSync(target, "utf8"), "before");
  assert.deepEqual(readdirSync(folder).filter((name) => name.endsWith(".part")), []);
});
