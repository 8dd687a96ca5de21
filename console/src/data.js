// Data of the server in components: loaded when shown, again after an interval or an event, never while
// the tab is hidden.
import { useEffect, useRef, useSignal } from "./html.js";
import { project } from "./api.js";
import { listen, visible } from "./live.js";

// {value, error, loading, reload}. `load(abort)` is called again when a word of `words` changes, every
// `every` milliseconds, and when `on(message)` holds for a message of the live stream.
export function useData(load, words = [], { every = 0, on = null } = {}) {
  const value = useSignal(null), error = useSignal(null), loading = useSignal(true);
  const state = useRef({ abort: null, late: null, stale: false });
  const latest = useRef(load);
  latest.current = load;

  async function reload() {
    state.current.abort?.abort();
    const abort = (state.current.abort = new AbortController());
    loading.value = true;
    try {
      const got = await latest.current(abort.signal);
      if (abort.signal.aborted) return;
      value.value = got;
      error.value = null;
    } catch (problem) {
      if (abort.signal.aborted || problem.name === "AbortError") return;
      error.value = problem;
    }
    loading.value = false;
  }

  // What was there stays until what is asked for now has come.
  useEffect(() => {
    error.value = null;
    reload();
    return () => state.current.abort?.abort();
  }, [...words, project.value]);

  useEffect(() => {
    const tick = () => { if (visible.value) reload(); else state.current.stale = true; };
    // Many events at once are one reason.
    const soon = () => {
      if (state.current.late) return;
      state.current.late = setTimeout(() => { state.current.late = null; tick(); }, 250);
    };
    const timer = every ? setInterval(tick, every) : null;
    const end = on ? listen((message) => { if (message.type === "lost" || message.type === "hello" && state.current.seen || on(message)) soon(); if (message.type === "hello") state.current.seen = true; }) : null;
    const shown = visible.subscribe((now) => {
      if (now && state.current.stale) { state.current.stale = false; reload(); }
    });
    return () => { clearInterval(timer); clearTimeout(state.current.late); state.current.late = null; end?.(); shown(); };
  }, [every, ...words]);

  return { value: value.value, error: error.value, loading: loading.value, reload };
}

// Seconds pass: a component that shows ages is drawn again, while it is looked at.
export function useNow(every = 10000) {
  const now = useSignal(Date.now());
  useEffect(() => {
    const timer = setInterval(() => { if (visible.value) now.value = Date.now(); }, every);
    return () => clearInterval(timer);
  }, [every]);
  return now.value;
}
