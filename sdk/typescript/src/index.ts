// The public API of the package.

/// <reference lib="esnext.disposable" preserve="true" />

export { Client, configure, defaultClient, run, stopPrivateServer } from "./client.js";
export type { CallOptions, ClientOptions } from "./connection.js";
export { Contexts, type Context, type ContextOptions } from "./contexts.js";
export type { BuildCallbacks, BuildProgress, Dependencies, DependencySet, TextOrFile } from "./dependencies.js";
export {
  ApiError,
  AuthError,
  ConflictError,
  ConnectionFailed,
  DependencyError,
  ExecutionError,
  ForbiddenError,
  GloveboxError,
  InvalidRequestError,
  LimitError,
  NotFoundError,
  ProtocolError,
  ServerStartError,
  TimeoutExpired,
  UnavailableError,
} from "./errors.js";
export type { EventOptions, ProjectEvent } from "./events.js";
export type { Fetch } from "./fetch_transport.js";
export {
  Files,
  type FileEntry,
  type FileOptions,
  type GuestPath,
  type MoveOptions,
  type ReadOptions,
  type Source,
  type WriteOptions,
} from "./files.js";
export { Functions, InvokeResult, type FunctionError, type InvokeOptions } from "./functions.js";
export { Layers, type BuildOptions, type BuiltLayer, type Layer, type LayerCheck, type LayerPackage, type PrunedLayers } from "./layers.js";
export type { RunLimits, SandboxLimits } from "./limits.js";
export type { LiveCallbacks } from "./run_stream.js";
export type { Net, NetPolicy, NetworkDecision, NetworkFigures } from "./network.js";
export {
  Process,
  type AttachOptions,
  type ExecOptions,
  type ExitEvent,
  type LostEvent,
  type OutputEvent,
  type ProcessEvent,
  type StartOptions,
} from "./process.js";
export {
  Keys,
  Runs,
  Snapshots,
  Templates,
  type Key,
  type KeyOptions,
  type NewKey,
  type NewTemplate,
  type RunFilter,
  type RunRecord,
  type RunSummary,
  type Snapshot,
  type Template,
} from "./resources.js";
export { CodeResult, ExecResult, RunResult, type OutputFile } from "./results.js";
export type { FileIn, RunOptions } from "./run.js";
export {
  Sandbox,
  type CodeOptions,
  type CreateOptions,
  type ListOptions,
  type LogEntry,
  type ProcessInfo,
  type SandboxInfo,
  type SandboxMetrics,
  type SandboxNetwork,
  type SandboxState,
} from "./sandbox.js";
export { type FileEvent, Watch } from "./watch.js";
export type { WebSocketConstructor } from "./web_socket.js";
export type { Grade, Isolation, Language, Mime, RunError } from "./wire.js";
