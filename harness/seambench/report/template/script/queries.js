/* Times of scans and queries side by side. */
import { badCell, find, link, named, picker, samplesOf, scroll } from "./parts.js";
import { current, set, state, toggled } from "./state.js";
import { QUERY_CONSTANT, WHATS, byId, factor, geometric, h, percent, range, seconds, summary, unique } from "./tools.js";

/** Cells of one row: median, factor to the best of the row, "unclear" where ranges overlap. */
export function timeCells(timings, constant) {
  const stats = timings.map(samplesOf);
  const fresh = stats.filter((s, i) => s && !timings[i].stale); // who skips the updates is no measure
  const known = fresh.length ? fresh : stats.filter(Boolean);
  const best = known.length ? known.reduce((a, b) => (b.median < a.median ? b : a)) : null;
  const cells = timings.map((t, i) => {
    const s = stats[i];
    if (!s) return badCell(t);
    const times = (constant + s.median) / (constant + best.median);
    const heat = `${Math.max(0, Math.min(100, Math.round((Math.log2(times) / 5) * 100)))}%`;
    const unclear = s !== best && !t.stale && s.n > 1 && best.n > 1 && s.min <= best.max;
    const verdict = s === best ? "best" : unclear ? h("span", { class: "unclear" }, `${factor(times)} unclear`) : t.stale ? h("span", { class: "unclear" }, `${factor(times)} stale`) : factor(times);
    return h("td", { class: `heat${s === best ? " best" : ""}`, style: { "--heat": heat } }, link(t.record, seconds(s.median), `samples: ${t[state.samples].map(seconds).join(", ")}${t.cpu?.length ? `; processor time ${seconds(summary(t.cpu).median)}` : ""}`), h("small", {}, verdict), h("small", {}, range(s)));
  });
  return { stats, best, cells, stale: timings.map((t) => t?.stale) };
}
/** Geometric means of the factors; a missing result counts as twice the slowest time of its row. */
function meanOf(rows, column, constant) {
  let missing = 0;
  const factors = rows.filter((row) => row.best).map((row) => {
    const s = row.stats[column];
    if (!s) missing += 1;
    const time = s ? s.median : 2 * Math.max(...row.stats.filter(Boolean).map((x) => x.median));
    return (constant + time) / (constant + row.best.median);
  });
  return factors.length && missing < factors.length ? { value: geometric(factors), missing } : null;
}
function meanRow(label, rows, columns, constant) {
  const means = columns.map((_, i) => meanOf(rows, i, constant));
  const stale = columns.map((_, i) => rows.some((row) => row.stale[i]));
  const best = Math.min(...means.filter((m, i) => m && !stale[i]).map((m) => m.value));
  const cells = means.map((m, i) => (m ? h("td", { data: { mean: m.value.toFixed(6) } }, factor(m.value), h("small", {}, [stale[i] ? "stale" : m.value === best && !m.missing && "best", m.missing > 0 && `${m.missing} missing`].filter(Boolean).join(", "))) : h("td", { class: "none" }, "–")));
  return h("tfoot", {}, h("tr", {}, h("th", { scope: "row" }, label), cells));
}
/** Table head with a column per reader; one that gave the state before the updates says so. */
export const header = (first, columns, stale = () => false) => h("thead", {}, h("tr", {}, h("th", { scope: "col" }, first), columns.map((r) => h("th", { scope: "col" }, named(r), stale(r) && h("small", {}, "base files, stale")))));
export const at = (readerList, name) => readerList.map((r) => find(r, name, state.ratio, state.share));

export function drawQueries() {
  const columns = current.shown.filter((r) => current.timings.some((t) => t.reader === r));
  const stale = (r) => current.timings.some((t) => t.reader === r && t.ratio === state.ratio && t.share === state.share && t.stale);
  const scans = unique(current.timings.filter((t) => t.case.startsWith("scan/")).map((t) => t.case)).sort();
  byId("queries").hidden = !current.whats.length;
  if (!current.whats.length) return;
  const kept = [];
  const body = current.queries.map((name) => {
    const row = timeCells(at(columns, name), QUERY_CONSTANT);
    const struck = state.struck.has(name);
    if (!struck) kept.push(row);
    const button = h("button", { type: "button", class: "strike", "aria-pressed": String(struck), title: struck ? "count this query again" : "strike this query out", data: { key: `strike-${name}` }, onclick: () => set({ struck: toggled([], state.struck, name) }) }, name.slice(5));
    return h("tr", { class: struck && "struck" }, h("th", { scope: "row" }, button), row.cells);
  });
  const count = current.queries.length - state.struck.size;
  byId("queries-body").replaceChildren(...[
    h("p", { class: "note" }, `Medians of the ${state.samples} samples at scale ${state.scale}, ${state.table}. A factor compares with the best reader of its row: (1 ms + its time) / (1 ms + best time); the constant keeps tiny times from winning by infinity. Best is green, slower is warmer; a reader of base files alone, which skips the updates, is shown but never the best. “Unclear” means that its range overlaps with the best’s. Strike out a query by its name; the mean follows.`),
    h("div", { class: "tools" }, picker("ratio", "Rows updated", current.ratios, percent), picker("share", "Slices with logs", current.shares, percent),
      state.struck.size > 0 && h("button", { type: "button", class: "plain", data: { key: "unstrike" }, onclick: () => set({ struck: new Set() }) }, `Count all queries again (${state.struck.size} struck out)`)),
    scans.length && h("h3", {}, "Scans"),
    scans.length && scroll("scans", h("table", {}, header("Scan", columns, stale), h("tbody", {}, scans.map((name) => h("tr", {}, h("th", { scope: "row" }, WHATS[name]?.replace("scan, ", "") ?? name), timeCells(at(columns, name), QUERY_CONSTANT).cells))))),
    current.queries.length && h("h3", {}, "Queries"),
    current.queries.length && scroll("queries", h("table", { id: "query-table" }, header("Query", columns, stale), h("tbody", {}, body), meanRow(`Geometric mean of ${count}`, kept, columns, QUERY_CONSTANT))),
    current.queries.length && h("p", { class: "note" }, "The mean is that of the factors over the queries that are not struck out. A missing, failed or wrong result counts as twice the slowest time of its row, so failing is never an advantage."),
  ].filter(Boolean));
}
