// WebSocket frames: what we write can be read, and what no server may send ends the connection.

import assert from "node:assert/strict";
import { test } from "node:test";

import { FrameReader, frameOf, Opcode } from "../../src/platform/websocket_frames.js";

/** As a server sends it: the same, without a mask. */
function unmasked(opcode: number, payload: Buffer, final = true): Buffer {
  const frame = frameOf(opcode, payload);
  const header = payload.length < 126 ? 2 : payload.length < 65536 ? 4 : 10;
  const mask = frame.subarray(header, header + 4);
  const body = Buffer.from(frame.subarray(header + 4).map((byte, at) => byte ^ (mask[at & 3] ?? 0)));
  const head = Buffer.from(frame.subarray(0, header));
  head[0] = (final ? 0x80 : 0) | opcode;
  head[1] = (head[1] ?? 0) & 0x7f;
  return Buffer.concat([head, body]);
}

test("messages of every length of length, cut anywhere", () => {
  for (const size of [0, 1, 125, 126, 127, 65535, 65536, 100_000]) {
    const payload = Buffer.alloc(size, "ab");
    const bytes = unmasked(Opcode.text, payload);
    for (const cut of [1, 2, 3, 9, 10, bytes.length - 1]) {
      const reader = new FrameReader();
      const messages = [...reader.read(bytes.subarray(0, cut)), ...reader.read(bytes.subarray(cut))];
      assert.deepEqual(messages, [{ opcode: Opcode.text, payload }]);
    }
  }
});

test("a message in parts, with a ping between them", () => {
  const reader = new FrameReader();
  const bytes = Buffer.concat([
    unmasked(Opcode.text, Buffer.from("one "), false),
    unmasked(Opcode.ping, Buffer.from("?")),
    unmasked(Opcode.continuation, Buffer.from("two")),
  ]);
  const messages = reader.read(bytes).map(({ opcode, payload }) => [opcode, payload.toString()]);
  assert.deepEqual(messages, [
    [Opcode.ping, "?"],
    [Opcode.text, "one two"],
  ]);
});

test("what no server may send is refused", () => {
  const bad = {
    "a mask": frameOf(Opcode.text, Buffer.from("x")),
    "reserved bits": Buffer.from([0xc1, 0x00]),
    "a continuation of nothing": unmasked(Opcode.continuation, Buffer.from("x")),
    "a message in a message": Buffer.concat([
      unmasked(Opcode.text, Buffer.from("x"), false),
      unmasked(Opcode.text, Buffer.from("y")),
    ]),
    "a long ping": unmasked(Opcode.ping, Buffer.alloc(126)),
    "a ping in parts": unmasked(Opcode.ping, Buffer.alloc(1), false),
    "too much": Buffer.from([0x81, 127, 0, 0, 0, 1, 0, 0, 0, 0]),
    "far too much": Buffer.from([0x81, 127, 255, 255, 255, 255, 255, 255, 255, 255]),
  };
  for (const [what, bytes] of Object.entries(bad)) {
    assert.throws(() => new FrameReader().read(bytes), /WebSocket/, what);
  }
});
