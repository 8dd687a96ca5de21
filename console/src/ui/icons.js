// Drawn by us, on a grid of 16: strokes of one weight, in the colour of the text.
import { html } from "../html.js";

const SHAPES = {
  overview: "M2 9.5 5.5 6l3 2.5L14 3M2 13.5h12",
  play: "M5 3.2v9.6l7.6-4.8z",
  runs: "M3 4h10M3 8h10M3 12h6",
  sandboxes: "M8 1.8 14 5v6l-6 3.2L2 11V5zM2 5l6 3.2L14 5M8 8.2v6",
  templates: "M2.5 3h11v3.5h-11zM2.5 9.5h5V13h-5zM10.5 9.5h3V13h-3z",
  keys: "M9.3 6.7a3.2 3.2 0 1 0-1.4 1.4L9.5 9.7h2v2h2V9.7L9.3 6.7zM5.2 5.4h.01",
  settings: "M2 4.5h5M11 4.5h3M2 11.5h3M9 11.5h5M9 2.8v3.4M7 9.8v3.4",
  security: "M8 1.8 13.4 4v4c0 3.2-2.2 5.2-5.4 6.2C4.8 13.2 2.6 11.2 2.6 8V4zM5.8 8l1.6 1.6 3-3.2",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.6 10.6 14 14",
  plus: "M8 3v10M3 8h10",
  close: "m4 4 8 8M12 4l-8 8",
  check: "m3 8.5 3.2 3.2L13 4.8",
  warn: "M8 2 14.6 13.5H1.4zM8 6.5v3.2M8 11.6h.01",
  info: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 7.2v3.6M8 5.1h.01",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3M3.4 3.4l.9.9M11.7 11.7l.9.9M12.6 3.4l-.9.9M4.3 11.7l-.9.9",
  moon: "M13.5 9.6A5.8 5.8 0 0 1 6.4 2.5a5.8 5.8 0 1 0 7.1 7.1z",
  system: "M2 3h12v8H2zM6 14h4M8 11v3",
  out: "M6 2.5H3v11h3M7 8h7M11.2 5.2 14 8l-2.8 2.8",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  stop: "M4 4h8v8H4z",
  refresh: "M13 8a5 5 0 1 1-1.5-3.6M13 2v3h-3",
  folder: "M2 4h4l1.5 1.8H14V13H2z",
  file: "M4 2h5.5L12.5 5v9H4zM9.3 2v3.2h3.2",
  link: "M6.8 9.2 9.2 6.8M7.4 4.6l1.3-1.3a2.8 2.8 0 0 1 4 4l-1.3 1.3M8.6 11.4l-1.3 1.3a2.8 2.8 0 0 1-4-4l1.3-1.3",
  up: "M8 13V3M3.8 7.2 8 3l4.2 4.2",
  down: "M8 3v10M3.8 8.8 8 13l4.2-4.2",
  open: "M9 2.5h4.5V7M13.5 2.5 7.5 8.5M11.5 9.5v4h-9v-9h4",
  right: "m6 3.5 4.5 4.5L6 12.5",
  left: "M10 3.5 5.5 8 10 12.5",
  trash: "M2.5 4.5h11M6 4.5V2.5h4v2M4 4.5l.7 9h6.6l.7-9",
  edit: "m2.5 13.5.7-3L10.8 3l2.3 2.3-7.6 7.5z",
  terminal: "M2 3h12v10H2zM4.5 6l2 2-2 2M8.5 10h3",
  speaker: "M2 6v4h2.6L8.5 13V3L4.6 6zM11 5.8a3 3 0 0 1 0 4.4M12.8 3.8a6 6 0 0 1 0 8.4",
  camera: "M2 5h3l1-1.8h4L11 5h3v8H2zM8 11.2a2.4 2.4 0 1 0 0-4.8 2.4 2.4 0 0 0 0 4.8z",
  clock: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 4.8V8l2.2 1.4",
  code: "m5.5 4.5-3.5 3.5 3.5 3.5M10.5 4.5 14 8l-3.5 3.5",
};

export function Icon({ name, size = 16, label }) {
  return html`<svg width=${size} height=${size} viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width=${name === "more" ? 2.2 : 1.4}
    stroke-linecap="round" stroke-linejoin="round" aria-hidden=${label ? null : "true"} role=${label ? "img" : null} aria-label=${label}><path d=${SHAPES[name]} /></svg>`;
}

export function Mark({ size = 22 }) {
  return html`<svg width=${size} height=${size} viewBox="0 0 32 32" fill="none" stroke="currentColor" stroke-width="2.4" aria-hidden="true">
    <rect x="3" y="6" width="26" height="20" rx="6" /><circle cx="11.5" cy="17" r="3.8" /><circle cx="20.5" cy="17" r="3.8" /></svg>`;
}
