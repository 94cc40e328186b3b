// Line icons, drawn here: one path each on a 20 × 20 grid.

import { h } from "./dom.js";

const PATHS = {
  hash: "M7.5 3 6 17M14 3l-1.5 14M3.5 7.5h13.5M3 12.5h13.5",
  back: "M12.5 4 6.5 10l6 6",
  close: "M5 5l10 10M15 5 5 15",
  send: "M3.5 4.5 17 10 3.5 15.5 5.5 10zM5.5 10H11",
  attach:
    "M15.5 9.5 9.8 15.2a3.6 3.6 0 0 1-5.1-5.1l6.4-6.4a2.4 2.4 0 0 1 3.4 3.4l-6.3 6.3a1.2 1.2 0 0 1-1.7-1.7l5.6-5.6",
  react: "M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM7.5 8.2v.1M12.5 8.2v.1M7 11.8c1.6 2 4.4 2 6 0",
  thread: "M4 4.5h12v8.5H9.5L6 16v-3H4zM7 8h6M7 10.3h4",
  more: "M10 5v.01M10 10v.01M10 15v.01",
  edit: "M4 16l.8-3.5L13 4.3l2.7 2.7-8.2 8.2z",
  trash: "M4.5 6h11M8 6V4h4v2M6 6l.7 10h6.6L14 6",
  down: "M5.5 8 10 12.5 14.5 8",
  right: "M8 5.5 12.5 10 8 14.5",
  copy: "M7.5 7.5h8v8h-8zM12.5 7V4.5h-8v8H7",
  search: "M9 14.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM13 13l4 4",
  home: "M3.5 9.5 10 4l6.5 5.5M5.5 8.5V16h9V8.5",
  sun: "M10 13.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM10 2v1.8M10 16.2V18M2 10h1.8M16.2 10H18M4.4 4.4l1.2 1.2M14.4 14.4l1.2 1.2M4.4 15.6l1.2-1.2M14.4 5.6l1.2-1.2",
  moon: "M15.5 12.2A6.5 6.5 0 0 1 7.8 4.5a6.5 6.5 0 1 0 7.7 7.7z",
  screen: "M3.5 4.5h13v9h-13zM7 16.5h6M10 13.5v3",
  run: "M3 10.5h3l2-5.5 3.5 10.5L14 8.5l1 2h2",
  bolt: "M11 2.5 4.5 11.5H9.5L8.5 17.5 15.5 8H10.5z",
  play: "M6.5 4.5 15 10l-8.5 5.5z",
  lock: "M5.5 9h9v7h-9zM7.5 9V6.5a2.5 2.5 0 0 1 5 0V9",
  shortcut: "M10 3v4M10 13v4M3 10h4M13 10h4M5.5 5.5l2 2M12.5 12.5l2 2M14.5 5.5l-2 2M7.5 12.5l-2 2",
  eye: "M2.5 10c3.5-6 11.5-6 15 0-3.5 6-11.5 6-15 0zM10 12.2a2.2 2.2 0 1 0 0-4.4 2.2 2.2 0 0 0 0 4.4z",
  check: "M4.5 10.5 8.5 14.5 15.5 6",
  clock: "M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM10 6v4.2l2.8 1.6",
  person: "M10 10a3.2 3.2 0 1 0 0-6.4A3.2 3.2 0 0 0 10 10zM4 17c.6-3.5 3-5 6-5s5.4 1.5 6 5",
  message: "M3.5 4.5h13v9H9l-3.5 3v-3h-2z",
};

export function icon(name) {
  return h(
    "svg",
    { class: `icon icon-${name}`, viewBox: "0 0 20 20", "aria-hidden": "true", focusable: "false" },
    h("path", { d: PATHS[name] }),
  );
}

/** The product's own mark: a thread through a speech bubble. */
export function mark() {
  return h(
    "svg",
    { class: "mark", viewBox: "0 0 32 32", "aria-hidden": "true", focusable: "false" },
    h("rect", { class: "mark-ground", width: 32, height: 32, rx: 8 }),
    h("path", { class: "mark-bubble", d: "M7 8.5h18v12H14l-5 4.5v-4.5H7z" }),
    h("path", { class: "mark-thread", d: "M10.5 14.5c2-3.5 4-3.5 5.5 0s3.5 3.5 5.5 0" }),
  );
}
