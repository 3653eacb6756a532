/* The matrix stands in the page's HTML; here a cell opens the cases behind its number. */
import { DATA } from "./records.js";
import { byId, h } from "./tools.js";

/** Words for the reader of the page; the same kinds colour the cells. */
const SAID = { wrong: "wrong", broken: "broke", refused: "refused", disputed: "disputed", right: "right", off: "not offered" };

/** Every case of a group with its word, for one column of the matrix or for all of its seam. */
function casesOf(seam, group, column) {
  const found = new Map(); // case -> its outcomes, by column
  for (const [at, one] of DATA.matrix.entries()) {
    if (one.seam !== seam || (column !== null && column !== at)) continue;
    for (const [word, names] of Object.entries(one.groups[group] ?? {})) {
      const [kind, outcome] = word.split(" ");
      for (const name of names) {
        if (!found.has(name)) found.set(name, []);
        found.get(name).push({ column: one, kind, outcome, reason: one.reasons[name] });
      }
    }
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1));
}
const ORDER = Object.keys(SAID);
const worst = (outcomes) => Math.min(...outcomes.map((o) => ORDER.indexOf(o.kind)));

function listOf(seam, group, column) {
  const cases = casesOf(seam, group, column).sort(([, a], [, b]) => worst(a) - worst(b));
  const line = (o) => h("p", {}, h("span", { class: `word k-${o.kind}` }, ["off", "broken"].includes(o.kind) && o.outcome !== "xfail" ? o.outcome : SAID[o.kind]), " ",
    column === null && h("b", {}, o.column.name, " "), h("a", { href: o.column.file }, o.reason ?? (o.kind === "right" ? "as expected" : "the capability is not stated")));
  return h("dl", { class: "cases" }, cases.map(([name, outcomes]) => [h("dt", {}, h("code", {}, name)), h("dd", {}, outcomes.map(line))]));
}

/** One listener for all cells: the list opens below the table, a second click closes it. */
export function connectMatrix() {
  const section = byId("conformance");
  section.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-group]");
    if (!button) return;
    const { seam, group, column } = button.dataset;
    const place = byId(`cases-${seam}`);
    const open = button.getAttribute("aria-expanded") !== "true";
    for (const other of section.querySelectorAll("button[aria-expanded=true]")) if (byId(`cases-${other.dataset.seam}`) === place) other.setAttribute("aria-expanded", "false");
    place.replaceChildren();
    if (!open) return;
    button.setAttribute("aria-expanded", "true");
    const number = column === undefined ? null : Number(column);
    const title = [group, number !== null && DATA.matrix[number].name].filter(Boolean).join(": ");
    place.append(h("h4", {}, title), listOf(seam, group, number));
    place.scrollIntoView({ behavior: "smooth", block: "nearest" });
  });
}
