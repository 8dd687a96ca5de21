// The `glovebox serve` of this machine, if one runs on the default data directory and its key may be
// read: what the command line finds, too (src/client/place.cc).

import { readFile } from "node:fs/promises";
import * as http from "node:http";
import { homedir } from "node:os";
import { join } from "node:path";

import { isLoopback } from "../ports.js";
import type { Place } from "./platform.js";

const HEALTH_TIMEOUT_MS = 2_000;

export async function findLocalServer(): Promise<Place | null> {
  const directory = dataDirectory();
  const url = await servingUrl(directory);
  if (url === null) return null;
  const apiKey = process.env.GLOVEBOX_API_KEY || (await readShort(join(directory, "admin.key")));
  if (!apiKey || !(await answers(url))) return null;
  return { url, apiKey, origin: join(directory, "serve.json") };
}

/** The key of this machine's own server, for a URL that is its; else null. */
export async function keyOfLocalServer(url: string): Promise<string | null> {
  const directory = dataDirectory();
  const serving = await servingUrl(directory);
  if (serving === null || !isSamePlace(url, serving)) return null;
  return readShort(join(directory, "admin.key"));
}

function dataDirectory(): string {
  const set = process.env.GLOVEBOX_SERVER_DATA_DIR || process.env.GLOVEBOX_DATA_DIR;
  if (set) return set;
  if (process.geteuid?.() === 0) return "/var/lib/glovebox";
  return join(process.env.XDG_DATA_HOME || join(homedir(), ".local", "share"), "glovebox");
}

// A port that a dead server has left may be anybody's by now: its key goes to nobody then.
async function servingUrl(directory: string): Promise<string | null> {
  const text = await readShort(join(directory, "serve.json"));
  if (text === null) return null;
  let said: unknown;
  try {
    said = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof said !== "object" || said === null || !("url" in said) || !("pid" in said)) return null;
  if (typeof said.url !== "string" || typeof said.pid !== "number" || !(await isServer(said.pid))) return null;
  return said.url;
}

/** The number of a dead server may be another process's by now: that the process lives says nothing. */
async function isServer(pid: number): Promise<boolean> {
  if (!Number.isSafeInteger(pid) || pid <= 1) return false;
  return (await readShort(`/proc/${pid}/comm`)) === "glovebox-server";
}

function isSamePlace(one: string, other: string): boolean {
  if (!URL.canParse(one) || !URL.canParse(other)) return false;
  const a = new URL(one);
  const b = new URL(other);
  if (a.protocol !== b.protocol || a.port !== b.port) return false;
  return a.hostname === b.hostname || (isLoopback(a.hostname) && isLoopback(b.hostname));
}

async function readShort(path: string): Promise<string | null> {
  try {
    return (await readFile(path, "utf8")).trim();
  } catch {
    return null;
  }
}

function answers(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    if (!url.startsWith("http:")) return resolve(url.startsWith("https:"));
    const signal = AbortSignal.timeout(HEALTH_TIMEOUT_MS);
    const asked = http.get(`${url}/health`, { agent: false, signal }, (answer) => {
      answer.destroy();
      resolve(answer.statusCode === 200);
    });
    asked.on("error", () => resolve(false));
    asked.on("close", () => resolve(false));
  });
}
