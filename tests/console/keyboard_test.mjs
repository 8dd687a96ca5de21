// A person without a mouse: everything of a day's work is reached, done and left by keys alone.
import assert from "node:assert/strict";
import { test } from "node:test";
import { KEY, SIZES, URL_, api, box, endSandbox, person, read, settled, toast, until, withPerson, withSandbox, write } from "./browser.mjs";

// What has the focus, as it is called.
const focused = (page) => page.evaluate(() => {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  if (!at || at === document.body) return "";
  const label = at.getAttribute("aria-label") || (at.labels?.length ? at.labels[0].textContent : "") || at.textContent;
  return `${at.getAttribute("role") ?? at.localName}: ${label.trim().replace(/\s+/g, " ")}`;
});

// By Tab, and by nothing else.
async function tabTo(page, wanted, { back = false, most = 90 } = {}) {
  const seen = [await focused(page)];
  if (wanted.test(seen[0])) return;
  for (let i = 0; i < most; i++) {
    await page.keyboard.press(back ? "Shift+Tab" : "Tab");
    const now = await focused(page);
    seen.push(now);
    if (wanted.test(now)) return;
  }
  assert.fail(`never reached ${wanted}: ${seen.join(" | ")}`);
}
// What is drawn takes the focus a moment later.
async function focusOn(page, wanted) {
  let last = "";
  await until(async () => wanted.test(last = await focused(page)), `the focus on ${wanted}`, 5000).catch((error) => assert.fail(`${error.message}; it is on "${last}"`));
}
async function signIn(page) {
  await page.locator(".signin").waitFor();
  await focusOn(page, /API key/);
  await page.keyboard.type(KEY);
  await page.keyboard.press("Enter");
  await page.locator("#page-title").waitFor();
  await settled(page);
}
async function palette(page, words) {
  await page.keyboard.press("Control+k");
  await page.keyboard.type(words);
  await page.locator("[role=option]", { hasText: words }).first().waitFor();
  await page.keyboard.press("Enter");
}

test("from the first page to a shell in a new sandbox, and to its end", () => withPerson(async (one) => {
  const page = await one.context.newPage();
  await page.goto(URL_ + "/console/");
  await signIn(page);
  await palette(page, "Sandboxes");
  await page.getByRole("heading", { name: "Sandboxes", exact: true }).waitFor();
  await palette(page, "New sandbox");
  await page.getByRole("dialog").waitFor();
  await tabTo(page, /^input: Name/, { most: 8 });
  await page.keyboard.type("by-keys");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/sandboxes\/sb[a-z0-9]{20}$/);
  const id = /sb[a-z0-9]{20}$/.exec(page.url())[0];
  try {
    await settled(page);
    await tabTo(page, /^button: Open a terminal/);
    await page.keyboard.press("Enter");
    await page.locator('.terminal[data-state="open"]').waitFor();
    await page.keyboard.type("echo by-keys > typed\n");
    await until(async () => (await read(id, "/home/user/typed").catch(() => "")) === "by-keys\n", "what was typed");
    // Tab is the shell's: it completes. F6 leaves.
    await page.keyboard.type("cat ty");
    await page.keyboard.press("Tab");
    await page.keyboard.type("> completed\n");
    await until(async () => (await read(id, "/home/user/completed").catch(() => "")) === "by-keys\n", "the completed name");
    // Ctrl-K, too, is the shell's; with Shift it is the page's.
    await page.keyboard.type("echo kept > cut; echo lost > cut");
    for (let i = 0; i < 17; i++) await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("Control+k");
    await page.keyboard.press("Enter");
    await until(async () => (await read(id, "/home/user/cut").catch(() => "")) === "kept\n", "the rest of the line cut");
    await page.keyboard.press("Control+Shift+K");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("F6");
    await focusOn(page, /^tab: shell/);
    await tabTo(page, /^button: New terminal/, { most: 4 });
    await page.keyboard.press("Enter");
    await until(async () => await page.getByRole("tab").count() === 2, "two terminals");
    await page.locator('.terminal:not([hidden])[data-state="open"]').waitFor();
    await page.keyboard.press("F6");
    await page.keyboard.press("ArrowLeft");
    await until(() => page.getByRole("tab").first().getAttribute("aria-selected").then((value) => value === "true"), "the first terminal");
    await page.keyboard.press("F6");
    // The question is not answered by the Enter that asked it, and Escape leads back.
    await tabTo(page, /^button: End$/, { back: true });
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await focusOn(page, /^button: Cancel/);
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await focusOn(page, /^button: End$/);
    await page.keyboard.press("Enter");
    await tabTo(page, /^button: End$/, { most: 3 });
    await page.keyboard.press("Enter");
    await page.getByText(/^It ended/).waitFor();
    assert.equal((await api("GET", "/v1/sandboxes/" + id)).state, "stopped");
    // What had the focus is gone with it: it is at the page's title and not lost.
    await until(async () => (await focused(page)) !== "", "a place for the focus");
  } finally {
    await endSandbox(id);
  }
}));

test("files are gone through, opened, changed and left", () => withSandbox((sandbox) => withPerson(async (one) => {
  await write(sandbox.id, "/home/user/a/deep.txt", "deep\n");
  await write(sandbox.id, "/home/user/b.txt", "before\n");
  const page = await one.context.newPage();
  await page.goto(URL_ + "/console" + box(sandbox, "files"));
  await signIn(page);
  await tabTo(page, /^button: a\b/);
  await page.keyboard.press("ArrowRight");
  await page.locator('.tree-row[data-entry="deep.txt"]').waitFor();
  await page.keyboard.press("End");
  await focusOn(page, /b\.txt/);
  await page.keyboard.press("Enter");
  const text = page.getByRole("textbox", { name: "Text of b.txt" });
  await text.waitFor();
  await tabTo(page, /Text of b\.txt/);
  await page.keyboard.press("Control+a");
  await page.keyboard.type("after");
  await page.keyboard.press("Control+s");
  await toast(page, "b.txt is saved.");
  assert.equal(await read(sandbox.id, "/home/user/b.txt"), "after");
  // Tab indents in an editor; Esc and then Tab leaves it.
  await page.keyboard.press("Escape");
  await page.keyboard.press("Tab");
  assert.ok(!/Text of b\.txt/.test(await focused(page)), "the editor keeps the focus");
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Shift+Tab");
  await focusOn(page, /^button: Close/);
  await page.keyboard.press("Enter");
  await until(async () => /b\.txt/.test(await focused(page)), "the focus where the file was opened");
  // The entry's menu, its question, and back to where one was.
  await tabTo(page, /^button: Actions for b\.txt/, { most: 4 });
  await page.keyboard.press("Enter");
  await focusOn(page, /^menuitem: Download/);
  await page.keyboard.press("ArrowDown");
  await focusOn(page, /^menuitem: Rename/);
  await page.keyboard.press("Enter");
  await page.getByLabel("New path").waitFor();
  await focusOn(page, /^input: New path/);
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await focusOn(page, /^button: Actions for b\.txt/);
})));

test("on a narrow window a file takes the focus with it, and gives it back", () => withSandbox((sandbox) => withPerson(async (one) => {
  await write(sandbox.id, "/home/user/b.txt", "text\n");
  const page = await one.context.newPage();
  await page.goto(URL_ + "/console" + box(sandbox, "files"));
  await signIn(page);
  await tabTo(page, /^button: b\.txt/);
  await page.keyboard.press("Enter");
  await page.getByRole("textbox", { name: "Text of b.txt" }).waitFor();
  await until(async () => (await focused(page)) !== "", "the focus in the file");
  await tabTo(page, /^button: Close/, { most: 6 });
  await page.keyboard.press("Enter");
  await until(async () => /b\.txt/.test(await focused(page)), "the focus in the tree");
}, { size: SIZES.narrow })));

test("the focus is always seen", async () => {
  for (const theme of ["light", "dark"]) {
    const other = await person({ theme }), page = await other.context.newPage();
    await page.goto(URL_ + "/console/sandboxes");
    await signIn(page);
    let looked = 0;
    for (let i = 0; i < 25; i++) {
      await page.keyboard.press("Tab");
      const unseen = await page.evaluate(() => {
        const at = document.activeElement, style = getComputedStyle(at), area = at.getBoundingClientRect();
        if (at === document.body) return "";
        const ring = style.boxShadow !== "none" || (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0);
        return ring && area.width > 0 && area.bottom > 0 ? null : at.outerHTML.slice(0, 200);
      });
      if (unseen === "") break;
      assert.equal(unseen, null);
      looked++;
    }
    assert.ok(looked > 10, "nothing had the focus");
    await other.close();
  }
});
