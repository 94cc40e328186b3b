"""The outbox → Slack, each post once and in order.

Slack has no idempotency key, so every message carries its post's id as metadata. Whenever a send's
outcome isn't known (no answer came, or a former owner of the case may have sent it), the place is
read back before anything is posted again.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from slack_sdk.web.async_client import AsyncWebClient

from agent.case import Approval, Handoff, Line, Post, PrivateLine, Reaction
from agent.ports import CaseStore, Lease, OutboxEntry, Posted
from bot.actions import POST_METADATA
from bot.cards.case import REACTIONS
from bot.cards.draw import draw
from bot.cards.handoff import handoff_elsewhere
from bot.cards.line import line_elsewhere, outcome_line
from bot.cards.message import Audience, Message
from bot.slack_calls import (
    CALL_TIMEOUT_SECONDS,
    Identity,
    Json,
    OwnMessage,
    Refused,
    SlackCalls,
    TryLater,
)
from bot.thread import Place, Thread

log = logging.getLogger(__name__)

LONGEST_WAIT_SECONDS = 60.0
"""Between two tries while Slack is away."""

# How far our clock and Slack's may be apart when a send of our own is looked for.
_CLOCK_DIFFERENCE_SECONDS = 300.0
_NOWHERE: Final = Posted(channel="", message_id="")
_TOO_MUCH = frozenset(
    {
        "block_mismatch",
        "invalid_blocks",
        "invalid_blocks_format",
        "msg_blocks_too_long",
        "msg_too_long",
    }
)
_NO_SUCH_THREAD = frozenset({"thread_not_found", "message_not_found"})


def make_client(token: str, base_url: str) -> AsyncWebClient:
    """A client that never sends a request twice by itself: the Poster decides about that."""
    return AsyncWebClient(
        token=token, base_url=base_url, timeout=int(CALL_TIMEOUT_SECONDS) + 1, retry_handlers=[]
    )


@dataclass(kw_only=True)
class _Memory:
    """What this process knows of a case's sends while some of its posts are not out."""

    token: int
    """Of the latest lease."""
    known_from: int
    """Since this lease nobody else owned the case: what is sent of younger entries is known."""
    retry_at: float = 0.0
    failures: int = 0
    unsure: dict[str, float] = field(default_factory=dict[str, float])
    """Message id → when a send of it ended (or began) without an answer."""
    looked: set[str] = field(default_factory=set[str])
    """Messages that were looked for and not found."""
    done: dict[str, Posted] = field(default_factory=dict[str, Posted])
    """Messages that are out, of a post that isn't out wholly."""
    dead_root: bool = False
    strays: set[str] = field(default_factory=set[str])
    """Times of messages at the case channel's root, to be deleted."""
    sweep: set[str] = field(default_factory=set[str])
    """Messages that may be at the case channel's root."""


class Poster:
    """Sends outboxes. One for a process: it remembers what it isn't sure of."""

    def __init__(
        self,
        *,
        client: AsyncWebClient,
        store: CaseStore,
        audience: Audience,
        now: Callable[[], float],
    ) -> None:
        self._client = client
        self._store = store
        self._audience = audience
        self._now = now
        self._memories: dict[str, _Memory] = {}
        self._identity: Identity | None = None

    async def drain(
        self,
        lease: Lease,
        *,
        claimed_at: float,
        seconds_left: Callable[[], float],
        on_dead_root: Callable[[str], Awaitable[None]],
    ) -> float | None:
        """Send what is in the case's outbox, oldest first.

        None when all of it is out, else the Unix time at which to try again; nothing sleeps here.
        `claimed_at` is when this lease was claimed, `seconds_left` what is left of it.
        `on_dead_root` gets the case's id when its thread turns out to have lost its first message.
        Raises `LeaseLost` when no time is left right before a send, and what the store raises.
        """
        memory = self._memory(lease)
        if self._now() < memory.retry_at:
            return memory.retry_at
        delivery = _Delivery(
            calls=SlackCalls(client=self._client, now=self._now, seconds_left=seconds_left),
            store=self._store,
            audience=self._audience,
            now=self._now,
            lease=lease,
            claimed_at=claimed_at,
            on_dead_root=on_dead_root,
            memory=memory,
            identity=self._identity,
        )
        try:
            for entry in await self._store.outbox(lease):
                await delivery.send(entry)
        except TryLater as later:
            memory.failures += 1
            backoff = min(LONGEST_WAIT_SECONDS, 2.0 ** min(memory.failures - 1, 10))
            memory.retry_at = later.at if later.at is not None else self._now() + backoff
            log.warning("posts of case %s wait: %s", lease.case_id, later)
            return memory.retry_at
        finally:
            self._identity = delivery.identity
        del self._memories[lease.case_id]
        return None

    def _memory(self, lease: Lease) -> _Memory:
        memory = self._memories.get(lease.case_id)
        # Tokens only grow, so the next number means that nobody owned the case in between.
        if memory is None or lease.token - memory.token not in (0, 1):
            memory = _Memory(token=lease.token, known_from=lease.token)
            self._memories[lease.case_id] = memory
        memory.token = lease.token
        return memory


@dataclass(frozen=True, kw_only=True)
class _Spot:
    """Where messages go: a thread, or a channel's root."""

    channel: str
    thread_ts: str | None


class _DeadRoot(Exception):
    """The thread has no first message any more. Nothing of the post is in it."""


@dataclass(kw_only=True)
class _Delivery:
    """One drain of one case."""

    calls: SlackCalls
    store: CaseStore
    audience: Audience
    now: Callable[[], float]
    lease: Lease
    claimed_at: float
    on_dead_root: Callable[[str], Awaitable[None]]
    memory: _Memory
    identity: Identity | None
    read: dict[_Spot, tuple[float, list[OwnMessage]]] = field(
        default_factory=dict[_Spot, tuple[float, list[OwnMessage]]]
    )

    def __post_init__(self) -> None:
        self.thread = Thread.parse(self.lease.case_id)

    async def send(self, entry: OutboxEntry) -> None:
        post = entry.post
        match post.content:
            case PrivateLine():
                posted = await self._tell_privately(post.content)
            case Reaction():
                posted = await self._react(post.content)
            case _ if post.update_of is not None:
                posted = await self._change(entry, post.update_of)
            case _:
                posted = await self._post(entry)
        await self.store.sent(self.lease, post.post_id, posted)
        self.memory.failures = 0
        self.memory.done.clear()

    # New messages

    async def _post(self, entry: OutboxEntry) -> Posted:
        post = entry.post
        spot = self._spot(post)
        try:
            if spot.thread_ts is not None and await self._has_no_root(post):
                raise _DeadRoot
            try:
                return await self._post_all(entry, spot, await self._drawn(post, spot))
            except Refused as refused:
                log.error("Slack refuses post %s: %s", post.post_id, refused.error)  # noqa: TRY400
                if not isinstance(post.content, Approval) or spot == self._thread_spot:
                    return _NOWHERE
            # A card that nobody sees would wait for ever: the case's own thread is always there.
            spot = self._thread_spot
            return await self._post_all(entry, spot, await self._drawn(post, spot))
        except _DeadRoot:
            return await self._post_elsewhere(entry)
        except Refused as refused:
            log.error("Slack refuses post %s: %s", post.post_id, refused.error)  # noqa: TRY400
            return _NOWHERE
