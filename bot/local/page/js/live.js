// The socket on which the server says what changed; only that is fetched again.

import {
  loadCase,
  loadCases,
  loadChannel,
  loadExchange,
  loadHome,
  loadModal,
  loadStories,
  loadThread,
  loadTrouble,
  loadWorkspace,
} from "./load.js";
import { state, update } from "./store.js";

const RETRY_MS = 1000;

let socket = null;
let boot = null;

/**
 * Listen as the person that looks; again after a switch of person or a cut. What changed before the
 * server knew of this page was told to nobody: when it says hello, all that is shown is fetched.
 */
export function listen(onRestart) {
  socket?.close();
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const mine = new WebSocket(`${scheme}://${location.host}/api/live?as=${state.me}`);
  socket = mine;
  mine.addEventListener("message", ({ data }) => {
    const notice = JSON.parse(data);
    if (notice.type === "hello") {
      const restarted = boot !== null && boot !== notice.boot;
      boot = notice.boot;
      update({ connected: true });
      if (restarted) onRestart();
      else refetchAll();
    } else {
      for (const change of notice.changes) refetch(change);
    }
  });
  mine.addEventListener("close", () => {
    if (socket !== mine) return;
    update({ connected: false });
    setTimeout(() => socket === mine && listen(onRestart), RETRY_MS);
  });
}

/** Everything that the page shows now. */
export function refetchAll() {
  loadWorkspace();
  loadModal();
  loadTrouble();
  loadStories();
  loadCases();
  if (state.place?.kind === "channel") loadChannel(state.place.id);
  if (state.place?.kind === "home") loadHome();
  if (state.thread) {
    loadThread(state.thread);
    loadCase(state.thread);
  }
  if (state.exchange) loadExchange(state.exchange);
}

function refetch(change) {
  switch (change.what) {
    case "workspace":
      return loadWorkspace();
    case "channel":
      return isKnown(change.channel) && loadChannel(change.channel);
    case "thread":
      return isOpen(change) && loadThread(state.thread);
    case "home":
      return (state.home || state.place?.kind === "home") && loadHome();
    case "modal":
      return loadModal();
    case "case":
      loadCases();
      return state.thread && loadCase(state.thread);
    case "exchanges":
      if (state.exchange) loadExchange(state.exchange);
      return state.thread && loadCase(state.thread);
    case "trouble":
      return loadTrouble();
    case "story":
      return loadStories();
    default:
      return null;
  }
}

// One that is still being fetched is asked for again.
const isKnown = (id) => state.channels[id] || state.place?.id === id;

const isOpen = ({ channel, ts }) => state.thread?.channel === channel && state.thread.ts === ts;
