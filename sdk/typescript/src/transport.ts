// How requests reach a server: with fetch, or with Node's HTTP (platform/). The code above this interface
// does not depend on which.

export type WireBody = string | Uint8Array<ArrayBuffer> | Blob | AsyncIterable<Uint8Array>;

export interface WireRequest {
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: WireBody;
  /** Aborts it, before the response or while its body is read. */
  signal: AbortSignal;
}

export interface WireAnswer {
  status: number;
  header(name: string): string | null;
  /** Can be read once, to its end or until `break`. */
  body: AsyncIterable<Uint8Array>;
}

/** A bidirectional stream of text messages. */
export interface MessageSocket {
  send(text: string): Promise<void>;
  /** The next message; null if the other side has closed. */
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
  /** Closes idle connections. */
  close(): void;
}

export type FailureKind =
  /** No connection, so nothing was sent. */
  | "refused"
  /** The connection was lost, or the other side does not speak HTTP. */
  | "lost";

/** Thrown by a transport; the connection turns it into an error for the caller. */
export class TransportFailure extends Error {
  constructor(
    readonly kind: FailureKind,
    message: string,
  ) {
    super(message);
  }
}

/** The server refused the WebSocket with this response. */
export class UpgradeRefused extends Error {
  constructor(
    readonly status: number,
    readonly body: string,
  ) {
    super(`status ${status}`);
  }
}
