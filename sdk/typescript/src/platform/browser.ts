// Browsers: fetch, WebSocket, and a server that the page configures.

import { GloveboxError } from "../errors.js";
import { FetchTransport } from "../fetch_transport.js";
import type { Platform } from "./platform.js";

function notHere(what: string): Promise<never> {
  return Promise.reject(new GloveboxError(`${what} is not possible in a browser`));
}

export const platform: Platform = {
  name: "browser",
  environment: () => undefined,
  findServer: () =>
    Promise.reject(
      new GloveboxError("in a browser the server must be named: new Client({ url, apiKey }), or configure({ url, apiKey })"),
    ),
  keyFor: () => Promise.resolve(null),
  stopPrivateServer: () => Promise.resolve(),
  transport: () =>
    Promise.resolve(new FetchTransport((url, init) => fetch(url, init), globalThis.WebSocket)),
  realPath: (path) => Promise.resolve(path),
  readLocal: () => notHere("reading a local path"),
  writeLocal: () => notHere("writing a local path"),
};
