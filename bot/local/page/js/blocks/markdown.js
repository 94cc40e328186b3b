// A markdown block: headings, lists, quotes, fences, and the usual marks inside a line.

import { h } from "../dom.js";
import { link } from "./tokens.js";

const MARKS = new RegExp(
  [
    /`(?<code>[^`\n]+)`/,
    /\[(?<label>[^\]\n]+)\]\((?<url>[^)\s]+)\)/,
    /\*\*(?<bold>[^*\n]+)\*\*/,
    /(?<![\w*])\*(?<italic>[^*\n]+)\*(?![\w*])/,
    /~~(?<struck>[^~\n]+)~~/,
  ]
    .map((form) => form.source)
    .join("|"),
  "g",
);

export function markdown(text) {
  const found = [];
  const lines = text.split("\n");
  while (lines.length) {
    const line = lines[0];
    if (line.startsWith("```")) found.push(fence(lines));
    else if (/^#{1,6} /.test(line)) {
      found.push(h("p", { class: "heading" }, marks(lines.shift().replace(/^#+ /, ""))));
    } else if (/^> ?/.test(line)) found.push(h("blockquote", null, run(lines, /^> ?/)));
    else if (/^[-*] /.test(line)) found.push(h("ul", null, items(lines, /^[-*] /)));
    else if (/^\d+\. /.test(line)) found.push(h("ol", null, items(lines, /^\d+\. /)));
    else found.push(h("p", null, marks(lines.shift())));
  }
  return h("div", { class: "rich" }, found);
}

function fence(lines) {
  lines.shift();
  const inner = [];
  while (lines.length && !lines[0].startsWith("```")) inner.push(lines.shift());
  lines.shift();
  return h("pre", { class: "fence" }, inner.join("\n"));
}

function run(lines, form) {
  const inner = [];
  while (lines.length && form.test(lines[0])) inner.push(lines.shift().replace(form, ""));
  return marks(inner.join("\n"));
}

function items(lines, form) {
  const found = [];
  while (lines.length && form.test(lines[0])) {
    found.push(h("li", null, marks(lines.shift().replace(form, ""))));
  }
  return found;
}

function marks(text) {
  const parts = [];
  let position = 0;
  for (const match of text.matchAll(MARKS)) {
    const { code, label, url, bold, italic, struck } = match.groups;
    parts.push(text.slice(position, match.index));
    if (code) parts.push(h("code", null, code));
    else if (label) parts.push(link(url, label));
    else if (bold) parts.push(h("strong", null, marks(bold)));
    else if (italic) parts.push(h("em", null, marks(italic)));
    else parts.push(h("s", null, marks(struck)));
    position = match.index + match[0].length;
  }
  parts.push(text.slice(position));
  return parts;
}
