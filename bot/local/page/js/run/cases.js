// All cases, newest first: where the run pane has no thread of its own.

import { now, openMessage } from "../actions.js";
import { h } from "../dom.js";
import { channelOf } from "../people.js";
import { state } from "../store.js";
import { when } from "../time.js";
import { statusTag } from "./status.js";
import { dollars } from "./numbers.js";

export function allCases() {
  const cases = state.allCases ?? [];
  const words = state.thread
    ? "This thread is no case yet. Here are the runs of those that are."
    : "Open a case's thread to see its run: every step, what it cost, the exact request and reply.";
  return h(
    "div",
    { class: "scroll run-body" },
    h(
      "p",
      { class: "soft run-words" },
      cases.length
        ? words
        : "As soon as a customer is chosen in a thread, the agent's run shows here: every step, what it cost, the exact request and reply.",
    ),
    h("ul", { class: "case-list" }, cases.map(row)),
  );
}

function row(one) {
  const here = channelOf(one.channel);
  return h(
    "li",
    { key: one.run_id },
    h(
      "button",
      { type: "button", class: "case", disabled: !here, onclick: () => go(one) },
      h(
        "span",
        { class: "row" },
        h("strong", { class: "grow" }, one.customer_name || one.customer_id),
        statusTag(one.status, one.status === "running"),
      ),
      h(
        "span",
        { class: "soft" },
        `${one.steps} steps, ${dollars(one.cost_usd)}, opened ${when(one.opened_at, now())}`,
      ),
    ),
  );
}

const go = ({ channel, ts }) => openMessage({ channel, ts }, { thread: true });
