// A small line of the last minutes, without axes.
import { html } from "../html.js";

export function Sparkline({ values, width = 72, height = 20, label, most = 0 }) {
  const known = (values ?? []).filter((value) => value !== null);
  if (known.length < 2) return html`<span class="dim">–</span>`;
  const top = Math.max(most, ...known) || 1, step = width / (known.length - 1);
  const points = known.map((value, i) => `${(i * step).toFixed(1)},${(height - 1.5 - (value / top) * (height - 3)).toFixed(1)}`);
  return html`<svg class="spark" width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} role="img" aria-label=${label}>
    <polygon points=${`0,${height} ${points.join(" ")} ${width},${height}`} fill="currentColor" opacity="0.12" /><polyline points=${points.join(" ")} fill="none" stroke="currentColor" stroke-width="1.4" stroke-linejoin="round" /></svg>`;
}
