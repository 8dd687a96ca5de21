// What runs, cells and commands came to.

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
  /** stdout as it was printed, also where it is not UTF-8. */
  get stdoutBytes(): Uint8Array<ArrayBuffer> {
    const { stdout, stdoutBase64 } = this as unknown as { stdout: string; stdoutBase64?: string };
    return exactBytes(stdout, stdoutBase64);
  }

  get stderrBytes(): Uint8Array<ArrayBuffer> {
    const { stderr, stderrBase64 } = this as unknown as { stderr: string; stderrBase64?: string };
    return exactBytes(stderr, stderrBase64);
  }

  /** It ended by itself, with status 0. */
  get ok(): boolean {
    return (this as unknown as Ended).exitCode === 0;
  }

  /** Throws an ExecutionError unless it went well. Returns itself. */
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
  /** The value of the last expression as JSON, where it is plain data; else undefined. */
  get value(): unknown {
    return this.shown("application/json");
  }

  /** The value of the last expression as text; null if there is none. */
  get text(): string | null {
    const text = this.shown("text/plain");
    return typeof text === "string" ? text : null;
  }

  /** All that was shown as PNG, in its order; the value of the last expression is the last. What is no base64 is left out. */
  get figures(): Uint8Array<ArrayBuffer>[] {
    const { result, results } = this as unknown as { result: Mime | null; results: Mime[] };
    return [...results, ...(result === null ? [] : [result])].flatMap((shown) => pngOf(shown["image/png"]));
  }

  private shown(type: string): unknown {
    const { result } = this as unknown as { result: Mime | null };
    return result !== null && Object.hasOwn(result, type) ? result[type] : undefined;
  }
}

/** Written by the guest, so it may be anything. */
function pngOf(base64: unknown): Uint8Array<ArrayBuffer>[] {
  try {
    return typeof base64 === "string" ? [fromBase64(base64)] : [];
  } catch {
    return [];
  }
}

/** The fields of an answer become the result's own; none takes the place of what it can do, or its prototype's. */
export function takeFields(result: object, answer: object): void {
  for (const [name, value] of Object.entries(answer)) {
    if (!(name in result)) Object.defineProperty(result, name, { value, writable: true, enumerable: true, configurable: true });
  }
}

// The fields come from the contract: the interface of the same name has them.
export interface RunResult extends Camel<Schemas["RunAnswer"]> {}
/** What `run` came to. Code that failed is no exception: see `exitCode`, `error`, `raiseForError()`. */
export class RunResult extends CodeOutcome {
  constructor(answer: Camel<Schemas["RunAnswer"]>) {
    super();
    takeFields(this, answer);
  }

  /** A file that came back, by its path, which may be relative to /home/user; undefined if it did not. */
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
/** What a cell of code in a context came to. */
export class CodeResult extends CodeOutcome {
  constructor(answer: Camel<Schemas["CodeAnswer"]>) {
    super();
    takeFields(this, answer);
  }
}

type ExecAnswer = Camel<Schemas["ExecAnswer"]>;
/** Of a command that was followed live nobody measured the time it used. */
export type ExecFields = Omit<ExecAnswer, "metrics"> & { metrics: ExecAnswer["metrics"] | null };
export interface ExecResult extends ExecFields {}
/** What a command came to. */
export class ExecResult extends Outcome {
  constructor(answer: ExecFields) {
    super();
    takeFields(this, answer);
  }
}

function messageOf(ended: Ended, error: RunError | null): string {
  if (error !== null) return error.name === undefined ? error.message : `${error.name}: ${error.message}`;
  if (ended.timedOut) return "its time ran out";
  if (ended.oomKilled) return "it needed more memory than it may use";
  if (ended.signal !== null) return `it was ended by signal ${ended.signal}`;
  return `it ended with status ${ended.exitCode}`;
}
