// Pictures as inline SVG. Every one of them says in words what it shows.

import { drawn, element } from "./dom.js";

// One sign for each model: a full dot agrees, a ring with a stroke does not.
export function iconArray(nAgree, n, label) {
  const columns = n <= 120 ? 20 : 40;
  const cell = 20;
  const rows = Math.ceil(n / columns);
  const signs = [];
  for (let i = 0; i < n; i++) {
    const x = (i % columns) * cell + cell / 2;
    const y = Math.floor(i / columns) * cell + cell / 2;
    signs.push(i < nAgree ? `M${x - 7} ${y}a7 7 0 1 0 14 0a7 7 0 1 0 -14 0` : "");
  }
  const missing = [];
  for (let i = nAgree; i < n; i++) {
    const x = (i % columns) * cell + cell / 2;
    const y = Math.floor(i / columns) * cell + cell / 2;
    missing.push(`M${x - 6} ${y}a6 6 0 1 0 12 0a6 6 0 1 0 -12 0M${x - 4} ${y + 4}L${x + 4} ${y - 4}`);
  }
  return drawn(
    "svg",
    { class: "icons", role: "img", "aria-label": label, viewBox: `0 0 ${columns * cell} ${rows * cell}` },
    drawn("path", { class: "agrees", d: signs.join("") }),
    drawn("path", { class: "disagrees", d: missing.join("") }),
  );
}

// Where a value is in its usual range, and where it should go.
export function track(from, to, label) {
  const [width, height, pad] = [120, 16, 8];
  const at = (place) => pad + place * (width - 2 * pad);
  const middle = height / 2;
  const parts = [drawn("line", { class: "rail", x1: pad, x2: width - pad, y1: middle, y2: middle })];
  if (from !== null && to !== null) {
    parts.push(drawn("line", { class: "way", x1: at(from), x2: at(to), y1: middle, y2: middle }));
  }
  if (from !== null) parts.push(drawn("circle", { class: "before", cx: at(from), cy: middle, r: 4.5 }));
  if (to !== null) parts.push(drawn("circle", { class: "after", cx: at(to), cy: middle, r: 5 }));
  const view = { class: "track", role: "img", "aria-label": label, viewBox: `0 0 ${width} ${height}` };
  return drawn("svg", view, parts);
}

// Bars that lie, one for each entry: a label, a length, a number.
export function bars(entries, { label }) {
  const most = Math.max(1, ...entries.map((entry) => entry.value));
  return element(
    "ul",
    { class: "bars", "aria-label": label },
    entries.map((entry) =>
      element(
        "li",
        {},
        element("span", { class: "bar-label" }, entry.label),
        drawn(
          "svg",
          { class: "bar", "aria-hidden": "true", viewBox: "0 0 100 10", preserveAspectRatio: "none" },
          drawn("rect", { class: entry.kind ?? "", x: 0, y: 0, height: 10, width: (100 * entry.value) / most }),
        ),
        element("span", { class: "bar-value" }, entry.text),
      ),
    ),
  );
}

// Columns that stand, one for each bin.
export function histogram(bins, { label, format }) {
  const [width, height, base] = [320, 120, 18];
  const most = Math.max(1, ...bins.map((bin) => bin.n));
  const step = width / bins.length;
  const parts = bins.map((bin, i) => {
    const tall = ((height - base - 14) * bin.n) / most;
    return drawn(
      "g",
      {},
      drawn("rect", { class: "column", x: i * step + 2, y: height - base - tall, width: step - 4, height: tall, rx: 2 }),
      bin.n
        ? drawn("text", { class: "count", x: (i + 0.5) * step, y: height - base - tall - 3, "text-anchor": "middle" }, bin.n)
        : null,
    );
  });
  const ends = [
    drawn("text", { class: "tick", x: 2, y: height - 4 }, format(bins[0].low)),
    drawn("text", { class: "tick", x: width - 2, y: height - 4, "text-anchor": "end" }, format(bins.at(-1).high)),
  ];
  const rule = drawn("line", { class: "rail", x1: 0, x2: width, y1: height - base, y2: height - base });
  const view = { class: "histogram", role: "img", "aria-label": label, viewBox: `0 0 ${width} ${height}` };
  return drawn("svg", view, rule, parts, ends);
}

// The effort of every promise, as steps: to the right is more certain, up is more effort.
export function costCurve(points, { recorded, label, axis, format }) {
  const [width, height] = [matchMedia("(max-width: 40rem)").matches ? 340 : 640, 200];
  const box = { left: 48, right: width - 16, top: 16, bottom: height - 44 };
  const most = Math.max(...points.map((point) => point.effort ?? 0), 1e-9);
  const x = (i) => box.left + ((box.right - box.left) * i) / Math.max(points.length - 1, 1);
  const y = (effort) => box.bottom - ((box.bottom - box.top) * effort) / (most * 1.08);
  const parts = [];
  points.forEach((point, i) => {
    if (Math.abs(point.delta * 10 - Math.round(point.delta * 10)) > 1e-6) return;
    parts.push(
      drawn("line", { class: "grid", x1: x(i), x2: x(i), y1: box.top, y2: box.bottom }),
      drawn("text", { class: "tick", x: x(i), y: box.bottom + 17, "text-anchor": "middle" }, format.promise(point.delta)),
    );
  });
  for (const value of [0, most / 2, most]) {
    parts.push(drawn("text", { class: "tick", x: box.left - 8, y: y(value) + 4, "text-anchor": "end" }, format.effort(value)));
  }
  const steps = points.map((point, i) => [i, point.effort]).filter(([, effort]) => effort !== null);
  const last = Math.min(x(steps.at(-1)[0] + 0.5), box.right);
  const path = steps.map(([i, effort], k) => (k ? `H${x(i - 0.5)}V${y(effort)}` : `M${x(i)} ${y(effort)}`)).join("");
  parts.push(
    drawn("line", { class: "rail", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom }),
    drawn("text", { class: "axis", x: (box.left + box.right) / 2, y: height - 6, "text-anchor": "middle" }, axis),
    drawn("path", { class: "curve", d: `${path}H${last}` }),
  );
  const onRecord = points[recorded]?.effort;
  if (onRecord !== null && onRecord !== undefined) {
    parts.push(drawn("circle", { class: "record", cx: x(recorded), cy: y(onRecord), r: 8 }));
  }
  const marker = drawn("line", { class: "marker", y1: box.top, y2: box.bottom });
  const dot = drawn("circle", { class: "after", r: 5 });
  const view = { class: "cost", role: "img", "aria-label": label, viewBox: `0 0 ${width} ${height}` };
  const show = (i) => {
    const there = points[i].effort !== null;
    for (const end of ["x1", "x2"]) marker.setAttribute(end, x(i));
    dot.setAttribute("visibility", there ? "visible" : "hidden");
    dot.setAttribute("cx", x(i));
    dot.setAttribute("cy", there ? y(points[i].effort) : 0);
  };
  // Where the scale begins and ends, as shares of the width: a slider below can be laid out like it.
  const ends = [box.left / width, box.right / width];
  return { picture: drawn("svg", view, parts, marker, dot), show, ends };
}
