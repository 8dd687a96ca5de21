// The texts of the console: every one that a page asks for is there, and none is there for nothing.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const source = join(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "../../console/src");
const { t } = await import(`data:text/javascript;base64,${Buffer.from(readFileSync(join(source, "texts.js"))).toString("base64")}`);

function files(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? files(join(folder, entry.name)) : entry.name.endsWith(".js") ? [join(folder, entry.name)] : []));
}

// "a.b" of t.a.b; `many` for t.a[...].
function asked(text) {
  return [...text.matchAll(/(?<![\w.])t((?:\.[A-Za-z_]\w*)+)(\[)?/g)].map((found) => ({ path: found[1].slice(1).split("."), many: Boolean(found[2]) }));
}

test("every text that is asked for is there", () => {
  let count = 0;
  const missing = [];
  for (const file of files(source)) {
    for (const { path } of asked(readFileSync(file, "utf8"))) {
      count++;
      let value = t;
      for (const name of path) {
        if (typeof value === "string" || typeof value === "function") break;  // a method of the text
        value = value?.[name];
      }
      if (value === undefined) missing.push(`${file}: t.${path.join(".")}`);
    }
  }
  assert.ok(count > 400, "the sources were not read");
  assert.deepEqual(missing, []);
});

test("no text is left over", () => {
  const used = files(source).flatMap((file) => asked(readFileSync(file, "utf8"))), left = [];
  const walk = (value, path) => {
    if (used.some((one) => one.path.join(".") === path.join(".") && (one.many || typeof value !== "object"))) return;
    if (typeof value === "object") { for (const [name, inner] of Object.entries(value)) walk(inner, [...path, name]); return; }
    if (!used.some((one) => path.join(".").startsWith(one.path.join(".") + ".") && one.many)) left.push(path.join("."));
  };
  walk(t, []);
  assert.deepEqual(left, []);
});
