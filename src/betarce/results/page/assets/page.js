// The page as a file: reads its own data, shows one view at a time by the address, and prints one row per sheet.

import { annex } from "./annex.js";
import { element, quoted, replaced } from "./dom.js";
import { fitting, newList, overview } from "./overview.js";
import { personView } from "./person.js";
import { say, sentence, useTexts } from "./texts.js";
import { follow, markLink } from "./views.js";

const MOST_PRINTED = 500;

function dataOf(id) {
  return JSON.parse(document.getElementById(id).textContent);
}

function start() {
  useTexts(dataOf("texts"));
  const page = dataOf("content");
  const main = document.getElementById("main");
  const paper = document.getElementById("paper");
  const list = newList();
  const shown = () => rowOf(page);
  const draw = () => {
    const row = shown();
    const view = location.hash === "#/annex" ? annex(page) : row === null ? overview(page, list, { onPrint: print }) : one(page, list, row);
    replaced(main, view);
    const current = location.hash === "#/annex" ? "annex" : "overview";
    markLink((link) => link.dataset.view === current);
  };
  addEventListener("beforeprint", () => replaced(paper, sheets(page, list, shown())));
  addEventListener("afterprint", () => replaced(paper));
  follow(main, draw);
}

function rowOf(page) {
  const match = /^#\/row\/(\d+)$/.exec(location.hash);
  const row = match ? Number(match[1]) - 1 : -1;
  return row >= 0 && row < page.people.length ? row : null;
}

function one(page, list, row) {
  const rows = fitting(page, list);
  const at = rows.indexOf(row);
  const link = (key, to, sign) =>
    to === undefined ? null : element("a", { class: "button", href: `#/row/${to + 1}`, rel: key }, say(key), ` ${sign}`);
  return [
    element(
      "nav",
      { class: "around", "aria-label": say("list") },
      element("a", { class: "button", href: "#/" }, `← ${say("back")}`),
      at < 0 ? null : element("span", { class: "quiet" }, sentence("position", { place: at + 1, n: rows.length })),
      at > 0 ? link("previous", rows[at - 1], "↑") : null,
      at >= 0 ? link("next", rows[at + 1], "↓") : null,
      element("button", { type: "button", on: { click: () => print() } }, say("print")),
    ),
    personView(page.people[row], page),
  ];
}

// What is printed: the row that is shown, or all rows that fit the search, always as they are on record.
function sheets(page, list, row) {
  if (location.hash === "#/annex") return annex(page);
  if (row !== null) return personView(page.people[row], page, { printed: true });
  const rows = fitting(page, list);
  return [
    element("section", { class: "cover" }, element("h1", {}, quoted(page.title)), element("p", {}, sentence("found", { n: rows.length }))),
    rows.length > MOST_PRINTED ? element("p", {}, sentence("print_many", { most: MOST_PRINTED })) : null,
    rows.slice(0, MOST_PRINTED).map((i) => personView(page.people[i], page, { printed: true })),
  ];
}

start();
