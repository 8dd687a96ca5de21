// The package as its users get it: packed, installed, loaded both ways, type-checked, bundled; and its
// types as the contract has them.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { packageRoot, serverOf } from "./support/server.js";

const { url, apiKey } = serverOf();
const folder = mkdtempSync(join(tmpdir(), "gbx-sdk-"));
const installed = join(folder, "node_modules/@glovebox/sdk");
const env = { ...process.env, GLOVEBOX_URL: url, GLOVEBOX_API_KEY: apiKey };

function node(...args: string[]): string {
  return execFileSync(process.execPath, args, { cwd: folder, env, encoding: "utf8", timeout: 60_000 });
}
const tool = (path: string) => join(packageRoot, "node_modules", path);

before(() => {
  const packed = execFileSync("npm", ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder], {
    cwd: packageRoot,
    encoding: "utf8",
  }).trim();
  mkdirSync(installed, { recursive: true });
  execFileSync("tar", ["-xzf", join(folder, packed), "-C", installed, "--strip-components=1"]);
});
after(() => rmSync(folder, { recursive: true }));

test("the package has what it needs and nothing else", () => {
  const files = readdirSync(installed, { recursive: true, encoding: "utf8" });
  for (const file of ["README.md", "dist/esm/index.js", "dist/cjs/index.js", "dist/cjs/package.json", "dist/esm/index.d.ts", "dist/browser/glovebox.js"]) {
    assert.ok(files.includes(file), file);
  }
  assert.deepEqual(files.filter((file) => /test|node_modules|^src|tsconfig/.test(file)), []);
  const { dependencies } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as { dependencies?: object };
  assert.equal(dependencies, undefined);
});

test("it is loaded as an ES module and by require, and runs", () => {
  writeFileSync(join(folder, "a.mjs"), `import { run } from "@glovebox/sdk"; console.log((await run("6*7")).value);`);
  writeFileSync(join(folder, "b.cjs"), `require("@glovebox/sdk").run("6*7").then((done) => console.log(done.value));`);
  assert.equal(node("a.mjs"), "42\n");
  assert.equal(node("b.cjs"), "42\n");
});

test("its types are right for strict users, old and new ways to find modules, and hold no any", () => {
  const use = `
    import { run, Sandbox, Client, type RunResult, NotFoundError, ApiError } from "@glovebox/sdk";
    export async function main(): Promise<string> {
      const done: RunResult = await run("1", { memoryMb: 64, onStdout: (text) => text.length });
      const code: number = done.exitCode;
      const peak: number | null = done.metrics.peakMemoryBytes;
      await using sandbox = await Sandbox.create({ ttlSeconds: 60, client: new Client() });
      const process = await sandbox.start(["cat"]);
      for await (const event of process) {
        if (event.type === "exit") return String(event.exitCode + code + (peak ?? 0));
      }
      const [file] = await sandbox.files.list("/");
      try { await sandbox.files.read("x"); } catch (error) { if (error instanceof NotFoundError) return error.code; }
      // @ts-expect-error: there is no such option
      await run("1", { memroyMb: 1 });
      // @ts-expect-error: it is a number
      const wrong: string = done.exitCode;
      return (file?.modifiedAt ?? "") + wrong + (new ApiError(1, "", "")).message;
    }`;
  symlinkSync(tool("@types"), join(folder, "node_modules/@types"));
  const options = ["--noEmit", "--strict", "--target", "es2022", "--lib", "es2022,dom,dom.iterable,esnext.disposable", "--types", "node"];
  for (const [name, how] of Object.entries({
    "a.mts": ["--module", "nodenext"],
    "b.cts": ["--module", "nodenext"],
    "c.ts": ["--module", "es2022", "--moduleResolution", "bundler"],
    "d.ts": ["--module", "commonjs", "--moduleResolution", "node10"],
  })) {
    writeFileSync(join(folder, name), use);
    node(tool("typescript/bin/tsc"), ...options, ...how, name);
  }
  for (const file of readdirSync(join(packageRoot, "src"), { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".ts") || file.includes("generated")) continue;
    const code = readFileSync(join(packageRoot, "src", file), "utf8").replace(/\/\*.*?\*\/|\/\/.*$/gms, "");
    assert.doesNotMatch(code, /[:<|]\s*any\b|\bas any\b|@ts-/, file);
  }
});

test("a bundle for browsers has nothing of Node in it", () => {
  writeFileSync(join(folder, "page.ts"), `import { configure, run, Sandbox } from "@glovebox/sdk";\nObject.assign(globalThis, { configure, run, Sandbox });`);
  execFileSync(tool("esbuild/bin/esbuild"), ["page.ts", "--bundle", "--platform=browser", "--outfile=page.js", "--log-level=error"], { cwd: folder });
  const bundle = readFileSync(join(folder, "page.js"), "utf8");
  assert.doesNotMatch(bundle, /["'](node:|child_process|fs["'])|require\(|process\.env|Buffer\b/);
  assert.match(bundle, /in a browser the server must be named/);
  const whole = readFileSync(join(installed, "dist/browser/glovebox.js"), "utf8");
  assert.doesNotMatch(whole, /["']node:|process\.env/);
});

test("the types are those of the contract: generating them again changes nothing", () => {
  const there = readFileSync(join(packageRoot, "src/generated/api.ts"), "utf8");
  const call = (JSON.parse(readFileSync(join(packageRoot, "package.json"), "utf8")) as { scripts: { generate: string } }).scripts.generate;
  const words = call.split(" ").map((word) => (word === "src/generated/api.ts" ? join(folder, "api.ts") : word));
  assert.equal(words.shift(), "openapi-typescript");
  execFileSync(process.execPath, [tool("openapi-typescript/bin/cli.js"), ...words], { cwd: packageRoot, stdio: "ignore" });
  assert.ok(readFileSync(join(folder, "api.ts"), "utf8") === there, "api/openapi.yaml has changed: cd sdk/typescript && npm run generate");
});
