"""One Redis, one bot, and worker processes that come and go; what people see doesn't change."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.local.claude import call, say
from bot.local.play.process import BotProcess
from tests.redis_server import RedisServer
from tests.scenarios.stage import Stage, photo
from tests.scenarios.test_refund import QUESTION, REPLY, WORDS, whole_job
from tests.scenarios.test_restart import assert_one_payment_and_one_reply


@pytest.fixture
def redis_url(tmp_path: Path) -> Iterator[str]:
    folder = tmp_path / "redis"
    folder.mkdir()
    server = RedisServer(folder, "--appendonly", "yes")
    yield server.url()
    server.kill()


@asynccontextmanager
async def worker_beside(stage: Stage) -> AsyncGenerator[BotProcess]:
    """`casethread worker` with the bot's settings, at work."""
    folder = stage.folder / "worker"
    folder.mkdir()
    # The sample shop that the bot made at its start.
    stage.overrides["CASETHREAD_SHOP_URL"] = f"sqlite:///{stage.folder}/casethread-shop.db"
    process = BotProcess(stage.environment, folder, module=("bot.cli", "worker"))
    await process.start()
    try:
        await stage.until(lambda: "At work." in process.log_tail(), seconds=30)
        yield process
    finally:
        await process.kill()


@pytest.mark.parametrize("store", ["sqlite", "redis"])
async def test_what_people_do_is_worked_on_at_once_and_not_with_the_next_look(
    stage: Stage, redis_url: str, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.scenarios.stage.LOOK_SECONDS", 3_600.0)
    stage.claude.script("speaker", [say(REPLY)])
    async with stage.on(**({"CASETHREAD_STORE_URL": redis_url} if store == "redis" else {})):
        root = await stage.open(WORDS)
        await stage.status(root, "white_check_mark")


async def test_the_work_goes_on_in_another_process_when_the_bot_is_killed(
    stage: Stage, redis_url: str
) -> None:
    whole_job(stage)
    async with stage.process(CASETHREAD_STORE_URL=redis_url) as bot:
        await stage.until(lambda: stage.slack.sockets.connected, seconds=30)
        async with worker_beside(stage):
            root = await stage.open(WORDS)
            await stage.shown(root, QUESTION)
            stage.claude.faults.hold()
            await stage.ravi.reply(root, "Here is the photo.", files=[photo()])
            await stage.claude.arrived(3)
            await bot.kill()
            stage.claude.faults.release()
            # Nobody listens to Slack now, and the card comes all the same.
            card = await stage.card("₹2,499.00")
            await bot.start()
            await stage.until(lambda: stage.slack.sockets.connected, seconds=30)
            await stage.decide(stage.priya, "Approve", card)
            await stage.status(root, "white_check_mark")
    await assert_one_payment_and_one_reply(stage, QUESTION, "approved by", REPLY)


async def test_a_stopped_process_hands_its_cases_over_at_once_and_ends_within_10_seconds(
    stage: Stage, redis_url: str
) -> None:
    stage.claude.script("speaker", [call("get_order", order_id="4471"), say(REPLY)])
    async with stage.process(CASETHREAD_STORE_URL=redis_url) as bot:
        await stage.until(lambda: stage.slack.sockets.connected, seconds=30)
        stage.claude.faults.hold()
        root = await stage.open(WORDS)
        await stage.claude.arrived(1)
        async with worker_beside(stage):
            began = time.monotonic()
            assert await bot.stop() == 0
            assert time.monotonic() - began < 10
            stopped = time.monotonic()
            await stage.claude.arrived(2)
            # Sooner than the 8 s after which the lease of a dead owner ends.
            assert time.monotonic() - stopped < 4
            stage.claude.faults.release()
            await stage.shown(root, REPLY)
            await stage.status(root, "white_check_mark")
    assert sum(REPLY in stage.look(each) for each in stage.posts(root)) == 1
