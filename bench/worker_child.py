"""A worker process as `casethread worker` is one, but for Slack: posts count as sent at once.

Whoever waits for an answer is told through a list in Redis, `bench:stops`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import uvloop
from redis.asyncio import Redis

import bot.workers
from agent.case import Approval, Handoff, Question, Reply, ts_of
from agent.claude import Claude
from agent.ports import CaseStore, Lease, Posted
from bench.runs import harness_of, sample_shop
from bot.posting import Poster
from bot.wakeups import carrying
from bot.workers import Workers
from storage import check_store, open_store

STOPS = "bench:stops"
READY = "bench:ready"


class Postman(Poster):
    """Marks everything as sent, and tells where a run stopped."""

    def __init__(self, store: CaseStore, redis: Redis) -> None:
        self._cases = store
        self._redis = redis

    async def drain(
        self,
        lease: Lease,
        *,
        claimed_at: float,
        seconds_left: Callable[[], float],
        on_dead_root: Callable[[str], Awaitable[None]],
    ) -> float | None:
        posted: dict[str, Posted] = {}
        stopped = False
        for entry in await self._cases.outbox(lease):
            content = entry.post.content
            stopped = stopped or isinstance(content, Question | Reply | Handoff)
            stopped = stopped or (isinstance(content, Approval) and content.card.outcome is None)
            posted[entry.post.post_id] = Posted(channel="C1", message_id=ts_of(time.time()))
        if posted:
            await self._cases.sent(lease, posted)
        if stopped:
            push: Awaitable[int] = self._redis.rpush(STOPS, lease.case_id)
            await push
        return None

    def lost(self, lease: Lease) -> None:
        """Nothing goes to Slack here, so nothing can stand there twice."""


async def work(redis_url: str, folder: Path, base_url: str, most_cases: int) -> None:
    """Until the process is ended."""
    bot.workers.MOST_CASES = most_cases
    store = open_store(redis_url)
    await check_store(store)
    shop = sample_shop(folder, now=time.time)
    claude = Claude(api_key="sk-ant-local", base_url=base_url)
    redis = Redis.from_url(redis_url)  # pyright: ignore[reportUnknownMemberType]
    workers = Workers(
        harness=harness_of(store, shop, claude, now=time.time),
        poster=Postman(store, redis),
        owner=f"bench:{os.getpid()}",
        on_dead_root=_no_dead_root,
    )
    async with carrying(redis_url, workers.wake):
        push: Awaitable[int] = redis.rpush(READY, os.getpid())
        await push
        await workers.run()


async def _no_dead_root(case_id: str) -> None:
    raise RuntimeError(f"{case_id} has no dead root here")


if __name__ == "__main__":
    uvloop.run(work(sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])))
