// Streams of lines, however they are cut on their way.

import assert from "node:assert/strict";
import { test } from "node:test";

import { jsonLines, linesOf, serverEvents } from "../../src/lines.js";

async function* cut(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

test("lines are the same wherever the stream is cut, also in a character", async () => {
  const text = "grüß\r\n\n€uro 🧤\nlast";
  for (let size = 1; size <= 20; size += 1) {
    assert.deepEqual(await all(linesOf(cut(text, size))), ["grüß", "", "€uro 🧤", "last"]);
  }
});

test("JSON lines that are none are an error, not a guess", async () => {
  assert.deepEqual(await all(jsonLines(cut('{"a":1}\n\n{"b":2}\n', 3))), [{ a: 1 }, { b: 2 }]);
  await assert.rejects(all(jsonLines(cut('{"a":\n', 3))), /not JSON/);
  await assert.rejects(all(jsonLines(cut("[1]\n", 3))), /not a JSON object/);
  await assert.rejects(all(jsonLines(cut("null\n", 3))), /not a JSON object/);
});

test("an event without an end is an error, not all of the memory", async () => {
  const piece = new TextEncoder().encode(`data: ${"x".repeat(1000)}\n`.repeat(1000));
  let read = 0;
  const flood = async function* () {
    for (; read < 1000; read += 1) yield piece;
  };
  await assert.rejects(all(serverEvents(flood())), { name: "ProtocolError", message: /too long/ });
  assert.ok(read < 100, `${read} MB were read`);
});

test("server-sent events have their name, data and id; comments are none", async () => {
  const text = ': hello\nretry: 2000\n\nid: 4\nevent: run.started\ndata: {"a":1}\n\ndata: x\ndata:y\n\nevent: cut\ndata: 1\n';
  for (const size of [1, 7, 1000]) {
    assert.deepEqual(await all(serverEvents(cut(text, size))), [
      { id: "4", event: "run.started", data: '{"a":1}' },
      { id: "4", event: "message", data: "x\ny" },
    ]);
  }
});
