// A WebSocket client on Node's HTTP module, for text messages. Node 20 has none, and the global one of later
// versions has no flow control. Here unread data stays in the socket, so that a slow reader slows the
// program down.

import { createHash, randomBytes } from "node:crypto";
import * as http from "node:http";
import * as https from "node:https";
import type { Duplex } from "node:stream";

import type { MessageSocket, SocketRequest } from "../transport.js";
import { TransportFailure, UpgradeRefused } from "../transport.js";
import { failureOf } from "./node_transport.js";
import { FrameReader, frameOf, Opcode } from "./websocket_frames.js";

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
// How much may be buffered before reading pauses.
const HIGH_WATER = 1024 * 1024;
const LARGEST_REFUSAL = 64 * 1024;

export function openNodeSocket(request: SocketRequest): Promise<MessageSocket> {
  const url = request.url.replace(/^ws/, "http");
  const nonce = randomBytes(16).toString("base64");
  return new Promise((resolve, reject) => {
    const sent = (url.startsWith("https:") ? https : http).request(url, {
      signal: request.signal,
      agent: false,
      headers: {
        Connection: "Upgrade",
        Upgrade: "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": nonce,
        "Sec-WebSocket-Protocol": request.protocols.join(", "),
      },
    });
    sent.on("error", (error) => reject(request.signal.aborted ? request.signal.reason : failureOf(error)));
    sent.on("close", () => reject(new TransportFailure("lost", "the connection was closed")));
    sent.on("response", (response) => {
      readRefusal(response).then(
        (body) => reject(new UpgradeRefused(response.statusCode ?? 0, body)),
        (error: Error) => reject(failureOf(error)),
      );
    });
    sent.on("upgrade", (response, stream, head) => {
      const expected = createHash("sha1").update(nonce + GUID).digest("base64");
      if (response.headers["sec-websocket-accept"] !== expected) {
        stream.destroy();
        return reject(new TransportFailure("lost", "the other side is not a WebSocket server"));
      }
      resolve(new NodeSocket(stream, head));
    });
    sent.end();
  });
}

async function readRefusal(response: http.IncomingMessage): Promise<string> {
  let text = "";
  response.setEncoding("utf8");
  for await (const piece of response) {
    text += String(piece);
    if (text.length > LARGEST_REFUSAL) break;
  }
  return text;
}

interface Waiting {
  resolve(message: string | null): void;
  reject(error: unknown): void;
}

class NodeSocket implements MessageSocket {
  private readonly frames = new FrameReader();
  private readonly kept: string[] = [];
  private readonly waiting: Waiting[] = [];
  private size = 0;
  private ended: { error: Error | null } | null = null;

  // Truly private: its request contains the key.
  readonly #stream: Duplex;

  constructor(stream: Duplex, head: Buffer) {
    this.#stream = stream;
    stream.on("data", (piece: Buffer) => this.take(piece));
    stream.on("error", (error) => this.end(failureOf(error)));
    stream.on("close", () => this.end(new TransportFailure("lost", "the connection was lost")));
    stream.on("end", () => stream.destroy());
    if (head.length > 0) this.take(head);
  }

  send(text: string): Promise<void> {
    return this.write(frameOf(Opcode.text, Buffer.from(text)));
  }

  receive(): Promise<string | null> {
    const next = this.kept.shift();
    if (next !== undefined) {
      this.size -= next.length;
      if (this.size <= HIGH_WATER) this.#stream.resume();
      return Promise.resolve(next);
    }
    if (this.ended !== null) {
      return this.ended.error === null ? Promise.resolve(null) : Promise.reject(this.ended.error);
    }
    return new Promise((resolve, reject) => this.waiting.push({ resolve, reject }));
  }

  close(): void {
    if (this.ended !== null) return;
    this.#stream.end(frameOf(Opcode.close, Buffer.from([0x03, 0xe8])));
    this.#stream.resume();
    this.end(null);
  }

  private write(frame: Buffer): Promise<void> {
    if (this.ended !== null) return Promise.reject(new TransportFailure("lost", "the connection is closed"));
    return new Promise((resolve, reject) => {
      this.#stream.write(frame, (error) => (error ? reject(failureOf(error)) : resolve()));
    });
  }

  private take(piece: Buffer): void {
    if (this.ended !== null) return;
    try {
      for (const { opcode, payload } of this.frames.read(piece)) this.handle(opcode, payload);
    } catch (error) {
      this.end(new TransportFailure("lost", error instanceof Error ? error.message : String(error)));
      this.#stream.destroy();
    }
  }

  private handle(opcode: number, payload: Buffer): void {
    if (opcode === Opcode.ping) {
      this.write(frameOf(Opcode.pong, payload)).catch(() => undefined);
    } else if (opcode === Opcode.close) {
      const code = payload.length >= 2 ? payload.readUInt16BE(0) : 1000;
      this.#stream.end(frameOf(Opcode.close, payload.subarray(0, 2)));
      this.end(code === 1000 ? null : new TransportFailure("lost", `the server closed the WebSocket with code ${code}`));
    } else if (opcode === Opcode.text) {
      this.deliver(payload.toString("utf8"));
    }
  }

  private deliver(message: string): void {
    const waiting = this.waiting.shift();
    if (waiting !== undefined) return waiting.resolve(message);
    this.kept.push(message);
    this.size += message.length;
    if (this.size > HIGH_WATER) this.#stream.pause();
  }

  private end(error: Error | null): void {
    this.ended ??= { error };
    const how = this.ended.error;
    for (const waiting of this.waiting.splice(0)) {
      if (how === null) waiting.resolve(null);
      else waiting.reject(how);
    }
  }
}
