// Requests to the server that this page came from. The cookie says who we are; the token against forged
// requests is kept here, in memory, and nowhere else.
import { signal } from "./html.js";
import { t } from "./texts.js";
import { drafts } from "./drafts.js";
import { remember } from "./theme.js";

// What GET /console/session answered; null until it has.
export const session = signal(null);
// An admin's choice of project: "*" for all, or one name. Others have only their own.
export const project = signal("*");
// A failure to reach the server at all, for the connection's mark.
export const reachable = signal(true);

export const isAdmin = () => Boolean(session.value?.admin);
export const scope = () => (isAdmin() ? project.value : null);
// Where new objects go: one project.
export const home = () => (isAdmin() && project.value !== "*" ? project.value : null);

export class ApiError extends Error {
  constructor(status, code, message, more = {}) {
    super(message);
    Object.assign(this, { status, code, ...more });
  }

  // What to do about it, where we know.
  get advice() {
    if (this.code === "unreachable") return t.errors.unreachable_advice;
    if (this.retryAfter) return t.errors.retry_after(this.retryAfter);
    return t.errors.advice[this.code] ?? "";
  }
}

export function url(path, query = {}) {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") words.set(name, value);
  }
  const text = words.toString();
  return text ? `${path}?${text}` : path;
}

async function failure(response) {
  let code = "http_" + response.status, message = t.errors.status(response.status), request_id = null;
  try {
    const body = await response.json();
    code = body.error.code;
    message = body.error.message;
    request_id = body.request_id;
  } catch { /* not in our form: a proxy's answer */ }
  const retryAfter = Number(response.headers.get("Retry-After")) || null;
  return new ApiError(response.status, code, message, { request_id, retryAfter, etag: response.headers.get("ETag") });
}

// The response, if it is not an error.
export async function send(method, path, { query, body, headers = {}, raw, signal: abort } = {}) {
  const words = { Accept: "application/json", ...headers };
  if (method !== "GET" && session.value?.csrf) words["X-Glovebox-CSRF"] = session.value.csrf;
  let payload = raw;
  if (body !== undefined) {
    words["Content-Type"] = "application/json";
    payload = JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(url(path, query), { method, headers: words, body: payload, signal: abort, credentials: "same-origin", cache: "no-store", redirect: "error" });
  } catch (error) {
    throw error.name === "AbortError" ? error : unreachable();
  }
  return accepted(response, path);
}

async function accepted(response, path) {
  reachable.value = true;
  if (response.ok) return response;
  const problem = await failure(response);
  if (problem.status === 401 && session.value?.signed_in && path !== "/console/session") {
    session.value = { signed_in: false, over: true, reason: null };
  }
  throw problem;
}

function unreachable() {
  reachable.value = false;
  return new ApiError(0, "unreachable", t.errors.unreachable);
}

export async function ask(method, path, options) {
  const response = await send(method, path, options);
  return response.status === 204 ? null : response.json();
}

export const get = (path, query, options) => ask("GET", path, { query, ...options });
export const post = (path, body, options) => ask("POST", path, { body, ...options });

// Events of a stream (SSE) as [name, data] until it ends.
export async function* events(method, path, options = {}) {
  const response = await send(method, path, { ...options, headers: { ...options.headers, Accept: "text/event-stream" } });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let kept = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const blocks = (kept + value).split(/\r?\n\r?\n/);
      kept = blocks.pop();
      yield* eventsOf(blocks);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function* eventsOf(blocks) {
  for (const block of blocks) {
    let name = "message", data = "";
    for (const line of block.split(/\r?\n/)) {
      if (line.startsWith("event:")) name = line.slice(6).trim();
      else if (line.startsWith("data:")) data += (data ? "\n" : "") + line.slice(5).trimStart();
    }
    if (data) yield [name, JSON.parse(data)];
  }
}

// Sends a file and gives the events of the answer; `progress` is told what part of it has gone, from 0 to 1: fetch()
// would not say.
export async function* uploading(path, { query, file, type, signal: abort, progress }) {
  const request = new XMLHttpRequest();
  let wake = () => {}, fault = null, done = false, read = 0;
  const news = () => { const call = wake; wake = () => {}; call(); };
  request.open("POST", url(path, query));
  request.setRequestHeader("Accept", "text/event-stream");
  request.setRequestHeader("Content-Type", type);
  request.setRequestHeader("X-Glovebox-CSRF", session.value?.csrf ?? "");
  request.upload.onprogress = (event) => progress(event.total ? event.loaded / event.total : 0);
  request.onprogress = news;
  request.onload = () => { done = true; news(); };
  request.onerror = () => { fault = unreachable(); news(); };
  request.onabort = () => { fault = new DOMException("", "AbortError"); news(); };
  const stop = () => request.abort();
  abort?.addEventListener("abort", stop);
  request.send(file);
  try {
    for (;;) {
      const waiting = new Promise((resolve) => { wake = resolve; });
      if (!done && !fault) await waiting;
      if (fault) throw fault;
      if (request.status >= 300) {
        if (!done) continue;
        const headers = request.getResponseHeader("Retry-After") ? { "Retry-After": request.getResponseHeader("Retry-After") } : {};
        await accepted(new Response(request.responseText, { status: request.status, headers }), path);
      }
      const blocks = request.responseText.slice(read).split(/\n\n/), rest = done ? "" : blocks.at(-1);
      if (!done) blocks.pop();
      read = request.responseText.length - rest.length;
      yield* eventsOf(blocks);
      if (done) return;
    }
  } finally {
    abort?.removeEventListener("abort", stop);
    if (!done) request.abort();
  }
}

// A WebSocket needs a ticket of its own, which is good for one.
export async function openSocket(path, query) {
  const { ticket } = await post("/console/tickets", {});
  const to = new URL(url(path, query), location.href);
  to.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  return new WebSocket(to, ["glovebox.v1", "glovebox.ticket." + ticket]);
}

// Closes one that may not be open yet; closed before that, the browser would report an error.
export function closeSocket(socket) {
  if (!socket) return;
  socket.onmessage = socket.onclose = null;
  if (socket.readyState === WebSocket.CONNECTING) socket.onopen = () => socket.close();
  else socket.close();
}

// --- Signing in and out --------------------------------------------------------------------------

// The key that this page was signed in with.
let lastKey = null;

function know(answer) {
  if (answer.signed_in) lastKey = answer.key.id;
  session.value = answer;
}

export async function loadSession() {
  know(await get("/console/session"));
}

export async function signIn(proof) {
  const answer = await post("/console/session", proof);
  if (lastKey !== null && lastKey !== answer.key.id) startAnew();
  else know(answer);
}

export async function signOut() {
  await ask("DELETE", "/console/session");
  startAnew();
}

// The next person at this browser finds nothing of the last one's: drafts, results, cells and files are in the
// memory of the page, which is loaded again.
function startAnew() {
  drafts.clear();
  sessionStorage.clear();
  remember("glovebox.project", null);
  location.reload();
}
