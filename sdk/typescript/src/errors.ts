// Errors that this package throws. Code that fails inside a sandbox is a result, not an error.

import type { RunError } from "./wire.js";

/** Base class of all errors of this package. */
export class GloveboxError extends Error {
  override name = "GloveboxError";
}

/** The server refused the request. */
export class ApiError extends GloveboxError {
  override name = "ApiError";
  constructor(
    readonly status: number,
    /** A stable code: see docs/api.md. */
    readonly code: string,
    message: string,
    readonly requestId: string | null = null,
    /** Seconds until a retry makes sense, if the server sent them. */
    readonly retryAfter: number | null = null,
  ) {
    super(message);
  }
}

/** 401: no key, or an invalid one. */
export class AuthError extends ApiError {
  override name = "AuthError";
}
/** 403: the key, the policy or the server's own rules do not allow it. */
export class ForbiddenError extends ApiError {
  override name = "ForbiddenError";
}
/** 404: it does not exist, or belongs to another project. */
export class NotFoundError extends ApiError {
  override name = "NotFoundError";
}
/** 409: not possible in this state, or it exists already. */
export class ConflictError extends ApiError {
  override name = "ConflictError";
}
/** 400, 413, 416, 422: invalid request; the message names the field. */
export class InvalidRequestError extends ApiError {
  override name = "InvalidRequestError";
}
/** Packages cannot be installed; the message contains the installer's output. */
export class DependencyError extends InvalidRequestError {
  override name = "DependencyError";
}
/** 429, 507: a limit was reached; `retryAfter` says when to retry. */
export class LimitError extends ApiError {
  override name = "LimitError";
}
/** 502, 503, 504: temporarily unavailable. */
export class UnavailableError extends ApiError {
  override name = "UnavailableError";
}

/** No server responds, or the connection was lost. */
export class ConnectionFailed extends GloveboxError {
  override name = "ConnectionFailed";
}
/** No response within the timeout. */
export class TimeoutExpired extends GloveboxError {
  override name = "TimeoutExpired";
}
/** The response is not one of a Glovebox server. */
export class ProtocolError extends GloveboxError {
  override name = "ProtocolError";
}
/** A private server could not be started. */
export class ServerStartError extends GloveboxError {
  override name = "ServerStartError";
}

/** What `raiseForError()` throws for code that failed. */
export class ExecutionError extends GloveboxError {
  override name = "ExecutionError";
  constructor(
    message: string,
    readonly exitCode: number,
    /** From the sandbox; not trusted. */
    readonly error: RunError | null,
    readonly stderr: string,
  ) {
    super(message);
  }
}

type ApiErrorClass = new (...args: ConstructorParameters<typeof ApiError>) => ApiError;

const BY_STATUS: Readonly<Record<number, ApiErrorClass>> = {
  400: InvalidRequestError,
  401: AuthError,
  403: ForbiddenError,
  404: NotFoundError,
  409: ConflictError,
  413: InvalidRequestError,
  416: InvalidRequestError,
  422: InvalidRequestError,
  429: LimitError,
  502: UnavailableError,
  503: UnavailableError,
  504: UnavailableError,
  507: LimitError,
};

/** The error for a response with an error status. `body` may have any form. */
export function errorOf(status: number, body: string, retryAfter: string | null): ApiError {
  const said = errorIn(body);
  const made = classOf(status, said?.code);
  const seconds = retryAfter !== null && /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) : null;
  return new made(
    status,
    said?.code ?? "unknown",
    said?.message ?? `the server responded with status ${status}`,
    said?.requestId ?? null,
    seconds,
  );
}

/** The error of a stream that failed after it had begun. */
export function refusalOf(event: Record<string, unknown>): ApiError {
  const code = String(event.code);
  const isSaid = typeof event.status === "number" && event.status >= 400 && event.status <= 599;
  const status = isSaid ? Number(event.status) : code === "dependencies_failed" ? 422 : 503;
  return new (classOf(status, code))(status, code, String(event.message));
}

function classOf(status: number, code: string | undefined): ApiErrorClass {
  return code === "dependencies_failed" ? DependencyError : (BY_STATUS[status] ?? ApiError);
}

interface Said {
  code: string;
  message: string;
  requestId: string | null;
}

function errorIn(body: string): Said | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    return null;
  }
  const error = field(parsed, "error");
  const code = field(error, "code");
  const message = field(error, "message");
  const requestId = field(parsed, "request_id");
  if (typeof code !== "string" || typeof message !== "string") return null;
  return { code, message, requestId: typeof requestId === "string" ? requestId : null };
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}
