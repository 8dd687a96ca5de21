// The one shortcut that is a character by itself. It can be switched off: who dictates may say it by accident.
import { signal } from "./html.js";
import { remember, remembered } from "./theme.js";

const NAME = "glovebox.slash";
export const slash = signal(remembered(NAME) !== "off");

export function setSlash(on) {
  slash.value = on;
  remember(NAME, on ? null : "off");
}
