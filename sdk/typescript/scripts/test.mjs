// Builds, and runs the tests against a server of their own. Programs are those of GLOVEBOX_BIN_DIR, or of
// build/bin. With GLOVEBOX_URL and GLOVEBOX_API_KEY set, against that one.
//   node scripts/test.mjs [--built] [names of test files]
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const words = process.argv.slice(2);
const run = (...args) => execFileSync(process.execPath, args, { cwd: root, stdio: "inherit" });

if (!words.includes("--built")) {
  run("scripts/build.mjs");
  rmSync(join(root, "dist/test"), { recursive: true, force: true });
  run("node_modules/typescript/bin/tsc", "-p", "tsconfig.test.json");
}

const folder = join(root, "dist/test/test");
const wanted = words.filter((word) => !word.startsWith("--"));
const files = readdirSync(folder, { recursive: true })
  .filter((file) => file.endsWith(".test.js"))
  .filter((file) => wanted.length === 0 || wanted.some((word) => file.includes(word)))
  .map((file) => join(folder, file));

const environment = { ...process.env, GLOVEBOX_BIN_DIR: process.env.GLOVEBOX_BIN_DIR ?? join(root, "../../build/bin") };
const server = environment.GLOVEBOX_URL ? null : await startServer();
try {
  // One file at a time: the machine is small, and some of them look at what runs.
  const tested = spawnSync(process.execPath, ["--test", "--test-reporter=spec", "--test-concurrency=1", ...files], {
    cwd: root,
    stdio: "inherit",
    env: environment,
  });
  process.exitCode = tested.status ?? 1;
} finally {
  await server?.stop();
}

async function startServer() {
  const data = mkdtempSync(join(tmpdir(), "gbx-sdk-"));
  chmodSync(data, 0o755); // the server gives root up
  const program = join(environment.GLOVEBOX_BIN_DIR, "glovebox");
  const child = spawn(program, ["serve", "--data-dir", data, "--listen", "127.0.0.1:0", "--set", "log.requests=false"], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  const ended = new Promise((resolve) => child.once("close", resolve));
  for (const end = Date.now() + 60_000; !existsSync(join(data, "serve.json")); ) {
    if (child.exitCode !== null || Date.now() > end) throw new Error("the server does not start");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  environment.GLOVEBOX_URL = JSON.parse(readFileSync(join(data, "serve.json"), "utf8")).url;
  environment.GLOVEBOX_API_KEY = readFileSync(join(data, "admin.key"), "utf8").trim();
  return {
    async stop() {
      child.kill("SIGTERM");
      await ended;
      rmSync(data, { recursive: true, force: true });
    },
  };
}
