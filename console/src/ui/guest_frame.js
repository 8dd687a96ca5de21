// Guests' HTML: in a frame without an origin, whose page has a policy of its own. It is given the text by a
// message, and all it may say is how high it is. It is light in both themes: what guests make assumes white paper.
import { html, useEffect, useRef, useSignal } from "../html.js";
import { t } from "../texts.js";

const MOST_HEIGHT = 2000;

export function GuestFrame({ text, title = t.output.frame, height = 60, most = MOST_HEIGHT, fixed = false }) {
  const frame = useRef(null), tall = useSignal(height);
  useEffect(() => {
    let given = false, asked = height, next = 0;
    const take = (event) => {
      // A frame in a sandbox has the origin "null"; only this very frame is listened to.
      if (event.source !== frame.current?.contentWindow || event.origin !== "null") return;
      const message = event.data;
      if (message === null || typeof message !== "object") return;
      if (message.type === "frame-ready" && !given) {
        given = true;
        frame.current.contentWindow.postMessage({ type: "html", html: text, theme: "light" }, "*");
      } else if (message.type === "frame-height" && !fixed && Number.isFinite(message.height)) {
        asked = message.height;
        // However often it says so, the page is laid out once for each picture.
        next ||= requestAnimationFrame(() => { next = 0; tall.value = Math.min(most, Math.max(24, Math.ceil(asked))); });
      }
    };
    window.addEventListener("message", take);
    // Only now, so that its first message is heard.
    frame.current.src = "/console/frame/html";
    return () => { cancelAnimationFrame(next); window.removeEventListener("message", take); };
  }, [text]);
  return html`<iframe key=${text} ref=${frame} class="guest-frame" sandbox="allow-scripts" title=${title} loading="eager" referrerpolicy="no-referrer" style=${{ height: tall.value + "px" }}></iframe>`;
}
