/* The queries: readers and queries can be struck out; ratios and means follow. */
import { all, byId, change, joined, live, names, state, toggled } from "./tools.js";

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
export function startQueries() {
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
