// The server that answers need not be ours: what it says is checked, bounded and ended, and the key is not
// shown to bystanders.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { inspect } from "node:util";

import { Client, ConnectionFailed, GloveboxError, ProtocolError, Sandbox, TimeoutExpired } from "@glovebox/sdk";

import { serving, servingRaw, ways } from "../support/serving.js";

const SANDBOX = { id: "sb10000000000000000000", state: "running", template: "base", metadata: {}, expires_at: null, port_token: "pt_secret" };

for (const [way, options] of Object.entries(ways)) {
  describe(`over ${way}`, () => {
    const client = (url: string, more = {}) => new Client({ url, apiKey: "gbx_secret", ...options, ...more });

    const wrong: Record<string, [status: number, body: string]> = {
      nothing: [200, ""],
      "no content": [204, ""],
      "an empty object": [200, "{}"],
      "a list": [200, "[]"],
      "null": [200, "null"],
      "a page": [200, "<html></html>"],
      "fields of other kinds": [200, '{"id":1,"exit_code":"0","stdout":[],"results":{},"templates":[1],"runs":1,"path":0,"exists":"yes"}'],
    };
    for (const [what, [status, body]] of Object.entries(wrong)) {
      test(`${what} instead of an answer is an error of ours`, async () => {
        await serving(
          (request, response) => {
            // One good answer, to have a sandbox.
            if (request.url === "/v1/sandboxes/sb10000000000000000000" && request.method === "GET") return void response.end(JSON.stringify(SANDBOX));
            response.writeHead(status, { "Content-Type": body.startsWith("<") ? "text/html" : "application/json" }).end(body);
          },
          async (url) => {
            const one = client(url);
            const sandbox = await Sandbox.connect("sb10000000000000000000", { client: one });
            const calls: Record<string, () => Promise<unknown>> = {
              run: () => one.run("1"),
              "run, live": () => one.run("1", { onStdout: () => undefined }),
              create: () => Sandbox.create({ client: one }),
              list: () => Sandbox.list({ client: one }),
              templates: () => one.templates.list(),
              runs: () => one.runs.list(),
              invoke: () => one.functions.invoke("x"),
              health: () => one.health(),
              isReady: () => one.isReady(),
              events: () => one.events().next(),
              exec: () => sandbox.exec(["true"]),
              code: () => sandbox.code("1"),
              pause: () => sandbox.pause(),
              contexts: () => sandbox.contexts.list(),
              read: () => sandbox.files.read("x"),
              exists: () => sandbox.files.exists("x"),
              write: () => sandbox.files.write("x", "y"),
              download: () => sandbox.files.download("x"),
              watch: () => sandbox.files.watch("x"),
            };
            if (status !== 204) calls.kill = () => sandbox.kill();
            for (const [name, call] of Object.entries(calls)) {
              await assert.rejects(call(), (error) => error instanceof ProtocolError, name);
            }
            await one.close();
          },
        );
      });
    }

    test("an unrequested protocol switch ends the request", async () => {
      const upgrade = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n";
      await servingRaw(
        (socket) => void socket.write(upgrade),
        async (url) => {
          const answer = client(url, { retries: 0 }).run("1", { requestTimeoutMs: 5_000 });
          await assert.rejects(answer, ConnectionFailed);
        },
      );
    });

    test("a limit and a signal end what does not listen to them", async () => {
      const deaf = { fetch: () => new Promise<Response>(() => undefined) };
      const one = client("http://127.0.0.1:1", deaf);
      await assert.rejects(one.run("1", { requestTimeoutMs: 50 }), TimeoutExpired);
      const stop = new AbortController();
      setTimeout(() => stop.abort(new Error("enough")), 50);
      await assert.rejects(one.run("1", { signal: stop.signal }), /enough/);
      await assert.rejects(one.events({ requestTimeoutMs: 50 }).next(), TimeoutExpired);
    });

    test("a file that is larger than it may be is not read, whether it says so or not", async () => {
      let sent = 0;
      await serving(
        (request, response) => {
          if (!request.url?.includes("/files")) return void response.end(JSON.stringify(SANDBOX));
          response.setHeader("Content-Type", "application/octet-stream");
          if (request.url.includes("honest")) response.setHeader("Content-Length", String(2 ** 40));
          const piece = Buffer.alloc(64 * 1024);
          const pump = () => {
            while (!response.destroyed && response.write(piece)) sent += piece.length;
            sent += piece.length;
          };
          response.on("drain", pump);
          pump();
        },
        async (url) => {
          const sandbox = await Sandbox.connect("sb10000000000000000000", { client: client(url) });
          await assert.rejects(sandbox.files.read("honest"), /larger than 268435456 bytes: the option `maxBytes`/);
          await assert.rejects(sandbox.files.download("honest", new WritableStream()), /larger than 1073741824 bytes/);
          sent = 0;
          for (const maxBytes of [1_000_000, Number.NaN]) {
            await assert.rejects(sandbox.files.read("endless", { maxBytes }), (error) => error instanceof GloveboxError && /larger than/.test(error.message));
            await assert.rejects(sandbox.files.download("endless", new WritableStream(), { maxBytes }), /larger than/);
          }
          assert.ok(sent < 100_000_000, `${sent} bytes were sent`);
        },
      );
    });

    test("an endless error is an error all the same", async () => {
      await servingRaw(
        (socket) => {
          socket.write("HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\n\r\n");
          const pump = () => void (socket.destroyed || socket.write(Buffer.alloc(256 * 1024, "x"), pump));
          pump();
        },
        async (url) => {
          await assert.rejects(client(url).run("1", { requestTimeoutMs: 20_000 }), { name: "NotFoundError", code: "unknown" });
        },
      );
    });

    test("a page that promises another without end ends", async () => {
      await serving(
        (_, response) => response.end('{"runs":[],"next_cursor":"again"}'),
        async (url, count) => {
          assert.deepEqual(await client(url).runs.list(), []);
          assert.equal(count(), 1);
        },
      );
    });

    test("removing is not retried: another may have been created meanwhile", async () => {
      await serving(
        (request, response) => (request.method === "DELETE" ? response.destroy() : response.end(JSON.stringify(SANDBOX))),
        async (url, count) => {
          const sandbox = await Sandbox.connect("sb10000000000000000000", { client: client(url) });
          await assert.rejects(sandbox.files.remove("x"), ConnectionFailed);
          await assert.rejects(client(url).templates.remove("x"), ConnectionFailed);
          assert.equal(count(), 3);
        },
      );
    });

    test("an asynchronous callback is waited for, and what it throws is the call's", async () => {
      const lines = '{"event":"stdout","text":"a"}\n{"event":"stdout","text":"b"}\n';
      await serving(
        (_, response) => response.setHeader("Content-Type", "application/x-ndjson").end(lines),
        async (url) => {
          const heard: string[] = [];
          const onStdout = async (text: string) => {
            await new Promise((resolve) => setTimeout(resolve, 10));
            heard.push(text);
            if (text === "b") throw new Error("mine");
          };
          await assert.rejects(client(url).run("1", { onStdout }), /mine/);
          assert.deepEqual(heard, ["a", "b"]);
        },
      );
    });

    test("who prints a client, or what has one, prints no secret", async () => {
      await serving(
        (_, response) => response.end(JSON.stringify({ ...SANDBOX, templates: [] })),
        async (url) => {
          const one = client(url);
          await one.templates.list();
          const sandbox = await Sandbox.connect("sb10000000000000000000", { client: one });
          assert.equal(sandbox.portToken, "pt_secret");
          for (const holder of [one, sandbox, { one, sandbox }, sandbox.files, one.runs]) {
            assert.doesNotMatch(inspect(holder, { depth: Infinity, showHidden: true }), /secret/);
            assert.doesNotMatch(JSON.stringify(holder), /secret/);
          }
        },
      );
    });
  });
}
