/* Parts of tables that several sections use. */
import { colour } from "./records.js";
import { current, set, state } from "./state.js";
import { h, summary } from "./tools.js";

export const link = (record, text, title) => h("a", { href: record.file, title }, text);
export const dot = (reader) => h("i", { class: "dot", style: { "--c": colour(reader) } });
export const named = (reader) => h("span", { class: "name" }, dot(reader), reader);
export const scroll = (key, table) => h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": key, data: { key } }, table);
export function segments(key, label, options, effective = state[key]) {
  const buttons = options.map(([value, text]) =>
    h("button", { type: "button", "aria-pressed": String(effective === value), onclick: () => set({ [key]: value }), data: { key: `${key}-${value}` } }, text));
  return h("span", { class: "segments", role: "group", "aria-label": label }, buttons);
}
export function picker(key, label, options, text = String) {
  if (options.length < 2) return null;
  const items = options.map((o) => h("option", { value: String(o), selected: o === state[key] }, text(o)));
  const change = (event) => set({ [key]: options[event.target.selectedIndex] });
  return h("label", { class: "field" }, label, h("select", { onchange: change, data: { key } }, items));
}
export const SHORT = { wrong: "wrong", failed: "failed", unavailable: "unavailable", "not-offered": "not offered" };
/** A cell for a timing without a usable time: says so, links to the record, keeps the reason. */
export function badCell(timing) {
  if (!timing) return h("td", { class: "none", title: "not part of this run" }, "not run");
  const kind = timing.verdict;
  if (kind === "right") return h("td", { class: "none" }, link(timing.record, `no ${state.samples} samples`));
  const style = kind === "wrong" || kind === "failed" ? "bad" : "off";
  return h("td", { class: style }, link(timing.record, SHORT[kind], timing.reason ?? "no reason given"));
}
export const samplesOf = (timing) => (timing && timing.verdict === "right" ? summary(timing[state.samples]) : null);
export const find = (reader, name, ratio, share) =>
  current.timings.findLast((t) => t.reader === reader && t.case === name && t.ratio === ratio && t.share === share);
