// Small things: output in pieces, addresses of ports, mounts, errors by their status.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { fromBase64, toBase64 } from "../../src/bytes.js";
import { ApiError, errorOf, ExecutionError, LimitError, NotFoundError } from "../../src/errors.js";
import { profileOf } from "../../src/limits.js";
import { OutputCollector, pieceOf } from "../../src/output.js";
import { portUrl } from "../../src/ports.js";
import { RunResult } from "../../src/results.js";
import { camelize } from "../../src/wire.js";

test("base64 there and back, of any length", () => {
  for (const size of [0, 1, 2, 3, 0x8000, 100_001]) {
    const bytes = Uint8Array.from({ length: size }, (_, at) => (at * 7) & 255);
    assert.equal(toBase64(bytes), Buffer.from(bytes).toString("base64"));
    assert.deepEqual(fromBase64(toBase64(bytes)), bytes);
  }
});

test("output keeps its first bytes and says that there was more", () => {
  const output = new OutputCollector(5);
  output.add("stdout", pieceOf("abc", undefined).bytes);
  output.add("stderr", pieceOf(undefined, "/w==").bytes);
  assert.equal(output.truncated, false);
  output.add("stdout", pieceOf("def", undefined).bytes);
  assert.equal(output.truncated, true);
  assert.deepEqual(output.fields(), { stdout: "abcd", stderr: "\ufffd", stderrBase64: "/w==" });
});

test("a byte order mark is output", () => {
  const output = new OutputCollector(10);
  output.add("stdout", Uint8Array.from([0xef, 0xbb, 0xbf, 0x61]));
  assert.deepEqual(output.fields(), { stdout: "\ufeffa", stderr: "" });
});

test("a port has a name below the server's, or a path where there are no names", () => {
  assert.equal(portUrl("http://127.0.0.1:7070", "sb1", 80), "http://80-sb1.localhost:7070/");
  assert.equal(portUrl("http://[::1]:7070/", "sb1", 80), "http://80-sb1.localhost:7070/");
  assert.equal(portUrl("https://box.example", "sb1", 8000), "https://8000-sb1.box.example/");
  assert.equal(portUrl("http://10.1.2.3:7070", "sb1", 80), "http://10.1.2.3:7070/v1/sandboxes/sb1/ports/80/");
  for (const port of [0, 65536, 1.5, Number.NaN]) assert.throws(() => portUrl("http://127.0.0.1", "sb1", port), /not a valid port/);
});

test("mounts: a path of the host is made real, a name goes as it is", async () => {
  const folder = mkdtempSync(join(tmpdir(), "gbx-"));
  try {
    symlinkSync("/usr", join(folder, "link"));
    const profile = await profileOf({ fs: [`r:${folder}/link`, "rw:/tmp:/inside", "r:data:/data"] });
    assert.deepEqual(profile?.mounts, [
      { name: "/usr", path: `${folder}/link`, mode: "ro" },
      { name: "/tmp", path: "/inside", mode: "rw" },
      { name: "data", path: "/data", mode: "ro" },
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
  for (const wish of ["/data", "x:/data", "r:", "r:data", "", ":", "r:a/b:/c"]) {
    await assert.rejects(profileOf({ fs: [wish] }), /fs: .*use "r:\/data"/, wish);
  }
  assert.equal(await profileOf({}), undefined);
});

test("errors by their status, also when the answer is not ours", () => {
  const refused = errorOf(404, '{"error":{"code":"not_found","message":"gone"},"request_id":"rq1"}', null);
  assert.ok(refused instanceof NotFoundError && refused instanceof ApiError);
  assert.deepEqual([refused.code, refused.message, refused.requestId], ["not_found", "gone", "rq1"]);
  const wait = errorOf(429, "{}", "7");
  assert.ok(wait instanceof LimitError);
  assert.equal(wait.retryAfter, 7);
  for (const body of ["<html>", "", "null", '{"error":1}', '{"error":{"code":1}}']) {
    const odd = errorOf(418, body, "soon");
    assert.deepEqual([odd.status, odd.code, odd.retryAfter], [418, "unknown", null]);
  }
});

test("a run's figures are in the order they were shown, the value's last; files by either path", () => {
  const png = (text: string) => ({ "image/png": Buffer.from(text).toString("base64") });
  const files = [{ path: "/home/user/out/a", size: 1, content: "x" }, { path: "b", size: 2, contentBase64: "/wA=" }];
  const result = new RunResult({ result: png("c"), results: [png("a"), { "text/plain": "" }, png("b")], files } as never);
  assert.deepEqual(result.figures.map((each) => Buffer.from(each).toString()), ["a", "b", "c"]);
  assert.equal(result.file("out/a")?.text, "x");
  assert.deepEqual(result.file("/home/user/b")?.bytes, Uint8Array.from([255, 0]));
  assert.equal(result.file("c"), undefined);
});

test("a guest's figure that is no base64 is left out", () => {
  const result = new RunResult({ result: { "image/png": "!!!" }, results: [{ "image/png": "YQ==" }, { "image/png": 1 }] } as never);
  assert.deepEqual(result.figures, [Uint8Array.from([0x61])]);
});

test("no field of an answer changes what a result is", () => {
  const sent = JSON.parse('{"__proto__":{"stdout":"evil"},"ok":true,"raiseForError":1,"exit_code":3,"stderr":"","error":null}') as object;
  const result = new RunResult(camelize(sent) as never);
  assert.ok(result instanceof RunResult);
  assert.deepEqual([result.ok, result.stdout, result.exitCode], [false, undefined, 3]);
  assert.throws(() => result.raiseForError(), ExecutionError);
});
