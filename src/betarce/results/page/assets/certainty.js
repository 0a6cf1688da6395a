// How sure an answer is: the vote as a picture and as a sentence.

import { element } from "./dom.js";
import { iconArray } from "./figures.js";
import { frequency, percent, say, sentence, targetOf } from "./texts.js";

// The place of the option that a quorum leads to: the closest one that it passes; -1 if it passes none.
export function placeAt(person, quorum) {
  return person.options.filter((option) => option.least >= quorum).length - 1;
}

export function voteOf(person, page) {
  return person.vote === null ? null : { ...page.votes[person.vote.on], ...person.vote };
}

export function certainty(person, vote, { place, delta }) {
  if (place < 0) return element("p", { class: "quiet" }, say("no_setting"));
  const votes = { agree: person.options[place].agree, n: vote.n_models };
  const share = frequency(delta);
  const promise = { share, target: targetOf(person), confidence: percent(vote.confidence) };
  return [
    element("p", { class: "big" }, sentence("models_agree", votes), " ", element("strong", {}, sentence("expect", { share }))),
    tally(votes, say("models_agree", votes)),
    element("p", { class: "quiet" }, sentence("expect_long", promise)),
    vote.members === "search" ? element("p", { class: "warning" }, say("optimistic")) : null,
  ];
}

export function shortfall(vote) {
  const votes = { agree: vote.agree, n: vote.n_models, share: frequency(vote.delta) };
  return [element("p", { class: "big" }, sentence("fell_short", votes)), tally(votes, say("fell_short", votes))];
}

function tally({ agree, n }, label) {
  return [
    iconArray(agree, n, label),
    element(
      "p",
      { class: "legend", "aria-hidden": "true" },
      element("span", { class: "agrees" }, "●"),
      ` ${say("agrees")}  `,
      element("span", { class: "disagrees" }, "⊘"),
      ` ${say("disagrees")}`,
    ),
  ];
}
