// Requests to one server: where it is, the key, time limits, what is tried again, and errors. What the
// requests mean is for the others to know.

import { checked, type Shape } from "./answers.js";
import { bounded, readBytes, readStart, readText } from "./bytes.js";
import { ConnectionFailed, errorOf, GloveboxError, ProtocolError, TimeoutExpired } from "./errors.js";
import { type Fetch, FetchTransport } from "./fetch_transport.js";
import { parseObject } from "./lines.js";
import { patiently } from "./patience.js";
import { platform } from "./platform/node.js";
import type { Place } from "./platform/platform.js";
import type { MessageSocket, Transport, WireAnswer, WireBody, WireRequest } from "./transport.js";
import { TransportFailure, UpgradeRefused } from "./transport.js";
import type { WebSocketConstructor } from "./web_socket.js";

export interface ClientOptions {
  /** Like http://127.0.0.1:7070. Default: GLOVEBOX_URL, else this machine's server, else a private one. */
  url?: string;
  /** Default: GLOVEBOX_API_KEY, or the key of the server that was found. */
  apiKey?: string;
  /** Another project than the key's own; for admin keys. */
  project?: string;
  /** How long an ordinary request may take; 60 s. Calls that run something add their own time. */
  requestTimeoutMs?: number;
  /** How often a request is tried again where that is safe; 2. */
  retries?: number;
  /** Instead of Node's HTTP, or the browser's fetch. */
  fetch?: Fetch;
  /** Instead of our own on Node, or the browser's; used together with `fetch`. */
  webSocket?: WebSocketConstructor;
}

/** Of every call. */
export interface CallOptions {
  /** Ends the call; what it runs ends, too. */
  signal?: AbortSignal;
  /** How long the answer may take; zero: as long as it likes. */
  requestTimeoutMs?: number;
}

/** Only what is for every call, of options that have more. */
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
  /** What kind of answer it must be; JSON needs not be said. */
  accept?: string;
  /** More of a body is an error. */
  maxBytes?: number;
  /** It is known to run for so long at most; zero: nobody knows. */
  runsForMs?: number;
  /** Of a stream: the limit is for all of it, not only for its beginning. */
  isBounded?: boolean;
  /** To repeat it does no harm. Reading never does. */
  repeatable?: boolean;
}

const REQUEST_TIMEOUT_MS = 60_000;
// Waits between tries, when the server does not say.
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 30_000;
const PROTOCOL = "glovebox.v1";
// An answer of JSON; the server's own bounds are far below.
const LARGEST_ANSWER = 256 * 1024 * 1024;
// Of an answer that is an error.
const LARGEST_REFUSAL = 1024 * 1024;

export class Connection {
  // Truly private: who prints a client or keeps it as JSON does not print its key.
  readonly #options: ClientOptions;
  #transport: Promise<Transport> | null = null;
  #place: Promise<Place> | null = null;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** How long an ordinary answer may take; zero: as long as it likes. */
  get patienceMs(): number {
    return this.#options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS;
  }

  /** Where the server is; found, or started, when it is first asked for. */
  async where(): Promise<Place> {
    try {
      const known = await this.#place;
      if (known && !known.isGone?.()) return known;
      // Whoever asks meanwhile waits for the same.
      if (known) this.#place = null;
      this.#place ??= this.findPlace();
      return await this.#place;
    } catch (error) {
      this.#place = null;
      throw error;
    }
  }

  /** An answer of JSON that has what it must have. */
  async json<T>(method: string, path: string, shape: Shape<T>, ask: Ask = {}): Promise<T> {
    return this.within(ask, async (signal) => {
      const answer = await this.answer(method, path, { maxBytes: LARGEST_ANSWER, ...ask }, signal);
      return checked(parseObject(await readText(answer.body)), shape);
    });
  }

  /** What is done, and answered with nothing. */
  async done(method: string, path: string, ask: Ask = {}): Promise<void> {
    await this.within(ask, async (signal) => {
      const answer = await this.answer(method, path, ask, signal);
      await readStart(answer.body, LARGEST_REFUSAL);
      if (answer.status !== 204) throw new ProtocolError(`status ${answer.status} instead of 204: is it a Glovebox server?`);
    });
  }

  async bytes(method: string, path: string, ask: Ask = {}): Promise<Uint8Array<ArrayBuffer>> {
    return this.within(ask, async (signal) => readBytes((await this.answer(method, path, ask, signal)).body));
  }

  /** An answer that is read as it comes. `signal` ends it at any time. */
  async stream(method: string, path: string, ask: Ask = {}): Promise<WireAnswer> {
    const limit = new Limit(ask.signal, limitOf(ask, this.patienceMs));
    try {
      const answer = await patiently(this.answer(method, path, ask, limit.signal), { signal: limit.signal });
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
      const place = await this.where();
      const url = this.urlOf(place, path, ask.query).replace(/^http/, "ws");
      const protocols = [`glovebox.key.${place.apiKey}`, PROTOCOL];
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
      return await patiently(work(limit.signal), { signal: limit.signal });
    } catch (error) {
      const said = await this.plain(error, limit);
      // Of an answer that is none the rest is not read: its connection is given up.
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
      // What was not read is not wanted: its connection is given up.
      if (isRead) limit.end();
      else limit.giveUp();
    }
  }

  /** A failure below, in words for people. */
  private async plain(error: unknown, limit: Limit): Promise<unknown> {
    if (limit.signal.aborted) return limit.signal.reason;
    if (!(error instanceof TransportFailure)) return error;
    const where = (await this.#place?.catch(() => null))?.url ?? "the server";
    // It may be found elsewhere the next time: a private one is started anew.
    if (error.kind === "refused") this.#place = null;
    const what = error.kind === "refused" ? `nobody answers at ${where}` : `the connection to ${where} was lost`;
    return new ConnectionFailed(`${what}: ${error.message}`, { cause: error });
  }

  /** A good answer, after as many tries as are safe. */
  private async answer(method: string, path: string, ask: Ask, signal: AbortSignal): Promise<WireAnswer> {
    const place = await this.where();
    const request = this.requestOf(place, method, path, ask, signal);
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
        // What never left may always be sent again.
        if (!repeatable && !(replayable && error.kind === "refused")) throw error;
      }
      tries -= 1;
      await sleep(pause, signal);
    }
  }

  private requestOf(place: Place, method: string, path: string, ask: Ask, signal: AbortSignal): WireRequest {
    const headers: Record<string, string> = { "X-API-Key": place.apiKey, ...ask.headers };
    if (ask.accept !== undefined) headers.Accept = ask.accept;
    const request: WireRequest = { method, url: this.urlOf(place, path, ask.query), headers, signal };
    if (ask.json !== undefined) {
      headers["Content-Type"] = "application/json";
      request.body = JSON.stringify(ask.json);
    } else if (ask.body !== undefined) {
      headers["Content-Type"] ??= "application/octet-stream";
      request.body = ask.body;
    }
    return request;
  }

  private urlOf(place: Place, path: string, query: Query = {}): string {
    const words = new URLSearchParams();
    for (const [name, value] of Object.entries({ ...query, project: this.#options.project })) {
      if (value !== undefined) words.append(name, String(value));
    }
    const text = words.toString();
    return place.url.replace(/\/+$/, "") + path + (text === "" ? "" : `?${text}`);
  }

  private via(): Promise<Transport> {
    const { fetch, webSocket } = this.#options;
    this.#transport ??=
      fetch !== undefined
        ? Promise.resolve(new FetchTransport(fetch, webSocket ?? globalThis.WebSocket))
        : platform.transport();
    return this.#transport;
  }

  private async findPlace(): Promise<Place> {
    const options = this.#options;
    const named = options.url ?? platform.environment("GLOVEBOX_URL");
    const key = options.apiKey ?? platform.environment("GLOVEBOX_API_KEY");
    if (!named) {
      const found = await platform.findServer();
      return options.apiKey === undefined ? found : { ...found, apiKey: options.apiKey };
    }
    const origin = options.url === undefined ? "GLOVEBOX_URL" : "the option `url`";
    if (!/^https?:\/\//.test(named) || !URL.canParse(named)) {
      throw new GloveboxError(`${origin}: ${JSON.stringify(named)} is no http:// or https:// address`);
    }
    const apiKey = key || (await platform.keyFor(named));
    if (!apiKey) throw new GloveboxError(`there is no key for ${named}: give the option \`apiKey\` or set GLOVEBOX_API_KEY`);
    return { url: named, apiKey, origin };
  }
}

/** The answer, if it is of the kind that was asked for, and not too long as far as it is read. */
function wanted(answer: WireAnswer, { accept, maxBytes }: Ask): WireAnswer {
  if (accept !== undefined && answer.header("content-type")?.split(";")[0]?.trim().toLowerCase() !== accept) {
    throw new ProtocolError(`the answer is no ${accept}: is it a Glovebox server?`);
  }
  if (maxBytes === undefined) return answer;
  const tooMuch = () =>
    accept === undefined
      ? new ProtocolError(`the answer is larger than ${maxBytes} bytes`)
      : new GloveboxError(`it is larger than ${maxBytes} bytes: the option \`maxBytes\` allows more`);
  if (!(Number(answer.header("content-length") ?? 0) <= maxBytes)) throw tooMuch();
  return { ...answer, body: bounded(answer.body, maxBytes, tooMuch) };
}

function limitOf(ask: Ask, patienceMs: number): number {
  if (ask.requestTimeoutMs !== undefined) return ask.requestTimeoutMs;
  if (ask.runsForMs === undefined || patienceMs === 0) return patienceMs;
  return ask.runsForMs === 0 ? 0 : patienceMs + ask.runsForMs;
}

/** A caller's signal and a clock, as one signal. */
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
    if (ms > 0) this.clock = setTimeout(() => this.own.abort(new TimeoutExpired(`no answer within ${ms} ms`)), ms);
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
    this.own.abort(new GloveboxError("it is closed"));
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
