// The pane "Run": what the agent did in this thread, live; the lot of them where no thread is open.

import { backFromRun, showRun } from "../actions.js";
import { h } from "../dom.js";
import { icon } from "../icons.js";
import { moved } from "../keys.js";
import { threadKey } from "../load.js";
import { channelOf } from "../people.js";
import { state, update } from "../store.js";
import { allCases } from "./cases.js";
import { inbox, outbox, payments, record } from "./records.js";
import { statusTag } from "./status.js";
import { steps } from "./steps.js";

const TABS = {
  steps: ["Steps", steps],
  record: ["Record", record],
  inbox: ["Inbox", inbox],
  outbox: ["Outbox", outbox],
  payments: ["Payments", payments],
};

export function run() {
  const { thread } = state;
  const found =
    thread && channelOf(thread.channel) && state.cases[threadKey(thread.channel, thread.ts)];
  return h(
    "section",
    { class: "pane pane-run", key: "run", id: "run", "aria-label": "Run" },
    h(
      "header",
      { class: "pane-head" },
      h(
        "button",
        {
          type: "button",
          class: "icon-button only-narrow",
          "aria-label": "Back",
          onclick: () => update({ pane: backFromRun() }),
        },
        icon("back"),
      ),
      h("h2", null, found?.case ? "Run" : "All runs"),
      found?.case &&
        h("span", { class: "soft grow" }, found.case.customer_name || "No customer yet"),
      !found?.case && h("span", { class: "grow" }),
      found?.case && statusTag(found.live.status, found.live.working),
      thread &&
        h(
          "button",
          {
            type: "button",
            class: "button only-shared not-narrow",
            onclick: () => update({ side: "thread", pane: "thread" }),
          },
          icon("thread"),
          "Thread",
        ),
      h(
        "button",
        {
          type: "button",
          class: "icon-button not-narrow",
          "aria-label": "Hide the run",
          title: "Hide the run",
          onclick: () => showRun(false),
        },
        icon("close"),
      ),
    ),
    found?.case ? inside(found) : allCases(),
  );
}

function inside(found) {
  const last = found.runs.at(-1)?.run.run_id;
  const chosen = found.runs.find(({ run: one }) => one.run_id === state.runId) ?? found.runs.at(-1);
  const [, draw] = TABS[state.runTab];
  return [
    found.runs.length > 1 &&
      h(
        "label",
        { class: "run-choice" },
        h("span", null, "Run"),
        h(
          "select",
          {
            class: "field",
            value: chosen.run.run_id,
            onchange: ({ target }) =>
              update({ runId: target.value === last ? null : target.value }),
          },
          found.runs.map(({ run: one }, index) =>
            h(
              "option",
              { value: one.run_id, key: one.run_id },
              `${index + 1} of ${found.runs.length}, ${one.status.replaceAll("_", " ")}`,
            ),
          ),
        ),
      ),
    tabs(),
    h(
      "div",
      {
        class: "scroll run-body",
        role: "tabpanel",
        id: "run-panel",
        "aria-labelledby": `tab-${state.runTab}`,
        tabindex: 0,
        key: state.runTab,
      },
      draw(found, chosen),
    ),
  ];
}

function tabs() {
  const names = Object.keys(TABS);
  const go = (event) => {
    const to = moved(event.key, names.indexOf(state.runTab), names.length);
    if (to === null) return;
    event.preventDefault();
    update({ runTab: names[to] });
    document.getElementById(`tab-${names[to]}`).focus();
  };
  return h(
    "div",
    { class: "tabs", role: "tablist", "aria-label": "About the run", onkeydown: go },
    names.map((name) =>
      h(
        "button",
        {
          type: "button",
          class: "tab",
          role: "tab",
          id: `tab-${name}`,
          key: name,
          "aria-selected": String(name === state.runTab),
          "aria-controls": "run-panel",
          tabindex: name === state.runTab ? 0 : -1,
          onclick: () => update({ runTab: name }),
        },
        TABS[name][0],
      ),
    ),
  );
}
