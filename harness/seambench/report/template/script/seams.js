/* Throughput of the other seams, only where records have such cases. */
import { runLabel } from "./head.js";
import { badCell, link, scroll } from "./parts.js";
import { header, timeCells } from "./queries.js";
import { isScan, readers, runs, seamOf } from "./records.js";
import { SEAM_CONSTANT, byId, bytes, factor, h, plural, range, seconds, summary, unique } from "./tools.js";

/** Gigabytes a second, and how much of a plain copy of the same bytes that is. */
function rateCell(timing, copy) {
  const s = timing && summary(timing.hot);
  if (!s) return badCell(timing);
  const rate = timing.bytes / s.median / 1e9;
  const share = copy && copy !== timing ? `${Math.round((100 * summary(copy.hot).median) / s.median)} % of the copy` : null;
  const heat = share ? `${Math.max(0, Math.min(100, Math.round(20 * Math.log2(s.median / summary(copy.hot).median))))}%` : "0%";
  return h("td", { class: "heat", style: { "--heat": heat } }, link(timing.record, `${Number(rate.toPrecision(3))} GB/s`, `${bytes(timing.bytes)} in ${range(s)}`), h("small", {}, share), timing.rows > 0 && h("small", {}, `${Number((timing.rows / s.median / 1e6).toPrecision(3))} million rows/s`));
}
function seamTable(seam, timings) {
  const columns = readers.filter((r) => timings.some((t) => t.reader === r));
  const cases = unique(timings.map((t) => t.case));
  const found = (reader, name) => timings.findLast((t) => t.reader === reader && t.case === name);
  const rated = timings.every((t) => t.bytes !== null);
  const cellsOf = (name) => {
    const row = columns.map((r) => found(r, name));
    const copy = found("memcpy", name) ?? timings.findLast((t) => t.kind === "floor" && t.case === `${seam}/copy`);
    return rated ? row.map((t) => rateCell(t, copy?.hot.length ? copy : null)) : timeCells(row, SEAM_CONSTANT).cells;
  };
  return scroll(`seam-${seam}`, h("table", {}, header("Step / rows of a batch", columns), h("tbody", {}, cases.map((name) => h("tr", {}, h("th", { scope: "row" }, name.slice(seam.length + 1)), cellsOf(name))))));
}
/** Plans of workers: a row for each plan, number of workers and chunk size, a column for each way. */
function plansTable(seam, timings) {
  const parts = (t) => t.case.split("/"); // seam/plan/transport/format/workers/chunk rows
  const rowOf = (t) => JSON.stringify([parts(t)[1], Number(parts(t)[4]), Number(parts(t)[5])]);
  const wayOf = (t) => [t.reader, parts(t)[2], parts(t)[3] === "none" ? null : parts(t)[3]].filter(Boolean).join(" ");
  const isFloor = (t) => parts(t)[2] === "copy";
  const ways = unique(timings.filter((t) => !isFloor(t)).map(wayOf));
  const rows = unique(timings.map(rowOf)).map((key) => {
    const [plan, workers, chunk] = JSON.parse(key);
    const row = ways.map((way) => timings.findLast((t) => rowOf(t) === key && wayOf(t) === way));
    const floor = timings.findLast((t) => rowOf(t) === key && isFloor(t))?.hot ?? [];
    return { plan, workers, chunk, row, floor: floor.length > 0 ? summary(floor).median : null, ...timeCells(row, SEAM_CONSTANT) };
  });
  const times = (t, floor) => (floor === null ? "" : `${Number((summary(t.hot).median / floor).toPrecision(2))} × the copy, `);
  const extra = (t, floor) => t?.hot.length > 0 && h("small", {}, `${times(t, floor)}${bytes(t.peak_bytes)} resident, ${seconds(t.cpu.length ? summary(t.cpu).median : null)} CPU`);
  for (const { cells, row, floor } of rows) cells.forEach((cell, i) => cell.append(...[extra(row[i], floor)].filter(Boolean)));
  return [winners(rows, ways), scroll(`seam-${seam}`, h("table", {},
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Plan, workers, rows of a chunk"), ways.map((way) => h("th", { scope: "col" }, way)))),
    h("tbody", {}, rows.map((r) => h("tr", {}, h("th", { scope: "row" }, `${r.plan}, ${r.workers}, ${r.chunk}`), r.cells)))))];
}
/** Who wins from which chunk size on, where more than one was measured. */
function winners(rows, ways) {
  const said = [...Map.groupBy(rows, (r) => `${r.plan}, ${plural(r.workers, "worker")}`)].flatMap(([label, list]) => {
    const steps = [...list].sort((a, b) => a.chunk - b.chunk).map((r) => ({ chunk: r.chunk, way: r.best && ways[r.stats.indexOf(r.best)] })).filter((s) => s.way);
    const turns = steps.filter((s, i) => i === 0 || s.way !== steps[i - 1].way);
    return steps.length > 1 ? [h("li", {}, h("b", {}, label), `: ${turns.map((s) => `${s.way} from ${s.chunk} rows on`).join("; ")}.`)] : [];
  });
  return said.length > 0 && h("ul", { class: "note" }, said);
}
const PLANS = new Set(["exchange-workers", "exchange-spark"]);
const SEAM_NOTES = {
  "exchange-workers": "Workers exchange rows of TPC-H: pass-through and local between threads of one process, everything else between processes. Medians; a factor compares with the best of its row, the copy is the floor: as many bytes over a bare Unix socket. Each outcome was compared with the generator’s rows.",
  "exchange-spark": "Tasks of a barrier job exchange rows between the executors of a cluster. Medians; each outcome was compared with the generator’s rows.",
  "exchange-bars": "The same rows of lineitem, carried in each way; two processes, but for what is passed through. wire: pages that are there already; rows: partitioned, encoded, sent and decoded; copy: the bytes of the pages over a bare Unix socket.",
};
export function drawSeams() {
  const newest = new Map(); // seam -> its newest run
  for (const run of runs.values()) for (const t of run.timings) if (!isScan(t)) newest.set(seamOf(t.case), run);
  byId("seams").replaceChildren(...[...newest].sort().map(([seam, run]) => h("section", { class: "card", id: `seam-${seam}` },
    h("h2", {}, `Throughput: ${seam}`),
    h("p", { class: "note" }, `${runLabel(run.id)}. ${SEAM_NOTES[seam] ?? "One thread, medians; memcpy copies as many bytes between two warm blocks. A result is read back and compared before its time counts."}`),
    (PLANS.has(seam) ? plansTable : seamTable)(seam, run.timings.filter((t) => seamOf(t.case) === seam)))));
}
