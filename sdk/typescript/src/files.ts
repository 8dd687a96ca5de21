// The files of a sandbox. Paths are absolute, or relative to the home directory of the user.

import { FILE } from "./responses.js";
import { isAsyncIterable, piecesOf, streamOf, toBase64, toText } from "./bytes.js";
import { callOf, type CallOptions, type Connection, type Query } from "./connection.js";
import { platform } from "./platform/node.js";
import type { WireBody } from "./transport.js";
import { openWatch, type Watch } from "./watch.js";
import { type AnswerOf, type Camel, camelize, compact, type Schemas } from "./wire.js";

export type FileEntry = Camel<Schemas["FileEntry"]>;

/** A string, or bytes if the name is not UTF-8 (`pathBase64` of an entry). */
export type GuestPath = string | Uint8Array;

export interface FileOptions extends CallOptions {
  /** The user in the sandbox; default "user". */
  user?: string;
}
export interface ReadOptions extends FileOptions {
  /** The first byte to read. */
  offset?: number;
  /** The number of bytes to read. */
  length?: number;
  /**
   * A larger file is an error, because a guest can claim any size. Default: 256 MB for `read`, 1 GB for
   * `download` to a target, no limit for `download` as a stream.
   */
  maxBytes?: number;
}
export interface WriteOptions extends FileOptions {
  /** Like "0600"; default "0644". */
  mode?: string;
  /** user or user:group; needs `user: "root"`. */
  owner?: string;
  /** false: fail if the target exists. */
  overwrite?: boolean;
}
export interface MoveOptions extends FileOptions {
  overwrite?: boolean;
}

/** Content of any size: bytes, text, a Blob, a stream or an iterable of pieces. */
export type Source = string | Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

// Files may be large and the sandbox slow: no timeout, only the caller's signal.
const LONG = { runsForMs: 0 };
const MOST_READ = 256 * 1024 * 1024;
const MOST_DOWNLOADED = 1024 * 1024 * 1024;
const BYTES = { accept: "application/octet-stream" };

export class Files {
  private readonly path: string;

  constructor(
    private readonly connection: Connection,
    sandbox: string,
  ) {
    this.path = `${sandbox}/files`;
  }

  /** Reads a file or a part of it. */
  async read(path: GuestPath, options: ReadOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    if (options.length === 0) return new Uint8Array(0);
    const { maxBytes = MOST_READ } = options;
    const ask = { ...LONG, ...BYTES, maxBytes, ...this.ask(path, options), headers: rangeOf(options) };
    return this.connection.bytes("GET", this.path, ask);
  }

  /** The same as text; invalid UTF-8 is replaced. */
  async readText(path: GuestPath, options: ReadOptions = {}): Promise<string> {
    return toText(await this.read(path, options));
  }

  /** Writes a file. Replaces an existing one atomically and creates parent directories. */
  async write(path: GuestPath, content: Source, options: WriteOptions = {}): Promise<FileEntry> {
    const { mode, owner, overwrite } = options;
    const ask = { ...LONG, ...this.ask(path, options, { mode, owner, overwrite }), body: bodyOf(content) };
    return camelize(await this.connection.json("PUT", this.path, FILE, ask));
  }

  /** Lists a directory in no particular order; `depth` 0 is unlimited. */
  async list(path: GuestPath, options: FileOptions & { depth?: number; limit?: number } = {}): Promise<FileEntry[]> {
    const { depth, limit } = options;
    const ask = this.ask(path, options, { depth, limit });
    const page = await this.connection.json<{ entries: Schemas["FileEntry"][] }>("GET", `${this.path}/list`, { entries: "objects" }, ask);
    return camelize(page.entries);
  }

  async stat(path: GuestPath, options: FileOptions & { follow?: boolean } = {}): Promise<FileEntry> {
    const ask = this.ask(path, options, { follow: options.follow });
    return camelize(await this.connection.json("GET", `${this.path}/stat`, FILE, ask));
  }

  async exists(path: GuestPath, options: FileOptions & { follow?: boolean } = {}): Promise<boolean> {
    const ask = this.ask(path, options, { follow: options.follow });
    return (await this.connection.json<{ exists: boolean }>("GET", `${this.path}/exists`, { exists: "flag" }, ask)).exists;
  }

  /** Creates a directory and its parents; an existing directory is no error. */
  async mkdir(path: GuestPath, options: FileOptions & { mode?: string; owner?: string } = {}): Promise<FileEntry> {
    const { mode, owner, user } = options;
    return this.post("mkdir", { ...named("path", path), mode, owner, user }, options);
  }

  async move(from: GuestPath, to: GuestPath, options: MoveOptions = {}): Promise<FileEntry> {
    const { overwrite, user } = options;
    return this.post("move", { ...named("from", from), ...named("to", to), overwrite, user }, options);
  }

  /** Copies a file or a directory tree. */
  async copy(from: GuestPath, to: GuestPath, options: MoveOptions = {}): Promise<FileEntry> {
    const { overwrite, user } = options;
    return this.post("copy", { ...named("from", from), ...named("to", to), overwrite, user }, options);
  }

  async remove(path: GuestPath, options: FileOptions & { recursive?: boolean } = {}): Promise<void> {
    await this.connection.done("DELETE", this.path, this.ask(path, options, { recursive: options.recursive }));
  }

  /** Watches a directory tree for changes. */
  async watch(path: GuestPath, options: FileOptions & { recursive?: boolean } = {}): Promise<Watch> {
    return openWatch(this.connection, `${this.path}/watch`, this.ask(path, options, { recursive: options.recursive }));
  }

  /** Uploads content of any size; in Node a string is the path of a local file. */
  async upload(source: Source, path: GuestPath, options: WriteOptions = {}): Promise<FileEntry> {
    return this.write(path, typeof source === "string" ? await platform.readLocal(source) : source, options);
  }

  /** Downloads a file of any size as a stream. */
  download(path: GuestPath, options?: ReadOptions): Promise<ReadableStream<Uint8Array>>;
  /** Downloads a file into a local file (Node) or a stream. */
  download(path: GuestPath, target: string | WritableStream<Uint8Array>, options?: ReadOptions): Promise<void>;
  async download(
    path: GuestPath,
    target?: string | WritableStream<Uint8Array> | ReadOptions,
    more?: ReadOptions,
  ): Promise<ReadableStream<Uint8Array> | void> {
    const isTarget = typeof target === "string" || target instanceof WritableStream;
    const options = (isTarget ? more : target) ?? {};
    const { maxBytes = isTarget ? MOST_DOWNLOADED : undefined } = options;
    const ask = { ...BYTES, maxBytes, ...this.ask(path, options), headers: rangeOf(options) };
    const { body } = await this.connection.stream("GET", this.path, ask);
    if (!isTarget) return streamOf(body);
    if (typeof target === "string") return platform.writeLocal(target, body);
    return streamOf(body).pipeTo(target);
  }

  /** Downloads a directory tree as a tar archive. */
  async downloadTar(path: GuestPath, options: FileOptions = {}): Promise<ReadableStream<Uint8Array>> {
    const ask = { accept: "application/x-tar", ...this.ask(path, options) };
    return streamOf((await this.connection.stream("GET", `${this.path}/tar`, ask)).body);
  }

  /** Unpacks a tar archive into a directory, which is created. */
  async uploadTar(
    archive: Exclude<Source, string>,
    path: GuestPath,
    options: FileOptions = {},
  ): Promise<AnswerOf<"writeTar", 200>> {
    const headers = { "Content-Type": "application/x-tar" };
    const ask = { ...LONG, ...this.ask(path, options), headers, body: bodyOf(archive) };
    return this.connection.json<AnswerOf<"writeTar", 200>>("PUT", `${this.path}/tar`, { entries: "number", bytes: "number" }, ask);
  }

  private ask(path: GuestPath, options: FileOptions, query: Query = {}): CallOptions & { query: Query } {
    return { ...compact(callOf(options)), query: { ...named("path", path), user: options.user, ...query } };
  }

  private async post(what: "mkdir" | "move" | "copy", body: object, options: CallOptions): Promise<FileEntry> {
    const ask = { ...LONG, ...compact(callOf(options)), json: compact(body) };
    return camelize(await this.connection.json("POST", `${this.path}/${what}`, FILE, ask));
  }
}

/** Sends a name that is not UTF-8 as base64. */
function named(field: "path" | "from" | "to", path: GuestPath): Record<string, string> {
  return typeof path === "string" ? { [field]: path } : { [`${field}_base64`]: toBase64(path) };
}

function rangeOf({ offset, length }: ReadOptions): Record<string, string> {
  if (offset === undefined && length === undefined) return {};
  const first = offset ?? 0;
  return { Range: `bytes=${first}-${length === undefined ? "" : first + length - 1}` };
}

function bodyOf(source: Source): WireBody {
  if (source instanceof ReadableStream) return piecesOf(source);
  if (isAsyncIterable(source)) return source;
  return source;
}

