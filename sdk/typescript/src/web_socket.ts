// Adapts a browser's WebSocket to an interface that pulls messages. It has no flow control, so unread
// messages are buffered here, up to a limit: a guest must not fill the reader's memory.

import type { MessageSocket, SocketRequest } from "./transport.js";
import { TransportFailure } from "./transport.js";

/** Like the global WebSocket of browsers and Node 22. */
export type WebSocketConstructor = new (url: string, protocols?: string[]) => WebSocket;

const MOST_KEPT = 64 * 1024 * 1024;
const NORMAL_CLOSURE = 1000;

export function openWebSocket(make: WebSocketConstructor, request: SocketRequest): Promise<MessageSocket> {
  return new Promise((resolve, reject) => {
    const raw = new make(request.url, request.protocols);
    raw.binaryType = "arraybuffer";
    const abort = () => {
      raw.onclose = null;
      raw.close();
      reject(request.signal.reason);
    };
    if (request.signal.aborted) return abort();
    request.signal.addEventListener("abort", abort, { once: true });
    raw.onerror = () => undefined; // a close follows
    raw.onclose = () => {
      request.signal.removeEventListener("abort", abort);
      reject(new TransportFailure("lost", "the server did not accept the WebSocket"));
    };
    raw.onopen = () => {
      request.signal.removeEventListener("abort", abort);
      resolve(new OpenSocket(raw));
    };
  });
}

interface Waiting {
  resolve(message: string | null): void;
  reject(error: unknown): void;
}

class OpenSocket implements MessageSocket {
  private readonly kept: string[] = [];
  private size = 0;
  private ended: { error: Error | null } | null = null;
  private readonly waiting: Waiting[] = [];

  // Truly private: its URL may contain a key.
  readonly #raw: WebSocket;

  constructor(raw: WebSocket) {
    this.#raw = raw;
    raw.onmessage = (event: MessageEvent<unknown>) => this.take(event.data);
    raw.onclose = ({ code }) =>
      this.end(code === NORMAL_CLOSURE ? null : new TransportFailure("lost", `the WebSocket was closed with code ${code}`));
  }

  async send(text: string): Promise<void> {
    if (this.ended !== null) throw new TransportFailure("lost", "the WebSocket is closed");
    this.#raw.send(text);
  }

  receive(): Promise<string | null> {
    const next = this.kept.shift();
    if (next !== undefined) {
      this.size -= next.length;
      return Promise.resolve(next);
    }
    if (this.ended !== null) {
      return this.ended.error === null ? Promise.resolve(null) : Promise.reject(this.ended.error);
    }
    return new Promise((resolve, reject) => this.waiting.push({ resolve, reject }));
  }

  close(): void {
    this.#raw.close();
    this.end(null);
  }

  private take(data: unknown): void {
    if (typeof data !== "string" || this.ended !== null) return;
    const waiting = this.waiting.shift();
    if (waiting !== undefined) return waiting.resolve(data);
    this.kept.push(data);
    this.size += data.length;
    if (this.size > MOST_KEPT) {
      this.#raw.close();
      this.end(new TransportFailure("lost", "64 MB of output are unread; read faster"));
    }
  }

  private end(error: Error | null): void {
    this.ended ??= { error };
    for (const waiting of this.waiting.splice(0)) {
      if (error === null) waiting.resolve(null);
      else waiting.reject(error);
    }
  }
}
