// A model call to read: the system prompt and tools folded away, the messages as a conversation.

import { h } from "../dom.js";
import { json } from "./json.js";

export function readableRequest({ request: { body }, new_from: newFrom, request_id: id }) {
  const system =
    typeof body.system === "string"
      ? body.system
      : (body.system ?? []).map(({ text }) => text).join("\n\n");
  return h(
    "div",
    { class: "readable" },
    system &&
      folded(
        "System prompt",
        `${system.length.toLocaleString("en")} characters`,
        h("pre", { class: "prose" }, system),
      ),
    body.tools?.length > 0 &&
      folded(
        "Tools",
        `${body.tools.length}`,
        h(
          "dl",
          { class: "tools" },
          body.tools.flatMap((tool) => [h("dt", null, tool.name), h("dd", null, tool.description)]),
        ),
      ),
    (body.messages ?? []).map((message, index) => [
      index === newFrom &&
        index > 0 &&
        h("p", { class: "divider new", key: "new" }, h("span", null, "New in this call")),
      turn(message, `${id} ${index}`, index < newFrom),
    ]),
  );
}

export const readableReply = (reply) =>
  h(
    "div",
    { class: "readable" },
    turn({ role: "assistant", content: reply.content }, `${reply.id} reply`, false),
    h("p", { class: "soft" }, `Stop reason: ${reply.stop_reason}`),
  );

function folded(name, size, inner) {
  return h(
    "details",
    { class: "folded", key: name },
    h("summary", null, h("strong", null, name), h("span", { class: "soft" }, ` ${size}`)),
    inner,
  );
}

function turn({ role, content }, key, old) {
  const parts = typeof content === "string" ? [{ type: "text", text: content }] : content;
  return h(
    "div",
    { class: `turn ${role}${old ? " old" : ""}`, key },
    h("p", { class: "role" }, role),
    parts.map((part, index) => block(part, `${key} ${index}`)),
  );
}

function block(part, key) {
  switch (part.type) {
    case "text":
      return h("p", { class: "said" }, part.text);
    case "thinking":
      return h(
        "details",
        { class: "thinking" },
        h("summary", null, "Thinking"),
        h("p", { class: "said" }, part.thinking || "Kept by the API, not shown."),
      );
    case "redacted_thinking":
      return h("p", { class: "soft" }, "Thinking, redacted");
    case "tool_use":
      return h(
        "div",
        { class: "tool" },
        h("p", null, "calls ", h("code", null, part.name)),
        pairs(part.input),
      );
    case "tool_result":
      return h(
        "div",
        { class: `tool result${part.is_error ? " bad" : ""}` },
        h("p", null, part.is_error ? "failed with" : "result"),
        result(part.content, key),
      );
    case "image":
      return image(part.source);
    default:
      return json(key, part, { label: part.type, open: () => false });
  }
}

function pairs(input) {
  const entries = Object.entries(input ?? {});
  if (!entries.length) return null;
  return h(
    "dl",
    null,
    entries.flatMap(([name, value]) => [
      h("dt", null, name),
      h("dd", null, typeof value === "string" ? value : JSON.stringify(value)),
    ]),
  );
}

function result(content, key) {
  if (Array.isArray(content)) return content.map((part, index) => block(part, `${key} ${index}`));
  try {
    const value = JSON.parse(content);
    if (value !== null && typeof value === "object")
      return json(key, value, { label: "the result", open: () => true, bare: true });
  } catch {
    // Words, not JSON.
  }
  return h("p", { class: "said" }, content);
}

function image(source) {
  const address =
    source.type === "stored"
      ? `/api/image/${source.digest}`
      : source.type === "base64"
        ? `data:${source.media_type};base64,${source.data}`
        : null;
  if (!address) return h("p", { class: "soft" }, "A photo");
  return h("img", { class: "seen", src: address, alt: "A photo that the model sees" });
}
