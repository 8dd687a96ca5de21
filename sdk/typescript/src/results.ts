// Results of runs, code cells and commands.

import { fromBase64, toText } from "./bytes.js";
import { ExecutionError } from "./errors.js";
import { exactBytes } from "./output.js";
import type { Camel, Mime, RunError, Schemas } from "./wire.js";

interface Ended {
  exitCode: number;
  signal: number | null;
  stdout: string;
  stderr: string;
  timedOut: boolean;
  oomKilled: boolean;
}

abstract class Outcome {
  /** The original bytes of stdout, even if they are not UTF-8. */
  get stdoutBytes(): Uint8Array<ArrayBuffer> {
    const { stdout, stdoutBase64 } = this as unknown as { stdout: string; stdoutBase64?: string };
    return exactBytes(stdout, stdoutBase64);
  }

  get stderrBytes(): Uint8Array<ArrayBuffer> {
    const { stderr, stderrBase64 } = this as unknown as { stderr: string; stderrBase64?: string };
    return exactBytes(stderr, stderrBase64);
  }

  /** Whether it ended by itself with status 0. */
  get ok(): boolean {
    return (this as unknown as Ended).exitCode === 0;
  }

  /** Throws an ExecutionError if it failed. Returns itself. */
  raiseForError(): this {
    const ended = this as unknown as Ended & { error?: RunError | null };
    const error = ended.error ?? null;
    if (ended.exitCode !== 0 || error !== null) {
      throw new ExecutionError(messageOf(ended, error), ended.exitCode, error, ended.stderr);
    }
    return this;
  }
}

abstract class CodeOutcome extends Outcome {
  /** The value of the last expression if it is plain data; else undefined. */
  get value(): unknown {
    return this.shown("application/json");
  }

  /** The value of the last expression as text; null if there is none. */
  get text(): string | null {
    const text = this.shown("text/plain");
    return typeof text === "string" ? text : null;
  }

  /** All displayed PNG images in order; that of the last expression is the last. Invalid base64 is left out. */
  get figures(): Uint8Array<ArrayBuffer>[] {
    const { result, results } = this as unknown as { result: Mime | null; results: Mime[] };
    return [...results, ...(result === null ? [] : [result])].flatMap((shown) => pngOf(shown["image/png"]));
  }

  private shown(type: string): unknown {
    const { result } = this as unknown as { result: Mime | null };
    return result !== null && Object.hasOwn(result, type) ? result[type] : undefined;
  }
}

/** Written by the guest: it may be anything. */
function pngOf(base64: unknown): Uint8Array<ArrayBuffer>[] {
  try {
    return typeof base64 === "string" ? [fromBase64(base64)] : [];
  } catch {
    return [];
  }
}

/** Copies the fields of a response to the result, except those that would replace its methods or prototype. */
export function takeFields(result: object, answer: object): void {
  for (const [name, value] of Object.entries(answer)) {
    if (!(name in result)) Object.defineProperty(result, name, { value, writable: true, enumerable: true, configurable: true });
  }
}

// The interface of the same name has the fields of the contract.
export interface RunResult extends Camel<Schemas["RunAnswer"]> {}
/** The result of `run`. Failed code throws nothing: see `exitCode`, `error` and `raiseForError()`. */
export class RunResult extends CodeOutcome {
  constructor(answer: Camel<Schemas["RunAnswer"]>) {
    super();
    takeFields(this, answer);
  }

  /** A returned file by its path, absolute or relative to /home/user; undefined if it was not returned. */
  file(path: string): OutputFile | undefined {
    const found = this.files.find((file) => belowHome(file.path) === belowHome(path));
    if (found === undefined) return undefined;
    const bytes = exactBytes(found.content ?? "", found.contentBase64);
    return { path: found.path, size: found.size, bytes, text: toText(bytes) };
  }
}

export interface OutputFile {
  path: string;
  size: number;
  bytes: Uint8Array<ArrayBuffer>;
  text: string;
}

function belowHome(path: string): string {
  return path.replace(/^(\/home\/user\/|\.\/)/, "");
}

export interface CodeResult extends Camel<Schemas["CodeAnswer"]> {}
/** The result of code in a context. */
export class CodeResult extends CodeOutcome {
  constructor(answer: Camel<Schemas["CodeAnswer"]>) {
    super();
    takeFields(this, answer);
  }
}

type ExecAnswer = Camel<Schemas["ExecAnswer"]>;
/** A streamed command has no metrics. */
export type ExecFields = Omit<ExecAnswer, "metrics"> & { metrics: ExecAnswer["metrics"] | null };
export interface ExecResult extends ExecFields {}
/** The result of a command. */
export class ExecResult extends Outcome {
  constructor(answer: ExecFields) {
    super();
    takeFields(this, answer);
  }
}

function messageOf(ended: Ended, error: RunError | null): string {
  if (error !== null) return error.name === undefined ? error.message : `${error.name}: ${error.message}`;
  if (ended.timedOut) return "the time limit was reached";
  if (ended.oomKilled) return "the memory limit was reached";
  if (ended.signal !== null) return `terminated by signal ${ended.signal}`;
  return `exited with status ${ended.exitCode}`;
}
