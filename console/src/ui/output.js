// What a program printed and a notebook shows. All of it is text to us, or an image, or a frame's content.
import { html, useLayoutEffect, useMemo, useRef } from "../html.js";
import { t } from "../texts.js";
import { GuestFrame } from "./guest_frame.js";
import { Notice } from "./basics.js";

// Colours and cursor movements of terminals say nothing here.
const ESCAPES = /\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-_]/g;
export const plain = (text) => text.replace(ESCAPES, "");

function Piece({ piece }) {
  const text = useMemo(() => plain(piece.text), [piece.text]);
  return html`<span class=${piece.stream === "stderr" ? "err" : ""}>${text}</span>`;
}

// Pieces are {stream: "stdout" | "stderr", text}, in the order they came. While it is `live` the newest is in view,
// unless one has scrolled away from it.
export function Output({ pieces, cut = false, live = false, label = t.output.title }) {
  const box = useRef(null), away = useRef(false), was = useRef(false);
  useLayoutEffect(() => {
    // The last of it comes together with the end.
    if ((live || was.current) && !away.current && box.current) box.current.scrollTop = box.current.scrollHeight;
    was.current = live;
  }, [pieces, live]);
  if (!pieces.some((piece) => piece.text)) { away.current = false; return null; }
  const scrolled = () => { away.current = box.current.scrollHeight - box.current.scrollTop - box.current.clientHeight > 40; };
  return html`<div class="output" role="log" aria-label=${label} tabindex="0" ref=${box} onScroll=${scrolled}>${cut && html`<div class="dim">${t.output.cut}</div>`}${pieces.map((piece, i) => html`<${Piece} key=${piece.key ?? i} piece=${piece} />`)}</div>`;
}

const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml"];

// Never a Blob's address for an SVG: opened as a page, it would be one of this origin.
export function imageAddress(type, data) {
  if (type === "image/svg+xml") return "data:image/svg+xml;charset=utf-8," + encodeURIComponent(String(data));
  return `data:${type};base64,${String(data).replace(/[^A-Za-z0-9+/=]/g, "")}`;
}

// One result: the richest form that we can show.
function Rich({ mime }) {
  const image = IMAGES.find((type) => typeof mime[type] === "string");
  if (image) return html`<img src=${imageAddress(image, mime[image])} alt=${typeof mime["text/plain"] === "string" ? mime["text/plain"].slice(0, 200) : t.output.image} />`;
  if (typeof mime["text/html"] === "string") return html`<${GuestFrame} text=${mime["text/html"]} />`;
  if (mime["application/json"] !== undefined) return html`<pre class="output" tabindex="0">${JSON.stringify(mime["application/json"], null, 2)}</pre>`;
  for (const type of ["text/markdown", "text/latex", "text/plain"]) {
    if (typeof mime[type] === "string") return html`<pre class="output" tabindex="0">${plain(mime[type])}</pre>`;
  }
  const [type, value] = Object.entries(mime)[0] ?? [];
  return type ? html`<pre class="output" tabindex="0">${typeof value === "string" ? value : JSON.stringify(value, null, 2)}</pre>` : null;
}

export function RichList({ results }) {
  return results.length > 0 && html`<div class="rich">${results.map((mime, i) => html`<${Rich} key=${i} mime=${mime} />`)}</div>`;
}

// `printed`: what is shown already. Interpreters print the trace of an error, too.
export function Fault({ error, printed = "" }) {
  const trace = useMemo(() => {
    const text = (error.traceback ?? []).join("\n").trim();
    return printed.includes(text) ? "" : text;
  }, [error, printed]);
  return html`<${Notice} tone="bad"><div class="bright">${error.name ? `${error.name}: ` : ""}${plain(error.message)}</div>
    ${trace && html`<pre class="mono small" style=${{ marginTop: "8px" }} tabindex="0">${plain(trace)}</pre>`}<//>`;
}
