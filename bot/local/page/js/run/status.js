// A run's status in words and colour.

import { h } from "../dom.js";

const WORDS = {
  running: ["Working", "accent"],
  waiting_customer: ["Waits for the customer", "warn"],
  waiting_approval: ["Waits for a lead", "warn"],
  done: ["Done", "good"],
  handed_off: ["With a colleague", "bad"],
};

export function statusTag(status, working = false) {
  const [words, kind] = WORDS[status] ?? ["No run yet", ""];
  return h(
    "span",
    { class: `tag ${kind}`, role: "status" },
    working && h("span", { class: "dot live" }),
    words,
  );
}
