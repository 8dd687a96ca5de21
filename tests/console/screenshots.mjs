// Pictures of the console's pages for the documents; scripts/screenshots starts this with a server of its own.
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(process.env.GBX_CONSOLE_TOOLS + "/");
const { chromium } = require("playwright-core");
const base = process.env.GBX_CONSOLE_URL, key = process.env.GBX_CONSOLE_KEY, out = process.argv[2];
const SIZES = { wide: { width: 1440, height: 900 }, narrow: { width: 390, height: 844 } };

async function api(method, path, body, raw = false) {
  const response = await fetch(base + path, { method, headers: { "X-API-Key": key, ...(raw ? {} : { "Content-Type": "application/json" }) }, body: body === undefined ? undefined : raw ? body : JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text && response.headers.get("content-type")?.includes("json") ? JSON.parse(text) : text;
}

const SALES = "region,month,orders,total\nNorth,2026-08,131,18420.50\nSouth,2026-08,97,12110.00\nEast,2026-08,64,9034.20\nWest,2026-08,118,15870.75\nNorth,2026-09,142,20115.10\nSouth,2026-09,103,13390.40\n";
const REPORT = 'import csv\nfrom collections import defaultdict\n\ntotals = defaultdict(float)\nwith open("sales.csv") as file:\n    for row in csv.DictReader(file):\n        totals[row["region"]] += float(row["total"])\n\n# the best regions first\nfor region, total in sorted(totals.items(), key=lambda item: -item[1]):\n    print(f"{region:8} {total:12,.2f}")\n';
const SHOWN = 'rows = [("North", 38535.6), ("South", 25500.4), ("West", 15870.75), ("East", 9034.2)]\nfor region, total in rows:\n    bar = "█" * int(total / 2000)\n    print(f"{region:8} {bar:20} {total:10,.2f}")\n\n{"best": rows[0][0], "total": round(sum(total for _, total in rows), 2)}\n';

async function arranged() {
  const boxes = [];
  for (const [name, template, more] of [["agent-nightly", "python", { metadata: { agent: "nightly" } }], ["notebook-ada", "python", {}], ["crawler", "python", { profile: { net: { base: "none", allow: ["pypi.org:443", "example.com:443"] } } }], ["review-7", "node", {}], ["ci-runner", "base", {}], ["scratch", "python", {}]]) {
    boxes.push(await api("POST", "/v1/sandboxes", { template, name, ttl_s: 7200, ...more }));
  }
  const first = boxes[0].id, file = (path, text) => api("PUT", `/v1/sandboxes/${first}/files?path=${path}`, text, true);
  await file("sales.csv", SALES);
  await file("report.py", REPORT);
  await file("notes/plan.md", "# Plan\n\n- read the table\n- draw it\n");
  await api("POST", `/v1/sandboxes/${first}/exec`, { cmd: "python3 -m http.server 8000", background: true });
  await api("POST", `/v1/sandboxes/${first}/snapshots`, { name: "with-sales" });
  for (const box of boxes.slice(0, 3)) await api("POST", `/v1/sandboxes/${box.id}/exec`, { cmd: "while :; do python3 -c 'sum(range(10**6))'; sleep 0.4; done", background: true });
  await api("POST", `/v1/sandboxes/${boxes[3].id}/pause`).catch(() => {});
  for (const project of ["ci", "assistants"]) await api("POST", "/v1/keys", { project, name: project === "ci" ? "nightly" : "chat", limits: { max_in_flight: 8 } });
  for (const code of ["raise ValueError('no such column: totl')", "while True: pass", "print(len('hello'))"]) await api("POST", "/v1/run", { language: "python", code, profile: { timeout_ms: 700 } });
  return first;
}

// Some minutes of samples, so that the charts have a shape.
async function busy(until) {
  let n = 0;
  while (Date.now() < until) {
    await api("POST", "/v1/run", { language: n++ % 5 ? "python" : "javascript", code: "1 + 1" }).catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 350 + 300 * Math.sin(Date.now() / 12000)));
  }
}

const id = await arranged();
await busy(Date.now() + Number(process.env.GBX_SCREENSHOT_SECONDS ?? 150) * 1000);
const run = (await api("GET", "/v1/runs?status=failed")).runs[0].id, box = "/sandboxes/" + id;
const settled = (page) => page.waitForFunction(() => !document.querySelector(".skeleton, .loading-bar, [aria-busy=true]") && document.fonts.status === "loaded");

const PAGES = {
  overview: ["/"], playground: ["/playground", async (page) => {
    await page.getByRole("textbox", { name: "Code" }).click();
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText(SHOWN);
    await page.keyboard.press("Control+Enter");
    await page.getByText("Walls that stood").waitFor();
  }],
  runs: ["/runs"], run: ["/runs/" + run], sandboxes: ["/sandboxes"], create: ["/sandboxes?new=1"],
  terminal: [box, async (page) => {
    await page.waitForTimeout(500);
    if (await page.getByRole("button", { name: "Open a terminal" }).count()) await page.getByRole("button", { name: "Open a terminal" }).click();
    await page.locator('.terminal[data-state="open"]').waitFor();
    await page.keyboard.type("clear; ls --color; python3 report.py; df -h / | tail -1\n");
    await page.waitForTimeout(1200);
  }],
  files: [box + "/files?file=/home/user/report.py"], table: [box + "/files?file=/home/user/sales.csv"],
  code: [box + "/code", async (page) => {
    await page.getByRole("textbox", { name: "Cell 1" }).click();
    await page.keyboard.insertText("import csv\nrows = list(csv.DictReader(open('sales.csv')))\nclass Table:\n    def _repr_html_(self):\n        return '<table>' + ''.join('<tr>' + ''.join(f'<td style=\"padding:4px 14px\">{v}</td>' for v in r.values()) + '</tr>' for r in rows) + '</table>'\nTable()");
    await page.keyboard.press("Control+Enter");
    await page.frameLocator("iframe.guest-frame").getByText("South").first().waitFor();
  }],
  processes: [box + "/processes"], logs: [box + "/logs"], network: [box + "/network"], metrics: [box + "/metrics"], ports: [box + "/ports"], snapshots: [box + "/snapshots"], "sandbox-settings": [box + "/settings"],
  templates: ["/templates"], packages: ["/packages"], images: ["/images"], keys: ["/keys"], settings: ["/settings"], security: ["/security"],
  palette: ["/", async (page) => { await page.keyboard.press("Control+k"); await page.getByRole("dialog").waitFor(); }],
};

const browser = await chromium.launch({ executablePath: process.env.GBX_CHROMIUM, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
for (const theme of ["light", "dark"]) {
  for (const [size, viewport] of Object.entries(SIZES)) {
    const context = await browser.newContext({ viewport, colorScheme: theme, reducedMotion: "reduce", deviceScaleFactor: size === "narrow" ? 2 : 1 });
    const page = await context.newPage(), save = (name) => page.screenshot({ path: join(out, `${name}-${theme}-${size}.png`) });
    await page.goto(base + "/console/");
    await page.getByLabel("API key").waitFor();
    await save("signin");
    await page.getByLabel("API key").fill(key);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.locator("#page-title").waitFor();
    for (const [name, [path, act]] of Object.entries(PAGES)) {
      await page.goto(base + "/console" + path);
      await page.locator("#page-title").waitFor();
      await settled(page);
      await page.waitForTimeout(400);  // charts are drawn in the frame after
      await act?.(page);
      await page.waitForTimeout(200);
      await save(name);
    }
    await context.close();
  }
}
await browser.close();
