// Images that the console pulls from a registry, with progress, and with a password where one is asked for.
import assert from "node:assert/strict";
import { test } from "node:test";
import { api, at, barriers, endSandbox, exec, settled, toast, withPerson } from "./browser.mjs";

const REGISTRY = process.env.GBX_CONSOLE_REGISTRY, PASSWORD = process.env.GBX_CONSOLE_PASSWORD;

test("an image is pulled from a registry and used", () => withPerson(async (one) => {
  one.expect(/4\d\d/);  // of registries and images that there are not
  const page = await at(one, "/images");
  await settled(page);
  await page.getByRole("button", { name: "Pull an image" }).first().click();
  const dialog = page.getByRole("dialog"), submit = dialog.getByRole("button", { name: "Pull an image" });
  // From nowhere else than the administrator says.
  await dialog.getByLabel("Name", { exact: true }).fill("elsewhere.example.org/team/open:1");
  await submit.click();
  await dialog.getByRole("alert").waitFor();
  assert.deepEqual(await barriers(page), []);
  await dialog.getByLabel("Name", { exact: true }).fill(`${REGISTRY}/team/open:1`);
  const phases = page.evaluate(() => new Promise((done) => {
    const seen = new Set(), look = () => {
      const text = document.querySelector("dialog [role=status] .small")?.textContent;
      if (text) seen.add(text.split(":")[0]);
      if (document.querySelector("dialog")) requestAnimationFrame(look); else done([...seen]);
    };
    look();
  }));
  await submit.click();
  await toast(page, `${REGISTRY}/team/open:1 is loaded.`);
  assert.ok((await phases).length > 0, "no progress was shown");
  await page.getByRole("button", { name: `Actions for ${REGISTRY}/team/open:1` }).click();
  await page.getByRole("menuitem", { name: "New sandbox from it" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Create" }).click();
  await page.waitForURL(/\/sandboxes\/sb[a-z0-9]{20}$/);
  const id = /sb[a-z0-9]{20}$/.exec(page.url())[0];
  assert.equal((await exec(id, "echo inside")).stdout, "inside\n");
  await endSandbox(id);
}));

test("a password is asked for, used once and kept nowhere", () => withPerson(async (one) => {
  one.expect(/4\d\d/);
  const page = await at(one, "/images?pull=1"), dialog = page.getByRole("dialog"), submit = dialog.getByRole("button", { name: "Pull an image" });
  await dialog.getByLabel("Name", { exact: true }).fill(`${REGISTRY}/team/closed:1`);
  await submit.click();
  await dialog.getByRole("alert").waitFor();
  assert.equal((await api("GET", "/v1/images")).images.filter((image) => image.names.some((name) => name.includes("closed"))).length, 0);
  await dialog.getByLabel("User name").fill(process.env.GBX_CONSOLE_USER);
  await dialog.getByLabel("Password or token").fill(PASSWORD);
  await submit.click();
  await page.getByRole("row", { name: /team\/closed:1/ }).waitFor();
  const kept = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage, html: document.documentElement.outerHTML, address: location.href }));
  assert.ok(!kept.includes(PASSWORD));
}));
