// One file: text to edit, an image, a table or a page to look at. What is saved replaces only what was read.
import { html, useEffect, useMemo, useRef, useSignal } from "../../html.js";
import { t } from "../../texts.js";
import { scope, send } from "../../api.js";
import { bytes } from "../../format.js";
import { useData } from "../../data.js";
import { drafts } from "../../drafts.js";
import { Ago, Button, Choice, Empty, Loaded, Notice } from "../../ui/basics.js";
import { confirm } from "../../ui/dialog.js";
import { Editor, languageOfFile } from "../../ui/editor.js";
import { GuestFrame } from "../../ui/guest_frame.js";
import { imageAddress } from "../../ui/output.js";
import { toast } from "../../ui/toast.js";
import { download, nameOf } from "./files.js";

const MOST_TEXT = 2 << 20, MOST_IMAGE = 20 << 20, MOST_ROWS = 500;
const IMAGES = { png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg", gif: "image/gif", webp: "image/webp", svg: "image/svg+xml", bmp: "image/bmp", ico: "image/x-icon" };

function textOf(buffer) {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(buffer);
    return text.includes("\0") ? null : text;
  } catch { return null; }
}

export function FileView({ base, path, again, close, entered }) {
  const name = nameOf(path), kind = name.split(".").pop().toLowerCase(), image = IMAGES[kind];
  const data = useData(async (abort) => {
    const query = { path, project: scope() };
    const stat = await (await send("GET", base + "/files/stat", { query, signal: abort })).json();
    if (stat.type !== "file" && stat.type !== "symlink") return { stat };
    if (stat.size > (image ? MOST_IMAGE : MOST_TEXT)) return { stat, large: true };
    const response = await send("GET", base + "/files", { query, signal: abort, headers: { Accept: "*/*" } }), buffer = await response.arrayBuffer();
    return { stat, etag: response.headers.get("ETag"), buffer, text: textOf(buffer) };
  }, [path]);
  // On a narrow window the file takes the tree's place, and its keyboard.
  const view = useRef(null);
  useEffect(() => { if (entered && !document.querySelector(".file-tree")?.offsetParent) view.current.querySelector(".card-head button")?.focus(); }, []);
  return html`<div class="card flush file-view" ref=${view}><div class="card-head"><span class="mono cut bright grow" title=${path}>${name}</span>
    <${Button} small icon="down" label=${t.files.download} action=${() => download(base, { path, name, type: "file" })} /><${Button} small icon="close" label=${t.close} action=${close} /></div>
    <${Loaded} data=${data}>${(file) => html`<${Shown} file=${file} name=${name} kind=${kind} image=${image} base=${base} path=${path} again=${again} reload=${data.reload} />`}<//></div>`;
}

function Shown({ file, name, kind, image, base, path, again, reload }) {
  const views = [image && file.buffer && "image", file.text !== undefined && file.text !== null && ["csv", "tsv"].includes(kind) && "table", ["html", "htm"].includes(kind) && file.text && "page", file.text !== undefined && file.text !== null && "text"].filter(Boolean);
  const chosen = useSignal(views[0]), view = views.includes(chosen.value) ? chosen.value : views[0];
  const facts = html`<div class="row wrap small dim file-facts"><span>${bytes(file.stat.size)}</span><span class="mono">${file.stat.mode}</span><span class="mono">${file.stat.user ?? file.stat.uid}</span><${Ago} at=${file.stat.modified_at} />
    ${views.length > 1 && html`<span style=${{ marginLeft: "auto" }}><${Choice} label=${t.files.view} value=${view} set=${(one) => { chosen.value = one; }} options=${views.map((one) => [one, t.files.views[one]])} /></span>`}</div>`;
  if (!view) return html`${facts}<${Empty} icon="file" title=${file.large ? t.files.large : t.files.binary} text=${file.large ? t.files.large_text : t.files.binary_text}><${Button} kind="outline" icon="down" action=${() => download(base, { path, name, type: "file" })}>${t.files.download}<//><//>`;
  if (view === "image") return html`${facts}<${Picture} buffer=${file.buffer} type=${image} name=${name} />`;
  if (view === "table") return html`${facts}<${Table} text=${file.text} mark=${kind === "tsv" ? "\t" : ","} />`;
  if (view === "page") return html`${facts}<div class="pad"><${GuestFrame} text=${file.text} height=${480} fixed title=${t.files.views.page} /></div>`;
  return html`${facts}<${TextFile} file=${file} name=${name} base=${base} path=${path} again=${again} reload=${reload} />`;
}

function Picture({ buffer, type, name }) {
  const address = useMemo(() => (type === "image/svg+xml" ? imageAddress(type, new TextDecoder().decode(buffer)) : URL.createObjectURL(new Blob([buffer], { type }))), [buffer]);
  useEffect(() => () => URL.revokeObjectURL(address), [address]);
  return html`<div class="picture"><img src=${address} alt=${name} /></div>`;
}

// RFC 4180: quotes, doubled quotes, line ends inside quotes.
function parseTable(text, mark, most) {
  const rows = [[]];
  let field = "", quoted = false;
  for (let i = 0; i < text.length; i++) {
    const letter = text[i];
    if (quoted) {
      if (letter === '"' && text[i + 1] === '"') { field += '"'; i++; } else if (letter === '"') quoted = false; else field += letter;
    } else if (letter === '"' && field === "") quoted = true;
    else if (letter === mark) { rows.at(-1).push(field); field = ""; }
    else if (letter === "\n") {
      rows.at(-1).push(field.replace(/\r$/, ""));
      field = "";
      if (rows.length > most) return { rows, more: i + 1 < text.length };
      rows.push([]);
    } else field += letter;
  }
  if (field !== "" || rows.at(-1).length) rows.at(-1).push(field); else rows.pop();
  return { rows, more: false };
}

function Table({ text, mark }) {
  const { rows, more } = useMemo(() => parseTable(text, mark, MOST_ROWS), [text]);
  const [head = [], ...body] = rows;
  return html`<div class="table-scroll csv" tabindex="0" role="region" aria-label=${t.files.views.table}><table class="table"><thead><tr>${head.map((cell, i) => html`<th key=${i} scope="col">${cell}</th>`)}</tr></thead>
    <tbody>${body.map((row, i) => html`<tr key=${i}>${row.map((cell, j) => html`<td key=${j} class="mono cut">${cell}</td>`)}</tr>`)}</tbody></table>${more && html`<p class="dim small pad">${t.files.first_rows(MOST_ROWS)}</p>`}</div>`;
}

function TextFile({ file, name, base, path, again, reload }) {
  const draft = base + path, before = drafts.get(draft);
  const text = useSignal(before?.text ?? file.text), kept = useSignal(before?.kept ?? file.text), etag = useSignal(before?.etag ?? file.etag), conflict = useSignal(null), first = useRef(true);
  useEffect(() => {
    if (first.current) { first.current = false; return; }
    text.value = kept.value = file.text;
    etag.value = file.etag;
    conflict.value = null;
  }, [file]);
  const changed = text.value !== kept.value;
  useEffect(() => {
    if (changed) drafts.set(draft, { text: text.value, kept: kept.value, etag: etag.value });
    else drafts.delete(draft);
  }, [text.value, kept.value, etag.value]);

  async function write(match) {
    const sent = text.value;
    const response = await send("PUT", base + "/files", { query: { path, project: scope(), mode: file.stat.mode }, raw: new TextEncoder().encode(sent), headers: { "Content-Type": "application/octet-stream", ...(match ? { "If-Match": match } : {}) } });
    etag.value = response.headers.get("ETag");
    kept.value = sent;
    conflict.value = null;
    toast(t.files.saved(name));
    again();
  }
  async function save() {
    try {
      await write(etag.value);
    } catch (error) {
      if (error.status !== 412) throw error;
      conflict.value = error.etag ?? "";
    }
  }
  return html`${conflict.value !== null && html`<div class="pad"><${Notice} tone="busy" role="alert"><div class="bright">${t.files.conflict}</div><div class="row wrap" style=${{ marginTop: "8px" }}>
      <${Button} small kind="outline" action=${() => confirm({ title: t.files.theirs_title, text: t.files.theirs_text, verb: t.files.theirs, action: reload })}>${t.files.theirs}<//>
      <${Button} small kind="outline" danger action=${() => write(conflict.value)}>${t.files.mine}<//></div><//></div>`}
    <div class="pad"><${Editor} text=${text.value} set=${(next) => { text.value = next; }} language=${languageOfFile(name)} label=${t.files.editor(name)} save=${() => save().catch(() => {})} height="max(320px, calc(100dvh - 480px))" /></div>
    <div class="row pad between" style=${{ paddingTop: 0 }}><span class="dim small" role="status">${changed ? t.files.unsaved : t.files.is_saved}</span><span class="row">${changed && html`<${Button} action=${() => { text.value = kept.value; reload(); }}>${t.files.revert}<//>`}<${Button} kind="filled" disabled=${!changed} action=${save}>${t.files.save} <kbd>Ctrl S</kbd><//></span></div>`;
}
