// Tokens of each step as stacked bars, and the cost so far as a line over them.

import { h } from "../dom.js";
import { count, dollars } from "./numbers.js";

const WIDTH = 400;
const HEIGHT = 128;
const LEFT = 4;
const TOP = 12;
const FLOOR = HEIGHT - 18;
const WIDEST_BAR = 34;

/** Kinds of tokens, from the bottom up. */
export const KINDS = [
  ["cache_read", "read", "From cache"],
  ["cache_write", "write", "To cache"],
  ["uncached", "input", "Uncached"],
  ["output", "output", "Out"],
];

export function chart(points, pick) {
  if (!points.length) return null;
  const tallest = Math.max(...points.map(total));
  const dearest = Number(points.at(-1).total_cost_usd) || 1;
  const pace = (WIDTH - 2 * LEFT) / Math.max(points.length, 5);
  const bar = Math.min(WIDEST_BAR, pace * 0.62);
  const middle = (index) => LEFT + pace * (index + 0.5);
  const high = (cost) => FLOOR - (Number(cost) / dearest) * (FLOOR - TOP);
  const line = points.map((point, index) => `${middle(index)},${high(point.total_cost_usd)}`);
  return h(
    "figure",
    { class: "chart" },
    h(
      "svg",
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": spoken(points) },
      h("line", { class: "floor", x1: 0, x2: WIDTH, y1: FLOOR, y2: FLOOR }),
      points.map((point, index) =>
        h(
          "g",
          { key: `${index}`, class: "bar", onclick: () => pick(point) },
          h("title", null, hover(point)),
          h("rect", {
            class: "hit",
            x: middle(index) - pace / 2,
            y: 0,
            width: pace,
            height: HEIGHT,
          }),
          stack(point, middle(index) - bar / 2, bar, tallest),
          h("text", { x: middle(index), y: HEIGHT - 5 }, point.step),
        ),
      ),
      points.length > 1 && h("polyline", { class: "cost", points: line.join(" ") }),
      points.map((point, index) =>
        h("circle", {
          class: "cost-dot",
          key: `dot ${index}`,
          cx: middle(index),
          cy: high(point.total_cost_usd),
          r: 2.6,
        }),
      ),
    ),
    h(
      "figcaption",
      null,
      KINDS.map(([, kind, words]) =>
        h("span", { class: "legend" }, h("i", { class: `swatch ${kind}` }), words),
      ),
      h("span", { class: "legend" }, h("i", { class: "swatch line" }), "Cost so far"),
    ),
  );
}

const total = (point) => KINDS.reduce((sum, [name]) => sum + point[name], 0);

function stack(point, x, width, tallest) {
  let y = FLOOR;
  return KINDS.map(([name, kind]) => {
    const height = (point[name] / tallest) * (FLOOR - TOP);
    y -= height;
    return h("rect", { class: `fill-${kind}`, x, y, width, height });
  });
}

const hover = (point) =>
  [
    `Step ${point.step}: ${dollars(point.cost_usd)}, ${dollars(point.total_cost_usd)} so far`,
    ...KINDS.map(([name, , words]) => `${words}: ${count(point[name])} tokens`),
  ].join("\n");

function spoken(points) {
  const last = points.at(-1);
  return `Tokens and cost of ${points.length} model calls; ${dollars(last.total_cost_usd)} in all`;
}

/** One step's tokens as a thin bar, as long as the largest step is wide. */
export function tokenBar(entry, largest) {
  const parts = [
    [entry.cache_read_tokens, "read"],
    [entry.cache_write_tokens, "write"],
    [entry.input_tokens, "input"],
    [entry.output_tokens, "output"],
  ];
  let x = 0;
  return h(
    "svg",
    {
      class: "token-bar",
      viewBox: "0 0 100 4",
      preserveAspectRatio: "none",
      "aria-hidden": "true",
    },
    parts.map(([tokens, kind]) => {
      const width = largest ? (100 * tokens) / largest : 0;
      const part = h("rect", { class: `fill-${kind}`, x, y: 0, width, height: 4 });
      x += width;
      return part;
    }),
  );
}
