// The start: who one is, what is open, and listening to what changes.

import { followLocation, settle } from "./actions.js";
import { RequestError } from "./api.js";
import { patch } from "./dom.js";
import { followAnchors } from "./float.js";
import { follow } from "./following.js";
import { listen, refetchAll } from "./live.js";
import { loadPeople, loadWorkspace } from "./load.js";
import { closeOutside } from "./parts/menu.js";
import { rememberedInTab } from "./remember.js";
import { renderWith, state, update } from "./store.js";
import { page } from "./views/page.js";
import { countDown } from "./views/trouble.js";

const root = document.getElementById("page");

let listeningAs = null;

function draw() {
  document.documentElement.dataset.theme = state.theme;
  const { activeElement: focused } = document;
  const message = focused?.closest("[data-message]");
  patch(root, page());
  if (message?.isConnected && !focused.isConnected) message.focus({ preventScroll: true });
  if (!state.workspace) return;
  follow();
  if (listeningAs !== null && listeningAs !== state.me) become();
}

/** Somebody else looks from now on. */
async function become() {
  listeningAs = state.me;
  await loadWorkspace();
  settle();
  listen(restarted);
}

/** The workspace began anew: what was open may be gone. */
async function restarted() {
  const { first_visit: firstVisit } = await loadPeople();
  update({ firstVisit, channels: {}, threads: {}, cases: {}, exchanges: {}, exchange: null });
  if (firstVisit) update({ thread: null, runId: null, pane: "place" });
  await loadWorkspace();
  settle();
}

async function start() {
  root.replaceChildren();
  renderWith(draw);
  try {
    const found = await loadPeople();
    const wanted = rememberedInTab("me");
    const known = found.people.some(({ id }) => id === wanted);
    update({
      people: found.people,
      me: known ? wanted : found.people[0].id,
      claude: found.claude,
      firstVisit: found.first_visit,
      seedStory: found.seed_story,
      homeChannel: found.home_channel,
    });
    await loadWorkspace();
  } catch (problem) {
    if (!(problem instanceof RequestError)) throw problem;
    update({ failed: problem.message });
    return;
  }
  followLocation(state.homeChannel);
  refetchAll();
  listeningAs = state.me;
  listen(restarted);
  window.addEventListener("popstate", () => followLocation(state.homeChannel));
  document.addEventListener("visibilitychange", () => update({}));
  followAnchors();
  closeOutside();
  countDown();
}

start();
