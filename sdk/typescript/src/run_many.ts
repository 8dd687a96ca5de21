// One run done with many inputs, in one request: POST /v1/run/batch.

import { callOf, type Connection } from "./connection.js";
import { withBuild } from "./dependencies.js";
import { type ApiError, GloveboxError, ProtocolError, refusalOf } from "./errors.js";
import { jsonLines } from "./lines.js";
import { checked, RUN } from "./responses.js";
import { RunResult } from "./results.js";
import { requestOf, type RunOptions, stdinOf } from "./run.js";
import { camelize, compact, type Schemas } from "./wire.js";

export interface RunInput {
  /** Arguments of the code. */
  args?: readonly string[];
  stdin?: string | Uint8Array;
}

type Own = "args" | "stdin" | "idempotencyKey" | "onStdout" | "onStderr" | "onResult" | "onError" | "onBuild";

export interface RunManyOptions extends Omit<RunOptions, Own> {
  /** How many run at a time, 1 to 64; default 4. */
  parallel?: number;
}

/** What came of one input: its result, or why the server did not run it to its end. */
export type RunOfMany = { index: number; result: RunResult; error?: undefined } | { index: number; result?: undefined; error: ApiError };

/** In the order in which the runs end. Ending the iteration early ends those in progress. */
export async function* runManyOn(
  connection: Connection,
  code: string | undefined,
  inputs: readonly RunInput[],
  options: RunManyOptions,
): AsyncGenerator<RunOfMany> {
  if (inputs.length === 0) return;
  const json: Schemas["BatchRequest"] = {
    ...(await requestOf(code, options)),
    parallel: options.parallel,
    inputs: inputs.map(({ args, stdin }) => compact({ args: args && [...args], ...stdinOf(stdin) })),
  };
  const rounds = Math.ceil(inputs.length / (options.parallel ?? 1));
  const answer = await connection.stream("POST", "/v1/run/batch", {
    ...callOf(options),
    json: compact(json),
    accept: "application/x-ndjson",
    runsForMs: withBuild((options.timeoutMs ?? 0) * rounds, json.profile),
  });
  let left = inputs.length;
  for await (const line of jsonLines(answer.body)) {
    const { index, status, ...fields } = line;
    if (typeof index !== "number" || typeof status !== "number") {
      throw new ProtocolError("unexpected response: a line of a batch without its index; is it a Glovebox server?");
    }
    left -= 1;
    if (status === 200) yield { index, result: new RunResult(camelize(checked(fields, RUN))) };
    else yield { index, error: refusalOf({ ...(fields.error as Record<string, unknown> | undefined), status }) };
  }
  if (left > 0) throw new GloveboxError("the stream ended before all runs had ended");
}
