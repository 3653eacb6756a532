/* Small tools: elements, lists, and numbers as a person reads them. */

export const QUERY_CONSTANT = 0.001; // seconds added to both sides of a query's factor
export const SEAM_CONSTANT = 0.00001; // the same for the small work of serde and exchange
export const LIGHT = ["#2158c4", "#c2410c", "#0f766e", "#8b2fb0", "#a16207", "#be185d", "#4d7c0f", "#475569"];
export const DARK = ["#7aa7ff", "#ff9966", "#3fd0bd", "#d08bf0", "#e8b84a", "#ff82b2", "#a3d65c", "#a8b6c6"];
export const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "x", "pentagon", "star", "hexagon"];
export const KINDS = ["reference", "native", "peer"];
export const WHATS = { "scan/all": "scan, all columns", "scan/q6": "scan, the 4 columns of Q6", "scan/count": "scan, count", queries: "geometric mean of the queries" };
/** Dimensions that are drawn as axes, or follow from the scale. */
export const AXES = new Set(["update_ratio", "slice_share", "slices"]);
export const dark = matchMedia("(prefers-color-scheme: dark)");

/** An element: attributes by name (on* = listener, data by dataset), children as text or nodes. */
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "data") Object.assign(element.dataset, value);
    else if (name === "style") for (const [k, v] of Object.entries(value)) element.style.setProperty(k, v);
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return element;
}
export const byId = (id) => document.getElementById(id);
export const unique = (list) => [...new Set(list)];
export const ascending = (a, b) => (a === null) - (b === null) || (a < b ? -1 : a > b ? 1 : 0);
export const plural = (n, word) => `${n} ${word}${n === 1 ? "" : word.endsWith("y") ? "" : "s"}`;
export const plotText = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
/** Names in the address: each encoded, then joined; a mangled link gives names that match nothing. */
export const decoded = (text) => text.split(",").map((part) => { try { return decodeURIComponent(part); } catch { return part; } });
export const geometric = (list) => Math.exp(list.reduce((sum, x) => sum + Math.log(x), 0) / list.length);

export function summary(samples) {
  if (!samples.length) return null;
  const sorted = [...samples].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  const median = sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  return { median, min: sorted[0], max: sorted.at(-1), n: sorted.length };
}
export function seconds(s) {
  if (s === null || s === undefined) return "–";
  if (s > 0 && s < 0.001) return `${(s * 1e6).toPrecision(3)} µs`;
  if (s < 1) return `${Number((s * 1000).toPrecision(3))} ms`;
  return `${s < 100 ? s.toPrecision(3) : s.toFixed(0)} s`;
}
export const factor = (x) => `${x < 10 ? x.toFixed(2) : x < 100 ? x.toFixed(1) : x.toFixed(0)}×`;
export function range(s) {
  if (s.n < 2) return "1 sample";
  const [low, high] = [seconds(s.min), seconds(s.max)];
  const unit = high.slice(high.indexOf(" "));
  return `${low.endsWith(unit) ? low.slice(0, -unit.length) : low} – ${high}`; // the unit once
}
export function bytes(n) {
  if (n === null) return "–";
  const power = Math.min(4, Math.floor(Math.log2(Math.max(n, 1)) / 10));
  return `${Number((n / 1024 ** power).toPrecision(3))} ${["B", "KiB", "MiB", "GiB", "TiB"][power]}`;
}
export const percent = (n) => (n === null ? "–" : `${n} %`);
