// The rail: who I am, the channels, direct messages, the app.

import { becomePerson, openPlace } from "../actions.js";
import { h } from "../dom.js";
import { icon } from "../icons.js";
import { openMenu } from "../parts/menu.js";
import { avatar, nameOf, personOf } from "../people.js";
import { state } from "../store.js";

export function rail() {
  const { app, channels } = state.workspace;
  const direct = channels.filter(({ kind }) => kind === "im");
  return h(
    "nav",
    { class: "rail", "aria-label": "Workspace" },
    whoAmI(),
    h(
      "div",
      { class: "scroll" },
      group("Channels", channels.filter(({ kind }) => kind !== "im").map(channelRow)),
      group("Direct messages", direct.map(directRow)),
      group("Apps", [homeRow(app)]),
    ),
  );
}

function whoAmI() {
  const me = personOf(state.me);
  const items = state.people.map((person) => ({
    label: person.real_name,
    hint: person.role_label,
    picture: avatar(person.id, { small: true }),
    checked: person.id === state.me,
    then: () => becomePerson(person.id),
  }));
  return h(
    "button",
    {
      type: "button",
      class: "who-am-i",
      "aria-haspopup": "menu",
      "aria-label": `You are ${me.real_name}, ${me.role_label}. Be somebody else`,
      onclick: (event) => openMenu(event, "Who am I?", items),
    },
    avatar(me.id),
    h("span", { class: "grow" }, h("strong", null, me.real_name), h("small", null, me.role_label)),
    icon("down"),
  );
}

function group(name, rows) {
  if (!rows.length) return null;
  return h("section", { key: name, "aria-label": name }, h("h2", null, name), h("ul", null, rows));
}

function row({ key, label, picture, unread = 0, mentions = 0, threads = 0, place }) {
  const isHere = state.place.kind === place.kind && state.place.id === place.id;
  const isNew = unread > 0 || threads > 0;
  const words = [
    label,
    unread && `${unread} unread`,
    threads && `${threads} threads with new replies`,
    mentions && `${mentions} for you`,
  ];
  return h(
    "li",
    { key },
    h(
      "button",
      {
        type: "button",
        class: isNew && !isHere ? "new" : "",
        "aria-current": isHere ? "page" : null,
        "aria-label": words.filter(Boolean).join(", "),
        onclick: () => openPlace(place),
      },
      picture,
      h("span", { class: "grow" }, label),
      mentions > 0
        ? h("span", { class: "badge" }, mentions)
        : isNew && h("span", { class: "unread-dot" }),
    ),
  );
}

const channelRow = (channel) =>
  row({
    key: channel.id,
    label: channel.name,
    picture: icon(channel.kind === "group" ? "lock" : "hash"),
    unread: channel.unread,
    mentions: channel.mentions,
    threads: channel.unread_threads,
    place: { kind: "channel", id: channel.id },
  });

const directRow = (channel) =>
  row({
    key: channel.id,
    label: nameOf(channel.with),
    picture: avatar(channel.with, { small: true }),
    unread: channel.unread,
    mentions: channel.unread,
    place: { kind: "channel", id: channel.id },
  });

function homeRow(app) {
  return row({
    key: "home",
    label: `${app.name} Home`,
    picture: icon("home"),
    place: { kind: "home" },
  });
}
