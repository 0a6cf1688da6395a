// The values of a row, what may change in it, and values to try: one line for each column.

import { element, quoted, replaced } from "./dom.js";
import { say, sentence } from "./texts.js";

const MISSING = "";

export class Form {
  constructor(columns) {
    this.columns = columns;
    this.lines = columns.map((column, j) => new Line(column, j));
    const heads = ["column", "now", "wish", "try"].map((key) => element("th", { scope: "col" }, say(`desk.${key}`)));
    this.node = element(
      "table",
      { class: "form" },
      element("thead", {}, element("tr", {}, heads)),
      element("tbody", {}, this.lines.map((line) => line.node)),
    );
  }

  set values(values) {
    values.forEach((value, j) => this.lines[j].now.write(value));
  }

  get values() {
    return this.lines.map((line) => line.now.read());
  }

  set tried(values) {
    values.forEach((value, j) => this.lines[j].then.write(value));
  }

  get tried() {
    return this.lines.map((line) => line.then.read());
  }

  get wishes() {
    return this.lines.map((line) => line.wish).filter((wish) => wish !== null);
  }

  keep(j) {
    this.lines[j].choose("keep");
  }

  clear() {
    for (const line of this.lines) line.choose("free");
  }
}

class Line {
  constructor(column, j) {
    this.j = j;
    this.column = column;
    this.now = new Input(column, say("desk.input_now", { column: column.title }));
    this.then = new Input(column, say("desk.input_try", { column: column.title }));
    this.extra = element("span", { class: "extra" });
    this.kind = element(
      "select",
      { "aria-label": say("desk.input_wish", { column: column.title }), on: { change: () => this.choose(this.kind.value) } },
      this.kinds().map((kind) => element("option", { value: kind }, say(`desk.wishes.${kind}`))),
    );
    const rule = column.rule ? element("div", { class: "quiet" }, sentence("desk.rule", { rule: quoted(column.rule) })) : null;
    this.node = element(
      "tr",
      {},
      element("th", { scope: "row" }, quoted(column.title), rule),
      element("td", { "data-label": say("desk.now") }, this.now.node),
      element("td", { "data-label": say("desk.wish") }, column.derived ? say("desk.follows") : [this.kind, this.extra]),
      element("td", { "data-label": say("desk.try") }, this.then.node),
    );
  }

  kinds() {
    if (this.column.levels) return ["free", "keep", ...(this.column.ordered ? ["up", "down"] : []), "only"];
    return ["free", "keep", "up", "down", "between"];
  }

  choose(kind) {
    this.kind.value = kind;
    replaced(this.extra, kind === "between" ? this.ends() : kind === "only" ? this.names() : null);
  }

  ends() {
    const end = (key, value) =>
      element("input", { type: "number", step: "any", value, "aria-label": say(`desk.${key}`, { column: this.column.title }) });
    this.low = end("low", this.column.low);
    this.high = end("high", this.column.high);
    return [this.low, this.high];
  }

  names() {
    const options = this.column.levels.map((text, place) => element("option", { value: place, selected: true }, text));
    const label = say("desk.only", { column: this.column.title });
    this.levels = element("select", { multiple: true, size: Math.min(options.length, 4), "aria-label": label }, options);
    return this.levels;
  }

  get wish() {
    const kind = this.kind.value;
    if (kind === "free" || this.column.derived) return null;
    const wish = { column: this.j, kind };
    if (kind === "between") return { ...wish, low: numberOf(this.low.value), high: numberOf(this.high.value) };
    if (kind === "only") return { ...wish, levels: [...this.levels.selectedOptions].map((option) => Number(option.value)) };
    return wish;
  }
}

class Input {
  constructor(column, label) {
    const common = { "aria-label": label, disabled: column.derived };
    if (column.levels) {
      const missing = column.missing ? [element("option", { value: MISSING }, say("missing"))] : [];
      const names = column.levels.map((text, place) => element("option", { value: place }, text));
      this.node = element("select", common, missing, names);
    } else {
      const hint = column.missing ? say("missing") : null;
      this.node = element("input", { type: "number", step: column.whole ? 1 : "any", placeholder: hint, ...common });
    }
  }

  write(value) {
    this.node.value = value === null ? MISSING : String(value);
  }

  read() {
    return numberOf(this.node.value);
  }
}

function numberOf(text) {
  return text === MISSING ? null : Number(text);
}
