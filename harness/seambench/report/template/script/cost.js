/* The curves: which chart is shown, and which lines. */
import { all, byId, change, joined, live, names, state, toggled } from "./tools.js";

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
export function startCost() {
  const form = byId("choices");
  form?.addEventListener("change", () => change(Object.fromEntries(new FormData(form))));
  for (const button of all(".lines button")) {
    button.addEventListener("click", () => change({ off: joined(toggled(names(state().off), button.dataset.line)) }));
  }
  live(drawCost);
}
