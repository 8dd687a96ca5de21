// Requests to one server: its address, the key, timeouts, retries and errors.

import { checked, type Shape } from "./responses.js";
import { bounded, readBytes, readStart, readText } from "./bytes.js";
import { ConnectionFailed, errorOf, GloveboxError, ProtocolError, TimeoutExpired } from "./errors.js";
import { type Fetch, FetchTransport } from "./fetch_transport.js";
import { parseObject } from "./lines.js";
import { withTimeout } from "./timeouts.js";
import { platform } from "./platform/node.js";
import type { ServerLocation } from "./platform/platform.js";
import type { MessageSocket, Transport, WireAnswer, WireBody, WireRequest } from "./transport.js";
import { TransportFailure, UpgradeRefused } from "./transport.js";
import type { WebSocketConstructor } from "./web_socket.js";

export interface ClientOptions {
  /** Like http://127.0.0.1:7070. Default: GLOVEBOX_URL, else this machine's server, else a private one. */
  url?: string;
  /** Default: GLOVEBOX_API_KEY, or the key of the server that was found. */
  apiKey?: string;
  /** Use another project than the key's own (admin keys only). */
  project?: string;
  /** Timeout of an ordinary request; default 60 s. Calls that run something add their own time. */
  requestTimeoutMs?: number;
  /** Number of retries where they are safe; default 2. */
  retries?: number;
  /** Replaces Node's HTTP or the browser's fetch. */
  fetch?: Fetch;
  /** Replaces the WebSocket of this package or the browser; used together with `fetch`. */
  webSocket?: WebSocketConstructor;
}

/** Options of every call. */
export interface CallOptions {
  /** Aborts the call and what it runs. */
  signal?: AbortSignal;
  /** Timeout of the response; zero: none. */
  requestTimeoutMs?: number;
}

/** Picks the options that every call has. */
export function callOf({ signal, requestTimeoutMs }: CallOptions): CallOptions {
  return { signal, requestTimeoutMs };
}

export interface Query {
  [name: string]: string | number | boolean | undefined;
}

export interface Ask extends CallOptions {
  query?: Query;
  json?: unknown;
  body?: WireBody;
  headers?: Record<string, string>;
  /** The expected media type; default JSON. */
  accept?: string;
  /** A larger body is an error. */
  maxBytes?: number;
  /** The longest time that the call can run; zero: unknown. */
  runsForMs?: number;
  /** For a stream: the timeout applies to all of it, not only to its beginning. */
  isBounded?: boolean;
  /** Repeating it is safe. Reading always is. */
  repeatable?: boolean;
}

const REQUEST_TIMEOUT_MS = 60_000;
// Delays between retries if the server sends no Retry-After.
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 30_000;
const PROTOCOL = "glovebox.v1";
// Limit of a JSON response; the server's own limits are far below.
const LARGEST_ANSWER = 256 * 1024 * 1024;
// Limit of an error response.
const LARGEST_REFUSAL = 1024 * 1024;

export class Connection {
  // Truly private, so that printing or serializing a client does not reveal the key.
  readonly #options: ClientOptions;
  #transport: Promise<Transport> | null = null;
  #location: Promise<ServerLocation> | null = null;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** Timeout of an ordinary response; zero: none. */
  get patienceMs(): number {
    return this.#options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS;
  }

  /** The server's location; found, or the server started, at the first use. */
  async where(): Promise<ServerLocation> {
    try {
      const known = await this.#location;
      if (known && !known.isGone?.()) return known;
      // Concurrent callers share the same search.
      if (known) this.#location = null;
      this.#location ??= this.findPlace();
      return await this.#location;
    } catch (error) {
      this.#location = null;
      throw error;
    }
  }

  /** A JSON response with checked fields. */
  async json<T>(method: string, path: string, shape: Shape<T>, ask: Ask = {}): Promise<T> {
    return this.within(ask, async (signal) => {
      const answer = await this.answer(method, path, { maxBytes: LARGEST_ANSWER, ...ask }, signal);
      return checked(parseObject(await readText(answer.body)), shape);
    });
  }

  /** A request whose response is empty. */
  async done(method: string, path: string, ask: Ask = {}): Promise<void> {
    await this.within(ask, async (signal) => {
      const answer = await this.answer(method, path, ask, signal);
      await readStart(answer.body, LARGEST_REFUSAL);
      if (answer.status !== 204) throw new ProtocolError(`expected status 204, got ${answer.status}; is it a Glovebox server?`);
    });
  }

  async bytes(method: string, path: string, ask: Ask = {}): Promise<Uint8Array<ArrayBuffer>> {
    return this.within(ask, async (signal) => readBytes((await this.answer(method, path, ask, signal)).body));
  }

  /** A streamed response. `signal` ends it at any time. */
  async stream(method: string, path: string, ask: Ask = {}): Promise<WireAnswer> {
    const limit = new Limit(ask.signal, limitOf(ask, this.patienceMs));
    try {
      const answer = await withTimeout(this.answer(method, path, ask, limit.signal), { signal: limit.signal });
      if (!ask.isBounded) limit.stopClock();
      return { ...answer, body: this.streamed(answer.body, limit) };
    } catch (error) {
      const said = await this.plain(error, limit);
      limit.giveUp();
      throw said;
    }
  }

  async socket(path: string, ask: CallOptions & { query?: Query }): Promise<MessageSocket> {
    return this.within(ask, async (signal) => {
      const location = await this.where();
      const url = this.urlOf(location, path, ask.query).replace(/^http/, "ws");
      const protocols = [`glovebox.key.${location.apiKey}`, PROTOCOL];
      try {
        return await (await this.via()).openSocket({ url, protocols, signal });
      } catch (error) {
        if (error instanceof UpgradeRefused) throw errorOf(error.status, error.body, null);
        throw error;
      }
    });
  }

  async close(): Promise<void> {
    const transport = await this.#transport;
    this.#transport = null;
    transport?.close();
  }

  private async within<T>(ask: Ask, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const limit = new Limit(ask.signal, limitOf(ask, this.patienceMs));
    try {
      return await withTimeout(work(limit.signal), { signal: limit.signal });
    } catch (error) {
      const said = await this.plain(error, limit);
      // The rest of an unexpected response is not read: its connection is closed.
      limit.giveUp();
      throw said;
    } finally {
      limit.end();
    }
  }

  private async *streamed(body: AsyncIterable<Uint8Array>, limit: Limit): AsyncGenerator<Uint8Array> {
    let isRead = false;
    try {
      yield* body;
      isRead = true;
    } catch (error) {
      throw await this.plain(error, limit);
    } finally {
      // The rest was not read: its connection is closed.
      if (isRead) limit.end();
      else limit.giveUp();
    }
  }

  /** Turns a transport failure into an error for the caller. */
  private async plain(error: unknown, limit: Limit): Promise<unknown> {
    if (limit.signal.aborted) return limit.signal.reason;
    if (!(error instanceof TransportFailure)) return error;
    const where = (await this.#location?.catch(() => null))?.url ?? "the server";
    // Search again next time: a private server may have to be restarted.
    if (error.kind === "refused") this.#location = null;
    const what = error.kind === "refused" ? `no server responds at ${where}` : `the connection to ${where} was lost`;
    return new ConnectionFailed(`${what}: ${error.message}`, { cause: error });
  }

  /** A successful response, after retries where they are safe. */
  private async answer(method: string, path: string, ask: Ask, signal: AbortSignal): Promise<WireAnswer> {
    const location = await this.where();
    const request = this.requestOf(location, method, path, ask, signal);
    const transport = await this.via();
    const replayable = !(typeof ask.body === "object" && Symbol.asyncIterator in ask.body);
    const repeatable = replayable && (ask.repeatable ?? (method === "GET" || method === "HEAD"));
    let tries = this.#options.retries ?? 2;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 3, LONGEST_PAUSE_MS)) {
      signal.throwIfAborted();
      try {
        const answer = await transport.send(request);
        if (answer.status < 300) return wanted(answer, ask);
        const text = await readStart(answer.body, LARGEST_REFUSAL);
        const error = errorOf(answer.status, text, answer.header("retry-after"));
        const later = answer.status === 429 || answer.status === 503;
        if (!repeatable || !later || error.retryAfter === null || tries <= 0) throw error;
        pause = Math.min(error.retryAfter * 1000, LONGEST_PAUSE_MS);
      } catch (error) {
        if (!(error instanceof TransportFailure) || tries <= 0) throw error;
        // A request that was never sent may always be retried.
        if (!repeatable && !(replayable && error.kind === "refused")) throw error;
      }
      tries -= 1;
      await sleep(pause, signal);
    }
  }

  private requestOf(location: ServerLocation, method: string, path: string, ask: Ask, signal: AbortSignal): WireRequest {
    const headers: Record<string, string> = { "X-API-Key": location.apiKey, ...ask.headers };
    if (ask.accept !== undefined) headers.Accept = ask.accept;
    const request: WireRequest = { method, url: this.urlOf(location, path, ask.query), headers, signal };
    if (ask.json !== undefined) {
      headers["Content-Type"] = "application/json";
      request.body = JSON.stringify(ask.json);
    } else if (ask.body !== undefined) {
      headers["Content-Type"] ??= "application/octet-stream";
      request.body = ask.body;
    }
    return request;
  }

  private urlOf(location: ServerLocation, path: string, query: Query = {}): string {
    const words = new URLSearchParams();
    for (const [name, value] of Object.entries({ ...query, project: this.#options.project })) {
      if (value !== undefined) words.append(name, String(value));
    }
    const text = words.toString();
    return location.url.replace(/\/+$/, "") + path + (text === "" ? "" : `?${text}`);
  }

  private via(): Promise<Transport> {
    const { fetch, webSocket } = this.#options;
    this.#transport ??=
      fetch !== undefined
        ? Promise.resolve(new FetchTransport(fetch, webSocket ?? globalThis.WebSocket))
        : platform.transport();
    return this.#transport;
  }

  private async findPlace(): Promise<ServerLocation> {
    const options = this.#options;
    const named = options.url ?? platform.environment("GLOVEBOX_URL");
    const key = options.apiKey ?? platform.environment("GLOVEBOX_API_KEY");
    if (!named) {
      const found = await platform.findServer();
      return options.apiKey === undefined ? found : { ...found, apiKey: options.apiKey };
    }
    const origin = options.url === undefined ? "GLOVEBOX_URL" : "the option `url`";
    if (!/^https?:\/\//.test(named) || !URL.canParse(named)) {
      throw new GloveboxError(`${origin}: ${JSON.stringify(named)} is not an http:// or https:// URL`);
    }
    const apiKey = key || (await platform.keyFor(named));
    if (!apiKey) throw new GloveboxError(`there is no key for ${named}: use the option \`apiKey\` or set GLOVEBOX_API_KEY`);
    return { url: named, apiKey, origin };
  }
}

/** Checks the media type and limits the size of a response. */
function wanted(answer: WireAnswer, { accept, maxBytes }: Ask): WireAnswer {
  if (accept !== undefined && answer.header("content-type")?.split(";")[0]?.trim().toLowerCase() !== accept) {
    throw new ProtocolError(`the response is not ${accept}; is it a Glovebox server?`);
  }
  if (maxBytes === undefined) return answer;
  const tooMuch = () =>
    accept === undefined
      ? new ProtocolError(`the response is larger than ${maxBytes} bytes`)
      : new GloveboxError(`the content is larger than ${maxBytes} bytes: the option \`maxBytes\` allows more`);
  if (!(Number(answer.header("content-length") ?? 0) <= maxBytes)) throw tooMuch();
  return { ...answer, body: bounded(answer.body, maxBytes, tooMuch) };
}

function limitOf(ask: Ask, patienceMs: number): number {
  if (ask.requestTimeoutMs !== undefined) return ask.requestTimeoutMs;
  if (ask.runsForMs === undefined || patienceMs === 0) return patienceMs;
  return ask.runsForMs === 0 ? 0 : patienceMs + ask.runsForMs;
}

/** The caller's signal and a timeout as one signal. */
class Limit {
  private readonly own = new AbortController();
  private readonly clock: ReturnType<typeof setTimeout> | undefined;
  private readonly follow = () => this.own.abort(this.caller?.reason);

  constructor(
    private readonly caller: AbortSignal | undefined,
    ms: number,
  ) {
    if (caller?.aborted) this.follow();
    caller?.addEventListener("abort", this.follow, { once: true });
    if (ms > 0) this.clock = setTimeout(() => this.own.abort(new TimeoutExpired(`no response within ${ms} ms`)), ms);
  }

  get signal(): AbortSignal {
    return this.own.signal;
  }

  stopClock(): void {
    clearTimeout(this.clock);
  }

  end(): void {
    this.stopClock();
    this.caller?.removeEventListener("abort", this.follow);
  }

  giveUp(): void {
    this.end();
    this.own.abort(new GloveboxError("the stream is closed"));
  }
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal.addEventListener("abort", stop, { once: true });
  });
}
