// The words of the page, which all come from one file; and numbers as people read them.

import { quoted } from "./dom.js";

let texts = {};
let plural = new Intl.PluralRules("en");
let digits = new Intl.NumberFormat("en");

export function useTexts(given) {
  texts = given;
  plural = new Intl.PluralRules(given.language);
  digits = new Intl.NumberFormat(given.language);
}

// The text of a key such as "status.certified"; one of several if they differ by number.
function template(key, values) {
  let found = key.split(".").reduce((inner, part) => inner?.[part], texts);
  if (found && typeof found === "object" && "other" in found) {
    found = found[plural.select(values?.n ?? 0)] ?? found.other;
  }
  return typeof found === "string" ? found : key;
}

export function listed(key) {
  const found = texts[key];
  return Array.isArray(found) ? found : Object.keys(found ?? {});
}

export function has(key) {
  return typeof key.split(".").reduce((inner, part) => inner?.[part], texts) === "string";
}

// A sentence as plain text, for labels.
export function say(key, values) {
  return fill(template(key, values), values).map((part) => part.textContent ?? part).join("");
}

// A sentence as nodes: what comes from the table is kept apart from the words around it.
export function sentence(key, values) {
  return fill(template(key, values), values);
}

export function fill(text, values) {
  return text.split(/\{(\w+)\}/).map((part, i) => {
    if (i % 2 === 0) return part;
    const value = values?.[part] ?? "";
    if (typeof value === "number") return digits.format(value);
    return value;
  });
}

export function targetOf(person) {
  const joint = ` ${template("or")} `;
  return quoted(person.target.map((name) => `“${name}”`).join(joint));
}

export function number(value) {
  return digits.format(value);
}

// An effort, with the digits that show its size.
export function effort(value) {
  return value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}

export function percent(share) {
  return `${Math.floor(share * 1000 + 1e-6) / 10}\u00a0%`;
}

// A share as a frequency, never more than it is: 9 in 10, 85 in 100.
export function frequency(share) {
  for (const [name, whole] of [["ten", 10], ["hundred", 100]]) {
    if (Math.abs(share * whole - Math.round(share * whole)) < 1e-6) {
      return say(`share.${name}`, { n: Math.round(share * whole) });
    }
  }
  return say("share.thousand", { n: Math.floor(share * 1000 + 1e-6) });
}

// A share that was counted, as a frequency that people can picture: about 4 in 10.
export function roughly(share) {
  const tenths = Math.round(share * 10);
  if (tenths > 0) return say("share.ten", { n: tenths });
  return say("share.hundred", { n: Math.max(Math.round(share * 100), 0) });
}
