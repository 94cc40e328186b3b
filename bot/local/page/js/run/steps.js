// The run's steps as a timeline: a row for each model call, and what happened between them.

import { now } from "../actions.js";
import { h } from "../dom.js";
import { icon } from "../icons.js";
import { roving } from "../keys.js";
import { nameOf } from "../people.js";
import { state } from "../store.js";
import { fullTime, when } from "../time.js";
import { chart, tokenBar } from "./chart.js";
import { openExchange } from "./exchange.js";
import { count, dollars, percent, seconds } from "./numbers.js";

const ALWAYS = new Set(["kind", "at", "run_id", "case", "agent"]);

export function steps(found, chosen) {
  if (!chosen) {
    return h(
      "p",
      { class: "empty" },
      h("strong", null, "No run yet"),
      "It starts when somebody chooses the customer.",
    );
  }
  const { run } = chosen;
  const calls = chosen.steps.filter(({ kind }) => kind === "step");
  const ids = new Set(calls.map((call) => call.request_id));
  const points = found.chart.filter((point) => ids.has(point.request_id));
  const largest = Math.max(0, ...calls.map(allTokens));
  const order = calls.map((call) => call.request_id);
  return [
    figures(run, points),
    chart(points, (point) => openExchange(point.request_id, order)),
    h(
      "ol",
      { class: "timeline", "aria-label": "Steps", onkeydown: roving(".step", { wraps: false }) },
      chosen.steps.map((entry, index) => {
        const key = `${entry.kind} ${entry.at} ${index}`;
        if (entry.kind === "step") return step(entry, key, largest, order);
        return entry.kind === "start" ? null : between(entry, key);
      }),
      found.live.working && chosen === found.runs.at(-1) && working(),
    ),
    h("p", { class: "soft run-id" }, `${run.run_id}, ${run.agent} on ${run.model}`),
  ];
}

// Figures -------------------------------------------------------------------------------------

function figures({ cost_usd: cost, usage, steps: taken, working_seconds: worked }, points) {
  const read = usage.cache_read;
  const written = usage.cache_write_5m + usage.cache_write_1h;
  const input = usage.uncached + read + written;
  const sum = (name) => points.reduce((all, point) => all + Number(point[name] ?? 0), 0);
  const without = sum("uncached_cost_usd");
  const saved = without - sum("cost_usd");
  return h(
    "dl",
    { class: "figures" },
    figure("Cost", dollars(cost), saved > 0 ? `cache saved ${percent(saved, without)}` : "so far"),
    figure("Model calls", count(taken), `${seconds(worked)} at work`),
    figure("Tokens in", count(input), `${percent(read, input)} from cache`),
    figure("Tokens out", count(usage.output), `${count(usage.uncached)} uncached in`),
  );
}

function figure(name, value, words) {
  return h(
    "div",
    { key: name },
    h("dt", null, name),
    h("dd", null, h("strong", null, value), h("small", null, words)),
  );
}

// Rows ----------------------------------------------------------------------------------------

const allTokens = (entry) =>
  entry.input_tokens + entry.cache_read_tokens + entry.cache_write_tokens + entry.output_tokens;

function step(entry, key, largest, order) {
  const { step: number, request_id: id, calls } = entry;
  const tokens = [
    [entry.cache_read_tokens, "cached"],
    [entry.cache_write_tokens, "to cache"],
    [entry.input_tokens, "uncached"],
    [entry.output_tokens, "out"],
  ];
  return h(
    "li",
    { key, class: "entry" },
    h(
      "button",
      {
        type: "button",
        class: "step",
        title: "Show the exact request and reply",
        onclick: () => openExchange(id, order),
      },
      h("span", { class: "number" }, h("span", { class: "hidden-words" }, "Step "), number),
      h(
        "span",
        { class: "grow" },
        h(
          "span",
          { class: "row" },
          h(
            "strong",
            { class: "grow what" },
            calls.length ? calls.map(callName) : reply(entry.stop_reason),
          ),
          h("span", { class: "price" }, dollars(entry.cost_usd)),
        ),
        calls.map((call) => h("code", { class: "arguments" }, argumentsOf(call.input))),
        tokenBar(entry, largest),
        h(
          "span",
          { class: "soft tokens" },
          tokens
            .filter(([number_]) => number_)
            .map(([number_, words]) => h("span", null, `${count(number_)} ${words}`)),
        ),
        h(
          "span",
          { class: "soft tokens" },
          h("span", null, entry.stop_reason),
          h("span", null, seconds(entry.seconds)),
          h("span", null, `${dollars(entry.total_cost_usd)} so far`),
          h("time", { title: fullTime(entry.at) }, when(entry.at, now())),
        ),
      ),
    ),
  );
}

const reply = (reason) => (reason === "end_turn" ? "The reply" : reason);

function callName({ tool, is_error: failed }) {
  const words = failed ? "failed" : failed === null ? "no result yet" : "worked";
  return h(
    "span",
    { class: "call" },
    tool,
    h(
      "span",
      { class: `outcome ${failed ? "bad" : failed === null ? "open" : "good"}`, title: words },
      h("span", { class: "hidden-words" }, ` (${words})`),
      failed ? icon("close") : failed === null ? icon("clock") : icon("check"),
    ),
  );
}

function argumentsOf(input) {
  return Object.entries(input ?? {})
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join("\n");
}

function between(entry, key) {
  const [picture, kind, words, detail] = told(entry);
  return h(
    "li",
    { key, class: `entry between ${kind}` },
    h("span", { class: "number" }, icon(picture)),
    h(
      "span",
      { class: "grow" },
      h(
        "span",
        { class: "row" },
        h("strong", { class: "grow" }, words),
        h("time", { class: "soft", title: fullTime(entry.at) }, when(entry.at, now())),
      ),
      detail && h("span", { class: "soft detail" }, detail),
    ),
  );
}

function told(entry) {
  const by = entry.by ? ` by ${nameOf(entry.by)}` : "";
  switch (entry.kind) {
    case "pause":
      return entry.waits_for === "customer"
        ? ["message", "warn", "Waits for the customer", entry.question]
        : ["lock", "warn", "Waits for a lead", entry.title];
    case "decision":
      return ["person", "warn", `${capital(entry.verdict)}${by}`, entry.note];
    case "payment":
      return ["check", "good", "Paid", entry.text];
    case "attempt":
      return ["bolt", "bad", "No usable answer", entry.error + estimate(entry.estimated_cost_usd)];
    case "end":
      return entry.status === "done"
        ? ["check", "good", "Done", entry.reason]
        : ["person", "bad", "With a colleague", entry.reason];
    default: {
      const facts = Object.entries(entry).filter(([name]) => !ALWAYS.has(name));
      return [
        "message",
        "",
        capital(entry.kind),
        facts
          .map(([name, value]) => `${name.replaceAll("_", " ")}: ${JSON.stringify(value)}`)
          .join("\n"),
      ];
    }
  }
}

const estimate = (cost) => (Number(cost) ? `, charged as about ${dollars(cost)}` : "");

const capital = (word) => word[0].toUpperCase() + word.slice(1).replaceAll("_", " ");

function working() {
  return h(
    "li",
    { key: "working", class: "entry between" },
    h("span", { class: "number" }, h("span", { class: "dot live" })),
    h(
      "span",
      { class: "grow" },
      h(
        "strong",
        null,
        state.trouble?.bot.up === false
          ? "The bot is down: it goes on when it is back"
          : "The agent is at work …",
      ),
    ),
  );
}
