// Stories: a case that plays itself on the page, with a pause at each person's turn.

import { becomePerson, notify, openMessage } from "../actions.js";
import { post, RequestError } from "../api.js";
import { h } from "../dom.js";
import { icon } from "../icons.js";
import { closeMenu } from "../parts/menu.js";
import { avatar, firstName } from "../people.js";
import { remember } from "../remember.js";
import { state, update } from "../store.js";
import { askFresh } from "./trouble.js";

const isPlaying = () => ["waiting", "acting"].includes(state.stories?.playing?.state);

// Choosing one --------------------------------------------------------------------------------

export function storyPanel() {
  const stories = state.stories?.stories ?? [];
  return [
    h("h2", null, "Watch a case"),
    h(
      "p",
      { class: "soft" },
      "Each plays here, in this workspace, and stops at every person's turn: let them act, or do it yourself.",
    ),
    h(
      "ul",
      { class: "story-list" },
      stories.map(({ name, summary, available, why_not: whyNot }) =>
        h(
          "li",
          { key: name },
          h(
            "button",
            {
              type: "button",
              class: "cause",
              "aria-disabled": isPlaying() || !available ? "true" : null,
              onclick: () => {
                if (isPlaying()) return notify("One story is playing. Stop it first.");
                if (!available) return notify(whyNot);
                closeMenu();
                return start(name);
              },
            },
            icon("play"),
            h("span", null, capitalised(summary), !available && h("small", null, whyNot)),
          ),
        ),
      ),
    ),
  ];
}

const capitalised = (words) => words[0].toUpperCase() + words.slice(1);

export async function start(name) {
  hideWelcome();
  update({ followed: null });
  try {
    await post(`/api/stories/${name}/start`);
  } catch (problem) {
    if (!(problem instanceof RequestError)) throw problem;
    if (problem.code !== "needs_fresh") return notify(problem.message);
    return askFresh(
      "This story's order was refunded here before. To play it again, the workspace has to be emptied: all its cases, messages and payments are deleted.",
      () => start(name),
    );
  }
  return null;
}

async function tell(what) {
  try {
    await post(`/api/stories/${state.stories.playing.name}/${what}`);
  } catch (problem) {
    if (!(problem instanceof RequestError)) throw problem;
    notify(problem.message);
  }
}

// The first visit -----------------------------------------------------------------------------

function hideWelcome() {
  remember("welcome", false);
  update({ welcome: false });
}

export function welcome(channel) {
  const isDue = state.welcome && state.firstVisit && channel === state.homeChannel;
  if (!isDue || isPlaying() || state.channels[channel]?.messages.length) return null;
  return h(
    "section",
    { class: "welcome", "aria-label": "Welcome" },
    h("h3", null, "Watch a refund happen"),
    h(
      "p",
      null,
      "Asha's speaker arrived cracked. Ravi relays her words, the agent asks for a photo, Priya approves ₹2,499. ",
      "On the way the bot is killed six times, and nothing gets lost. You press Next at each person's turn; beside the thread you see every step and what it cost.",
    ),
    h(
      "p",
      { class: "row" },
      h(
        "button",
        { type: "button", class: "button accent", onclick: () => start(state.seedStory) },
        icon("play"),
        "Play it",
      ),
      h(
        "button",
        { type: "button", class: "button", onclick: hideWelcome },
        "I'll look around myself",
      ),
    ),
  );
}

// While it plays ------------------------------------------------------------------------------

/** The strip that tells whose turn it is. */
export function storyBar() {
  const playing = state.stories?.playing;
  if (!playing || state.storyDone === key(playing)) return null;
  return h(
    "section",
    { class: `story-bar ${playing.state}`, "aria-label": `Story: ${playing.name}` },
    h("div", { class: "grow", role: "status" }, words(playing)),
    h("div", { class: "row" }, buttons(playing)),
  );
}

const key = ({ name, thread }) => `${name} ${thread?.ts}`;

function words({ state: how, turn, happened, failures }) {
  const last = happened.at(-1);
  if (how === "waiting" && turn) {
    return [
      avatar(turn.user_id, { small: true }),
      h(
        "p",
        null,
        h("strong", null, `${turn.who} `),
        turn.what,
        turn.words && h("q", null, turn.words),
      ),
    ];
  }
  if (how === "done")
    return [
      icon("check"),
      h("p", null, h("strong", null, "The end. "), "Everything ended as it should."),
    ];
  if (how === "failed")
    return [
      icon("close"),
      h("p", null, h("strong", null, "It went another way: "), failures.join("; ")),
    ];
  if (how === "stopped") return [icon("close"), h("p", null, "Stopped. The case stays as it is.")];
  return [h("span", { class: "dot live" }), h("p", null, plain(last ?? "It begins …"))];
}

/** The story's own words may carry the marks of a terminal's colours. */
const plain = (text) => text.replaceAll(/\[\/?[a-z]*\]/g, "");

function buttons(playing) {
  const dismiss = () => {
    remember("storyDone", key(playing));
    update({ storyDone: key(playing) });
  };
  if (!isPlaying())
    return h("button", { type: "button", class: "button", onclick: dismiss }, "Close");
  const { turn } = playing;
  return [
    turn &&
      playing.state === "waiting" && [
        h(
          "button",
          { key: "next", type: "button", class: "button accent", onclick: () => tell("next") },
          h(
            "span",
            null,
            "Next",
            h("span", { class: "not-narrow" }, `: let ${turn.who.split(" ")[0]} do it`),
          ),
        ),
        turn.ts &&
          h(
            "button",
            { key: "self", type: "button", class: "button", onclick: () => doItMyself(turn) },
            turn.user_id === state.me ? "Show me where" : `Be ${firstName(turn.user_id)}`,
          ),
      ],
    h(
      "button",
      { key: "stop", type: "button", class: "button", onclick: () => tell("stop") },
      "Stop",
    ),
  ];
}

function doItMyself(turn) {
  becomePerson(turn.user_id);
  openMessage(turn);
}
