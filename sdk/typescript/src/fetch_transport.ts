// Requests with fetch and WebSocket: in browsers, and wherever the caller provides them.

import { piecesOf, readBytes } from "./bytes.js";
import type { MessageSocket, SocketRequest, Transport, WireAnswer, WireBody, WireRequest } from "./transport.js";
import { TransportFailure } from "./transport.js";
import { openWebSocket, type WebSocketConstructor } from "./web_socket.js";

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export class FetchTransport implements Transport {
  constructor(
    private readonly fetch: Fetch,
    private readonly webSocket: WebSocketConstructor | undefined,
  ) {}

  async send(request: WireRequest): Promise<WireAnswer> {
    const init: RequestInit = {
      method: request.method,
      headers: request.headers,
      signal: request.signal,
      // The key is a header: no cookies are sent, and no redirect may forward it.
      credentials: "omit",
      redirect: "error",
      cache: "no-store",
    };
    if (request.body !== undefined) init.body = await bodyFor(request.body);
    // Not called as a method: a browser's fetch requires its own `this`.
    const { fetch } = this;
    let response: Response;
    try {
      response = await fetch(request.url, init);
    } catch (error) {
      if (request.signal.aborted) throw error;
      throw failureOf(error);
    }
    const body = response.body;
    return {
      status: response.status,
      header: (name) => response.headers.get(name),
      body: body === null ? nothing() : readBody(body, request.signal),
    };
  }

  async openSocket(request: SocketRequest): Promise<MessageSocket> {
    if (this.webSocket === undefined) {
      throw new TransportFailure("refused", "this environment has no WebSocket; provide one with the option `webSocket`");
    }
    return openWebSocket(this.webSocket, request);
  }

  close(): void {
    // The browser manages its connections.
  }
}

// Browsers can only stream a body over HTTP/2, so pieces are joined first.
async function bodyFor(body: WireBody): Promise<BodyInit> {
  if (typeof body === "string" || body instanceof Uint8Array || body instanceof Blob) return body;
  return readBytes(body);
}

async function* readBody(body: ReadableStream<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    yield* piecesOf(body);
  } catch (error) {
    if (signal.aborted) throw error;
    throw new TransportFailure("lost", messageOf(error));
  }
}

async function* nothing(): AsyncGenerator<Uint8Array> {
  // No body.
}

function failureOf(error: unknown): TransportFailure {
  const cause = error instanceof Error ? error.cause : undefined;
  const code = typeof cause === "object" && cause !== null && "code" in cause ? cause.code : undefined;
  const refused = code === "ECONNREFUSED" || code === "ENOTFOUND" || code === "EHOSTUNREACH";
  return new TransportFailure(refused ? "refused" : "lost", messageOf(cause instanceof Error ? cause : error));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
