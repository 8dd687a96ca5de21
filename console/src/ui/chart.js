// Charts over time, by uPlot, which is loaded when the first is shown.
import { html, useEffect, useRef } from "../html.js";
import { theme } from "../theme.js";

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
// Steps of the axis: such that a text of bytes is round.
export const BYTE_STEPS = Array.from({ length: 50 }, (_, i) => 2 ** i);
const soft = (hex, alpha) => hex + Math.round(alpha * 255).toString(16).padStart(2, "0");

// A value without neighbours is no line: it is shown as a point.
function alone(plot, series) {
  const values = plot.data[series], none = (value) => value === null || value === undefined;
  return [...values.keys()].filter((i) => !none(values[i]) && none(values[i - 1]) && none(values[i + 1]));
}

// `times` in seconds; `lines` are {name, tone, values, fill}; `form` writes a value of the axis, whose steps
// are among `steps`.
export function Chart({ title, times, lines, form = String, steps, height = 132, note }) {
  const host = useRef(null), plot = useRef(null);
  const latest = lines.map((line) => line.values.findLast((value) => value !== null && value !== undefined));

  useEffect(() => {
    let gone = false, watcher = null;
    import("uplot").then(({ default: UPlot }) => {
      if (gone || !host.current) return;
      const text = colour("--dim"), grid = colour("--border"), font = "11px Manrope, sans-serif";
      const width = () => Math.max(120, host.current.clientWidth);
      plot.current = new UPlot({
        width: width(), height, cursor: { y: false, points: { size: 6 } }, legend: { show: false }, padding: [6, 22, 0, 0],
        scales: { y: { range: (_, low, high) => [0, high > 0 ? high * 1.15 : 1] } },
        axes: [
          { stroke: text, font, grid: { show: false }, ticks: { show: false }, size: 22, space: 72, values: (_, at) => at.map((s) => new Date(s * 1000).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", second: at[1] - at[0] < 60 ? "2-digit" : undefined, hour12: false })) },
          { stroke: text, font, grid: { stroke: grid, width: 1 }, ticks: { show: false }, size: 54, space: 34, incrs: steps, values: (_, at) => at.map(form) },
        ],
        series: [{}, ...lines.map((line) => {
          const stroke = colour("--" + line.tone);
          return { label: line.name, stroke, width: 1.5, spanGaps: false, points: { show: true, size: 4, fill: stroke, filter: alone }, fill: line.fill ? soft(stroke, 0.1) : undefined };
        })],
      }, [times, ...lines.map((line) => line.values)], host.current);
      watcher = new ResizeObserver(() => { if (host.current) plot.current?.setSize({ width: width(), height }); });
      watcher.observe(host.current);
    });
    return () => { gone = true; watcher?.disconnect(); plot.current?.destroy(); plot.current = null; };
  }, [theme.value, lines.length]);

  useEffect(() => { plot.current?.setData([times, ...lines.map((line) => line.values)]); }, [times, lines]);

  const said = `${title}: ${lines.map((line, i) => `${line.name} ${latest[i] === undefined ? "–" : form(latest[i])}`).join(", ")}`;
  return html`<figure><div class="chart-head"><h2 class="label">${title}</h2>${note && html`<span class="dim small">${note}</span>`}
    <div class="legend">${lines.map((line, i) => html`<span key=${line.name}><i style=${{ color: `var(--${line.tone})` }}></i>${line.name} <b class="num bright">${latest[i] === undefined ? "–" : form(latest[i])}</b></span>`)}</div></div>
    <div class="chart" style=${{ height: height + "px" }} ref=${host} role="img" aria-label=${said}></div></figure>`;
}
