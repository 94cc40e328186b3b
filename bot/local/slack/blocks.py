"""The rules for a whole message's blocks, a view and an options answer.

Each check returns the content with every missing block_id and action_id filled in (as Slack does),
or raises `RefusedError` with Slack's error code and its details.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from bot.local.slack.block_kit import HomeView, MessageBlocks, ModalView, OptionsAnswer
from bot.local.slack.workspace import Json, as_list, as_object

MARKDOWN_CHARACTERS = 12_000
MESSAGE_BLOCKS_CHARACTERS = 13_000
VIEW_BYTES = 250_000
_ONLY_IN_MODALS = ("number_input", "email_text_input", "url_text_input", "file_input")
_ONLY_IN_MESSAGES = ("markdown", "context_actions")


class RefusedError(Exception):
    """Slack says no: `error` is its code, `details` go into response_metadata.messages, `extra`
    are further fields of the answer."""

    def __init__(self, error: str, *details: str, **extra: Any) -> None:
        super().__init__(": ".join((error, "; ".join(details))) if details else error)
        self.error = error
        self.details = details
        self.extra = extra


def check_message_blocks(value: Any, *, mint: Callable[[str], str]) -> tuple[Json, ...]:
    """`value` is the parsed `blocks` argument; `mint` makes ids from a prefix."""
    if as_list(value) is None:
        raise RefusedError("invalid_blocks_format")
    content = _validated(MessageBlocks, {"blocks": value}, "invalid_blocks")
    blocks: list[Json] = content["blocks"]
    for index, block in enumerate(blocks):
        kind = block["element"]["type"] if block["type"] == "input" else None
        if kind in _ONLY_IN_MODALS:
            raise RefusedError(
                "invalid_blocks",
                _detail(f"unsupported type: {kind}", f"/blocks/{index}/element/type"),
            )
    _fill_ids(blocks, mint, "invalid_blocks")
    markdown = sum(len(block["text"]) for block in blocks if block["type"] == "markdown")
    if markdown > MARKDOWN_CHARACTERS:
        raise RefusedError(
            "invalid_blocks",
            _detail(
                f"markdown blocks together must be less than {MARKDOWN_CHARACTERS + 1} characters",
                "/blocks",
            ),
        )
    if sum(map(len, _texts(blocks))) > MESSAGE_BLOCKS_CHARACTERS:
        raise RefusedError("msg_blocks_too_long")
    return tuple(blocks)


def check_view(value: Any, *, mint: Callable[[str], str]) -> Json:
    """`value` is the parsed `view` argument: a modal or a Home tab."""
    given = as_object(value)
    if given is None:
        raise RefusedError("invalid_arguments", _detail("must be an object", "/view"))
    if len(json.dumps(given)) > VIEW_BYTES:
        raise RefusedError("view_too_large")
    kind = given.get("type")
    if kind not in ("modal", "home"):
        raise RefusedError("invalid_arguments", _detail("unsupported type", "/view/type"))
    model = ModalView if kind == "modal" else HomeView
    view = _validated(model, given, "invalid_arguments", prefix="/view")
    blocks: list[Json] = view["blocks"]
    for index, block in enumerate(blocks):
        if block["type"] in _ONLY_IN_MESSAGES:
            raise RefusedError(
                "invalid_arguments",
                _detail(f"unsupported type: {block['type']}", f"/view/blocks/{index}/type"),
            )
        if kind == "home" and block["type"] == "input" and _takes_files(block):
            raise RefusedError(
                "invalid_arguments",
                _detail("unsupported type: file_input", f"/view/blocks/{index}/element/type"),
            )
    _fill_ids(blocks, mint, "invalid_arguments", prefix="/view")
    if kind == "modal" and "submit" not in view and any(b["type"] == "input" for b in blocks):
        raise RefusedError(
            "invalid_arguments",
            _detail("`submit` is required when there are input blocks", "/view"),
        )
    return view


def check_options(value: Any) -> list[Json]:
    """The options of an answer to a block_suggestion, groups flattened."""
    answer = _validated(OptionsAnswer, value, "invalid_options")
    if ("options" in answer) == ("option_groups" in answer):
        raise RefusedError(
            "invalid_options", "exactly one of options and option_groups is required"
        )
    options: list[Json] = list(answer.get("options", ()))
    for group in answer.get("option_groups", ()):
        options.extend(group["options"])
    return options


def takes_files(view: Json) -> bool:
    """Whether a checked view has a field for files."""
    return any(block["type"] == "input" and _takes_files(block) for block in view["blocks"])


def elements(blocks: Iterable[Json]) -> Iterator[tuple[Json, Json]]:
    """Every interactive element with its block, in the order a person sees them."""
    for block in blocks:
        inner: list[Json] = []
        if block["type"] in ("actions", "context_actions"):
            inner = block["elements"]
        elif block["type"] == "section" and "accessory" in block:
            inner = [block["accessory"]]
        elif block["type"] == "input":
            inner = [block["element"]]
        for element in inner:
            if element["type"] != "image":
                yield block, element


def _takes_files(block: Json) -> bool:
    return block["element"]["type"] == "file_input"


def _validated(model: type[BaseModel], value: Any, error: str, *, prefix: str = "") -> Json:
    try:
        checked = model.model_validate(value)
    except ValidationError as problem:
        details = (_explained(item, value, prefix) for item in problem.errors(include_url=False))
        raise RefusedError(error, *details) from problem
    return checked.model_dump(exclude_none=True)


def _fill_ids(
    blocks: list[Json], mint: Callable[[str], str], error: str, *, prefix: str = ""
) -> None:
    seen_blocks: set[str] = set()
    for index, block in enumerate(blocks):
        block_id: str = block.setdefault("block_id", mint("b"))
        if block_id in seen_blocks:
            raise RefusedError(
                error,
                _detail(
                    f"`block_id` must be unique: {block_id}", f"{prefix}/blocks/{index}/block_id"
                ),
            )
        seen_blocks.add(block_id)
        seen_actions: set[str] = set()
        for _, element in elements([block]):
            action_id: str = element.setdefault("action_id", mint("a"))
            if action_id in seen_actions:
                raise RefusedError(
                    error,
                    _detail(
                        f"`action_id` `{action_id}` already exists", f"{prefix}/blocks/{index}"
                    ),
                )
            seen_actions.add(action_id)


def _texts(value: Any) -> Iterator[str]:
    """Every string that stands under a `text` key, however deep."""
    for item in as_list(value) or ():
        yield from _texts(item)
    for key, item in (as_object(value) or {}).items():
        if key == "text" and isinstance(item, str):
            yield item
        else:
            yield from _texts(item)


def _explained(item: ErrorDetails, value: Any, prefix: str) -> str:
    """One pydantic error in Slack's words, with a JSON pointer into what the app sent."""
    context = item.get("ctx", {})
    match item["type"]:
        case "string_too_long":
            words = f"must be less than {context['max_length'] + 1} characters"
        case "string_too_short":
            words = "must be more than 0 characters"
        case "too_long":
            words = f"no more than {context['max_length']} items allowed"
        case "missing":
            words = f"missing required field: {item['loc'][-1]}"
        case "extra_forbidden":
            words = f"unsupported field: {item['loc'][-1]}"
        case "union_tag_invalid":
            words = f"unsupported type: {context['tag']}"
        case _:
            words = item["msg"]
    pointer = prefix
    place = value
    for step in item["loc"]:
        # pydantic puts the tag of a tagged union into the path; it is no key of the content.
        members, entries = as_object(place), as_list(place)
        if members is not None and step in members:
            place = members[str(step)]
        elif entries is not None and isinstance(step, int):
            place = entries[step]
        else:
            continue
        pointer += f"/{step}"
    return _detail(words, pointer)


def _detail(words: str, pointer: str) -> str:
    return f"[ERROR] {words} [json-pointer:{pointer or '/'}]"
