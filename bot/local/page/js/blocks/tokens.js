// What Slack writes in angle brackets or as elements: people, groups, channels, links, dates.

import { h } from "../dom.js";
import { channelOf, groupOf, nameOf } from "../people.js";
import { now, openMessage, openPlace } from "../actions.js";
import { filePath } from "../parts/photo.js";
import { state, update } from "../store.js";
import { slackDate } from "../time.js";

const SAFE_LINK = /^(https?:|mailto:|tel:)/i;

export function userMention(id) {
  const mine = id === state.me ? " mention-me" : "";
  return h("span", { class: `mention${mine}` }, `@${nameOf(id)}`);
}

export function groupMention(id, label) {
  const group = groupOf(id);
  const mine = group?.users?.includes(state.me) ? " mention-me" : "";
  return h("span", { class: `mention${mine}` }, `@${group?.handle ?? label ?? id}`);
}

export const broadcast = (range) => h("span", { class: "mention mention-me" }, `@${range}`);

export function channelMention(id, label) {
  const channel = channelOf(id);
  if (!channel) return h("span", { class: "mention" }, `#${label ?? id}`);
  return h(
    "button",
    { class: "mention", type: "button", onclick: () => openPlace({ kind: "channel", id }) },
    `#${channel.name}`,
  );
}

const PERMALINK =
  /^https?:\/\/(?:127\.0\.0\.1|localhost)(?::\d+)?\/archives\/(\w+)\/p(\d{10,})(\d{6})(?:\?.*thread_ts=([\d.]+))?/;

/** Our own messages and photos open on the page, other links beside it; one with another scheme
 * stays words. */
export function link(url, children) {
  const message = PERMALINK.exec(url);
  if (message) {
    const [, channel, seconds, micros, root] = message;
    const to = { channel, ts: `${seconds}.${micros}`, thread_ts: root };
    return within(children, () => openMessage(to, { thread: !root }));
  }
  const source = filePath(url);
  if (source)
    return within(children, () => update({ photo: { source, words: source.split("/").pop() } }));
  if (!SAFE_LINK.test(url)) return h("span", null, children);
  return h("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, children);
}

const within = (children, then) =>
  h("button", { type: "button", class: "link-button plain", onclick: then }, children);

export function date(seconds, format) {
  return h("time", null, slackDate(seconds, format, now()));
}
