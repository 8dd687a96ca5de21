// What Node has and a browser has not. `node.ts` is the one that is built in; bundlers for browsers put
// `browser.ts` in its place (the field "browser" of package.json), so nothing of Node is in a bundle.

import type { Transport } from "../transport.js";

/** Where a server is, and the key for it. */
export interface Place {
  url: string;
  apiKey: string;
  /** How it was found, for messages. */
  origin: string;
  /** Of a private one: it has ended, and another is to be started. */
  isGone?: () => boolean;
}

export interface Platform {
  readonly name: "node" | "browser";
  environment(name: string): string | undefined;
  /** A server of this machine that runs, or a private one that is started for this process. */
  findServer(): Promise<Place>;
  /** The key of this machine's own server, if that is what the URL names. */
  keyFor(url: string): Promise<string | null>;
  /** Ends the private server of this process, if there is one. */
  stopPrivateServer(): Promise<void>;
  transport(): Promise<Transport>;
  /** The path without links and dots: what a mount of a private server wants. */
  realPath(path: string): Promise<string>;
  readLocal(path: string): Promise<AsyncIterable<Uint8Array>>;
  writeLocal(path: string, pieces: AsyncIterable<Uint8Array>): Promise<void>;
}
