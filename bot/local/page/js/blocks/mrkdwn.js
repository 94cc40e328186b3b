// Slack's markup as elements: *bold*, _italic_, ~struck~, `code`, ```fences```, > quotes, tokens.

import { h } from "../dom.js";
import { glyph, GLYPHS } from "../emoji.js";
import { broadcast, channelMention, date, groupMention, link, userMention } from "./tokens.js";

const INLINE = new RegExp(
  [
    /```\n?(?<fence>[\s\S]+?)\n?```/,
    /`(?<code>[^`\n]+)`/,
    /<(?<target>[^<>|\n]+)(?:\|(?<label>[^<>\n]*))?>/,
    /(?<![\w*])\*(?<bold>[^\s*](?:[^*\n]*[^\s*])?)\*(?![\w*])/,
    /(?<![\w_])_(?<italic>[^\s_](?:[^_\n]*[^\s_])?)_(?![\w_])/,
    /(?<![\w~])~(?<struck>[^\s~](?:[^~\n]*[^\s~])?)~(?![\w~])/,
    /:(?<emoji>[a-z0-9_+-]+):/,
  ]
    .map((form) => form.source)
    .join("|"),
  "g",
);

/** A whole text: lines that begin with > are quotes, the others stand as they are. */
export function mrkdwn(text) {
  const parts = [];
  let lines = [];
  let quoted = false;
  const end = () => {
    if (lines.length) {
      const words = inline(lines.join("\n"));
      parts.push(quoted ? h("blockquote", null, words) : words);
    }
    lines = [];
  };
  for (const line of text.split("\n")) {
    const isQuote = /^(&gt;|>)/.test(line);
    if (isQuote !== quoted) end();
    quoted = isQuote;
    lines.push(isQuote ? line.replace(/^(&gt;|>) ?/, "") : line);
  }
  end();
  return parts;
}

function inline(text) {
  const parts = [];
  let position = 0;
  for (const match of text.matchAll(INLINE)) {
    const element = elementOf(match.groups);
    if (element === null) continue;
    parts.push(decoded(text.slice(position, match.index)), element);
    position = match.index + match[0].length;
  }
  parts.push(decoded(text.slice(position)));
  return parts;
}

function elementOf(groups) {
  if (groups.fence) return h("pre", { class: "fence" }, decoded(groups.fence));
  if (groups.code) return h("code", null, decoded(groups.code));
  if (groups.target) return token(groups.target, groups.label);
  if (groups.bold) return h("strong", null, inline(groups.bold));
  if (groups.italic) return h("em", null, inline(groups.italic));
  if (groups.struck) return h("s", null, inline(groups.struck));
  return groups.emoji in GLYPHS ? h("span", { class: "emoji" }, glyph(groups.emoji)) : null;
}

function token(target, label) {
  const words = label ? decoded(label) : undefined;
  const rest = target.slice(1);
  if (target.startsWith("@")) return userMention(rest);
  if (target.startsWith("#")) return channelMention(rest, words);
  if (target.startsWith("!subteam^")) return groupMention(target.slice(9), words);
  if (target.startsWith("!date^")) {
    const [, seconds, format] = target.split("^");
    return date(Number(seconds), format);
  }
  if (target.startsWith("!")) return broadcast(words ?? rest);
  return link(decoded(target), words ?? decoded(target));
}

/** Slack escapes three characters, once. */
export function decoded(text) {
  return text.replace(/&(amp|lt|gt);/g, (_, name) => ({ amp: "&", lt: "<", gt: ">" })[name]);
}

/** Slack's text as one could type it: to edit it, or to say it aloud. `handle` names a user. */
export function plainText(text, handle = (id) => id) {
  return decoded(
    text.replace(/<([^<>|]+)(?:\|([^<>]*))?>/g, (_, target, label) => {
      if (target.startsWith("@")) return `@${handle(target.slice(1))}`;
      if (target.startsWith("#")) return `#${label ?? target.slice(1)}`;
      if (target.startsWith("!subteam^")) return label ?? "@group";
      if (target.startsWith("!date^")) return label ?? "";
      if (target.startsWith("!")) return `@${label ?? target.slice(1)}`;
      return label ?? target;
    }),
  );
}
