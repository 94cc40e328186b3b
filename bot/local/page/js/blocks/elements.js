// The elements that a person can use: buttons, selects, choices, fields.

import { act } from "../api.js";
import { elementKey, press } from "../doing.js";
import { h } from "../dom.js";
import { icon } from "../icons.js";
import { idFor } from "../keys.js";
import { openMenu } from "../parts/menu.js";
import { combobox } from "../parts/combobox.js";
import { state } from "../store.js";
import { fileInput } from "./file_input.js";
import { pick, type, typed, valueOf } from "./values.js";

/**
 * One element where it stands. `spot` is {place, view?}: the API's place, and the view when it is
 * no message. `extra` are attributes for the field (its label's and errors' ids).
 */
export function element(spot, block, item, extra = {}) {
  if (item.visible_to_user_ids && !item.visible_to_user_ids.includes(state.me)) return null;
  const draw = DRAW[item.type];
  return draw ? draw(spot, block, item, extra) : h("span", { class: "soft" }, `[${item.type}]`);
}

const DRAW = {
  button,
  icon_button: iconButton,
  feedback_buttons: feedbackButtons,
  overflow,
  static_select: staticSelect,
  external_select: externalSelect,
  users_select: usersSelect,
  checkboxes: (...its) => choices("checkbox", ...its),
  radio_buttons: (...its) => choices("radio", ...its),
  datepicker,
  file_input: fileInput,
  plain_text_input: (...its) => textInput("text", ...its),
  number_input: (...its) => textInput("number", ...its),
  email_text_input: (...its) => textInput("email", ...its),
  url_text_input: (...its) => textInput("url", ...its),
};

// Buttons -------------------------------------------------------------------------------------

function button(spot, block, item) {
  const isBusy = state.busy[elementKey(spot.place, block, item)];
  return h(
    "button",
    {
      key: item.action_id,
      type: "button",
      class: `button ${item.style ?? ""}${isBusy ? " busy" : ""}`,
      "aria-label": item.accessibility_label,
      "aria-disabled": isBusy ? "true" : null,
      onclick: () => {
        if (item.url) window.open(item.url, "_blank", "noopener");
        press(spot.place, block, item);
      },
    },
    item.text.text,
  );
}

function iconButton(spot, block, item) {
  const label = item.accessibility_label ?? item.text.text;
  return h(
    "button",
    {
      key: item.action_id,
      type: "button",
      class: "icon-button",
      "aria-label": label,
      title: label,
      onclick: () => press(spot.place, block, item),
    },
    icon(item.icon),
  );
}

function feedbackButtons(spot, block, item) {
  const side = (one) =>
    h(
      "button",
      {
        type: "button",
        class: "button",
        "aria-label": one.accessibility_label,
        onclick: () => press(spot.place, block, item, { type: item.type, value: one.value }),
      },
      one.text.text,
    );
  return [side(item.positive_button), side(item.negative_button)];
}

function overflow(spot, block, item) {
  const items = item.options.map((option) => ({
    label: option.text.text,
    hint: option.description?.text,
    then: () => pick(spot, block, item, option),
  }));
  return h(
    "button",
    {
      key: item.action_id,
      type: "button",
      class: "icon-button",
      "aria-label": "More actions",
      "aria-haspopup": "menu",
      onclick: (event) => openMenu(event, "More actions", items),
    },
    icon("more"),
  );
}

// Selects -------------------------------------------------------------------------------------

function select(spot, block, item, extra, search, { least = 0, words } = {}) {
  const value = valueOf(spot, block, item);
  const placeholder = item.placeholder?.text ?? "Choose";
  return combobox({
    key: elementKey(spot.place, block, item),
    label: extra["aria-labelledby"] ? null : placeholder,
    placeholder,
    least,
    search,
    picked: words ? words(value) : value?.selected_option?.text.text,
    onpick: (option) => pick(spot, block, item, words ? option.value : plainOption(option)),
    ...extra,
  });
}

const plainOption = ({ text, value, description }) =>
  description ? { text, value, description } : { text, value };

const holding = (options, query) => ({
  options: options.filter((option) => option.text.text.toLowerCase().includes(query.toLowerCase())),
});

function staticSelect(spot, block, item, extra) {
  const options = item.options ?? item.option_groups.flatMap((group) => group.options);
  return select(spot, block, item, extra, (query) => holding(options, query));
}

function externalSelect(spot, block, item, extra) {
  const { place } = spot;
  const { block_id } = block;
  const { action_id, min_query_length: least = 3 } = item;
  const search = async (query) => {
    const { ok, options, error } = await act("options", { place, block_id, action_id, query });
    return ok ? { options } : { error };
  };
  return select(spot, block, item, extra, search, { least });
}

function usersSelect(spot, block, item, extra) {
  const users = Object.values(state.workspace.users);
  const options = users.map((user) => ({ text: { text: user.real_name }, value: user.id }));
  const words = (value) =>
    users.find((user) => user.id === (value?.selected_user ?? item.initial_user))?.real_name;
  return select(spot, block, item, extra, (query) => holding(options, query), { words });
}

// Choices and fields --------------------------------------------------------------------------

function choices(kind, spot, block, item, extra) {
  const value = valueOf(spot, block, item);
  const picked = kind === "radio" ? [value?.selected_option] : (value?.selected_options ?? []);
  const isPicked = (option) => picked.some((one) => one?.value === option.value);
  const change = (option, checked) => {
    if (kind === "radio") return pick(spot, block, item, option);
    const others = picked.filter((one) => one.value !== option.value);
    return pick(spot, block, item, checked ? [...others, option] : others);
  };
  const name = idFor(elementKey(spot.place, block, item));
  return h(
    "div",
    {
      class: "choices",
      role: kind === "radio" ? "radiogroup" : "group",
      "aria-labelledby": extra["aria-labelledby"] ?? null,
      "aria-describedby": extra["aria-describedby"] ?? null,
    },
    item.options.map((option) =>
      h(
        "label",
        { class: "choice" },
        h("input", {
          type: kind,
          name,
          checked: isPicked(option),
          onchange: (event) => change(option, event.target.checked),
        }),
        h(
          "span",
          null,
          option.text.text,
          option.description && h("small", null, option.description.text),
        ),
      ),
    ),
  );
}

function datepicker(spot, block, item, extra) {
  return h("input", {
    class: "field narrow",
    type: "date",
    value: valueOf(spot, block, item)?.selected_date ?? "",
    "aria-label": extra["aria-labelledby"] ? null : (item.placeholder?.text ?? "Date"),
    onchange: (event) => pick(spot, block, item, event.target.value || null),
    ...extra,
  });
}

function textInput(kind, spot, block, item, extra) {
  const multiline = Boolean(item.multiline);
  return h(multiline ? "textarea" : "input", {
    class: "field",
    // A number field of the browser's own would hide what isn't a number from the app.
    type: multiline ? null : kind === "number" ? "text" : kind,
    inputmode: kind === "number" ? (item.is_decimal_allowed ? "decimal" : "numeric") : null,
    value: valueOf(spot, block, item) ?? "",
    placeholder: item.placeholder?.text,
    maxlength: item.max_length,
    autocomplete: "off",
    autofocus: item.focus_on_load,
    oninput: (event) => type(spot, block, item, event.target.value),
    onchange: () => typed(spot, block, item),
    ...extra,
  });
}
