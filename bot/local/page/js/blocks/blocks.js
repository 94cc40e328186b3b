// Block Kit: from an app's blocks to elements. Unknown blocks say their type.

import { h } from "../dom.js";
import { idFor } from "../keys.js";
import { picture } from "../parts/photo.js";
import { element } from "./elements.js";
import { markdown } from "./markdown.js";
import { mrkdwn } from "./mrkdwn.js";
import { richText } from "./rich_text.js";
import { formOf } from "../form.js";

/** `spot`: {place, view?} as for elements. */
export function blocks(spot, list) {
  return list.map((block, index) => {
    const draw = DRAW[block.type];
    // Ids that Slack makes are others in each version, and the focus should survive a new one.
    const key = block.type === "input" ? block.block_id : `${index} ${block.type}`;
    const inner = draw ? draw(spot, block) : `[${block.type}]`;
    return h("div", { class: `block block-${block.type}`, key }, inner);
  });
}

const DRAW = {
  header: (_, block) =>
    h("p", { class: "header", role: "heading", "aria-level": 4 }, block.text.text),
  divider: () => h("hr"),
  section,
  context: (spot, block) => block.elements.map((item) => contextItem(spot, item)),
  actions: (spot, block) => block.elements.map((item) => element(spot, block, item)),
  context_actions: (spot, block) => block.elements.map((item) => element(spot, block, item)),
  image: (_, block) => picture(block, block.title?.text),
  rich_text: (_, block) => richText(block),
  markdown: (_, block) => markdown(block.text),
  input,
};

export const text = (object) => (object.type === "mrkdwn" ? mrkdwn(object.text) : object.text);

function section(spot, block) {
  const { accessory } = block;
  return [
    h(
      "div",
      { class: "section-words" },
      block.text && h("div", { class: "words" }, text(block.text)),
      block.fields &&
        h(
          "div",
          { class: "fields" },
          block.fields.map((field) => h("div", { class: "words" }, text(field))),
        ),
    ),
    accessory &&
      h(
        "div",
        { class: "accessory" },
        accessory.type === "image" ? picture(accessory) : element(spot, block, accessory),
      ),
  ];
}

function contextItem(spot, item) {
  if (item.type === "image") return picture(item);
  return h("span", { class: "words" }, text(item));
}

function input(spot, block) {
  const id = idFor(`${spot.place.view_id ?? spot.place.ts} ${block.block_id}`);
  const error = spot.view ? formOf(spot.view).errors[block.block_id] : null;
  const described = [block.hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  return [
    h(
      "p",
      { class: "label", id: `${id}-label` },
      block.label.text,
      block.optional && h("span", { class: "soft" }, " (optional)"),
    ),
    element(spot, block, block.element, {
      "aria-labelledby": `${id}-label`,
      "aria-describedby": described || null,
      "aria-invalid": error ? "true" : null,
      "aria-required": block.optional ? null : "true",
    }),
    error && h("p", { class: "error", id: `${id}-error`, role: "alert" }, error),
    block.hint && h("p", { class: "hint", id: `${id}-hint` }, block.hint.text),
  ];
}
