"""The API's small endpoints beside `POST /v1/messages`: the models, and counting tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bot.local.claude.blocks import blocks_of
from bot.local.claude.caching import segments_of
from bot.local.claude.models import CONTEXT_TOKENS, MODELS, Model, model_named
from bot.local.claude.refusals import RefusedError
from bot.local.claude.rules import check_messages, check_tools
from bot.local.claude.wire import check_shape, parse

# The API gives the epoch for a release date that it doesn't know.
_UNKNOWN_DATE = "1970-01-01T00:00:00Z"
_MOST_MODELS = 1000


def served(
    method: str,
    path: str,
    *,
    query: Mapping[str, str],
    raw: bytes,
    knows: Callable[[object], bool],
) -> dict[str, Any]:
    """The JSON of such an endpoint; any other path is a 404. `knows` as for `check_shape`."""
    match method, path.strip("/").split("/"):
        case "GET", ["v1", "models"]:
            return models_page(query)
        case "GET", ["v1", "models", name]:
            return model_info(name)
        case "POST", ["v1", "messages", "count_tokens"]:
            return counted(parse(raw), knows)
        case _:
            raise RefusedError(f"{method} {path}", status=404, error_type="not_found_error")


def models_page(query: Mapping[str, str]) -> dict[str, Any]:
    """`GET /v1/models`: the models in the table's order; `limit`, `after_id`, `before_id`."""
    limit = query.get("limit", "20")
    if not limit.isdecimal() or not 1 <= int(limit) <= _MOST_MODELS:
        raise RefusedError(f"limit: must be between 1 and {_MOST_MODELS}")
    names = list(MODELS)
    if after := query.get("after_id"):
        names = names[names.index(model_named(after).name) + 1 :]
    if before := query.get("before_id"):
        names = names[: names.index(model_named(before).name)][-int(limit) :]
    shown = names[: int(limit)]
    return {
        "data": [model_info(name) for name in shown],
        "has_more": len(names) > len(shown),
        "first_id": shown[0] if shown else None,
        "last_id": shown[-1] if shown else None,
    }


def model_info(name: str) -> dict[str, Any]:
    """`GET /v1/models/{id}`; an unknown one is a 404."""
    model = model_named(name)
    return {
        "type": "model",
        "id": model.name,
        "display_name": _display_name(model),
        "created_at": _UNKNOWN_DATE,
        "lifecycle": "active",
        "line": None,
        "capabilities": None,
        "deprecated_at": None,
        "retires_at": None,
        "max_input_tokens": CONTEXT_TOKENS,
        "max_tokens": model.max_output_tokens,
    }


def counted(body: dict[str, Any], knows: Callable[[object], bool]) -> dict[str, Any]:
    """`POST /v1/messages/count_tokens`: what the request would weigh, by the same estimate as an
    answer's usage."""
    for name in ("max_tokens", "stream"):
        if name in body:
            raise RefusedError(f"{name}: Extra inputs are not permitted")
    check_shape({**body, "max_tokens": 0}, knows)
    model = model_named(body["model"])
    check_messages(body, model, paused=False)
    check_tools(body)
    messages = [
        {**message, "content": blocks_of(message["content"])} for message in body["messages"]
    ]
    return {"input_tokens": sum(segment.tokens for segment in segments_of(body, messages))}


def _display_name(model: Model) -> str:
    """`claude-opus-5-5` is Claude Opus 5.5."""
    line, *numbers = model.name.removeprefix("claude-").split("-")
    return f"Claude {line.title()} {'.'.join(each for each in numbers if len(each) < 8)}"
