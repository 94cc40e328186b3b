// Changing a message of one's own, in its place: Enter saves, Escape leaves it as it was.

import { plainText } from "../blocks/mrkdwn.js";
import { saveEdit } from "../doing.js";
import { h } from "../dom.js";
import { userOf } from "../people.js";
import { state, update } from "../store.js";

export const isEdited = (it) => state.editing?.channel === it.channel && state.editing.ts === it.ts;

export function startEdit(it) {
  const handle = (id) => userOf(id)?.name ?? id;
  update({ editing: { channel: it.channel, ts: it.ts, text: plainText(it.text, handle) } });
}

export function editor() {
  const stop = () => update({ editing: null });
  return h(
    "form",
    {
      class: "editor",
      onsubmit: (event) => {
        event.preventDefault();
        saveEdit();
      },
    },
    h("textarea", {
      class: "field",
      "aria-label": "Edit message",
      value: state.editing.text,
      created: (field) => {
        field.focus();
        field.setSelectionRange(field.value.length, field.value.length);
      },
      oninput: (event) => update({ editing: { ...state.editing, text: event.target.value } }),
      onkeydown: (event) => {
        if (event.isComposing) return;
        if (event.key === "Escape") {
          // The thread around it stays.
          event.stopPropagation();
          stop();
        }
        if (event.key === "Enter" && !event.shiftKey) {
          event.preventDefault();
          saveEdit();
        }
      },
    }),
    h(
      "p",
      { class: "row" },
      h("button", { type: "button", class: "button", onclick: stop }, "Cancel"),
      h("button", { type: "submit", class: "button primary" }, "Save"),
    ),
  );
}
