// The thread beside its channel.

import { closeThread, openPlace, showRun } from "../actions.js";
import { h } from "../dom.js";
import { icon } from "../icons.js";
import { threadKey } from "../load.js";
import { channelOf, placeName } from "../people.js";
import { state, update } from "../store.js";
import { dropping } from "./attachments.js";
import { composer } from "./composer.js";
import { messages } from "./messages.js";

export function thread() {
  const { channel, ts } = state.thread;
  const key = threadKey(channel, ts);
  const shown = state.threads[key];
  const about = channelOf(channel);
  if (!about) return null;
  const list = shown?.messages ?? [];
  const composerKey = `${channel} ${ts}`;
  return h(
    "section",
    {
      class: `pane pane-thread${state.dropping === composerKey ? " dropping" : ""}`,
      key: `thread ${key}`,
      "aria-label": "Thread",
      ...dropping(composerKey),
      created: (pane) => {
        if (!state.focusThread) return;
        update({ focusThread: false });
        if (!state.target) pane.querySelector("[data-composer]")?.focus();
      },
      onkeydown: (event) => event.key === "Escape" && closeThread(),
    },
    h(
      "header",
      { class: "pane-head" },
      h(
        "button",
        {
          type: "button",
          class: "icon-button only-narrow",
          "aria-label": "Back to the channel",
          onclick: () => update({ pane: "place" }),
        },
        icon("back"),
      ),
      h("h2", null, "Thread"),
      h(
        "button",
        {
          type: "button",
          class: "link-button grow",
          onclick: () => openPlace({ kind: "channel", id: channel }),
        },
        placeName(about),
      ),
      runButton(),
      h(
        "button",
        {
          type: "button",
          class: "icon-button not-narrow",
          "aria-label": "Close the thread",
          title: "Close (Escape)",
          onclick: closeThread,
        },
        icon("close"),
      ),
    ),
    shown?.missing
      ? h(
          "div",
          { class: "empty scroll" },
          h("strong", null, "This thread can't be shown"),
          shown.missing,
        )
      : messages(list, { where: "thread", name: "Messages in the thread", key: `list ${key}` }),
    composer({
      channel,
      thread: ts,
      list,
      placeholder: "Reply …",
      broadcastName: about.kind === "im" ? null : about.name,
    }),
  );
}

/** Where thread and run share a pane this goes over to the run; else it shows or hides it. */
function runButton() {
  const found = state.cases[threadKey(state.thread.channel, state.thread.ts)];
  if (!found?.case) return null;
  const shown = state.runOpen && state.side === "run";
  return [
    h(
      "button",
      { key: "to run", type: "button", class: "button only-shared", onclick: () => showRun(true) },
      icon("run"),
      "Run",
    ),
    !state.runOpen &&
      h(
        "button",
        {
          key: "show run",
          type: "button",
          class: "button not-shared",
          "aria-pressed": String(shown),
          onclick: () => showRun(true),
        },
        icon("run"),
        "Run",
      ),
  ];
}
