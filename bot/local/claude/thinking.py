"""Signed thinking, and assistant turns that must come back exactly as they were sent.

A signature holds two proofs: one over the answer it is part of (every block of it) and one over
all that came before it (model, system, tools, messages). It needs nothing but the secret to be
checked, so a restarted stand-in with the same secret knows its old blocks.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass
from typing import Any

from bot.local.claude.blocks import (
    Block,
    blocks_of,
    digest_of,
    extend,
    is_list,
    is_object,
    tools_of,
)
from bot.local.claude.refusals import RefusedError

_MARK = b"local-claude"
_PROOF_BYTES = 24


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A request's messages after the check of what came back."""

    messages: list[dict[str, Any]]
    """As the model sees them: without the thinking that was dropped."""
    dropped: list[str]
    """Paths of dropped thinking blocks, as in `messages.1.content.0`."""
    prefix: bytes
    """Digest of everything in the request; what an answer to it is bound to."""


class Thinking:
    """Signs answers and knows them again."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._answers: dict[bytes, bool] = {}
        self._turns_with: dict[str, set[bytes]] = {}
        """The turns that a call's id came in: a careless script gives one to several."""

    def sign(self, content: list[Block], prefix: bytes, *, paused: bool) -> list[Block]:
        """The content with its thinking blocks signed; remembers the answer."""
        answer = self._proof(b"answer", _answer_digest(content), bytes([paused]))
        history = self._proof(b"history", prefix)
        signature = base64.b64encode(_MARK + bytes([paused]) + answer + history).decode()
        signed = [
            {**block, "signature": signature} if _is_thinking(block) else block for block in content
        ]
        digest = _answer_digest(signed)
        self._answers[digest] = paused
        for call_id in _call_ids(signed):
            self._turns_with.setdefault(call_id, set()).add(digest)
        return signed

    def knows(self, content: object) -> bool:
        """Whether this is a whole answer of ours, unchanged (its blocks need no other check)."""
        if not is_list(content) or not all(map(is_object, content)):
            return False
        blocks: list[Block] = content
        digest = _answer_digest(blocks)
        return digest in self._answers or any(
            self._answer_holds(block.get("signature"), digest)
            for block in blocks
            if _is_thinking(block)
        )

    def check(self, body: dict[str, Any], *, binds: bool, drop: bool) -> Checked:
        """Refuse a changed turn, or thinking whose history changed (unless it is to be dropped)."""
        prefix = digest_of(body["model"], blocks_of(body.get("system")), tools_of(body))
        messages: list[dict[str, Any]] = []
        dropped: list[str] = []
        for index, message in enumerate(body["messages"]):
            content = blocks_of(message["content"])
            if message["role"] == "assistant":
                path = f"messages.{index}"
                bad = self._bad_thinking(content, path, prefix if binds else None, drop=drop)
                self._check_calls(content, path)
                dropped += [f"{path}.content.{place}" for place in bad]
                content = [block for place, block in enumerate(content) if place not in bad]
            messages.append({**message, "content": content})
            prefix = extend(prefix, message["role"], content)
        return Checked(messages=messages, dropped=dropped, prefix=prefix)

    def ends_paused(self, messages: list[dict[str, Any]]) -> bool:
        """Whether the last message is an answer of ours with `pause_turn`, to be gone on with."""
        if not messages or messages[-1]["role"] != "assistant":
            return False
        content = blocks_of(messages[-1]["content"])
        signed = (_proofs(block.get("signature")) for block in content if _is_thinking(block))
        return self._answers.get(_answer_digest(content), False) or any(
            proofs.paused for proofs in signed if proofs is not None
        )

    def _bad_thinking(
        self, content: list[Block], path: str, prefix: bytes | None, *, drop: bool
    ) -> set[int]:
        digest = _answer_digest(content)
        bad: set[int] = set()
        for place, block in enumerate(content):
            if not _is_thinking(block):
                continue
            where = f"{path}.content.{place}"
            proofs = _proofs(block.get("signature"))
            if proofs is None:
                raise RefusedError(f"{where}: Invalid `signature` in `thinking` block")
            if not self._answer_holds(block.get("signature"), digest):
                raise RefusedError(
                    f"{where}: `thinking` or `redacted_thinking` blocks in the latest assistant "
                    "message cannot be modified. These blocks must remain as they were in the "
                    "original response."
                )
            if prefix is None or hmac.compare_digest(
                proofs.history, self._proof(b"history", prefix)
            ):
                continue
            if not drop:
                raise RefusedError(
                    f"{where}: Invalid `signature` in `thinking` block. The block is bound to a "
                    "different conversation. Remove the block, or set "
                    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
                )
            bad.add(place)
        return bad

    def _check_calls(self, content: list[Block], path: str) -> None:
        """Refuse a turn that has a call of ours but is not the turn it came in.

        The real API wouldn't miss thinking that was left out; it is refused here because a turn
        goes back whole.
        """
        digest = _answer_digest(content)
        for call_id in _call_ids(content):
            if digest not in self._turns_with.get(call_id, {digest}):
                raise RefusedError(
                    f"{path}: this turn was changed since it was received (it has the call "
                    f"{call_id}). Send back every block, thinking too, as it was in the response."
                )

    def _answer_holds(self, signature: object, digest: bytes) -> bool:
        proofs = _proofs(signature)
        return proofs is not None and hmac.compare_digest(
            proofs.answer, self._proof(b"answer", digest, bytes([proofs.paused]))
        )

    def _proof(self, kind: bytes, *parts: bytes) -> bytes:
        message = b"\0".join((kind, *parts))
        return hmac.digest(self._secret, message, hashlib.sha256)[:_PROOF_BYTES]


@dataclass(frozen=True, kw_only=True)
class _Proofs:
    paused: bool
    answer: bytes
    history: bytes


def _proofs(signature: object) -> _Proofs | None:
    try:
        raw = base64.b64decode(str(signature), validate=True)
    except (binascii.Error, ValueError):
        return None
    if not raw.startswith(_MARK) or len(raw) != len(_MARK) + 1 + 2 * _PROOF_BYTES:
        return None
    proofs = raw[len(_MARK) + 1 :]
    return _Proofs(
        paused=bool(raw[len(_MARK)]),
        answer=proofs[:_PROOF_BYTES],
        history=proofs[_PROOF_BYTES:],
    )


def _answer_digest(content: list[Block]) -> bytes:
    return digest_of(
        [
            {key: value for key, value in block.items() if key != "signature"}
            if _is_thinking(block)
            else block
            for block in content
        ]
    )


def _is_thinking(block: Block) -> bool:
    return block.get("type") == "thinking"


def _call_ids(content: list[Block]) -> list[str]:
    return [block["id"] for block in content if block.get("type") == "tool_use" and "id" in block]
