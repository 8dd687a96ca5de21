// Bytes, text and base64, with what Node and browsers both have.

import { ProtocolError } from "./errors.js";

const CHUNK = 0x8000;

export function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += CHUNK) {
    binary += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  }
  return btoa(binary);
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  let binary: string;
  try {
    binary = atob(text);
  } catch {
    throw new ProtocolError("invalid base64");
  }
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

export function toBytes(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

export function toText(bytes: Uint8Array): string {
  // Keep a byte order mark: it is part of the output.
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

export function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export async function readBytes(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  for await (const part of pieces) parts.push(part);
  return concat(parts);
}

export async function readText(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  return toText(await readBytes(pieces));
}

/** Passes the pieces on, and throws the error after `limit` bytes. */
export async function* bounded(
  pieces: AsyncIterable<Uint8Array>,
  limit: number,
  tooMuch: () => Error,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const part of pieces) {
    size += part.length;
    if (!(size <= limit)) throw tooMuch();
    yield part;
  }
}

/** The first bytes as text; does not read the rest. */
export async function readStart(pieces: AsyncIterable<Uint8Array>, limit: number): Promise<string> {
  const parts: Uint8Array[] = [];
  let left = limit;
  for await (const part of pieces) {
    parts.push(part.subarray(0, left));
    left -= part.length;
    if (left <= 0) break;
  }
  return toText(concat(parts));
}

export function isAsyncIterable(value: unknown): value is AsyncIterable<Uint8Array> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/** Iterates over a stream; leaving the loop cancels the rest and releases the reader. */
export async function* piecesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  let ended = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) {
        ended = true;
        return;
      }
      yield value;
    }
  } finally {
    if (!ended) await reader.cancel().catch(() => undefined);
    reader.releaseLock();
  }
}

/** A stream that reads from the pieces on demand. */
export function streamOf(pieces: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = pieces[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await iterator.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await iterator.return?.();
    },
  });
}
