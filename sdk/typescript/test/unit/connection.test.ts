// What is tried again and what is not, time limits, and lost connections: against servers that fail on
// purpose, over both transports.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import * as net from "node:net";
import { describe, test } from "node:test";

import { Client, ConnectionFailed, Sandbox, TimeoutExpired, UnavailableError } from "@glovebox/sdk";

import { serving, ways } from "../support/serving.js";

const refuse = (response: http.ServerResponse, status: number, headers: http.OutgoingHttpHeaders = {}) =>
  response.writeHead(status, headers).end('{"error":{"code":"host_full","message":"full"},"request_id":"rq1"}');

const LINES = "application/x-ndjson";
const SANDBOX = JSON.stringify({ id: "sb10000000000000000000", state: "running", template: "base", metadata: {}, expires_at: null, port_token: null });

for (const [way, options] of Object.entries(ways)) {
  describe(`over ${way}`, () => {
    const client = (url: string, more = {}) => new Client({ url, apiKey: "gbx_x", ...options, ...more });

    test("reading is tried again after a 503 that says when", async () => {
      await serving(
        (_, response, count) => (count < 3 ? refuse(response, 503, { "Retry-After": "0" }) : response.end('{"templates":[]}')),
        async (url, count) => {
          assert.deepEqual(await client(url).templates.list(), []);
          assert.equal(count(), 3);
        },
      );
    });

    test("a 503 that does not say when, and too many of them, are errors", async () => {
      await serving(
        (_, response) => refuse(response, 503),
        async (url, count) => {
          await assert.rejects(client(url).templates.list(), UnavailableError);
          assert.equal(count(), 1);
        },
      );
      await serving(
        (_, response) => refuse(response, 503, { "Retry-After": "0" }),
        async (url, count) => {
          await assert.rejects(client(url).templates.list(), (error: UnavailableError) => error.retryAfter === 0);
          assert.equal(count(), 3);
        },
      );
    });

    test("a run is sent once, with an idempotency key again", async () => {
      await serving(
        (_, response) => refuse(response, 503, { "Retry-After": "0" }),
        async (url, count) => {
          await assert.rejects(client(url).run("1"), UnavailableError);
          assert.equal(count(), 1);
          await assert.rejects(client(url).run("1", { idempotencyKey: "k" }), UnavailableError);
          assert.equal(count(), 4);
        },
      );
    });

    test("a connection that is cut: reading is tried again, a run is not", async () => {
      await serving(
        (request, response, count) => (count === 1 || request.method === "POST" ? response.destroy() : response.end('{"templates":[]}')),
        async (url, count) => {
          assert.deepEqual(await client(url).templates.list(), []);
          assert.equal(count(), 2);
          await assert.rejects(client(url).run("1"), ConnectionFailed);
          assert.equal(count(), 3);
        },
      );
    });

    test("an answer that is cut in its middle is lost, not short", async () => {
      await serving(
        (_, response) => {
          response.writeHead(200, { "Content-Length": "100" });
          response.write('{"stdout":"');
          setTimeout(() => response.destroy(), 20);
        },
        async (url) => {
          await assert.rejects(client(url).run("1"), ConnectionFailed);
        },
      );
    });

    test("live events that end without an exit are an error", async () => {
      await serving(
        (_, response) => response.setHeader("Content-Type", LINES).end('{"event":"stdout","text":"a"}\n'),
        async (url) => {
          await assert.rejects(client(url).run("1", { onStdout: () => undefined }), /ended before the run/);
        },
      );
    });

    test("what is no JSON is an error", async () => {
      await serving(
        (_, response) => response.end("<html>"),
        async (url) => {
          await assert.rejects(client(url).templates.list(), /not JSON/);
        },
      );
    });

    test("time: a limit and a signal end a request, and its connection", async () => {
      const gone: Promise<void>[] = [];
      await serving(
        (request) => gone.push(new Promise((resolve) => request.socket.once("close", () => resolve()))),
        async (url) => {
          await assert.rejects(client(url, { requestTimeoutMs: 50 }).templates.list(), TimeoutExpired);
          await assert.rejects(client(url).run("1", { requestTimeoutMs: 50 }), TimeoutExpired);
          const stop = new AbortController();
          setTimeout(() => stop.abort(new Error("enough")), 50);
          await assert.rejects(client(url).run("1", { signal: stop.signal }), /enough/);
          await assert.rejects(client(url).run("1", { signal: AbortSignal.abort(new Error("before")) }), /before/);
          assert.equal(gone.length, 3);
          await Promise.all(gone);
        },
      );
    });

    test("time: a run that is followed and stands still, and a watch that never begins", async () => {
      await serving(
        (_, response) => void response.setHeader("Content-Type", LINES).write('{"event":"stdout","text":"a"}\n'),
        async (url) => {
          let heard = "";
          const run = client(url).run("1", { requestTimeoutMs: 100, onStdout: (text) => (heard += text) });
          await assert.rejects(run, TimeoutExpired);
          assert.equal(heard, "a");
        },
      );
      await serving(
        (request, response) => {
          if (!request.url?.includes("watch")) return void response.end(SANDBOX);
          response.setHeader("Content-Type", "text/event-stream").write(": soon\n\n");
        },
        async (url) => {
          const sandbox = await Sandbox.connect("sb10000000000000000000", { client: client(url) });
          await assert.rejects(sandbox.files.watch("/", { requestTimeoutMs: 100 }), TimeoutExpired);
        },
      );
    });

    test("an unreachable URL is an error, and no private server is started for it", async () => {
      const free = net.createServer().listen(0, "127.0.0.1");
      await new Promise((resolve) => free.once("listening", resolve));
      const url = `http://127.0.0.1:${(free.address() as AddressInfo).port}`;
      await new Promise((resolve) => free.close(resolve));
      await assert.rejects(client(url).run("1"), (error) => error instanceof ConnectionFailed && error.message.includes(url));
    });

    test("the key goes along as a header, and no redirect takes it elsewhere", async () => {
      await serving(
        (request, response, count) => {
          if (count === 1) response.writeHead(302, { Location: "/elsewhere" }).end();
          else response.end(JSON.stringify({ templates: [], key: request.headers["x-api-key"] }));
        },
        async (url, count) => {
          await assert.rejects(client(url, { retries: 0 }).templates.list());
          assert.equal(count(), 1);
        },
      );
    });
  });
}

test("time: a WebSocket that is opened and never says a word", async () => {
  const sockets = new Set<net.Socket>();
  const silent = net.createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("data", (data) => {
      const nonce = /Sec-WebSocket-Key: (.*)\r\n/i.exec(data.toString())?.[1] ?? "";
      if (nonce === "") return void socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${SANDBOX.length}\r\nConnection: close\r\n\r\n${SANDBOX}`);
      const accept = createHash("sha1").update(`${nonce}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
      socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`);
    });
  });
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  try {
    const client = new Client({ url: `http://127.0.0.1:${(silent.address() as AddressInfo).port}`, apiKey: "k", requestTimeoutMs: 200 });
    const sandbox = await Sandbox.connect("sb10000000000000000000", { client });
    await assert.rejects(sandbox.start(["true"]), TimeoutExpired);
    await assert.rejects(sandbox.start(["true"], { signal: AbortSignal.timeout(50) }), { name: "TimeoutError" });
  } finally {
    for (const socket of sockets) socket.destroy();
    silent.close();
  }
});

test("what cannot be a server is refused before anything is sent", async () => {
  await assert.rejects(new Client({ url: "127.0.0.1:7070", apiKey: "k" }).health(), /not an http:\/\/ or https:\/\/ URL/);
  await assert.rejects(new Client({ url: "http://127.0.0.1:1", apiKey: "" }).health(), /there is no key/);
  await assert.rejects(new Client({ url: "http://127.0.0.1:1", apiKey: "k" }).run("1", { command: "ls" }), /either code or/);
  for (const id of ["", ".", ".."]) {
    await assert.rejects(Sandbox.connect(id, { client: new Client({ url: "http://127.0.0.1:1", apiKey: "k" }) }), /is not a valid id/);
  }
});
