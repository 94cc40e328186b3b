"""Fields and options as a person meets them: found by label, filled, checked by Slack itself."""

from __future__ import annotations

from collections.abc import Sequence

from bot.local.slack.workspace import Json, View

MOST_FILES = 10
FILE_BYTES = 10 * 1024 * 1024
"""The largest file that a field in a modal takes (docs.slack.dev, file-input-element)."""

_VALUE_NAMES = {"datepicker": "selected_date", "users_select": "selected_user"}


def action_of(block: Json, element: Json) -> Json:
    """The start of an entry in a payload's `actions`."""
    return {
        "type": element["type"],
        "block_id": block["block_id"],
        "action_id": element["action_id"],
    }


def offered(element: Json, text: str) -> list[Json]:
    """An element's own options whose text contains what was typed."""
    options: list[Json] = list(element.get("options", ()))
    for group in element.get("option_groups", ()):
        options.extend(group["options"])
    return [option for option in options if text.lower() in option["text"]["text"].lower()]


def picked(options: Sequence[Json], wanted: str | None) -> Json | None:
    """The first option, or the first whose text starts with what is wanted."""
    for option in options:
        if wanted is None or str(option["text"]["text"]).startswith(wanted):
            return option
    return None


def labelled(view: View, label: str) -> Json:
    """The input block with that label; LookupError names those there are."""
    inputs = [block for block in view.blocks if block["type"] == "input"]
    for block in inputs:
        if block["label"]["text"] == label:
            return block
    known = ", ".join(str(block["label"]["text"]) for block in inputs) or "none"
    raise LookupError(f"no field {label!r} in {view.title!r}; fields: {known}")


def entered_value(element: Json, words: str) -> Json:
    """The state value of an element that a person filled with these words."""
    kind: str = element["type"]
    if kind == "file_input":
        raise LookupError("a field for files is filled with uploads, not with words")
    if kind.endswith("_input"):
        return {"type": kind, "value": words or None}
    if kind in _VALUE_NAMES:
        return {"type": kind, _VALUE_NAMES[kind]: words}
    if kind == "external_select":
        raise LookupError("use choose() for a select that searches")
    option = next((o for o in offered(element, "") if o["text"]["text"] == words), None)
    if option is None:
        known = ", ".join(str(item["text"]["text"]) for item in offered(element, ""))
        raise LookupError(f"no option {words!r}; offered: {known}")
    if kind == "checkboxes":
        return {"type": kind, "selected_options": [option]}
    return {"type": kind, "selected_option": option}


def unfit(view: View) -> dict[str, str]:
    """Slack's own complaints about a filled modal, by block id."""
    wrong: dict[str, str] = {}
    for block in view.blocks:
        if block["type"] != "input":
            continue
        element: Json = block["element"]
        state = view.values[block["block_id"]].get(element["action_id"], {})
        entered = next((value for name, value in state.items() if name != "type"), None)
        if not entered:
            if not block["optional"]:
                wrong[block["block_id"]] = "Please complete this required field."
        elif element["type"] == "file_input":
            if (words := unfit_files(element, state["files"])) is not None:
                wrong[block["block_id"]] = words
        elif isinstance(entered, str) and len(entered) > element.get("max_length", 3000):
            wrong[block["block_id"]] = "This is too long."
        elif isinstance(entered, str) and len(entered) < element.get("min_length", 0):
            wrong[block["block_id"]] = "This is too short."
    return wrong


def unfit_files(element: Json, files: Sequence[Json]) -> str | None:
    """Slack's complaint about the files (`name`, `size`) chosen in a file_input; None when all
    fit."""
    most: int = element.get("max_files", MOST_FILES)
    if len(files) > most:
        return f"No more than {most} {'file' if most == 1 else 'files'} can be added."
    allowed = [str(each).lower() for each in element.get("filetypes", ())]
    for file in files:
        extension = str(file["name"]).rpartition(".")[2].lower()
        if allowed and extension not in allowed:
            return f"{file['name']} can't be added: only {', '.join(allowed)}."
        if file["size"] > FILE_BYTES:
            return f"{file['name']} can't be added: it is larger than 10 MB."
    return None
