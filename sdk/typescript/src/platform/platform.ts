// What differs between Node and browsers. `node.ts` is the default; bundlers for browsers replace it with
// `browser.ts` (the field "browser" of package.json), so that a bundle contains no Node modules.

import type { Transport } from "../transport.js";

/** The address of a server and its key. */
export interface ServerLocation {
  url: string;
  apiKey: string;
  /** Where the address came from, for messages. */
  origin: string;
  /** For a private server: it has ended and must be restarted. */
  isGone?: () => boolean;
}

export interface Platform {
  readonly name: "node" | "browser";
  environment(name: string): string | undefined;
  /** A running server of this machine, or a private one that is started for this process. */
  findServer(): Promise<ServerLocation>;
  /** The key of this machine's server, if the URL is its own. */
  keyFor(url: string): Promise<string | null>;
  /** Stops the private server of this process, if there is one. */
  stopPrivateServer(): Promise<void>;
  transport(): Promise<Transport>;
  /** Resolves links and dots, as a mount of a private server requires. */
  realPath(path: string): Promise<string>;
  readLocal(path: string): Promise<AsyncIterable<Uint8Array>>;
  writeLocal(path: string, pieces: AsyncIterable<Uint8Array>): Promise<void>;
}
