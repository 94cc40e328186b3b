// What is chosen or typed in an element: in a modal it is kept until it is sent in, elsewhere the
// app is told at once.

import { choose, elementKey } from "../doing.js";
import { formOf } from "../form.js";
import { state, update } from "../store.js";

// Which of the API's fields carries a choice; its state's name is "selected_" + that.
const PICKED = {
  static_select: "option",
  external_select: "option",
  radio_buttons: "option",
  overflow: "option",
  checkboxes: "options",
  users_select: "user",
  datepicker: "date",
};

const isState = ({ type: kind }) => kind in PICKED || kind === "file_input";

/** A string for typed inputs, a state object for the others, null when nothing is there. */
export function valueOf(spot, block, element) {
  const { view, place } = spot;
  if (view) {
    const typed = formOf(view).values[block.block_id]?.[element.action_id];
    if (typed !== undefined) return typed;
    const kept = view.state?.values?.[block.block_id]?.[element.action_id];
    if (kept) return isState(element) ? kept : kept.value;
  } else {
    const picked = state.chosen[elementKey(place, block, element)];
    const name = PICKED[element.type];
    if (picked && name) return { [`selected_${name}`]: picked[name] };
  }
  return initial(element);
}

function initial(element) {
  if (!isState(element)) return element.initial_value ?? "";
  const name = PICKED[element.type];
  const value = element[`initial_${name}`];
  return value === undefined ? null : { [`selected_${name}`]: value };
}

/** Something was picked: an option, a list of options, a user's id or a date. */
export function pick(spot, block, element, value) {
  const name = PICKED[element.type];
  if (spot.view)
    keep(spot.view, block, element, { type: element.type, [`selected_${name}`]: value });
  if (tellsTheApp(spot, block)) choose(spot.place, block, element, { [name]: value });
}

/** Something was typed into a field of a modal. */
export function type(spot, block, element, text) {
  keep(spot.view, block, element, text);
}

/** Files were chosen in a field of a modal: all that stand there now. */
export function hold(spot, block, element, files) {
  keep(spot.view, block, element, { type: element.type, files });
}

/** The typing is over: fields that ask for it tell the app. */
export function typed(spot, block, element) {
  if (block.dispatch_action) {
    choose(spot.place, block, element, { value: valueOf(spot, block, element) });
  }
}

const tellsTheApp = ({ view }, block) =>
  view?.type !== "modal" || block.type !== "input" || Boolean(block.dispatch_action);

function keep(view, block, element, value) {
  const form = formOf(view);
  const inBlock = { ...form.values[block.block_id], [element.action_id]: value };
  const { [block.block_id]: _, ...errors } = form.errors;
  update({ form: { ...form, errors, values: { ...form.values, [block.block_id]: inBlock } } });
}
