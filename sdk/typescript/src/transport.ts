// How requests get to a server: by fetch, or by Node's own HTTP (platform/). Above this line nobody
// knows which.

export type WireBody = string | Uint8Array<ArrayBuffer> | Blob | AsyncIterable<Uint8Array>;

export interface WireRequest {
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: WireBody;
  /** Ends it, before the answer or while its body is read. */
  signal: AbortSignal;
}

export interface WireAnswer {
  status: number;
  header(name: string): string | null;
  /** To be read once, to its end or left with `break`. */
  body: AsyncIterable<Uint8Array>;
}

/** Text messages both ways. */
export interface MessageSocket {
  send(text: string): Promise<void>;
  /** The next message; null when the other side has closed. */
  receive(): Promise<string | null>;
  close(): void;
}

export interface SocketRequest {
  url: string;
  protocols: string[];
  signal: AbortSignal;
}

export interface Transport {
  send(request: WireRequest): Promise<WireAnswer>;
  openSocket(request: SocketRequest): Promise<MessageSocket>;
  /** Gives up connections that are kept for later. */
  close(): void;
}

export type FailureKind =
  /** There was no connection, so nothing was sent. */
  | "refused"
  /** It was lost, or the other side does not speak HTTP. */
  | "lost";

/** What a transport throws; the layer above makes it an error for people. */
export class TransportFailure extends Error {
  constructor(
    readonly kind: FailureKind,
    message: string,
  ) {
    super(message);
  }
}

/** A WebSocket that was answered with something else. */
export class UpgradeRefused extends Error {
  constructor(
    readonly status: number,
    readonly body: string,
  ) {
    super(`status ${status}`);
  }
}
