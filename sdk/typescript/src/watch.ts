// Events of file changes.

import type { Ask, Connection } from "./connection.js";
import { ApiError, GloveboxError } from "./errors.js";
import { parseObject, serverEvents, type ServerEvent } from "./lines.js";
import { withTimeout } from "./timeouts.js";

export interface FileEvent {
  /** overflow: events were lost. */
  type: "created" | "written" | "removed" | "renamed" | "attribute" | "overflow";
  path: string;
  directory: boolean;
  /** For a rename. */
  to?: string;
}

/** Iterate over it; `close()` or leaving the loop ends it. */
export class Watch implements AsyncIterable<FileEvent> {
  constructor(
    private readonly events: AsyncGenerator<ServerEvent>,
    private readonly stop: AbortController,
  ) {}

  async *[Symbol.asyncIterator](): AsyncGenerator<FileEvent> {
    try {
      for (;;) {
        const { done, value } = await this.events.next();
        if (done) return;
        const { type: _, ...said } = parseObject(value.data);
        if (value.event === "error") throw platformError(said);
        yield { path: "", directory: false, ...said, type: value.event as FileEvent["type"] };
      }
    } catch (error) {
      if (!this.stop.signal.aborted) throw error;
    } finally {
      this.close();
    }
  }

  close(): void {
    this.stop.abort(new GloveboxError("the watch is closed"));
  }
}

/** Reports every change after it has returned. */
export async function openWatch(connection: Connection, path: string, ask: Ask): Promise<Watch> {
  const stop = new AbortController();
  const signal = ask.signal === undefined ? stop.signal : AbortSignal.any([ask.signal, stop.signal]);
  const answer = await connection.stream("GET", path, { ...ask, signal, accept: "text/event-stream" });
  const events = serverEvents(answer.body);
  const first = await withTimeout(events.next(), { signal, timeoutMs: ask.requestTimeoutMs ?? connection.patienceMs }).catch(
    (error: unknown) => {
      stop.abort(error);
      throw error;
    },
  );
  if (first.done || first.value.event !== "ready") {
    stop.abort();
    if (!first.done && first.value.event === "error") throw platformError(parseObject(first.value.data));
    throw new GloveboxError("unexpected response: the server did not start the watch");
  }
  return new Watch(events, stop);
}

function platformError(said: Record<string, unknown>): ApiError {
  return new ApiError(200, String(said.code), String(said.message));
}
