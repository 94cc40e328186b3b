"""A conversation's JSON: content blocks, and digests that are blind to what isn't a change.

Cache marks, a string instead of one text block, and fields that are null aren't changes; nor is
it one whether neighbouring messages of one role are sent as one message or as several.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any, TypeGuard

Block = dict[str, Any]


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def blocks_of(content: str | list[Block] | None) -> list[Block]:
    """Content as blocks; a string is shorthand for one text block, an empty one for none."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return content or []


def tools_of(body: Block) -> list[Block]:
    """The tools of a request, or none."""
    return body.get("tools") or []


def setting(body: Block, name: str) -> Block:
    """A field of a request that is an object; an empty one when it is absent."""
    return body.get(name) or {}


def extend(prefix: bytes, role: str, blocks: Iterable[Block]) -> bytes:
    """The digest of a conversation with these blocks after it."""
    for block in blocks:
        prefix = digest_of(prefix.hex(), role, block)
    return prefix


def digest_of(*parts: object) -> bytes:
    """A digest of JSON values."""
    return hashlib.sha256(canonical([_plain(part) for part in parts]).encode()).digest()


def canonical(value: object) -> str:
    """One text for equal JSON values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _plain(value: object) -> object:
    if is_list(value):
        return [_plain(item) for item in value]
    if not is_object(value):
        return value
    block = {
        key: item for key, item in value.items() if item is not None and key != "cache_control"
    }
    # Only a result's content can hold blocks; a call's input is the model's own and kept as it is.
    content = block.get("content")
    if block.get("type") == "tool_result" and (isinstance(content, str) or is_list(content)):
        block["content"] = _plain(blocks_of(content))
    return block
