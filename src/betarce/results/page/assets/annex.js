// For those who check: how the answers were made, what is promised, and what may change.

import { element, quoted } from "./dom.js";
import { number, percent, say, sentence } from "./texts.js";

export function annex(page) {
  return [
    element(
      "header",
      { class: "headline" },
      element("h1", { tabindex: -1 }, say("annex")),
      element("p", { class: "lead" }, say("annex_intro")),
    ),
    part("annex_made", madeWith(page.made_with)),
    part("annex_guarantee", page.votes.map(guarantee), element("p", {}, say("annex_walk"))),
    part("annex_columns", columns(page)),
    part("annex_file", element("p", {}, say("annex_file_text"))),
  ];
}

function part(title, ...children) {
  return element("section", {}, element("h2", {}, say(title)), children);
}

function madeWith(made) {
  const entries = Object.entries(made);
  if (!entries.length) return element("p", { class: "quiet" }, say("made_unknown"));
  const pairs = entries.map(([name, value]) =>
    element(
      "div",
      {},
      element("dt", {}, say(`made_with.${name}`)),
      element("dd", {}, typeof value === "number" ? number(value) : quoted(value)),
    ),
  );
  return element("dl", { class: "facts wide" }, pairs);
}

function guarantee(vote) {
  const quorum = vote.settings.find(([delta]) => delta === vote.delta)?.[1];
  const said = { delta: percent(vote.delta), confidence: percent(vote.confidence), quorum, n: vote.n_models };
  const [a, b] = vote.prior.map(String);
  return [
    element("p", {}, sentence("guarantee_text", said), " ", sentence("guarantee_prior", { a, b })),
    element("p", {}, say("certificate_space"), " ", element("code", {}, vote.space)),
    vote.members === "search" ? element("p", { class: "warning" }, say("optimistic")) : null,
  ];
}

function columns(page) {
  const heads = ["annex_column", "annex_kind", "annex_range", "annex_rule"];
  const lines = page.columns.map((column) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, quoted(column.title)),
      element("td", {}, say(`kinds.${column.kind}`)),
      element("td", {}, quoted(column.range)),
      element("td", {}, quoted(column.rule || say("nothing"))),
    ),
  );
  return [
    page.max_changes ? element("p", {}, sentence("annex_max_changes", { n: page.max_changes })) : null,
    element(
      "div",
      { class: "scrolls", tabindex: 0, role: "region", "aria-label": say("annex_columns") },
      element(
        "table",
        {},
        element("thead", {}, element("tr", {}, heads.map((key) => element("th", { scope: "col" }, say(key))))),
        element("tbody", {}, lines),
      ),
    ),
  ];
}
