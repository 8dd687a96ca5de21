// Patterns of tests/integration/sdk/README.md: what stands for something, and what matches it.

import { isDeepStrictEqual } from "node:util";

import { camelKey } from "../../src/wire.js";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export class Scope {
  readonly saved = new Map<string, unknown>();
  private readonly unique = Math.random().toString(36).slice(2, 12);

  /** A saved value, or a field of it. MIME types and other keys with slashes are fields, too. */
  lookUp(path: string): unknown {
    const [name = "", ...fields] = path.split(".");
    if (!this.saved.has(name)) throw new Error(`nothing was saved as ${name}`);
    return fields.reduce(fieldOf, this.saved.get(name));
  }

  /** Arguments with what `$…` stands for. */
  resolve(value: Json): unknown {
    const operator = operatorOf(value);
    if (operator !== null) return this.standsFor(...operator);
    if (Array.isArray(value)) return value.map((item) => this.resolve(item));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.resolve(item)]));
  }

  /** Why it does not match; null if it does. */
  mismatch(pattern: Json, value: unknown, at = "it"): string | null {
    const operator = operatorOf(pattern);
    if (operator !== null) return this.operatorMismatch(...operator, value, at);
    if (Array.isArray(pattern)) {
      if (!Array.isArray(value)) return `${at} is no list: ${show(value)}`;
      if (value.length !== pattern.length) return `${at} has ${value.length} items, not ${pattern.length}: ${show(value)}`;
      return first(pattern.map((item, index) => this.mismatch(item, value[index], `${at}[${index}]`)));
    }
    if (typeof pattern === "object" && pattern !== null) {
      if (typeof value !== "object" || value === null) return `${at} is no object: ${show(value)}`;
      return first(Object.entries(pattern).map(([key, item]) => this.mismatch(item, fieldOf(value, key), `${at}.${key}`)));
    }
    const same = pattern === null ? value === null || value === undefined : value === pattern;
    return same ? null : `${at} is ${show(value)}, not ${show(pattern)}`;
  }

  private standsFor(operator: string, value: Json): unknown {
    switch (operator) {
      case "$ref":
        return this.lookUp(String(value));
      case "$bytes":
        return new Uint8Array(Buffer.from(String(value), "base64"));
      case "$unique":
        return `${String(value)}${this.unique}`;
      case "$repeat": {
        const [text, count] = value as [string, number];
        return text.repeat(count);
      }
      default:
        throw new Error(`${operator} stands for nothing`);
    }
  }

  private operatorMismatch(operator: string, wanted: Json, value: unknown, at: string): string | null {
    const so = (matches: boolean) => (matches ? null : `${at} is ${show(value)}, not ${operator} ${show(wanted)}`);
    switch (operator) {
      case "$regex":
        return so(typeof value === "string" && new RegExp(String(wanted)).test(value));
      case "$contains":
        if (typeof value === "string") return so(value.includes(String(wanted)));
        return so(Array.isArray(value) && value.some((item) => this.mismatch(wanted, item) === null));
      case "$length":
        return this.mismatch(wanted, (value as { length?: number } | null)?.length, `${at}'s length`);
      case "$least":
        return so(typeof value === "number" && value >= Number(wanted));
      case "$most":
        return so(typeof value === "number" && value <= Number(wanted));
      case "$type":
        return so(typeOf(value) === wanted);
      case "$not":
        return so(this.mismatch(wanted, value) !== null);
      case "$all":
        return first((wanted as Json[]).map((each) => this.mismatch(each, value, at)));
      default: {
        const meant = this.standsFor(operator, wanted);
        const plain = value instanceof Uint8Array ? new Uint8Array(value) : value;
        return so(isDeepStrictEqual(plain, meant));
      }
    }
  }
}

/** As it is spelt in the contract, or in our way. */
export function fieldOf(value: unknown, name: string): unknown {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return undefined;
  const fields = value as Record<string, unknown>;
  return Object.hasOwn(fields, name) ? fields[name] : fields[camelKey(name)];
}

function operatorOf(value: Json): [string, Json] | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  const [entry, ...more] = Object.entries(value);
  return entry !== undefined && more.length === 0 && entry[0].startsWith("$") ? entry : null;
}

function typeOf(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return "list";
  if (value instanceof Uint8Array) return "bytes";
  return typeof value;
}

function first(mismatches: (string | null)[]): string | null {
  return mismatches.find((mismatch) => mismatch !== null) ?? null;
}

function show(value: unknown): string {
  const text = value instanceof Uint8Array ? `bytes ${Buffer.from(value).toString("hex")}` : (JSON.stringify(value) ?? "undefined");
  return text.length > 500 ? `${text.slice(0, 500)}…` : text;
}
