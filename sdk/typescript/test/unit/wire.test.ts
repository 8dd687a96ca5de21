// Spelling: the contract's names and ours.

import assert from "node:assert/strict";
import { test } from "node:test";

import { camelize, camelKey, compact } from "../../src/wire.js";

test("keys are respelt all the way down", () => {
  assert.deepEqual(camelize({ exit_code: 1, metrics: { peak_memory_mb: 2 }, items: [{ a_b: null }], stdout_base64: "" }), {
    exitCode: 1,
    metrics: { peakMemoryMb: 2 },
    items: [{ aB: null }],
    stdoutBase64: "",
  });
});

test("what a guest or a caller named keeps its names", () => {
  const data = { result: { a_b: 1 }, results: [{ "text/x_y": "" }], env: { MY_VAR: "1", a_b: "" }, metadata: { c_d: "" } };
  assert.deepEqual(camelize(data), data);
});

test("a key named __proto__ changes no prototype", () => {
  const sent = JSON.parse('{"__proto__": {"polluted": true}, "limits": {"__proto__": {"polluted": true}}}') as { limits: object };
  const taken = camelize(sent);
  assert.equal("polluted" in taken, false);
  assert.equal("polluted" in taken.limits, false);
  assert.equal("polluted" in {}, false);
});

test("names without underscores, and odd ones, stay", () => {
  for (const name of ["errorMessage", "_x", "x_", "", "text/plain"]) assert.equal(camelKey(name), name);
});

test("what is undefined is not sent, what is null is", () => {
  assert.deepEqual(JSON.stringify(compact({ a: undefined, b: null, c: 0 })), '{"b":null,"c":0}');
});
