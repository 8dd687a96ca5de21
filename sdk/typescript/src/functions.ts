// AWS Lambda handlers: POST /v1/functions/invoke.

import { FUNCTION } from "./responses.js";
import { type Ask, callOf, type CallOptions, type Connection } from "./connection.js";
import { withBuild } from "./dependencies.js";
import { ExecutionError } from "./errors.js";
import { type SandboxLimits, profileOf } from "./limits.js";
import { exactBytes } from "./output.js";
import { takeFields } from "./results.js";
import { type FileIn, filesOf } from "./run.js";
import { type Camel, camelize, compact, type Schemas } from "./wire.js";

export interface InvokeOptions extends SandboxLimits, CallOptions {
  /** A function of the module, or `module.function`; default "handler". */
  handler?: string;
  /** The event: any JSON. Its `__timeout` (seconds) is removed and used as the time limit. */
  event?: unknown;
  /** Fields of its `context`, like `function_name`. */
  context?: Record<string, unknown>;
  /** Default "python". */
  language?: NonNullable<Schemas["FunctionRequest"]["language"]>;
  /** Alternative to `language`: a Lambda runtime like "nodejs20.x". */
  runtime?: string;
  template?: string;
  /** The module's file name, like "app.py"; ".mjs" is an ES module. */
  fileName?: string;
  /** At most an hour; default five minutes. */
  timeoutMs?: number;
  cpuMs?: number;
  outputKb?: number;
  files?: readonly FileIn[];
  returnFiles?: readonly string[];
  env?: Record<string, string>;
  workdir?: string;
  cold?: boolean;
  /** Requests with the same key run only once. */
  idempotencyKey?: string;
}

/** Lambda's error object; written by the handler. */
export type FunctionError = Camel<Schemas["FunctionError"]>;

export interface InvokeResult extends Camel<Schemas["FunctionAnswer"]> {}
/** The result of a handler: `result` is its return value, `error` Lambda's error object or null. */
export class InvokeResult {
  constructor(answer: Camel<Schemas["FunctionAnswer"]>) {
    takeFields(this, answer);
  }

  get ok(): boolean {
    return this.error === null;
  }

  get stdoutBytes(): Uint8Array<ArrayBuffer> {
    return exactBytes(this.stdout, this.stdoutBase64);
  }

  /** Throws an ExecutionError if it failed. Returns itself. */
  raiseForError(): this {
    const { error } = this;
    if (error === null) return this;
    const { errorType: name, errorMessage: message, stackTrace: traceback } = error;
    throw new ExecutionError(`${name}: ${message}`, this.exitCode, { code: "exception", name, message, traceback }, this.stderr);
  }
}

const DEFAULT_TIMEOUT_MS = 300_000;

export class Functions {
  constructor(private readonly connection: Connection) {}

  /** Calls a handler of this source in a fresh sandbox. */
  async invoke(code: string, options: InvokeOptions = {}): Promise<InvokeResult> {
    const { handler, event, context, runtime, template, timeoutMs, env, workdir, cold } = options;
    const isSaid = options.language !== undefined || runtime !== undefined || template !== undefined;
    const json: Schemas["FunctionRequest"] = compact({
      code,
      language: isSaid ? options.language : "python",
      runtime,
      template,
      handler,
      file_name: options.fileName,
      event,
      context,
      timeout_ms: timeoutMs,
      files: filesOf(options.files),
      return_files: options.returnFiles && [...options.returnFiles],
      env,
      workdir,
      cold,
      profile: await profileOf({ ...options, timeoutMs: undefined }),
    });
    const key = options.idempotencyKey;
    const ask: Ask = {
      ...callOf(options),
      json,
      headers: key === undefined ? {} : { "Idempotency-Key": key },
      repeatable: key !== undefined,
      runsForMs: withBuild(timeoutMs ?? DEFAULT_TIMEOUT_MS, json.profile),
    };
    return new InvokeResult(camelize(await this.connection.json("POST", "/v1/functions/invoke", FUNCTION, ask)));
  }
}
