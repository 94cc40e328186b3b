// Files that are attached to what is being written: read at once, shown before they are sent.

import { notify } from "../actions.js";
import { h } from "../dom.js";
import { icon } from "../icons.js";
import { state, update } from "../store.js";

const MOST_BYTES = 20_000_000;

export async function attach(key, files) {
  const small = files.filter((file) => file.size <= MOST_BYTES);
  if (small.length < files.length) notify("Files of more than 20 MB can't be attached.");
  const read = await Promise.all(small.map(readFile));
  if (read.length)
    update({ attached: { ...state.attached, [key]: [...(state.attached[key] ?? []), ...read] } });
}

/** Its name, its content in base64, and an address to show it at where it is a picture. */
export async function readFile(file) {
  const address = await new Promise((resolve) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.readAsDataURL(file);
  });
  return {
    name: file.name,
    content: address.slice(address.indexOf(",") + 1),
    preview: file.type.startsWith("image/") ? URL.createObjectURL(file) : null,
  };
}

function detach(key, index) {
  const { preview } = state.attached[key][index];
  if (preview) URL.revokeObjectURL(preview);
  update({ attached: { ...state.attached, [key]: state.attached[key].toSpliced(index, 1) } });
}

export function detachAll(key) {
  while (state.attached[key].length) detach(key, 0);
}

export const attachments = (key, attached) =>
  fileList("Attached", attached, (index) => detach(key, index));

/** What was chosen so far ({name, preview}), each with a button to take it away. */
export function fileList(label, files, remove) {
  if (!files.length) return null;
  return h(
    "ul",
    { class: "attached", "aria-label": label },
    files.map(({ name, preview }, index) =>
      h(
        "li",
        { key: `${index} ${name}` },
        preview ? h("img", { src: preview, alt: "" }) : icon("attach"),
        h("span", null, name),
        h(
          "button",
          {
            type: "button",
            class: "icon-button",
            "aria-label": `Remove ${name}`,
            onclick: () => remove(index),
          },
          icon("close"),
        ),
      ),
    ),
  );
}

/** Files that are dropped on it are taken; for a pane: attached to its composer. */
export const dropping = (key, take = (files) => attach(key, files)) => ({
  ondragover: (event) => {
    if (![...event.dataTransfer.types].includes("Files")) return;
    event.preventDefault();
    if (state.dropping !== key) update({ dropping: key });
  },
  ondragleave: (event) => {
    if (!event.currentTarget.contains(event.relatedTarget)) update({ dropping: null });
  },
  ondrop: (event) => {
    event.preventDefault();
    update({ dropping: null });
    take([...event.dataTransfer.files]);
  },
});
