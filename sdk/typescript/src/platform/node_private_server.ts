// A private server: `glovebox serve --private`, started by the first request that needs it. It ends when its
// standard input closes, which happens even if this process is killed.

import { type ChildProcess, type ChildProcessByStdio, spawn } from "node:child_process";
import { access, constants, stat } from "node:fs/promises";
import { delimiter, join } from "node:path";
import type { Readable, Writable } from "node:stream";

import { ServerStartError } from "../errors.js";
import type { ServerLocation } from "./platform.js";

const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 20_000;
// How much of its standard error is kept for error messages.
const KEPT_STDERR = 8 * 1024;

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

interface Running {
  location: ServerLocation;
  child: Child;
  ended: Promise<void>;
}

let running: Promise<Running> | null = null;

/** Starts the server, once for all clients of this process. */
export async function startPrivateServer(): Promise<ServerLocation> {
  if (running === null) {
    const starting = start();
    running = starting;
    const forget = () => {
      if (running === starting) running = null;
    };
    starting.then(({ ended }) => void ended.then(forget), forget);
  }
  return (await running).location;
}

export async function stopPrivateServer(): Promise<void> {
  const current = await running?.catch(() => undefined);
  if (current === undefined) return;
  for (const kept of [current.child, current.child.stdout, current.child.stderr]) (kept as Partial<ChildProcess>).ref?.();
  current.child.stdin.end();
  const late = setTimeout(() => current.child.kill("SIGKILL"), STOP_TIMEOUT_MS);
  await current.ended;
  clearTimeout(late);
}

async function start(): Promise<Running> {
  const program = await findProgram();
  const child = spawn(program, ["serve", "--private"], {
    stdio: ["pipe", "pipe", "pipe"],
    // Ctrl-C in a terminal must only reach this process; the server ends after it.
    detached: true,
  });
  child.stdin.on("error", () => undefined);
  let stderrTail = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderrTail = (stderrTail + text).slice(-KEPT_STDERR);
  });
  let isGone = false;
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  child.once("exit", () => {
    isGone = true;
  });
  try {
    const location = { ...locationOf(await firstLine(child), program), isGone: () => isGone };
    // Its output must not block it, and it must not keep this process alive.
    child.stdout.resume();
    unrefAll(child);
    return { location, child, ended };
  } catch (error) {
    child.kill("SIGTERM");
    child.stdin.end();
    unrefAll(child);
    const reason = error instanceof Error ? error.message : String(error);
    throw new ServerStartError(`${program} serve --private: ${reason}${stderrTail ? `\n${stderrTail.trim()}` : ""}`);
  }
}

function unrefAll(child: Child): void {
  child.unref();
  for (const stream of [child.stdin, child.stdout, child.stderr]) {
    if ("unref" in stream && typeof stream.unref === "function") stream.unref();
  }
}

function firstLine(child: Child): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const late = setTimeout(() => reject(new Error("it was not ready within a minute")), START_TIMEOUT_MS);
    const take = (piece: Buffer) => {
      text += piece.toString("utf8");
      const end = text.indexOf("\n");
      if (end < 0 && text.length < KEPT_STDERR) return;
      clearTimeout(late);
      child.stdout.off("data", take);
      resolve(text.slice(0, end < 0 ? undefined : end));
    };
    child.stdout.on("data", take);
    child.once("error", (error) => {
      clearTimeout(late);
      reject(error);
    });
    child.once("close", (status, signal) => {
      clearTimeout(late);
      reject(new Error(signal === null ? `it ended with status ${status}` : `it was terminated by ${signal}`));
    });
  });
}

function locationOf(line: string, program: string): ServerLocation {
  const said: unknown = JSON.parse(line);
  if (typeof said === "object" && said !== null && "url" in said && "api_key" in said) {
    if (typeof said.url === "string" && typeof said.api_key === "string") {
      return { url: said.url, apiKey: said.api_key, origin: `${program} serve --private` };
    }
  }
  throw new Error("it printed no address");
}

async function findProgram(): Promise<string> {
  const given = process.env.GLOVEBOX_BIN;
  if (given) {
    const program = (await isDirectory(given)) ? join(given, "glovebox") : given;
    if (await isExecutable(program)) return program;
    throw new ServerStartError(`GLOVEBOX_BIN: ${program} is not an executable program`);
  }
  for (const directory of (process.env.PATH ?? "").split(delimiter)) {
    if (directory === "") continue;
    const program = join(directory, "glovebox");
    if (await isExecutable(program)) return program;
  }
  throw new ServerStartError(
    "no server is known, and the program `glovebox` to start one was not found: set GLOVEBOX_URL and GLOVEBOX_API_KEY, " +
      "or GLOVEBOX_BIN, or put glovebox in the PATH",
  );
}

async function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

async function isExecutable(path: string): Promise<boolean> {
  if (await isDirectory(path)) return false;
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
