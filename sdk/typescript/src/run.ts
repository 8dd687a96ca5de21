// One run in a fresh sandbox: POST /v1/run.

import { RUN } from "./answers.js";
import { toBase64 } from "./bytes.js";
import { type Ask, callOf, type CallOptions, type Connection } from "./connection.js";
import { type BuildCallbacks, withBuild } from "./dependencies.js";
import { GloveboxError } from "./errors.js";
import { follow, isLive, type LiveCallbacks } from "./live.js";
import { profileOf, type RunLimits } from "./limits.js";
import { RunResult } from "./results.js";
import { camelize, compact, type Grade, type Schemas } from "./wire.js";

export interface FileIn {
  /** Relative to /home/user; directories are made. */
  path: string;
  content: string | Uint8Array;
  /** Like "755"; default "644". */
  mode?: string;
}

export interface RunOptions extends RunLimits, LiveCallbacks, BuildCallbacks, CallOptions {
  /** Default: python, if there is code and no template. */
  language?: NonNullable<Schemas["RunRequest"]["language"]>;
  template?: string;
  /** Instead of code: a program and its arguments, or one line for /bin/sh. */
  command?: string | readonly string[];
  /** Arguments of the code. */
  args?: readonly string[];
  stdin?: string | Uint8Array;
  files?: readonly FileIn[];
  /** Paths or patterns of files to give back, relative to /home/user. */
  returnFiles?: readonly string[];
  env?: Record<string, string>;
  workdir?: string;
  /** A fresh interpreter, forked from nobody. */
  cold?: boolean;
  /** Refuse to run behind weaker walls. */
  minGrade?: Grade;
  /** The same request with the same key runs once; it may be repeated, and is where the connection is lost. */
  idempotencyKey?: string;
}

export async function runOn(connection: Connection, code: string | undefined, options: RunOptions): Promise<RunResult> {
  const key = options.idempotencyKey;
  const json = await requestOf(code, options);
  const ask: Ask = {
    ...callOf(options),
    json,
    headers: key === undefined ? {} : { "Idempotency-Key": key },
    repeatable: key !== undefined,
    // Without a limit of the caller's it is the template's, which only the server knows.
    runsForMs: withBuild(options.timeoutMs ?? 0, json.profile),
  };
  if (isLive(options)) return new RunResult(await follow(connection, "/v1/run", RUN, ask, options));
  return new RunResult(camelize(await connection.json("POST", "/v1/run", RUN, ask)));
}

async function requestOf(code: string | undefined, options: RunOptions): Promise<Schemas["RunRequest"]> {
  if ((code === undefined) === (options.command === undefined)) {
    throw new GloveboxError("run: give either code or the option `command`");
  }
  const implied = code !== undefined && options.template === undefined ? "python" : undefined;
  return compact({
    code,
    language: options.language ?? implied,
    template: options.template,
    command: typeof options.command === "object" ? [...options.command] : options.command,
    args: options.args && [...options.args],
    ...stdinOf(options.stdin),
    files: filesOf(options.files),
    return_files: options.returnFiles && [...options.returnFiles],
    env: options.env,
    workdir: options.workdir,
    cold: options.cold,
    profile: await profileOf(options),
    min_grade: options.minGrade,
  });
}

export function stdinOf(stdin: string | Uint8Array | undefined): { stdin?: string; stdin_base64?: string } {
  if (stdin === undefined) return {};
  return typeof stdin === "string" ? { stdin } : { stdin_base64: toBase64(stdin) };
}

export function filesOf(files: readonly FileIn[] | undefined): Schemas["FileIn"][] | undefined {
  return files?.map(({ path, content, mode }) => {
    const said = typeof content === "string" ? { content } : { content_base64: toBase64(content) };
    return compact({ path, ...said, mode });
  });
}
