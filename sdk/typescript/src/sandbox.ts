// A persistent sandbox: commands, files and contexts, until it is killed or its time to live ends.

import { CODE, EXEC, METRICS, NETWORK, SANDBOX, SNAPSHOT } from "./responses.js";
import { type Client, defaultClient } from "./client.js";
import { callOf, type CallOptions, type Connection } from "./connection.js";
import { type Context, Contexts, idOf } from "./contexts.js";
import { type BuildCallbacks, withBuild } from "./dependencies.js";
import { asyncDispose } from "./dispose.js";
import { ApiError, ConflictError, GloveboxError, NotFoundError } from "./errors.js";
import { Files } from "./files.js";
import { build } from "./layers.js";
import { profileOf, type SandboxLimits } from "./limits.js";
import { follow, isLive, type LiveCallbacks } from "./run_stream.js";
import { type Net, netOf } from "./network.js";
import { pages } from "./pages.js";
import { type AttachOptions, commandOf, type ExecOptions, Process, type StartOptions } from "./process.js";
import { portUrl } from "./ports.js";
import { CodeResult, ExecResult } from "./results.js";
import type { Snapshot } from "./resources.js";
import { type AnswerOf, type Camel, camelize, compact, type Grade, type Language, type Schemas, segment } from "./wire.js";

export type SandboxInfo = Camel<Schemas["Sandbox"]>;
export type SandboxState = Schemas["SandboxState"];
export type ProcessInfo = Camel<Schemas["Process"]>;
export type SandboxMetrics = Camel<AnswerOf<"sandboxMetrics", 200>>;
export type SandboxNetwork = Camel<AnswerOf<"sandboxNetwork", 200>>;
export type LogEntry = Camel<AnswerOf<"sandboxLogs", 200>>["entries"][number];

interface OfClient {
  /** Default: the client of the process, see `defaultClient`. */
  client?: Client;
}

export interface CreateOptions extends SandboxLimits, BuildCallbacks, CallOptions, OfClient {
  /** Default "python". */
  template?: string;
  /** The id of a snapshot, instead of a template. */
  snapshot?: string;
  /** An image of the server (`glovebox image list`), instead of a template. */
  image?: string;
  /** Its time to live in seconds; each `keepalive` restarts it. */
  ttlSeconds?: number;
  env?: Record<string, string>;
  metadata?: Record<string, string>;
  /** For people; no other live sandbox of the project has it. */
  name?: string;
  onTimeout?: "kill" | "pause";
  /** Returns the running sandbox of this id, if there is one. */
  agentId?: string;
  /** Require a token for its ports; only this object has it, as `portToken`. */
  privatePorts?: boolean;
  minGrade?: Grade;
}

export interface ListOptions extends CallOptions, OfClient {
  state?: SandboxState | readonly SandboxState[];
  template?: string;
  agentId?: string;
  metadata?: Record<string, string>;
  /** The largest number of sandboxes; default: all. */
  limit?: number;
}

export interface CodeOptions extends LiveCallbacks, CallOptions {
  /** A context; default: that of the language, created at its first use. */
  context?: string | Context;
  /** Default "python". */
  language?: Language;
  /** What the code's input() reads. */
  stdin?: string;
  /** Default 60 s; zero: no limit. */
  timeoutMs?: number;
  outputKb?: number;
}

const EXEC_TIMEOUT_MS = 60_000;

const LEAST_ID_LETTERS = 4;

// A sandbox that is over keeps its name, so a live one is looked for first.
async function named(connection: Connection, word: string, options: CallOptions): Promise<Schemas["Sandbox"]> {
  segment(word); // refuses what is not a name at all
  const matching = (state?: string): Promise<Schemas["Sandbox"][]> =>
    pages(connection, "/v1/sandboxes", "sandboxes", options, { match: word, state });
  let found = await matching("pending,starting,running,paused");
  if (found.length === 0) found = await matching();
  const same = found.filter((one) => one.name === word);
  const begun = found.filter((one) => word.length >= LEAST_ID_LETTERS && one.id.startsWith(word));
  const chosen = same.length > 0 ? same : begun;
  if (chosen.length > 1) {
    const ids = chosen.slice(0, 5).map((one) => one.id).join(", ");
    throw new ConflictError(409, "ambiguous", `"${word}" is ambiguous: ${chosen.length} sandboxes match it, like ${ids}`);
  }
  const [only] = chosen;
  if (only === undefined) throw new NotFoundError(404, "not_found", `there is no sandbox with the id or name "${word}"`);
  return only;
}

export class Sandbox {
  readonly id: string;
  readonly files: Files;
  readonly contexts: Contexts;
  private readonly connection: Connection;
  private readonly path: string;
  // Both truly private, so that printing a sandbox does not reveal a secret.
  #last: SandboxInfo;
  readonly #portToken: string | null;

  private constructor(connection: Connection, info: SandboxInfo) {
    this.id = info.id;
    this.connection = connection;
    this.#last = info;
    this.#portToken = info.portToken ?? null;
    this.path = pathOf(info.id);
    this.files = new Files(connection, this.path);
    this.contexts = new Contexts(connection, this.path);
  }

  static async create(options: CreateOptions = {}): Promise<Sandbox> {
    const connection = (options.client ?? defaultClient()).connection;
    if ([options.template, options.snapshot, options.image].filter((one) => one !== undefined).length > 1) {
      throw new GloveboxError("create: use `template`, `snapshot` or `image`, one of them");
    }
    const isOfTemplate = options.snapshot === undefined && options.image === undefined;
    const json: Schemas["SandboxRequest"] = compact({
      template: options.template ?? (isOfTemplate ? "python" : undefined),
      snapshot: options.snapshot,
      profile: await profileOf(options),
      ttl_s: options.ttlSeconds,
      env: options.env,
      metadata: options.metadata,
      name: options.name,
      on_timeout: options.onTimeout,
      agent_id: options.agentId,
      private_ports: options.privatePorts,
      min_grade: options.minGrade,
    });
    if (options.onBuild !== undefined && options.dependencies !== undefined) await build(connection, options.dependencies, options);
    const ask = { ...callOf(options), json, runsForMs: withBuild(undefined, json.profile) };
    const made = await connection.json("POST", "/v1/sandboxes", SANDBOX, ask);
    return new Sandbox(connection, camelize(made));
  }

  /** Connects to an existing sandbox: by its id, its name, or the beginning of its id (4 letters or more). */
  static async connect(id: string, options: CallOptions & OfClient = {}): Promise<Sandbox> {
    const connection = (options.client ?? defaultClient()).connection;
    if (!/^sb[a-z0-9]{20}$/.test(id)) return new Sandbox(connection, camelize(await named(connection, id, options)));
    return new Sandbox(connection, camelize(await connection.json("GET", pathOf(id), SANDBOX, callOf(options))));
  }

  /** All matching sandboxes, newest first, including ended ones that are still on record. */
  static async list(options: ListOptions = {}): Promise<SandboxInfo[]> {
    const { state, template, agentId, metadata } = options;
    const query: Record<string, string | undefined> = {
      state: typeof state === "object" ? state.join(",") : state,
      template,
      agent_id: agentId,
    };
    for (const [key, value] of Object.entries(metadata ?? {})) query[`metadata.${key}`] = value;
    const connection = (options.client ?? defaultClient()).connection;
    const found = await pages<Schemas["Sandbox"]>(connection, "/v1/sandboxes", "sandboxes", options, query, options.limit);
    return camelize(found);
  }

  /** The token of its private ports; only known to the object that created it. */
  get portToken(): string | null {
    return this.#portToken;
  }

  /** As of the last response; `info()` refreshes it. */
  get state(): SandboxState {
    return this.#last.state;
  }
  get template(): string {
    return this.#last.template;
  }
  /** The name that it was created with. */
  get name(): string | null {
    return this.#last.name;
  }

  get metadata(): Record<string, string> {
    return this.#last.metadata;
  }
  get expiresAt(): Date | null {
    return this.#last.expiresAt === null ? null : new Date(this.#last.expiresAt);
  }

  async info(options: CallOptions = {}): Promise<SandboxInfo> {
    return this.take(await this.connection.json("GET", this.path, SANDBOX, options));
  }

  async update(options: CallOptions & { ttlSeconds?: number; metadata?: Record<string, string> }): Promise<SandboxInfo> {
    const json = compact({ ttl_s: options.ttlSeconds, metadata: options.metadata });
    return this.take(await this.connection.json("PATCH", this.path, SANDBOX, { ...callOf(options), json }));
  }

  /** Changes the network policy; connections that it forbids are closed. */
  async setNetwork(net: Net, options: CallOptions = {}): Promise<SandboxInfo> {
    return this.take(await this.connection.json("PATCH", this.path, SANDBOX, { ...callOf(options), json: { net: netOf(net) } }));
  }

  /** Restarts its time to live, optionally with a new duration. */
  async keepalive(options: CallOptions & { ttlSeconds?: number } = {}): Promise<SandboxInfo> {
    return this.post("keepalive", options, compact({ ttl_s: options.ttlSeconds }));
  }

  /** Freezes its processes. */
  async pause(options: CallOptions = {}): Promise<SandboxInfo> {
    return this.post("pause", options);
  }

  async resume(options: CallOptions = {}): Promise<SandboxInfo> {
    return this.post("resume", options);
  }

  /** Saves its files for new sandboxes: `Sandbox.create({ snapshot: snapshot.id })`. */
  async snapshot(options: CallOptions & { name?: string } = {}): Promise<Snapshot> {
    const ask = { runsForMs: 0, ...compact(callOf(options)), json: compact({ name: options.name }) };
    return camelize(await this.connection.json("POST", `${this.path}/snapshots`, SNAPSHOT, ask));
  }

  /** Ends the sandbox and everything in it. No error if it has ended already. */
  async kill(options: CallOptions = {}): Promise<void> {
    try {
      await this.connection.done("DELETE", this.path, options);
    } catch (error) {
      if (!(error instanceof ApiError && (error.code === "not_found" || error.code === "wrong_state"))) throw error;
    }
    this.#last = { ...this.#last, state: "stopped" };
  }

  async metrics(options: CallOptions = {}): Promise<SandboxMetrics> {
    return camelize(await this.connection.json("GET", `${this.path}/metrics`, METRICS, options));
  }

  /** Its network policy, its traffic, and what was denied by which rule. */
  async network(options: CallOptions = {}): Promise<SandboxNetwork> {
    return camelize(await this.connection.json("GET", `${this.path}/network`, NETWORK, options));
  }

  /** Its log, oldest entry first. */
  async logs(options: CallOptions & { limit?: number } = {}): Promise<LogEntry[]> {
    const ask = { ...callOf(options), query: { limit: options.limit } };
    return camelize(await this.connection.json<AnswerOf<"sandboxLogs", 200>>("GET", `${this.path}/logs`, { entries: "objects" }, ask)).entries;
  }

  /** The processes that were started through the API. */
  async processes(options: CallOptions = {}): Promise<ProcessInfo[]> {
    return camelize(await this.connection.json<AnswerOf<"listProcesses", 200>>("GET", `${this.path}/processes`, { processes: "objects" }, options))
      .processes;
  }

  /** The URL at which a port of 127.0.0.1 inside the sandbox is reachable. */
  async portUrl(port: number): Promise<string> {
    return portUrl((await this.connection.where()).url, this.id, port);
  }

  /**
   * Runs a command and waits for its end: a program and its arguments, or a line for bash. A status other
   * than zero throws nothing; see `raiseForError()`.
   */
  async exec(command: string | readonly string[], options: ExecOptions = {}): Promise<ExecResult> {
    const timeoutMs = options.timeoutMs ?? EXEC_TIMEOUT_MS;
    if (options.onStdout !== undefined || options.onStderr !== undefined) {
      return this.execLive(command, { ...options, timeoutMs });
    }
    const json = compact({ ...commandOf(command, { ...options, timeoutMs }), output_kb: options.outputKb });
    const ask = { ...compact(callOf(options)), json, runsForMs: timeoutMs };
    return new ExecResult(camelize(await this.connection.json("POST", `${this.path}/exec`, EXEC, ask)));
  }

  /** Runs a line of bash. */
  async shell(line: string, options: ExecOptions = {}): Promise<ExecResult> {
    return this.exec(line, options);
  }

  /** Starts a command and returns immediately. */
  async start(command: string | readonly string[], options: StartOptions = {}): Promise<Process> {
    return Process.start(this.connection, this.path, command, options);
  }

  /** Attaches to a running process by its number; replaces another attached client. */
  async attach(process: number, options: AttachOptions = {}): Promise<Process> {
    return Process.attach(this.connection, this.path, process, options);
  }

  /** Runs code in a context, which keeps its variables. */
  async code(code: string, options: CodeOptions = {}): Promise<CodeResult> {
    const json = compact({
      code,
      context: options.context === undefined ? undefined : idOf(options.context),
      language: options.language,
      stdin: options.stdin,
      timeout_ms: options.timeoutMs,
      output_kb: options.outputKb,
    });
    const ask = { ...compact(callOf(options)), json, runsForMs: options.timeoutMs ?? EXEC_TIMEOUT_MS };
    const path = `${this.path}/code`;
    if (isLive(options)) return new CodeResult(await follow(this.connection, path, CODE, ask, options));
    return new CodeResult(camelize(await this.connection.json("POST", path, CODE, ask)));
  }

  /** `await using sandbox = await Sandbox.create()` kills it at the end of the block. */
  async [asyncDispose](): Promise<void> {
    await this.kill();
  }

  private async execLive(command: string | readonly string[], options: ExecOptions & { timeoutMs: number }): Promise<ExecResult> {
    // The server enforces the limit; this timeout is for a server that does not respond.
    const longest = options.timeoutMs === 0 ? 0 : options.timeoutMs + this.connection.patienceMs;
    const process = await this.start(command, { ...options, onDisconnect: "kill" });
    try {
      return await process.wait({ signal: options.signal, timeoutMs: options.requestTimeoutMs ?? longest });
    } finally {
      process.close();
    }
  }

  private async post(what: string, options: CallOptions, json?: object): Promise<SandboxInfo> {
    const ask = { ...callOf(options), json };
    return this.take(await this.connection.json("POST", `${this.path}/${what}`, SANDBOX, ask));
  }

  private take(answer: Schemas["Sandbox"]): SandboxInfo {
    this.#last = camelize(answer);
    return this.#last;
  }
}

function pathOf(id: string): string {
  return `/v1/sandboxes/${segment(id)}`;
}
