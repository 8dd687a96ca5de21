// The terminal's library, loaded when the first terminal is shown. It writes <style> elements and style
// attributes, which the page's policy refuses, so both are given another way: the elements become
// style sheets of the document, the attributes are set through the object model.
import { Terminal } from "@xterm/xterm";
import { FitAddon } from "@xterm/addon-fit";

function styleElement(real) {
  const element = real.call(document, "template"), sheet = new CSSStyleSheet();
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  Object.defineProperty(element, "textContent", { set(text) { sheet.replaceSync(text); }, get: () => "" });
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet);
    Element.prototype.remove.call(element);
  };
  element.gbxDrop = element.remove;
  return element;
}

const made = new Set();
function create(tag, ...rest) {
  const real = Document.prototype.createElement;
  if (tag === "style") {
    const element = styleElement(real);
    made.add(element);
    return element;
  }
  const element = real.call(document, tag, ...rest);
  if (tag === "span") {
    element.setAttribute = function setAttribute(name, value) {
      if (name === "style") this.style.cssText = value;
      else Element.prototype.setAttribute.call(this, name, value);
    };
  }
  return element;
}

// From here on the document makes elements so; the page itself makes no style element and sets no style attribute.
document.createElement = create;

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function themeNow() {
  const dark = document.documentElement.dataset.theme === "dark";
  const ground = colour("--inset"), text = colour("--bright");
  const tones = dark
    ? { black: "#222826", red: "#c98474", green: "#89a785", yellow: "#b89950", blue: "#6f9fc6", magenta: "#b58bb0", cyan: "#7fb0a6", white: "#c8c4bc", brightBlack: "#8a867f", brightRed: "#d99a8b", brightGreen: "#a3bf9f", brightYellow: "#cfb370", brightBlue: "#8fb6d6", brightMagenta: "#c9a5c5", brightCyan: "#9cc7be", brightWhite: "#f2efe9" }
    : { black: "#2c2a26", red: "#a14c3d", green: "#4a6e45", yellow: "#7c6124", blue: "#346893", magenta: "#7d4f78", cyan: "#2f6f66", white: "#7a766e", brightBlack: "#68655e", brightRed: "#8f4335", brightGreen: "#3f6039", brightYellow: "#6d551f", brightBlue: "#2d5b82", brightMagenta: "#6c4267", brightCyan: "#285f57", brightWhite: "#4a4740" };
  return { background: ground, foreground: text, cursor: colour("--accent"), cursorAccent: ground, selectionBackground: dark ? "#3a4a39" : "#cfdccb", ...tones };
}

export function createTerminal(host, { label, spoken, onData, onResize, onLeave }) {
  const terminal = new Terminal({
    allowProposedApi: false, cursorBlink: !matchMedia("(prefers-reduced-motion: reduce)").matches, fontFamily: '"JetBrains Mono", monospace', fontSize: 13, lineHeight: 1.25,
    scrollback: 5000, screenReaderMode: spoken, theme: themeNow(), minimumContrastRatio: 4.5,
  });
  const fit = new FitAddon(), before = new Set(made);
  terminal.loadAddon(fit);
  terminal.open(host);
  const mine = [...made].filter((element) => !before.has(element));
  terminal.textarea.setAttribute("aria-label", label);
  // Copy and paste as in other terminals; Ctrl-C stays the program's unless text is selected.
  terminal.attachCustomKeyEventHandler((event) => {
    // Tab is the shell's, so another key leaves the terminal.
    if (event.key === "F6") {
      event.preventDefault();
      if (event.type === "keydown") onLeave();
      return false;
    }
    if (event.type !== "keydown" || !(event.ctrlKey || event.metaKey)) return true;
    const key = event.key.toLowerCase();
    if (key === "c" && (event.shiftKey || terminal.hasSelection())) {
      navigator.clipboard.writeText(terminal.getSelection());
      event.preventDefault();
      if (!event.shiftKey) terminal.clearSelection();
      return false;
    }
    // The page's paste event brings the text.
    if (key === "v") return false;
    return true;
  });
  terminal.onData(onData);
  terminal.onResize(({ rows, cols }) => onResize(rows, cols));
  const watcher = new ResizeObserver(() => { if (host.clientWidth > 0) fit.fit(); });
  watcher.observe(host);
  document.fonts?.load('13px "JetBrains Mono"').then(() => { terminal.options.fontFamily = '"JetBrains Mono", ui-monospace, monospace'; if (host.clientWidth > 0) fit.fit(); });
  fit.fit();
  return {
    terminal,
    size: () => ({ rows: terminal.rows, columns: terminal.cols }),
    write: (bytes) => terminal.write(bytes),
    reset: () => terminal.reset(),
    focus: () => terminal.focus(),
    speak: (on) => { terminal.options.screenReaderMode = on; },
    applyTheme: () => { terminal.options.theme = themeNow(); },
    destroy() {
      watcher.disconnect();
      terminal.dispose();
      for (const element of mine) { element.gbxDrop(); made.delete(element); }
    },
  };
}
