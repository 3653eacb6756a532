/* The records of data.js as one flat list of timings. */
import { AXES, DARK, KINDS, LIGHT, ascending, dark, unique } from "./tools.js";

export const DATA = globalThis.SEAMBENCH;

const verdictOf = (timing) => ({ pass: "right", xfail: "right", fail: "wrong", unavailable: "unavailable", "not-offered": "not-offered" })[timing.outcome] ?? "failed";
/** What tells tables apart, in the format's own words, but for the two axes and the scale's. */
function tableOf(over) {
  const words = Object.entries(over.dimensions).filter(([name]) => !AXES.has(name)).map(([name, value]) => `${name.replaceAll("_", " ")} ${value}`);
  return [over.format, ...words].filter(Boolean).join(" · ") || over.name;
}
/** A timing with what its record leaves out because it is the default. */
function makeTiming(record, raw) {
  const over = { dimensions: {}, state: "base", digest: null, format: null, ...raw.over };
  const ratio = over.dimensions.update_ratio ?? 0;
  const share = ratio === 0 ? 0 : over.dimensions.slice_share ?? 100;
  const given = { cold: [], hot: [], cpu: [], rows: null, bytes: null, peak_bytes: null, growth_bytes: null, paths: {}, warnings: [], reason: null, ...raw };
  return { ...given, over, record, reader: record.implementation.name, table: tableOf(over), scale: over.scale, ratio, share, verdict: verdictOf(given), stale: over.state === "base" && ratio > 0 };
}
export const records = DATA.records.map((r) => ({ timings: [], ...r }));
/** Scans and queries are compared within a run that is chosen; other seams show their newest run. */
export const isScan = (timing) => /^(scan|tpch)\//.test(timing.case);
const isScanned = (record) => record.timings.some(isScan);
/** Those that share a chart come first, so that no two of them share a colour. */
export const readers = unique(
  [...records]
    .sort((a, b) => isScanned(b) - isScanned(a) || ascending(KINDS.indexOf(a.implementation.kind), KINDS.indexOf(b.implementation.kind)) || ascending(a.implementation.name, b.implementation.name))
    .map((r) => r.implementation.name),
);
export const colour = (reader) => (dark.matches ? DARK : LIGHT)[readers.indexOf(reader) % LIGHT.length];
export const runs = new Map();
for (const record of records) {
  if (!record.timings.length) continue;
  const id = record.run.id ?? record.source;
  if (!runs.has(id)) runs.set(id, { id, records: [], timings: [] });
  runs.get(id).records.push(record);
  runs.get(id).timings.push(...record.timings.map((t) => makeTiming(record, t)));
}
const scanRuns = [...runs.values()].filter((run) => run.timings.some(isScan) || !run.timings.length);
export const runList = (scanRuns.length ? scanRuns : [...runs.values()]).reverse();
/** What the page opens with: the newest day's run of most readers and times, the newest of equals. */
export function firstShown() {
  if (!runList.length) return undefined;
  const day = (run) => (run.records[0].run.started_utc ?? "").slice(0, 10);
  const wider = (a, b) => b.records.length - a.records.length || b.timings.length - a.timings.length;
  return runList.filter((run) => day(run) === day(runList[0])).sort(wider)[0];
}
export const seamOf = (name) => name.split(/[/:]/)[0];
