// What more certainty costs: a slider that moves along the recorded answers of other promises.

import { element, replaced } from "./dom.js";
import { costCurve } from "./figures.js";
import { placeAt } from "./certainty.js";
import { effort, frequency, percent, say, sentence } from "./texts.js";

let nSliders = 0;
const THUMB = 16; // pixels: the middle of the thumb is what points at the scale

// `show` is told which option to show, and for which promise.
export function tradeoff(person, vote, show) {
  const points = vote.settings.map(([delta, quorum]) => {
    const place = placeAt(person, quorum);
    return { delta, place, effort: place < 0 ? null : person.options[place].effort };
  });
  if (new Set(points.map((point) => point.place)).size < 2) return null;
  const recorded = points.findIndex((point) => point.delta === vote.delta);
  const { picture, show: mark, ends } = costCurve(points, {
    recorded,
    label: curveLabel(points),
    axis: say("axis_promise"),
    format: { promise: percent, effort },
  });
  const id = `promise-${(nSliders += 1)}`;
  const said = element("output", { class: "setting", for: id, "aria-live": "polite" });
  const slider = element("input", { type: "range", id, min: 0, max: points.length - 1, step: 1 });
  slider.style.marginInlineStart = `calc(${100 * ends[0]}% - ${THUMB / 2}px)`;
  slider.style.inlineSize = `calc(${100 * (ends[1] - ends[0])}% + ${THUMB}px)`;
  const reset = element("button", { type: "button", class: "plain" }, say("reset"));
  const aside = element("p", { class: "warning" }, sentence("not_on_record", { share: frequency(vote.delta) }));
  const set = (i) => {
    slider.value = i;
    slider.setAttribute("aria-valuetext", say("setting", { share: frequency(points[i].delta) }));
    mark(i);
    replaced(said, described(points[i], points[recorded], i === recorded));
    reset.hidden = aside.hidden = i === recorded;
    show(points[i]);
  };
  slider.addEventListener("input", () => set(Number(slider.value)));
  reset.addEventListener("click", () => {
    set(recorded);
    slider.focus();
  });
  set(recorded);
  return element(
    "section",
    { class: "tradeoff" },
    element("h2", {}, say("tradeoff")),
    element("p", { class: "quiet" }, say("tradeoff_help")),
    element("div", { class: "scale", dir: "ltr" }, picture, slider),
    element("p", { class: "controls" }, element("label", { for: id }, say("slider")), said, reset),
    aside,
    element("p", { class: "quiet" }, say("own_promise")),
  );
}

function described(point, onRecord, recorded) {
  const parts = [element("strong", {}, sentence("setting", { share: frequency(point.delta) }))];
  if (recorded) parts.push(`, ${say("asked_for")}`);
  if (point.effort === null) return [parts, ". ", say("no_setting")];
  parts.push(": ", sentence("setting_effort", { effort: effort(point.effort) }));
  if (recorded || onRecord.effort === null) return parts;
  const ratio = onRecord.effort > 0 ? point.effort / onRecord.effort - 1 : 0;
  const key = Math.abs(ratio) < 0.005 ? "same_effort" : ratio > 0 ? "more_effort" : "less_effort";
  return [parts, ", ", sentence(key, { percent: `${Math.round(Math.abs(ratio) * 100)} %` })];
}

function curveLabel(points) {
  const known = points.filter((point) => point.effort !== null);
  const ends = [known[0], known.at(-1)].map(
    (point) => `${say("setting", { share: frequency(point.delta) })}: ${say("setting_effort", { effort: effort(point.effort) })}`,
  );
  return `${say("tradeoff")}. ${ends.join("; ")}.`;
}
