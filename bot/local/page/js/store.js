// The page's whole state, and the one way to change it: every change asks for one render.

import { remembered } from "./remember.js";

export const state = {
  // From the server, as it has them.
  people: [],
  claude: null,
  firstVisit: false,
  seedStory: null,
  homeChannel: null,
  workspace: null,
  channels: {},
  threads: {},
  home: null,
  modal: null,
  trouble: null,
  troubleAt: 0,
  stories: null,
  allCases: null,
  cases: {},
  exchanges: {},
  connected: true,
  failed: null,

  // Who looks, and at what. `place` is {kind: "channel", id} or {kind: "home"}, `thread` {channel,
  // ts}, `target` a message to go to. `pane` is what a narrow screen shows (rail, place, thread,
  // run), `side` which of thread and run where they share a pane.
  me: null,
  place: null,
  thread: null,
  target: null,
  newFrom: null,
  focusThread: false,
  pane: "place",
  side: "thread",
  runOpen: remembered("runOpen", true),
  runTab: "steps",
  runId: null,
  exchange: null,
  exchangeOrder: [],
  exchangeAs: remembered("exchangeAs", "read"),
  finding: {},
  folded: {},
  followed: null,

  // What is typed, picked or under way, by the key of its place.
  drafts: {},
  attached: {},
  broadcasting: false,
  sending: null,
  dropping: null,
  suggest: null,
  editing: null,
  form: null,
  combo: null,
  chosen: {},
  busy: {},

  // The message one is at with the keyboard or the mouse.
  current: null,
  focused: null,
  hot: null,

  // What floats above: a menu beside its anchor, a question, short notices, a photo.
  menu: null,
  confirm: null,
  notices: [],
  photo: null,

  // What this browser remembers; words for screen readers alone.
  theme: remembered("theme", "system"),
  welcome: remembered("welcome", true),
  storyDone: remembered("storyDone", null),
  spoken: "",
};

let render = null;
let due = false;

/** Called once, with what draws the page. */
export function renderWith(draw) {
  render = draw;
  draw();
}

/**
 * Change the state by a few new values. The page shows them before the next key or click comes in:
 * one that came sooner would go to what is closing, and be lost.
 */
export function update(change) {
  Object.assign(state, change);
  if (due || !render) return;
  due = true;
  queueMicrotask(() => {
    due = false;
    render();
  });
}
