// Local files that come from a sandbox.

import { randomBytes } from "node:crypto";
import { rename, rm, stat, writeFile } from "node:fs/promises";

/** A regular file appears whole or not at all; what is something else (a pipe) is written to as it is. */
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
