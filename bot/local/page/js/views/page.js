// The whole page from the state.

import { h } from "../dom.js";
import { menu } from "../parts/menu.js";
import { lightbox } from "../parts/photo.js";
import { exchange } from "../run/exchange.js";
import { run } from "../run/run.js";
import { state } from "../store.js";
import { confirm, modal, notices } from "./dialogs.js";
import { place } from "./place.js";
import { rail } from "./rail.js";
import { storyBar } from "./stories.js";
import { thread } from "./thread.js";
import { top } from "./top.js";

export function page() {
  if (state.failed) return h("p", { class: "starting" }, state.failed);
  if (!state.workspace || !state.place)
    return h("p", { class: "starting" }, "Opening the workspace …");
  const hasModal = Boolean(state.modal?.view);
  return [
    h("a", { class: "skip", href: "#place", onclick: skip }, "Skip to the messages"),
    h(
      "div",
      {
        class: "app",
        "data-pane": state.pane,
        "data-side": shownSide(),
        "data-run": String(state.runOpen),
      },
      top(),
      h(
        "div",
        { class: "bars" },
        !state.connected &&
          h("p", { class: "cut", role: "alert" }, "The workspace doesn't answer. Trying again …"),
        storyBar(),
      ),
      rail(),
      h(
        "main",
        { class: "panes" },
        place(),
        state.thread && thread(),
        (state.runOpen || state.pane === "run") && run(),
      ),
    ),
    h("p", { class: "hidden-words", "aria-live": "polite" }, state.spoken),
    !hasModal && menu(),
    exchange(),
    modal(),
    confirm(),
    lightbox(),
    notices(),
  ];
}

/** Of two that share a pane the thread is shown, unless the run was asked for. */
const shownSide = () => (state.thread && state.side === "thread" ? "thread" : "run");

function skip(event) {
  event.preventDefault();
  document.querySelector('[data-composer="channel"]')?.focus();
}
