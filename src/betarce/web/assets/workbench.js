// What if: pick a row or type one in, say what may change, and see the certified answer.

import { get, post, Refused } from "./api.js";
import { element, quoted, replaced } from "./dom.js";
import { Form } from "./form.js";
import { field } from "./overview.js";
import { personView } from "./person.js";
import { frequency, say, sentence } from "./texts.js";

const MOST_OPTIONS = 4;
const MOST_LISTED = 1000; // more are found by their whole name

export class Workbench {
  constructor(state) {
    this.state = state;
    this.form = new Form(state.columns);
    this.form.values = state.typical;
    this.form.tried = state.typical;
    this.row = null;
    this.person = null;
    this.looks = new Map();
    this.said = element("p", { class: "said-now", role: "status" });
    this.answer = element("div", { class: "result" });
    this.verdict = element("div", { class: "verdict-place", role: "status" });
    this.others = element("div", {});
    this.target = element("select", {}, state.classes.map((name, place) => element("option", { value: place }, name)));
    this.target.value = String(state.classes.length - 1);
    this.node = this.draw();
  }

  draw() {
    const button = (key, act, kind) => element("button", { type: "button", class: kind, on: { click: act } }, say(`desk.${key}`));
    return element(
      "div",
      {},
      element(
        "header",
        { class: "headline" },
        element("h1", { tabindex: -1 }, quoted(this.state.title)),
        element("p", { class: "lead" }, say("desk.lead")),
      ),
      element(
        "section",
        {},
        element("h2", {}, say("desk.who")),
        element("div", { class: "filters" }, this.state.rows.length ? field("desk.pick", this.picker()) : null, field("desk.wanted", this.target)),
        element("datalist", { id: "rows" }, this.state.rows.slice(0, MOST_LISTED).map((name) => element("option", { value: name }))),
        this.said,
      ),
      element(
        "section",
        {},
        element("h2", {}, say("desk.values")),
        this.form.node,
        element(
          "p",
          { class: "actions" },
          button("ask", () => this.ask(), "primary"),
          button("others", () => this.options()),
          button("check", () => this.check()),
          button("clear", () => this.forget()),
        ),
        this.verdict,
      ),
      this.answer,
      this.others,
    );
  }

  picker() {
    const input = element("input", { type: "search", list: "rows", on: { change: () => this.pick(input.value) } });
    return input;
  }

  async pick(name) {
    if (name === "") return;
    await this.guarded(async () => {
      const row = this.state.rows.indexOf(name);
      if (row < 0) throw new Refused(say("errors.row"));
      const found = await get(`row/${row}`);
      this.row = row;
      this.form.values = found.values;
      this.form.tried = found.values;
      this.form.clear();
      this.aim(found.class);
      await this.answered();
    });
  }

  // Of two classes, the other one is wanted.
  aim(now) {
    if (this.state.classes.length === 2) this.target.value = String(1 - now);
  }

  question() {
    return { values: this.form.values, target: Number(this.target.value), wishes: this.form.wishes };
  }

  ask() {
    return this.guarded(() => this.answered());
  }

  async answered() {
    const found = await post("ask", this.question());
    const [person] = found.people;
    this.person = this.named(person);
    replaced(this.said, sentence("desk.now_is", { class: quoted(`“${this.state.classes[found.class]}”`) }));
    const n = this.looked(1);
    const view = personView(this.person, { ...this.state, votes: found.votes }, { heading: "h2" });
    this.addExclusions(view);
    replaced(this.answer, this.honest(n), view);
    replaced(this.others);
    this.form.tried = found.robust ?? this.form.values;
  }

  named(person) {
    return { ...person, name: this.row === null ? say("desk.typed") : this.state.rows[this.row] };
  }

  // A button at every step: leave this one out, and ask again.
  addExclusions(view) {
    const option = this.person.answer === null ? null : this.person.options[this.person.answer];
    if (option === null) return;
    const own = option.changes.filter(([j]) => !this.state.columns[j].derived);
    view.querySelectorAll(".what-to-change ol > .step").forEach((step, k) => {
      const [j] = own[k];
      const label = say("desk.not_this_label", { column: this.state.columns[j].title });
      const act = () => {
        this.form.keep(j);
        this.ask();
      };
      step.append(element("button", { type: "button", class: "plain", "aria-label": label, on: { click: act } }, say("desk.not_this")));
    });
  }

  // How many answers about the same values were looked at: each is a promise of its own.
  looked(more) {
    const key = JSON.stringify([this.form.values, this.target.value]);
    this.looks.set(key, (this.looks.get(key) ?? 0) + more);
    return this.looks.get(key);
  }

  honest(n) {
    const kind = n > 1 ? "warning" : "quiet";
    return element("p", { class: `looks ${kind}` }, sentence("desk.looks", { n }), " ", say("desk.second_look"));
  }

  options() {
    return this.guarded(async () => {
      const option = this.person?.answer == null ? null : this.person.options[this.person.answer];
      const without = (option?.changes ?? []).map(([j]) => j).filter((j) => !this.state.columns[j].derived).slice(0, MOST_OPTIONS);
      if (!without.length) throw new Refused(say("desk.no_options"));
      const found = await post("options", { ...this.question(), without });
      const n = this.looked(found.people.length);
      const page = { ...this.state, votes: found.votes };
      replaced(
        this.others,
        element(
          "section",
          { class: "options" },
          element("h2", {}, say("desk.options")),
          found.people.map((person, k) =>
            element(
              "details",
              {},
              element("summary", {}, sentence("desk.without", { column: quoted(this.state.columns[without[k]].title) })),
              personView(this.named(person), page, { heading: "h3" }),
            ),
          ),
          this.honest(n),
        ),
      );
    });
  }

  check() {
    return this.guarded(async () => {
      const asked = { values: this.form.tried, target: Number(this.target.value), wishes: [] };
      const found = await post("verdict", asked);
      const votes = { agree: found.agree, n: found.n_models, share: frequency(found.delta) };
      const target = quoted(`“${this.target.selectedOptions[0].textContent}”`);
      const n = this.looked(1);
      replaced(
        this.verdict,
        element("h3", {}, say("desk.verdict")),
        found.model_agrees ? null : element("p", {}, sentence("desk.verdict_not_now", { target })),
        found.varied
          ? element("p", { class: "big" }, sentence(found.certified ? "desk.verdict_yes" : "desk.verdict_no", votes))
          : element("p", { class: "big" }, say("desk.verdict_same")),
        found.members === "search" ? element("p", { class: "warning" }, say("optimistic")) : null,
        this.honest(n),
      );
    });
  }

  forget() {
    this.form.clear();
    replaced(this.others);
    replaced(this.verdict);
  }

  // Asks one thing at a time; of what is asked meanwhile, the latest is asked next.
  async guarded(work) {
    this.next = work;
    if (this.busy) return;
    this.busy = true;
    this.node.setAttribute("aria-busy", "true");
    try {
      while (this.next) {
        const asked = this.next;
        this.next = null;
        await this.told(asked);
      }
    } finally {
      this.busy = false;
      this.node.removeAttribute("aria-busy");
    }
  }

  // Does one thing, and says what went wrong.
  async told(work) {
    const before = [...this.said.childNodes];
    replaced(this.said, say("desk.asking"));
    try {
      await work();
      if (this.said.textContent === say("desk.asking")) replaced(this.said, before);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      replaced(this.said, element("span", { class: "error" }, "✕ ", error.message));
    }
  }
}
