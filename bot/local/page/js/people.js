// Names of people, groups and channels, and the avatars drawn from them.

import { h } from "./dom.js";
import { mark } from "./icons.js";
import { state } from "./store.js";

export const userOf = (id) => state.workspace?.users[id] ?? null;
export const groupOf = (id) => state.workspace?.groups[id] ?? null;
export const channelOf = (id) =>
  state.workspace?.channels.find((channel) => channel.id === id) ?? null;
export const personOf = (id) => state.people.find((person) => person.id === id) ?? null;

export const nameOf = (id) =>
  userOf(id)?.real_name ?? personOf(id)?.real_name ?? (id === "USLACKBOT" ? "Slackbot" : id);

export const firstName = (id) => nameOf(id).split(" ")[0];

/** "#support-cases", or who the direct messages are with. */
export function placeName(channel) {
  return channel.kind === "im" ? nameOf(channel.with) : `#${channel.name}`;
}

/** Coloured initials; the app has its mark. The name always stands beside it. */
export function avatar(id, { small = false, name = nameOf(id) } = {}) {
  const size = small ? " small" : "";
  if (id && id === state.workspace?.app.user_id) {
    return h("span", { class: `avatar${size}`, "aria-hidden": "true" }, mark());
  }
  const initials = name
    .split(/\s+/)
    .map((word) => [...word][0] ?? "")
    .slice(0, 2)
    .join("");
  const colour = userOf(id)?.is_bot ? "hue-app" : `hue-${hue(id ?? name)}`;
  return h(
    "span",
    { class: `avatar ${colour}${size}`, "aria-hidden": "true" },
    initials.toUpperCase(),
  );
}

function hue(text) {
  const place = state.people.findIndex((person) => person.id === text);
  if (place >= 0) return place % 8;
  let sum = 0;
  for (const character of text) sum = (sum * 31 + character.codePointAt(0)) % 8;
  return sum;
}
