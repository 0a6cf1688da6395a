// All rows: what came out, what it costs, what changes, and a list with search and filters, a page at a time.

import { voteOf } from "./certainty.js";
import { element, quoted, replaced } from "./dom.js";
import { bars, histogram } from "./figures.js";
import { badge } from "./person.js";
import { stepLine } from "./steps.js";
import { effort, listed, number, say, sentence } from "./texts.js";

const PAGE = 25;
const MOST_FEATURES = 8;
const BINS = 12;

export function newList() {
  return { search: "", status: "", column: "", sort: "given", page: 0 };
}

function answerOf(person) {
  return person.answer === null ? null : person.options[person.answer];
}

// Which rows fit the search and the filters, in the order asked for.
export function fitting(page, list) {
  const words = list.search.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  const rows = page.people.map((_, i) => i).filter((i) => fits(page, i, list, words));
  if (list.sort === "name") {
    return rows.sort((i, j) => collator.compare(page.people[i].name, page.people[j].name) || i - j);
  }
  const value = SORTS[list.sort];
  if (!value) return rows;
  const keyed = rows.map((i) => [value(page.people[i], page), i]);
  keyed.sort(([a, i], [b, j]) => (a < b ? -1 : a > b ? 1 : i - j));
  return keyed.map(([, i]) => i);
}

const collator = new Intl.Collator(undefined, { numeric: true });
const SORTS = {
  effort: (person) => -(answerOf(person)?.effort ?? -1),
  agree: (person) => (answerOf(person) === null ? Infinity : person.vote.agree),
  usual: (person, page) => {
    const vote = voteOf(person, page);
    return vote === null || !person.base || person.base.agree === null ? Infinity : person.base.agree / vote.n_models;
  },
};

function fits(page, i, list, words) {
  const person = page.people[i];
  if (list.status && person.status !== list.status) return false;
  if (list.column !== "" && !answerOf(person)?.changes.some(([j]) => j === Number(list.column))) return false;
  return words.every((word) => haystack(page, i).includes(word));
}

const haystacks = new WeakMap();

function haystack(page, i) {
  const person = page.people[i];
  if (!haystacks.has(person)) {
    const columns = (answerOf(person)?.changes ?? []).map(([j, to]) => `${page.columns[j].title} ${to}`);
    const text = [person.name, ...person.target, say(`status.${person.status}`), ...columns].join("\n");
    haystacks.set(person, text.toLocaleLowerCase());
  }
  return haystacks.get(person);
}

export function overview(page, list, { onPrint }) {
  const certified = page.people.filter((person) => person.answer !== null).length;
  const n = page.people.length;
  return [
    element(
      "header",
      { class: "headline" },
      element("h1", { tabindex: -1 }, quoted(page.title)),
      element("p", { class: "lead" }, sentence("rows_summary", { n, certified })),
    ),
    element(
      "div",
      { class: "panels" },
      panel("by_status", byStatus(page)),
      certified ? panel("effort_distribution", efforts(page)) : null,
      certified ? panel("changes_by_feature", byFeature(page)) : null,
    ),
    rowList(page, list, onPrint),
  ];
}

function panel(title, ...children) {
  return element("section", { class: "panel" }, element("h2", {}, say(title)), children);
}

function counted(values) {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a);
}

function byStatus(page) {
  const entries = counted(page.people.map((person) => person.status)).map(([status, n]) => ({
    label: badge(status),
    value: n,
    text: number(n),
    kind: status,
  }));
  return bars(entries, { label: say("by_status") });
}

function efforts(page) {
  const values = page.people.map(answerOf).filter(Boolean).map((option) => option.effort);
  const most = Math.max(...values, 1e-9);
  const bins = Array.from({ length: BINS }, (_, i) => ({ low: (most * i) / BINS, high: (most * (i + 1)) / BINS, n: 0 }));
  for (const value of values) bins[Math.min(Math.floor((value / most) * BINS), BINS - 1)].n += 1;
  const label = bins
    .filter((bin) => bin.n)
    .map((bin) => say("effort_between", { low: effort(bin.low), high: effort(bin.high), n: bin.n }))
    .join("; ");
  return [
    histogram(bins, { label: `${say("effort_distribution")}: ${label}`, format: effort }),
    element("p", { class: "quiet" }, say("effort_help")),
  ];
}

function byFeature(page) {
  const changed = page.people.flatMap((person) => (answerOf(person)?.changes ?? []).map(([j]) => j));
  const counts = counted(changed);
  const entries = counts.slice(0, MOST_FEATURES).map(([j, n]) => ({
    label: quoted(page.columns[j].title),
    value: n,
    text: number(n),
  }));
  const more = counts.length - entries.length;
  return [
    bars(entries, { label: say("changes_by_feature") }),
    more > 0 ? element("p", { class: "quiet" }, sentence("other_features", { n: more })) : null,
  ];
}

// The list

function rowList(page, list, onPrint) {
  const body = element("div", {});
  const found = element("p", { class: "found", role: "status" });
  const draw = () => {
    const rows = fitting(page, list);
    const last = Math.max(Math.ceil(rows.length / PAGE) - 1, 0);
    list.page = Math.min(list.page, last);
    replaced(found, sentence("found", { n: rows.length }));
    const shown = rows.slice(list.page * PAGE, (list.page + 1) * PAGE);
    const turn = (to) => {
      list.page = to;
      draw();
      body.querySelector("table")?.focus();
    };
    replaced(
      body,
      rows.length ? rowTable(page, shown) : element("p", { class: "quiet" }, say("found_none")),
      last ? pager(list.page, last, turn) : null,
    );
  };
  const change = (name) => (event) => {
    list[name] = event.target.value;
    list.page = 0;
    draw();
  };
  draw();
  return element(
    "section",
    { class: "list" },
    element("h2", {}, say("list")),
    element(
      "form",
      { class: "filters", role: "search", on: { submit: (event) => event.preventDefault() } },
      field("search", element("input", { type: "search", value: list.search, placeholder: say("search_hint"), on: { input: change("search") } })),
      field("filter", choice(statusChoices(page), list.status, change("status"))),
      field("changes_of", choice(columnChoices(page), list.column, change("column"))),
      field("sort", choice(listed("sorts").map((name) => [name, say(`sorts.${name}`)]), list.sort, change("sort"))),
      element("button", { type: "button", on: { click: onPrint } }, say("print_all")),
    ),
    found,
    body,
  );
}

export function field(key, input) {
  input.id = `field-${key}`;
  return element("div", { class: "field" }, element("label", { for: input.id }, say(key)), input);
}

function choice(pairs, value, onChange) {
  return element(
    "select",
    { on: { change: onChange } },
    pairs.map(([name, text]) => element("option", { value: name, selected: String(name) === String(value) }, text)),
  );
}

function statusChoices(page) {
  const met = counted(page.people.map((person) => person.status)).map(([status]) => status);
  return [["", say("every_status")], ...met.map((status) => [status, say(`status.${status}`)])];
}

function columnChoices(page) {
  const met = new Set(page.people.flatMap((person) => (answerOf(person)?.changes ?? []).map(([j]) => j)));
  const named = [...met].map((j) => [j, page.columns[j].title]).sort(([, a], [, b]) => collator.compare(a, b));
  return [["", say("every_column")], ...named];
}

function rowTable(page, rows) {
  const heads = ["column_row", "column_outcome", "column_changes", "column_effort", "column_agree", "column_usual"];
  return element(
    "table",
    { class: "rows", tabindex: -1 },
    element("caption", { class: "hidden" }, say("list")),
    element("thead", {}, element("tr", {}, heads.map((key) => element("th", { scope: "col", class: key }, say(key))))),
    element("tbody", {}, rows.map((i) => rowLine(page, i))),
  );
}

function rowLine(page, i) {
  const person = page.people[i];
  const option = answerOf(person);
  const vote = voteOf(person, page);
  const cell = (key, ...children) => element("td", { class: key, "data-label": say(key) }, children);
  const usual = vote === null || !person.base || person.base.agree === null ? null : { agree: person.base.agree, n: vote.n_models };
  return element(
    "tr",
    {},
    element("th", { scope: "row", class: "column_row" }, element("a", { href: `#/row/${i + 1}` }, quoted(person.name))),
    cell("column_outcome", badge(person.status)),
    cell("column_changes", option === null ? say("nothing") : stepLine(option.changes, person, page)),
    cell("column_effort", option === null ? say("nothing") : effort(option.effort)),
    cell("column_agree", option === null ? say("nothing") : `${person.vote.agree} / ${vote.n_models}`),
    cell("column_usual", usual === null ? say("nothing") : `${usual.agree} / ${usual.n}`),
  );
}

function pager(at, last, turn) {
  const button = (key, to, off) => element("button", { type: "button", disabled: off, on: { click: () => turn(to) } }, say(key));
  return element(
    "nav",
    { class: "pager", "aria-label": say("pages") },
    button("page_previous", at - 1, at === 0),
    element("span", {}, sentence("page_of", { page: at + 1, n: last + 1 })),
    button("page_next", at + 1, at === last),
  );
}
