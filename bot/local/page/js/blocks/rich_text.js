// A rich_text block: sections, lists, quotes, preformatted text, and what stands in them.

import { h } from "../dom.js";
import { glyph } from "../emoji.js";
import { broadcast, channelMention, date, groupMention, link, userMention } from "./tokens.js";

export function richText(block) {
  return h("div", { class: "rich" }, block.elements.map(part));
}

function part(element) {
  const inner = element.elements ?? [];
  switch (element.type) {
    case "rich_text_list": {
      const level = `list-level-${Math.min(element.indent ?? 0, 4)}`;
      const ordered = element.style === "ordered";
      return h(
        ordered ? "ol" : "ul",
        { class: level, start: ordered && element.offset ? element.offset + 1 : null },
        inner.map((item) => h("li", null, (item.elements ?? []).map(word))),
      );
    }
    case "rich_text_quote":
      return h("blockquote", null, inner.map(word));
    case "rich_text_preformatted":
      return h("pre", { class: "fence" }, inner.map(word));
    default:
      return h("div", { class: "words" }, inner.map(word));
  }
}

function word(element) {
  switch (element.type) {
    case "text":
      return styled(element.text, element.style);
    case "link":
      return styled(link(element.url, element.text ?? element.url), element.style);
    case "user":
      return userMention(element.user_id);
    case "usergroup":
      return groupMention(element.usergroup_id);
    case "channel":
      return channelMention(element.channel_id);
    case "broadcast":
      return broadcast(element.range);
    case "emoji":
      return h("span", { class: "emoji" }, glyph(element.name));
    case "date":
      return date(element.timestamp, element.format);
    case "color":
      return h("code", null, element.value);
    default:
      return element.text ?? "";
  }
}

function styled(words, style) {
  const tags = { bold: "strong", italic: "em", strike: "s", code: "code", underline: "u" };
  return Object.entries(tags).reduce(
    (inner, [name, tag]) => (style?.[name] ? h(tag, null, inner) : inner),
    words,
  );
}
