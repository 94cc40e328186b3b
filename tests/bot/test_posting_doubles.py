"""A message that stands twice: which one stays, and who looks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.ports import Posted
from bot.actions import POST_METADATA
from bot.doubles import delete_doubles
from bot.posting import make_client
from bot.sends import Spot
from bot.slack_calls import SlackCalls
from bot.webapi import send
from tests.bot import card_samples as samples
from tests.bot.posting_bench import LONG_REPLY, TIMEOUT_SECONDS, Bench, opened_bench


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with opened_bench(tmp_path) as opened:
        yield opened


async def test_a_double_that_arrives_very_late_is_deleted_when_it_is_found(bench: Bench):
    owner = bench.owner()
    bench.slack.faults.slow("chat.postMessage", 0.5)
    await owner.say(samples.QUESTION)
    await owner.drain(seconds_left=0.1)
    bench.clock.go_on(TIMEOUT_SECONDS)
    assert await owner.drain() is None
    await bench.slack.until(lambda: len(bench.posts) == 2)
    recorded = await bench.where("p1")
    bench.slack.faults.drop_answer("chat.postMessage")
    await owner.say(samples.LINE, start=2)
    assert await owner.drain_when_told() is None
    assert bench.ids() == ["p1", "p2"]
    assert recorded is not None
    assert bench.posts[0].ts == recorded.message_id


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process whose lease was lost looks for doubles of its own at once, and again."""
    monkeypatch.setattr("bot.posting.CALL_TIMEOUT_SECONDS", 0.05)
    monkeypatch.setattr("bot.posting._LOOKS", 40)


async def post_by_hand(bench: Bench, post_id: str) -> str:
    """A message as the bot sends it for this post; its time."""
    answer = await send(
        make_client(bench.slack.bot_token, bench.slack.api_url),
        "chat.postMessage",
        seconds=3.0,
        channel=bench.root.channel,
        thread_ts=bench.root.ts,
        text="The same again",
        metadata={
            "event_type": POST_METADATA,
            "event_payload": {"post_id": post_id, "case_id": bench.case.case_id},
        },
    )
    return str(answer["ts"])


@pytest.mark.usefixtures("soon")
async def test_a_process_whose_lease_was_lost_deletes_what_it_sent_too_late(bench: Bench):
    former, new = bench.owner(), bench.owner()
    bench.slack.faults.slow("chat.postMessage", 0.5)
    await former.say(samples.QUESTION)
    await former.drain(seconds_left=0.1)
    await new.claim()
    assert await new.drain_when_told() is None
    await bench.slack.until(lambda: len(bench.posts) == 2)
    assert former.lease is not None
    former.poster.lost(former.lease)
    await bench.slack.until(bench.deleted)
    recorded = await bench.where("p1")
    assert recorded is not None
    assert [message.ts for message in bench.posts] == [recorded.message_id]


@pytest.mark.usefixtures("soon")
async def test_nothing_is_deleted_before_the_records_say_what_stays(bench: Bench):
    former, new = bench.owner(), bench.owner()
    bench.slack.faults.drop_answer("chat.postMessage")
    await former.say(samples.QUESTION)
    await former.drain()
    await new.claim()
    stays = await post_by_hand(bench, "p1")
    assert former.lease is not None
    former.poster.lost(former.lease)
    await bench.slack.until(lambda: bench.called("conversations.replies") > 2)
    assert not bench.deleted()
    assert new.lease is not None
    here = Posted(channel=bench.root.channel, message_id=stays)
    await bench.store.sent(new.lease, {"p1": here})
    await bench.slack.until(bench.deleted)
    assert [message.ts for message in bench.posts] == [stays]


async def test_of_a_part_that_stands_twice_the_first_stays_once_its_post_is_noted(bench: Bench):
    calls = SlackCalls(
        client=make_client(bench.slack.bot_token, bench.slack.api_url),
        now=bench.clock,
        seconds_left=lambda: 8.0,
    )
    identity = await calls.identity()

    async def all_noted() -> bool:
        return await delete_doubles(
            calls,
            bench.store,
            bench.case.case_id,
            ["p1#2"],
            identity=identity,
            spots=[Spot(channel=bench.root.channel, thread_ts=bench.root.ts)],
            oldest=0.0,
        )

    owner = bench.owner()
    await owner.say(samples.QUESTION)
    first = await post_by_hand(bench, "p1#2")
    await post_by_hand(bench, "p1#2")
    assert not await all_noted()
    assert bench.ids() == ["p1#2", "p1#2"]
    await owner.drain()
    assert await all_noted()
    assert bench.ids() == ["p1#2", "p1"]
    assert bench.posts[0].ts == first


@pytest.mark.usefixtures("soon")
async def test_a_process_that_is_closed_looks_for_no_doubles_any_more(bench: Bench):
    owner = bench.owner()
    bench.slack.faults.drop_answer("chat.postMessage")
    await owner.say(samples.QUESTION)
    await owner.drain()
    assert owner.lease is not None
    owner.poster.lost(owner.lease)
    await owner.poster.close()
    assert not bench.called("conversations.replies")


async def test_of_two_doubles_the_one_that_is_recorded_stays(bench: Bench):
    owner = bench.owner()
    await owner.say(samples.QUESTION)
    await post_by_hand(bench, "p1")
    await owner.drain()
    bench.slack.faults.drop_answer("chat.postMessage")
    await owner.say(samples.LINE, start=2)
    assert await owner.drain_when_told() is None
    recorded = await bench.where("p1")
    assert recorded is not None
    assert bench.posts[0].ts == recorded.message_id
    assert bench.ids() == ["p1", "p2"]


async def test_of_two_last_parts_the_one_that_is_recorded_stays(bench: Bench):
    owner = bench.owner()
    await owner.say(LONG_REPLY)
    early = await post_by_hand(bench, "p1#4")
    await owner.drain()
    recorded = await bench.where("p1")
    assert recorded is not None
    bench.slack.faults.drop_answer("chat.postMessage")
    await owner.say(samples.LINE, start=2)
    assert await owner.drain_when_told() is None
    assert recorded.message_id in [message.ts for message in bench.posts]
    assert early not in [message.ts for message in bench.posts]
    assert bench.ids() == ["p1", "p1#2", "p1#3", "p1#4", "p2"]
