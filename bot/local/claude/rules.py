"""What the API refuses beyond a request's shape: limits, turns, calls and results, tools."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.local.claude.blocks import Block, blocks_of, setting, tools_of
from bot.local.claude.images import check_images
from bot.local.claude.models import Model
from bot.local.claude.refusals import RefusedError
from bot.local.claude.schemas import check_tool_schema

BINDING_BETA = "thinking-binding-controls-2026-08-01"
_VERSIONS = ("2023-01-01", "2023-06-01", "2026-10-21")
_BETA = re.compile(r"[a-z0-9-]+-\d{4}-\d{2}-\d{2}")
_ROLES_OF = {
    "tool_use": "assistant",
    "thinking": "assistant",
    "tool_result": "user",
    "image": "user",
    "document": "user",
    "search_result": "user",
}


def check_headers(headers: Mapping[str, str], api_key: str | None) -> None:
    """The key (`api_key`, or any `sk-ant-…` when None), the version, betas.

    A key comes as a bearer token, as anthropic 2.14 sends it, or as `x-api-key`, as older clients
    and plain HTTP do.
    """
    key = headers.get("x-api-key")
    bearer = headers.get("authorization", "").removeprefix("Bearer ")
    if not key and not bearer:
        raise RefusedError(
            "x-api-key header is required", status=401, error_type="authentication_error"
        )
    given = key or bearer
    if given != api_key if api_key is not None else not given.startswith("sk-ant-"):
        message = "invalid x-api-key" if key else "Invalid bearer token"
        raise RefusedError(message, status=401, error_type="authentication_error")
    version = headers.get("anthropic-version")
    if version is None:
        raise RefusedError("anthropic-version: header is required")
    if version not in _VERSIONS:
        raise RefusedError(f'anthropic-version: "{version}" is not a valid version')
    for beta in betas_of(headers):
        if not _BETA.fullmatch(beta):
            raise RefusedError(f"Unexpected value(s) `{beta}` for the `anthropic-beta` header.")


def check_content_type(headers: Mapping[str, str]) -> None:
    if not headers.get("content-type", "").startswith("application/json"):
        raise RefusedError("content-type: must be application/json")


def betas_of(headers: Mapping[str, str]) -> set[str]:
    names = headers.get("anthropic-beta", "").split(",")
    return {name.strip() for name in names if name.strip()}


def check_settings(body: dict[str, Any], model: Model, betas: set[str]) -> None:
    """Limits and options of the model, and options that don't go together."""
    if body["max_tokens"] > model.max_output_tokens:
        raise RefusedError(
            f"max_tokens: {body['max_tokens']} > {model.max_output_tokens}, which is the maximum "
            f"allowed number of output tokens for {model.name}"
        )
    for name in ("temperature", "top_p", "top_k"):
        if body.get(name) is not None and not model.accepts_sampling:
            raise RefusedError(f"`{name}` is not supported for this model.")
    _check_thinking(body, model, betas)
    _check_tool_choice(body, model)


def check_messages(body: dict[str, Any], model: Model, *, paused: bool) -> None:
    """The order of turns, empty texts, calls with their results, images.

    `paused`: the conversation ends with a paused turn of the model's own, which it goes on with.
    """
    messages = body["messages"]
    if not messages:
        raise RefusedError("messages: at least one message is required")
    for path, blocks in (("system", blocks_of(body.get("system"))), *_contents(messages)):
        _check_texts(path, blocks)
    for index, message in enumerate(messages):
        _check_roles(index, message)
    if messages[0]["role"] != "user":
        raise RefusedError('messages: first message must use the "user" role')
    _check_system_messages(messages, model)
    if messages[-1]["role"] == "assistant" and not (model.accepts_prefill or paused):
        raise RefusedError(
            "This model does not support assistant message prefill. The conversation must end "
            "with a user message."
        )
    _check_calls(_turns(messages), len(messages))
    check_images(messages)


def check_tools(body: dict[str, Any]) -> None:
    seen: set[str] = set()
    for index, tool in enumerate(tools_of(body)):
        if tool["name"] in seen:
            raise RefusedError("tools: Tool names must be unique.")
        seen.add(tool["name"])
        check_tool_schema(tool, f"tools.{index}.custom")


def _check_thinking(body: dict[str, Any], model: Model, betas: set[str]) -> None:
    thinking = setting(body, "thinking")
    kind = thinking.get("type")
    refused = (
        (kind == "disabled" and model.always_thinks)
        or (kind == "enabled" and not model.accepts_thinking_budget)
        or (kind == "adaptive" and not model.accepts_adaptive_thinking)
    )
    if refused:
        raise RefusedError(
            f'"thinking.type.{kind}" is not supported for this model. Use '
            '"thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
        )
    if kind == "enabled" and thinking["budget_tokens"] >= body["max_tokens"]:
        raise RefusedError("`max_tokens` must be greater than `thinking.budget_tokens`.")
    if "block_binding" in thinking and BINDING_BETA not in betas:
        raise RefusedError(f"thinking.block_binding: requires `anthropic-beta: {BINDING_BETA}`")


def _check_tool_choice(body: dict[str, Any], model: Model) -> None:
    choice = body.get("tool_choice")
    if choice is None:
        return
    names = [tool["name"] for tool in tools_of(body)]
    if not names:
        raise RefusedError("tool_choice may only be specified while providing tools.")
    if choice["type"] in ("any", "tool") and not model.accepts_forced_tools:
        raise RefusedError(f"tool_choice: type '{choice['type']}' is not supported for this model.")
    if choice["type"] == "tool" and choice["name"] not in names:
        raise RefusedError(f"tool_choice: Tool '{choice['name']}' not found in provided tools")


def _contents(messages: list[dict[str, Any]]) -> list[tuple[str, list[Block]]]:
    contents: list[tuple[str, list[Block]]] = []
    for index, message in enumerate(messages):
        blocks = blocks_of(message["content"])
        if not blocks:
            raise RefusedError(
                f"messages.{index}: all messages must have non-empty content except for the "
                "optional final assistant message"
            )
        contents.append((f"messages.{index}", blocks))
    return contents


def _check_texts(path: str, blocks: list[Block]) -> None:
    for place, block in enumerate(blocks):
        where = f"{path}.content.{place}"
        if block["type"] == "text":
            if not block["text"]:
                raise RefusedError(f"{path}: text content blocks must be non-empty")
            if not block["text"].strip():
                raise RefusedError(f"{path}: text content blocks must contain non-whitespace text")
        elif block["type"] == "tool_result":
            content = blocks_of(block.get("content"))
            _check_texts(where, content)
            if block.get("is_error") and not content:
                raise RefusedError(
                    f"{where}.tool_result: content cannot be empty if `is_error` is true"
                )
            if block.get("is_error") and any(inner["type"] != "text" for inner in content):
                raise RefusedError(
                    f"{where}.tool_result: all content must be type `text` if `is_error` is true"
                )


def _check_roles(index: int, message: dict[str, Any]) -> None:
    for place, block in enumerate(blocks_of(message["content"])):
        role = _ROLES_OF.get(block["type"])
        if role is not None and role != message["role"]:
            raise RefusedError(
                f"messages.{index}.content.{place}: `{block['type']}` blocks can only be in "
                f"`{role}` messages"
            )


def _check_system_messages(messages: list[dict[str, Any]], model: Model) -> None:
    for index, message in enumerate(messages):
        if message["role"] != "system":
            continue
        if not model.accepts_system_messages:
            raise RefusedError(f"messages.{index}: role 'system' is not supported on this model")
        if messages[index - 1]["role"] == "assistant":
            raise RefusedError(f"messages.{index}: role 'system' must follow a user message")


@dataclass(frozen=True, kw_only=True)
class _Turn:
    """Neighbouring messages of one role, as the API sees them: as one."""

    role: str
    blocks: list[tuple[str, Block]]
    first: int

    def of_type(self, kind: str) -> list[tuple[str, Block]]:
        return [(path, block) for path, block in self.blocks if block["type"] == kind]


def _turns(messages: list[dict[str, Any]]) -> list[_Turn]:
    turns: list[_Turn] = []
    for index, message in enumerate(messages):
        if not turns or turns[-1].role != message["role"]:
            turns.append(_Turn(role=message["role"], blocks=[], first=index))
        turns[-1].blocks.extend(
            (f"messages.{index}.content.{place}", block)
            for place, block in enumerate(blocks_of(message["content"]))
        )
    return turns


def _check_calls(turns: list[_Turn], count: int) -> None:
    seen: set[str] = set()
    calls: list[str] = []
    for turn in (*turns, _Turn(role="end", blocks=[], first=count)):
        results = turn.of_type("tool_result")
        _check_results(results, calls)
        leading: set[str] = set()
        for _, block in turn.blocks:
            if block["type"] != "tool_result":
                break
            leading.add(block["tool_use_id"])
        missing = [call for call in calls if call not in leading]
        if missing:
            raise RefusedError(
                f"messages.{turn.first - 1}: `tool_use` ids were found without `tool_result` "
                f"blocks immediately after: {', '.join(missing)}. Each `tool_use` block must have "
                "a corresponding `tool_result` block in the next message."
            )
        calls = [block["id"] for _, block in turn.of_type("tool_use")]
        for (path, _), call in zip(turn.of_type("tool_use"), calls, strict=True):
            if call in seen:
                raise RefusedError(f"{path}: `tool_use` ids must be unique")
            seen.add(call)


def _check_results(results: list[tuple[str, Block]], calls: list[str]) -> None:
    answered: set[str] = set()
    for path, block in results:
        call = block["tool_use_id"]
        if call not in calls:
            raise RefusedError(
                f"{path}: unexpected `tool_use_id` found in `tool_result` blocks: {call}. Each "
                "`tool_result` block must have a corresponding `tool_use` block in the previous "
                "message."
            )
        if call in answered:
            raise RefusedError(
                f"{path}: each tool_use must have a single result. Found multiple `tool_result` "
                f"blocks with id: {call}"
            )
        answered.add(call)
