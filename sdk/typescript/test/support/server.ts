// Where the tests' server is: set by the program that runs them (scripts/test.mjs, or ctest).

import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Compiled, this file is in sdk/typescript/dist/test/test/support. */
export const packageRoot = join(dirname(fileURLToPath(import.meta.url)), "../../../..");
export const repository = join(packageRoot, "../..");

export function serverOf(): { url: string; apiKey: string } {
  const { GLOVEBOX_URL: url, GLOVEBOX_API_KEY: apiKey } = process.env;
  if (!url || !apiKey) throw new Error("GLOVEBOX_URL and GLOVEBOX_API_KEY must say where the tests' server is");
  return { url, apiKey };
}

/** The folder of the programs, for tests that start some. */
export function programs(): string {
  const folder = process.env.GLOVEBOX_BIN_DIR;
  if (!folder) throw new Error("GLOVEBOX_BIN_DIR must say where the programs are");
  return folder;
}

export async function until(what: () => boolean | Promise<boolean>, seconds = 30): Promise<void> {
  for (const end = Date.now() + seconds * 1000; !(await what()); ) {
    if (Date.now() > end) throw new Error("it does not come to pass");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
