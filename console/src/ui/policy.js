// Fields for what a sandbox may do: its network, its variables, its packages. Text in, the API's form out.
import { html } from "../html.js";
import { t } from "../texts.js";
import { SelectField, TextField } from "./basics.js";

export const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);
export const words = (text) => text.split(/[\s,]+/).filter(Boolean);

// "KEY=VALUE" lines as an object; the first line that is none is thrown.
export function pairs(text) {
  const found = {};
  for (const line of lines(text)) {
    const at = line.indexOf("=");
    if (at < 1) throw new Error(t.policy.not_a_pair(line));
    found[line.slice(0, at).trim()] = line.slice(at + 1);
  }
  return found;
}
export const pairsText = (object) => Object.entries(object ?? {}).map(([key, value]) => `${key}=${value}`).join("\n");

// A policy of the API as the fields have it, and back.
export function netFields(net) {
  if (typeof net === "string" || !net) return { base: net || "none", allow: "", deny: "" };
  return { base: net.base ?? "none", allow: (net.allow ?? []).join("\n"), deny: (net.deny ?? []).join("\n"), rest: net };
}
export function netPolicy({ base, allow, deny, rest }) {
  const allowed = lines(allow), denied = lines(deny);
  if (!allowed.length && !denied.length && !rest) return base;
  return { ...(rest ?? {}), base, allow: allowed, deny: denied };
}

export function NetFields({ value, set }) {
  return html`<${SelectField} name=${t.policy.network} value=${value.base} set=${(base) => set({ ...value, base })} options=${["none", "https-only", "all"].map((one) => [one, t.policy.bases[one]])} hint=${t.policy.base_hints[value.base]} />
    <${TextField} area mono name=${t.policy.allow} value=${value.allow} set=${(allow) => set({ ...value, allow })} hint=${t.policy.rule_hint} rows="3" placeholder="pypi.org:443" />
    <${TextField} area mono name=${t.policy.deny} value=${value.deny} set=${(deny) => set({ ...value, deny })} rows="3" />`;
}

// "none", or what it lets through, in a few words.
export function netText(net) {
  if (typeof net === "string") return net;
  const parts = [net.base ?? "none"];
  if (net.allow?.length) parts.push(t.policy.allows(net.allow.length));
  if (net.deny?.length) parts.push(t.policy.denies(net.deny.length));
  return parts.join(", ");
}

// Whole numbers and durations that people write: "30m", "1h", "90".
export function seconds(text) {
  const found = /^\s*(\d+(?:\.\d+)?)\s*(s|m|min|h|d)?\s*$/.exec(text);
  if (!found) return null;
  return Math.round(Number(found[1]) * { s: 1, m: 60, min: 60, h: 3600, d: 86400 }[found[2] ?? "s"]);
}
export function secondsText(n) {
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["m", 60]]) if (n >= size && n % size === 0) return n / size + unit;
  return n + "s";
}
export const numberOr = (text, none = undefined) => (String(text).trim() === "" ? none : Number(text));
