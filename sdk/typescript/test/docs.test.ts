// What the documents show is compiled and run, and prints what they say.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { packageRoot, repository, serverOf } from "./support/server.js";

interface Example {
  name: string;
  code: string;
  printed: string;
}

const examples: Example[] = ["sdk/typescript/README.md", "docs/sdk/typescript.md"].flatMap((document) => {
  const text = readFileSync(join(repository, document), "utf8");
  const found = [...text.matchAll(/^```ts\n(.*?)^```\n\n```text\n(.*?)^```$/gms)];
  assert.equal(found.length, [...text.matchAll(/^```ts$/gm)].length, `${document}: each example says what it prints`);
  return found.map(([, code = "", printed = ""], at) => ({ name: `${document} ${at + 1}`, code, printed }));
});

const folder = mkdtempSync(join(tmpdir(), "gbx-sdk-"));
const { url, apiKey } = serverOf();

before(() => {
  mkdirSync(join(folder, "node_modules/@glovebox"), { recursive: true });
  symlinkSync(packageRoot, join(folder, "node_modules/@glovebox/sdk"));
  symlinkSync(join(packageRoot, "node_modules/@types"), join(folder, "node_modules/@types"));
  examples.forEach(({ code }, at) => writeFileSync(join(folder, `example${at}.mts`), code));
  // Compiled to what Node 20 can do: `await using` is newer.
  const options = ["--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2023,dom,esnext.disposable", "--types", "node"];
  const files = examples.map((_, at) => `example${at}.mts`);
  execFileSync(process.execPath, [join(packageRoot, "node_modules/typescript/bin/tsc"), ...options, ...files], { cwd: folder, stdio: "inherit" });
});
after(() => rmSync(folder, { recursive: true }));

examples.forEach(({ name, printed }, at) => {
  test(name, { timeout: 60_000 }, () => {
    const env = { ...process.env, GLOVEBOX_URL: url, GLOVEBOX_API_KEY: apiKey };
    const ran = spawnSync(process.execPath, [`example${at}.mjs`], { cwd: folder, env, encoding: "utf8" });
    const thrown = /^(\w+): /m.exec(ran.stderr.replace(/^.*\n\s*\^\n/s, "").trim())?.[1];
    const end = ran.status === 0 ? "" : `throws ${thrown ?? ran.stderr}\n`;
    assert.equal(ran.stdout.replace(/[ ]+$/gm, "") + end, printed);
  });
});
