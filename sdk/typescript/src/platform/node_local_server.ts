// Finds the `glovebox serve` of this machine, if one runs on the default data directory and its key is
// readable, as the command line does (src/client/connection/server_location.cc).

import { readFile } from "node:fs/promises";
import * as http from "node:http";
import { homedir } from "node:os";
import { join } from "node:path";

import { isLoopback } from "../ports.js";
import type { ServerLocation } from "./platform.js";

const HEALTH_TIMEOUT_MS = 2_000;

export async function findLocalServer(): Promise<ServerLocation | null> {
  const directory = dataDirectory();
  const url = await servingUrl(directory);
  if (url === null) return null;
  const apiKey = process.env.GLOVEBOX_API_KEY || (await readShort(join(directory, "admin.key")));
  if (!apiKey || !(await isHealthy(url))) return null;
  return { url, apiKey, origin: join(directory, "serve.json") };
}

/** The key of this machine's server if the URL is its own; else null. */
export async function keyOfLocalServer(url: string): Promise<string | null> {
  const directory = dataDirectory();
  const serving = await servingUrl(directory);
  if (serving === null || !isSameServer(url, serving)) return null;
  return readShort(join(directory, "admin.key"));
}

function dataDirectory(): string {
  const set = process.env.GLOVEBOX_SERVER_DATA_DIR || process.env.GLOVEBOX_DATA_DIR;
  if (set) return set;
  if (process.geteuid?.() === 0) return "/var/lib/glovebox";
  return join(process.env.XDG_DATA_HOME || join(homedir(), ".local", "share"), "glovebox");
}

// Another process may listen on a port that a dead server has left: it must not get the key.
async function servingUrl(directory: string): Promise<string | null> {
  const text = await readShort(join(directory, "serve.json"));
  if (text === null) return null;
  let info: unknown;
  try {
    info = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof info !== "object" || info === null || !("url" in info) || !("pid" in info)) return null;
  if (typeof info.url !== "string" || typeof info.pid !== "number" || !(await isServer(info.pid))) return null;
  return info.url;
}

/** Checks the process name too, because an unrelated process may reuse the id of a dead server. */
async function isServer(pid: number): Promise<boolean> {
  if (!Number.isSafeInteger(pid) || pid <= 1) return false;
  return (await readShort(`/proc/${pid}/comm`)) === "glovebox-server";
}

function isSameServer(one: string, other: string): boolean {
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

function isHealthy(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    if (!url.startsWith("http:")) return resolve(url.startsWith("https:"));
    const signal = AbortSignal.timeout(HEALTH_TIMEOUT_MS);
    const request = http.get(`${url}/health`, { agent: false, signal }, (response) => {
      response.destroy();
      resolve(response.statusCode === 200);
    });
    request.on("error", () => resolve(false));
    request.on("close", () => resolve(false));
  });
}
