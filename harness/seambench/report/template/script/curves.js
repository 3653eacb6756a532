/* Cost against update ratio, and against the share of slices with logs. */
import { find, link, named, picker, samplesOf, scroll, segments } from "./parts.js";
import { colour, readers } from "./records.js";
import { current, state } from "./state.js";
import { SYMBOLS, WHATS, ascending, byId, factor, geometric, h, percent, plotText, seconds, unique } from "./tools.js";

/** Cost of one reader at one data set: {median, min, max, n, timings}, or {missing: why}. */
function cost(reader, ratio, share) {
  const names = state.what === "queries" ? current.queries.filter((q) => !state.struck.has(q)) : [state.what];
  const timings = names.map((n) => find(reader, n, ratio, share));
  if (!names.length || timings.every((t) => !t)) return { missing: "not run" };
  const stats = timings.map(samplesOf);
  const gap = stats.findIndex((s) => !s);
  if (gap >= 0) return { missing: `${names[gap]}: ${timings[gap] ? timings[gap].reason ?? `no ${state.samples} samples` : "not run"}` };
  const mean = (key) => geometric(stats.map((s) => Math.max(s[key], 1e-9)));
  return { median: mean("median"), min: mean("min"), max: mean("max"), n: Math.min(...stats.map((s) => s.n)), timings };
}
/** The chosen metric of a cost: seconds, or relative to another reader or to the reader's own 0 %. */
export function metric(reader, ratio, share) {
  const own = cost(reader, ratio, share);
  if (own.missing || state.metric === "seconds") return own;
  const base = state.metric === "own" ? cost(reader, 0, 0) : cost(state.base, ratio, share);
  if (base.missing) return { missing: state.metric === "own" ? "it has no time at 0 %" : `${state.base} has no time here` };
  return { ...own, median: own.median / base.median, min: own.min / base.median, max: own.max / base.median };
}
/** The axis as asked for, or logarithmic where the costs of one chart lie more than 8 times apart. */
function axisOf(lines) {
  const values = lines.flatMap((l) => l.points.filter((p) => !p.missing).map((p) => p.median));
  return state.axis ?? (Math.max(...values) > 8 * Math.min(...values) ? "log" : "linear");
}
/** Why lines or points are not drawn: the same reason at every point is said once. */
function gaps(lines) {
  return lines.flatMap(({ reader, points }) => {
    const byReason = Map.groupBy(points.filter((p) => p.missing), (p) => p.missing);
    return [...byReason].map(([why, list]) => `${reader}${list.length < points.length ? ` at ${list.map((p) => `${p.x} %`).join(", ")}` : ""} (${why})`);
  });
}
const shown = (value) => (state.metric === "seconds" ? seconds(value) : factor(value));

/** Ticks at 1, 2 and 5 of each power of ten, with units; two decades or less show all three. */
function logTicks(lines) {
  const values = lines.flatMap((l) => l.points.filter((p) => !p.missing).flatMap((p) => [p.min, p.max]));
  const [low, high] = [Math.log10(Math.max(Math.min(...values), 1e-9)), Math.log10(Math.max(...values))];
  const steps = high - low > 2.5 ? [1] : [1, 2, 5];
  const ticks = [];
  for (let power = Math.floor(low) - 1; power <= high + 1; power++) ticks.push(...steps.map((s) => s * 10 ** power));
  const text = (t) => (state.metric !== "seconds" ? `${Number(t.toPrecision(1))}×` : seconds(t).replace(/\.0+ /, " "));
  return { tickvals: ticks, ticktext: ticks.map(text) };
}
function drawChart(element, lines, label) {
  const style = getComputedStyle(document.documentElement);
  const css = (name) => style.getPropertyValue(name).trim();
  const traces = lines.flatMap(({ reader, points }) => {
    const drawn = points.filter((p) => !p.missing);
    const c = colour(reader);
    const common = { x: drawn.map((p) => p.x), type: "scatter", legendgroup: plotText(reader) };
    const edge = { ...common, mode: "lines", line: { width: 0 }, showlegend: false, hoverinfo: "skip" };
    const text = drawn.map((p) => plotText(`${reader}: ${shown(p.median)} (${p.n < 2 ? "1 sample" : `${shown(p.min)} – ${shown(p.max)}, ${p.n} samples`})`));
    return [
      { ...edge, y: drawn.map((p) => p.max) },
      { ...edge, y: drawn.map((p) => p.min), fill: "tonexty", fillcolor: `${c}33` },
      { ...common, y: drawn.map((p) => p.median), name: plotText(reader), mode: "lines+markers", line: { color: c, width: 2.5 }, marker: { color: c, size: 8, symbol: SYMBOLS[readers.indexOf(reader) % SYMBOLS.length] }, text, hovertemplate: "%{text}<extra></extra>", customdata: drawn.map((p) => p.timings[0].record.file) },
    ];
  });
  const logarithmic = axisOf(lines) === "log";
  const axis = { gridcolor: css("--line"), linecolor: css("--line"), zeroline: false, automargin: true, fixedrange: true };
  const narrow = innerWidth < 640;
  const apart = narrow ? 12 : 4; // percent between two ticks, so that their labels do not touch
  const ticks = unique(lines.flatMap((l) => l.points.map((p) => p.x))).sort(ascending).reduce((kept, x) => (kept.length && x - kept.at(-1) < apart ? kept : [...kept, x]), []);
  const layout = {
    paper_bgcolor: "transparent", plot_bgcolor: "transparent", margin: { l: 54, r: 18, t: 12, b: 46 }, height: narrow ? 370 : 400,
    font: { family: "system-ui, sans-serif", size: 12.5, color: css("--soft") },
    xaxis: { ...axis, title: { text: label }, tickangle: 0, tickvals: ticks, ticktext: ticks.map((t) => `${t} %`) },
    yaxis: { ...axis, title: { text: state.metric === "seconds" ? (logarithmic ? "time" : "seconds") : `× ${state.metric === "own" ? "own time at 0 %" : plotText(state.base)}` }, type: logarithmic ? "log" : "linear", rangemode: "tozero", ...(logarithmic ? logTicks(lines) : {}) },
    legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, itemclick: false, itemdoubleclick: false },
    hovermode: "x unified", hoverlabel: { bgcolor: css("--card"), bordercolor: css("--line"), font: { color: css("--ink"), family: "system-ui, sans-serif" } },
  };
  Plotly.react(element, traces, layout, { displayModeBar: false, responsive: true });
  element.removeAllListeners?.("plotly_click");
  element.on("plotly_click", (event) => { if (event.points[0]?.customdata) location.href = event.points[0].customdata; });
}
function numbersTable(key, lines, label) {
  const xs = unique(lines.flatMap((l) => l.points.map((p) => p.x))).sort(ascending);
  const cell = (p) => (p.missing ? h("td", { class: "none", title: p.missing }, "none") : h("td", {}, link(p.timings[0].record, shown(p.median)), h("small", {}, p.n < 2 ? "1 sample" : `${shown(p.min)} – ${shown(p.max)}`)));
  return h("details", { data: { key } }, h("summary", {}, "The numbers behind this chart"), scroll(`${key}-table`, h("table", {},
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, label), xs.map((x) => h("th", { scope: "col" }, `${x} %`)))),
    h("tbody", {}, lines.map((l) => h("tr", {}, h("th", { scope: "row" }, named(l.reader)), l.points.map(cell)))))));
}
const charts = new Map();
function chartCard(id, lines, label, note, tools) {
  const drawable = lines.some((l) => l.points.some((p) => !p.missing));
  const missing = gaps(lines);
  if (!charts.has(id)) charts.set(id, h("div", { class: "chart", role: "img" }));
  const chart = charts.get(id);
  chart.setAttribute("aria-label", `Line chart: ${WHATS[state.what]} by ${label}; its numbers follow as a table`);
  chart.hidden = !drawable;
  byId(`${id}-body`).replaceChildren(...[h("p", { class: "note" }, note), tools, chart,
    !drawable && h("p", {}, "No reader has a time to draw for this choice."),
    missing.length && h("p", { class: "note" }, h("b", {}, "Not drawn: "), missing.join("; "), "."),
    drawable && numbersTable(`${id}-numbers`, lines, label)].filter(Boolean));
  if (drawable) drawChart(chart, lines, label);
}
export function drawCurves() {
  const fullShare = Math.max(...current.timings.map((t) => t.share), 0);
  const xs = current.ratios.filter((r) => r === 0 || current.timings.some((t) => t.ratio === r && t.share === fullShare));
  const lines = (points, ratioOf, shareOf) => current.shown.map((r) => ({ reader: r, points: points.map((x) => ({ x, ...metric(r, ratioOf(x), shareOf(x)) })) }));
  byId("curve").hidden = !current.whats.length;
  if (!current.whats.length) { byId("share").hidden = true; return; }
  const full = lines(xs, (x) => x, (x) => (x === 0 ? 0 : fullShare));
  const tools = h("div", { class: "tools" },
    picker("what", "Of", current.whats, (w) => WHATS[w]) ?? h("span", { class: "field" }, WHATS[state.what]),
    segments("metric", "Metric", [["seconds", "seconds"], ["base", `× ${state.base}`], ["own", "× own 0 %"]]),
    state.metric === "base" && picker("base", "relative to", current.readers),
    segments("axis", "Scale of the vertical axis", [["linear", "linear"], ["log", "log"]], axisOf(full)));
  chartCard("curve", full, "rows updated in a slice with logs",
    `Median of the ${state.samples} samples at scale ${state.scale}, ${state.table}, ${fullShare === 100 ? "logs in every slice" : `logs in ${fullShare} % of the slices`}; the band spans minimum to maximum. Click a point for its record.`, tools);

  const shares = unique(current.timings.filter((t) => t.ratio === state.ratio || t.ratio === 0).map((t) => t.share)).sort(ascending);
  byId("share").hidden = state.ratio === 0 || shares.filter((s) => s > 0).length < 2;
  if (byId("share").hidden) return;
  chartCard("share", lines(shares, (x) => (x === 0 ? 0 : state.ratio), (x) => x), "slices with logs",
    `The same measure where ${state.ratio} % of the rows are updated, but only in some of the slices: a reader that chooses its path per slice pays for those alone.`,
    h("div", { class: "tools" }, picker("ratio", "Rows updated", current.ratios.filter((r) => r > 0), percent)));
}
