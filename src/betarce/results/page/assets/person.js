// One row: what to change, how sure that is, what more certainty costs, and what is not promised.

import { certainty, placeAt, shortfall, voteOf } from "./certainty.js";
import { element, quoted, replaced } from "./dom.js";
import { stepList } from "./steps.js";
import { effort, fill, frequency, has, listed, percent, roughly, say, sentence, targetOf } from "./texts.js";
import { tradeoff } from "./tradeoff.js";

const MOST_PRINTED = 40;

export function personView(person, page, { printed = false, heading = printed ? "h2" : "h1" } = {}) {
  const vote = voteOf(person, page);
  const changes = element("div", {});
  const sure = element("div", {});
  const show = (setting) => {
    replaced(changes, setting.place < 0 ? element("p", { class: "quiet" }, say("no_setting")) : optionView(person, page, setting));
    replaced(sure, person.answer === null && setting.place < 0 ? shortfall(vote) : certainty(person, vote, setting));
  };
  if (vote !== null) show({ place: person.answer ?? -1, delta: vote.delta });
  const slider = printed || vote === null ? null : tradeoff(person, vote, show);
  const useful = person.answer !== null || slider !== null;
  return element(
    "article",
    { class: printed ? "person printed" : "person" },
    headline(person, page, heading),
    person.answer === null ? trouble(person, vote) : null,
    element(
      "div",
      { class: "answer" },
      vote !== null && useful ? section("what_to_change", changes) : null,
      vote !== null ? section("how_sure", sure) : null,
    ),
    slider,
    usual(person, page, vote),
    stays(person, page, printed),
    person.answer === null ? null : limits(vote),
    vote === null ? null : certificate(vote),
    person.note ? section("note", element("p", {}, quoted(person.note))) : null,
  );
}

function section(title, ...children) {
  return element("section", { class: title.replaceAll("_", "-") }, element("h2", {}, say(title)), children);
}

export function badge(status) {
  const sign = status === "certified" ? "✓" : status === "already-there" ? "=" : "✕";
  return element(
    "span",
    { class: `badge ${status}` },
    element("span", { "aria-hidden": "true" }, sign),
    ` ${say(`status.${status}`)}`,
  );
}

function headline(person, page, heading) {
  const changes = person.answer === null ? [] : person.options[person.answer].changes;
  const n = changes.filter(([j]) => !page.columns[j].derived).length; // what follows from them is nobody's task
  const lead = person.answer !== null ? "to_get" : person.target.length ? "nothing_to_get" : "no_target";
  return element(
    "header",
    { class: "headline" },
    element(
      "div",
      { class: "who" },
      element(heading, { tabindex: heading === "h1" ? -1 : null }, quoted(person.name)),
      badge(person.status),
    ),
    person.status === "already-there"
      ? null
      : element("p", { class: "lead" }, sentence(lead, { n, target: targetOf(person) })),
  );
}

function optionView(person, page, { place }) {
  const option = person.options[place];
  return [
    stepList(option.changes, person, page),
    element(
      "p",
      { class: "quiet" },
      element("span", { title: say("effort_help") }, sentence("total_effort", { effort: effort(option.effort) })),
      ". ",
      say("ordered"),
    ),
  ];
}

function trouble(person, vote) {
  const possible = vote === null ? [] : vote.settings.filter(([, quorum]) => placeAt(person, quorum) >= 0);
  return element(
    "section",
    { class: "trouble" },
    element("p", {}, say(`why.${person.status}`)),
    element("p", {}, say(`help.${person.status}`)),
    possible.length ? element("p", {}, sentence("lower_would_do", { share: frequency(possible.at(-1)[0]) })) : null,
    person.reason
      ? element("details", {}, element("summary", {}, say("in_detail")), element("p", {}, quoted(person.reason)))
      : null,
  );
}

function usual(person, page, vote) {
  if (vote === null || person.status === "not-varied") return null;
  const { base } = person;
  if (base === null) return section("usual", element("p", {}, say("usual_none")));
  const votes = { agree: base.agree, n: vote.n_models };
  const share = base.agree / vote.n_models;
  const fails = { ...votes, fails: roughly(1 - share) };
  const verdict =
    base.agree === null ? say("usual_unknown") : share < vote.delta ? sentence("usual_fails", fails) : sentence("usual_holds", votes);
  const answer = person.answer === null ? null : person.options[person.answer];
  const same = answer !== null && JSON.stringify(answer.changes) === JSON.stringify(base.changes);
  return section(
    "usual",
    same ? element("p", {}, say("usual_same")) : stepList(base.changes, person, page),
    element("p", {}, say("usual_says"), " ", element("strong", {}, verdict)),
  );
}

function stays(person, page, printed) {
  if (person.now === null) return null;
  const option = person.answer === null ? null : person.options[person.answer];
  const moved = new Set(option === null ? [] : option.changes.map(([j]) => j));
  const kept = person.now.map((text, j) => [j, text]).filter(([j]) => !moved.has(j));
  const shown = printed ? kept.slice(0, MOST_PRINTED) : kept;
  const pairs = shown.map(([j, text]) =>
    element("div", {}, element("dt", {}, quoted(page.columns[j].title)), element("dd", {}, quoted(text))),
  );
  const title = option === null ? say("all_stay") : say("what_stays", { n: kept.length });
  const more = kept.length - shown.length;
  const rest = more ? element("p", { class: "quiet" }, sentence("more_stay", { n: more })) : null;
  const values = element("dl", { class: "facts" }, pairs);
  if (printed) return element("section", { class: "stays" }, element("h2", {}, title), values, rest);
  return element("details", { class: "stays" }, element("summary", {}, element("h2", {}, title)), values);
}

function limits(vote) {
  const words = {
    space: spaceInWords(vote.space),
    fails: frequency(1 - vote.delta),
    wrong: frequency(1 - vote.confidence),
  };
  return section("not_promised", element("ul", {}, listed("limits").map((text) => element("li", {}, fill(text, words)))));
}

function spaceInWords(space) {
  const name = space.split("(")[0];
  return has(`spaces.${name}`) ? say(`spaces.${name}`) : quoted(space);
}

function certificate(vote) {
  const lines = {
    certificate_vote: sentence("models_agree", { agree: vote.agree, n: vote.n_models }),
    certificate_bound: percent(vote.bound),
    certificate_promise: say("certificate_promise_text", { delta: percent(vote.delta), confidence: percent(vote.confidence) }),
    certificate_space: quoted(vote.space),
    certificate_point: element("code", {}, vote.point),
    certificate_digest: element("code", {}, vote.digest),
  };
  const pairs = Object.entries(lines).map(([key, value]) =>
    element("div", {}, element("dt", {}, say(key)), element("dd", {}, value)),
  );
  return section("certificate", element("dl", { class: "facts wide" }, pairs), element("p", { class: "quiet" }, say("certificate_help")));
}
