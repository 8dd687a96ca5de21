// An editor as a component. Until its library is there, the text is shown as it is.
import { html, useEffect, useRef, useSignal } from "../html.js";
import { complain } from "./toast.js";

export function Editor({ text, set, language, label, readOnly = false, run, save, height = "240px", most = null, focus = false }) {
  // `typed`: what was typed and has not come back as `text` yet. It comes late: a text that is older than the
  // editor's is no change from outside.
  const host = useRef(null), editor = useRef(null), ready = useSignal(false), typed = useRef([]);
  const latest = useRef({});
  latest.current = { set, run, save };

  useEffect(() => {
    let gone = false;
    import("./codemirror.js").then(({ createEditor }) => {
      if (gone) return;
      const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: "open" });
      editor.current = createEditor(root, {
        text, label, readOnly, onChange: (next) => { typed.current.push(next); latest.current.set?.(next); },
        onRun: run ? () => latest.current.run() : null, onSave: save ? () => latest.current.save() : null,
      });
      editor.current.setLanguage(language);
      ready.value = true;
      if (focus) editor.current.focus();
    }).catch(complain);
    return () => { gone = true; editor.current?.destroy(); editor.current = null; };
  }, []);

  useEffect(() => {
    const at = typed.current.lastIndexOf(text);
    typed.current = at < 0 ? [] : typed.current.slice(at + 1);
    if (at < 0) editor.current?.setText(text);
  }, [text, ready.value]);
  useEffect(() => { editor.current?.setLanguage(language).catch(complain); }, [language, ready.value]);
  useEffect(() => { editor.current?.setReadOnly(readOnly); }, [readOnly, ready.value]);

  // With `most` it is as high as its text, from `height` to that.
  return html`<div class="editor" style=${most ? { minHeight: height, "--editor-most": most } : { height }} data-ready=${ready.value ? "true" : "false"}><div class="host" ref=${host} style=${{ height: "100%" }}></div>
    ${!ready.value && html`<pre class="mono" style=${{ padding: "12px 14px" }}>${text}</pre>`}</div>`;
}

const LANGUAGE_OF = { py: "python", js: "javascript", mjs: "javascript", cjs: "javascript", ts: "typescript", json: "json", sh: "bash", bash: "bash", r: "r", java: "java", ipynb: "json" };
export const languageOfFile = (name) => LANGUAGE_OF[name.split(".").pop().toLowerCase()] ?? "text";
