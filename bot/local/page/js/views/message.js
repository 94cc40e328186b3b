// One message: who and when, words or blocks, files, reactions, the way into its thread.

import { notify, now } from "../actions.js";
import { blocks } from "../blocks/blocks.js";
import { mrkdwn } from "../blocks/mrkdwn.js";
import { askToDelete, messageShortcut, openThreadOf, toggleReaction } from "../doing.js";
import { h } from "../dom.js";
import { glyph, OFFERED, spokenEmoji } from "../emoji.js";
import { icon } from "../icons.js";
import { closeMenu, openMenu, openPanel } from "../parts/menu.js";
import { files } from "../parts/photo.js";
import { avatar, nameOf, userOf } from "../people.js";
import { state, update } from "../store.js";
import { fullTime, timeOfDay, when } from "../time.js";
import { editor, isEdited, startEdit } from "./editor.js";

/** `where`: channel or thread. A compact one follows another by the same author. */
export function message(it, { where, compact = false, last = false }) {
  const key = `${it.channel}/${it.ts}`;
  const id = `${where} ${key}`;
  const isCurrent = state.current === id || (last && !state.current?.startsWith(where));
  const active = (state.hot === id || state.focused === id) && !it.is_private;
  const kinds = [
    compact && "compact",
    it.is_private && "private",
    it.mentions_me && "mentions-me",
    active && "active",
    state.target?.ts === it.ts && "target",
  ];
  return h(
    "li",
    { key: it.ts },
    h(
      "article",
      {
        class: ["message", ...kinds].filter(Boolean).join(" "),
        "data-message": key,
        tabindex: isCurrent ? 0 : -1,
        "aria-label": label(it),
        onfocusin: () => state.focused !== id && update({ current: id, focused: id }),
        onfocusout: (event) => {
          if (!event.currentTarget.contains(event.relatedTarget)) update({ focused: null });
        },
        // A finger has no place to rest: the tap that shows the tools would press one of them.
        onpointerenter: ({ pointerType }) => pointerType !== "touch" && update({ hot: id }),
        onpointerleave: () => state.hot === id && update({ hot: null }),
        onkeydown: (event) => keydown(event, it, where),
        rendered: goThere(it),
      },
      compact
        ? h("time", { class: "gutter", title: fullTime(it.ts) }, timeOfDay(it.ts))
        : avatar(it.user, { name: author(it) }),
      h(
        "div",
        { class: "body" },
        it.is_private && h("p", { class: "only-you" }, icon("eye"), "Only visible to you"),
        !compact && heading(it),
        it.subtype === "thread_broadcast" && where === "channel" && repliedTo(it),
        isEdited(it) ? editor(it) : content(it),
        it.files && files(it.files),
        it.reactions && reactions(it),
        where === "channel" && it.reply_count > 0 && replies(it),
      ),
      active && toolbar(it, where),
    ),
  );
}

export const author = (it) => it.username ?? nameOf(it.user ?? "USLACKBOT");

function label(it) {
  const parts = [
    author(it),
    timeOfDay(it.ts),
    it.is_private && "only visible to you",
    it.reply_count && repliesIn(it),
  ];
  return parts.filter(Boolean).join(", ");
}

function heading(it) {
  const user = userOf(it.user);
  const away = user && user.team_id !== state.workspace.team.id;
  return h(
    "p",
    { class: "who" },
    h("strong", null, author(it)),
    it.bot_id && h("span", { class: "tag" }, "APP"),
    away && h("span", { class: "tag warn" }, user.team_name),
    user?.is_guest && !away && h("span", { class: "tag warn" }, "Guest"),
    h("time", { title: fullTime(it.ts) }, timeOfDay(it.ts)),
  );
}

function content(it) {
  if (it.subtype === "tombstone") return h("p", { class: "soft" }, "This message was deleted.");
  const place = { channel: it.channel, ts: it.ts };
  return h(
    "div",
    { class: "content" },
    it.blocks?.length
      ? blocks({ place }, it.blocks)
      : it.text && h("div", { class: "words" }, mrkdwn(it.text)),
    it.edited && h("span", { class: "edited", title: fullTime(it.edited.ts) }, "(edited)"),
  );
}

function repliedTo(it) {
  return h(
    "p",
    { class: "soft" },
    "replied in ",
    h(
      "button",
      { type: "button", class: "link-button", onclick: () => openThreadOf(it) },
      "a thread",
    ),
  );
}

// Below the words -----------------------------------------------------------------------------

function reactions(it) {
  return h(
    "div",
    { class: "reactions" },
    it.reactions.map(({ name, users, count }) =>
      h(
        "button",
        {
          type: "button",
          class: "reaction",
          key: name,
          "aria-pressed": users.includes(state.me) ? "true" : "false",
          "aria-label": `${spokenEmoji(name)}: ${count}, ${users.map(nameOf).join(", ")}`,
          title: `${users.map(nameOf).join(", ")} reacted with ${spokenEmoji(name)}`,
          onclick: () => toggleReaction(it, name),
        },
        h("span", { class: "emoji", "aria-hidden": "true" }, glyph(name)),
        h("span", { "aria-hidden": "true" }, count),
      ),
    ),
  );
}

const repliesIn = ({ reply_count: count }) => (count === 1 ? "1 reply" : `${count} replies`);

function replies(it) {
  return h(
    "button",
    { type: "button", class: "replies", onclick: () => openThreadOf(it) },
    (it.reply_users ?? []).slice(0, 4).map((id) => avatar(id, { small: true })),
    h("strong", null, repliesIn(it)),
    it.unread_replies > 0 && h("span", { class: "tag accent" }, `${it.unread_replies} new`),
    h("span", { class: "soft" }, `Last at ${when(it.latest_reply, now())}`),
  );
}

// What one can do with it ---------------------------------------------------------------------

function toolbar(it, where) {
  const tool = (name, words, then, extra = {}) =>
    h(
      "button",
      {
        type: "button",
        class: "icon-button",
        "aria-label": words,
        title: words,
        onclick: then,
        ...extra,
      },
      icon(name),
    );
  if (it.subtype === "tombstone") return null;
  return h(
    "div",
    { class: "toolbar" },
    tool("react", "Add a reaction", (event) => pickReaction(event, it), {
      "aria-haspopup": "dialog",
    }),
    where === "channel" && tool("thread", "Reply in thread", () => openThreadOf(it)),
    tool("more", "More actions", (event) => openMore(event, it, where), {
      "aria-haspopup": "menu",
    }),
  );
}

function pickReaction(event, it) {
  openPanel(event, "Add a reaction", () =>
    h(
      "div",
      { class: "emoji-grid" },
      OFFERED.map((name) =>
        h(
          "button",
          {
            type: "button",
            "aria-label": spokenEmoji(name),
            title: spokenEmoji(name),
            onclick: () => {
              closeMenu();
              toggleReaction(it, name);
            },
          },
          glyph(name),
        ),
      ),
    ),
  );
}

function openMore(event, it, where) {
  const { app } = state.workspace;
  openMenu(
    event,
    "More actions",
    [
      where === "channel" && {
        label: "Reply in thread",
        icon: "thread",
        keys: "T",
        then: () => openThreadOf(it),
      },
      { label: "Copy link", icon: "copy", then: () => copyLink(it) },
      ...app.message_shortcuts.map((shortcut) => ({
        label: shortcut.name,
        icon: "shortcut",
        hint: app.name,
        then: () => messageShortcut(it, shortcut),
      })),
      it.is_mine && { label: "Edit message", icon: "edit", keys: "E", then: () => startEdit(it) },
      it.is_mine && {
        label: "Delete message …",
        icon: "trash",
        keys: "Del",
        danger: true,
        then: () => askToDelete(it),
      },
    ].filter(Boolean),
  );
}

async function copyLink(it) {
  const root = it.thread_ts && it.thread_ts !== it.ts ? `?thread_ts=${it.thread_ts}` : "";
  const address = `${location.origin}/archives/${it.channel}/p${it.ts.replace(".", "")}${root}`;
  await navigator.clipboard.writeText(address);
  notify("Link copied.", "good");
}

function keydown(event, it, where) {
  if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey)
    return;
  const does = {
    Enter: () => where === "channel" && openThreadOf(it),
    t: () => openThreadOf(it),
    r: () => pickReaction(event, it),
    e: () => it.is_mine && startEdit(it),
    Delete: () => it.is_mine && askToDelete(it),
  }[event.key];
  if (!does) return;
  event.preventDefault();
  does();
}

// Coming here by a link -----------------------------------------------------------------------

function goThere(it) {
  const { target } = state;
  if (!target || target.there || target.channel !== it.channel || target.ts !== it.ts) return null;
  return (element) => {
    target.there = true;
    element.closest(".scroll").isAtEnd = false;
    element.scrollIntoView({ block: "center" });
    if (!target.quiet) element.focus({ preventScroll: true });
  };
}
