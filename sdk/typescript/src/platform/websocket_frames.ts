// WebSocket frames (RFC 6455), as a client writes and reads them.

import { randomBytes } from "node:crypto";

export const Opcode = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export interface Message {
  opcode: number;
  payload: Buffer;
}

const LARGEST_MESSAGE = 32 * 1024 * 1024;
const FINAL = 0x80;
const MASKED = 0x80;

/** Encodes a message as one masked frame. */
export function frameOf(opcode: number, payload: Buffer): Buffer {
  const size = payload.length;
  const extra = size < 126 ? 0 : size < 0x10000 ? 2 : 8;
  const frame = Buffer.alloc(2 + extra + 4 + size);
  frame[0] = FINAL | opcode;
  frame[1] = MASKED | (extra === 0 ? size : extra === 2 ? 126 : 127);
  if (extra === 2) frame.writeUInt16BE(size, 2);
  if (extra === 8) frame.writeBigUInt64BE(BigInt(size), 2);
  const mask = randomBytes(4);
  const start = 2 + extra + 4;
  mask.copy(frame, 2 + extra);
  for (let at = 0; at < size; at += 1) frame[start + at] = byteAt(payload, at) ^ byteAt(mask, at & 3);
  return frame;
}

/** Assembles messages from received bytes. Throws on invalid frames. */
export class FrameReader {
  private left: Buffer = Buffer.alloc(0);
  private parts: Buffer[] = [];
  private opcode = 0;
  private size = 0;

  read(piece: Buffer): Message[] {
    this.left = this.left.length === 0 ? piece : Buffer.concat([this.left, piece]);
    const messages: Message[] = [];
    for (;;) {
      const frame = this.take();
      if (frame === null) return messages;
      const message = this.join(frame);
      if (message !== null) messages.push(message);
    }
  }

  private take(): { first: number; payload: Buffer } | null {
    const { left } = this;
    if (left.length < 2) return null;
    const first = byteAt(left, 0);
    const second = byteAt(left, 1);
    if ((first & 0x70) !== 0 || (second & MASKED) !== 0) throw new Error("invalid WebSocket frame");
    const short = second & 0x7f;
    const start = short < 126 ? 2 : short === 126 ? 4 : 10;
    if (left.length < start) return null;
    const size = short < 126 ? short : short === 126 ? left.readUInt16BE(2) : Number(left.readBigUInt64BE(2));
    if (size > LARGEST_MESSAGE) throw new Error("WebSocket message too large");
    if (left.length < start + size) return null;
    this.left = left.subarray(start + size);
    return { first, payload: left.subarray(start, start + size) };
  }

  private join({ first, payload }: { first: number; payload: Buffer }): Message | null {
    const opcode = first & 0x0f;
    const final = (first & FINAL) !== 0;
    if (opcode >= 8) {
      if (!final || payload.length > 125) throw new Error("WebSocket control frame too long");
      return { opcode, payload };
    }
    if ((opcode === Opcode.continuation) !== this.parts.length > 0) throw new Error("WebSocket frames out of order");
    if (opcode !== Opcode.continuation) this.opcode = opcode;
    this.size += payload.length;
    if (this.size > LARGEST_MESSAGE) throw new Error("WebSocket message too large");
    this.parts.push(payload);
    if (!final) return null;
    const message = { opcode: this.opcode, payload: Buffer.concat(this.parts) };
    this.parts = [];
    this.size = 0;
    return message;
  }
}

function byteAt(bytes: Buffer, at: number): number {
  return bytes[at] ?? 0;
}
