// One run in a fresh sandbox: POST /v1/run.

import { RUN } from "./responses.js";
import { toBase64 } from "./bytes.js";
import { type Ask, callOf, type CallOptions, type Connection } from "./connection.js";
import { type BuildCallbacks, withBuild } from "./dependencies.js";
import { GloveboxError } from "./errors.js";
import { follow, isLive, type LiveCallbacks } from "./run_stream.js";
import { profileOf, type RunLimits } from "./limits.js";
import { RunResult } from "./results.js";
import { camelize, compact, type Grade, type Schemas } from "./wire.js";

export interface FileIn {
  /** Relative to /home/user; parent directories are created. */
  path: string;
  content: string | Uint8Array;
  /** Like "755"; default "644". */
  mode?: string;
}

export interface RunOptions extends RunLimits, LiveCallbacks, BuildCallbacks, CallOptions {
  /** Default: python, if there is code but no template. */
  language?: NonNullable<Schemas["RunRequest"]["language"]>;
  template?: string;
  /** Instead of code: a program and its arguments, or a line for /bin/sh. */
  command?: string | readonly string[];
  /** Arguments of the code. */
  args?: readonly string[];
  stdin?: string | Uint8Array;
  files?: readonly FileIn[];
  /** Paths or patterns of files to return, relative to /home/user. */
  returnFiles?: readonly string[];
  env?: Record<string, string>;
  workdir?: string;
  /** Start a fresh interpreter instead of forking a warm one. */
  cold?: boolean;
  /** Refuse weaker isolation than this grade. */
  minGrade?: Grade;
  /** An engine that the server lists as usable (`GET /v1/engines`). */
  engine?: Schemas["EngineName"];
  /** Requests with the same key run only once, so the call is retried if the connection is lost. */
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
    // Without the caller's limit the template's applies, which only the server knows.
    runsForMs: withBuild(options.timeoutMs ?? 0, json.profile),
  };
  if (isLive(options)) return new RunResult(await follow(connection, "/v1/run", RUN, ask, options));
  return new RunResult(camelize(await connection.json("POST", "/v1/run", RUN, ask)));
}

async function requestOf(code: string | undefined, options: RunOptions): Promise<Schemas["RunRequest"]> {
  const isImage = options.image !== undefined; // which has a program of its own
  const programs = [code, options.command].filter((one) => one !== undefined).length;
  if (programs > 1 || (programs === 0 && !isImage)) throw new GloveboxError("run: use either code or the option `command`");
  if (isImage && options.template !== undefined) throw new GloveboxError("run: use either `image` or `template`");
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
    engine: options.engine,
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
