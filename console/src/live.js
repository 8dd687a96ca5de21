// One WebSocket per tab: events and samples as they happen. It closes while the tab is hidden, and comes back
// with what was missed.
import { computed, effect, signal, untracked } from "./html.js";
import { closeSocket, openSocket, project, reachable, scope, session } from "./api.js";

export const visible = signal(!document.hidden);
document.addEventListener("visibilitychange", () => { visible.value = !document.hidden; });

// "connecting", "live", "waiting" (a new attempt comes), "paused" (the tab is hidden)
const liveState = signal("connecting");
export const connection = computed(() => (reachable.value ? liveState.value : "waiting"));

const listeners = new Set();
let socket = null, lastId = null, attempt = 0, timer = null, generation = 0;

// `take` gets each message; the result ends it.
export function listen(take) {
  listeners.add(take);
  return () => listeners.delete(take);
}

function tell(message) {
  for (const take of [...listeners]) take(message);
}

function close() {
  generation++;
  clearTimeout(timer);
  closeSocket(socket);
  socket = null;
}

async function open() {
  const mine = ++generation;
  clearTimeout(timer);
  if (liveState.value !== "waiting") liveState.value = "connecting";
  let made;
  try {
    made = await openSocket("/v1/live", { project: scope(), after: lastId });
  } catch {
    if (mine === generation) again();
    return;
  }
  if (mine !== generation) { closeSocket(made); return; }
  socket = made;
  made.onmessage = (event) => {
    const message = JSON.parse(event.data);
    if (message.type === "hello") { attempt = 0; reachable.value = true; liveState.value = "live"; }
    if (message.type === "event" && typeof message.id === "number") lastId = message.id;
    tell(message);
  };
  made.onclose = () => { if (mine === generation) again(); };
}

function again() {
  socket = null;
  liveState.value = "waiting";
  const wait = Math.min(15000, 500 * 2 ** attempt++) * (0.75 + Math.random() / 2);
  clearTimeout(timer);
  timer = setTimeout(open, wait);
}

// Tried at once, instead of when it would be.
export function reconnect() {
  attempt = 0;
  close();
  open();
}

export function startLive() {
  effect(() => {
    const wanted = session.value?.signed_in && visible.value;
    project.value; // another project: another stream
    untracked(() => {
      close();
      if (wanted) { attempt = 0; open(); } else liveState.value = "paused";
    });
  });
  let before = null;
  effect(() => {
    // Events of another project are not missed ones of this.
    if (before !== null && before !== project.value) lastId = null;
    before = project.value;
  });
}
