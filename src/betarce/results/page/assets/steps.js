// What to change, as a list of steps.

import { element, quoted } from "./dom.js";
import { track } from "./figures.js";
import { effort, say, sentence } from "./texts.js";

export function stepList(changes, person, page) {
  const own = changes.filter(([j]) => !page.columns[j].derived);
  const derived = changes.filter(([j]) => page.columns[j].derived);
  return [
    element("ol", { class: "steps" }, own.map((change) => step(change, person, page))),
    derived.length ? element("h3", {}, say("follows")) : null,
    derived.length ? element("ul", { class: "steps" }, derived.map((change) => step(change, person, page))) : null,
  ];
}

function step([j, to, size, kind, at], person, page) {
  const { title, derived } = page.columns[j];
  const column = quoted(title);
  const from = element("span", { class: "from" }, quoted(person.now[j]));
  const then = element("strong", { class: "to" }, quoted(to));
  const values = kind === "fill" ? then : kind === "withdraw" ? from : sentence("from_to", { from, to: then });
  const known = person.places[j] !== null || at !== null;
  return element(
    "li",
    { class: `step ${kind}` },
    element(
      "div",
      { class: "said" },
      element("span", { class: "verb" }, derived ? column : sentence(`verb.${kind}`, { column })),
      " ",
      element("span", { class: "values" }, values),
    ),
    known ? track(person.places[j], at, say("range_label", { column: title, from: person.now[j], to })) : null,
    element("span", { class: "size" }, sentence("effort_of", { effort: effort(size) })),
  );
}

// The same in a line, for tables: the first few changes, then how many more there are.
export function stepLine(changes, person, page, most = 2) {
  const shown = changes
    .slice(0, most)
    .map(([j, to]) => [element("span", { class: "short" }, quoted(page.columns[j].title), " → ", element("b", {}, quoted(to))), " "]);
  const more = changes.length - most;
  return [shown, more > 0 ? element("span", { class: "quiet" }, say("other_features", { n: more })) : null];
}
