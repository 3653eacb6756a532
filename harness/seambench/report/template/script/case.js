/* One case: its rule, the life of its table, what must come, and what everybody made of it. */
import { KINDS, SAID, groupOf, outcomesOf } from "./outcomes.js";
import { part } from "./parts.js";
import { address, byId, h } from "./tools.js";

const chip = (kind, text) => h("span", { class: `chip k-${kind}` }, text ?? SAID[kind]);

function rowsTable({ columns, rows }) {
  if (!rows.length) return h("p", {}, "no rows");
  return h("table", {}, h("thead", {}, h("tr", {}, columns.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((text) => h("td", {}, h("code", {}, text)))))));
}
function diffTable(rows) {
  const line = (sign, word, style, row) => h("tr", { class: style }, h("td", {}, sign, h("span", { class: "sr" }, word)), row.map((text) => h("td", {}, h("code", {}, text))));
  const more = (shown, count, word) => count > shown.length && h("p", { class: "note" }, `and ${count - shown.length} more ${word}`);
  return [
    h("table", { class: "diff" }, h("thead", {}, h("tr", {}, h("th", {}, h("span", { class: "sr" }, "side")), rows.columns.map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, rows.missing.map((row) => line("−", "expected, did not come", "minus", row)), rows.unexpected.map((row) => line("+", "came, not expected", "plus", row)))),
    more(rows.missing, rows.missing_rows, "were expected"), more(rows.unexpected, rows.unexpected_rows, "came"),
    h("p", { class: "note" }, "− expected and did not come, + came and was not expected"),
  ];
}
const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
const command = (seam, column, id) => `seambench check --seam ${seam} --impl ${quoted(column.asked)} --case ${quoted(id)}`;

/** What is known of a reported defect where it is to be mended. */
function told(reported) {
  return reported && h("p", { class: "note" }, `Reported as “${reported.title}” (`, h("code", {}, reported.name), `): ${reported.status}; upstream: ${reported.upstream.join(", ") || "none found"}`);
}
function verdict(data, column, number, id, chosen) {
  const { kind, word } = column.of(number);
  const rows = column.differences[number];
  const others = data.columns.filter((other) => other.name === column.name && other !== column && other.of(number));
  const earlier = column.earlier[number] ?? [];
  const short = kind === "right" && !chosen;
  return h("div", { class: `verdict${chosen ? " chosen" : ""}${short ? " short" : ""}` },
    h("p", {}, h("b", {}, column.called), column.about !== "peer" && [" ", h("span", { class: "ours" }, "ours")], ` ${column.version} `, chip(kind), " ", h("code", {}, word), " ", h("a", { href: column.linkOf_(number) }, "record"), column.missing > 0 && h("small", {}, `, asked ${column.date}; ${column.missing} newer case${column.missing === 1 ? "" : "s"}`)),
    column.known[number] && h("p", {}, `Known: ${column.known[number]}`),
    told(column.reported[number]),
    column.reasons[number] && h("p", {}, column.reasons[number]),
    rows && diffTable(rows),
    others.length > 0 && h("p", { class: "note" }, "Other versions: ", others.map((other) => [h("a", { href: address({ seam: data.seam, case: id, impl: other.key }) }, other.version), " ", chip(other.of(number).kind), " "])),
    earlier.length > 0 && h("p", { class: "note" }, "Earlier runs of this version: ", earlier.map((one) => [h("a", { href: one.link }, one.date), " ", chip(one.kind), " "])),
    kind !== "off" && !short && h("pre", { tabindex: 0 }, h("code", {}, command(data.seam, column, id))));
}
function life(said) {
  if (!said.life) return null;
  return [h("h2", {}, "The table's life"), h("ol", { class: "life" }, said.life.map((step) => h("li", {}, h("code", {}, step.title), step.detail && h("div", { class: "note" }, step.detail), step.rows && rowsTable(step.rows))))];
}
function about(said, definition) {
  if (!said) return h("p", { class: "note" }, "This case is not installed where these pages were built: only its outcomes are known.");
  return [
    h("p", {}, h("b", {}, said.rule), said.level === "should" && [" ", chip("disputed")]),
    h("dl", {}, said.sources && [h("dt", {}, "source"), h("dd", {}, said.sources.map((text) => h("div", {}, text)))],
      said.file && [h("dt", {}, "file"), h("dd", {}, h("code", {}, said.file))],
      h("dt", {}, "vouched for by"), h("dd", {}, said.vouched.join(", ") || "nobody but this project"),
      said.needs.length > 0 && [h("dt", {}, "needs"), h("dd", {}, h("code", {}, said.needs.join(", ")))]),
    life(said),
    said.request && [h("h2", {}, "What is asked"), h("dl", {}, Object.entries(said.request).map(([name, value]) => [h("dt", {}, name.replaceAll("_", " ")), h("dd", {}, h("code", {}, value))]))],
    h("h2", {}, "What must come"),
    said.outcome && h("p", {}, said.outcome),
    (said.expected ?? []).map((rows, i) => [i > 0 && h("p", {}, "or"), rowsTable(rows)]),
    !said.outcome && !said.expected && h("p", {}, "as its definition says"),
    definition && h("details", { open: !said.life }, h("summary", {}, "The case as it is written down"), h("pre", { tabindex: 0 }, h("code", {}, definition))),
  ];
}
/** Draw a case into its place; `key` names the implementation that was opened. */
export async function drawCase(seam, id, key) {
  const place = byId("case");
  const data = await outcomesOf(seam);
  const number = data.cases.indexOf(id);
  const back = h("p", {}, h("a", { href: address({ seam }) }, `All cases of the ${seam} seam`));
  if (number < 0) return place.replaceChildren(h("section", { class: "card case" }, h("h1", { tabindex: -1, id: "case-title" }, id), h("p", {}, "No record names this case."), back));
  const known = data.explained.includes(groupOf(id));
  const group = known ? await part(`cases-${seam}-${groupOf(id)}`) : null;
  const said = group?.cases[id];
  const columns = data.columns.filter((column) => column.of(number));
  const order = (column) => [column.key === key ? 0 : 1, KINDS.indexOf(column.of(number).kind)];
  columns.sort((a, b) => order(a)[0] - order(b)[0] || order(a)[1] - order(b)[1]);
  const asked = columns.filter((column) => column.of(number).kind !== "off" || column.key === key);
  const ours = asked.filter((column) => column.about !== "peer" && !column.first && column.key !== key);
  const shown = asked.filter((column) => !ours.includes(column));
  const left = columns.filter((column) => !asked.includes(column));
  return place.replaceChildren(back, h("h1", { tabindex: -1, id: "case-title" }, id), h("div", { class: "casegrid" },
    h("section", { class: "card case", "aria-label": "The case" }, about(said, said && group.definitions[said.file])),
    h("section", { class: "card case", "aria-label": "What everybody made of it" }, h("h2", {}, "What everybody made of it"),
      shown.map((column) => verdict(data, column, number, id, column.key === key)),
      ours.length > 0 && h("details", {}, h("summary", {}, `other paths of the library: ${ours.map((column) => `${column.name} ${SAID[column.of(number).kind]}`).join(", ")}`), ours.map((column) => verdict(data, column, number, id, false))),
      left.length > 0 && h("p", { class: "note" }, "Not offered by ", left.map((column) => column.key).join(", "), "."))));
}
