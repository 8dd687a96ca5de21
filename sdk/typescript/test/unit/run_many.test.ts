// One run with many inputs: what is sent, and what is made of the lines that come back.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { type ApiError, Client, GloveboxError, type RunOfMany } from "@glovebox/sdk";

import { serving, ways } from "../support/serving.js";

const ENDED = { exit_code: 0, stdout: "2\n", stderr: "", result: { "application/json": 4 }, results: [], files: [], error: null };

async function all(runs: AsyncGenerator<RunOfMany>): Promise<RunOfMany[]> {
  const found: RunOfMany[] = [];
  for await (const run of runs) found.push(run);
  return found;
}

for (const [way, options] of Object.entries(ways)) {
  describe(`runMany over ${way}`, () => {
    async function answered(lines: object[], use: (client: Client, sent: () => unknown) => Promise<void>): Promise<void> {
      let body = "";
      await serving(
        (request, response) => {
          request.on("data", (piece: Buffer) => (body += piece.toString()));
          request.on("end", () => {
            assert.equal(request.url, "/v1/run/batch");
            response.writeHead(200, { "Content-Type": "application/x-ndjson" });
            response.end(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
          });
        },
        (url) => use(new Client({ url, apiKey: "gbx_secret", ...options }), () => JSON.parse(body)),
      );
    }

    test("yields results and errors as they come", async () => {
      const refused = { index: 0, status: 503, error: { code: "host_full", message: "said by a test" } };
      await answered([{ index: 1, status: 200, ...ENDED }, refused], async (client, sent) => {
        const inputs = [{ args: ["1"] }, { stdin: new Uint8Array([255]) }];
        const runs = await all(client.runMany("code", inputs, { parallel: 2, reuse: "interpreter" }));
        assert.deepEqual(runs.map((run) => run.index), [1, 0]);
        assert.equal(runs[0]?.result?.value, 4);
        assert.equal(runs[0]?.result?.stdout, "2\n");
        const error = runs[1]?.error as ApiError;
        assert.equal(error.status, 503);
        assert.equal(error.code, "host_full");
        assert.deepEqual(sent(), {
          code: "code",
          language: "python",
          profile: { reuse: "interpreter" },
          parallel: 2,
          inputs: [{ args: ["1"] }, { stdin_base64: "/w==" }],
        });
      });
    });

    test("lines that are missing are an error, and no inputs are no request", async () => {
      await answered([{ index: 0, status: 200, ...ENDED }], async (client) => {
        await assert.rejects(all(client.runMany({ command: ["cat"] }, [{}, {}])), GloveboxError);
        assert.deepEqual(await all(client.runMany("1", [])), []);
      });
      await answered([{ ...ENDED }], async (client) => {
        await assert.rejects(all(client.runMany("1", [{}])), GloveboxError);
      });
    });
  });
}
