// Packages in the console: installed by a run and by the page, seen as they come, checked, and removed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { api, at, barriers, editor, endSandbox, go, newSandbox, settled, toast, type, until, withPerson } from "./browser.mjs";

test("a run in the playground has the packages that it names", () => withPerson(async (one) => {
  const page = await at(one, "/playground");
  await editor(page, "Code").waitFor();
  await page.getByRole("button", { name: "More settings" }).click();
  await page.getByLabel("Packages").fill("needy");
  await type(page, "Code", "import needy\nprint(needy.hello())");
  await page.keyboard.press("Control+Enter");
  await page.getByRole("log", { name: "Installer" }).waitFor();
  await page.locator(".output", { hasText: "hello from needy 1.0" }).waitFor({ timeout: 60000 });
  // They are kept for those that follow, and listed.
  await go(page, "/packages");
  const row = page.getByRole("row", { name: /needy/ });
  await row.waitFor();
  assert.deepEqual(await barriers(page), []);
}));

test("packages are installed by the page, checked against their digest and removed", () => withPerson(async (one) => {
  one.expect(/4\d\d/);  // of packages that there are not
  const page = await at(one, "/packages");
  await settled(page);
  await page.getByRole("button", { name: "Install packages" }).first().click();
  const dialog = page.getByRole("dialog"), submit = dialog.getByRole("button", { name: "Install packages" });
  await dialog.getByLabel("Packages").fill("there-is-no-such-package");
  await submit.click();
  await dialog.getByRole("alert").waitFor({ timeout: 60000 });
  assert.deepEqual(await barriers(page), []);
  await dialog.getByLabel("Packages").fill("greeter");
  await submit.click();
  await toast(page, "Installed. The next run finds them ready.");
  const row = page.getByRole("row", { name: /greeter/ });
  await row.waitFor();
  const menu = async (name) => {
    await row.getByRole("button", { name: /^Actions for/ }).click();
    await page.getByRole("menuitem", { name }).click();
  };
  await menu("Check against its digest");
  await toast(page, "Nothing has changed.");
  // Not while a sandbox has them.
  const holder = await newSandbox({ profile: { dependencies: ["greeter"] } });
  await menu("Remove");
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await toast(page, "End the sandboxes that have them");
  await page.getByRole("button", { name: "Cancel" }).click();
  await endSandbox(holder.id);
  await until(async () => !(await api("GET", "/v1/sandboxes?state=running,paused")).sandboxes.length, "its end");
  await menu("Remove");
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await toast(page, "Removed.");
  await row.waitFor({ state: "detached" });
  assert.ok((await api("GET", "/v1/layers")).layers.every((layer) => !layer.asked.includes("greeter")));
}));
