/* The matrix: filters, the cases that they leave, and one case. */
import { drawCase } from "./case.js";
import { KINDS, SAID, groupOf, outcomesOf, withoutVariant } from "./outcomes.js";
import { address, all, byId, change, h, live, state } from "./tools.js";

const MOST = 150; // cases in one list
const seams = () => all("section.seam").map((section) => section.dataset.seam);

function choice(name, label, options, chosen) {
  const select = h("select", { name }, options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)));
  return h("label", {}, label, select);
}
function drawFilters(data, chosen) {
  const form = byId("filters");
  const groups = [...new Set(data.cases.map(groupOf))];
  const made = [
    choice("seam", "Seam", seams().map((seam) => [seam, seam]), data.seam),
    choice("group", "Format or group", [["", "all"], ...groups.map((name) => [name, name])], chosen.group),
    choice("impl", "Implementation", [["", "all"], ...data.columns.map((c) => [c.key, `${c.name} ${c.version}`])], chosen.impl),
    choice("kind", "Outcome", [["", "any"], ...KINDS.map((kind) => [kind, SAID[kind]])], chosen.kind),
    h("label", {}, "Case, rule or reason", h("input", { name: "text", type: "search", value: chosen.text ?? "" })),
    chosen.path && h("button", { type: "button", name: "path" }, `Only ${chosen.path} ✕`),
  ].filter(Boolean);
  const focused = form.contains(document.activeElement) ? document.activeElement.name : null;
  const at = focused === "text" ? document.activeElement.selectionStart : null;
  form.replaceChildren(...made);
  if (focused && form.elements[focused]) {
    form.elements[focused].focus();
    if (at !== null) form.elements[focused].setSelectionRange(at, at);
  }
}
/** Numbers of the cases that the filters leave. */
function left(data, chosen) {
  const text = (chosen.text ?? "").toLowerCase();
  const columns = data.columns.filter((c) => !chosen.impl || c.key === chosen.impl);
  const fits = (id, number) => {
    if (chosen.group && groupOf(id) !== chosen.group) return false;
    if (chosen.path && withoutVariant(id) !== chosen.path && !withoutVariant(id).startsWith(`${chosen.path}/`)) return false;
    const some = columns.filter((c) => c.of(number) && (!chosen.kind || c.of(number).kind === chosen.kind));
    if (!some.length) return false;
    return !text || id.toLowerCase().includes(text) || data.rule(number).toLowerCase().includes(text) || some.some((c) => `${c.known[number] ?? ""} ${c.reasons[number] ?? ""}`.toLowerCase().includes(text));
  };
  return data.cases.flatMap((id, number) => (fits(id, number) ? [number] : []));
}
function drawList(data, chosen, numbers) {
  const listed = numbers.slice(0, MOST);
  const found = data.columns.filter((c) => (chosen.impl ? c.key === chosen.impl : c.first) && listed.some((number) => c.of(number)));
  // Where only other ways of ours or older versions have such cases, these are shown.
  const columns = found.length ? found : data.columns.filter((c) => !chosen.impl && listed.some((number) => c.of(number)));
  const cell = (column, number) => {
    const found = column.of(number);
    if (!found) return h("td", {});
    const href = address({ seam: data.seam, case: data.cases[number], impl: column.key });
    return h("td", { data: { label: column.key } }, h("a", { class: `chip k-${found.kind}${column.missing ? " older" : ""}`, href, title: column.known[number] ?? column.reasons[number] }, h("span", { class: "sr" }, `${SAID[found.kind]}: ${column.key}`)));
  };
  const row = (number) => h("tr", {},
    h("th", { scope: "row" }, h("a", { href: address({ seam: data.seam, case: data.cases[number], impl: chosen.impl }) }, data.cases[number].slice(data.seam.length + 1)), h("small", {}, data.rule(number))),
    columns.map((column) => cell(column, number)));
  byId("cases").replaceChildren(h("section", { class: "card", "aria-label": "Cases" }, h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Cases by implementation" }, h("table", { class: "matrix list cards" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Case and rule"), columns.map((c) => h("th", { scope: "col", class: c.missing ? "older" : null }, h("a", { href: c.link }, c.called), c.about !== "peer" && [" ", h("span", { class: "ours" }, "ours")], h("small", {}, c.version, c.missing > 0 && `, asked ${c.date}`))))),
    h("tbody", {}, listed.map(row))))));
}
let turn = 0; // whoever waits for data while the address changes again draws nothing
async function drawMatrix() {
  const mine = ++turn;
  const chosen = state();
  const seam = seams().includes(chosen.seam) ? chosen.seam : seams()[0];
  if (!seam) return;
  const filtered = ["group", "path", "impl", "kind", "text"].some((name) => chosen[name]);
  for (const section of all("section.seam")) section.hidden = Boolean(chosen.case) || section.dataset.seam !== seam;
  byId("case").hidden = !chosen.case;
  byId("cases").hidden = Boolean(chosen.case) || !filtered;
  for (const element of [byId("filters"), byId("found"), byId("head")]) element.hidden = Boolean(chosen.case);
  if (chosen.case) {
    await drawCase(seam, chosen.case, chosen.impl);
    byId("case-title")?.focus({ preventScroll: true });
    scrollTo(0, 0);
    return;
  }
  const data = await outcomesOf(seam);
  if (mine !== turn) return;
  drawFilters(data, chosen);
  const numbers = filtered ? left(data, chosen) : [];
  byId("found").textContent = !filtered ? "" : `${numbers.length} of ${data.cases.length} cases${numbers.length > MOST ? `; the first ${MOST} are listed` : ""}`;
  if (filtered) drawList(data, chosen, numbers);
}
/** On a phone a rule is one card: how it went, and its cells once they are unfolded. */
function unfold(button) {
  const open = button.closest("tr").classList.toggle("open");
  button.setAttribute("aria-expanded", String(open));
}
/** A cell of the table by rule stands for its path and its column. */
function openCell(event) {
  const button = event.target.closest(".seam td button, .seam th button");
  if (!button) return;
  if (button.classList.contains("fold")) {
    unfold(button);
    return;
  }
  const row = button.closest("tr");
  const { seam } = button.closest("section").dataset;
  const { path } = row.querySelector("th button").dataset;
  const at = [...row.cells].indexOf(button.closest("td"));
  const label = at > 0 ? row.cells[at].dataset.label : "";
  location.hash = address({ seam, path, impl: label });
  scrollTo(0, 0);
}
export function startMatrix() {
  const form = byId("filters");
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", (event) => {
    const { name, value } = event.target;
    change(name === "seam" ? { seam: value, group: "", path: "", impl: "", kind: "", text: "" } : { [name]: value });
  });
  form.addEventListener("click", (event) => { if (event.target.name === "path") change({ path: "" }); });
  addEventListener("click", openCell);
  live(drawMatrix);
}
