"""Tokens: estimating them, splitting them by the cache, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from bot.local.claude.blocks import blocks_of, canonical
from bot.local.claude.images import image_tokens
from bot.local.claude.models import Model

_CHARACTERS_A_TOKEN = 4
_BLOCK_OVERHEAD = 4
TOOLS_OVERHEAD = 290
"""What the API adds for its own instructions about tools, once a request that has tools."""
_THINKING_TOKENS = 48
_MILLION = Decimal(1_000_000)


@dataclass(frozen=True, kw_only=True)
class TokenUsage:
    """Tokens of one answer. All input = uncached + read + written; output includes thinking."""

    uncached: int = 0
    read: int = 0
    written_5m: int = 0
    written_1h: int = 0
    output: int = 0
    thinking: int = 0

    @property
    def input(self) -> int:
        return self.uncached + self.read + self.written_5m + self.written_1h

    def cost_usd(self, model: Model) -> Decimal:
        price = model.price_of(self.input)
        return (
            self.uncached * price.input
            + self.read * price.read
            + self.written_5m * price.write_5m
            + self.written_1h * price.write_1h
            + self.output * price.output
        ) / _MILLION

    def uncached_cost_usd(self, model: Model) -> Decimal:
        """What the same tokens would have cost without a cache."""
        price = model.price_of(self.input)
        return (self.input * price.input + self.output * price.output) / _MILLION

    def as_json(self) -> dict[str, Any]:
        """The `usage` of a message."""
        return {
            "input_tokens": self.uncached,
            "cache_creation_input_tokens": self.written_5m + self.written_1h,
            "cache_read_input_tokens": self.read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": self.written_5m,
                "ephemeral_1h_input_tokens": self.written_1h,
            },
            "output_tokens": self.output,
            "output_tokens_details": {"thinking_tokens": self.thinking},
            "service_tier": "standard",
        }


def block_tokens(block: dict[str, Any]) -> int:
    """About how many tokens a block, or a tool's definition, weighs."""
    if block.get("type") == "image":
        return image_tokens(block) + _BLOCK_OVERHEAD
    if block.get("type") == "thinking":
        return _text_tokens(block["thinking"]) + _THINKING_TOKENS
    if block.get("type") == "tool_result":
        return 2 * _BLOCK_OVERHEAD + sum(map(block_tokens, blocks_of(block.get("content"))))
    if block.get("type") == "text":
        return _text_tokens(block["text"]) + _BLOCK_OVERHEAD
    return _text_tokens(canonical(block)) + _BLOCK_OVERHEAD


def _text_tokens(text: str) -> int:
    return -(-len(text) // _CHARACTERS_A_TOKEN)
