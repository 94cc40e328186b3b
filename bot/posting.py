"""The outbox → Slack: who waits for how long. What one post takes is `delivery`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping

from slack_sdk.web.async_client import AsyncWebClient

from agent.errors import StoreError
from agent.ports import CaseStore, Lease
from bot.cards.message import Audience
from bot.delivery import Delivery
from bot.doubles import delete_doubles
from bot.sends import CLOCK_DIFFERENCE_SECONDS, Memory, Spot
from bot.slack_calls import CALL_TIMEOUT_SECONDS, Identity, Refused, SlackCalls, TryLater
from bot.thread import Thread

__all__ = ["LONGEST_WAIT_SECONDS", "Audience", "Poster", "make_client"]

log = logging.getLogger(__name__)

LONGEST_WAIT_SECONDS = 60.0
"""Between two tries while Slack is away."""
_LOOKS = 5
"""For doubles, a call's timeout apart: the one that stays has to be noted by its owner first."""


def make_client(token: str, base_url: str) -> AsyncWebClient:
    """A client that never sends a request twice by itself: the Poster decides about that."""
    return AsyncWebClient(
        token=token, base_url=base_url, timeout=int(CALL_TIMEOUT_SECONDS) + 1, retry_handlers=[]
    )


class Poster:
    """Sends outboxes, each post once. One for a process: it remembers what it isn't sure of."""

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
        self._memories: dict[str, Memory] = {}
        self._looking: set[asyncio.Task[None]] = set()
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
        memory = self._memory(lease, claimed_at)
        if self._now() < memory.retry_at:
            return memory.retry_at
        delivery = Delivery(
            calls=SlackCalls(client=self._client, now=self._now, seconds_left=seconds_left),
            store=self._store,
            audience=self._audience,
            now=self._now,
            lease=lease,
            on_dead_root=on_dead_root,
            memory=memory,
            identity=self._identity,
        )
        try:
            await delivery.send_all(await self._store.outbox(lease))
        except TryLater as later:
            memory.retry_at = self._when(later, memory)
            log.warning("posts of case %s wait: %s", lease.case_id, later)
            return memory.retry_at
        finally:
            self._identity = delivery.identity
        del self._memories[lease.case_id]
        return None

    def lost(self, lease: Lease) -> None:
        """A lease was lost, and all that was done under it has ended: nobody knows who sent what
        since. What comes next is a former owner's to this process too, and is looked for in Slack.
        What this process may have sent too late is looked for a little later, here.
        """
        memory = self._memories.get(lease.case_id)
        if memory is None or memory.token != lease.token:
            return
        del self._memories[lease.case_id]
        if sent := memory.not_noted():
            task = asyncio.create_task(
                self._delete_doubles(lease.case_id, sent), name=f"doubles of case {lease.case_id}"
            )
            self._looking.add(task)
            task.add_done_callback(self._looked)

    async def close(self) -> None:
        """Look no more."""
        for task in self._looking:
            task.cancel()
        await asyncio.gather(*self._looking, return_exceptions=True)

    async def _delete_doubles(self, case_id: str, sent: Mapping[str, float]) -> None:
        calls = SlackCalls(
            client=self._client, now=self._now, seconds_left=lambda: CALL_TIMEOUT_SECONDS
        )
        thread = Thread.parse(case_id)
        spots = [Spot(channel=thread.channel, thread_ts=thread.ts)]
        if self._audience.approvals_channel not in (None, thread.channel):
            spots.append(Spot(channel=self._audience.approvals_channel, thread_ts=None))
        for _ in range(_LOOKS):
            await asyncio.sleep(CALL_TIMEOUT_SECONDS)
            try:
                if self._identity is None:
                    self._identity = await calls.identity()
                if await delete_doubles(
                    calls,
                    self._store,
                    case_id,
                    sent,
                    identity=self._identity,
                    spots=spots,
                    oldest=max(min(sent.values()) - CLOCK_DIFFERENCE_SECONDS, float(thread.ts)),
                ):
                    return
            except (TryLater, Refused, StoreError) as reason:
                log.warning("doubles of case %s can't be looked for: %s", case_id, reason)

    def _looked(self, task: asyncio.Task[None]) -> None:
        self._looking.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("%s can't be looked for", task.get_name(), exc_info=task.exception())

    def _memory(self, lease: Lease, claimed_at: float) -> Memory:
        memory = self._memories.get(lease.case_id)
        # Tokens only grow, so the next number means that nobody owned the case in between.
        if memory is None or lease.token - memory.token not in (0, 1):
            memory = Memory(token=lease.token, known_from=lease.token, since=claimed_at)
            self._memories[lease.case_id] = memory
        memory.token = lease.token
        return memory

    def _when(self, later: TryLater, memory: Memory) -> float:
        if later.at is not None:
            return later.at
        memory.failures += 1
        seconds = min(LONGEST_WAIT_SECONDS, 2.0 ** min(memory.failures - 1, 10))
        # What may have arrived is looked for, and it may take a whole timeout to appear.
        return self._now() + max(seconds, CALL_TIMEOUT_SECONDS if later.unsure else 0.0)
