// `net` in requests, and what a sandbox did with its network.

import assert from "node:assert/strict";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";

import { Client, ForbiddenError, type Net, ProtocolError, Sandbox } from "@glovebox/sdk";

import { profileOf } from "../../src/limits.js";

const SANDBOX = { id: "sb10000000000000000000", state: "running", template: "base", metadata: {}, expires_at: null, port_token: null, net: "none" };
const FIGURES = {
  net: { allow: ["pypi.org"], budgets: { bytes_out: 5 } },
  bytes_out: 1,
  bytes_in: 2,
  connections: 1,
  denied: 1,
  names: 1,
  open: 0,
  spent: ["bytes_out"],
  left_out: 0,
  incomplete: false,
  decisions: [
    {
      what: "connect",
      allowed: true,
      name: "pypi.org",
      address: "151.101.0.223",
      port: 443,
      rule: "allow pypi.org",
      count: 1,
      bytes_out: 1,
      bytes_in: 2,
      first_at: "2026-11-15T13:57:15.394Z",
      last_at: "2026-11-15T13:57:16.000Z",
    },
  ],
};

interface Asked {
  method?: string;
  url?: string;
  body: string;
}

/** Answers each request with the next of `answers`, and keeps what was asked. */
async function scripted(answers: [number, unknown][], play: (client: Client, asked: Asked[]) => Promise<void>): Promise<void> {
  const asked: Asked[] = [];
  const server = http.createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (piece: string) => (body += piece));
    request.on("end", () => {
      const [status, answer] = answers[asked.push({ method: request.method, url: request.url, body }) - 1] ?? [500, {}];
      response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(answer));
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

test("a list is what may be reached, and budgets have the contract's names", async () => {
  const sent = async (net: Net) => (await profileOf({ net }))?.net;
  assert.equal(await sent("https-only"), "https-only");
  assert.deepEqual(await sent(["pypi.org:443"]), { allow: ["pypi.org:443"] });
  assert.deepEqual(await sent([]), { allow: [] });
  assert.deepEqual(
    await sent({ base: "all", deny: ["evil.example"], precedence: "allow", budgets: { bytesOut: 1, connections: 2, names: 3 } }),
    { base: "all", deny: ["evil.example"], precedence: "allow", budgets: { bytes_out: 1, connections: 2, names: 3 } },
  );
  assert.equal(await profileOf({}), undefined);
  for (const net of [5, null, true]) await assert.rejects(profileOf({ net: net as unknown as Net }), /net:/);
});

test("it goes along when a sandbox is made", async () => {
  await scripted([[201, SANDBOX]], async (client, asked) => {
    await Sandbox.create({ net: ["pypi.org"], client });
    assert.deepEqual(JSON.parse(asked[0]?.body ?? ""), { template: "python", profile: { net: { allow: ["pypi.org"] } } });
  });
});

test("the policy of a sandbox is changed while it runs, and what it did is read", async () => {
  const answers: [number, unknown][] = [
    [200, SANDBOX],
    [200, { ...SANDBOX, net: "all" }],
    [200, FIGURES],
    [403, { error: { code: "forbidden", message: "net: too much" }, request_id: "rq1" }],
    [200, { ...FIGURES, decisions: 5 }],
  ];
  await scripted(answers, async (client, asked) => {
    const sandbox = await Sandbox.connect("sb10000000000000000000", { client });
    assert.equal((await sandbox.setNetwork({ base: "all", budgets: { names: 5 } })).net, "all");
    const network = await sandbox.network();
    assert.deepEqual(network.net, { allow: ["pypi.org"], budgets: { bytesOut: 5 } });
    assert.deepEqual([network.bytesOut, network.spent, network.decisions[0]?.firstAt], [1, ["bytes_out"], "2026-11-15T13:57:15.394Z"]);
    await assert.rejects(sandbox.setNetwork("all"), ForbiddenError);
    await assert.rejects(sandbox.network(), ProtocolError);
    assert.deepEqual(
      asked.slice(1, 3).map(({ method, url, body }) => [method, url, body]),
      [
        ["PATCH", "/v1/sandboxes/sb10000000000000000000", '{"net":{"base":"all","budgets":{"names":5}}}'],
        ["GET", "/v1/sandboxes/sb10000000000000000000/network", ""],
      ],
    );
  });
});

test("what the server tells can be asked for again", async () => {
  await scripted([[200, SANDBOX], [200, FIGURES], [200, SANDBOX]], async (client, asked) => {
    const sandbox = await Sandbox.connect("sb10000000000000000000", { client });
    await sandbox.setNetwork((await sandbox.network()).net);
    assert.deepEqual(JSON.parse(asked[2]?.body ?? ""), { net: FIGURES.net });
  });
});
