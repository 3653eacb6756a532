/* The machine, the versions, what is wrong with files, and the choices at the top. */
import { dot, link, named, picker, scroll, segments } from "./parts.js";
import { DATA, records, runList, runs } from "./records.js";
import { current, set, state, toggled } from "./state.js";
import { ascending, byId, bytes, h, plural, unique } from "./tools.js";

export function drawLimits() {
  const list = current.run.records.length ? current.run.records : records.slice(-1);
  const first = list[0];
  const facts = [];
  if (first) {
    const m = first.machine;
    const memory = m.memory_bytes ? `, ${bytes(m.memory_bytes)}` : "";
    facts.push(["Machine", `${m.name ?? "unknown"}${m.cores ? `, ${plural(m.cores, "core")}` : ""}${memory}`], ["Processor", m.cpu ?? "unknown"], ["Kernel", m.kernel ?? "unknown"]);
    facts.push(["Date", (first.run.started_utc ?? "unknown").replace("T", " ").replace(/(\.\d+)?(Z|\+00:00)?$/, " UTC").slice(0, 24)]);
    facts.push(["Load before", m.load_before.length ? m.load_before.map((x) => x.toFixed(2)).join(" / ") : "unknown"]);
    facts.push(["Samples", first.run.samples ? `${first.run.samples} hot` : "see records"]);
    facts.push(["Commit", first.run.commit ? `${first.run.commit.slice(0, 10)}${first.run.dirty ? ", with local changes" : ""}` : "unknown"]);
  }
  byId("facts").replaceChildren(...facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
  const busy = list.filter((r) => r.machine.load_before[0] > 0.5 * (r.machine.cores ?? Infinity));
  const others = unique(list.map((r) => r.machine.name)).length > 1;
  byId("busy").replaceChildren(...[
    busy.length && h("p", { class: "warn" }, `The machine was busy before ${busy.length === list.length ? "this run" : busy.map((r) => r.implementation.name).join(", ")}: times may be too long and ranges wide.`),
    others && h("p", { class: "warn" }, "The records of this run name more than one machine; do not compare their times."),
  ].filter(Boolean));
  const names = unique(list.flatMap((r) => Object.keys(r.versions))).sort();
  const rows = names.map((n) => h("tr", {}, h("th", { scope: "row" }, n), h("td", {}, unique(list.map((r) => r.versions[n]).filter(Boolean)).join(", "))));
  const own = list.map((r) => h("tr", {}, h("th", { scope: "row" }, named(r.implementation.name)), h("td", {}, link(r, [r.implementation.version ?? "unknown", r.implementation.kind].filter(Boolean).join(", ")))));
  byId("versions").replaceChildren(scroll("versions", h("table", {}, h("tbody", {}, own, rows))));
  const odd = [...DATA.problems.map((p) => [p.file, p.reason])];
  byId("problems").replaceChildren(...(odd.length
    ? [h("details", { open: DATA.problems.length > 0 }, h("summary", {}, `${odd.length} ${odd.length === 1 ? "thing" : "things"} wrong with the result files`),
        h("ul", { class: "reasons" }, odd.map(([file, reason]) => h("li", {}, h("code", {}, file), " ", reason))))]
    : []));
}
export function runLabel(id) {
  const { records: list } = runs.get(id);
  const scales = unique(list.flatMap((r) => r.timings.map((t) => t.over.scale))).filter((s) => s !== null).sort(ascending);
  return [(list[0].run.started_utc ?? id).slice(0, 16).replace("T", " "), list[0].machine.name, scales.length && `scale ${scales.join(", ")}`, plural(list.length, "reader")].filter(Boolean).join(" · ");
}
export function drawControls() {
  const chips = current.readers.map((reader) =>
    h("button", { type: "button", class: "chip", "aria-pressed": String(current.shown.includes(reader)), data: { key: `reader-${reader}` }, onclick: () => set({ readers: toggled(current.readers, state.readers, reader) }) }, dot(reader), reader));
  const copy = h("button", { type: "button", class: "plain copy", data: { key: "copy" }, onclick: async (event) => {
    if (!location.hash) set({});
    const button = event.target.isConnected ? event.target : document.querySelector(".copy");
    try { await navigator.clipboard.writeText(location.href); button.textContent = "Copied"; } catch { button.textContent = "Copy the address bar"; }
  } }, "Copy link to this view");
  byId("controls").hidden = !current.readers.length;
  byId("controls").replaceChildren(...[
    picker("run", "Run", runList.map((r) => r.id), runLabel),
    picker("scale", "Scale", current.scales),
    picker("table", "Table", current.tables),
    h("div", { class: "chips", role: "group", "aria-label": "Readers" }, chips),
    segments("samples", "Samples", [["hot", "hot"], ["cold", "cold"]]),
    copy,
  ].filter(Boolean));
  const sections = [...document.querySelectorAll("main section.card")].filter((s) => !s.hidden);
  byId("nav").replaceChildren(...sections.map((s) => h("button", { type: "button", data: { key: `nav-${s.id}` }, onclick: () => s.scrollIntoView({ behavior: "smooth" }) }, s.querySelector("h2").textContent)));
}
