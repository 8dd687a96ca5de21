// What a program printed and a notebook shows. All of it is text to us, or an image, or a frame's content.
import { html, useMemo } from "../html.js";
import { t } from "../texts.js";
import { GuestFrame } from "./guest_frame.js";
import { Notice } from "./basics.js";

// Colours and cursor movements of terminals say nothing here.
const ESCAPES = /\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-_]/g;
export const plain = (text) => text.replace(ESCAPES, "");

// Pieces are {stream: "stdout" | "stderr", text}, in the order they came.
export function Output({ pieces, label = t.output.title }) {
  if (!pieces.some((piece) => piece.text)) return null;
  return html`<div class="output" role="log" aria-label=${label} tabindex="0">${pieces.map((piece, i) => html`<span key=${i} class=${piece.stream === "stderr" ? "err" : ""}>${plain(piece.text)}</span>`)}</div>`;
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

export function Fault({ error }) {
  const trace = useMemo(() => (error.traceback ?? []).join("\n"), [error]);
  return html`<${Notice} tone="bad"><div class="bright">${error.name ? `${error.name}: ` : ""}${plain(error.message)}</div>
    ${trace && html`<pre class="mono small" style=${{ marginTop: "8px" }} tabindex="0">${plain(trace)}</pre>`}<//>`;
}
