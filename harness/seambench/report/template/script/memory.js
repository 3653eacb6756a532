/* Peak memory, and slices by path. */
import { SHORT, badCell, link, scroll } from "./parts.js";
import { header } from "./queries.js";
import { colour, readers } from "./records.js";
import { current, state } from "./state.js";
import { DARK, LIGHT, WHATS, byId, bytes, dark, h, percent, unique } from "./tools.js";

function pathCell(timing) {
  const entries = Object.entries(timing?.paths ?? {}).filter(([, n]) => n > 0).sort();
  if (!entries.length) return h("td", { class: "none" }, timing && timing.verdict !== "right" ? SHORT[timing.verdict] : "–");
  const total = entries.reduce((sum, [, n]) => sum + n, 0);
  const bar = h("span", { class: "bar" }, entries.map(([name, n]) => h("i", { style: { width: `${(100 * n) / total}%`, background: pathColour(name) } })));
  return h("td", {}, link(timing.record, entries.map(([name, n]) => `${n} ${name}`).join(", ")), bar);
}
function pathColour(name) {
  if (readers.includes(name)) return colour(name); // a reader that forces a path is called after it
  return (dark.matches ? DARK : LIGHT)[{ native: 3, merge: 2, connector: 1 }[name] ?? 7];
}
export function drawMemory() {
  const measured = current.timings.filter((t) => current.shown.includes(t.reader) && t.share === (t.ratio === 0 ? 0 : state.ratio === 0 ? 100 : state.share));
  const name = state.what === "queries" || !state.what ? current.queries.find((q) => !state.struck.has(q)) : state.what;
  const columns = current.shown.filter((r) => measured.some((t) => t.reader === r));
  byId("memory").hidden = !columns.length || !name;
  if (byId("memory").hidden) return;
  const ratios = current.ratios.filter((r) => measured.some((t) => t.ratio === r));
  const pick = (r, ratio) => measured.findLast((t) => t.reader === r && t.ratio === ratio && t.case === name);
  const table = (key, cell) => scroll(key, h("table", {}, header("Rows updated", columns), h("tbody", {}, ratios.map((ratio) => h("tr", {}, h("th", { scope: "row" }, percent(ratio)), columns.map((r) => cell(pick(r, ratio))))))));
  const peak = (t) => (t && (t.peak_bytes ?? t.growth_bytes) !== null ? h("td", {}, link(t.record, t.peak_bytes === null ? `+ ${bytes(t.growth_bytes)}` : bytes(t.peak_bytes)), h("small", {}, [t.peak_bytes !== null && t.growth_bytes !== null && `+ ${bytes(t.growth_bytes)}`, t.rows !== null && `${t.rows.toLocaleString("en")} rows`].filter(Boolean).join(", "))) : t && t.verdict !== "right" ? badCell(t) : h("td", { class: "none" }, t ? "not measured" : "not run"));
  byId("memory-body").replaceChildren(
    h("p", { class: "note" }, `For ${WHATS[name] ?? name}, the choice made above, at scale ${state.scale}, ${state.table}.`),
    h("h3", {}, "Peak memory"), h("p", { class: "note" }, "A plain number is the most a process held that only streamed this scan; with a plus it is the growth above what the measuring process held before."), table("memory", peak),
    h("h3", {}, "File slices by path"),
    h("div", { class: "legend" }, unique(measured.flatMap((t) => Object.keys(t.paths))).sort().map((p) => h("span", {}, h("i", { class: "dot", style: { "--c": pathColour(p) } }), p))),
    table("paths", pathCell));
}
