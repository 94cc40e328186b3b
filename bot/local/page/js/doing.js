// What a person does in Slack, each through one act; what went wrong is told in words.

import { notify, openThread } from "./actions.js";
import { act } from "./api.js";
import { formOf } from "./form.js";
import { loadChannel, loadModal, loadThread } from "./load.js";
import { state, update } from "./store.js";

async function done(kind, fields) {
  const answer = await act(kind, fields);
  if (!answer.ok) notify(answer.error);
  return answer;
}

// Messages ------------------------------------------------------------------------------------

/** Sends what is typed; what couldn't be sent stays in the composer. `thread` is null or a ts. */
export async function send(key, { channel, thread, broadcast = false }) {
  const text = (state.drafts[key] ?? "").trim();
  const attached = state.attached[key] ?? [];
  if (!text && !attached.length) return;
  const command = /^\/(?!\/)(\S+)\s*([\s\S]*)$/.exec(text);
  if (command && !attached.length) {
    await slash(key, channel, `/${command[1]}`, command[2]);
    return;
  }
  update({ sending: key });
  const fields = { channel, text };
  if (attached.length) {
    fields.files = attached.map(({ name, content }) => ({ name, content_base64: content }));
  }
  if (thread) Object.assign(fields, { thread_ts: thread, broadcast });
  const answer = await done("post", fields);
  update({ sending: null });
  if (!answer.ok) return;
  for (const { preview } of attached) if (preview) URL.revokeObjectURL(preview);
  update({
    drafts: { ...state.drafts, [key]: "" },
    attached: { ...state.attached, [key]: [] },
    broadcasting: false,
  });
  loadChannel(channel);
  if (thread) loadThread({ channel, ts: thread });
}

async function slash(key, channel, command, text) {
  if (!state.workspace.app.commands.some((known) => known.command === command)) {
    notify(`${command} is no command here. To send it as a message, put a space before it.`);
    return;
  }
  update({ sending: key });
  const answer = await done("slash", { channel, command, text });
  update({ sending: null });
  if (answer.ok) update({ drafts: { ...state.drafts, [key]: "" } });
}

export async function saveEdit() {
  const { channel, ts, text } = state.editing;
  const answer = await done("edit", { channel, ts, text: text.trim() });
  if (answer.ok) update({ editing: null });
}

export function askToDelete(message) {
  update({
    confirm: {
      title: "Delete this message?",
      text: "It is gone for everybody. The agent is told when it is part of a case.",
      yes: "Delete",
      no: "Cancel",
      style: "danger",
      then: () => done("delete", { channel: message.channel, ts: message.ts }),
    },
  });
}

export function toggleReaction(message, name) {
  const mine = message.reactions?.find((reaction) => reaction.name === name);
  const kind = mine?.users.includes(state.me) ? "unreact" : "react";
  return done(kind, { channel: message.channel, ts: message.ts, name });
}

const marked = new Map();

/** Told once for each newest message that was seen. */
export function markRead(channel, ts, thread = null) {
  const key = `${state.me} ${channel} ${thread}`;
  if (!ts || marked.get(key) === ts || document.visibilityState !== "visible") return;
  marked.set(key, ts);
  act("mark_read", thread ? { channel, ts, thread_ts: thread } : { channel, ts });
}

// Shortcuts -----------------------------------------------------------------------------------

export async function messageShortcut(message, shortcut) {
  await done("message_shortcut", {
    channel: message.channel,
    ts: message.ts,
    callback_id: shortcut.callback_id,
  });
}

export async function globalShortcut(shortcut) {
  await done("global_shortcut", { callback_id: shortcut.callback_id });
}

// Elements of blocks --------------------------------------------------------------------------

/** One key for an element, wherever it stands. */
export const elementKey = (place, block, element) =>
  `${place.view_id ?? `${place.channel}/${place.ts}`}/${block.block_id}/${element.action_id}`;

/** After the question that the element asks, if it has one. */
export function confirmed(element, then) {
  const ask = element.confirm;
  if (!ask) return then();
  update({
    confirm: {
      title: ask.title.text,
      text: ask.text.text,
      yes: ask.confirm.text,
      no: ask.deny.text,
      style: ask.style ?? "primary",
      then,
    },
  });
  return null;
}

export function press(place, block, element, seen) {
  return confirmed(element, () =>
    busy(place, block, element, "click", { element: seen ?? plainButton(element) }),
  );
}

const plainButton = ({ type, value, text }) => ({ type, value, text });

/** `picked` is what the API's `choose` takes: {option}, {options}, {user}, {date} or {value}. */
export function choose(place, block, element, picked) {
  const key = elementKey(place, block, element);
  update({ chosen: { ...state.chosen, [key]: picked } });
  return confirmed(element, () => busy(place, block, element, "choose", picked));
}

async function busy(place, block, element, kind, fields) {
  const key = elementKey(place, block, element);
  if (state.busy[key]) return;
  update({ busy: { ...state.busy, [key]: true } });
  const { block_id } = block;
  const { action_id } = element;
  await done(kind, { place, block_id, action_id, ...fields });
  update({ busy: { ...state.busy, [key]: false } });
}

// Modals --------------------------------------------------------------------------------------

export async function submitModal(view) {
  const form = formOf(view);
  update({ form: { ...form, busy: true, errors: {}, error: null } });
  const answer = await act("submit", { view_id: view.id, values: form.values });
  if (state.form?.id !== form.id) return;
  const { errors = {}, error = null } = answer;
  const isForAll = error && !Object.keys(errors).length;
  update({ form: { ...state.form, busy: false, errors, error: isForAll ? error : null } });
  loadModal();
}

export async function closeModal(view) {
  update({ form: null });
  await done("close", { view_id: view.id });
  loadModal();
}

/** Opens the thread of a message, whether it has replies yet or not. */
export const openThreadOf = (message) =>
  openThread({ channel: message.channel, ts: message.thread_ts ?? message.ts });
