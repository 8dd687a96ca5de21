// Numbers, sizes and times as people read them.
import { t } from "./texts.js";

const units = ["B", "KB", "MB", "GB", "TB"];

export function bytes(n) {
  if (n === null || n === undefined) return "–";
  let unit = 0;
  while (n >= 1000 && unit < units.length - 1) { n /= 1024; unit++; }
  return `${unit === 0 || n >= 100 ? Math.round(n) : n.toFixed(n >= 10 ? 1 : 2).replace(/\.?0+$/, "")} ${units[unit]}`;
}

export function ms(n) {
  if (n === null || n === undefined) return "–";
  if (n < 10) return `${n.toFixed(n < 1 ? 2 : 1)} ms`;
  if (n < 1000) return `${Math.round(n)} ms`;
  if (n < 60000) return `${(n / 1000).toFixed(n < 10000 ? 2 : 1)} s`;
  return duration(n / 1000);
}

export function duration(seconds) {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min${s % 60 && s < 600 ? ` ${s % 60} s` : ""}`;
  if (s < 86400) return `${Math.floor(s / 3600)} h${Math.floor((s % 3600) / 60) ? ` ${Math.floor((s % 3600) / 60)} min` : ""}`;
  return `${Math.floor(s / 86400)} d${Math.floor((s % 86400) / 3600) ? ` ${Math.floor((s % 86400) / 3600)} h` : ""}`;
}

export function ago(at, now = Date.now()) {
  if (!at) return "–";
  const seconds = (now - new Date(at).getTime()) / 1000;
  // The clocks of the two differ a little, and ages are of a moment ago.
  if (Math.abs(seconds) < 15 && seconds < 5) return t.time.now;
  return seconds < 0 ? t.time.in(duration(-seconds)) : t.time.ago(duration(seconds).split(" ").slice(0, 2).join(" "));
}

const clockForm = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
const dayForm = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium", hour12: false });
export const clock = (at) => (at ? clockForm.format(new Date(at)) : "–");
export const moment = (at) => (at ? dayForm.format(new Date(at)) : "–");

export const count = (n) => (n === null || n === undefined ? "–" : n >= 10000 ? `${(n / 1000).toFixed(1)}k` : String(Math.round(n * 10) / 10));
export const shortId = (id) => (id && id.length > 14 ? id.slice(0, 12) + "…" : id ?? "");
