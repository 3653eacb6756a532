/* The script of all pages: one file, as a page that is opened from disk may import no module. */
"use strict";
(() => {
/* Parts of the data: scripts beside the page, since a page opened from disk may not fetch. */

const waiting = new Map(); // name -> {promise, done}

globalThis.SEAMBENCH = { part: (name, data) => waiting.get(name)?.done(data) };

/** The data of a part; loaded once. */
function part(words) {
  const name = words.replace(/[^A-Za-z0-9.-]+/g, "_"); // as the files are called
  if (!waiting.has(name)) {
    const one = {};
    one.promise = new Promise((done, failed) => {
      one.done = done;
      const script = document.createElement("script");
      script.src = `data/${name}.js`;
      script.onerror = () => failed(new Error(`${script.src} is missing`));
      document.head.append(script);
    });
    waiting.set(name, one);
  }
  return waiting.get(name).promise;
}

/* Elements, and the address, which holds all that was chosen and is the only place that does. */

/** An element: attributes by name (on* = listener, data by dataset), children as text or nodes. */
function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "data") Object.assign(element.dataset, value);
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false && c !== ""));
  return element;
}
const byId = (id) => document.getElementById(id);
const all = (selector, under = document) => [...under.querySelectorAll(selector)];

/** What the address says, as plain members. */
function state() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}
/** An address with these members, leaving out empty ones. */
function address(members) {
  const hash = new URLSearchParams();
  for (const [name, value] of Object.entries(members)) if (value) hash.set(name, value);
  return `#${hash}`;
}
/** Change members of the address without a step of the browser's history. */
function change(members) {
  history.replaceState(null, "", address({ ...state(), ...members }));
  dispatchEvent(new Event("hashchange"));
}
/** Names in one member of the address: each encoded, between commas; a mangled one matches nothing. */
function names(text) {
  return new Set((text ?? "").split(",").filter(Boolean).map((part) => { try { return decodeURIComponent(part); } catch { return part; } }));
}
const joined = (set) => [...set].map(encodeURIComponent).join(",");
function toggled(set, name) {
  const next = new Set(set);
  if (!next.delete(name)) next.add(name);
  return next;
}
/** Show what needs a script, call `draw` now and after each change of the address. */
function live(draw) {
  for (const element of all(".js")) element.hidden = false;
  const drawn = async () => { await draw(); document.body.dataset.drawn = location.hash; };
  addEventListener("hashchange", drawn);
  drawn();
}

/* Outcomes of one seam, as its part of the data holds them, ready to be asked case by case. */

const KINDS = ["wrong", "broken", "refused", "disputed", "right", "off"];
const SAID = { wrong: "wrong without a word", broken: "error, crash or time limit", refused: "refused by name", disputed: "rule disputed", right: "right", off: "not offered" };

/** The seam: cases with their rules, and columns whose `of(case number)` is {kind, word} or undefined. */
async function outcomesOf(seam) {
  const data = await part(`outcomes-${seam}`);
  if (data.ready) return data;
  for (const column of data.columns) {
    const found = new Map();
    for (const [words, cases] of Object.entries(column.outcomes)) {
      const [kind, word] = words.split(" ");
      for (const number of cases) found.set(number, { kind, word });
    }
    column.of = (number) => found.get(number);
    column.linkOf_ = (number) => (number in column.linkOf ? column.links[column.linkOf[number]] : column.link);
  }
  data.rule = (number) => data.rules[data.ruleOf[number]];
  data.ready = true;
  return data;
}
const groupOf = (id) => id.split("/")[1] ?? id;
const withoutVariant = (id) => id.replace(/@[^/]*/g, "");

/* One case: its rule, the life of its table, what must come, and what everybody made of it. */

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
async function drawCase(seam, id, key) {
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

/* The matrix: filters, the cases that they leave, and one case. */

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
function startMatrix() {
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

/* The queries: readers and queries can be struck out; ratios and means follow. */

const CONSTANT = 0.001; // seconds added to both sides of a ratio

const factor = (x) => `${x < 10 ? x.toPrecision(2) : x.toFixed(0)}×`;
const geometric = (list) => Math.exp(list.reduce((sum, x) => sum + Math.log(x), 0) / list.length);

const seconds = (s) => (s < 1 ? `${(s * 1000).toPrecision(3)} ms` : `${s.toPrecision(3)} s`);

/** Means of a reader over the queries that count; a missing one leaves none. */
function drawMeans(table, at, values, word, text) {
  const told = table.querySelectorAll(`tfoot .${word} td b`)[at];
  const known = values.filter((value) => value !== null);
  const mean = known.length > 0 && known.length === values.length ? geometric(known) : null;
  told.textContent = mean === null ? (values.length && word === "time" ? "some are missing" : "") : text(mean);
  told.dataset.mean = mean === null ? "" : mean.toFixed(6);
}
function drawTable(table, struck, off) {
  const heads = all("thead th", table).slice(1);
  const shown = heads.map((head) => !off.has(head.querySelector("button").dataset.reader));
  const ratios = heads.map(() => []);
  const times = heads.map(() => []);
  for (const row of all("tbody tr", table)) {
    const out = struck.has(row.dataset.query);
    row.classList.toggle("struck", out);
    row.querySelector("button").setAttribute("aria-pressed", String(!out));
    const cells = all("td", row);
    const own = cells.map((cell, i) => (shown[i] && cell.dataset.s ? Number(cell.dataset.s) : null));
    const known = own.filter((time) => time !== null);
    cells.forEach((cell, i) => {
      cell.classList.toggle("struck", !shown[i]);
      const ratio = own[i] === null || known.length < 2 ? null : (CONSTANT + own[i]) / (CONSTANT + Math.min(...known));
      const told = cell.querySelector("b");
      if (told) told.textContent = ratio === null ? "" : factor(ratio);
      if (!out) { ratios[i].push(ratio); times[i].push(own[i]); }
    });
  }
  heads.forEach((head, i) => {
    head.classList.toggle("struck", !shown[i]);
    head.querySelector("button").setAttribute("aria-pressed", String(shown[i]));
    if (head.classList.contains("stale")) return;
    drawMeans(table, i, shown[i] ? ratios[i] : [], "ratio", factor);
    drawMeans(table, i, shown[i] ? times[i] : [], "time", seconds);
  });
  for (const count of all(".count", table)) count.textContent = String(all("tbody tr:not(.struck)", table).length);
}
function drawQueries() {
  const form = byId("choices");
  if (!form) return;
  const chosen = state();
  const select = form.elements.tables;
  if ([...select.options].some((o) => o.value === chosen.tables)) select.value = chosen.tables;
  for (const section of all("section.tables")) section.hidden = section.id !== select.value;
  for (const table of all("table.queries")) drawTable(table, names(chosen.struck), names(chosen.off));
}
function startQueries() {
  byId("choices")?.addEventListener("change", (event) => change({ tables: event.target.value }));
  byId("all-queries")?.addEventListener("click", () => change({ struck: "", off: "" }));
  for (const button of all("table.queries button")) {
    const reader = button.dataset.reader;
    const query = button.closest("tr").dataset.query;
    button.addEventListener("click", () => change(reader
      ? { off: joined(toggled(names(state().off), reader)) }
      : { struck: joined(toggled(names(state().struck), query)) }));
  }
  live(drawQueries);
}

/* The curves: which chart is shown, and which lines. */

/** Lines are switched off by name, in every chart. */
function drawCost() {
  const form = byId("choices");
  if (!form) return;
  const chosen = state();
  for (const select of all("select", form)) {
    if ([...select.options].some((o) => o.value === chosen[select.name])) select.value = chosen[select.name];
  }
  const value = (name) => form.elements[name].value;
  const figures = all("figure[data-what]");
  for (const figure of figures) {
    figure.hidden = !["what", "measure", "axis"].every((name) => figure.dataset[name] === value(name));
  }
  byId("nothing").hidden = figures.some((figure) => !figure.hidden);
  const off = names(chosen.off);
  for (const element of all(".chart [data-line]")) element.classList.toggle("off", off.has(element.dataset.line));
  for (const button of all(".lines button")) button.setAttribute("aria-pressed", String(!off.has(button.dataset.line)));
}
function startCost() {
  const form = byId("choices");
  form?.addEventListener("change", () => change(Object.fromEntries(new FormData(form))));
  for (const button of all(".lines button")) {
    button.addEventListener("click", () => change({ off: joined(toggled(names(state().off), button.dataset.line)) }));
  }
  live(drawCost);
}

/* What each page needs; pages without an entry need nothing. */

const START = { cost: startCost, matrix: startMatrix, queries: startQueries };
START[document.body.dataset.page]?.();
})();
