// Builds the package into dist/: ES modules, CommonJS, and one file for pages without a bundler.
import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const tsc = join(root, "node_modules", "typescript", "bin", "tsc");

for (const [project, folder] of [
  ["tsconfig.json", "esm"],
  ["tsconfig.cjs.json", "cjs"],
]) {
  rmSync(join(root, "dist", folder), { recursive: true, force: true });
  execFileSync(process.execPath, [tsc, "-p", join(root, project)], { stdio: "inherit" });
}
// The package's own type is "module".
writeFileSync(join(root, "dist", "cjs", "package.json"), `${JSON.stringify({ type: "commonjs" })}\n`);

await build({
  absWorkingDir: root,
  entryPoints: ["dist/esm/index.js"],
  outfile: "dist/browser/glovebox.js",
  bundle: true,
  format: "esm",
  platform: "browser",
  target: "es2022",
  logLevel: "warning",
});
