// The conformance suite of all SDKs, through this one: over Node's own HTTP, and over fetch.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";

import { Client } from "@glovebox/sdk";

import { play, readScenarios, type Scenario } from "./conformance/player.js";
import { NodeWebSocket } from "./support/node_web_socket.js";
import { repository, serverOf } from "./support/server.js";

const scenarios = readScenarios(join(repository, "tests/integration/sdk/scenarios.json"));
const server = serverOf();

const ways = {
  "node:http": () => new Client(server),
  fetch: () => new Client({ ...server, fetch: (url, init) => fetch(url, init), webSocket: NodeWebSocket }),
};

for (const [way, make] of Object.entries(ways)) {
  describe(`over ${way}`, () => {
    const client = make();
    after(() => client.close());
    for (const scenario of scenarios) {
      test(scenario.name, { timeout: 60_000 }, async (context) => {
        const missing = await missingFor(scenario, client);
        if (missing !== null) return context.skip(missing);
        await play(scenario, client);
      });
    }
  });
}

async function missingFor(scenario: Scenario, client: Client): Promise<string | null> {
  for (const need of scenario.needs ?? []) {
    const [kind, what = ""] = need.split(/:(.*)/s);
    if (kind === "template") {
      const templates = await client.templates.list();
      if (!templates.some(({ name }) => name === what)) return `there is no template ${what}`;
    } else if (kind === "route") {
      const [method = "", path = ""] = what.split(" ");
      const contract = readFileSync(join(repository, "api/openapi.yaml"), "utf8");
      const route = contract.split(`\n  ${path}:\n`)[1]?.split(/\n {2}\S/)[0] ?? "";
      if (!route.includes(`\n    ${method.toLowerCase()}:`) && !route.startsWith(`    ${method.toLowerCase()}:`)) {
        return `there is no ${what}`;
      }
    } else {
      throw new Error(`needs ${need}, which this runner does not know`);
    }
  }
  return null;
}
