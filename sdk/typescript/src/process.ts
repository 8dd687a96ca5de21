// A running program in a sandbox: its events, its input and its end, over a WebSocket. A lost connection
// is re-established and resumes where it stopped.

import { toBase64 } from "./bytes.js";
import { callOf, type CallOptions, type Connection } from "./connection.js";
import { ApiError, ConnectionFailed, errorOf, GloveboxError, ProtocolError } from "./errors.js";
import { parseObject } from "./lines.js";
import { OutputCollector, pieceOf } from "./output.js";
import { withTimeout, type WaitLimits } from "./timeouts.js";
import { ExecResult } from "./results.js";
import { stdinOf } from "./run.js";
import { type MessageSocket, TransportFailure } from "./transport.js";
import { compact, type Schemas } from "./wire.js";

export interface ExecOptions extends CallOptions {
  /** Absolute; default: the user's home. */
  cwd?: string;
  env?: Record<string, string>;
  /** A user name or id in the sandbox; default "user". */
  user?: string;
  stdin?: string | Uint8Array;
  /** The program is killed after this time. Default: 60 s for `exec`, none for `start`; zero: none. */
  timeoutMs?: number;
  /** How much output the result keeps; default 1024. */
  outputKb?: number;
  /** Called with each piece of output; a returned promise is awaited, and an exception ends the call. */
  onStdout?: (text: string) => void;
  onStderr?: (text: string) => void;
}

export interface StartOptions extends ExecOptions {
  /** Use a terminal instead of pipes; its output is stdout. */
  terminal?: { rows?: number; columns?: number };
  /** Whether the program ends with this connection; default "keep". */
  onDisconnect?: "keep" | "kill";
}

export interface AttachOptions extends CallOptions {
  /** Start at this byte of the output; default: the oldest that is kept. */
  stdoutFrom?: number;
  stderrFrom?: number;
  outputKb?: number;
  onStdout?: (text: string) => void;
  onStderr?: (text: string) => void;
}

export interface OutputEvent {
  type: "stdout" | "stderr";
  text: string;
  bytes: Uint8Array;
  /** Position of the first byte in the whole output. */
  offset: number;
}
/** Output that was not read in time and is lost. */
export interface LostEvent {
  type: "lost";
  stream: "stdout" | "stderr";
  bytes: number;
}
export interface ExitEvent {
  type: "exit";
  exitCode: number;
  signal: number | null;
  oomKilled: boolean;
  timedOut: boolean;
}
export type ProcessEvent = OutputEvent | LostEvent | ExitEvent;

type First = { type: "start" } & Schemas["ExecRequest"] & { on_disconnect?: "keep" | "kill" };

const RECONNECTS = 5;
const MOST_REPLAYED = 64 * 1024 * 1024;

export class Process implements AsyncIterable<ProcessEvent> {
  private readonly collector: OutputCollector;
  private readonly seen = { stdout: 0, stderr: 0 };
  private exit: ExitEvent | null = null;
  private failure: unknown = null;
  private reading: Promise<unknown> = Promise.resolve();
  private isClosed = false;
  // An iteration is under way: events that `wait` reads meanwhile are kept for it.
  private isIterated = false;
  private replay: ProcessEvent[] = [];
  private replaySize = 0;

  private constructor(
    private readonly connection: Connection,
    private readonly path: string,
    private socket: MessageSocket,
    /** Its number in the sandbox's list of processes. */
    readonly number: number,
    /** Its process id inside the sandbox. */
    readonly pid: number,
    private readonly options: AttachOptions,
    private readonly comesBack: boolean,
  ) {
    this.collector = new OutputCollector((options.outputKb ?? 1024) * 1024);
    if (options.onStdout !== undefined || options.onStderr !== undefined) {
      this.drain().catch(() => undefined); // `wait` reports it
    }
  }

  static async start(connection: Connection, path: string, command: string | readonly string[], options: StartOptions): Promise<Process> {
    const first: First = compact({
      type: "start",
      ...commandOf(command, options),
      terminal: options.terminal,
      on_disconnect: options.onDisconnect,
    });
    return Process.open(connection, path, first, options, options.onDisconnect !== "kill");
  }

  static async attach(connection: Connection, path: string, number: number, options: AttachOptions): Promise<Process> {
    const first = compact({
      type: "attach",
      process: number,
      stdout_from: options.stdoutFrom,
      stderr_from: options.stderrFrom,
    });
    return Process.open(connection, path, first, options, true);
  }

  private static async open(
    connection: Connection,
    path: string,
    first: object,
    options: AttachOptions,
    comesBack: boolean,
  ): Promise<Process> {
    const [socket, started] = await connect(connection, path, first, options);
    const { process: number, pid } = started;
    if (typeof number !== "number" || typeof pid !== "number") throw new GloveboxError("unexpected response: the server did not start the program");
    return new Process(connection, path, socket, number, pid, options, comesBack);
  }

  /** Its events up to the exit event. */
  [Symbol.asyncIterator](): AsyncIterableIterator<ProcessEvent> {
    const iterator: AsyncIterableIterator<ProcessEvent> = {
      next: async () => {
        this.isIterated = true;
        const event = await this.inTurn(async () => this.fromReplay() ?? (await this.read()));
        return event === null ? this.leaveLoop() : { done: false, value: event };
      },
      return: async () => this.leaveLoop(),
      [Symbol.asyncIterator]: () => iterator,
    };
    return iterator;
  }

  async write(data: string | Uint8Array): Promise<void> {
    await this.say(typeof data === "string" ? { type: "stdin", data } : { type: "stdin", data_base64: toBase64(data) });
  }

  async closeStdin(): Promise<void> {
    await this.say({ type: "close_stdin" });
  }

  /** Sends a signal to its process group: "TERM", "INT", 9 ... */
  async signal(signal: string | number): Promise<void> {
    await this.say({ type: "signal", signal });
  }

  async resize(rows: number, columns: number): Promise<void> {
    await this.say({ type: "resize", rows, columns });
  }

  /** Kills it; use `wait` to wait for its end. */
  async kill(): Promise<void> {
    if (this.exit === null) await this.signal("KILL");
  }

  /** Detaches: the program keeps running, and `sandbox.attach(number)` attaches again. */
  async detach(): Promise<void> {
    if (!this.isClosed && this.exit === null) await this.say({ type: "detach" });
    this.close();
  }

  /** Waits for its end. The result has its output, up to `outputKb`. */
  async wait(options: WaitLimits = {}): Promise<ExecResult> {
    await withTimeout(this.drain(), options);
    if (this.failure !== null) throw this.failure;
    const { exit } = this;
    if (exit === null) throw new GloveboxError("the connection was closed before the program ended");
    const { type: _, ...how } = exit;
    const { truncated } = this.collector;
    return new ExecResult({ process: this.number, pid: this.pid, ...how, ...this.collector.fields(), truncated, metrics: null });
  }

  /** Closes the connection; `onDisconnect` decides what happens to the program. */
  close(): void {
    this.isClosed = true;
    this.socket.close();
  }

  private async drain(): Promise<void> {
    while ((await this.inTurn(() => this.readForLoop())) !== null);
  }

  private async readForLoop(): Promise<ProcessEvent | null> {
    const event = await this.read();
    if (event === null || !this.isIterated) return event;
    this.replay.push(event);
    this.replaySize += sizeOf(event);
    if (this.replaySize > MOST_REPLAYED) throw new GloveboxError("64 MB of output are waiting for the iteration; read faster");
    return event;
  }

  private fromReplay(): ProcessEvent | undefined {
    const event = this.replay.shift();
    if (event !== undefined) this.replaySize -= sizeOf(event);
    return event;
  }

  private leaveLoop(): IteratorReturnResult<undefined> {
    this.isIterated = false;
    this.replay = [];
    this.replaySize = 0;
    return { done: true, value: undefined };
  }

  /** Serializes readers, so that events stay in order. */
  private inTurn<T>(read: () => Promise<T>): Promise<T> {
    const result = this.reading.then(read);
    this.reading = result.catch(() => undefined);
    return result;
  }

  private async read(): Promise<ProcessEvent | null> {
    for (;;) {
      if (this.failure !== null) throw this.failure;
      if (this.exit !== null || this.isClosed) return null;
      try {
        const message = await this.receive();
        if (message === null) return null;
        const event = await this.eventOf(message);
        if (event !== null) return event;
      } catch (error) {
        this.failure = error;
        this.close();
        throw error;
      }
    }
  }

  private async receive(): Promise<string | null> {
    let lost: unknown;
    for (let tries = 0; ; tries += 1) {
      try {
        const message = await this.socket.receive();
        if (message !== null || this.isClosed) return message;
        lost = new TransportFailure("lost", "the server closed the connection");
      } catch (error) {
        if (this.isClosed) return null;
        lost = error;
      }
      if (!this.comesBack || tries >= RECONNECTS) {
        throw new ConnectionFailed(`the connection to process ${this.number} was lost`, { cause: lost });
      }
      await this.comeBack(tries);
    }
  }

  /** Attaches again at the last position: nothing that the sandbox still has is lost or repeated. */
  private async comeBack(tries: number): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 100 * 2 ** tries));
    const first = { type: "attach", process: this.number, stdout_from: this.seen.stdout, stderr_from: this.seen.stderr };
    try {
      const [socket] = await connect(this.connection, this.path, first, {});
      this.socket = socket;
      if (this.isClosed) socket.close(); // closed meanwhile
    } catch (error) {
      if (error instanceof ApiError && error.status !== 503) throw error;
    }
  }

  private async eventOf(text: string): Promise<ProcessEvent | null> {
    const message = parseObject(text);
    switch (message.type) {
      case "stdout":
      case "stderr":
        return this.output(message.type, message);
      case "lost": {
        const stream = message.stream === "stderr" ? "stderr" : "stdout";
        const bytes = typeof message.bytes === "number" ? message.bytes : 0;
        this.seen[stream] += bytes;
        this.collector.truncated = true;
        return { type: "lost", stream, bytes };
      }
      case "exit":
        return this.leave(message);
      case "error":
        throw errorOfMessage(message);
      default: // an event of a newer server
        return null;
    }
  }

  private async output(stream: "stdout" | "stderr", message: Record<string, unknown>): Promise<OutputEvent> {
    const { text, bytes } = pieceOf(message.data, message.data_base64);
    const offset = typeof message.offset === "number" ? message.offset : this.seen[stream];
    this.seen[stream] = offset + bytes.length;
    this.collector.add(stream, bytes);
    await (stream === "stdout" ? this.options.onStdout : this.options.onStderr)?.(text);
    return { type: stream, text, bytes, offset };
  }

  private leave(message: Record<string, unknown>): ExitEvent {
    const { exit_code: exitCode } = message;
    if (typeof exitCode !== "number") throw new ProtocolError("malformed exit event from the server");
    this.exit = {
      type: "exit",
      exitCode,
      signal: typeof message.signal === "number" ? message.signal : null,
      oomKilled: message.oom_killed === true,
      timedOut: message.timed_out === true,
    };
    this.socket.close();
    return this.exit;
  }

  private async say(message: object): Promise<void> {
    if (this.exit !== null || this.isClosed) throw new GloveboxError(`process ${this.number} has ended or was detached`);
    try {
      await this.socket.send(JSON.stringify(message));
    } catch (error) {
      throw new ConnectionFailed(`process ${this.number} cannot be reached`, { cause: error });
    }
  }
}

function sizeOf(event: ProcessEvent): number {
  return event.type === "stdout" || event.type === "stderr" ? event.bytes.length : 0;
}

export function commandOf(command: string | readonly string[], options: ExecOptions): Schemas["ExecRequest"] {
  return compact({
    ...(typeof command === "string" ? { cmd: command } : { argv: [...command] }),
    cwd: options.cwd,
    env: options.env,
    user: options.user,
    ...stdinOf(options.stdin),
    timeout_ms: options.timeoutMs,
  });
}

type Started = Record<string, unknown>;

async function connect(
  connection: Connection,
  path: string,
  first: object,
  options: CallOptions,
): Promise<[MessageSocket, Started]> {
  const socket = await openSocket(connection, path, options);
  try {
    await socket.send(JSON.stringify(first));
    const { signal, requestTimeoutMs: timeoutMs = connection.patienceMs } = options;
    const text = await withTimeout(socket.receive(), { signal, timeoutMs });
    if (text === null) throw new ConnectionFailed("the server closed the connection immediately");
    const message = parseObject(text);
    if (message.type === "error") throw errorOfMessage(message);
    return [socket, message];
  } catch (error) {
    socket.close();
    if (error instanceof TransportFailure) throw new ConnectionFailed(error.message, { cause: error });
    throw error;
  }
}

async function openSocket(connection: Connection, path: string, options: CallOptions): Promise<MessageSocket> {
  try {
    return await connection.socket(`${path}/exec/stream`, options);
  } catch (error) {
    // A browser's WebSocket hides why it was refused; an ordinary request shows it.
    if (error instanceof ConnectionFailed) await connection.json("GET", `${path}/processes`, {}, callOf(options));
    throw error;
  }
}

// Statuses of error codes: a WebSocket message has no HTTP status.
const STATUS: Readonly<Record<string, number>> = {
  not_found: 404,
  wrong_state: 409,
  taken_over: 409,
  unauthorized: 401,
  permission_denied: 403,
  resource_exhausted: 429,
  unavailable: 503,
  server_stopping: 503,
  launcher_restarting: 503,
  internal: 500,
};

function errorOfMessage(message: Record<string, unknown>): ApiError {
  const status = STATUS[String(message.code)] ?? 400;
  return errorOf(status, JSON.stringify({ error: message }), null);
}
