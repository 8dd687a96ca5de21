// The files of a sandbox. Paths are absolute, or below the home of the user they are used as.

import { FILE } from "./answers.js";
import { isAsyncIterable, piecesOf, streamOf, toBase64, toText } from "./bytes.js";
import { callOf, type CallOptions, type Connection, type Query } from "./connection.js";
import { platform } from "./platform/node.js";
import type { WireBody } from "./transport.js";
import { openWatch, type Watch } from "./watch.js";
import { type AnswerOf, type Camel, camelize, compact, type Schemas } from "./wire.js";

export type FileEntry = Camel<Schemas["FileEntry"]>;

/** Text, or bytes where a name is not UTF-8 (`pathBase64` of an entry). */
export type GuestPath = string | Uint8Array;

export interface FileOptions extends CallOptions {
  /** As whom; default "user". */
  user?: string;
}
export interface ReadOptions extends FileOptions {
  /** The first byte that is wanted. */
  offset?: number;
  /** How many bytes at most. */
  length?: number;
  /**
   * More is an error: a guest can make a file look as large as it likes. Of `read` 256 MB, of `download`
   * into something 1 GB; of `download` as a stream, which may be left at any time, none.
   */
  maxBytes?: number;
}
export interface WriteOptions extends FileOptions {
  /** Like "0600"; default "0644". */
  mode?: string;
  /** user or user:group; needs `user: "root"`. */
  owner?: string;
  /** false: refuse when it is there already. */
  overwrite?: boolean;
}
export interface MoveOptions extends FileOptions {
  overwrite?: boolean;
}

/** Content of any size: bytes, text, a Blob, a stream, or pieces as they come. */
export type Source = string | Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

// Of files: they may be large, and the sandbox slow. Zero: the caller's signal ends it.
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

  /** A file's bytes, or some of them. */
  async read(path: GuestPath, options: ReadOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    if (options.length === 0) return new Uint8Array(0);
    const { maxBytes = MOST_READ } = options;
    const ask = { ...LONG, ...BYTES, maxBytes, ...this.ask(path, options), headers: rangeOf(options) };
    return this.connection.bytes("GET", this.path, ask);
  }

  /** The same as text; what is not UTF-8 is replaced. */
  async readText(path: GuestPath, options: ReadOptions = {}): Promise<string> {
    return toText(await this.read(path, options));
  }

  /** Takes the place of an older one when all of it has arrived; parents are made. */
  async write(path: GuestPath, content: Source, options: WriteOptions = {}): Promise<FileEntry> {
    const { mode, owner, overwrite } = options;
    const ask = { ...LONG, ...this.ask(path, options, { mode, owner, overwrite }), body: bodyOf(content) };
    return camelize(await this.connection.json("PUT", this.path, FILE, ask));
  }

  /** What is in a directory, in no order; `depth` 0 is without end. */
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

  /** A directory and its parents; that it is there already is no error. */
  async mkdir(path: GuestPath, options: FileOptions & { mode?: string; owner?: string } = {}): Promise<FileEntry> {
    const { mode, owner, user } = options;
    return this.post("mkdir", { ...named("path", path), mode, owner, user }, options);
  }

  async move(from: GuestPath, to: GuestPath, options: MoveOptions = {}): Promise<FileEntry> {
    const { overwrite, user } = options;
    return this.post("move", { ...named("from", from), ...named("to", to), overwrite, user }, options);
  }

  /** Whole trees, too. */
  async copy(from: GuestPath, to: GuestPath, options: MoveOptions = {}): Promise<FileEntry> {
    const { overwrite, user } = options;
    return this.post("copy", { ...named("from", from), ...named("to", to), overwrite, user }, options);
  }

  async remove(path: GuestPath, options: FileOptions & { recursive?: boolean } = {}): Promise<void> {
    await this.connection.done("DELETE", this.path, this.ask(path, options, { recursive: options.recursive }));
  }

  /** What happens below a directory from now on. */
  async watch(path: GuestPath, options: FileOptions & { recursive?: boolean } = {}): Promise<Watch> {
    return openWatch(this.connection, `${this.path}/watch`, this.ask(path, options, { recursive: options.recursive }));
  }

  /** Content of any size into the sandbox; in Node a string is the path of a local file. */
  async upload(source: Source, path: GuestPath, options: WriteOptions = {}): Promise<FileEntry> {
    return this.write(path, typeof source === "string" ? await platform.readLocal(source) : source, options);
  }

  /** A file of any size, as a stream; the guest says what size. */
  download(path: GuestPath, options?: ReadOptions): Promise<ReadableStream<Uint8Array>>;
  /** A file into a local file (Node) or a stream. */
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

  /** A tree as a tar archive. */
  async downloadTar(path: GuestPath, options: FileOptions = {}): Promise<ReadableStream<Uint8Array>> {
    const ask = { accept: "application/x-tar", ...this.ask(path, options) };
    return streamOf((await this.connection.stream("GET", `${this.path}/tar`, ask)).body);
  }

  /** Unpacks a tar archive below a directory, which is made. */
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

/** Names need not be UTF-8. */
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

