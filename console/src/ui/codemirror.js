// The editor's library, loaded when the first editor is shown. It lives in a shadow root: there it puts its
// styles into sheets of the root, which a policy without inline styles allows.
import { EditorState, Compartment } from "@codemirror/state";
import { EditorView, keymap, lineNumbers, highlightActiveLine, highlightActiveLineGutter, drawSelection, highlightSpecialChars } from "@codemirror/view";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { HighlightStyle, StreamLanguage, bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { tags as tag } from "@lezer/highlight";

const LANGUAGES = {
  python: async () => (await import("@codemirror/lang-python")).python(),
  javascript: async () => (await import("@codemirror/lang-javascript")).javascript(),
  typescript: async () => (await import("@codemirror/lang-javascript")).javascript({ typescript: true }),
  java: async () => (await import("@codemirror/lang-java")).java(),
  json: async () => (await import("@codemirror/lang-json")).json(),
  bash: async () => StreamLanguage.define((await import("@codemirror/legacy-modes/mode/shell")).shell),
  r: async () => StreamLanguage.define((await import("@codemirror/legacy-modes/mode/r")).r),
};

const look = EditorView.theme({
  "&": { color: "var(--bright)", backgroundColor: "transparent", fontSize: "13px", height: "100%", maxHeight: "var(--editor-most, none)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.65", fontVariantLigatures: "none" },
  ".cm-content": { padding: "12px 0", caretColor: "var(--accent)" },
  ".cm-line": { padding: "0 14px" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--dim)", border: "none", paddingLeft: "6px" },
  ".cm-activeLine": { backgroundColor: "var(--glow)" },
  ".cm-activeLineGutter": { backgroundColor: "transparent", color: "var(--bright)" },
  ".cm-cursor": { borderLeftColor: "var(--accent)", borderLeftWidth: "2px" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--accent-soft)" },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": { backgroundColor: "var(--accent-soft)", outline: "none" },
  ".cm-tooltip": { border: "1px solid var(--border)", borderRadius: "8px", backgroundColor: "var(--page)", color: "var(--body)", overflow: "hidden" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", fontSize: "12.5px", maxHeight: "220px" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--hover)", color: "var(--bright)" },
  ".cm-completionMatchedText": { textDecoration: "none", color: "var(--accent-text)", fontWeight: "500" },
});

const colours = HighlightStyle.define([
  { tag: [tag.keyword, tag.controlKeyword, tag.moduleKeyword, tag.operatorKeyword, tag.definitionKeyword], color: "var(--accent-text)", fontWeight: "500" },
  { tag: [tag.string, tag.special(tag.string), tag.regexp], color: "var(--amber-text)" },
  { tag: [tag.number, tag.bool, tag.null, tag.atom, tag.escape], color: "var(--red-text)" },
  { tag: [tag.comment, tag.lineComment, tag.blockComment], color: "var(--dim)", fontStyle: "italic" },
  { tag: [tag.function(tag.variableName), tag.function(tag.propertyName), tag.className, tag.typeName, tag.definition(tag.typeName)], color: "var(--blue-text)" },
  { tag: [tag.meta, tag.annotation, tag.self, tag.standard(tag.variableName)], color: "var(--blue-text)" },
  { tag: tag.invalid, color: "var(--red-text)", textDecoration: "underline" },
]);

// Text typed over a selection: left to the browser, it would join the lines itself and give the rest a style
// attribute, which the page's policy refuses and reports.
const typedOverSelection = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { from, to, empty } = view.state.selection.main, text = event.data;
    if (event.inputType !== "insertText" || empty || !text || event.isComposing || view.state.readOnly) return false;
    event.preventDefault();
    const insert = () => view.state.update(view.state.replaceSelection(text), { userEvent: "input.type", scrollIntoView: true });
    if (!view.state.facet(EditorView.inputHandler).some((handler) => handler(view, from, to, text, insert))) view.dispatch(insert());
    return true;
  },
});

export function createEditor(root, { text, label, readOnly, onChange, onRun, onSave, placeholderLines = 0 }) {
  const language = new Compartment(), editable = new Compartment();
  let given = false;
  const commands = [
    { key: "Mod-Enter", run: () => { onRun?.(); return Boolean(onRun); } },
    { key: "Shift-Enter", run: () => { onRun?.(); return Boolean(onRun); } },
    { key: "Mod-s", run: () => { onSave?.(); return Boolean(onSave); } },
  ];
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: text,
      extensions: [
        keymap.of(commands), lineNumbers(), highlightActiveLineGutter(), highlightSpecialChars(), history(), drawSelection({ cursorBlinkRate: matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 1200 }), indentOnInput(), bracketMatching(), closeBrackets(), autocompletion(), highlightActiveLine(),
        indentUnit.of("    "), keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap, indentWithTab]),
        look, syntaxHighlighting(colours), typedOverSelection, language.of([]), editable.of([EditorState.readOnly.of(Boolean(readOnly))]), EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false" }),
        EditorView.updateListener.of((update) => { if (update.docChanged && !given) onChange?.(update.state.doc.toString()); }),
      ],
    }),
  });
  return {
    view,
    async setLanguage(name) {
      const made = await LANGUAGES[name]?.();
      view.dispatch({ effects: language.reconfigure(made ?? []) });
    },
    setReadOnly(value) { view.dispatch({ effects: editable.reconfigure([EditorState.readOnly.of(value)]) }); },
    setText(next) {
      if (view.state.doc.toString() === next) return;
      given = true;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } });
      given = false;
    },
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  };
}
