// Sets of packages that were installed and are kept.

import { BUILT_LAYER, checked, LAYER } from "./answers.js";
import { type Ask, callOf, type CallOptions, type Connection } from "./connection.js";
import { type BuildCallbacks, buildWord, BUILD_MS, type Dependencies, dependenciesOf } from "./dependencies.js";
import { GloveboxError, refusalOf } from "./errors.js";
import { jsonLines } from "./lines.js";
import { type AnswerOf, type Camel, camelize, compact, type Schemas, segment } from "./wire.js";

/** A set of packages; several that were asked for may have come to it. */
export type Layer = Camel<Schemas["Layer"]>;
/** And what became of asking for it. */
export type BuiltLayer = Camel<Schemas["BuiltLayer"]>;
export type LayerPackage = Camel<Schemas["LayerPackage"]>;
export type LayerCheck = Camel<AnswerOf<"checkLayer", 200>>;
export type PrunedLayers = Camel<AnswerOf<"pruneLayers", 200>>;

export interface BuildOptions extends BuildCallbacks, CallOptions {
  /** What sandboxes with it are made of; default "python". */
  template?: string;
}

export class Layers {
  constructor(private readonly connection: Connection) {}

  /** Those that the project asked for, the most recently used first; for admin keys all of them. */
  async list(options: CallOptions = {}): Promise<Layer[]> {
    return camelize(await this.connection.json<AnswerOf<"listLayers", 200>>("GET", "/v1/layers", { layers: "objects" }, options)).layers;
  }

  /** By its id, or the first eight or more characters of it. */
  async get(id: string, options: CallOptions = {}): Promise<Layer> {
    return camelize(await this.connection.json("GET", of(id), LAYER, options));
  }

  /** Makes a set ahead, if it is not there. What cannot be installed is a DependencyError. */
  async build(dependencies: Dependencies, options: BuildOptions = {}): Promise<BuiltLayer> {
    return build(this.connection, dependencies, options);
  }

  /** For admin keys; one in use is a ConflictError. */
  async remove(id: string, options: CallOptions = {}): Promise<void> {
    await this.connection.done("DELETE", of(id), options);
  }

  /** For admin keys: removes those that nobody used for so long, and none that is in use. */
  async prune(options: CallOptions & { unusedForSeconds?: number; dryRun?: boolean } = {}): Promise<PrunedLayers> {
    const json = compact({ unused_for_s: options.unusedForSeconds, dry_run: options.dryRun });
    const ask = { ...callOf(options), json, runsForMs: CHECK_MS };
    return camelize(await this.connection.json<AnswerOf<"pruneLayers", 200>>("POST", "/v1/layers/prune", { removed: "list", bytes: "number" }, ask));
  }

  /** For admin keys: compares it with its digest. One that was changed is taken out of use. */
  async check(id: string, options: CallOptions = {}): Promise<LayerCheck> {
    const ask = { ...callOf(options), runsForMs: CHECK_MS };
    return camelize(await this.connection.json<AnswerOf<"checkLayer", 200>>("POST", `${of(id)}/check`, { intact: "flag" }, ask));
  }
}

// Gigabytes are read from a disk.
const CHECK_MS = 300_000;

/** For whoever makes something with packages and wants to hear of them. */
export async function build(connection: Connection, dependencies: Dependencies, options: BuildOptions): Promise<BuiltLayer> {
  const said = await dependenciesOf(dependencies);
  if (said === undefined) throw new GloveboxError("dependencies: name at least one package");
  const json: Schemas["NewLayer"] = { template: options.template ?? "python", dependencies: said };
  // Asked for twice it is made once.
  const ask: Ask = { ...callOf(options), json, runsForMs: BUILD_MS, repeatable: true };
  if (options.onBuild === undefined) return camelize(await connection.json("POST", "/v1/layers", BUILT_LAYER, ask));
  const answer = await connection.stream("POST", "/v1/layers", { ...ask, accept: "application/x-ndjson", isBounded: true });
  let layer: BuiltLayer | null = null;
  for await (const { event, ...fields } of jsonLines(answer.body)) {
    if (event === "build") await options.onBuild(buildWord(fields));
    else if (event === "error") throw refusalOf(fields);
    else if (event === "layer") layer = camelize(checked(fields, BUILT_LAYER));
  }
  if (layer === null) throw new GloveboxError("the stream ended before the build did");
  return layer;
}

function of(id: string): string {
  return `/v1/layers/${segment(id)}`;
}
