// Other resources of a project: templates, snapshots, run records, keys.

import { NEW_KEY, RUN_RECORD, SNAPSHOT, TEMPLATE } from "./responses.js";
import { callOf, type CallOptions, type Connection } from "./connection.js";
import { type BuildCallbacks, type Dependencies, dependenciesOf, withBuild } from "./dependencies.js";
import { build } from "./layers.js";
import { pages } from "./pages.js";
import { type AnswerOf, type Camel, camelize, compact, type Schemas, segment } from "./wire.js";

export type Template = Camel<Schemas["Template"]>;
export type Snapshot = Camel<Schemas["Snapshot"]>;
export type RunSummary = Camel<Schemas["RunSummary"]>;
export type RunRecord = Camel<Schemas["Run"]>;
export type Key = Camel<Schemas["Key"]>;
/** With its secret, which is only shown once. */
export type NewKey = Camel<AnswerOf<"createKey", 201>>;

export interface NewTemplate extends BuildCallbacks, CallOptions {
  name: string;
  /** A built-in template or one of the administrator's. */
  from?: string;
  /** Alternative to `from`: the id of a snapshot. Only a description can be combined with it. */
  snapshot?: string;
  /** An image of the server, in place of the host's files. Its own Python waits for code if it has 3.8 or newer. */
  image?: string;
  description?: string;
  env?: Record<string, string>;
  /** Packages to install. */
  dependencies?: Dependencies;
  /** Dotted names of modules to import before any code runs. */
  preload?: readonly string[];
  /** Its default limits. */
  timeoutMs?: number;
  cpuMs?: number;
  memoryMb?: number;
  diskMb?: number;
  pids?: number;
  cpus?: number;
  /** How many sandboxes for runs wait: a number, or `{ min, max }` with demand. */
  pool?: number | { min?: number; max?: number };
  /** The same for persistent sandboxes. */
  sessionPool?: number | { min?: number; max?: number };
}

export class Templates {
  constructor(private readonly connection: Connection) {}

  async list(options: CallOptions = {}): Promise<Template[]> {
    return camelize(await this.connection.json<AnswerOf<"listTemplates", 200>>("GET", "/v1/templates", { templates: "objects" }, options)).templates;
  }

  async get(name: string, options: CallOptions = {}): Promise<Template> {
    return camelize(await this.connection.json("GET", of("templates", name), TEMPLATE, options));
  }

  /** Creates a template of the project. Its runtime starts immediately; see `state`. */
  async create(options: NewTemplate): Promise<Template> {
    const profile = compact({
      timeout_ms: options.timeoutMs,
      cpu_ms: options.cpuMs,
      memory_mb: options.memoryMb,
      disk_mb: options.diskMb,
      pids: options.pids,
      cpus: options.cpus,
      dependencies: await dependenciesOf(options.dependencies),
      image: options.image,
    });
    const json: Schemas["NewTemplate"] = compact({
      name: options.name,
      from: options.from,
      snapshot: options.snapshot,
      description: options.description,
      env: options.env,
      preload: options.preload && [...options.preload],
      profile: Object.keys(profile).length > 0 ? profile : undefined,
      pool: poolOf(options.pool),
      session_pool: poolOf(options.sessionPool),
    });
    if (options.onBuild !== undefined && options.dependencies !== undefined) {
      await build(this.connection, options.dependencies, { ...callOf(options), onBuild: options.onBuild, template: options.from });
    }
    const ask = { ...callOf(options), json, runsForMs: withBuild(undefined, profile) };
    return camelize(await this.connection.json("POST", "/v1/templates", TEMPLATE, ask));
  }

  /** Deletes a template. Its sandboxes keep running. */
  async remove(name: string, options: CallOptions = {}): Promise<void> {
    await this.connection.done("DELETE", of("templates", name), options);
  }
}

export class Snapshots {
  constructor(private readonly connection: Connection) {}

  async list(options: CallOptions = {}): Promise<Snapshot[]> {
    return camelize(await this.connection.json<AnswerOf<"listSnapshots", 200>>("GET", "/v1/snapshots", { snapshots: "objects" }, options)).snapshots;
  }

  async get(id: string, options: CallOptions = {}): Promise<Snapshot> {
    return camelize(await this.connection.json("GET", of("snapshots", id), SNAPSHOT, options));
  }

  async remove(id: string, options: CallOptions = {}): Promise<void> {
    await this.connection.done("DELETE", of("snapshots", id), options);
  }
}

export interface RunFilter extends CallOptions {
  status?: Schemas["RunStatus"];
  template?: string;
  /** Started at or after. */
  since?: Date;
  /** The largest number of records; default 50. */
  limit?: number;
}

export class Runs {
  constructor(private readonly connection: Connection) {}

  /** Newest first. */
  async list(filter: RunFilter = {}): Promise<RunSummary[]> {
    const query = { status: filter.status, template: filter.template, since_ms: filter.since?.getTime() };
    const found = await pages<Schemas["RunSummary"]>(this.connection, "/v1/runs", "runs", filter, query, filter.limit ?? 50);
    return camelize(found);
  }

  /** One record, with the output that is kept. */
  async get(id: string, options: CallOptions = {}): Promise<RunRecord> {
    return camelize(await this.connection.json("GET", of("runs", id), RUN_RECORD, options));
  }
}

export interface KeyOptions extends CallOptions {
  project?: string;
  name?: string;
  role?: "user" | "admin";
  maxInFlight?: number;
  runsPerMinute?: number;
  maxMemoryMb?: number;
}

/** Admin keys only. */
export class Keys {
  constructor(private readonly connection: Connection) {}

  async list(options: CallOptions = {}): Promise<Key[]> {
    return camelize(await this.connection.json<AnswerOf<"listKeys", 200>>("GET", "/v1/keys", { keys: "objects" }, options)).keys;
  }

  async create(options: KeyOptions = {}): Promise<NewKey> {
    const limits = compact({
      max_in_flight: options.maxInFlight,
      runs_per_minute: options.runsPerMinute,
      max_memory_mb: options.maxMemoryMb,
    });
    const json: Schemas["NewKey"] = compact({
      project: options.project,
      name: options.name,
      role: options.role,
      limits: Object.keys(limits).length > 0 ? limits : undefined,
    });
    return camelize(await this.connection.json("POST", "/v1/keys", NEW_KEY, { ...callOf(options), json }));
  }

  /** Revokes a key immediately. */
  async revoke(id: string, options: CallOptions = {}): Promise<void> {
    await this.connection.done("DELETE", of("keys", id), options);
  }
}

function of(what: string, id: string): string {
  return `/v1/${what}/${segment(id)}`;
}

function poolOf(pool: NewTemplate["pool"]): Schemas["Pool"] | undefined {
  return typeof pool === "number" ? { min: pool } : pool;
}
