// Events of a project. Resumes an interrupted stream where it stopped.

import { callOf, type CallOptions, type Connection } from "./connection.js";
import { ConnectionFailed } from "./errors.js";
import { parseObject, serverEvents } from "./lines.js";
import { camelize } from "./wire.js";

export interface ProjectEvent {
  /** run.started, run.finished, template.changed, lost … */
  type: string;
  /** Pass it as `since` to resume from here. */
  id: string | null;
  data: Record<string, unknown>;
}

export interface EventOptions extends CallOptions {
  /** The id of the last event that was seen; the server keeps the last 512. */
  since?: string;
}

const PAUSE_MS = 500;
const TRIES = 5;

/** Endless: leave the loop or use a signal. */
export async function* projectEvents(connection: Connection, options: EventOptions): AsyncGenerator<ProjectEvent> {
  let last = options.since;
  for (let tries = 0; ; tries += 1) {
    try {
      const headers: Record<string, string> = {};
      if (last !== undefined) headers["Last-Event-ID"] = last;
      const answer = await connection.stream("GET", "/v1/events", { ...callOf(options), headers, accept: "text/event-stream" });
      for await (const { id, event, data } of serverEvents(answer.body)) {
        tries = 0;
        last = id ?? last;
        yield { type: event, id, data: camelize(parseObject(data)) };
      }
    } catch (error) {
      // Retry only after an interruption, not after a refusal.
      if (!(error instanceof ConnectionFailed) || tries >= TRIES) throw error;
    }
    options.signal?.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}
