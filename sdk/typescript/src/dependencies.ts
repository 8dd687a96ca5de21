// Packages that a sandbox has, in our spelling and in the contract's, and what is said while they are
// installed. Python's or npm's, by the template's language.

import { readText } from "./bytes.js";
import { GloveboxError } from "./errors.js";
import { platform } from "./platform/node.js";
import { compact, type Schemas } from "./wire.js";

/** A text, or a file of this machine whose text is sent. */
export type TextOrFile = string | { path: string };

export interface DependencySet {
  /** Like "pandas>=2", or of npm's "lodash@4". */
  packages?: readonly string[];
  /** A requirements.txt, with or without hashes; may go together with `packages`. */
  requirements?: TextOrFile;
  /** A pylock.toml or a package-lock.json, instead of the two above. */
  lock?: TextOrFile;
  /** Modules that are imported ahead, so that calls need not. */
  preload?: readonly string[];
}

/** A list like ["pandas>=2"], or more to say. They are installed once, before the first call that asks for them. */
export type Dependencies = readonly string[] | DependencySet;

/** What is said while a set of packages is made. */
export interface BuildWord {
  /** "queued", "resolving", "building", "installing", "sealing", "checking", "warming" or "ready". */
  phase: string;
  /** A line of the installer's, or empty when the phase begins. */
  text: string;
}

export interface BuildCallbacks {
  /** Called while packages are installed; an asynchronous one is waited for. */
  onBuild?: (word: BuildWord) => void;
}

/** How long a build may take at most, as a server's `deps.build_timeout` is by default. */
export const BUILD_MS = 900_000;
const MOST_TEXT = 256 * 1024;

/** `dependencies` of a request; undefined when there are none. */
export async function dependenciesOf(wish: Dependencies | undefined): Promise<Schemas["Dependencies"] | undefined> {
  if (wish === undefined) return undefined;
  if (isList(wish)) return wish.length > 0 ? strings("dependencies", wish) : undefined;
  if (typeof wish !== "object" || wish === null) throw new GloveboxError("dependencies: a list of packages or an object");
  const { packages, requirements, lock, preload, ...rest } = wish;
  const made = compact({
    // What is not known here goes along: the server says what it makes of it.
    ...rest,
    packages: packages && packages.length > 0 ? strings("dependencies.packages", packages) : undefined,
    requirements: requirements === undefined ? undefined : await textOf("requirements", requirements),
    lock: lock === undefined ? undefined : await textOf("lock", lock),
    preload: preload && preload.length > 0 ? strings("dependencies.preload", preload) : undefined,
  });
  return Object.keys(made).length > 0 ? made : undefined;
}

/** How long a call may take that takes `runsForMs` when everything is there; zero: nobody knows. */
export function withBuild(runsForMs: number | undefined, profile: Schemas["Profile"] | undefined): number | undefined {
  return profile?.dependencies === undefined || runsForMs === 0 ? runsForMs : (runsForMs ?? 0) + BUILD_MS;
}

export function buildWord(event: Record<string, unknown>): BuildWord {
  const { phase, text } = event;
  return { phase: typeof phase === "string" ? phase : "", text: typeof text === "string" ? text : "" };
}

function strings(name: string, values: readonly string[]): string[] {
  if (!Array.isArray(values) || !values.every((value) => typeof value === "string")) {
    throw new GloveboxError(`${name}: a list of strings`);
  }
  return [...values];
}

async function textOf(name: string, said: TextOrFile): Promise<string> {
  if (typeof said === "string") {
    // A file's name is no requirement: whoever writes one means the file.
    if (/^\s*[^\s]+\.(txt|in|toml|json|lock)\s*$/.test(said)) {
      throw new GloveboxError(`dependencies.${name} is a text: write { path: ${JSON.stringify(said.trim())} } for a file`);
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
    if (size > MOST_TEXT) throw new GloveboxError(`dependencies: ${path} has more than ${MOST_TEXT / 1024} KB`);
    yield piece;
  }
}

function isList(wish: Dependencies): wish is readonly string[] {
  return Array.isArray(wish);
}
