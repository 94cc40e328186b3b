// JSON that folds, with search and copy. Large texts stay whole; what is folded says how much it is.

import { notify } from "../actions.js";
import { h } from "../dom.js";
import { icon } from "../icons.js";
import { state, update } from "../store.js";

const SHORT = 72;

/**
 * `name` tells one view from the others; `open(path, depth)` says what is unfolded at first; a
 * `bare` one is without search and copy.
 */
export function json(name, value, { label, open = (_, depth) => depth < 2, bare = false }) {
  const query = (state.finding[name] ?? "").toLowerCase();
  const view = { name, open, query, hits: 0 };
  const tree = node(view, null, value, name, 0, true);
  if (bare) return h("div", { class: "json-tree bare", key: name }, tree);
  return h(
    "div",
    { class: "json", key: name },
    h(
      "div",
      { class: "json-bar" },
      h(
        "label",
        { class: "find" },
        icon("search"),
        h("span", { class: "hidden-words" }, `Search in ${label}`),
        h("input", {
          type: "search",
          placeholder: `Search in ${label}`,
          value: state.finding[name] ?? "",
          oninput: ({ target }) => update({ finding: { ...state.finding, [name]: target.value } }),
        }),
      ),
      query && h("span", { class: "soft", role: "status" }, `${view.hits} found`),
      h(
        "button",
        {
          type: "button",
          class: "icon-button",
          "aria-label": `Copy ${label}`,
          title: `Copy ${label}`,
          onclick: async () => {
            await navigator.clipboard.writeText(JSON.stringify(value, null, 2));
            notify(`Copied: ${label}.`, "good");
          },
        },
        icon("copy"),
      ),
    ),
    h("div", { class: "json-tree", tabindex: 0, role: "group", "aria-label": label }, tree),
  );
}

function node(view, key, value, path, depth, last) {
  const isList = Array.isArray(value);
  const isObject = value !== null && typeof value === "object";
  const comma = last ? "" : ",";
  if (!isObject || !Object.keys(value).length) {
    return h(
      "div",
      { class: "json-line", key: path },
      name(view, key),
      isObject ? (isList ? "[]" : "{}") : leaf(view, value),
      comma,
    );
  }
  const entries = Object.entries(value);
  const isOpen =
    state.folded[path] ?? (view.query ? holds(value, view.query) : view.open(path, depth));
  const toggle = () => update({ folded: { ...state.folded, [path]: !isOpen } });
  const [before, after] = isList ? ["[", "]"] : ["{", "}"];
  return h(
    "div",
    { class: "json-node", key: path },
    h(
      "button",
      {
        type: "button",
        class: "json-line json-fold",
        "aria-expanded": String(isOpen),
        onclick: toggle,
      },
      icon(isOpen ? "down" : "right"),
      name(view, key),
      before,
      !isOpen && h("span", { class: "soft" }, ` ${summary(value, isList)} `),
      !isOpen && after + comma,
    ),
    isOpen &&
      h(
        "div",
        { class: "json-inner" },
        entries.map(([inner, its], index) =>
          node(
            view,
            isList ? null : inner,
            its,
            `${path}.${inner}`,
            depth + 1,
            index === entries.length - 1,
          ),
        ),
      ),
    isOpen && h("div", { class: "json-line json-end" }, after, comma),
  );
}

function name(view, key) {
  return key === null ? null : [h("span", { class: "json-key" }, marked(view, key)), ": "];
}

function leaf(view, value) {
  if (typeof value === "string") {
    const long = value.length > SHORT || value.includes("\n");
    return h("span", { class: `json-text${long ? " long" : ""}` }, '"', marked(view, value), '"');
  }
  const kind = typeof value === "number" ? "json-number" : "json-word";
  return h("span", { class: kind }, marked(view, String(value)));
}

/** The text with what is searched for marked in it. */
function marked(view, text) {
  if (!view.query) return text;
  const parts = [];
  let from = 0;
  for (let at = find(text, view.query, 0); at >= 0; at = find(text, view.query, from)) {
    view.hits += 1;
    parts.push(text.slice(from, at), h("mark", null, text.slice(at, at + view.query.length)));
    from = at + view.query.length;
  }
  return [...parts, text.slice(from)];
}

const find = (text, query, from) => text.toLowerCase().indexOf(query, from);

function holds(value, query) {
  if (value === null || typeof value !== "object")
    return String(value).toLowerCase().includes(query);
  return Object.entries(value).some(
    ([key, its]) =>
      (!Array.isArray(value) && key.toLowerCase().includes(query)) || holds(its, query),
  );
}

function summary(value, isList) {
  const size = Object.keys(value).length;
  if (isList) return size === 1 ? "1 item" : `${size} items`;
  const told = value.role ?? value.type ?? value.name ?? value.kind;
  return typeof told === "string" ? `${told} …` : Object.keys(value).slice(0, 3).join(", ") + " …";
}
