// Checks the fields of a response that this package and its callers rely on. The other side may not be a
// Glovebox server.

import { ProtocolError } from "./errors.js";
import type { AnswerOf, Schemas } from "./wire.js";

const KINDS = {
  text: (value: unknown) => typeof value === "string",
  number: (value: unknown) => typeof value === "number",
  flag: (value: unknown) => typeof value === "boolean",
  object: isObject,
  "object or null": (value: unknown) => value === null || isObject(value),
  list: (value: unknown) => Array.isArray(value),
  objects: (value: unknown) => Array.isArray(value) && value.every(isObject),
};

/** The fields to check, and their types. */
export type Shape<T> = { readonly [Field in keyof T & string]?: keyof typeof KINDS };

/** Returns the response if its checked fields are right; all other fields are trusted. */
export function checked<T>(answer: Record<string, unknown>, shape: Shape<T>): T {
  for (const [field, kind] of Object.entries<keyof typeof KINDS | undefined>(shape)) {
    const value = Object.hasOwn(answer, field) ? answer[field] : undefined;
    if (kind !== undefined && !KINDS[kind](value)) {
      throw new ProtocolError(`unexpected response: field \`${field}\` is missing or has the wrong type; is it a Glovebox server?`);
    }
  }
  return answer as T;
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const ENDED = { exit_code: "number", stdout: "text", stderr: "text" } as const;

export const RUN: Shape<Schemas["RunAnswer"]> = {
  ...ENDED,
  result: "object or null",
  results: "objects",
  files: "objects",
  error: "object or null",
};
export const CODE: Shape<Schemas["CodeAnswer"]> = {
  ...ENDED,
  result: "object or null",
  results: "objects",
  error: "object or null",
};
export const EXEC: Shape<Schemas["ExecAnswer"]> = ENDED;
export const FUNCTION: Shape<Schemas["FunctionAnswer"]> = { ...ENDED, error: "object or null" };
export const SANDBOX: Shape<Schemas["Sandbox"]> = { id: "text", state: "text", template: "text", metadata: "object" };
export const METRICS: Shape<AnswerOf<"sandboxMetrics", 200>> = { now: "object", history: "objects" };
export const NETWORK: Shape<AnswerOf<"sandboxNetwork", 200>> = { bytes_out: "number", bytes_in: "number", decisions: "objects" };
export const FILE: Shape<Schemas["FileEntry"]> = { path: "text", name: "text", type: "text", size: "number" };
export const CONTEXT: Shape<Schemas["Context"]> = { id: "text", language: "text" };
export const TEMPLATE: Shape<Schemas["Template"]> = { name: "text", state: "text" };
export const SNAPSHOT: Shape<Schemas["Snapshot"]> = { id: "text" };
export const LAYER: Shape<Schemas["Layer"]> = { id: "text", bytes: "number", packages: "objects" };
export const BUILT_LAYER: Shape<Schemas["BuiltLayer"]> = { ...LAYER, built: "flag" };
export const RUN_RECORD: Shape<Schemas["Run"]> = { id: "text", status: "text" };
export const NEW_KEY: Shape<AnswerOf<"createKey", 201>> = { id: "text", key: "text" };
