// A menu of actions beside the button that opened it.

import { h } from "../dom.js";
import { float } from "../float.js";
import { icon } from "../icons.js";
import { roving } from "../keys.js";
import { state, update } from "../store.js";

/** `items`: {label, hint?, keys?, icon?, danger?, checked?, then}; null ones part groups. */
export function openMenu(event, label, items) {
  const anchor = event.currentTarget;
  if (state.menu?.anchor === anchor) return closeMenu();
  return update({ menu: { anchor, label, items } });
}

/** A panel of its own (`draw` gives its content) in the place of a list of actions. */
export function openPanel(event, label, draw) {
  const anchor = event.currentTarget;
  if (state.menu?.anchor === anchor) return closeMenu();
  return update({ menu: { anchor, label, draw } });
}

/** Focus goes back to the button, unless it went elsewhere already. */
export function closeMenu() {
  const { menu } = state;
  update({ menu: null });
  const { activeElement: focused, body } = document;
  if (menu && (focused === body || focused?.closest("[data-menu]"))) menu.anchor.focus();
}

export const isOpen = (name) => state.menu?.label === name;

export function menu() {
  const open = state.menu;
  if (!open) return null;
  const shared = {
    key: open.label,
    "data-menu": true,
    "data-float": true,
    "aria-label": open.label,
    created: (element) => focusFirst(element),
    rendered: (element) => float(element, open.anchor, { end: endsBeside(open.anchor) }),
  };
  if (open.draw) return h("div", { ...shared, class: "panel", role: "dialog" }, open.draw());

  const arrows = roving("[role^=menuitem]");
  return h(
    "div",
    {
      ...shared,
      class: "menu",
      role: "menu",
      onkeydown: (event) => {
        if (event.key === "Tab") {
          event.preventDefault();
          closeMenu();
        }
        arrows(event);
      },
    },
    open.items.map(item),
  );
}

function item(entry) {
  if (entry === null) return h("hr", { role: "separator" });
  const { label, hint, keys, checked, danger, picture, then } = entry;
  return h(
    "button",
    {
      type: "button",
      tabindex: -1,
      role: checked === undefined ? "menuitem" : "menuitemradio",
      "aria-checked": checked === undefined ? null : String(checked),
      "aria-keyshortcuts": keys?.replace("Del", "Delete"),
      class: danger ? "danger" : "",
      onclick: () => {
        closeMenu();
        then();
      },
    },
    picture ?? (entry.icon && icon(entry.icon)),
    h("span", { class: "grow" }, label, hint && h("small", null, hint)),
    keys && h("kbd", { "aria-hidden": "true" }, keys),
    checked && icon("check"),
  );
}

const endsBeside = (anchor) => anchor.getBoundingClientRect().left > window.innerWidth / 2;

function focusFirst(element) {
  const wanted =
    element.querySelector("[aria-checked=true]") ?? element.querySelector("button, input, a");
  wanted?.focus();
}

/**
 * Once, at the start: a press outside closes what is open, and so does Escape, wherever the focus
 * is. It does nothing else then: a thread or a modal around stays.
 */
export function closeOutside() {
  const escape = (event) => {
    if (event.key !== "Escape" || !state.menu || event.isComposing) return;
    event.preventDefault();
    event.stopPropagation();
    closeMenu();
  };
  document.addEventListener("keydown", escape, { capture: true });
  document.addEventListener("pointerdown", (event) => {
    if (!state.menu || event.target.closest("[data-menu]")) return;
    if (state.menu.anchor.contains(event.target)) return;
    update({ menu: null });
  });
}
