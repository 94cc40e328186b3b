// While one writes: people and groups after an @, commands after a / at the start.

import { h } from "../dom.js";
import { float } from "../float.js";
import { icon } from "../icons.js";
import { avatar } from "../people.js";
import { state, update } from "../store.js";

const MOST = 7;

/** What fits the words before the caret, or null. */
export function suggestionsFor(key, field) {
  const before = field.value.slice(0, field.selectionStart);
  const command = /^\/\S*$/.exec(before);
  if (command) return found(key, 0, commands(command[0]));
  const mention = /(?:^|\s)@([\w.]*)$/.exec(before);
  if (mention)
    return found(key, before.length - mention[1].length - 1, people(mention[1].toLowerCase()));
  return null;
}

const found = (key, from, options) =>
  options.length ? { key, from, options: options.slice(0, MOST), active: 0 } : null;

function commands(typed) {
  const { app } = state.workspace;
  return app.commands
    .filter(({ command }) => command.startsWith(typed))
    .map(({ command, usage_hint: usage, description }) => ({
      insert: `${command} `,
      label: [command, usage].filter(Boolean).join(" "),
      hint: description,
      picture: icon("bolt"),
    }));
}

function people(typed) {
  const { groups, users } = state.workspace;
  const fits = (words) =>
    words
      .toLowerCase()
      .split(" ")
      .some((word) => word.startsWith(typed));
  return [
    ...Object.values(groups)
      .filter((group) => fits(group.handle))
      .map((group) => ({
        insert: `@${group.handle} `,
        label: `@${group.handle}`,
        hint: group.name,
        picture: icon("person"),
      })),
    ...Object.values(users)
      .filter((user) => fits(user.real_name) || fits(user.name))
      .map((user) => ({
        insert: `@${user.name} `,
        label: user.real_name,
        hint: `@${user.name}`,
        picture: avatar(user.id, { small: true }),
      })),
  ];
}

/** Puts what was picked in the place of what was typed. */
export function complete(key, id, option) {
  const field = document.getElementById(id);
  const { from } = state.suggest;
  const text = field.value.slice(0, from) + option.insert + field.value.slice(field.selectionStart);
  update({ drafts: { ...state.drafts, [key]: text }, suggest: null });
  // After the render, which moves the caret to the end.
  queueMicrotask(() => {
    const caret = from + option.insert.length;
    field.setSelectionRange(caret, caret);
  });
}

export function suggestions({ options, active }, id, pick) {
  return h(
    "ul",
    {
      class: "options suggestions",
      role: "listbox",
      id: `${id}-list`,
      "aria-label": "Suggestions",
      "data-float": true,
      rendered: (element) => float(element, document.getElementById(id), { above: true }),
    },
    options.map((option, index) =>
      h(
        "li",
        {
          role: "option",
          id: `${id}-${index}`,
          class: index === active ? "active" : "",
          "aria-selected": index === active ? "true" : "false",
          onmousedown: (event) => event.preventDefault(),
          onclick: () => pick(option),
        },
        option.picture,
        h("span", null, option.label),
        h("small", null, option.hint),
      ),
    ),
  );
}
