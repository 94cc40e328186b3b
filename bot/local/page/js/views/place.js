// The pane in the middle: a channel, direct messages with the app, or the app's Home.

import { openPlace } from "../actions.js";
import { blocks } from "../blocks/blocks.js";
import { h } from "../dom.js";
import { icon } from "../icons.js";
import { loadEarlier } from "../load.js";
import { channelOf, nameOf, userOf } from "../people.js";
import { state, update } from "../store.js";
import { dropping } from "./attachments.js";
import { composer } from "./composer.js";
import { messages } from "./messages.js";
import { welcome } from "./stories.js";

export function place() {
  return state.place.kind === "home" ? home() : channel(state.place.id);
}

const back = () =>
  h(
    "button",
    {
      type: "button",
      class: "icon-button only-narrow",
      "aria-label": "Back to the channels",
      onclick: () => update({ pane: "rail" }),
    },
    icon("back"),
  );

function channel(id) {
  const about = channelOf(id);
  if (!about) return h("section", { class: "pane pane-place", key: "none" });
  const shown = state.channels[id];
  const list = shown?.messages ?? [];
  const name = about.kind === "im" ? nameOf(about.with) : about.name;
  const key = `${id} `;
  return h(
    "section",
    {
      class: `pane pane-place${state.dropping === key ? " dropping" : ""}`,
      key: id,
      id: "place",
      "aria-label": name,
      ...dropping(key),
    },
    h(
      "header",
      { class: "pane-head" },
      back(),
      h("h2", null, about.kind === "im" ? null : icon("hash"), name),
      h("span", { class: "soft grow" }, about.kind === "im" ? "Direct messages" : members(about)),
      about.is_shared &&
        h("span", { class: "tag warn", title: "Shared with another organisation" }, "Shared"),
    ),
    about.kind === "im" && state.workspace.app.has_home && tabs("messages"),
    messages(list, {
      where: "channel",
      name: `Messages in ${name}`,
      key: `list ${id}`,
      newFrom: state.newFrom,
      before: shown?.has_more ? earlier(id) : shown && !list.length && empty(about),
      after: welcome(id),
    }),
    composer({
      channel: id,
      list,
      placeholder: about.kind === "im" ? `Message ${name}` : `Message #${name}`,
    }),
  );
}

function members(about) {
  const people = about.members.filter((id) => !userOf(id)?.is_bot).length;
  return `${people} people${about.app_is_in ? ` and ${state.workspace.app.name}` : ""}`;
}

function earlier(id) {
  return h(
    "p",
    { class: "earlier" },
    h(
      "button",
      { type: "button", class: "button", onclick: () => loadEarlier(id) },
      "Show earlier messages",
    ),
  );
}

function empty(about) {
  const words =
    about.kind === "im"
      ? `Nobody wrote here yet. ${state.workspace.app.name} says how to open a case.`
      : about.id === state.homeChannel
        ? "Paste what a customer wrote, and choose whose case it is. The agent goes to work in its thread."
        : about.app_is_in
          ? "What the agent needs a lead for is asked here."
          : "A place to talk. The app isn't in it.";
  return h("div", { class: "empty" }, h("strong", null, "Nothing here yet"), words);
}

// The app's Home ------------------------------------------------------------------------------

function tabs(current) {
  const direct = state.workspace.channels.find(({ kind }) => kind === "im");
  const tab = (name, label, to) =>
    h(
      "button",
      {
        type: "button",
        class: "tab",
        "aria-current": name === current ? "page" : null,
        onclick: () => openPlace(to),
      },
      label,
    );
  return h(
    "nav",
    { class: "tabs", "aria-label": "The app" },
    tab("home", "Home", { kind: "home" }),
    direct && tab("messages", "Messages", { kind: "channel", id: direct.id }),
  );
}

function home() {
  const view = state.home?.view;
  const { app } = state.workspace;
  return h(
    "section",
    { class: "pane pane-place", key: "home", id: "place", "aria-label": `Home of ${app.name}` },
    h(
      "header",
      { class: "pane-head" },
      back(),
      h("h2", null, app.name),
      h("span", { class: "soft grow" }, "App"),
    ),
    tabs("home"),
    h(
      "div",
      { class: "scroll home" },
      view
        ? blocks({ place: { view_id: view.id }, view }, view.blocks)
        : h(
            "div",
            { class: "empty" },
            h("strong", null, state.home ? "Nothing here yet" : "Opening …"),
            state.home && `${app.name} has shown ${nameOf(state.me)} no Home so far.`,
          ),
    ),
  );
}
