/* Draws everything, again after each change of the address. */
import { drawCurves } from "./curves.js";
import { drawControls, drawLimits } from "./head.js";
import { drawMemory } from "./memory.js";
import { drawQueries } from "./queries.js";
import { connectMatrix } from "./matrix.js";
import { DATA, records, runList } from "./records.js";
import { drawSeams } from "./seams.js";
import { onChange, readHash } from "./state.js";
import { byId, dark, h } from "./tools.js";
import { drawVerdict } from "./verdict.js";

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
connectMatrix();
onChange(render);
addEventListener("hashchange", render);
dark.addEventListener("change", render);
render();
