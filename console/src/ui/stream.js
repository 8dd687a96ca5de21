// Output as it comes: a list of {key, stream, text}, of which only the last still grows, so that each is drawn
// once. The list is bounded: its oldest pieces go.
import { signal } from "../html.js";

const PIECE = 16 << 10, MOST = 1 << 20, EVERY_MS = 40;
let keys = 0;

const textOf = (data) => data.text ?? new TextDecoder().decode(Uint8Array.from(atob(data.base64 ?? ""), (letter) => letter.charCodeAt(0)));

// A piece ends with a line: in the middle of one, an escape sequence might be cut.
const isFull = (piece) => piece.text.length >= PIECE && (piece.text.endsWith("\n") || piece.text.length >= 8 * PIECE);

// {pieces, cut, add, flush}: what is added is seen together with what else came in the same moment.
export function stream() {
  const pieces = signal([]), cut = signal(false);
  let list = [], length = 0, timer = null;
  function flush() {
    clearTimeout(timer);
    timer = null;
    pieces.value = [...list];
  }
  function add(name, data) {
    const text = textOf(data), last = list.at(-1);
    if (last?.stream === name && !isFull(last)) list[list.length - 1] = { ...last, text: last.text + text };
    else list.push({ key: ++keys, stream: name, text });
    length += text.length;
    while (length > MOST && list.length > 1) {
      length -= list.shift().text.length;
      cut.value = true;
    }
    timer ??= setTimeout(flush, EVERY_MS);
  }
  return { pieces, cut, add, flush };
}
