// `dependencies` in requests, what is heard of a build, and layers.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import {
  type BuildProgress,
  Client,
  ConflictError,
  type Dependencies,
  DependencyError,
  InvalidRequestError,
  LimitError,
  ProtocolError,
  Sandbox,
  UnavailableError,
} from "@glovebox/sdk";

import { BUILD_MS, dependenciesOf, withBuild } from "../../src/dependencies.js";

const SANDBOX = { id: "sb1", state: "running", template: "python", metadata: {}, expires_at: null, port_token: null };
const RUN = { id: "rn1", exit_code: 0, stdout: "", stderr: "", result: null, results: [], files: [], error: null };
const LAYER = {
  id: "0123456789abcdef0123456789abcdef",
  manager: "pip",
  bytes: 1000,
  in_use: true,
  made_at: "2026-11-16T05:00:00.500Z",
  asked: ["six"],
  packages: [{ name: "six", version: "1.17.0", file: "six-1.17.0-py2.py3-none-any.whl", hash: "sha256:a" }],
};
const WORDS = [
  { event: "build", phase: "resolving", text: "" },
  { event: "build", phase: "resolving", text: "Collecting six" },
];
const HEARD = [
  { phase: "resolving", text: "" },
  { phase: "resolving", text: "Collecting six" },
];
const FAILED = { event: "error", code: "dependencies_failed", message: "No matching distribution found for nope" };

interface Asked {
  method?: string;
  url?: string;
  accept?: string;
  body: string;
}

/** Answers each request with the next of `answers`, a list as JSON lines, and keeps what was asked. */
async function scripted(answers: [number, unknown][], play: (client: Client, asked: Asked[]) => Promise<void>): Promise<void> {
  const asked: Asked[] = [];
  const server = http.createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (piece: string) => (body += piece));
    request.on("end", () => {
      const { method, url, headers } = request;
      const [status, answer] = answers[asked.push({ method, url, accept: headers.accept, body }) - 1] ?? [500, {}];
      const isLive = Array.isArray(answer);
      response.writeHead(status, { "Content-Type": isLive ? "application/x-ndjson" : "application/json" });
      response.end(isLive ? answer.map((event) => `${JSON.stringify(event)}\n`).join("") : JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await play(new Client({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, apiKey: "gbx_x" }), asked);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

test("what is said is sent", async () => {
  assert.deepEqual(await dependenciesOf(["six", "idna>=3"]), ["six", "idna>=3"]);
  assert.deepEqual(await dependenciesOf({ packages: ["six"], preload: ["six"] }), { packages: ["six"], preload: ["six"] });
  assert.deepEqual(await dependenciesOf({ packages: ["six"], hostPackages: true }), { packages: ["six"], host_packages: true });
  assert.deepEqual(await dependenciesOf({ requirements: "six==1.17.0\n" }), { requirements: "six==1.17.0\n" });
  for (const none of [undefined, [], {}, { packages: [] }]) assert.equal(await dependenciesOf(none), undefined);
  for (const wrong of ["six", 5, null, [5], { packages: "six" }, { requirements: "requirements.txt" }]) {
    await assert.rejects(dependenciesOf(wrong as unknown as Dependencies), /dependencies/);
  }
});

test("of a file the text is sent", async () => {
  const folder = mkdtempSync(join(tmpdir(), "gbx-deps-"));
  try {
    const path = join(folder, "requirements.txt");
    writeFileSync(path, "\uFEFFsix\r\nidna\n");
    assert.deepEqual(await dependenciesOf({ requirements: { path } }), { requirements: "six\nidna\n" });
    writeFileSync(path, "x".repeat(300_000));
    await assert.rejects(dependenciesOf({ lock: { path } }), /256 KB/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a build has time", () => {
  assert.equal(withBuild(5000, { dependencies: ["six"] }), 5000 + BUILD_MS);
  assert.equal(withBuild(undefined, { dependencies: ["six"] }), BUILD_MS);
  assert.equal(withBuild(0, { dependencies: ["six"] }), 0);
  assert.equal(withBuild(undefined, {}), undefined);
});

test("they are part of every profile", async () => {
  const dependencies = ["six"];
  const answers: [number, unknown][] = [
    [200, RUN],
    [201, SANDBOX],
    [201, { name: "t", state: "ready" }],
    [200, RUN],
    [201, { name: "t", state: "idle" }],
  ];
  await scripted(answers, async (client, asked) => {
    await client.run("1", { dependencies });
    await Sandbox.create({ client, dependencies });
    await client.templates.create({ name: "t", from: "python", dependencies });
    await client.functions.invoke("def handler(e, c): pass", { dependencies });
    for (const { body } of asked) assert.deepEqual(JSON.parse(body).profile, { dependencies });
    await client.templates.create({ name: "t", snapshot: "sn1" });
    assert.deepEqual(JSON.parse(asked[4]!.body), { name: "t", snapshot: "sn1" });
  });
});

test("a template may have waiting sandboxes", async () => {
  await scripted([[201, { name: "t", state: "idle" }]], async (client, asked) => {
    await client.templates.create({ name: "t", from: "python", pool: 3, sessionPool: { max: 2 } });
    assert.deepEqual(JSON.parse(asked[0]!.body), { name: "t", from: "python", pool: { min: 3 }, session_pool: { max: 2 } });
  });
});

test("a run tells of its build", async () => {
  const heard: BuildProgress[] = [];
  const { stdout: _, stderr: __, ...ended } = RUN;
  await scripted([[200, [...WORDS, { event: "stdout", text: "hi\n" }, { event: "exit", ...ended }]]], async (client, asked) => {
    const result = await client.run("1", { dependencies: ["six"], onBuild: (progress) => void heard.push(progress) });
    assert.deepEqual(heard, HEARD);
    assert.equal(result.stdout, "hi\n");
    assert.equal(asked[0]!.accept, "application/x-ndjson");
  });
});

test("what cannot be installed is an error of its own", async () => {
  const refused = { error: { code: "dependencies_failed", message: FAILED.message } };
  await scripted([[422, refused], [200, [...WORDS, FAILED]], [200, [FAILED]]], async (client) => {
    for (const onBuild of [undefined, () => undefined]) {
      await assert.rejects(client.run("1", { dependencies: ["nope"], onBuild }), (error: unknown) => {
        assert.ok(error instanceof DependencyError && error instanceof InvalidRequestError);
        assert.deepEqual([error.status, error.code, error.message], [422, "dependencies_failed", FAILED.message]);
        return true;
      });
    }
    await assert.rejects(client.layers.build(["nope"], { onBuild: () => undefined }), DependencyError);
  });
});

test("a refusal in a live answer has the status that it says", async () => {
  const busy = { event: "error", code: "resource_exhausted", message: "too many builds wait", status: 429 };
  await scripted([[200, [busy]], [200, [{ ...busy, status: "many" }]]], async (client) => {
    await assert.rejects(client.run("1", { dependencies: ["six"], onBuild: () => undefined }), LimitError);
    await assert.rejects(client.run("1", { dependencies: ["six"], onBuild: () => undefined }), UnavailableError);
  });
});

test("a sandbox and a template tell of theirs first", async () => {
  const built: [number, unknown] = [200, [...WORDS, { event: "layer", ...LAYER, built: false }]];
  const heard: BuildProgress[] = [];
  const onBuild = (progress: BuildProgress): void => void heard.push(progress);
  await scripted([built, [201, SANDBOX], built, [201, { name: "t", state: "ready" }]], async (client, asked) => {
    await Sandbox.create({ client, dependencies: ["six"], onBuild });
    await client.templates.create({ name: "t", from: "mine", dependencies: ["six"], onBuild });
    assert.deepEqual(heard, [...HEARD, ...HEARD]);
    assert.deepEqual(
      asked.map(({ url }) => url),
      ["/v1/layers", "/v1/sandboxes", "/v1/layers", "/v1/templates"],
    );
    assert.deepEqual(JSON.parse(asked[0]!.body), { template: "python", dependencies: ["six"] });
    assert.deepEqual(JSON.parse(asked[2]!.body), { template: "mine", dependencies: ["six"] });
  });
});

test("layers are read, built, removed, pruned and checked", async () => {
  const answers: [number, unknown][] = [
    [200, { layers: [LAYER] }],
    [200, LAYER],
    [200, { ...LAYER, built: true }],
    [200, { removed: [LAYER.id], bytes: 1000 }],
    [200, { intact: false, expected: "a", found: "b" }],
    [409, { error: { code: "layer_in_use", message: "in use" } }],
    [200, { layers: LAYER }],
    [200, WORDS],
  ];
  await scripted(answers, async (client, asked) => {
    const [layer] = await client.layers.list();
    assert.deepEqual([layer!.id, layer!.inUse, layer!.packages[0]!.name], [LAYER.id, true, "six"]);
    assert.equal((await client.layers.get("01234567")).madeAt, LAYER.made_at);
    assert.equal((await client.layers.build({ packages: ["six"], preload: ["six"] }, { template: "mine" })).built, true);
    assert.deepEqual(await client.layers.prune({ unusedForSeconds: 3600, dryRun: true }), { removed: [LAYER.id], bytes: 1000 });
    assert.equal((await client.layers.check("0123")).intact, false);
    await assert.rejects(client.layers.remove("0123"), ConflictError);
    await assert.rejects(client.layers.list(), ProtocolError);
    await assert.rejects(client.layers.build(["six"], { onBuild: () => undefined }), /before the build ended/);
    await assert.rejects(client.layers.build([]), /at least one/);
    assert.deepEqual(
      asked.map(({ method, url }) => `${method} ${url}`).slice(1, 6),
      ["GET /v1/layers/01234567", "POST /v1/layers", "POST /v1/layers/prune", "POST /v1/layers/0123/check", "DELETE /v1/layers/0123"],
    );
    assert.deepEqual(JSON.parse(asked[2]!.body), { template: "mine", dependencies: { packages: ["six"], preload: ["six"] } });
    assert.deepEqual(JSON.parse(asked[3]!.body), { unused_for_s: 3600, dry_run: true });
  });
});
