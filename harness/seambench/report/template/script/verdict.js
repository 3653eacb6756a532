/* Right answers of all that were checked. */
import { SHORT, link, named, scroll } from "./parts.js";
import { current } from "./state.js";
import { ascending, byId, h, percent, plural, unique } from "./tools.js";

function verdictCell(timings) {
  if (!timings.length) return h("td", { class: "none" }, "–");
  const count = (word) => timings.filter((t) => t.verdict === word).length;
  const [right, wrong, failed] = [count("right"), count("wrong"), count("failed")];
  const checked = right + wrong + failed;
  const record = timings[0].record;
  if (!checked) return h("td", { class: "off" }, link(record, count("unavailable") ? "unavailable" : "not offered", timings[0].reason));
  const left = timings.length - checked;
  const small = [wrong && `${wrong} wrong`, failed && `${failed} failed`, left && `${left} not offered`].filter(Boolean).join(", ");
  return h("td", { class: wrong || failed ? "wrong" : "right" }, link(record, `${right}/${checked}`), small && h("small", {}, small));
}
export function drawVerdict() {
  const timings = current.run.timings.filter((t) => /^(scan|tpch)\//.test(t.case) && current.shown.includes(t.reader));
  const key = (t) => JSON.stringify([t.scale, t.table, t.ratio, t.share]);
  const sets = [...new Map(timings.map((t) => [key(t), t]))].sort(([, a], [, b]) => ascending(a.scale, b.scale) || ascending(a.table, b.table) || ascending(b.share === 0 ? 100 : b.share, a.share === 0 ? 100 : a.share) || ascending(a.ratio, b.ratio));
  const bad = timings.filter((t) => t.verdict !== "right");
  const count = (word) => bad.filter((t) => t.verdict === word).length;
  const right = timings.length - bad.length;
  const parts = [count("wrong") && `${count("wrong")} wrong`, count("failed") && `${count("failed")} failed`].filter(Boolean);
  const out = count("unavailable") + count("not-offered");
  const text = !timings.length ? "Nothing was checked in this run."
    : `${parts.length ? `${parts.join(", ")}; ${right} of ${timings.length - out} answers right` : right ? `All ${right} checked answers are right` : "No answer could be checked"}${out ? `; ${out} unavailable or not offered` : ""}.`;
  const style = parts.length ? "headline bad" : right ? "headline" : "headline none";
  const groups = [...Map.groupBy(sets, ([, t]) => `scale ${t.scale ?? "?"}${unique(sets.map(([, x]) => x.table)).length > 1 ? `, ${t.table}` : ""}`)];
  const head = [
    h("tr", {}, h("th", { scope: "col", rowspan: 2 }, "Reader"), groups.map(([name, list]) => h("th", { scope: "colgroup", class: "group", colspan: list.length }, name))),
    h("tr", {}, groups.flatMap(([, list]) => list.map(([, t], i) => h("th", { scope: "col", class: i === 0 && "group", title: t.over.digest && `digest ${t.over.digest}` },
      percent(t.ratio), h("small", {}, t.share === 0 || t.share === 100 ? "updated" : `${percent(t.share)} of slices`))))),
  ];
  const rows = current.shown.map((reader) => h("tr", {}, h("th", { scope: "row" }, named(reader)), sets.map(([k]) => verdictCell(timings.filter((t) => t.reader === reader && key(t) === k)))));
  const reasons = [...bad.map((t) =>
    h("li", {}, h("span", { class: `word ${t.verdict === "failed" ? "error" : t.verdict}` }, SHORT[t.verdict]), " ", h("b", {}, t.reader), ` ${t.case}, scale ${t.scale}, ${percent(t.ratio)} updated: `, link(t.record, t.reason ?? "no reason given")))];
  const damage = unique(timings.flatMap((t) => t.warnings.map((w) => `${t.reader}: ${w.file} at byte ${w.offset}: ${w.reason}`)));
  byId("verdict-body").replaceChildren(...[
    h("p", { class: style }, text),
    h("p", { class: "note" }, "Right answers of all that were checked, for each reader and data set. An answer is right when the digest of its rows equals the oracle's, which never reads the table."),
    sets.length && scroll("verdict", h("table", {}, h("thead", {}, head), h("tbody", {}, rows))),
    damage.length && h("details", { data: { key: "damage" } }, h("summary", {}, `Damage that was skipped as the format says: ${damage.length}`), h("ul", { class: "reasons" }, damage.map((text) => h("li", {}, text)))),
    reasons.length && h("details", { open: reasons.length <= 6, data: { key: "reasons" } }, h("summary", {}, `${plural(reasons.length, "result")} without a right answer, and why`), h("ul", { class: "reasons" }, reasons)),
  ].filter(Boolean));
}
