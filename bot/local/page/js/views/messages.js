// A list of messages: parted by days and by what is new, kept at its end while one reads there.

import { now } from "../actions.js";
import { h } from "../dom.js";
import { roving } from "../keys.js";
import { state } from "../store.js";
import { dayKey, dayName } from "../time.js";
import { author, message } from "./message.js";

const SAME_BREATH_SECONDS = 300;
const AT_END_PX = 12;

/** `name` says what the list is; `newFrom` is the ts after which others' messages are new. */
export function messages(list, { where, name, key, newFrom = null, before = null, after = null }) {
  let fresh = false;
  const rows = list.flatMap((it, index) => {
    const previous = list[index - 1];
    const newDay = !previous || dayKey(previous.ts) !== dayKey(it.ts);
    const isFirstNew = !fresh && newFrom !== null && it.ts > newFrom && it.user !== state.me;
    fresh ||= isFirstNew;
    const compact = !newDay && !isFirstNew && isSameBreath(previous, it);
    return [
      newDay && where === "channel" && day(it.ts),
      isFirstNew && h("li", { class: "divider new", key: "new" }, h("span", null, "New")),
      message(it, { where, compact, last: index === list.length - 1 }),
      where === "thread" && index === 0 && list.length > 1 && replyCount(list.length - 1),
    ].filter(Boolean);
  });
  return h(
    "div",
    {
      class: "scroll",
      key,
      onscroll: ({ currentTarget: box }) => noticeScroll(box),
      created: (box) => {
        // What grows later (a photo that arrives) moves the end away without a render.
        box.growth = new ResizeObserver(() => stayAtEnd(box));
        for (const each of [box, box.querySelector("ol")]) box.growth.observe(each);
      },
      removed: (box) => box.growth.disconnect(),
      rendered: stayAtEnd,
    },
    before,
    h("ol", { class: "messages", "aria-label": name, onkeydown: arrows }, rows),
    after,
  );
}

/**
 * The browser tells of it late. Only who scrolls up wishes to leave the end: what grew since the
 * last look is no such wish, nor what the browser moves when lines break anew. A list that is
 * hidden stands at 0.
 */
function noticeScroll(box) {
  if (!box.clientHeight || box.scrollTop === box.seenTop) return;
  const isUp = box.scrollTop < box.seenTop;
  box.seenTop = box.scrollTop;
  if (box.isAtEnd && !isUp) return;
  box.isAtEnd = box.scrollHeight - box.scrollTop - box.clientHeight < AT_END_PX;
}

function stayAtEnd(box) {
  if (box.isAtEnd === undefined) box.isAtEnd = true;
  else noticeScroll(box);
  if (!box.isAtEnd || !box.clientHeight) return;
  box.scrollTop = box.scrollHeight;
  box.seenTop = box.scrollTop;
}

const arrows = roving("[data-message]", { wraps: false });

function day(ts) {
  return h(
    "li",
    { class: "divider", key: `day ${dayKey(ts)}` },
    h("span", null, dayName(ts, now())),
  );
}

function replyCount(count) {
  const words = count === 1 ? "1 reply" : `${count} replies`;
  return h("li", { class: "divider left", key: "count" }, h("span", null, words));
}

function isSameBreath(previous, it) {
  return (
    author(previous) === author(it) &&
    previous.user === it.user &&
    Number(it.ts) - Number(previous.ts) < SAME_BREATH_SECONDS &&
    !previous.is_private &&
    !it.is_private &&
    !it.subtype?.startsWith("t") &&
    !previous.subtype?.startsWith("t") &&
    !previous.reply_count &&
    !it.bot_id
  );
}
