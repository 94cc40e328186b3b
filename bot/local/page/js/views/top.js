// The bar on top: the workspace, which Claude answers, how the bot is, stories, trouble, the theme.

import { setTheme, showRun } from "../actions.js";
import { h } from "../dom.js";
import { icon, mark } from "../icons.js";
import { isOpen, openPanel } from "../parts/menu.js";
import { state } from "../store.js";
import { storyPanel } from "./stories.js";
import { botState, faultWords, troublePanel } from "./trouble.js";

const THEMES = {
  system: { picture: "screen", words: "as the system", next: "light" },
  light: { picture: "sun", words: "light", next: "dark" },
  dark: { picture: "moon", words: "dark", next: "system" },
};

export function top() {
  return h(
    "header",
    { class: "top" },
    h(
      "div",
      { class: "brand" },
      mark(),
      h(
        "h1",
        null,
        h("strong", null, state.workspace.team.name),
        h("small", { class: "not-narrow" }, "Casethread, local workspace"),
      ),
    ),
    claude(),
    h("span", { class: "grow" }),
    chips(),
    panelButton("Stories", "play", storyPanel),
    panelButton("Trouble", "bolt", troublePanel, botState()),
    h(
      "button",
      {
        type: "button",
        "aria-pressed": String(state.runOpen),
        class: `top-button not-narrow${state.thread ? " not-shared" : ""}`,
        title: state.runOpen ? "Hide the run" : "Show the run",
        onclick: () => showRun(!state.runOpen),
      },
      icon("run"),
      "Run",
    ),
    theme(),
  );
}

function claude() {
  const isReal = state.claude?.kind === "real";
  const words = isReal ? state.claude.model : "Scripted stand-in for Claude";
  const title = isReal
    ? `Real Claude answers: ${state.claude.model}`
    : "No Anthropic key is set: scripted answers and a clerk by rules stand in for Claude.";
  return h("span", { class: `tag not-narrow ${isReal ? "good" : ""}`, title }, words);
}

/** What is out of the ordinary now, seen without opening anything. */
function chips() {
  const { trouble } = state;
  if (!trouble) return null;
  const jumped = trouble.clock.offset_seconds;
  return h(
    "div",
    { class: "chips not-narrow", role: "group", "aria-label": "Trouble that is on" },
    jumped > 0 &&
      h("span", { class: "tag accent", key: "clock" }, icon("clock"), `Clock +${span(jumped)}`),
    trouble.faults.map((fault) =>
      h("span", { class: "tag warn", key: fault.kind }, faultWords(fault)),
    ),
  );
}

function span(seconds) {
  const minutes = Math.round(seconds / 60);
  const days = Math.floor(minutes / 1440);
  const hours = Math.floor(minutes / 60) % 24;
  return [days && `${days} d`, hours && `${hours} h`, minutes % 60 && `${minutes % 60} min`]
    .filter(Boolean)
    .join(" ");
}

function panelButton(label, picture, draw, status = null) {
  return h(
    "button",
    {
      type: "button",
      class: "top-button",
      "aria-haspopup": "dialog",
      "aria-expanded": String(isOpen(label)),
      "aria-label": status ? `${label}. ${status.words}` : label,
      onclick: (event) => openPanel(event, label, draw),
    },
    status ? h("span", { class: `dot ${status.kind}` }) : icon(picture),
    h("span", null, label),
    status && h("span", { class: "soft not-narrow" }, status.short),
  );
}

function theme() {
  const { picture, words, next } = THEMES[state.theme];
  return h(
    "button",
    {
      type: "button",
      class: "icon-button",
      "aria-label": `Colours: ${words}. Switch to ${THEMES[next].words}`,
      title: `Colours: ${words}`,
      onclick: () => setTheme(next),
    },
    icon(picture),
  );
}
