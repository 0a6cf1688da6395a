// Promises on record, and what became of each.

import { get, Refused } from "./api.js";
import { element, quoted, replaced } from "./dom.js";
import { frequency, number, percent, say, sentence } from "./texts.js";

export function promises(start = 0) {
  return loaded(async () => {
    const found = await get(`promises?from=${start}`);
    const to = Math.min(start + found.size, found.n);
    const states = Object.entries(found.states).map(([state, n]) => `${say(`desk.states.${state}`)}: ${number(n)}`);
    const link = (key, from, shown) => (shown ? element("a", { class: "button", href: `#/promises/${from}` }, say(`desk.${key}`)) : null);
    return [
      element("header", { class: "headline" }, element("h1", { tabindex: -1 }, say("desk.on_record")), element("p", { class: "lead" }, states.join(", "))),
      found.n
        ? element(
            "section",
            {},
            element("p", { class: "quiet" }, sentence("desk.latest", { from: start + 1, to, n: found.n })),
            table(found.promises),
            element("nav", { class: "pager", "aria-label": say("pages") }, link("later", Math.max(start - found.size, 0), start > 0), link("earlier", to, to < found.n)),
          )
        : element("p", {}, say("desk.no_promises")),
    ];
  });
}

function table(entries) {
  const heads = ["column_row", "desk.state", "desk.promise", "desk.issued", "desk.expires", "desk.cohort"];
  return element(
    "table",
    { class: "rows" },
    element("thead", {}, element("tr", {}, heads.map((key) => element("th", { scope: "col" }, say(key))))),
    element("tbody", {}, entries.map(line)),
  );
}

function line(promise) {
  const cell = (key, ...children) => element("td", { "data-label": say(key) }, children);
  const name = promise.erased ? say("desk.erased") : quoted(promise.name);
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, element("a", { href: `#/promise/${promise.id}` }, name)),
    cell("desk.state", say(`desk.states.${promise.state}`)),
    cell("desk.promise", frequency(promise.delta)),
    cell("desk.issued", promise.issued),
    cell("desk.expires", promise.expires || say("nothing")),
    cell("desk.cohort", quoted(promise.cohort || say("nothing"))),
  );
}

export function promise(id) {
  return loaded(async () => {
    const found = await get(`promise/${encodeURIComponent(id)}`);
    const target = quoted(found.target.map((name) => `“${name}”`).join(` ${say("or")} `));
    const said = { delta: percent(found.delta), confidence: percent(found.confidence) };
    return [
      element(
        "header",
        { class: "headline" },
        element("h1", { tabindex: -1 }, found.erased ? say("desk.erased") : quoted(found.name)),
        element("p", { class: "lead" }, say(`desk.states.${found.state}`), ". ", say("desk.promise"), ": ", target, ", ", say("certificate_promise_text", said), "."),
      ),
      element(
        "section",
        {},
        element("h2", {}, say("desk.history")),
        element(
          "table",
          {},
          element("thead", {}, element("tr", {}, ["when", "event", "remark"].map((key) => element("th", { scope: "col" }, say(`desk.${key}`))))),
          element(
            "tbody",
            {},
            found.events.map((event) => element("tr", {}, element("td", {}, event.at), element("td", {}, quoted(event.kind)), element("td", {}, quoted(event.remark)))),
          ),
        ),
      ),
    ];
  });
}

function loaded(work) {
  const place = element("div", {}, element("h1", { tabindex: -1 }, say("desk.on_record")));
  work()
    .then((parts) => replaced(place, parts))
    .catch((error) => {
      if (!(error instanceof Refused)) throw error;
      replaced(place, element("h1", { tabindex: -1 }, say("desk.on_record")), element("p", { class: "error", role: "status" }, error.message));
    });
  return place;
}
