// What follows from what is shown, after each render: messages are read, a story's thread is opened,
// newcomers are said aloud, the tab's title counts.

import { openPlace, openThread } from "./actions.js";
import { plainText } from "./blocks/mrkdwn.js";
import { markRead } from "./doing.js";
import { threadKey } from "./load.js";
import { channelOf, nameOf } from "./people.js";
import { state, update } from "./store.js";
import { author } from "./views/message.js";

const SPOKEN_LETTERS = 240;

let spokenFor = "";
let lastSpoken = "";

export function follow() {
  readWhatIsShown();
  followTheStory();
  if (document.visibilityState === "visible") sayNewcomers();
  nameTheTab();
}

function readWhatIsShown() {
  const { place, thread, pane } = state;
  if (place?.kind === "channel") {
    const about = channelOf(place.id);
    const last = state.channels[place.id]?.messages.at(-1)?.ts;
    if (about?.unread) markRead(place.id, last);
  }
  if (thread && pane !== "run") {
    const list = state.threads[threadKey(thread.channel, thread.ts)]?.messages;
    markRead(thread.channel, list?.at(-1)?.ts, thread.ts);
  }
}

/** Its thread is opened once, then each place at which it waits for a person; focus stays. */
function followTheStory() {
  const { thread = null, turn = null, state: how, name } = state.stories?.playing ?? {};
  const began = `${name} ${thread?.ts}`;
  if (!thread || !["waiting", "acting"].includes(how) || !channelOf(thread.channel)) {
    if (how === "done" && state.followed?.began === began) {
      update({ followed: null, pane: state.thread ? "thread" : "place" });
    }
    return;
  }
  if (state.followed?.began !== began) {
    update({ followed: { began, turn: null } });
    openThread(thread, { focus: false });
  }
  const here = turn && how === "waiting" ? `${turn.channel} ${turn.ts} ${turn.what}` : null;
  if (!here || state.followed.turn === here || !channelOf(turn.channel)) return;
  update({ followed: { began, turn: here } });
  if (turn.channel === thread.channel) update({ pane: "thread" });
  else showPlace(turn);
}

function showPlace({ channel, ts }) {
  openPlace({ kind: "channel", id: channel }, { target: { channel, ts, quiet: true } });
}

function sayNewcomers() {
  const { place, thread } = state;
  const lists = [
    place?.kind === "channel" && state.channels[place.id],
    thread && state.threads[threadKey(thread.channel, thread.ts)],
  ];
  if (lists.includes(undefined)) return;
  const shown = lists.flatMap((list) => list?.messages ?? []);
  const newest = shown.reduce((latest, { ts }) => (ts > latest ? ts : latest), "");
  const looking = `${state.me} ${place?.id} ${thread?.ts}`;
  if (looking === spokenFor && newest > lastSpoken) {
    const fresh = shown.filter((it) => it.ts > lastSpoken && it.user !== state.me);
    const words = fresh.map((it) =>
      `${author(it)}: ${plainText(it.text, nameOf)}`.slice(0, SPOKEN_LETTERS),
    );
    if (words.length) update({ spoken: [...new Set(words)].join(". ") });
  }
  spokenFor = looking;
  lastSpoken = newest;
}

function nameTheTab() {
  const unread = state.workspace.channels.reduce((sum, one) => sum + one.mentions, 0);
  const name = state.place?.kind === "channel" ? channelOf(state.place.id)?.name : "Home";
  const title = `${unread ? `(${unread}) ` : ""}${name ?? ""} · ${state.workspace.team.name}`;
  if (document.title !== title) document.title = title;
}
