/* The page's script: reads SEAMBENCH (data.js), keeps all state in the address, draws.
 *
 * Text from records only ever becomes text nodes or attributes set through h(), never markup; what
 * goes into Plotly, which knows a little markup, goes through plotText(). Summaries are computed
 * here from raw samples. */
"use strict";
(() => {
  const DATA = globalThis.SEAMBENCH;
  const QUERY_CONSTANT = 0.001; // seconds added to both sides of a query's factor
  const SEAM_CONSTANT = 0.00001; // the same for the small work of serde and exchange
  const LIGHT = ["#2158c4", "#c2410c", "#0f766e", "#8b2fb0", "#a16207", "#be185d", "#4d7c0f", "#475569"];
  const DARK = ["#7aa7ff", "#ff9966", "#3fd0bd", "#d08bf0", "#e8b84a", "#ff82b2", "#a3d65c", "#a8b6c6"];
  const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "x", "pentagon", "star", "hexagon"];
  const KINDS = ["reference", "native", "peer"];
  const BAD_WORDS = new Set(["fail", "xpass", "error", "timeout", "crash"]);
  const WHATS = { "scan/all": "scan, all columns", "scan/q6": "scan, the 4 columns of Q6", "scan/count": "scan, count", queries: "geometric mean of the queries" };
  /** Dimensions that are drawn as axes, or follow from the scale. */
  const AXES = new Set(["update_ratio", "slice_share", "slices"]);
  const dark = matchMedia("(prefers-color-scheme: dark)");

  // ---- small tools -------------------------------------------------------------------------------

  /** An element: attributes by name (on* = listener, data by dataset), children as text or nodes. */
  function h(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes ?? {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name === "data") Object.assign(element.dataset, value);
      else if (name === "style") for (const [k, v] of Object.entries(value)) element.style.setProperty(k, v);
      else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
    return element;
  }
  const byId = (id) => document.getElementById(id);
  const unique = (list) => [...new Set(list)];
  const ascending = (a, b) => (a === null) - (b === null) || (a < b ? -1 : a > b ? 1 : 0);
  const plural = (n, word) => `${n} ${word}${n === 1 ? "" : word.endsWith("y") ? "" : "s"}`;
  const plotText = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  /** Names in the address: each encoded, then joined; a mangled link gives names that match nothing. */
  const decoded = (text) => text.split(",").map((part) => { try { return decodeURIComponent(part); } catch { return part; } });
  const geometric = (list) => Math.exp(list.reduce((sum, x) => sum + Math.log(x), 0) / list.length);

  function summary(samples) {
    if (!samples.length) return null;
    const sorted = [...samples].sort((a, b) => a - b);
    const half = sorted.length >> 1;
    const median = sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
    return { median, min: sorted[0], max: sorted.at(-1), n: sorted.length };
  }
  function seconds(s) {
    if (s === null || s === undefined) return "–";
    if (s > 0 && s < 0.001) return `${(s * 1e6).toPrecision(3)} µs`;
    if (s < 1) return `${Number((s * 1000).toPrecision(3))} ms`;
    return `${s < 100 ? s.toPrecision(3) : s.toFixed(0)} s`;
  }
  const factor = (x) => `${x < 10 ? x.toFixed(2) : x < 100 ? x.toFixed(1) : x.toFixed(0)}×`;
  function range(s) {
    if (s.n < 2) return "1 sample";
    const [low, high] = [seconds(s.min), seconds(s.max)];
    const unit = high.slice(high.indexOf(" "));
    return `${low.endsWith(unit) ? low.slice(0, -unit.length) : low} – ${high}`; // the unit once
  }
  function bytes(n) {
    if (n === null) return "–";
    const power = Math.min(4, Math.floor(Math.log2(Math.max(n, 1)) / 10));
    return `${Number((n / 1024 ** power).toPrecision(3))} ${["B", "KiB", "MiB", "GiB", "TiB"][power]}`;
  }
  const percent = (n) => (n === null ? "–" : `${n} %`);

  // ---- the data: one flat list of timings ---------------------------------------------------------

  const verdictOf = (timing) => ({ pass: "right", xfail: "right", fail: "wrong", unavailable: "unavailable", "not-offered": "not-offered" })[timing.outcome] ?? "failed";
  /** What tells tables apart, in the format's own words, but for the two axes and the scale's. */
  function tableOf(over) {
    const words = Object.entries(over.dimensions).filter(([name]) => !AXES.has(name)).map(([name, value]) => `${name.replaceAll("_", " ")} ${value}`);
    return [over.format, ...words].filter(Boolean).join(" · ") || over.name;
  }
  /** A timing with what its record leaves out because it is the default. */
  function makeTiming(record, raw) {
    const over = { dimensions: {}, state: "base", digest: null, format: null, ...raw.over };
    const ratio = over.dimensions.update_ratio ?? 0;
    const share = ratio === 0 ? 0 : over.dimensions.slice_share ?? 100;
    const given = { cold: [], hot: [], cpu: [], rows: null, bytes: null, peak_bytes: null, growth_bytes: null, paths: {}, warnings: [], reason: null, ...raw };
    return { ...given, over, record, reader: record.implementation.name, table: tableOf(over), scale: over.scale, ratio, share, verdict: verdictOf(given), stale: over.state === "base" && ratio > 0 };
  }
  const records = DATA.records.map((r) => ({ timings: [], ...r }));
  const readers = unique(
    [...records]
      .sort((a, b) => ascending(KINDS.indexOf(a.implementation.kind), KINDS.indexOf(b.implementation.kind)) || ascending(a.implementation.name, b.implementation.name))
      .map((r) => r.implementation.name),
  );
  const colour = (reader) => (dark.matches ? DARK : LIGHT)[readers.indexOf(reader) % LIGHT.length];
  const runs = new Map();
  for (const record of records) {
    if (!record.timings.length) continue;
    const id = record.run.id ?? record.source;
    if (!runs.has(id)) runs.set(id, { id, records: [], timings: [] });
    runs.get(id).records.push(record);
    runs.get(id).timings.push(...record.timings.map((t) => makeTiming(record, t)));
  }
  /** Scans and queries are compared within a run that is chosen; other seams show their newest run. */
  const isScan = (timing) => /^(scan|tpch)\//.test(timing.case);
  const scanRuns = [...runs.values()].filter((run) => run.timings.some(isScan) || !run.timings.length);
  const runList = (scanRuns.length ? scanRuns : [...runs.values()]).reverse();
  /** What the page opens with: the newest day's run of most readers and times, the newest of equals. */
  function firstShown() {
    if (!runList.length) return undefined;
    const day = (run) => (run.records[0].run.started_utc ?? "").slice(0, 10);
    const wider = (a, b) => b.records.length - a.records.length || b.timings.length - a.timings.length;
    return runList.filter((run) => day(run) === day(runList[0])).sort(wider)[0];
  }

  // ---- state and address --------------------------------------------------------------------------

  const state = {};
  const current = {}; // the run's timings and what there is to choose from; follows the state

  function readHash() {
    const wanted = new URLSearchParams(location.hash.slice(1));
    const choose = (key, options, fallback) => {
      const found = options.find((o) => String(o) === wanted.get(key));
      state[key] = found === undefined ? fallback : found;
    };
    choose("run", runList.map((r) => r.id), firstShown()?.id);
    const run = runs.get(state.run) ?? { records: [], timings: [] };
    const scannable = run.timings.filter(isScan);
    current.run = run;
    current.scales = unique(scannable.map((t) => t.scale)).sort(ascending);
    choose("scale", current.scales, current.scales.at(-1));
    const ofScale = scannable.filter((t) => t.scale === state.scale);
    const spread = (table) => new Set(ofScale.filter((t) => t.table === table).map((t) => t.ratio)).size;
    current.tables = unique(ofScale.map((t) => t.table)).sort((a, b) => spread(b) - spread(a));
    choose("table", current.tables, current.tables[0]);
    current.timings = ofScale.filter((t) => t.table === state.table);
    current.ratios = unique(current.timings.map((t) => t.ratio)).sort(ascending);
    choose("ratio", current.ratios, current.ratios.includes(20) ? 20 : current.ratios.at(-1));
    current.shares = unique(current.timings.filter((t) => t.ratio === state.ratio).map((t) => t.share)).sort(ascending);
    choose("share", current.shares, current.shares.at(-1));
    current.whats = Object.keys(WHATS).filter((w) => current.timings.some((t) => (w === "queries" ? t.case.startsWith("tpch/") : t.case === w)));
    choose("what", current.whats, current.whats[0]);
    choose("metric", ["seconds", "base", "own"], "seconds");
    current.readers = readers.filter((r) => run.records.some((x) => x.implementation.name === r));
    choose("base", current.readers, current.readers.includes("native") ? "native" : current.readers[0]);
    choose("samples", ["hot", "cold"], "hot");
    choose("axis", ["linear", "log"], null); // null: log where the readers lie far apart
    const shown = wanted.get("readers");
    state.readers = shown === null ? null : new Set(decoded(shown));
    current.shown = current.readers.filter((r) => !state.readers || state.readers.has(r));
    current.queries = unique(run.timings.filter((t) => t.case.startsWith("tpch/")).map((t) => t.case)).sort();
    const struck = decoded(wanted.get("struck") ?? "");
    state.struck = new Set(current.queries.filter((q) => struck.includes(q.slice(5))));
  }
  /** Put a change into the address and draw again; the address is the only place of state. */
  function set(changes) {
    Object.assign(state, changes);
    const list = (items) => [...items].map(encodeURIComponent).join(",");
    const hash = new URLSearchParams();
    for (const key of ["run", "scale", "table", "ratio", "share", "what", "metric", "base", "samples", "axis"]) {
      if (state[key] !== undefined && state[key] !== null) hash.set(key, state[key]);
    }
    if (state.readers && state.readers.size < current.readers.length) hash.set("readers", list(state.readers));
    if (state.struck.size) hash.set("struck", list([...state.struck].map((q) => q.slice(5))));
    history.replaceState(null, "", `#${hash}`);
    render();
  }
  function toggled(all, chosen, item) {
    const next = new Set(chosen ?? all);
    if (!next.delete(item)) next.add(item);
    return next;
  }

  // ---- parts of tables ----------------------------------------------------------------------------

  const link = (record, text, title) => h("a", { href: record.file, title }, text);
  const dot = (reader) => h("i", { class: "dot", style: { "--c": colour(reader) } });
  const named = (reader) => h("span", { class: "name" }, dot(reader), reader);
  const scroll = (key, table) => h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": key, data: { key } }, table);
  function segments(key, label, options, effective = state[key]) {
    const buttons = options.map(([value, text]) =>
      h("button", { type: "button", "aria-pressed": String(effective === value), onclick: () => set({ [key]: value }), data: { key: `${key}-${value}` } }, text));
    return h("span", { class: "segments", role: "group", "aria-label": label }, buttons);
  }
  function picker(key, label, options, text = String) {
    if (options.length < 2) return null;
    const items = options.map((o) => h("option", { value: String(o), selected: o === state[key] }, text(o)));
    const change = (event) => set({ [key]: options[event.target.selectedIndex] });
    return h("label", { class: "field" }, label, h("select", { onchange: change, data: { key } }, items));
  }
  const SHORT = { wrong: "wrong", failed: "failed", unavailable: "unavailable", "not-offered": "not offered" };
  /** A cell for a timing without a usable time: says so, links to the record, keeps the reason. */
  function badCell(timing) {
    if (!timing) return h("td", { class: "none", title: "not part of this run" }, "not run");
    const kind = timing.verdict;
    if (kind === "right") return h("td", { class: "none" }, link(timing.record, `no ${state.samples} samples`));
    const style = kind === "wrong" || kind === "failed" ? "bad" : "off";
    return h("td", { class: style }, link(timing.record, SHORT[kind], timing.reason ?? "no reason given"));
  }
  const samplesOf = (timing) => (timing && timing.verdict === "right" ? summary(timing[state.samples]) : null);
  const find = (reader, name, ratio, share) =>
    current.timings.findLast((t) => t.reader === reader && t.case === name && t.ratio === ratio && t.share === share);

  // ---- head, limits, controls ---------------------------------------------------------------------

  function drawLimits() {
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
  function runLabel(id) {
    const { records: list } = runs.get(id);
    const scales = unique(list.flatMap((r) => r.timings.map((t) => t.over.scale))).filter((s) => s !== null).sort(ascending);
    return [(list[0].run.started_utc ?? id).slice(0, 16).replace("T", " "), list[0].machine.name, scales.length && `scale ${scales.join(", ")}`, plural(list.length, "reader")].filter(Boolean).join(" · ");
  }
  function drawControls() {
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

  // ---- 1. verdict ---------------------------------------------------------------------------------

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
  function drawVerdict() {
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

  // ---- conformance --------------------------------------------------------------------------------

  const seamOf = (name) => name.split(/[/:]/)[0];
  // ---- 2. curves ----------------------------------------------------------------------------------

  /** Cost of one reader at one data set: {median, min, max, n, timings}, or {missing: why}. */
  function cost(reader, ratio, share) {
    const names = state.what === "queries" ? current.queries.filter((q) => !state.struck.has(q)) : [state.what];
    const timings = names.map((n) => find(reader, n, ratio, share));
    if (!names.length || timings.every((t) => !t)) return { missing: "not run" };
    const stats = timings.map(samplesOf);
    const gap = stats.findIndex((s) => !s);
    if (gap >= 0) return { missing: `${names[gap]}: ${timings[gap] ? timings[gap].reason ?? `no ${state.samples} samples` : "not run"}` };
    const mean = (key) => geometric(stats.map((s) => Math.max(s[key], 1e-9)));
    return { median: mean("median"), min: mean("min"), max: mean("max"), n: Math.min(...stats.map((s) => s.n)), timings };
  }
  /** The chosen metric of a cost: seconds, or relative to another reader or to the reader's own 0 %. */
  function metric(reader, ratio, share) {
    const own = cost(reader, ratio, share);
    if (own.missing || state.metric === "seconds") return own;
    const base = state.metric === "own" ? cost(reader, 0, 0) : cost(state.base, ratio, share);
    if (base.missing) return { missing: state.metric === "own" ? "it has no time at 0 %" : `${state.base} has no time here` };
    return { ...own, median: own.median / base.median, min: own.min / base.median, max: own.max / base.median };
  }
  /** The axis as asked for, or logarithmic where the costs of one chart lie more than 8 times apart. */
  function axisOf(lines) {
    const values = lines.flatMap((l) => l.points.filter((p) => !p.missing).map((p) => p.median));
    return state.axis ?? (Math.max(...values) > 8 * Math.min(...values) ? "log" : "linear");
  }
  /** Why lines or points are not drawn: the same reason at every point is said once. */
  function gaps(lines) {
    return lines.flatMap(({ reader, points }) => {
      const byReason = Map.groupBy(points.filter((p) => p.missing), (p) => p.missing);
      return [...byReason].map(([why, list]) => `${reader}${list.length < points.length ? ` at ${list.map((p) => `${p.x} %`).join(", ")}` : ""} (${why})`);
    });
  }
  const shown = (value) => (state.metric === "seconds" ? seconds(value) : factor(value));

  /** Ticks at 1, 2 and 5 of each power of ten, with units; two decades or less show all three. */
  function logTicks(lines) {
    const values = lines.flatMap((l) => l.points.filter((p) => !p.missing).flatMap((p) => [p.min, p.max]));
    const [low, high] = [Math.log10(Math.max(Math.min(...values), 1e-9)), Math.log10(Math.max(...values))];
    const steps = high - low > 2.5 ? [1] : [1, 2, 5];
    const ticks = [];
    for (let power = Math.floor(low) - 1; power <= high + 1; power++) ticks.push(...steps.map((s) => s * 10 ** power));
    const text = (t) => (state.metric !== "seconds" ? `${Number(t.toPrecision(1))}×` : seconds(t).replace(/\.0+ /, " "));
    return { tickvals: ticks, ticktext: ticks.map(text) };
  }
  function drawChart(element, lines, label) {
    const style = getComputedStyle(document.documentElement);
    const css = (name) => style.getPropertyValue(name).trim();
    const traces = lines.flatMap(({ reader, points }) => {
      const drawn = points.filter((p) => !p.missing);
      const c = colour(reader);
      const common = { x: drawn.map((p) => p.x), type: "scatter", legendgroup: plotText(reader) };
      const edge = { ...common, mode: "lines", line: { width: 0 }, showlegend: false, hoverinfo: "skip" };
      const text = drawn.map((p) => plotText(`${reader}: ${shown(p.median)} (${p.n < 2 ? "1 sample" : `${shown(p.min)} – ${shown(p.max)}, ${p.n} samples`})`));
      return [
        { ...edge, y: drawn.map((p) => p.max) },
        { ...edge, y: drawn.map((p) => p.min), fill: "tonexty", fillcolor: `${c}33` },
        { ...common, y: drawn.map((p) => p.median), name: plotText(reader), mode: "lines+markers", line: { color: c, width: 2.5 }, marker: { color: c, size: 8, symbol: SYMBOLS[readers.indexOf(reader) % SYMBOLS.length] }, text, hovertemplate: "%{text}<extra></extra>", customdata: drawn.map((p) => p.timings[0].record.file) },
      ];
    });
    const logarithmic = axisOf(lines) === "log";
    const axis = { gridcolor: css("--line"), linecolor: css("--line"), zeroline: false, automargin: true, fixedrange: true };
    const narrow = innerWidth < 640;
    const apart = narrow ? 12 : 4; // percent between two ticks, so that their labels do not touch
    const ticks = unique(lines.flatMap((l) => l.points.map((p) => p.x))).sort(ascending).reduce((kept, x) => (kept.length && x - kept.at(-1) < apart ? kept : [...kept, x]), []);
    const layout = {
      paper_bgcolor: "transparent", plot_bgcolor: "transparent", margin: { l: 54, r: 18, t: 12, b: 46 }, height: narrow ? 370 : 400,
      font: { family: "system-ui, sans-serif", size: 12.5, color: css("--soft") },
      xaxis: { ...axis, title: { text: label }, tickangle: 0, tickvals: ticks, ticktext: ticks.map((t) => `${t} %`) },
      yaxis: { ...axis, title: { text: state.metric === "seconds" ? (logarithmic ? "time" : "seconds") : `× ${state.metric === "own" ? "own time at 0 %" : plotText(state.base)}` }, type: logarithmic ? "log" : "linear", rangemode: "tozero", ...(logarithmic ? logTicks(lines) : {}) },
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, itemclick: false, itemdoubleclick: false },
      hovermode: "x unified", hoverlabel: { bgcolor: css("--card"), bordercolor: css("--line"), font: { color: css("--ink"), family: "system-ui, sans-serif" } },
    };
    Plotly.react(element, traces, layout, { displayModeBar: false, responsive: true });
    element.removeAllListeners?.("plotly_click");
    element.on("plotly_click", (event) => { if (event.points[0]?.customdata) location.href = event.points[0].customdata; });
  }
  function numbersTable(key, lines, label) {
    const xs = unique(lines.flatMap((l) => l.points.map((p) => p.x))).sort(ascending);
    const cell = (p) => (p.missing ? h("td", { class: "none", title: p.missing }, "none") : h("td", {}, link(p.timings[0].record, shown(p.median)), h("small", {}, p.n < 2 ? "1 sample" : `${shown(p.min)} – ${shown(p.max)}`)));
    return h("details", { data: { key } }, h("summary", {}, "The numbers behind this chart"), scroll(`${key}-table`, h("table", {},
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, label), xs.map((x) => h("th", { scope: "col" }, `${x} %`)))),
      h("tbody", {}, lines.map((l) => h("tr", {}, h("th", { scope: "row" }, named(l.reader)), l.points.map(cell)))))));
  }
  const charts = new Map();
  function chartCard(id, lines, label, note, tools) {
    const drawable = lines.some((l) => l.points.some((p) => !p.missing));
    const missing = gaps(lines);
    if (!charts.has(id)) charts.set(id, h("div", { class: "chart", role: "img" }));
    const chart = charts.get(id);
    chart.setAttribute("aria-label", `Line chart: ${WHATS[state.what]} by ${label}; its numbers follow as a table`);
    chart.hidden = !drawable;
    byId(`${id}-body`).replaceChildren(...[h("p", { class: "note" }, note), tools, chart,
      !drawable && h("p", {}, "No reader has a time to draw for this choice."),
      missing.length && h("p", { class: "note" }, h("b", {}, "Not drawn: "), missing.join("; "), "."),
      drawable && numbersTable(`${id}-numbers`, lines, label)].filter(Boolean));
    if (drawable) drawChart(chart, lines, label);
  }
  function drawCurves() {
    const fullShare = Math.max(...current.timings.map((t) => t.share), 0);
    const xs = current.ratios.filter((r) => r === 0 || current.timings.some((t) => t.ratio === r && t.share === fullShare));
    const lines = (points, ratioOf, shareOf) => current.shown.map((r) => ({ reader: r, points: points.map((x) => ({ x, ...metric(r, ratioOf(x), shareOf(x)) })) }));
    byId("curve").hidden = !current.whats.length;
    if (!current.whats.length) { byId("share").hidden = true; return; }
    const full = lines(xs, (x) => x, (x) => (x === 0 ? 0 : fullShare));
    const tools = h("div", { class: "tools" },
      picker("what", "Of", current.whats, (w) => WHATS[w]) ?? h("span", { class: "field" }, WHATS[state.what]),
      segments("metric", "Metric", [["seconds", "seconds"], ["base", `× ${state.base}`], ["own", "× own 0 %"]]),
      state.metric === "base" && picker("base", "relative to", current.readers),
      segments("axis", "Scale of the vertical axis", [["linear", "linear"], ["log", "log"]], axisOf(full)));
    chartCard("curve", full, "rows updated in a slice with logs",
      `Median of the ${state.samples} samples at scale ${state.scale}, ${state.table}, ${fullShare === 100 ? "logs in every slice" : `logs in ${fullShare} % of the slices`}; the band spans minimum to maximum. Click a point for its record.`, tools);

    const shares = unique(current.timings.filter((t) => t.ratio === state.ratio || t.ratio === 0).map((t) => t.share)).sort(ascending);
    byId("share").hidden = state.ratio === 0 || shares.filter((s) => s > 0).length < 2;
    if (byId("share").hidden) return;
    chartCard("share", lines(shares, (x) => (x === 0 ? 0 : state.ratio), (x) => x), "slices with logs",
      `The same measure where ${state.ratio} % of the rows are updated, but only in some of the slices: a reader that chooses its path per slice pays for those alone.`,
      h("div", { class: "tools" }, picker("ratio", "Rows updated", current.ratios.filter((r) => r > 0), percent)));
  }

  // ---- 3. times of cases side by side -------------------------------------------------------------

  /** Cells of one row: median, factor to the best of the row, "unclear" where ranges overlap. */
  function timeCells(timings, constant) {
    const stats = timings.map(samplesOf);
    const fresh = stats.filter((s, i) => s && !timings[i].stale); // who skips the updates is no measure
    const known = fresh.length ? fresh : stats.filter(Boolean);
    const best = known.length ? known.reduce((a, b) => (b.median < a.median ? b : a)) : null;
    const cells = timings.map((t, i) => {
      const s = stats[i];
      if (!s) return badCell(t);
      const times = (constant + s.median) / (constant + best.median);
      const heat = `${Math.max(0, Math.min(100, Math.round((Math.log2(times) / 5) * 100)))}%`;
      const unclear = s !== best && !t.stale && s.n > 1 && best.n > 1 && s.min <= best.max;
      const verdict = s === best ? "best" : unclear ? h("span", { class: "unclear" }, `${factor(times)} unclear`) : t.stale ? h("span", { class: "unclear" }, `${factor(times)} stale`) : factor(times);
      return h("td", { class: `heat${s === best ? " best" : ""}`, style: { "--heat": heat } }, link(t.record, seconds(s.median), `samples: ${t[state.samples].map(seconds).join(", ")}${t.cpu?.length ? `; processor time ${seconds(summary(t.cpu).median)}` : ""}`), h("small", {}, verdict), h("small", {}, range(s)));
    });
    return { stats, best, cells, stale: timings.map((t) => t?.stale) };
  }
  /** Geometric means of the factors; a missing result counts as twice the slowest time of its row. */
  function meanOf(rows, column, constant) {
    let missing = 0;
    const factors = rows.filter((row) => row.best).map((row) => {
      const s = row.stats[column];
      if (!s) missing += 1;
      const time = s ? s.median : 2 * Math.max(...row.stats.filter(Boolean).map((x) => x.median));
      return (constant + time) / (constant + row.best.median);
    });
    return factors.length && missing < factors.length ? { value: geometric(factors), missing } : null;
  }
  function meanRow(label, rows, columns, constant) {
    const means = columns.map((_, i) => meanOf(rows, i, constant));
    const stale = columns.map((_, i) => rows.some((row) => row.stale[i]));
    const best = Math.min(...means.filter((m, i) => m && !stale[i]).map((m) => m.value));
    const cells = means.map((m, i) => (m ? h("td", { data: { mean: m.value.toFixed(6) } }, factor(m.value), h("small", {}, [stale[i] ? "stale" : m.value === best && !m.missing && "best", m.missing > 0 && `${m.missing} missing`].filter(Boolean).join(", "))) : h("td", { class: "none" }, "–")));
    return h("tfoot", {}, h("tr", {}, h("th", { scope: "row" }, label), cells));
  }
  /** Table head with a column per reader; one that gave the state before the updates says so. */
  const header = (first, columns, stale = () => false) => h("thead", {}, h("tr", {}, h("th", { scope: "col" }, first), columns.map((r) => h("th", { scope: "col" }, named(r), stale(r) && h("small", {}, "base files, stale")))));
  const at = (readerList, name) => readerList.map((r) => find(r, name, state.ratio, state.share));

  function drawQueries() {
    const columns = current.shown.filter((r) => current.timings.some((t) => t.reader === r));
    const stale = (r) => current.timings.some((t) => t.reader === r && t.ratio === state.ratio && t.share === state.share && t.stale);
    const scans = unique(current.timings.filter((t) => t.case.startsWith("scan/")).map((t) => t.case)).sort();
    byId("queries").hidden = !current.whats.length;
    if (!current.whats.length) return;
    const kept = [];
    const body = current.queries.map((name) => {
      const row = timeCells(at(columns, name), QUERY_CONSTANT);
      const struck = state.struck.has(name);
      if (!struck) kept.push(row);
      const button = h("button", { type: "button", class: "strike", "aria-pressed": String(struck), title: struck ? "count this query again" : "strike this query out", data: { key: `strike-${name}` }, onclick: () => set({ struck: toggled([], state.struck, name) }) }, name.slice(5));
      return h("tr", { class: struck && "struck" }, h("th", { scope: "row" }, button), row.cells);
    });
    const count = current.queries.length - state.struck.size;
    byId("queries-body").replaceChildren(...[
      h("p", { class: "note" }, `Medians of the ${state.samples} samples at scale ${state.scale}, ${state.table}. A factor compares with the best reader of its row: (1 ms + its time) / (1 ms + best time); the constant keeps tiny times from winning by infinity. Best is green, slower is warmer; a reader of base files alone, which skips the updates, is shown but never the best. “Unclear” means that its range overlaps with the best’s. Strike out a query by its name; the mean follows.`),
      h("div", { class: "tools" }, picker("ratio", "Rows updated", current.ratios, percent), picker("share", "Slices with logs", current.shares, percent),
        state.struck.size > 0 && h("button", { type: "button", class: "plain", data: { key: "unstrike" }, onclick: () => set({ struck: new Set() }) }, `Count all queries again (${state.struck.size} struck out)`)),
      scans.length && h("h3", {}, "Scans"),
      scans.length && scroll("scans", h("table", {}, header("Scan", columns, stale), h("tbody", {}, scans.map((name) => h("tr", {}, h("th", { scope: "row" }, WHATS[name]?.replace("scan, ", "") ?? name), timeCells(at(columns, name), QUERY_CONSTANT).cells))))),
      current.queries.length && h("h3", {}, "Queries"),
      current.queries.length && scroll("queries", h("table", { id: "query-table" }, header("Query", columns, stale), h("tbody", {}, body), meanRow(`Geometric mean of ${count}`, kept, columns, QUERY_CONSTANT))),
      current.queries.length && h("p", { class: "note" }, "The mean is that of the factors over the queries that are not struck out. A missing, failed or wrong result counts as twice the slowest time of its row, so failing is never an advantage."),
    ].filter(Boolean));
  }

  // ---- 4. memory and paths ------------------------------------------------------------------------

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
  function drawMemory() {
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

  // ---- 5. other seams, only where records have such cases -----------------------------------------

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
  function drawSeams() {
    const newest = new Map(); // seam -> its newest run
    for (const run of runs.values()) for (const t of run.timings) if (!isScan(t)) newest.set(seamOf(t.case), run);
    byId("seams").replaceChildren(...[...newest].sort().map(([seam, run]) => h("section", { class: "card", id: `seam-${seam}` },
      h("h2", {}, `Throughput: ${seam}`),
      h("p", { class: "note" }, `${runLabel(run.id)}. ${SEAM_NOTES[seam] ?? "One thread, medians; memcpy copies as many bytes between two warm blocks. A result is read back and compared before its time counts."}`),
      (PLANS.has(seam) ? plansTable : seamTable)(seam, run.timings.filter((t) => seamOf(t.case) === seam)))));
  }

  // ---- all of it ----------------------------------------------------------------------------------

  /** Focus, open details and sideways scrolling survive a new drawing, by data-key. */
  function keepPlace(draw) {
    const focus = document.activeElement?.dataset?.key;
    const kept = new Map([...document.querySelectorAll("[data-key]")].map((e) => [e.dataset.key, { open: e.open, left: e.scrollLeft }]));
    draw();
    for (const element of document.querySelectorAll("[data-key]")) {
      const before = kept.get(element.dataset.key);
      if (before?.open !== undefined && element.tagName === "DETAILS") element.open = before.open;
      if (before?.left) element.scrollLeft = before.left;
      if (focus !== undefined && element.dataset.key === focus) element.focus({ preventScroll: true });
    }
  }
  function render() {
    readHash();
    keepPlace(() => {
      for (const draw of [drawLimits, drawVerdict, drawCurves, drawQueries, drawMemory, drawSeams, drawControls]) draw();
      const timed = runList.length > 0;
      for (const id of timed ? [] : ["verdict", "curve", "share", "queries", "memory"]) byId(id).hidden = true;
      byId("empty").hidden = records.length > 0;
      byId("empty").replaceChildren(h("div", { class: "card start" }, h("h2", {}, "No results yet"), h("p", {}, "Run ", h("code", {}, "make bench"), " and build this page again.")));
    });
    byId("history").replaceChildren(...(DATA.history ? [h("a", { href: "history/index.html" }, "Times by commit (asv; needs a web server)")] : []));
  }
  addEventListener("hashchange", render);
  dark.addEventListener("change", render);
  render();
})();
