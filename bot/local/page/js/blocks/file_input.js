// A field for files in a modal: each is handed in when it is chosen, and sent in with the modal.

import { act } from "../api.js";
import { elementKey } from "../doing.js";
import { h } from "../dom.js";
import { formOf } from "../form.js";
import { icon } from "../icons.js";
import { idFor } from "../keys.js";
import { filePath } from "../parts/photo.js";
import { state, update } from "../store.js";
import { dropping, fileList, readFile } from "../views/attachments.js";
import { hold, valueOf } from "./values.js";

const MOST = 10;

export function fileInput(spot, block, item, extra) {
  const key = elementKey(spot.place, block, item);
  const id = idFor(key);
  const files = valueOf(spot, block, item)?.files ?? [];
  const { max_files: most = MOST, filetypes } = item;
  const take = (chosen) => add(spot, block, item, chosen);
  const remove = (index) => {
    hold(spot, block, item, files.toSpliced(index, 1));
    document.getElementById(id).focus();
  };
  return h(
    "div",
    { class: `file-field${state.dropping === key ? " dropping" : ""}`, ...dropping(key, take) },
    fileList("Chosen files", files.map(shown), remove),
    h(
      "label",
      { class: "button" },
      icon("attach"),
      most === 1 ? "Choose a file" : "Choose files",
      h("input", {
        id,
        type: "file",
        class: "hidden-words",
        multiple: most > 1,
        accept: filetypes?.map((kind) => `.${kind}`).join(","),
        "aria-labelledby": extra["aria-labelledby"],
        "aria-describedby": extra["aria-describedby"],
        required: !block.optional,
        onchange: ({ target }) => {
          const chosen = [...target.files];
          target.value = "";
          take(chosen);
        },
      }),
    ),
  );
}

const shown = ({ name, mimetype, url_private: url }) => ({
  name,
  preview: mimetype.startsWith("image/") ? filePath(url) : null,
});

/** One after the other; the modal can't be sent in meanwhile. What isn't taken is told there. */
async function add({ place, view }, block, item, chosen) {
  const { block_id } = block;
  const { action_id, max_files: most = MOST } = item;
  const here = { view, place };
  const present = () => valueOf(here, block, item)?.files ?? [];
  let wrong = null;
  update({ form: { ...formOf(view), busy: true } });
  for (const file of chosen) {
    if (present().length >= most) {
      wrong = `No more than ${most} ${most === 1 ? "file" : "files"} can be added.`;
      break;
    }
    const { name, content } = await readFile(file);
    const files = [{ name, content_base64: content }];
    const answer = await act("attach", { view_id: view.id, block_id, action_id, files });
    if (state.form?.id !== view.id) return;
    if (answer.ok) hold(here, block, item, [...present(), ...answer.files]);
    else wrong = answer.error;
  }
  const errors = wrong ? { ...state.form.errors, [block_id]: wrong } : state.form.errors;
  update({ form: { ...state.form, errors, busy: false } });
}
