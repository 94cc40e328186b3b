// Pictures: in blocks, under messages, and one at full size. Only our own server's are loaded.

import { h } from "../dom.js";
import { icon } from "../icons.js";
import { state, update } from "../store.js";

const OURS =
  /^https?:\/\/(?:127\.0\.0\.1|localhost)(?::\d+)?\/files(?:-pri\/\w+-|\/\w+\/)(F\w+)\/(.+)$/;

/** Where the page can load a file that a Slack address names; null for anything else. */
export function filePath(url) {
  const found = OURS.exec(url ?? "");
  return found ? `/api/file/${found[1]}/${found[2].split("/").pop()}` : null;
}

/** An image block or element. */
export function picture(item, title) {
  const { slack_file: file, alt_text: words } = item;
  const source = file?.id ? `/api/file/${file.id}/image` : filePath(file?.url ?? item.image_url);
  if (!source) {
    return h("a", { href: item.image_url, target: "_blank", rel: "noopener noreferrer" }, words);
  }
  return [title && h("p", { class: "soft" }, title), thumbnail(source, words)];
}

export function thumbnail(source, words) {
  return h(
    "button",
    {
      type: "button",
      class: "thumbnail",
      key: source,
      "aria-label": `Show ${words} in full size`,
      onclick: () => update({ photo: { source, words } }),
    },
    h("img", { src: source, alt: words, loading: "lazy" }),
  );
}

/** A message's files: pictures as previews, all else as downloads. */
export function files(list) {
  return h(
    "div",
    { class: "files" },
    list.map((file) =>
      file.mimetype.startsWith("image/")
        ? h(
            "figure",
            { key: file.id },
            h("figcaption", null, file.name),
            thumbnail(file.page_url, file.name),
          )
        : h(
            "a",
            { class: "file", key: file.id, href: file.page_url, download: file.name },
            icon("attach"),
            h("span", null, h("strong", null, file.name), h("small", null, size(file.size))),
          ),
    ),
  );
}

const size = (bytes) =>
  bytes < 1_000_000
    ? `${Math.max(1, Math.round(bytes / 1000))} kB`
    : `${(bytes / 1e6).toFixed(1)} MB`;

/** The photo that is looked at in full size, above everything. */
export function lightbox() {
  const { photo } = state;
  if (!photo) return null;
  const close = () => update({ photo: null });
  return h(
    "dialog",
    {
      key: "photo",
      class: "lightbox",
      "aria-label": photo.words,
      created: (dialog) => dialog.showModal(),
      removed: (dialog) => dialog.close(),
      oncancel: (event) => {
        event.preventDefault();
        close();
      },
      onclick: (event) => event.target === event.currentTarget && close(),
    },
    h("img", { src: photo.source, alt: photo.words }),
    h(
      "button",
      { type: "button", class: "icon-button", "aria-label": "Close the photo", onclick: close },
      icon("close"),
    ),
  );
}
