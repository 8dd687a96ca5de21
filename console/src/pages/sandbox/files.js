// The files of a sandbox: a tree on one side, what is chosen on the other. Names and contents are the guest's.
import { classes, html, useRef, useSignal } from "../../html.js";
import { t } from "../../texts.js";
import { ask, get, post, scope, send } from "../../api.js";
import { place, setQuery } from "../../router.js";
import { bytes } from "../../format.js";
import { Button, Empty, Menu, Problem } from "../../ui/basics.js";
import { Icon } from "../../ui/icons.js";
import { confirm, prompt } from "../../ui/dialog.js";
import { attempt, toast } from "../../ui/toast.js";
import { useData } from "../../data.js";
import { FileView } from "./file_view.js";

const HOME = "/home/user";
export const nameOf = (path) => path.split("/").pop();
const join = (folder, name) => (folder === "/" ? "/" + name : `${folder}/${name}`);

// How a request names an entry: by its exact bytes where its name is not UTF-8.
const place_of = (entry) => (entry.path_base64 ? { path_base64: entry.path_base64, project: scope() } : { path: entry.path, project: scope() });

async function save(blob, name) {
  const address = URL.createObjectURL(blob), link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

export async function download(base, entry) {
  const folder = entry.type === "directory";
  const response = await send("GET", base + (folder ? "/files/tar" : "/files"), { query: place_of(entry), headers: { Accept: "*/*" } });
  await save(await response.blob(), folder ? entry.name + ".tar" : entry.name);
}

export default function Files({ sandbox, base }) {
  const root = place.value.query.get("at") ?? HOME, chosen = place.value.query.get("file");
  const version = useSignal(0), dropping = useSignal(false), picker = useRef(null), entered = useRef(false), sending = useSignal(null);
  const again = () => { version.value++; };

  async function upload(files, folder) {
    const list = [...files];
    for (let i = 0; i < list.length; i++) {
      sending.value = { name: list[i].name, at: i + 1, of: list.length };
      const path = join(folder, list[i].webkitRelativePath || list[i].name);
      const put = (headers) => send("PUT", base + "/files", { query: { path, project: scope() }, raw: list[i], headers: { "Content-Type": "application/octet-stream", ...headers } });
      const worked = await attempt(async () => {
        try {
          await put({ "If-None-Match": "*" });
        } catch (error) {
          if (error.status !== 412) throw error;
          confirm({ title: t.files.replace_title(list[i].name), text: t.files.replace_text, verb: t.files.replace, action: async () => { await put({}); toast(t.files.uploaded(list[i].name)); again(); } });
          return;
        }
        toast(t.files.uploaded(list[i].name));
      });
      if (!worked) break;
    }
    sending.value = null;
    again();
  }

  const over = (event) => { if (event.dataTransfer?.types.includes("Files")) { event.preventDefault(); dropping.value = true; } };
  const drop = (event) => { event.preventDefault(); dropping.value = false; upload(event.dataTransfer.files, event.target.closest?.("[data-folder]")?.dataset.folder ?? root); };
  // Back to where it was opened.
  const closeFile = () => {
    const name = nameOf(chosen);
    setQuery({ file: null });
    requestAnimationFrame(() => [...document.querySelectorAll(".tree-row")].find((row) => row.dataset.entry === name)?.focus());
  };
  const crumbs = root.split("/").filter(Boolean);
  const openFolder = (path) => setQuery({ at: path === HOME ? null : path, file: null }, { replace: false });
  const fresh = (title, name, action) => prompt({ title, name, verb: t.files.make, action });

  return html`<div class=${classes("files", chosen && "has-file")} data-files>
    <section class=${classes("card flush file-tree", dropping.value && "dropping")} aria-label=${t.files.tree} onDragOver=${over} onDragLeave=${() => { dropping.value = false; }} onDrop=${drop}>
      <div class="card-head"><nav class="row grow crumb-path" aria-label=${t.files.path}><button type="button" class="mono" onClick=${() => openFolder("/")}>/</button>${crumbs.map((part, i) => html`<button key=${i} type="button" class="mono cut" aria-current=${i === crumbs.length - 1 ? "true" : null} onClick=${() => openFolder("/" + crumbs.slice(0, i + 1).join("/"))}>${part}${i < crumbs.length - 1 ? "/" : ""}</button>`)}</nav>
        <${Button} small icon="refresh" label=${t.refresh} action=${again} />
        <${Menu} icon="plus" label=${t.files.add} items=${[
          { name: t.files.upload, icon: "up", action: () => picker.current.click() },
          { name: t.files.new_file, icon: "file", action: () => fresh(t.files.new_file, t.files.name, async (name) => { await send("PUT", base + "/files", { query: { path: join(root, name.trim()), project: scope() }, raw: "", headers: { "If-None-Match": "*", "Content-Type": "application/octet-stream" } }); again(); setQuery({ file: join(root, name.trim()) }); }) },
          { name: t.files.new_folder, icon: "folder", action: () => fresh(t.files.new_folder, t.files.name, async (name) => { await post(base + "/files/mkdir", { path: join(root, name.trim()) }, { query: { project: scope() } }); again(); }) },
          { name: t.files.download_folder, icon: "down", action: () => download(base, { path: root, name: nameOf(root) || "root", type: "directory" }) }]} />
        <input type="file" multiple hidden ref=${picker} aria-label=${t.files.upload} onChange=${(event) => { upload(event.target.files, root); event.target.value = ""; }} /></div>
      ${sending.value && html`<div class="notice info" role="status"><${Icon} name="up" />${t.files.sending(sending.value)}</div>`}
      <div class="tree-scroll"><ul class="tree" role="tree" aria-label=${t.files.tree} onKeyDown=${treeKeys} onClick=${() => { entered.current = true; }}><${Folder} path=${root} base=${base} chosen=${chosen} version=${version.value} again=${again} level=${1} /></ul></div>
      <div class="drop-note" aria-hidden="true">${dropping.value ? t.files.drop_here : t.files.drop}</div></section>
    <section class="file-side">${chosen ? html`<${FileView} key=${chosen} base=${base} path=${chosen} again=${again} close=${closeFile} entered=${entered.current} />`
      : html`<div class="card"><${Empty} icon="file" title=${t.files.pick} text=${t.files.pick_text} command=${`glovebox cp FILE ${sandbox.id}:`} /></div>`}</section></div>`;
}

// Arrow keys in the tree, as a tree has them.
function treeKeys(event) {
  const items = [...event.currentTarget.querySelectorAll("[role=treeitem] > .tree-row")], at = items.indexOf(event.target);
  if (at < 0) return;
  const open = event.target.parentElement.getAttribute("aria-expanded");
  if (event.key === "ArrowDown") items[at + 1]?.focus();
  else if (event.key === "ArrowUp") items[at - 1]?.focus();
  else if (event.key === "Home") items[0].focus();
  else if (event.key === "End") items.at(-1).focus();
  else if (event.key === "ArrowRight" && open === "false") event.target.click();
  else if (event.key === "ArrowLeft" && open === "true") event.target.click();
  else if (event.key === "Enter" || event.key === " ") event.target.click();
  else return;
  event.preventDefault();
}

function Folder({ path, path_base64, base, chosen, version, again, level }) {
  const data = useData((abort) => get(base + "/files/list", { ...place_of({ path, path_base64 }), depth: 1, limit: 1000 }, { signal: abort }), [path, version]);
  if (data.error && data.value === null) return html`<li role="none" style=${{ padding: "6px 10px" }}><${Problem} error=${data.error} retry=${data.reload} /></li>`;
  if (data.value === null) return html`<li role="none" class="skeleton" style=${{ margin: "6px 12px" }}></li>`;
  const entries = [...data.value.entries].sort((a, b) => (b.type === "directory") - (a.type === "directory") || a.name.localeCompare(b.name));
  if (entries.length === 0) return html`<li role="none" class="dim small" style=${{ padding: `6px ${10 + level * 14}px` }}>${t.files.empty}</li>`;
  return html`${entries.map((entry) => html`<${Entry} key=${entry.path_base64 ?? entry.path} entry=${entry} base=${base} chosen=${chosen} version=${version} again=${again} level=${level} first=${level === 1 && entry === entries[0]} />`)}
    ${data.value.truncated && html`<li role="none" class="dim small" style=${{ padding: "6px 14px" }}>${t.files.truncated}</li>`}`;
}

function Entry({ entry, base, chosen, version, again, level, first }) {
  const open = useSignal(false), folder = entry.type === "directory", active = chosen === entry.path;
  const click = () => { if (folder) open.value = !open.value; else setQuery({ file: entry.path }); };
  const rename = () => prompt({ title: t.files.rename, name: t.files.new_path, value: entry.path, verb: t.files.rename, action: async (to) => {
    await post(base + "/files/move", { ...(entry.path_base64 ? { from_base64: entry.path_base64 } : { from: entry.path }), to: to.trim(), overwrite: false }, { query: { project: scope() } });
    if (active) setQuery({ file: to.trim() });
    again();
  } });
  const remove = () => confirm({ title: t.files.delete_title(entry.name), text: folder ? t.files.delete_folder : t.files.delete_file, verb: t.files.delete, action: async () => {
    await ask("DELETE", base + "/files", { query: { ...place_of(entry), recursive: folder } });
    if (active) setQuery({ file: null });
    toast(t.files.deleted(entry.name));
    again();
  } });
  // What is dropped on a folder goes into it.
  return html`<li role="treeitem" data-folder=${folder && !entry.path_base64 ? entry.path : null} aria-expanded=${folder ? String(open.value) : null} aria-selected=${active ? "true" : "false"} aria-level=${level}>
    <div class="tree-row" role="button" tabindex=${active || first ? 0 : -1} data-entry=${entry.name} style=${{ paddingLeft: 10 + (level - 1) * 14 + "px" }} onClick=${click}>
      <span class=${classes("turn", folder && open.value && "open")}>${folder && html`<${Icon} name="right" size=${12} />`}</span><${Icon} name=${folder ? "folder" : entry.type === "symlink" ? "link" : "file"} size=${14} /><span class="cut grow">${entry.name}</span>
      ${!folder && html`<span class="dim num size">${bytes(entry.size)}</span>`}</div>
    <span class="tree-menu"><${Menu} label=${t.files.actions_of(entry.name)} items=${[folder && { name: t.files.open_folder, icon: "folder", action: () => setQuery({ at: entry.path, file: null }, { replace: false }) },
      { name: t.files.download, icon: "down", action: () => download(base, entry) }, { name: t.files.rename, icon: "edit", action: rename }, { name: t.files.delete, icon: "trash", danger: true, action: remove }]} /></span>
    ${folder && open.value && html`<ul role="group"><${Folder} path=${entry.path} path_base64=${entry.path_base64} base=${base} chosen=${chosen} version=${version} again=${again} level=${level + 1} /></ul>`}</li>`;
}
