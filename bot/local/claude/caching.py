"""The prompt cache, simulated: marks, prefixes, look-back, lifetimes.

A request is a row of segments (tools, then system, then message blocks). A cache entry is a
prefix of that row which ended at a mark and was long enough for the model. The longest entry
found from any mark, looking back over at most 20 segments, is read; what follows it up to each
later mark is written; the rest is plain input.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any, Literal

from bot.local.claude.blocks import blocks_of, digest_of, tools_of
from bot.local.claude.models import Model
from bot.local.claude.refusals import RefusedError
from bot.local.claude.usage import TOOLS_OVERHEAD, TokenUsage, block_tokens

Ttl = Literal["5m", "1h"]
MAX_MARKS = 4
LOOK_BACK = 20
_SECONDS: dict[Ttl, int] = {"5m": 300, "1h": 3600}


@dataclass(frozen=True, kw_only=True)
class Segment:
    """One cacheable unit; `digest` covers everything from the start of the request to its end."""

    digest: bytes
    tokens: int
    mark: Ttl | None


@dataclass(frozen=True, kw_only=True)
class _Found:
    path: str
    content: dict[str, Any]
    marks: list[Ttl]
    settings: object = None
    """What else invalidates a cached prefix from here on."""


@dataclass(frozen=True, kw_only=True)
class _Entry:
    ttl: Ttl
    expires_at: float
    tokens: int
    """The prefix's length when it was written; it is read at the same length."""


class Cache:
    """Entries live from one request to the next; their lifetime starts again when they are read."""

    def __init__(self) -> None:
        self._entries: dict[bytes, _Entry] = {}

    def charge(
        self, segments: list[Segment], model: Model, *, total: int | None, now: float
    ) -> TokenUsage:
        """How the request's input is billed, as the cache is at `now` (seconds); updates it.

        `total` fixes the sum of all input; None takes the segments' own estimate.
        """
        self._forget_expired(now)
        marks = [index for index, segment in enumerate(segments) if segment.mark is not None]
        hit = max((self._look_back(segments, index) for index in marks), default=-1)
        ends = self._ends(segments, hit, total)
        marked = [index for index in marks if ends[index] >= model.least_cacheable_tokens]
        for index in (*marked, hit):
            if 0 <= index <= hit:
                self._refresh(segments[index].digest, now)
        written: dict[Ttl, int] = {"5m": 0, "1h": 0}
        for before, index in pairwise([hit, *(index for index in marked if index > hit)]):
            ttl = segments[index].mark or "5m"
            written[ttl] += ends[index] - _end(ends, before)
            self._entries[segments[index].digest] = _Entry(
                ttl=ttl, expires_at=now + _SECONDS[ttl], tokens=ends[index]
            )
        read = _end(ends, hit)
        return TokenUsage(
            uncached=ends[-1] - read - sum(written.values()),
            read=read,
            written_5m=written["5m"],
            written_1h=written["1h"],
        )

    def _ends(self, segments: list[Segment], hit: int, total: int | None) -> list[int]:
        """Where each segment ends, in tokens, when all of them make `total`.

        Up to the hit that is given by the cache; the rest is shared out by the segments' weights.
        """
        weights = list(accumulate(segment.tokens for segment in segments))
        whole = weights[-1] if total is None else total
        fixed, before = 0, 0
        if hit >= 0:
            fixed = min(self._entries[segments[hit].digest].tokens, whole)
            before = weights[hit]
        rest = max(weights[-1] - before, 1)
        return [
            fixed * weight // before
            if index <= hit
            else fixed + round((whole - fixed) * (weight - before) / rest)
            for index, weight in enumerate(weights)
        ]

    def _look_back(self, segments: list[Segment], mark: int) -> int:
        """The longest live entry at or before the mark, or -1."""
        for index in range(mark, max(mark - LOOK_BACK, -1), -1):
            if segments[index].digest in self._entries:
                return index
        return -1

    def _refresh(self, digest: bytes, now: float) -> None:
        if entry := self._entries.get(digest):
            self._entries[digest] = replace(entry, expires_at=now + _SECONDS[entry.ttl])

    def _forget_expired(self, now: float) -> None:
        self._entries = {
            digest: entry for digest, entry in self._entries.items() if entry.expires_at > now
        }


def segments_of(body: dict[str, Any], messages: list[dict[str, Any]]) -> list[Segment]:
    """The request as segments; refuses marks that the API refuses.

    `messages` are the body's, with content as blocks and without dropped thinking.
    """
    found = _found(body, messages)
    _mark_last(found, body.get("cache_control"))
    _check_marks(found)
    segments: list[Segment] = []
    digest = digest_of(body["model"])
    for place, segment in enumerate(found):
        digest = digest_of(digest.hex(), segment.content, segment.settings)
        overhead = TOOLS_OVERHEAD if place == 0 and tools_of(body) else 0
        segments.append(
            Segment(
                digest=digest,
                tokens=block_tokens(segment.content) + overhead,
                mark=segment.marks[-1] if segment.marks else None,
            )
        )
    return segments


def _found(body: dict[str, Any], messages: list[dict[str, Any]]) -> list[_Found]:
    found: list[_Found] = []
    for place, tool in enumerate(tools_of(body)):
        found.append(_Found(path=f"tools.{place}", content=tool, marks=_marks(tool)))
    for place, block in enumerate(blocks_of(body.get("system"))):
        found.append(_Found(path=f"system.{place}", content=block, marks=_marks(block)))
    # Another tool choice or thinking setting leaves the tools and system cached, not the messages.
    settings = [body.get("tool_choice"), body.get("thinking")]
    for index, message in enumerate(messages):
        for place, block in enumerate(message["content"]):
            found.append(
                _Found(
                    path=f"messages.{index}.content.{place}",
                    content=block,
                    marks=_marks(block),
                    settings=[message["role"], *settings],
                )
            )
    return found


def _marks(block: dict[str, Any]) -> list[Ttl]:
    marks: list[Ttl] = []
    if block.get("type") == "tool_result":
        for inner in blocks_of(block.get("content")):
            marks += _marks(inner)
    if mark := block.get("cache_control"):
        marks.append(mark.get("ttl", "5m"))
    return marks


def _mark_last(found: list[_Found], automatic: dict[str, Any] | None) -> None:
    if automatic is None:
        return
    ttl: Ttl = automatic.get("ttl", "5m")
    last = next(
        (segment for segment in reversed(found) if segment.content.get("type") != "thinking"), None
    )
    if last is None:
        return
    if last.marks and last.marks[-1] != ttl:
        raise RefusedError(
            f"{last.path}.cache_control: the automatic cache_control has another ttl ({ttl}) than "
            f"the block's own ({last.marks[-1]})"
        )
    if not last.marks:
        last.marks.append(ttl)


def _check_marks(found: list[_Found]) -> None:
    count = sum(len(segment.marks) for segment in found)
    if count > MAX_MARKS:
        raise RefusedError(
            f"A maximum of {MAX_MARKS} blocks with cache_control may be provided. Found {count}."
        )
    short = False
    for segment in found:
        for ttl in segment.marks:
            if ttl == "1h" and short:
                raise RefusedError(
                    f"{segment.path}.cache_control.ttl: a ttl='1h' cache_control block must not "
                    "come after a ttl='5m' cache_control block. Note that blocks are processed in "
                    "the following order: `tools`, `system`, `messages`."
                )
            short = short or ttl == "5m"


def _end(ends: list[int], index: int) -> int:
    return ends[index] if index >= 0 else 0
