// What was written in an editor and not saved: {text, kept, etag} by the address of the file. Another page and back
// does not lose it, and the browser asks before it leaves the console.
export const drafts = new Map();

window.addEventListener("beforeunload", (event) => { if (drafts.size) event.preventDefault(); });
