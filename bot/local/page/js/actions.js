// Where the person goes and what they see; what they do in Slack is in `doing.js`.

import { act } from "./api.js";
import { refetchAll } from "./live.js";
import { loadCase, loadChannel, loadHome, loadThread, threadKey } from "./load.js";
import { remember, rememberInTab } from "./remember.js";
import { state, update } from "./store.js";

/** The workspace's time in milliseconds: its clock can be jumped. */
export const now = () => Date.now() + (state.trouble?.clock.offset_seconds ?? 0) * 1000;

const NOTICE_MS = { good: 5000, bad: 15_000 };

/** Short words in a corner, for a while. */
export function notify(words, kind = "bad") {
  const notice = { id: crypto.randomUUID(), words, kind };
  update({ notices: [...state.notices.slice(-2), notice] });
  setTimeout(() => dismiss(notice.id), NOTICE_MS[kind]);
}

export const dismiss = (id) =>
  update({ notices: state.notices.filter((notice) => notice.id !== id) });

export function openPlace(place, { remembering = true, target = null } = {}) {
  const same = state.place?.kind === place.kind && state.place.id === place.id;
  update({ place, pane: "place", menu: null, target, current: null });
  if (place.kind === "home") {
    openHome();
  } else {
    const channel = state.workspace?.channels.find(({ id }) => id === place.id);
    if (!same) update({ newFrom: channel?.unread ? (channel.read_ts ?? "") : null });
    loadChannel(place.id);
  }
  if (remembering) writeLocation();
}

/** The app is told, as each time that somebody looks at their Home. */
function openHome() {
  act("open_home").then(({ ok, error }) => ok || notify(error));
  loadHome();
}

/** `ts` is the root's. */
export function openThread(thread, { remembering = true, target = null, focus = true } = {}) {
  update({
    thread,
    pane: "thread",
    side: "thread",
    menu: null,
    runId: null,
    target,
    focusThread: focus,
  });
  loadThread(thread);
  loadCase(thread);
  if (remembering) writeLocation();
}

/**
 * A message wherever it is: its channel, and its thread when it is a reply; with `thread` also the
 * one that it begins.
 */
export function openMessage({ channel, ts, thread_ts: root }, { thread = false } = {}) {
  const isReply = Boolean(root) && root !== ts;
  const target = { channel, ts };
  openPlace(
    { kind: "channel", id: channel },
    { remembering: false, target: isReply ? null : target },
  );
  if (isReply) openThread({ channel, ts: root }, { remembering: false, target });
  else if (thread) openThread({ channel, ts }, { remembering: false });
  writeLocation();
}

export function closeThread() {
  const { thread } = state;
  update({ thread: null, pane: "place", runId: null, side: "thread" });
  writeLocation();
  const opener = document.querySelector(`[data-message="${threadKey(thread.channel, thread.ts)}"]`);
  opener?.focus();
}

export function showRun(open) {
  remember("runOpen", open);
  update({ runOpen: open, side: open ? "run" : "thread", pane: open ? "run" : backFromRun() });
}

export const backFromRun = () => (state.thread ? "thread" : "place");

export function becomePerson(id) {
  if (id === state.me) return;
  rememberInTab("me", id);
  update({
    me: id,
    channels: {},
    threads: {},
    home: null,
    modal: null,
    form: null,
    menu: null,
    editing: null,
    current: null,
    newFrom: null,
    chosen: {},
    notices: [],
  });
}

/** After a switch of person or a restart: stay where they may be, else their first channel. */
export function settle() {
  const { place, thread, workspace } = state;
  const known = new Set(workspace.channels.map((channel) => channel.id));
  if (thread && !known.has(thread.channel)) update({ thread: null });
  if (place?.kind === "channel" && !known.has(place.id)) {
    openPlace({ kind: "channel", id: workspace.channels[0]?.id });
  }
  if (place?.kind === "home") openHome();
  refetchAll();
}

export function setTheme(theme) {
  remember("theme", theme);
  update({ theme });
}

// The address ---------------------------------------------------------------------------------

function writeLocation() {
  const { place, thread } = state;
  const spot = thread
    ? `#${place?.id ?? "home"}/${thread.channel}/${thread.ts}`
    : `#${place?.id ?? "home"}`;
  if (location.hash !== spot || location.pathname !== "/") history.pushState(null, "", `/${spot}`);
}

/** Go where the address says; a permalink has its channel and message in the path. */
export function followLocation(fallback) {
  const link = /^\/archives\/(\w+)\/p(\d{10,})(\d{6})$/.exec(location.pathname);
  if (link) {
    const root = new URLSearchParams(location.search).get("thread_ts");
    return openMessage({ channel: link[1], ts: `${link[2]}.${link[3]}`, thread_ts: root });
  }
  const [id, channel, ts] = location.hash.slice(1).split("/");
  const place = id === "home" ? { kind: "home" } : { kind: "channel", id: id || fallback };
  const known =
    place.kind === "home" || state.workspace.channels.some((one) => one.id === place.id);
  openPlace(known ? place : { kind: "channel", id: fallback }, { remembering: false });
  if (ts) openThread({ channel, ts }, { remembering: false, focus: false });
  else update({ thread: null });
}
