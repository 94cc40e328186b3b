// One model call in full: what was sent and what came back, to read or as the exact JSON.

import { h } from "../dom.js";
import { icon } from "../icons.js";
import { loadExchange } from "../load.js";
import { remember } from "../remember.js";
import { state, update } from "../store.js";
import { json } from "./json.js";
import { count, dollars } from "./numbers.js";
import { readableReply, readableRequest } from "./readable.js";

/** `order`: the request ids of the run, to go from one to the next. */
export function openExchange(id, order) {
  update({
    exchange: id,
    exchangeOrder: order,
  });
  loadExchange(id);
}

const close = () => update({ exchange: null });

export function exchange() {
  const id = state.exchange;
  if (!id) return null;
  const found = state.exchanges[id];
  const place = state.exchangeOrder.indexOf(id);
  const go = (step) => {
    const next = state.exchangeOrder[place + step];
    if (next) openExchange(next, state.exchangeOrder);
  };
  return h(
    "dialog",
    {
      key: "exchange",
      class: "exchange",
      "aria-labelledby": "exchange-title",
      created: (dialog) => dialog.showModal(),
      removed: (dialog) => dialog.close(),
      oncancel: (event) => {
        event.preventDefault();
        close();
      },
      onclick: (event) => event.target === event.currentTarget && close(),
      onkeydown: (event) => {
        if (event.target.closest("input")) return;
        if (event.key === "ArrowLeft") go(-1);
        if (event.key === "ArrowRight") go(1);
      },
    },
    h(
      "div",
      { class: "sheet" },
      h(
        "div",
        { class: "sheet-head" },
        h("h2", { id: "exchange-title" }, `Call ${place + 1} of ${state.exchangeOrder.length}`),
        step("back", "The call before", place > 0, () => go(-1)),
        step("right", "The next call", place < state.exchangeOrder.length - 1, () => go(1)),
        h("span", { class: "soft grow mono request-id" }, id),
        asWhat(),
        h(
          "button",
          {
            type: "button",
            class: "icon-button",
            "aria-label": "Close",
            title: "Close (Escape)",
            onclick: close,
          },
          icon("close"),
        ),
      ),
      found ? body(found, id) : h("p", { class: "empty" }, "Fetching it …"),
    ),
  );
}

function step(picture, words, able, then) {
  return h(
    "button",
    {
      type: "button",
      class: "icon-button",
      "aria-label": words,
      title: `${words} (${picture === "back" ? "←" : "→"})`,
      disabled: !able,
      onclick: then,
    },
    icon(picture),
  );
}

function asWhat() {
  const choice = (value, words) =>
    h(
      "button",
      {
        type: "button",
        class: "segment",
        "aria-pressed": String(state.exchangeAs === value),
        onclick: () => {
          remember("exchangeAs", value);
          update({ exchangeAs: value });
        },
      },
      words,
    );
  return h(
    "div",
    { class: "segments", role: "group", "aria-label": "Show it" },
    choice("read", "To read"),
    choice("json", "JSON"),
  );
}

function body(found, id) {
  if (found.missing) {
    return h("p", { class: "empty" }, h("strong", null, "This call can't be shown"), found.missing);
  }
  const isJson = state.exchangeAs === "json";
  const fresh = `request ${id}.messages.`;
  const isOpen = (path, depth) =>
    depth < 1 ||
    path === `request ${id}.messages` ||
    (path.startsWith(fresh) && Number(path.slice(fresh.length).split(".")[0]) >= found.new_from);
  return [
    h("p", { class: "facts" }, facts(found)),
    h(
      "div",
      { class: "two" },
      h(
        "section",
        { "aria-label": "Request" },
        h("h3", null, "Request"),
        isJson
          ? json(`request ${id}`, found.request.body, { label: "the request", open: isOpen })
          : readableRequest(found),
      ),
      h(
        "section",
        { "aria-label": "Reply" },
        h("h3", null, "Reply"),
        !found.reply
          ? h(
              "p",
              { class: "empty" },
              h("strong", null, found.outcome === "pending" ? "Not answered yet" : "No reply"),
              found.error ?? "",
            )
          : isJson
            ? json(`reply ${id}`, found.reply, { label: "the reply", open: () => true })
            : readableReply(found.reply),
      ),
    ),
  ];
}

function facts({
  outcome,
  status,
  usage,
  cost_usd: cost,
  uncached_cost_usd: without,
  script,
  source,
  request,
}) {
  const told = [
    ["Outcome", status ? `${outcome}, ${status}` : outcome],
    ["Model", request.body?.model],
    usage && ["From cache", count(usage.read)],
    usage && ["To cache", count(usage.written_5m + usage.written_1h)],
    usage && ["Uncached", count(usage.uncached)],
    usage && [
      "Out",
      `${count(usage.output)}${usage.thinking ? `, ${count(usage.thinking)} thinking` : ""}`,
    ],
    cost && ["Cost", dollars(cost)],
    without && ["Without the cache", dollars(without)],
    script && ["Script", script],
    source === "record" && ["Source", "rebuilt from the record"],
  ];
  return told
    .filter((fact) => fact?.[1])
    .map(([name, value]) => h("span", { key: name }, h("small", null, name), value));
}
