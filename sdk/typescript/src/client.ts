// A client of one server. Most programs need not create one: `run` and `Sandbox` use a default client.

import { type CallOptions, type ClientOptions, Connection } from "./connection.js";
import { asyncDispose } from "./dispose.js";
import { UnavailableError } from "./errors.js";
import { type EventOptions, projectEvents, type ProjectEvent } from "./events.js";
import { Functions } from "./functions.js";
import { Layers } from "./layers.js";
import { platform } from "./platform/node.js";
import { Keys, Runs, Snapshots, Templates } from "./resources.js";
import type { RunResult } from "./results.js";
import { type RunOptions, runOn } from "./run.js";
import type { AnswerOf, Schemas } from "./wire.js";

export class Client {
  /** @internal */
  readonly connection: Connection;
  readonly templates: Templates;
  /** Installed package sets. */
  readonly layers: Layers;
  readonly snapshots: Snapshots;
  readonly runs: Runs;
  readonly keys: Keys;
  readonly functions: Functions;

  constructor(options: ClientOptions = {}) {
    this.connection = new Connection(options);
    this.templates = new Templates(this.connection);
    this.layers = new Layers(this.connection);
    this.snapshots = new Snapshots(this.connection);
    this.runs = new Runs(this.connection);
    this.keys = new Keys(this.connection);
    this.functions = new Functions(this.connection);
  }

  /** Runs code in a fresh sandbox that is removed afterwards. */
  run(code: string, options?: RunOptions): Promise<RunResult>;
  /** Runs a command, like `{ command: ["ls", "-l"] }`. */
  run(options: RunOptions & { command: string | readonly string[] }): Promise<RunResult>;
  run(code: string | RunOptions, options: RunOptions = {}): Promise<RunResult> {
    return typeof code === "string" ? runOn(this.connection, code, options) : runOn(this.connection, undefined, code);
  }

  /** Iterates over the events of the project. */
  events(options: EventOptions = {}): AsyncGenerator<ProjectEvent> {
    return projectEvents(this.connection, options);
  }

  /** The server's address and where it came from. Starts a private server if there is none. */
  async server(): Promise<{ url: string; origin: string }> {
    const { url, origin } = await this.connection.where();
    return { url, origin };
  }

  /** Whether the server responds. */
  async health(options: CallOptions = {}): Promise<AnswerOf<"health", 200>> {
    return this.connection.json<AnswerOf<"health", 200>>("GET", "/health", { status: "text" }, options);
  }

  /** Whether the server can run code now. */
  async isReady(options: CallOptions = {}): Promise<boolean> {
    try {
      await this.connection.json<Schemas["Ready"]>("GET", "/health/ready", { status: "text" }, { ...options, repeatable: false });
      return true;
    } catch (error) {
      if (error instanceof UnavailableError) return false;
      throw error;
    }
  }

  /** Closes idle connections. A private server keeps running until the process ends. */
  async close(): Promise<void> {
    await this.connection.close();
  }

  async [asyncDispose](): Promise<void> {
    await this.close();
  }
}

let shared: Client | null = null;

/** The client that is used where none is given. */
export function defaultClient(): Client {
  shared ??= new Client();
  return shared;
}

/** Configures the default client; required in a browser, which has no environment variables. */
export function configure(options: ClientOptions): Client {
  shared = new Client(options);
  return shared;
}

/** Runs code with the default client. */
export function run(code: string, options?: RunOptions & { client?: Client }): Promise<RunResult>;
export function run(options: RunOptions & { command: string | readonly string[]; client?: Client }): Promise<RunResult>;
export function run(code: string | RunOptions, options: RunOptions = {}): Promise<RunResult> {
  const given: RunOptions & { client?: Client } = typeof code === "string" ? options : code;
  const { connection } = given.client ?? defaultClient();
  return runOn(connection, typeof code === "string" ? code : undefined, given);
}

/** Stops the private server of this process now instead of at the end of the process. Node only. */
export function stopPrivateServer(): Promise<void> {
  return platform.stopPrivateServer();
}
