// The TypeScript SDK in a minute: a value, an exception, a limit, files, live output, a figure, and a
// session whose variables stay.
//
//   (cd sdk/typescript && npm ci && npm run build)           # once: the package is made from the repository
//   cd examples/typescript && npm install && npm start       # or `npm start -- FILE.png`, to keep the figure
//
// The server is the one you have (GLOVEBOX_URL, or `glovebox serve` on this machine), else a private one
// that ends with this program: then GLOVEBOX_BIN says where `glovebox` is, if PATH does not.
import { writeFile } from "node:fs/promises";

import { run, Sandbox } from "@glovebox/sdk";

const hello = await run("print('hello'); 6 * 7");
console.log("a value:", hello.value, "and what it printed:", JSON.stringify(hello.stdout));

const failed = await run("x = 1\nx / 0");
console.log("an exception:", failed.error?.name, "in line", failed.error?.line);

const endless = await run("while True: pass", { timeoutMs: 300 });
console.log("a limit:", endless.error?.message);

const sorted = await run({
  command: "sort in.txt > out.txt",
  files: [{ path: "in.txt", content: "b\na\n" }],
  returnFiles: ["out.txt"],
});
console.log("a file in, a file out:", JSON.stringify(sorted.files[0]?.content));

// The sandbox is killed at the end of the block, whatever happens in it.
{
  await using sandbox = await Sandbox.create({ template: "python-data", ttlSeconds: 600 });
  await sandbox.files.write("numbers.csv", "n\n3\n4\n5\n");
  await sandbox.code("import pandas as pd\ntable = pd.read_csv('numbers.csv')");
  const sum = await sandbox.code("int(table['n'].sum())");
  console.log("a variable that stayed:", sum.value);

  console.log("live:");
  await sandbox.exec("for i in 1 2 3; do echo $i; done", {
    onStdout: (text) => process.stdout.write(text),
  });

  const drawn = await sandbox.code("table.plot();\nimport matplotlib.pyplot as plt; plt.show()");
  const figure = drawn.raiseForError().figures[0];
  if (figure === undefined) throw new Error("there is no figure");
  console.log("a figure:", figure.length, "bytes of PNG");
  const path = process.argv[2];
  if (path !== undefined) await writeFile(path, figure);
}
const left = await Sandbox.list({ state: ["running", "paused"] });
console.log("sandboxes left:", left.length);
