// Installed package sets (layers).

import { BUILT_LAYER, checked, LAYER } from "./responses.js";
import { type Ask, callOf, type CallOptions, type Connection } from "./connection.js";
import { type BuildCallbacks, buildProgress, BUILD_MS, type Dependencies, dependenciesOf } from "./dependencies.js";
import { GloveboxError, refusalOf } from "./errors.js";
import { jsonLines } from "./lines.js";
import { type AnswerOf, type Camel, camelize, compact, type Schemas, segment } from "./wire.js";

/** An installed package set. Different requests may resolve to the same one. */
export type Layer = Camel<Schemas["Layer"]>;
/** A layer and whether it was built now. */
export type BuiltLayer = Camel<Schemas["BuiltLayer"]>;
export type LayerPackage = Camel<Schemas["LayerPackage"]>;
export type LayerCheck = Camel<AnswerOf<"checkLayer", 200>>;
export type PrunedLayers = Camel<AnswerOf<"pruneLayers", 200>>;

export interface BuildOptions extends BuildCallbacks, CallOptions {
  /** Template of the sandboxes that use it; default "python". */
  template?: string;
}

export class Layers {
  constructor(private readonly connection: Connection) {}

  /** The layers of the project, most recently used first; all layers for admin keys. */
  async list(options: CallOptions = {}): Promise<Layer[]> {
    return camelize(await this.connection.json<AnswerOf<"listLayers", 200>>("GET", "/v1/layers", { layers: "objects" }, options)).layers;
  }

  /** Finds a layer by its id or at least its first eight characters. */
  async get(id: string, options: CallOptions = {}): Promise<Layer> {
    return camelize(await this.connection.json("GET", of(id), LAYER, options));
  }

  /** Installs a package set in advance. Throws a DependencyError if it cannot be installed. */
  async build(dependencies: Dependencies, options: BuildOptions = {}): Promise<BuiltLayer> {
    return build(this.connection, dependencies, options);
  }

  /** Admin keys only. A layer in use is a ConflictError. */
  async remove(id: string, options: CallOptions = {}): Promise<void> {
    await this.connection.done("DELETE", of(id), options);
  }

  /** Admin keys only: removes layers that were not used for this long and are not in use. */
  async prune(options: CallOptions & { unusedForSeconds?: number; dryRun?: boolean } = {}): Promise<PrunedLayers> {
    const json = compact({ unused_for_s: options.unusedForSeconds, dry_run: options.dryRun });
    const ask = { ...callOf(options), json, runsForMs: CHECK_MS };
    return camelize(await this.connection.json<AnswerOf<"pruneLayers", 200>>("POST", "/v1/layers/prune", { removed: "list", bytes: "number" }, ask));
  }

  /** Admin keys only: compares a layer with its digest. A changed layer is not used any more. */
  async check(id: string, options: CallOptions = {}): Promise<LayerCheck> {
    const ask = { ...callOf(options), runsForMs: CHECK_MS };
    return camelize(await this.connection.json<AnswerOf<"checkLayer", 200>>("POST", `${of(id)}/check`, { intact: "flag" }, ask));
  }
}

// The server reads the whole layer from disk.
const CHECK_MS = 300_000;

/** Builds a layer and reports its progress. */
export async function build(connection: Connection, dependencies: Dependencies, options: BuildOptions): Promise<BuiltLayer> {
  const said = await dependenciesOf(dependencies);
  if (said === undefined) throw new GloveboxError("dependencies must name at least one package");
  const json: Schemas["NewLayer"] = { template: options.template ?? "python", dependencies: said };
  // Repeating it is safe: a layer is built once.
  const ask: Ask = { ...callOf(options), json, runsForMs: BUILD_MS, repeatable: true };
  if (options.onBuild === undefined) return camelize(await connection.json("POST", "/v1/layers", BUILT_LAYER, ask));
  const answer = await connection.stream("POST", "/v1/layers", { ...ask, accept: "application/x-ndjson", isBounded: true });
  let layer: BuiltLayer | null = null;
  for await (const { event, ...fields } of jsonLines(answer.body)) {
    if (event === "build") await options.onBuild(buildProgress(fields));
    else if (event === "error") throw refusalOf(fields);
    else if (event === "layer") layer = camelize(checked(fields, BUILT_LAYER));
  }
  if (layer === null) throw new GloveboxError("the stream ended before the build ended");
  return layer;
}

function of(id: string): string {
  return `/v1/layers/${segment(id)}`;
}
