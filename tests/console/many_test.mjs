// Thousands of sandboxes and runs on record: lists are as quick as short ones, because a page of them is all
// that is asked for and drawn.
import assert from "node:assert/strict";
import { test } from "node:test";
import { api, at, person, settled } from "./browser.mjs";

const MANY = Number(process.env.GBX_CONSOLE_MANY);
// So many the server puts into an order.
const SORTED = 2048;
// What is felt as waiting; and a task of the page that is felt as a jerk.
const MOST_MS = 1000, LONGEST_MS = 250;

async function watched(one, path) {
  const page = await at(one, path);
  await settled(page);
  await page.evaluate(() => {
    window.gbxLongest = 0;
    new PerformanceObserver((list) => { for (const entry of list.getEntries()) window.gbxLongest = Math.max(window.gbxLongest, entry.duration); }).observe({ entryTypes: ["longtask"] });
  });
  return page;
}

// How long it takes until `condition` holds, as the page itself sees it.
async function timed(page, what, act, condition) {
  const began = await page.evaluate(() => performance.now());
  await act();
  await page.waitForFunction(condition.test, condition.with ?? null, { polling: "raf" });
  const took = await page.evaluate((from) => performance.now() - from, began);
  console.log(`${what}: ${Math.round(took)} ms`);
  return took;
}

const rows = (count) => ({ test: (wanted) => document.querySelectorAll("tbody tr").length === wanted && !document.querySelector(".skeleton"), with: count });
const says = (text) => ({ test: (wanted) => document.querySelector(".table-foot")?.textContent.includes(wanted), with: text });

test("thousands of sandboxes are paged, sorted and searched without lag", async () => {
  assert.ok(MANY >= 3000);
  const one = await person(), page = await watched(one, "/sandboxes?state=all"), times = {};
  await page.waitForFunction(rows(50).test, 50);
  await page.getByText(`1–50 of ${SORTED}+`).waitFor();
  await page.getByText("Only the newest are listed and searched.").waitFor();
  times.next = await timed(page, "the next page", () => page.getByRole("button", { name: "Next page" }).click(), says("51–100 of"));
  times.sort = await timed(page, "another order", () => page.getByRole("columnheader", { name: "Name" }).getByRole("button").click(), { test: () => document.querySelector("tbody a.primary")?.textContent.startsWith("many-") && document.querySelector("[aria-sort=descending]")?.textContent.startsWith("Name") });
  const last = Math.ceil(SORTED / 50);
  times.far = await timed(page, "a far page", () => page.evaluate((n) => { history.pushState(null, "", "/console/sandboxes?state=all&page=" + n); dispatchEvent(new PopStateEvent("popstate")); }, last), says(`–${SORTED} of ${SORTED}`));
  await page.getByRole("searchbox").fill(`many-${String(MANY - 7).padStart(6, "0")}`);
  times.search = await timed(page, "a search", async () => {}, rows(1));
  const longest = await page.evaluate(() => window.gbxLongest);
  console.log(`the longest task: ${Math.round(longest)} ms`);
  for (const [name, took] of Object.entries(times)) assert.ok(took < MOST_MS, `${name}: ${took} ms`);
  assert.ok(longest < LONGEST_MS, `a task took ${longest} ms`);
  await one.close();
});

test("thousands of runs are gone through and filtered without lag", async () => {
  const one = await person(), page = await watched(one, "/runs"), times = {};
  await page.waitForFunction(rows(50).test, 50);
  for (const count of [100, 150, 200, 250]) {
    times[count] = await timed(page, `${count} runs`, () => page.getByRole("button", { name: "Load more" }).click(), rows(count));
  }
  times.filter = await timed(page, "a filter", () => page.getByLabel("Status").selectOption("timed_out"), { test: () => document.querySelector(".empty h2")?.textContent === "Nothing matches" });
  const longest = await page.evaluate(() => window.gbxLongest);
  console.log(`the longest task: ${Math.round(longest)} ms`);
  for (const [name, took] of Object.entries(times)) assert.ok(took < MOST_MS, `${name}: ${took} ms`);
  assert.ok(longest < LONGEST_MS, `a task took ${longest} ms`);
  assert.equal((await api("GET", "/v1/runs?limit=1")).runs.length, 1);
  await one.close();
});
