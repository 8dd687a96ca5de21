// Light or dark: what the system prefers until the user chooses; the choice is remembered.
import { computed, effect, signal } from "./html.js";

const NAME = "glovebox.theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const systemDark = signal(system.matches);
system.addEventListener("change", (event) => { systemDark.value = event.matches; });

function remembered(name) {
  try { return localStorage.getItem(name); } catch { return null; }
}
export function remember(name, value) {
  try {
    if (value === null) localStorage.removeItem(name);
    else localStorage.setItem(name, value);
  } catch { /* a browser that keeps nothing: the choice holds for this page */ }
}
export { remembered };

const first = remembered(NAME);
// "light", "dark" or null for the system's.
export const chosen = signal(first === "light" || first === "dark" ? first : null);
export const theme = computed(() => chosen.value ?? (systemDark.value ? "dark" : "light"));

export function choose(value) {
  chosen.value = value;
  remember(NAME, value);
}

export function startTheme() {
  effect(() => { document.documentElement.dataset.theme = theme.value; });
}
