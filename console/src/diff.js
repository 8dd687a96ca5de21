// The lines that two texts share, in order, and those that only one has: the longest common subsequence, of
// a thousand lines around the first that differs. `skipped` are not among them, and `more` follow.
const MOST = 1000;

export function difference(before, after) {
  const whole = [before.split("\n"), after.split("\n")];
  let same = 0;
  while (same < whole[0].length && same < whole[1].length && whole[0][same] === whole[1][same]) same++;
  const skipped = Math.max(0, same - 3), [a, b] = whole.map((lines) => lines.slice(skipped, skipped + MOST));
  const long = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) long[i][j] = a[i] === b[j] ? long[i + 1][j + 1] + 1 : Math.max(long[i + 1][j], long[i][j + 1]);
  }
  const lines = [];
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { lines.push({ kind: "same", text: a[i] }); i++; j++; }
    else if (j >= b.length || (i < a.length && long[i + 1][j] >= long[i][j + 1])) lines.push({ kind: "gone", text: a[i++] });
    else lines.push({ kind: "new", text: b[j++] });
  }
  return { lines, skipped, more: Math.max(...whole.map((all) => all.length)) - skipped - MOST };
}
