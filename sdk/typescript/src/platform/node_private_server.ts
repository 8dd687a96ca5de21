// A server of this process alone: `glovebox serve --private`, started when the first request needs it.
// It ends when its standard input does, which is when this process is gone, however it went.

import { type ChildProcess, type ChildProcessByStdio, spawn } from "node:child_process";
import { access, constants, stat } from "node:fs/promises";
import { delimiter, join } from "node:path";
import type { Readable, Writable } from "node:stream";

import { ServerStartError } from "../errors.js";
import type { Place } from "./platform.js";

const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 20_000;
// Of its standard error, for the message of a failure.
const KEPT_STDERR = 8 * 1024;

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

interface Running {
  place: Place;
  child: Child;
  ended: Promise<void>;
}

let running: Promise<Running> | null = null;

/** One for all clients of this process. */
export async function startPrivateServer(): Promise<Place> {
  if (running === null) {
    const starting = start();
    running = starting;
    const forget = () => {
      if (running === starting) running = null;
    };
    starting.then(({ ended }) => void ended.then(forget), forget);
  }
  return (await running).place;
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
    // Ctrl-C in a terminal is for this process; the server ends after it.
    detached: true,
  });
  child.stdin.on("error", () => undefined);
  let complaints = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaints = (complaints + text).slice(-KEPT_STDERR);
  });
  let isGone = false;
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  child.once("exit", () => {
    isGone = true;
  });
  try {
    const place = { ...placeOf(await firstLine(child), program), isGone: () => isGone };
    // It must neither wait for a reader nor keep this process alive.
    child.stdout.resume();
    letGo(child);
    return { place, child, ended };
  } catch (error) {
    child.kill("SIGTERM");
    child.stdin.end();
    letGo(child);
    const reason = error instanceof Error ? error.message : String(error);
    throw new ServerStartError(`${program} serve --private: ${reason}${complaints ? `\n${complaints.trim()}` : ""}`);
  }
}

function letGo(child: Child): void {
  child.unref();
  for (const stream of [child.stdin, child.stdout, child.stderr]) {
    if ("unref" in stream && typeof stream.unref === "function") stream.unref();
  }
}

function firstLine(child: Child): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const late = setTimeout(() => reject(new Error("it is not ready after a minute")), START_TIMEOUT_MS);
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
      reject(new Error(signal === null ? `it ended with status ${status}` : `it was ended by ${signal}`));
    });
  });
}

function placeOf(line: string, program: string): Place {
  const said: unknown = JSON.parse(line);
  if (typeof said === "object" && said !== null && "url" in said && "api_key" in said) {
    if (typeof said.url === "string" && typeof said.api_key === "string") {
      return { url: said.url, apiKey: said.api_key, origin: `${program} serve --private` };
    }
  }
  throw new Error("it did not say where it serves");
}

async function findProgram(): Promise<string> {
  const given = process.env.GLOVEBOX_BIN;
  if (given) {
    const program = (await isDirectory(given)) ? join(given, "glovebox") : given;
    if (await isExecutable(program)) return program;
    throw new ServerStartError(`GLOVEBOX_BIN: there is no program at ${program}`);
  }
  for (const directory of (process.env.PATH ?? "").split(delimiter)) {
    if (directory === "") continue;
    const program = join(directory, "glovebox");
    if (await isExecutable(program)) return program;
  }
  throw new ServerStartError(
    "no server is known, and there is no program `glovebox` to start one: set GLOVEBOX_URL and GLOVEBOX_API_KEY, " +
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
