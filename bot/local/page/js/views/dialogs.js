// What stands in front of everything: an app's modal, a question before an act, short notices.

import { dismiss } from "../actions.js";
import { blocks } from "../blocks/blocks.js";
import { formOf } from "../form.js";
import { closeModal, submitModal } from "../doing.js";
import { h } from "../dom.js";
import { icon, mark } from "../icons.js";
import { menu } from "../parts/menu.js";
import { state, update } from "../store.js";

/** The browser keeps the focus inside and gives it back when it closes. */
const asModal = (close) => ({
  created: (dialog) => {
    dialog.showModal();
    const fields = ".modal-body :is(input, textarea)";
    (dialog.querySelector("[autofocus]") ?? dialog.querySelector(fields))?.focus();
  },
  removed: (dialog) => dialog.close(),
  oncancel: (event) => {
    event.preventDefault();
    close();
  },
});

export function modal() {
  const view = state.modal?.view;
  if (!view) return null;
  const form = formOf(view);
  const close = () => closeModal(view);
  return h(
    "dialog",
    { key: view.id, class: "modal", "aria-labelledby": "modal-title", ...asModal(close) },
    h(
      "form",
      {
        novalidate: true,
        onsubmit: (event) => {
          event.preventDefault();
          if (!form.busy) submitModal(view);
        },
      },
      h(
        "div",
        { class: "modal-head" },
        h("span", { class: "avatar small", "aria-hidden": "true" }, mark()),
        h("h2", { id: "modal-title" }, view.title.text),
        h(
          "button",
          { type: "button", class: "icon-button", "aria-label": "Close", onclick: close },
          icon("close"),
        ),
      ),
      h(
        "div",
        { class: "modal-body", tabindex: -1 },
        form.error && h("p", { class: "error", role: "alert" }, `That didn't work: ${form.error}.`),
        blocks({ place: { view_id: view.id }, view }, view.blocks),
      ),
      h(
        "div",
        { class: "modal-foot" },
        h(
          "button",
          { type: "button", class: "button", onclick: close },
          view.close?.text ?? "Close",
        ),
        view.submit &&
          h(
            "button",
            {
              type: "submit",
              class: `button primary${form.busy ? " busy" : ""}`,
              "aria-disabled": form.busy ? "true" : null,
            },
            view.submit.text,
          ),
      ),
    ),
    menu(),
  );
}

export function confirm() {
  const ask = state.confirm;
  if (!ask) return null;
  const answer = (yes) => {
    update({ confirm: null });
    if (yes) ask.then();
  };
  return h(
    "dialog",
    {
      key: "confirm",
      class: "modal small",
      role: "alertdialog",
      "aria-labelledby": "confirm-title",
      "aria-describedby": "confirm-text",
      ...asModal(() => answer(false)),
    },
    h("div", { class: "modal-head" }, h("h2", { id: "confirm-title" }, ask.title)),
    h("div", { class: "modal-body" }, h("p", { id: "confirm-text" }, ask.text)),
    h(
      "div",
      { class: "modal-foot" },
      h("button", { type: "button", class: "button", onclick: () => answer(false) }, ask.no),
      h(
        "button",
        { type: "button", class: `button filled ${ask.style}`, onclick: () => answer(true) },
        ask.yes,
      ),
    ),
  );
}

export function notices() {
  return h(
    "div",
    { class: "notices", role: "region", "aria-label": "Notices" },
    state.notices.map(({ id, words, kind }) =>
      h(
        "div",
        { key: id, class: `notice ${kind}`, role: kind === "bad" ? "alert" : "status" },
        h("p", { class: "grow" }, words),
        h(
          "button",
          {
            type: "button",
            class: "icon-button",
            "aria-label": "Dismiss",
            onclick: () => dismiss(id),
          },
          icon("close"),
        ),
      ),
    ),
  );
}
