"""A store that is away again and again: cases wait, nothing is lost and nothing doubled."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import bot.workers
from agent.errors import StoreAway
from agent.ports import Change, Claim, Lease, Posted, StoredEvent
from agent.run import Status
from bot.local.claude import say
from bot.posting import Poster
from tests.scenarios.stage import new_stage
from tests.scenarios.test_refund import REPLY, WORDS, propose


async def test_a_store_that_is_away_many_times_costs_a_case_nothing_but_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(bot.workers, "LEASE_SECONDS", 0.1)
    monkeypatch.setattr(bot.workers, "BACKOFF_SECONDS", 0.0)
    away = bot.workers.GIVE_UP_AFTER + 3
    async with new_stage(tmp_path) as stage, stage.on() as running:
        claim = running.store.claim

        async def often_away(case_id: str, owner: str, *, seconds: float) -> Claim | None:
            nonlocal away
            away -= 1
            if away >= 0:
                raise StoreAway("Redis is away")
            monkeypatch.setattr(bot.workers, "LEASE_SECONDS", 8.0)
            return await claim(case_id, owner, seconds=seconds)

        monkeypatch.setattr(running.store, "claim", often_away)
        stage.claude.script("speaker", [propose(400), say("All is well.")])
        root = await stage.open(WORDS)
        await stage.status(root, "white_check_mark")
    assert away < 0
    assert not [each for each in caplog.records if each.levelno >= logging.ERROR]


async def test_a_case_whose_posts_wait_for_some_seconds_is_kept_until_they_are_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    drain = Poster.drain

    async def later_at_first(poster: Poster, lease: Lease, **given: Any) -> float | None:
        if not done:
            done.append("later")
            return time.time() + 0.2
        done.append("posted")
        return await drain(poster, lease, **given)

    monkeypatch.setattr(Poster, "drain", later_at_first)
    async with new_stage(tmp_path) as stage, stage.on() as running:
        release = running.store.release

        async def noted(lease: Lease, *, due_at: float | None) -> bool:
            done.append("released")
            return await release(lease, due_at=due_at)

        monkeypatch.setattr(running.store, "release", noted)
        root = await stage.ravi.post("support-cases", WORDS)
        await stage.until(lambda: "released" in done)
        assert len(stage.posts(root)) == 1
    assert done[0] == "later"
    assert "posted" in done[: done.index("released")]


async def test_what_was_posted_under_a_lease_that_is_lost_is_not_posted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with new_stage(tmp_path) as stage, stage.on() as running:
        stage.claude.script("speaker", [propose(), say(REPLY)])
        root = await stage.open(WORDS)
        card = await stage.card("₹2,499.00")
        store, save, sent = running.store, running.store.save, running.store.sent
        ended = asyncio.Event()
        lost = False

        async def saved(lease: Lease, change: Change) -> Sequence[StoredEvent]:
            left = await save(lease, change)
            if change.run is not None and change.run.status is Status.DONE:
                ended.set()
            return left

        async def lost_at_first(lease: Lease, posted: Mapping[str, Posted]) -> None:
            nonlocal lost
            if not lost and stage.find(root, "approved by"):
                lost = True
                # By then the work is done, and waits for these posts to send the rest.
                await ended.wait()
                await store.renew(lease, seconds=0)
            await sent(lease, posted)

        monkeypatch.setattr(store, "save", saved)
        monkeypatch.setattr(store, "sent", lost_at_first)
        await stage.decide(stage.priya, "Approve", card)
        await stage.status(root, "white_check_mark")
        shown = [stage.look(each) for each in stage.posts(root)]
    assert lost
    assert [sum(text in each for each in shown) for text in ("approved by", REPLY)] == [1, 1]


async def test_what_was_posted_and_could_not_be_marked_as_sent_is_not_posted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = 3
    monkeypatch.setattr(bot.workers, "LEASE_SECONDS", 0.4)
    async with new_stage(tmp_path) as stage, stage.on() as running:
        sent = running.store.sent

        async def often_away(lease: Lease, posted: Mapping[str, Posted]) -> None:
            nonlocal away
            away -= 1
            if away >= 0:
                raise StoreAway("Redis is away")
            monkeypatch.setattr(bot.workers, "LEASE_SECONDS", 8.0)
            await sent(lease, posted)

        monkeypatch.setattr(running.store, "sent", often_away)
        root = await stage.ravi.post("support-cases", WORDS)
        await stage.until(lambda: away < 0)
        assert len(stage.posts(root)) == 1
