// Fetching what the server knows into the state. Each thing is fetched by one request at a time;
// what is asked for meanwhile makes one more.

import { get, getAsMe, RequestError } from "./api.js";
import { state, update } from "./store.js";

const running = new Map();

async function fetched(key, load, keep) {
  const flight = running.get(key);
  if (flight) {
    flight.again = true;
    return flight.done;
  }
  const entry = { again: false, done: null };
  running.set(key, entry);
  entry.done = (async () => {
    try {
      do {
        entry.again = false;
        const me = state.me;
        const found = await load();
        if (me === state.me) keep(found);
        else entry.again = true;
      } while (entry.again);
    } catch (problem) {
      if (!(problem instanceof RequestError)) throw problem;
      keep(null, problem);
    } finally {
      running.delete(key);
    }
  })();
  return entry.done;
}

/** Keeps what came; on failure what was there stays, and the page says that nothing answers. */
const keeping = (keep) => (found, problem) => {
  if (problem) {
    if (problem.status === 0) update({ connected: false });
    return;
  }
  keep(found);
};

export const threadKey = (channel, ts) => `${channel}/${ts}`;

export const loadPeople = () => get("/api/me");

export const loadWorkspace = () =>
  fetched(
    "workspace",
    () => getAsMe("/api/workspace"),
    keeping((workspace) => {
      update({ workspace });
    }),
  );

export const loadChannel = (id) =>
  fetched(
    `channel ${id}`,
    () => getAsMe(`/api/channel/${id}`),
    keeping((found) => {
      const before = state.channels[id];
      const first = found.messages[0]?.ts ?? "";
      const older = (before?.messages ?? []).filter((message) => message.ts < first);
      const has_more = older.length ? before.has_more : found.has_more;
      keepChannel(id, { ...found, messages: [...older, ...found.messages], has_more });
    }),
  );

export const loadEarlier = (id) => {
  const shown = state.channels[id];
  const before = shown.messages[0].ts;
  return fetched(
    `earlier ${id}`,
    () => getAsMe(`/api/channel/${id}`, { before }),
    keeping((found) => {
      const messages = [...found.messages, ...state.channels[id].messages];
      keepChannel(id, { ...state.channels[id], messages, has_more: found.has_more });
    }),
  );
};

function keepChannel(id, channel) {
  update({ channels: { ...state.channels, [id]: channel } });
}

export const loadThread = ({ channel, ts }) =>
  fetched(
    `thread ${threadKey(channel, ts)}`,
    () => getAsMe(`/api/thread/${channel}/${ts}`),
    (found, problem) => {
      if (problem?.status === 0) update({ connected: false });
      const thread = found ?? { messages: [], missing: problem.message };
      update({ threads: { ...state.threads, [threadKey(channel, ts)]: thread } });
    },
  );

export const loadHome = () =>
  fetched(
    "home",
    () => getAsMe("/api/home"),
    keeping((home) => update({ home })),
  );

export const loadModal = () =>
  fetched(
    "modal",
    () => getAsMe("/api/modal"),
    keeping((modal) => update({ modal })),
  );

export const loadTrouble = () =>
  fetched(
    "trouble",
    () => get("/api/trouble"),
    keeping((trouble) => {
      update({ trouble, troubleAt: Date.now() });
    }),
  );

export const loadStories = () =>
  fetched(
    "stories",
    () => get("/api/stories"),
    keeping((stories) => update({ stories })),
  );

export const loadCases = () =>
  fetched(
    "cases",
    () => get("/api/cases"),
    keeping(({ cases }) => update({ allCases: cases })),
  );

export const loadCase = ({ channel, ts }) =>
  fetched(
    `case ${threadKey(channel, ts)}`,
    () => get(`/api/case/${channel}/${ts}`),
    keeping((found) => {
      update({ cases: { ...state.cases, [threadKey(channel, ts)]: found } });
    }),
  );

/** A finished exchange never changes; one that is pending is fetched anew. */
export const loadExchange = (id) =>
  fetched(
    `exchange ${id}`,
    () => get(`/api/exchange/${id}`),
    (found, problem) => {
      const exchange = found ?? { missing: problem.message };
      update({ exchanges: { ...state.exchanges, [id]: exchange } });
    },
  );
