// What is filled into an open modal and not sent in yet, and what was wrong with it.

import { state } from "./store.js";

/** `values`: block id → action id → typed text or state; `errors`: block id → words. */
export function formOf(view) {
  return state.form?.id === view.id
    ? state.form
    : { id: view.id, values: {}, errors: {}, error: null, busy: false };
}
