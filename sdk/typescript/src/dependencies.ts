// Packages of a sandbox: the SDK's options as fields of a request, and progress events of their installation.
// Python or npm packages, depending on the template's language.

import { readText } from "./bytes.js";
import { GloveboxError } from "./errors.js";
import { platform } from "./platform/node.js";
import { compact, type Schemas } from "./wire.js";

/** A text, or a local file whose text is sent. */
export type TextOrFile = string | { path: string };

export interface DependencySet {
  /** Like "pandas>=2", or "lodash@4" for npm. */
  packages?: readonly string[];
  /** A requirements.txt, with or without hashes; may go together with `packages`. */
  requirements?: TextOrFile;
  /** A pylock.toml or a package-lock.json, instead of the two above. */
  lock?: TextOrFile;
  /** Modules to import in advance, so that calls start faster. */
  preload?: readonly string[];
  /** Python: true also shows the code the packages of the host's own Python. Default: as the template says. */
  hostPackages?: boolean;
}

/** A list like ["pandas>=2"], or an object. Installed once, before the first call that needs them. */
export type Dependencies = readonly string[] | DependencySet;

/** A progress event of a package installation. */
export interface BuildProgress {
  /** "queued", "resolving", "building", "installing", "sealing", "checking", "warming" or "ready". */
  phase: string;
  /** A line of the installer's output; empty at the beginning of a phase. */
  text: string;
}

export interface BuildCallbacks {
  /** Called while packages are installed; a returned promise is awaited. */
  onBuild?: (progress: BuildProgress) => void;
}

/** The longest time of a build: the default of the server's `deps.build_timeout`. */
export const BUILD_MS = 900_000;
const MOST_TEXT = 256 * 1024;

/** `dependencies` of a request; undefined if there are none. */
export async function dependenciesOf(dependencies: Dependencies | undefined): Promise<Schemas["Dependencies"] | undefined> {
  if (dependencies === undefined) return undefined;
  if (isList(dependencies)) return dependencies.length > 0 ? strings("dependencies", dependencies) : undefined;
  if (typeof dependencies !== "object" || dependencies === null) throw new GloveboxError("dependencies must be a list of packages or an object");
  const { packages, requirements, lock, preload, hostPackages, ...rest } = dependencies;
  const made = compact({
    // Unknown fields are sent too: the server reports them.
    ...rest,
    packages: packages && packages.length > 0 ? strings("dependencies.packages", packages) : undefined,
    requirements: requirements === undefined ? undefined : await textOf("requirements", requirements),
    lock: lock === undefined ? undefined : await textOf("lock", lock),
    preload: preload && preload.length > 0 ? strings("dependencies.preload", preload) : undefined,
    host_packages: hostPackages,
  });
  return Object.keys(made).length > 0 ? made : undefined;
}

/** The longest time of a call that runs for `runsForMs` once the packages are installed; zero: unknown. */
export function withBuild(runsForMs: number | undefined, profile: Schemas["Profile"] | undefined): number | undefined {
  return profile?.dependencies === undefined || runsForMs === 0 ? runsForMs : (runsForMs ?? 0) + BUILD_MS;
}

export function buildProgress(event: Record<string, unknown>): BuildProgress {
  const { phase, text } = event;
  return { phase: typeof phase === "string" ? phase : "", text: typeof text === "string" ? text : "" };
}

function strings(name: string, values: readonly string[]): string[] {
  if (!Array.isArray(values) || !values.every((value) => typeof value === "string")) {
    throw new GloveboxError(`${name} must be a list of strings`);
  }
  return [...values];
}

async function textOf(name: string, said: TextOrFile): Promise<string> {
  if (typeof said === "string") {
    // A file name is not a requirement: the caller meant the file.
    if (/^\s*[^\s]+\.(txt|in|toml|json|lock)\s*$/.test(said)) {
      throw new GloveboxError(`dependencies.${name} is the text itself: use { path: ${JSON.stringify(said.trim())} } for a file`);
    }
    return said;
  }
  const text = await readText(bounded(await platform.readLocal(said.path), said.path));
  return text.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n");
}

async function* bounded(pieces: AsyncIterable<Uint8Array>, path: string): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const piece of pieces) {
    size += piece.length;
    if (size > MOST_TEXT) throw new GloveboxError(`dependencies: ${path} is larger than ${MOST_TEXT / 1024} KB`);
    yield piece;
  }
}

function isList(dependencies: Dependencies): dependencies is readonly string[] {
  return Array.isArray(dependencies);
}
