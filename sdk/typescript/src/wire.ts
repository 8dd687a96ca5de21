// Converts between the snake_case names of the API and the camelCase names of this package, for types and
// values. The types are generated from the contract, so a changed field does not compile.

import { GloveboxError } from "./errors.js";
import type { components, operations } from "./generated/api.js";

export type Schemas = components["schemas"];

/** The JSON body of an operation's response. */
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

/** The same type with camelCase keys at every level; maps whose keys are data are unchanged. */
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

// Fields whose values are user data, including the keys.
const OPAQUE: ReadonlySet<string> = new Set(["env", "metadata", "result", "results", "mime", "features"]);

export function camelKey(name: string): string {
  return name.replace(/(?<=[a-z0-9])_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** Converts a response of the server. Data of a guest is not changed. */
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

/** Encodes an id or a name as one path component. */
export function segment(id: string): string {
  if (id === "" || id === "." || id === "..") throw new GloveboxError(`${JSON.stringify(id)} is not a valid id`);
  return encodeURIComponent(id);
}

/** The object without undefined fields. */
export function compact<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as T;
}
