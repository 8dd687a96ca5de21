// Code contexts: persistent interpreters in a sandbox, which keep their variables.

import { CODE, CONTEXT } from "./responses.js";
import { callOf, type CallOptions, type Connection } from "./connection.js";
import { type Camel, camelize, compact, type Language, type Schemas, segment } from "./wire.js";

export type Context = Camel<Schemas["Context"]>;

export interface ContextOptions extends CallOptions {
  /** Default "python". */
  language?: Language;
  /** The user that the interpreter runs as, by default in its home directory. */
  user?: string;
  cwd?: string;
  env?: Record<string, string>;
}

export class Contexts {
  private readonly path: string;
  // The options of each context, for `restart`: the server does not return its environment.
  readonly #made = new Map<string, ContextOptions>();

  constructor(
    private readonly connection: Connection,
    private readonly sandbox: string,
  ) {
    this.path = `${sandbox}/contexts`;
  }

  async create(options: ContextOptions = {}): Promise<Context> {
    const { language, user, cwd, env } = options;
    const json = compact({ language, user, cwd, env });
    const context = await this.connection.json("POST", this.path, CONTEXT, { ...callOf(options), json });
    this.#made.set(context.id, json);
    return camelize(context);
  }

  async list(options: CallOptions = {}): Promise<Context[]> {
    const { contexts } = await this.connection.json<{ contexts: Schemas["Context"][] }>("GET", this.path, { contexts: "objects" }, options);
    return camelize(contexts);
  }

  async get(context: string | Context, options: CallOptions = {}): Promise<Context> {
    return camelize(await this.connection.json("GET", this.of(context), CONTEXT, options));
  }

  /** Like Ctrl-C: stops the running statement and keeps the state. */
  async interrupt(context: string | Context, options: CallOptions = {}): Promise<void> {
    await this.connection.done("POST", `${this.of(context)}/interrupt`, options);
  }

  /**
   * Replaces the context with an empty one in the same directory. The default context of a language keeps
   * its id; any other gets a new id and the environment variables that it was created with here.
   */
  async restart(context: string | Context, options: CallOptions = {}): Promise<Context> {
    const { id, language, user, cwd } = await this.get(context, options);
    const made = this.#made.get(id);
    await this.remove(id, options);
    if (id !== language) return this.create({ ...callOf(options), language, user, cwd, ...made });
    await this.connection.json("POST", `${this.sandbox}/code`, CODE, { ...callOf(options), json: { code: "", language } });
    return this.get(id, options);
  }

  async remove(context: string | Context, options: CallOptions = {}): Promise<void> {
    await this.connection.done("DELETE", this.of(context), options);
    this.#made.delete(idOf(context));
  }

  private of(context: string | Context): string {
    return `${this.path}/${segment(idOf(context))}`;
  }
}

export function idOf(context: string | Context): string {
  return typeof context === "string" ? context : context.id;
}
