"""From a turn of the script to the message the API would have sent."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

from bot.local.claude.blocks import Block, canonical, setting
from bot.local.claude.models import Model
from bot.local.claude.script import Call, Turn
from bot.local.claude.thinking import Thinking
from bot.local.claude.usage import TokenUsage, block_tokens

_ENVELOPE_TOKENS = 12


def answer_to(
    body: Block,
    turn: Turn,
    *,
    model: Model,
    prefix: bytes,
    thinking: Thinking,
    charged: TokenUsage,
) -> tuple[dict[str, Any], TokenUsage]:
    """The message, and its usage with the output counted.

    Ids depend on `prefix` (the digest of all that the request says) and the turn alone, so the
    same request asked again is given the same answer.
    """
    content = _content(turn, body, model, prefix)
    stop_reason = turn.stop_reason or ("tool_use" if turn.calls else "end_turn")
    usage = _with_output(charged, turn, content, stop_reason, body["max_tokens"])
    if body["max_tokens"] == 0:
        content, stop_reason, usage = [], "max_tokens", charged
    message: dict[str, Any] = {
        "id": "msg_01" + _id(prefix, content, stop_reason),
        "type": "message",
        "role": "assistant",
        "model": model.name,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "stop_details": None,
        "usage": usage.as_json(),
        **(turn.raw or {}),
    }
    message["content"] = thinking.sign(
        message["content"], prefix, paused=message["stop_reason"] == "pause_turn"
    )
    return message, usage


def _content(turn: Turn, body: Block, model: Model, prefix: bytes) -> list[Block]:
    settings = setting(body, "thinking")
    kind = settings.get("type", "adaptive" if model.thinks_by_default else "disabled")
    blocks: list[Block] = []
    if turn.thinking is not None and kind != "disabled":
        shown = settings.get("display") == "summarized"
        blocks.append({"type": "thinking", "thinking": turn.thinking if shown else ""})
    for place, item in enumerate(turn.content):
        if isinstance(item, str):
            blocks.append({"type": "text", "text": item})
        elif isinstance(item, Call):
            blocks.append(
                {
                    "type": "tool_use",
                    "id": item.id or "toolu_01" + _id(prefix, place, item.name, item.input),
                    "name": item.name,
                    "input": item.input,
                    "caller": {"type": "direct"},
                }
            )
        else:
            blocks.append(dict(item))
    return blocks


def _with_output(
    charged: TokenUsage, turn: Turn, content: list[Block], stop_reason: str, max_tokens: int
) -> TokenUsage:
    fixed = turn.usage
    thought = sum(block_tokens(block) for block in content if block["type"] == "thinking")
    output = _ENVELOPE_TOKENS + sum(map(block_tokens, content))
    if stop_reason == "max_tokens":
        output = max_tokens
    if fixed is not None and fixed.output is not None:
        output = fixed.output
    if fixed is not None and fixed.thinking is not None:
        thought = fixed.thinking
    output = min(output, max_tokens)
    return replace(charged, output=output, thinking=min(thought, output))


def _id(prefix: bytes, *parts: object) -> str:
    return hashlib.sha256(prefix + canonical(parts).encode()).hexdigest()[:22]
