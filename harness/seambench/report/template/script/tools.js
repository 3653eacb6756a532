/* Elements, and the address, which holds all that was chosen and is the only place that does. */

/** An element: attributes by name (on* = listener, data by dataset), children as text or nodes. */
export function h(tag, attributes, ...children) {
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
export const byId = (id) => document.getElementById(id);
export const all = (selector, under = document) => [...under.querySelectorAll(selector)];

/** What the address says, as plain members. */
export function state() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}
/** An address with these members, leaving out empty ones. */
export function address(members) {
  const hash = new URLSearchParams();
  for (const [name, value] of Object.entries(members)) if (value) hash.set(name, value);
  return `#${hash}`;
}
/** Change members of the address without a step of the browser's history. */
export function change(members) {
  history.replaceState(null, "", address({ ...state(), ...members }));
  dispatchEvent(new Event("hashchange"));
}
/** Names in one member of the address: each encoded, between commas; a mangled one matches nothing. */
export function names(text) {
  return new Set((text ?? "").split(",").filter(Boolean).map((part) => { try { return decodeURIComponent(part); } catch { return part; } }));
}
export const joined = (set) => [...set].map(encodeURIComponent).join(",");
export function toggled(set, name) {
  const next = new Set(set);
  if (!next.delete(name)) next.add(name);
  return next;
}
/** Show what needs a script, call `draw` now and after each change of the address. */
export function live(draw) {
  for (const element of all(".js")) element.hidden = false;
  const drawn = async () => { await draw(); document.body.dataset.drawn = location.hash; };
  addEventListener("hashchange", drawn);
  drawn();
}
