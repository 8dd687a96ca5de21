// Splits streams of the server into JSON lines and server-sent events.

import { ProtocolError } from "./errors.js";

const LARGEST_LINE = 64 * 1024 * 1024;

/** Lines without line ends. Text after the last line end is a line too, unless it is empty. */
export async function* linesOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let parts: string[] = [];
  let size = 0;
  for await (const piece of pieces) {
    const text = decoder.decode(piece, { stream: true });
    let start = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", start)) {
      parts.push(text.slice(start, end));
      yield parts.join("").replace(/\r$/, "");
      parts = [];
      size = 0;
      start = end + 1;
    }
    if (start < text.length) {
      parts.push(text.slice(start));
      size += text.length - start;
      if (size > LARGEST_LINE) throw new ProtocolError("the server sent a line that is too long");
    }
  }
  const rest = parts.join("") + decoder.decode();
  if (rest !== "") yield rest;
}

/** The objects of a stream of JSON lines. */
export async function* jsonLines(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Record<string, unknown>> {
  for await (const line of linesOf(pieces)) {
    if (line !== "") yield parseObject(line);
  }
}

export interface ServerEvent {
  /** Resume position in the stream; null if it has none. */
  id: string | null;
  event: string;
  data: string;
}

/** Server-sent events; comments and `retry` are ignored. */
export async function* serverEvents(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent> {
  let id: string | null = null;
  let event = "message";
  let data: string[] = [];
  let size = 0;
  for await (const line of linesOf(pieces)) {
    if (line === "") {
      if (data.length > 0) yield { id, event, data: data.join("\n") };
      event = "message";
      data = [];
      size = 0;
      continue;
    }
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "id") id = value;
    else if (name === "event") event = value;
    else if (name === "data") {
      data.push(value);
      size += value.length + 1;
      if (size > LARGEST_LINE) throw new ProtocolError("the server sent an event that is too long");
    }
  }
}

export function parseObject(text: string): Record<string, unknown> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new ProtocolError("the server sent something that is not JSON");
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
    throw new ProtocolError("the server sent something that is not a JSON object");
  }
  return parsed as Record<string, unknown>;
}
