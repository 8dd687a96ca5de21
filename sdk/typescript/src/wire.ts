// Between the contract's names (snake_case) and ours (camelCase), for types and for values. The types
// come from the contract: a field that changes there does not compile here.

import { GloveboxError } from "./errors.js";
import type { components, operations } from "./generated/api.js";

export type Schemas = components["schemas"];

/** The JSON body of an operation's answer. */
export type AnswerOf<
  Operation extends keyof operations,
  Status extends keyof operations[Operation]["responses"],
> = operations[Operation]["responses"][Status] extends {
  content: { "application/json": infer Body };
}
  ? Body
  : never;

type CamelKey<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelKey<Rest>>}`
  : Name;

/** The same with keys in camelCase, all the way down; maps whose keys are data stay as they are. */
export type Camel<T> = T extends readonly (infer Item)[]
  ? Camel<Item>[]
  : T extends object
    ? string extends keyof T
      ? T
      : { [Key in keyof T as Key extends string ? CamelKey<Key> : Key]: Camel<T[Key]> }
    : T;

/** One value in one or more forms, by MIME type; images are base64. Written by the guest. */
export type Mime = Record<string, unknown>;
export type RunError = Camel<Schemas["RunError"]>;
export type Isolation = Camel<Schemas["Isolation"]>;
export type Grade = Schemas["Grade"];
export type Language = Schemas["Language"];

// Fields whose values are somebody's data, keys included.
const OPAQUE: ReadonlySet<string> = new Set(["env", "metadata", "result", "results", "mime", "features"]);

export function camelKey(name: string): string {
  return name.replace(/(?<=[a-z0-9])_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** An answer of the server in our spelling. What a guest wrote is not looked into. */
export function camelize<T>(value: T): Camel<T> {
  return respell(value) as Camel<T>;
}

function respell(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(respell);
  if (typeof value !== "object" || value === null) return value;
  // fromEntries defines own properties: a key named __proto__ stays a key.
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [camelKey(key), OPAQUE.has(key) ? field : respell(field)]),
  );
}

/** An id or a name as one part of a path: it leads nowhere else. */
export function segment(id: string): string {
  if (id === "" || id === "." || id === "..") throw new GloveboxError(`${JSON.stringify(id)} is no id`);
  return encodeURIComponent(id);
}

/** The object without the fields that are undefined: the server refuses what it does not know. */
export function compact<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as T;
}
