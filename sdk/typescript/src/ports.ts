// URLs of ports inside a sandbox.

import { GloveboxError } from "./errors.js";

/**
 * A subdomain of the server's name (PORT-ID.localhost on this machine), which needs no key. A server that is
 * addressed by IP has no subdomains: there it is a path, which needs the key.
 */
export function portUrl(server: string, sandbox: string, port: number): string {
  if (!Number.isInteger(port) || port < 1 || port > 65535) throw new GloveboxError(`${port} is not a valid port`);
  const url = new URL(server);
  const host = isLoopback(url.hostname) ? "localhost" : url.hostname;
  if (/^[\d.]+$|^\[/.test(host)) return `${url.origin}/v1/sandboxes/${sandbox}/ports/${port}/`;
  return `${url.protocol}//${port}-${sandbox}.${host}${url.port === "" ? "" : `:${url.port}`}/`;
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127(\.\d{1,3}){3}$/.test(host);
}
