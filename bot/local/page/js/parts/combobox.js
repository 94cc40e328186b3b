// A field in which one searches and picks: arrows move, Enter picks, Escape closes.
// Pattern: w3.org/WAI/ARIA/apg, editable combobox with list autocomplete.

import { h } from "../dom.js";
import { float } from "../float.js";
import { icon } from "../icons.js";
import { idFor, moved } from "../keys.js";
import { state, update } from "../store.js";

const PAUSE_MS = 180;

let waiting = null;

/**
 * `search(query)` gives options ({text, description?, value}) or a promise of them, and
 * `least` is from how many characters on it is asked. `picked` is what is chosen, in words.
 */
export function combobox({ key, label, placeholder, picked, least = 0, search, onpick, ...rest }) {
  const id = idFor(key);
  const combo = state.combo?.key === key ? state.combo : null;
  const options = combo?.options ?? [];
  const open = () => combo || begin(key, "", { least, search });
  const pick = (option) => {
    update({ combo: null });
    onpick(option);
  };
  const keydown = (event) => {
    if (event.key === "Escape" && combo) {
      event.preventDefault();
      event.stopPropagation();
      update({ combo: null });
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (combo && options[combo.active]) pick(options[combo.active]);
      else open();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (!combo) open();
      else
        update({
          combo: { ...combo, active: moved(event.key, combo.active, options.length) ?? -1 },
        });
    }
  };
  return h(
    "div",
    { class: "combo", key },
    h("input", {
      class: "field",
      type: "text",
      role: "combobox",
      id,
      "aria-label": label,
      "aria-expanded": combo ? "true" : "false",
      "aria-controls": combo ? `${id}-list` : null,
      "aria-autocomplete": "list",
      "aria-activedescendant": combo && options[combo.active] ? `${id}-${combo.active}` : null,
      autocomplete: "off",
      spellcheck: "false",
      placeholder,
      value: combo ? combo.query : (picked ?? ""),
      onclick: open,
      oninput: (event) => begin(key, event.target.value, { least, search }),
      onkeydown: keydown,
      onblur: () => state.combo?.key === key && update({ combo: null }),
      ...rest,
    }),
    icon("down"),
    combo && list(combo, id, label, least, pick),
  );
}

function list(combo, id, label, least, pick) {
  const words =
    combo.error ??
    (combo.query.length < least
      ? `Type at least ${least} characters`
      : combo.loading
        ? "Searching …"
        : combo.options.length
          ? null
          : "Nothing found");
  return h(
    "div",
    {
      class: "options",
      "data-float": true,
      rendered: (element) => float(element, document.getElementById(id), { wide: true }),
    },
    h("div", { class: "options-words", role: "status" }, words),
    h(
      "ul",
      { role: "listbox", id: `${id}-list`, "aria-label": label },
      combo.options.map((option, index) =>
        h(
          "li",
          {
            role: "option",
            id: `${id}-${index}`,
            class: index === combo.active ? "active" : "",
            "aria-selected": index === combo.active ? "true" : "false",
            onmousedown: (event) => event.preventDefault(),
            onclick: () => pick(option),
            rendered:
              index === combo.active ? (item) => item.scrollIntoView({ block: "nearest" }) : null,
          },
          h("span", null, option.text.text),
          option.description && h("small", null, option.description.text),
        ),
      ),
    ),
  );
}

function begin(key, query, { least, search }) {
  const before = state.combo?.key === key ? state.combo.options : [];
  const combo = { key, query, options: before, active: -1, loading: true, error: null };
  clearTimeout(waiting);
  if (query.length < least) {
    update({ combo: { ...combo, options: [], loading: false } });
    return;
  }
  update({ combo });
  const find = async () => {
    const { options = [], error = null } = await search(query);
    if (state.combo?.key !== key || state.combo.query !== query) return;
    const active = options.length && !error ? 0 : -1;
    update({ combo: { ...combo, options, error, active, loading: false } });
  };
  waiting = setTimeout(find, query ? PAUSE_MS : 0);
}
