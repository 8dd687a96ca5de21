// Streamed runs: calls the handlers while code runs, and assembles the result.

import { checked, type Shape } from "./responses.js";
import type { Ask, Connection } from "./connection.js";
import { type BuildCallbacks, buildProgress } from "./dependencies.js";
import { GloveboxError, refusalOf } from "./errors.js";
import { jsonLines } from "./lines.js";
import { OutputCollector, pieceOf } from "./output.js";
import { type Camel, camelize, type Mime, type RunError } from "./wire.js";

/** A returned promise is awaited; an exception ends the call and is rethrown. */
export interface LiveCallbacks {
  /** Called with each piece of output. */
  onStdout?: (text: string) => void;
  onStderr?: (text: string) => void;
  /** Called with each displayed result; `main`: the value of the last expression. */
  onResult?: (mime: Mime, main: boolean) => void;
  onError?: (error: RunError) => void;
}

// The server truncates at output_kb, at most 16 MB; this guards against one that does not.
const MOST_OUTPUT = 32 * 1024 * 1024;

export function isLive(callbacks: LiveCallbacks & BuildCallbacks): boolean {
  const { onStdout, onStderr, onResult, onError, onBuild } = callbacks;
  return [onStdout, onStderr, onResult, onError, onBuild].some((callback) => callback !== undefined);
}

/** The same response that a request without streaming returns. */
export async function follow<Answer>(
  connection: Connection,
  path: string,
  shape: Shape<Answer>,
  ask: Ask,
  callbacks: LiveCallbacks & BuildCallbacks,
): Promise<Camel<Answer>> {
  const answer = await connection.stream("POST", path, { ...ask, accept: "application/x-ndjson", isBounded: true });
  const kept = new OutputCollector(MOST_OUTPUT);
  let exit: Record<string, unknown> | null = null;
  for await (const event of jsonLines(answer.body)) {
    switch (event.event) {
      case "stdout":
      case "stderr": {
        const piece = pieceOf(event.text, event.base64);
        kept.add(event.event, piece.bytes);
        await (event.event === "stdout" ? callbacks.onStdout : callbacks.onStderr)?.(piece.text);
        break;
      }
      case "result":
        await callbacks.onResult?.(event.mime as Mime, event.main === true);
        break;
      case "error":
        if (exit === null) await tell(event, callbacks);
        break;
      case "build":
        await callbacks.onBuild?.(buildProgress(event));
        break;
      case "exit":
        exit = event;
        break;
      default: // an event of a newer server
    }
  }
  if (exit === null) throw new GloveboxError("the stream ended before the run ended");
  const { event: _, ...fields } = exit;
  const output = kept.fields();
  const whole = checked({ ...fields, stdout: output.stdout, stderr: output.stderr }, shape);
  return { ...camelize(whole), ...output };
}

const OF_THE_CODE = new Set(["exception", "timed_out", "cpu_exceeded", "oom_killed", "killed", "cancelled", "context_died"]);

/** An error of the code goes to the handler; an error of the platform ends the call. */
async function tell(event: Record<string, unknown>, callbacks: LiveCallbacks): Promise<void> {
  const { event: _, ...error } = event;
  if (typeof error.code === "string" && OF_THE_CODE.has(error.code)) {
    await callbacks.onError?.(camelize(error) as unknown as RunError);
  } else {
    throw refusalOf(error);
  }
}
