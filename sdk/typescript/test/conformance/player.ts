// Plays the scenarios of tests/integration/sdk/scenarios.json through this SDK.

import { readFileSync } from "node:fs";

import { type Client, GloveboxError, Process, Sandbox, Watch } from "@glovebox/sdk";

import { camelKey } from "../../src/wire.js";
import { fieldOf, type Json, Scope } from "./pattern.js";

interface Step {
  call?: string;
  get?: string;
  await?: string;
  args?: Json[];
  options?: Record<string, Json>;
  callbacks?: string[];
  expect_callbacks?: Json;
  iterate?: boolean | { until?: Json; count?: number };
  expect?: Json;
  error?: Json;
  save?: string;
  within?: number;
  later?: string;
  until_done?: string;
}
export interface Scenario {
  name: string;
  needs?: string[];
  steps: Step[];
  finally?: Step[];
}

const KNOWN = new Set(
  ["call", "get", "await", "args", "options", "callbacks", "expect_callbacks", "iterate", "expect", "error", "save", "within", "later", "until_done"],
);

export function readScenarios(path: string): Scenario[] {
  const { scenarios } = JSON.parse(readFileSync(path, "utf8")) as { scenarios: Scenario[] };
  for (const step of scenarios.flatMap(({ steps, finally: last = [] }) => [...steps, ...last])) {
    const unknown = Object.keys(step).filter((key) => !KNOWN.has(key));
    if (unknown.length > 0) throw new Error(`a step has ${unknown.join(", ")}, which this runner does not know`);
  }
  return scenarios;
}

export async function play(scenario: Scenario, client: Client): Promise<void> {
  const player = new Player(client);
  try {
    for (const step of scenario.steps) await player.step(step);
    for (const step of scenario.finally ?? []) await player.step(step);
  } finally {
    await player.tidy();
  }
}

class Player {
  private readonly scope = new Scope();
  private readonly later = new Map<string, { outcome: Promise<void>; done: boolean }>();
  private readonly sandboxes = new Set<Sandbox>();

  constructor(private readonly client: Client) {}

  async step(step: Step): Promise<void> {
    if (step.await !== undefined) return this.begun(step.await).outcome;
    if (step.later !== undefined) {
      const begun = { outcome: this.once(step), done: false };
      const end = () => {
        begun.done = true;
      };
      begun.outcome.then(end, end);
      this.later.set(step.later, begun);
      return;
    }
    if (step.until_done !== undefined) {
      const { until_done: name, ...once } = step;
      while (!this.begun(name).done) {
        await this.once(once);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      return;
    }
    const end = Date.now() + (step.within ?? 0) * 1000;
    for (;;) {
      try {
        return await this.once(step);
      } catch (error) {
        if (Date.now() >= end) throw error;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }

  async tidy(): Promise<void> {
    for (const value of this.scope.saved.values()) {
      if (value instanceof Process || value instanceof Watch) value.close();
    }
    for (const sandbox of this.sandboxes) await sandbox.kill();
  }

  private begun(name: string) {
    const begun = this.later.get(name);
    if (begun === undefined) throw new Error(`nothing was begun as ${name}`);
    return begun;
  }

  private async once(step: Step): Promise<void> {
    const heard = { stdout: "", stderr: "", result: [] as unknown[], error: [] as unknown[] };
    let value: unknown;
    try {
      value = step.get === undefined ? await this.call(step, heard) : this.scope.lookUp(step.get);
      if (step.iterate !== undefined) value = await this.iterate(value, step.iterate);
    } catch (error) {
      if (step.error === undefined || !(error instanceof GloveboxError)) throw error;
      return this.checkError(step.error as Record<string, Json>, error, step);
    }
    if (value instanceof Sandbox) this.sandboxes.add(value);
    if (step.error !== undefined) throw new Error(`no error came: ${JSON.stringify(step)}`);
    if (step.expect !== undefined) this.check(step.expect, value, step);
    if (step.expect_callbacks !== undefined) this.check(step.expect_callbacks, heard, step);
    if (step.save !== undefined) this.scope.saved.set(step.save, value);
  }

  private check(pattern: Json, value: unknown, step: Step): void {
    const mismatch = this.scope.mismatch(pattern, value);
    if (mismatch !== null) throw new Error(`${step.call ?? step.get}: ${mismatch}`);
  }

  private checkError({ type, ...pattern }: Record<string, Json>, error: GloveboxError, step: Step): void {
    if (type !== undefined && !namesOf(error).includes(String(type))) {
      throw new Error(`${step.call}: it is a ${error.name}, not a ${String(type)}: ${error.message}`);
    }
    this.check(pattern, error, step);
  }

  private async call(step: Step, heard: { stdout: string; stderr: string; result: unknown[]; error: unknown[] }): Promise<unknown> {
    const names = (step.call ?? "").split(".").map(camelKey);
    const own = names[0] === "Sandbox";
    let target: unknown = own ? Sandbox : names[0] === "run" || names[0] === "client" ? this.client : this.scope.lookUp(names[0] ?? "");
    const path = names[0] === "run" ? names : names.slice(1);
    for (const name of path.slice(0, -1)) target = fieldOf(target, name);
    const method = path.at(-1) ?? "";
    const options: Record<string, unknown> = this.optionsOf(step.options ?? {});
    for (const name of step.callbacks ?? []) {
      options[camelKey(`on_${name}`)] = (what: unknown) => {
        if (name === "stdout" || name === "stderr") heard[name] += String(what);
        else if (name === "result" || name === "error") heard[name].push(what);
      };
    }
    if (own) options.client = this.client;
    const args = (step.args ?? []).map((arg) => this.scope.resolve(arg));
    const given = Object.keys(options).length > 0 ? [...args, options] : args;
    const called = fieldOf(target, method);
    if (typeof called !== "function") throw new Error(`${step.call}: there is no such method`);
    return await Reflect.apply(called, target, given);
  }

  private optionsOf(options: Record<string, Json>): Record<string, unknown> {
    return Object.fromEntries(
      Object.entries(options).map(([name, json]) => {
        const value = this.scope.resolve(json);
        if (name === "timeout" || name === "request_timeout") return [`${camelKey(name)}Ms`, Number(value) * 1000];
        return name === "ttl" ? ["ttlSeconds", value] : [camelKey(name), value];
      }),
    );
  }

  private async iterate(value: unknown, how: boolean | { until?: Json; count?: number }): Promise<unknown[]> {
    const { until, count } = typeof how === "object" ? how : {};
    const items: unknown[] = [];
    for await (const item of value as AsyncIterable<unknown>) {
      items.push(item);
      if (until !== undefined && this.scope.mismatch(until, item) === null) return items;
      if (items.length === count) return items;
    }
    if (until !== undefined) throw new Error(`it ended before ${JSON.stringify(until)}: ${JSON.stringify(items)}`);
    return items;
  }
}

/** Its class's name and those it derives from. */
function namesOf(error: Error): string[] {
  const names: string[] = [];
  for (let type: object | null = Object.getPrototypeOf(error) as object | null; type !== null; ) {
    names.push(type.constructor.name);
    type = Object.getPrototypeOf(type) as object | null;
  }
  return names;
}
