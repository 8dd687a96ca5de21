// Assembles output from pieces that are text, or bytes if they are not UTF-8.

import { concat, fromBase64, toBase64, toBytes, toText } from "./bytes.js";

export interface Piece {
  text: string;
  bytes: Uint8Array;
}

export function pieceOf(text: unknown, base64: unknown): Piece {
  if (typeof base64 === "string") {
    const bytes = fromBase64(base64);
    return { text: toText(bytes), bytes };
  }
  const said = typeof text === "string" ? text : "";
  return { text: said, bytes: toBytes(said) };
}

export interface OutputFields {
  stdout: string;
  stderr: string;
  /** The bytes, if they are not UTF-8. */
  stdoutBase64?: string;
  stderrBase64?: string;
}

/** Keeps the first `limit` bytes of both streams together. */
export class OutputCollector {
  truncated = false;
  private left: number;
  private readonly kept = { stdout: [] as Uint8Array[], stderr: [] as Uint8Array[] };

  constructor(limit: number) {
    this.left = limit;
  }

  add(stream: "stdout" | "stderr", bytes: Uint8Array): void {
    const part = bytes.length <= this.left ? bytes : bytes.subarray(0, this.left);
    if (part.length < bytes.length) this.truncated = true;
    if (part.length > 0) this.kept[stream].push(part);
    this.left -= part.length;
  }

  /** As fields of a response. */
  fields(): OutputFields {
    const [stdout, stdoutBase64] = this.field("stdout");
    const [stderr, stderrBase64] = this.field("stderr");
    return {
      stdout,
      stderr,
      ...(stdoutBase64 === null ? {} : { stdoutBase64 }),
      ...(stderrBase64 === null ? {} : { stderrBase64 }),
    };
  }

  private field(stream: "stdout" | "stderr"): [text: string, base64: string | null] {
    const bytes = concat(this.kept[stream]);
    try {
      return [new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes), null];
    } catch {
      return [toText(bytes), toBase64(bytes)];
    }
  }
}

/** The original bytes of a stream; in its text, invalid UTF-8 is replaced. */
export function exactBytes(text: string, base64: string | undefined): Uint8Array<ArrayBuffer> {
  return typeof base64 === "string" ? fromBase64(base64) : toBytes(text);
}
