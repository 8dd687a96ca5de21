// Requests with Node's HTTP module. Not with fetch, which times out after five minutes without a response
// (a long command), costs more per call, and has no WebSocket in Node 20.

import * as http from "node:http";
import * as https from "node:https";
import { Readable } from "node:stream";

import type { MessageSocket, SocketRequest, Transport, WireAnswer, WireRequest } from "../transport.js";
import { TransportFailure } from "../transport.js";
import { openNodeSocket } from "./node_socket.js";

// Below the server's idle_timeout (75 s), so that idle connections are not reused after the server closed them.
const KEPT_FOR_MS = 30_000;
// Errors before there was a connection: nothing was sent.
const REFUSED = new Set(["ECONNREFUSED", "ENOTFOUND", "EHOSTUNREACH", "ENETUNREACH", "EAI_AGAIN"]);

export class NodeTransport implements Transport {
  private readonly plain = new http.Agent({ keepAlive: true, timeout: KEPT_FOR_MS, scheduling: "lifo" });
  private readonly secure = new https.Agent({ keepAlive: true, timeout: KEPT_FOR_MS, scheduling: "lifo" });

  send(request: WireRequest): Promise<WireAnswer> {
    return new Promise((resolve, reject) => {
      const sent = this.begin(request.url, request.method, request.headers, request.signal);
      const fail = (error: Error) => reject(request.signal.aborted ? request.signal.reason : failureOf(error));
      sent.on("error", fail);
      sent.on("close", () => fail(new Error("the connection was closed")));
      sent.on("upgrade", (_, socket) => {
        socket.destroy();
        fail(new Error("the server switched protocols without a request to do so"));
      });
      sent.on("response", (response) => {
        resolve({
          status: response.statusCode ?? 0,
          header: (name) => headerOf(response, name),
          body: readBody(response, request.signal),
        });
      });
      sendBody(sent, request, reject);
    });
  }

  openSocket(request: SocketRequest): Promise<MessageSocket> {
    return openNodeSocket(request);
  }

  close(): void {
    this.plain.destroy();
    this.secure.destroy();
  }

  private begin(url: string, method: string, headers: Record<string, string>, signal: AbortSignal) {
    const secure = url.startsWith("https:");
    const agent = secure ? this.secure : this.plain;
    return (secure ? https : http).request(url, { method, headers, agent, signal });
  }
}

/** `fail` reports an error of the caller's own body source. */
function sendBody(sent: http.ClientRequest, request: WireRequest, fail: (error: Error) => void): void {
  const { body } = request;
  if (body === undefined || typeof body === "string" || body instanceof Uint8Array) {
    sent.end(body);
    return;
  }
  const pieces = body instanceof Blob ? Readable.fromWeb(body.stream() as never) : Readable.from(body, { objectMode: false });
  pieces.on("error", (error: Error) => {
    fail(error);
    sent.destroy(error);
  });
  sent.on("close", () => pieces.destroy());
  pieces.pipe(sent);
}

async function* readBody(response: http.IncomingMessage, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    for await (const piece of response) yield piece as Uint8Array;
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw failureOf(error instanceof Error ? error : new Error(String(error)));
  }
}

function headerOf(response: http.IncomingMessage, name: string): string | null {
  const value = response.headers[name.toLowerCase()];
  return typeof value === "string" ? value : (value?.[0] ?? null);
}

export function failureOf(error: Error): TransportFailure {
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  // An AggregateError (several addresses, all refused) has no message of its own.
  const message = error.message === "" ? code : error.message;
  return new TransportFailure(REFUSED.has(code) ? "refused" : "lost", message);
}
