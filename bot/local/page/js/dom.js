// Elements as plain values, and the one place that puts them into the document.
//
// Text is only ever set as text nodes. A view returns `h(…)`; `patch` changes the document to look
// like it and leaves alone what is the same, so that focus, caret and scroll survive a render.

const SVG = "http://www.w3.org/2000/svg";
const PROPERTIES = new Set(["value", "checked", "disabled", "selected", "indeterminate", "open"]);

/**
 * One element. `props`: attributes; `on…` functions are listeners; `key` tells it from its
 * siblings; `created(element)` is called once it is in the document, `rendered(element)` after
 * each render, `removed(element)` when it leaves. Children may be nested lists; null, false and ""
 * are left out.
 */
export function h(tag, props, ...children) {
  const { key = null, ...rest } = props ?? {};
  return { tag, key, props: rest, children: flat(children, []), element: null };
}

function flat(children, found) {
  for (const child of children) {
    if (Array.isArray(child)) flat(child, found);
    else if (child === null || child === undefined || child === false || child === "") continue;
    else if (typeof child === "object") found.push(child);
    else {
      const last = found[found.length - 1];
      if (last && last.tag === null) last.text += String(child);
      else found.push({ tag: null, key: null, text: String(child), element: null });
    }
  }
  return found;
}

/** Make the children of `parent` look like `wanted`; returns nothing. */
export function patch(parent, wanted) {
  const hooks = [];
  parent.shown = reconcile(parent, parent.shown ?? [], flat([wanted], []), hooks, false);
  for (const hook of hooks) hook();
}

function reconcile(parent, before, after, hooks, inSvg) {
  const keyed = new Map();
  const loose = [];
  for (const node of before) {
    if (node.key === null) loose.push(node);
    else keyed.set(node.key, node);
  }
  let next = 0;
  const matches = after.map((node) => {
    if (node.key !== null) {
      const found = keyed.get(node.key);
      if (!found || found.tag !== node.tag) return null;
      keyed.delete(node.key);
      return found;
    }
    const place = loose.findIndex((other, index) => index >= next && other.tag === node.tag);
    if (place < 0) return null;
    next = place + 1;
    const [found] = loose.splice(place, 1, { tag: undefined, key: null, gone: true });
    return found;
  });
  for (const node of [...keyed.values(), ...loose]) if (!node.gone) remove(node);
  after.forEach((node, index) => {
    const match = matches[index];
    if (match) update(match, node, hooks, inSvg);
    else create(node, hooks, inSvg);
    const here = parent.childNodes[index];
    if (here !== node.element) parent.insertBefore(node.element, here ?? null);
  });
  return after;
}

function create(node, hooks, inSvg) {
  if (node.tag === null) {
    node.element = document.createTextNode(node.text);
    return;
  }
  const svg = inSvg || node.tag === "svg";
  node.element = svg ? document.createElementNS(SVG, node.tag) : document.createElement(node.tag);
  node.element.handlers = {};
  node.shown = reconcile(node.element, [], node.children, hooks, svg);
  setAll(node.element, {}, node.props);
  const { created, rendered } = node.props;
  if (created) hooks.push(() => created(node.element));
  if (rendered) hooks.push(() => rendered(node.element));
}

function update(match, node, hooks, inSvg) {
  node.element = match.element;
  if (node.tag === null) {
    if (match.text !== node.text) node.element.data = node.text;
    return;
  }
  const svg = inSvg || node.tag === "svg";
  node.shown = reconcile(node.element, match.shown, node.children, hooks, svg);
  setAll(node.element, match.props, node.props);
  const { rendered } = node.props;
  if (rendered) hooks.push(() => rendered(node.element));
}

function remove(node) {
  leave(node);
  node.element.remove();
}

function leave(node) {
  if (node.tag === null) return;
  for (const child of node.shown) leave(child);
  node.props.removed?.(node.element);
}

function setAll(element, before, after) {
  for (const name of Object.keys(before)) if (!(name in after)) set(element, name, null);
  for (const [name, value] of Object.entries(after)) {
    if (PROPERTIES.has(name) || before[name] !== value) set(element, name, value);
  }
}

function set(element, name, value) {
  if (name === "created" || name === "rendered" || name === "removed") return;
  if (name.startsWith("on")) {
    listen(element, name.slice(2), value);
  } else if (PROPERTIES.has(name) && name in element) {
    if (element[name] !== (value ?? "")) element[name] = value ?? "";
  } else if (value === null || value === undefined || value === false) {
    element.removeAttribute(name);
  } else {
    element.setAttribute(name, value === true ? "" : String(value));
  }
}

function listen(element, type, handler) {
  if (!(type in element.handlers)) {
    element.addEventListener(type, (event) => element.handlers[type]?.(event));
  }
  element.handlers[type] = handler;
}
