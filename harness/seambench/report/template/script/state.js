/* What is chosen. The page's address holds all of it, and is the only place that does. */
import { firstShown, isScan, readers, runList, runs } from "./records.js";
import { WHATS, ascending, decoded, unique } from "./tools.js";

export const state = {};
let redraw = () => {};
/** Who draws the page says so here, and is called after each change. */
export const onChange = (draw) => { redraw = draw; };
export const current = {}; // the run's timings and what there is to choose from; follows the state

export function readHash() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  const choose = (key, options, fallback) => {
    const found = options.find((o) => String(o) === wanted.get(key));
    state[key] = found === undefined ? fallback : found;
  };
  choose("run", runList.map((r) => r.id), firstShown()?.id);
  const run = runs.get(state.run) ?? { records: [], timings: [] };
  const scannable = run.timings.filter(isScan);
  current.run = run;
  current.scales = unique(scannable.map((t) => t.scale)).sort(ascending);
  choose("scale", current.scales, current.scales.at(-1));
  const ofScale = scannable.filter((t) => t.scale === state.scale);
  const spread = (table) => new Set(ofScale.filter((t) => t.table === table).map((t) => t.ratio)).size;
  current.tables = unique(ofScale.map((t) => t.table)).sort((a, b) => spread(b) - spread(a));
  choose("table", current.tables, current.tables[0]);
  current.timings = ofScale.filter((t) => t.table === state.table);
  current.ratios = unique(current.timings.map((t) => t.ratio)).sort(ascending);
  choose("ratio", current.ratios, current.ratios.includes(20) ? 20 : current.ratios.at(-1));
  current.shares = unique(current.timings.filter((t) => t.ratio === state.ratio).map((t) => t.share)).sort(ascending);
  choose("share", current.shares, current.shares.at(-1));
  current.whats = Object.keys(WHATS).filter((w) => current.timings.some((t) => (w === "queries" ? t.case.startsWith("tpch/") : t.case === w)));
  choose("what", current.whats, current.whats[0]);
  choose("metric", ["seconds", "base", "own"], "seconds");
  current.readers = readers.filter((r) => run.records.some((x) => x.implementation.name === r));
  choose("base", current.readers, current.readers.includes("native") ? "native" : current.readers[0]);
  choose("samples", ["hot", "cold"], "hot");
  choose("axis", ["linear", "log"], null); // null: log where the readers lie far apart
  const shown = wanted.get("readers");
  state.readers = shown === null ? null : new Set(decoded(shown));
  current.shown = current.readers.filter((r) => !state.readers || state.readers.has(r));
  current.queries = unique(run.timings.filter((t) => t.case.startsWith("tpch/")).map((t) => t.case)).sort();
  const struck = decoded(wanted.get("struck") ?? "");
  state.struck = new Set(current.queries.filter((q) => struck.includes(q.slice(5))));
}
/** Put a change into the address and draw again; the address is the only place of state. */
export function set(changes) {
  Object.assign(state, changes);
  const list = (items) => [...items].map(encodeURIComponent).join(",");
  const hash = new URLSearchParams();
  for (const key of ["run", "scale", "table", "ratio", "share", "what", "metric", "base", "samples", "axis"]) {
    if (state[key] !== undefined && state[key] !== null) hash.set(key, state[key]);
  }
  if (state.readers && state.readers.size < current.readers.length) hash.set("readers", list(state.readers));
  if (state.struck.size) hash.set("struck", list([...state.struck].map((q) => q.slice(5))));
  history.replaceState(null, "", `#${hash}`);
  redraw();
}
export function toggled(all, chosen, item) {
  const next = new Set(chosen ?? all);
  if (!next.delete(item)) next.add(item);
  return next;
}
