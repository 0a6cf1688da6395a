// Elements from data. Text is only ever set as text, so nothing that a table holds becomes markup.

const SVG = "http://www.w3.org/2000/svg";

export function element(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function drawn(tag, attributes, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name === "on") {
      for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
    } else if (value === true) {
      node.setAttribute(name, "");
    } else if (value !== null && value !== undefined && value !== false) {
      node.setAttribute(name, String(value));
    }
  }
  append(node, children);
  return node;
}

function append(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) node.append(child);
  }
}

// Text from a table, kept apart from the direction of the text around it.
export function quoted(text) {
  return element("bdi", {}, text);
}

export function replaced(node, ...children) {
  node.replaceChildren();
  append(node, children);
  return node;
}
