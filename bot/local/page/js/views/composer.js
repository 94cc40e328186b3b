// Where one writes: Enter sends, Shift+Enter breaks the line, ↑ edits the last message of one's own.

import { globalShortcut, send } from "../doing.js";
import { h } from "../dom.js";
import { icon } from "../icons.js";
import { idFor, moved } from "../keys.js";
import { openMenu } from "../parts/menu.js";
import { state, update } from "../store.js";
import { attach, attachments, detachAll } from "./attachments.js";
import { startEdit } from "./editor.js";
import { complete, suggestions, suggestionsFor } from "./suggestions.js";

/** `list`: the messages above, for ↑. `thread`: the root's ts in a thread, else null. */
export function composer({ channel, thread = null, list, placeholder, broadcastName = null }) {
  const key = `${channel} ${thread ?? ""}`;
  const id = idFor(`composer ${key}`);
  const text = state.drafts[key] ?? "";
  const attached = state.attached[key] ?? [];
  const isSending = state.sending === key;
  const broadcast = Boolean(thread && state.broadcasting);
  const submit = () => !isSending && send(key, { channel, thread, broadcast });
  const suggesting = state.suggest?.key === key ? state.suggest : null;
  return h(
    "form",
    {
      key,
      class: "composer",
      onsubmit: (event) => {
        event.preventDefault();
        submit();
      },
      onpaste: (event) => attach(key, [...event.clipboardData.files]),
    },
    suggesting && suggestions(suggesting, id, (option) => complete(key, id, option)),
    attachments(key, attached),
    h("textarea", {
      id,
      rows: 1,
      placeholder,
      "aria-label": placeholder,
      value: text,
      "aria-autocomplete": "list",
      "aria-controls": suggesting ? `${id}-list` : null,
      "aria-activedescendant": suggesting ? `${id}-${suggesting.active}` : null,
      "aria-keyshortcuts": "Enter",
      "data-composer": thread ? "thread" : "channel",
      oninput: ({ target }) =>
        update({
          drafts: { ...state.drafts, [key]: target.value },
          suggest: suggestionsFor(key, target),
        }),
      onkeydown: (event) => keydown(event, { key, id, list, submit, suggesting }),
      onblur: () => state.suggest && update({ suggest: null }),
      rendered: fit,
    }),
    h(
      "div",
      { class: "composer-row" },
      h(
        "label",
        { class: "icon-button", title: "Attach a photo or file" },
        icon("attach"),
        h("span", { class: "hidden-words" }, "Attach a photo or file"),
        h("input", {
          type: "file",
          multiple: true,
          class: "hidden-words",
          onchange: ({ target }) => {
            attach(key, [...target.files]);
            target.value = "";
          },
        }),
      ),
      shortcuts(key, id),
      broadcastName &&
        h(
          "label",
          { class: "choice broadcast" },
          h("input", {
            type: "checkbox",
            checked: broadcast,
            onchange: ({ target }) => update({ broadcasting: target.checked }),
          }),
          h("span", null, `Also send to #${broadcastName}`),
        ),
      h("span", { class: "grow" }),
      h("span", { class: "composer-hint not-narrow" }, "Shift+Enter for a new line"),
      h(
        "button",
        {
          type: "submit",
          class: "send",
          "aria-label": "Send",
          title: "Send (Enter)",
          disabled: isSending || (!text.trim() && !attached.length),
        },
        icon("send"),
      ),
    ),
  );
}

function keydown(event, { key, id, list, submit, suggesting }) {
  if (event.isComposing) return;
  // What is typed may be newer than the last render.
  const text = event.target.value;
  if (suggesting) {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const active = moved(event.key, suggesting.active, suggesting.options.length);
      update({ suggest: { ...suggesting, active } });
      return;
    }
    if (event.key === "Escape") {
      event.stopPropagation();
      update({ suggest: null });
      return;
    }
    const option = suggesting.options[suggesting.active];
    const isWhole = option.insert.trim() === text.trim();
    if ((event.key === "Enter" || event.key === "Tab") && !isWhole) {
      event.preventDefault();
      complete(key, id, option);
      return;
    }
  }
  if (event.key === "Enter" && !event.shiftKey) {
    event.preventDefault();
    update({ suggest: null });
    submit();
  } else if (event.key === "ArrowUp" && !text) {
    const mine = list.findLast((message) => message.is_mine);
    if (mine) {
      event.preventDefault();
      startEdit(mine);
    }
  } else if (event.key === "Escape" && state.attached[key]?.length) {
    event.stopPropagation();
    detachAll(key);
  }
}

function shortcuts(key, id) {
  const { app } = state.workspace;
  const items = [
    ...app.global_shortcuts.map((shortcut) => ({
      label: shortcut.name,
      hint: shortcut.description,
      icon: "shortcut",
      then: () => globalShortcut(shortcut),
    })),
    ...app.commands.map(({ command, description }) => ({
      label: command,
      hint: description,
      icon: "bolt",
      then: () => {
        update({ drafts: { ...state.drafts, [key]: `${command} ` } });
        document.getElementById(id).focus();
      },
    })),
  ];
  if (!items.length) return null;
  return h(
    "button",
    {
      type: "button",
      class: "icon-button",
      "aria-label": "Shortcuts",
      title: "Shortcuts",
      "aria-haspopup": "menu",
      onclick: (event) => openMenu(event, "Shortcuts", items),
    },
    icon("shortcut"),
  );
}

/** As high as what is written, up to a limit that the style sheet sets. */
function fit(field) {
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight + 2}px`;
}
