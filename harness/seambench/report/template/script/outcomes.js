/* Outcomes of one seam, as its part of the data holds them, ready to be asked case by case. */
import { part } from "./parts.js";

export const KINDS = ["wrong", "broken", "refused", "disputed", "right", "off"];
export const SAID = { wrong: "wrong without a word", broken: "error, crash or time limit", refused: "refused by name", disputed: "rule disputed", right: "right", off: "not offered" };

/** The seam: cases with their rules, and columns whose `of(case number)` is {kind, word} or undefined. */
export async function outcomesOf(seam) {
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
export const groupOf = (id) => id.split("/")[1] ?? id;
export const withoutVariant = (id) => id.replace(/@[^/]*/g, "");
