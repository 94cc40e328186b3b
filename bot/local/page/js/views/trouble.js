// Trouble at a click, and what came of it: the bot up or down, faults that run out, the clock.

import { notify, now } from "../actions.js";
import { post, RequestError } from "../api.js";
import { h } from "../dom.js";
import { icon } from "../icons.js";
import { closeMenu } from "../parts/menu.js";
import { state, update } from "../store.js";
import { when } from "../time.js";

const GROUPS = [
  ["The bot", ["restart", "kill", "start", "deliver-twice"]],
  ["What it depends on", ["slack-limited", "claude-overloaded", "payment-unknown", "calm"]],
  ["The clock", ["clock-1m", "clock-4h", "clock-3d"]],
];
const SHOWN_HAPPENINGS = 6;

export function botState() {
  const { bot } = state.trouble ?? {};
  if (!bot) return { kind: "warn", short: "…", words: "The bot's state isn't known yet" };
  if (bot.state === "up" && bot.connected) {
    return {
      kind: "good",
      short: `bot up${restarts(bot)}`,
      words: `The bot is up${restarts(bot)}`,
    };
  }
  if (bot.state === "down") return { kind: "bad", short: "bot down", words: "The bot is down" };
  const words = { starting: "starting", stopping: "stopping" }[bot.state] ?? "connecting";
  return { kind: "warn", short: `bot ${words}`, words: `The bot is ${words}` };
}

function restarts({ starts }) {
  const again = starts - 1;
  if (again < 1) return "";
  return again === 1 ? ", restarted once" : `, restarted ${again} times`;
}

export function faultWords({ label, seconds_left: left, uses_left: uses }) {
  if (left === null) return uses > 1 ? `${label} (${uses} times)` : label;
  const passed = (Date.now() - state.troubleAt) / 1000;
  return `${label}, ${Math.max(0, Math.ceil(left - passed))} s`;
}

/** Once, at the start: counts down what is shown as counting down. */
export function countDown() {
  setInterval(() => {
    if (state.trouble?.faults.some((fault) => fault.seconds_left !== null)) update({});
  }, 1000);
}

export function troublePanel() {
  const { trouble } = state;
  if (!trouble) return h("p", { class: "soft" }, "Asking how the bot is …");
  const kinds = new Map(trouble.kinds.map((kind) => [kind.kind, kind]));
  const bot = botState();
  return [
    h("h2", null, "Make trouble"),
    h(
      "p",
      { class: "soft" },
      "Whatever happens here: no case is lost, and nothing is paid or posted twice.",
    ),
    h(
      "p",
      { class: "bot-state", role: "status" },
      h("span", { class: `dot ${bot.kind}` }),
      h("strong", null, bot.words),
      trouble.bot.pid && h("span", { class: "soft" }, `pid ${trouble.bot.pid}`),
    ),
    trouble.waiting.events_unacknowledged > 0 &&
      h("p", { class: "soft" }, `${trouble.waiting.events_unacknowledged} events wait for it.`),
    trouble.faults.map((fault) =>
      h("p", { class: "fault", key: fault.kind }, icon("clock"), faultWords(fault)),
    ),
    GROUPS.map(([name, names]) =>
      h(
        "section",
        { key: name, "aria-label": name },
        h("h3", null, name),
        names.filter((each) => kinds.has(each)).map((each) => cause(kinds.get(each))),
      ),
    ),
    happened(trouble.happened),
    h(
      "p",
      { class: "row" },
      h(
        "button",
        { type: "button", class: "link-button", onclick: askForFresh },
        "Start over with an empty workspace …",
      ),
    ),
  ];
}

function cause({ kind, label, hint, available, why_not: whyNot }) {
  return h(
    "button",
    {
      key: kind,
      type: "button",
      class: "cause",
      "aria-disabled": available ? null : "true",
      onclick: () => (available ? make(kind) : notify(whyNot)),
    },
    h("strong", null, label),
    h("small", null, available ? hint : whyNot),
  );
}

async function make(kind) {
  try {
    const { trouble } = await post(`/api/trouble/${kind}`);
    if (trouble) update({ trouble, troubleAt: Date.now() });
  } catch (problem) {
    if (!(problem instanceof RequestError)) throw problem;
    notify(problem.message);
  }
}

function happened(list) {
  if (!list.length) return null;
  const latest = list.slice(-SHOWN_HAPPENINGS).reverse();
  return h(
    "section",
    { "aria-label": "What happened" },
    h("h3", null, "What happened"),
    h(
      "ol",
      { class: "happened" },
      latest.map(({ at, text }) =>
        h("li", { key: `${at} ${text}` }, h("time", null, when(at, now())), h("span", null, text)),
      ),
    ),
  );
}

export function askForFresh() {
  closeMenu();
  askFresh("All cases, messages and payments of this local workspace are deleted.");
}

/** `then` goes on once the workspace is empty. */
export function askFresh(text, then = () => {}) {
  update({
    confirm: {
      title: "Start over?",
      text,
      yes: "Start over",
      no: "Cancel",
      style: "danger",
      then: async () => {
        try {
          await post("/api/fresh");
          await then();
        } catch (problem) {
          if (!(problem instanceof RequestError)) throw problem;
          notify(problem.message);
        }
      },
    },
  });
}
