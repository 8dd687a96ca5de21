// What the console does on a server that keeps the code of runs.
import assert from "node:assert/strict";
import { test } from "node:test";
import { api, at, go, person, settled, toast, until } from "./browser.mjs";

const record = async (id) => until(async () => (await api("GET", "/v1/runs")).runs.some((one) => one.id === id), "the record");

test("a run is run again, and what differs is shown", async () => {
  const run = await api("POST", "/v1/run", { language: "python", code: "import time\nprint('always')\nprint(time.time_ns())\nprint('the end')" });
  await record(run.id);
  const one = await person(), page = await at(one, "/runs/" + run.id);
  await settled(page);
  await page.getByText("time.time_ns()").waitFor();
  await page.getByRole("button", { name: "Run again" }).click();
  await toast(page, "Ran again in");
  const lines = page.locator(".diff > *");
  await until(async () => await lines.count() >= 4, "the lines of both");
  const kinds = await lines.evaluateAll((all) => all.map((line) => [line.className.includes("gone"), line.className.includes("new")].map(Number).join("")));
  assert.deepEqual(kinds.slice(0, 4), ["00", "10", "01", "00"]);
  // In the playground, the same code can be changed.
  await page.getByRole("button", { name: "Open in the playground" }).click();
  await page.getByRole("textbox", { name: "Code" }).getByText("the end").waitFor();
  await page.getByText("This server keeps the code of runs").waitFor();
  await one.close();
});

test("what prints the same is said to be the same; code that was cut cannot be repeated", async () => {
  const same = await api("POST", "/v1/run", { language: "python", code: "print('steady')" }), long = await api("POST", "/v1/run", { language: "python", code: "#".repeat(5000) });
  await record(same.id);
  await record(long.id);
  const one = await person(), page = await at(one, "/runs/" + same.id);
  await settled(page);
  await page.getByRole("button", { name: "Run again" }).click();
  await page.getByText("The output is the same.").waitFor();
  await go(page, "/runs/" + long.id);
  await page.getByText("Only its beginning was kept").waitFor();
  assert.ok(await page.getByRole("button", { name: "Run again" }).isDisabled());
  await one.close();
});
