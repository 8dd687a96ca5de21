// Local files that are downloaded from a sandbox.

import { randomBytes } from "node:crypto";
import { rename, rm, stat, writeFile } from "node:fs/promises";

/** Writes a regular file atomically; writes directly to anything else, such as a pipe. */
export async function writeWhole(path: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  const there = await stat(path).catch(() => null);
  if (there !== null && !there.isFile()) return writeFile(path, pieces);
  const making = `${path}.${randomBytes(6).toString("hex")}.part`;
  try {
    await writeFile(making, pieces, { flag: "wx" });
    await rename(making, path);
  } catch (error) {
    await rm(making, { force: true });
    throw error;
  }
}
