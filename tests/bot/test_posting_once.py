"""Each post exactly once: lost answers, limits, outages, two owners."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.case import Line
from agent.errors import LeaseLost
from bot.actions import POST_METADATA
from bot.local.slack.seed import APPROVALS
from bot.posting import LONGEST_WAIT_SECONDS, Audience
from tests.bot import card_samples as samples
from tests.bot.posting_bench import LONG_REPLY, TIMEOUT_SECONDS, Bench, opened_bench, post_id_of

ELSEWHERE = Audience(approvals_channel=APPROVALS, handoff_mention=None, approvers=("S0LEADS001",))
NO_SERVER = "http://127.0.0.1:9/api/"


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with opened_bench(tmp_path) as opened:
        yield opened


def sends(bench: Bench) -> int:
    return sum(call.method == "chat.postMessage" for call in bench.slack.calls)


async def test_a_post_whose_answer_was_lost_is_found_and_not_posted_again(bench: Bench):
    owner = bench.owner()
    bench.slack.faults.drop_answer("chat.postMessage")
    await owner.say(samples.QUESTION, samples.LINE)
    at = await owner.drain()
    assert at == bench.clock() + TIMEOUT_SECONDS
    assert await owner.drain() == at
    bench.clock.go_on(TIMEOUT_SECONDS)
    assert await owner.drain() is None
    assert bench.ids() == ["p1", "p2"]
    posted = await bench.where("p1")
    assert posted is not None
    assert posted.message_id == bench.posts[0].ts


async def test_a_card_whose_answer_was_lost_is_found_in_the_approvals_channel(bench: Bench):
    owner = bench.owner(ELSEWHERE)
    bench.slack.faults.drop_answer("chat.postMessage")
    await owner.say(samples.APPROVAL)
    assert await owner.drain_when_told() is None
    assert len(bench.at_root("approvals")) == 1
    assert await bench.where("p1") is not None


async def test_a_post_that_slack_failed_to_take_is_posted_after_a_look(bench: Bench):
    owner = bench.owner()
    bench.slack.faults.server_error("chat.postMessage")
    await owner.say(samples.QUESTION)
    assert await owner.drain_when_told() is None
    assert bench.ids() == ["p1"]


async def test_a_rate_limit_is_waited_for_as_long_as_slack_says(bench: Bench):
    owner = bench.owner()
    await owner.say(samples.QUESTION)
    bench.slack.faults.rate_limited(30, "chat.postMessage")
    at = await owner.drain()
    assert at is not None
    assert at - bench.clock() == pytest.approx(30, abs=2)
    bench.slack.faults.clear()
    assert await owner.drain() == at
    bench.clock.go_on(at - bench.clock())
    assert await owner.drain() is None
    assert bench.ids() == ["p1"]
    assert not any(call.method == "conversations.replies" for call in bench.slack.calls)


async def test_a_private_line_too_waits_for_a_rate_limit(bench: Bench):
    owner = bench.owner()
    await owner.say(samples.PRIVATE_LINE)
    bench.slack.faults.rate_limited(5, "chat.postEphemeral")
    assert await owner.drain() is not None
    bench.slack.faults.clear()
    assert await owner.drain_when_told() is None
    assert len(bench.slack.person("Omar").private) == 1


async def test_a_send_that_arrives_after_its_timeout_is_found(bench: Bench):
    owner = bench.owner()
    bench.slack.faults.slow("chat.postMessage", 0.3)
    await owner.say(samples.QUESTION)
    assert await owner.drain(seconds_left=0.1) == bench.clock() + TIMEOUT_SECONDS
    await bench.slack.until(lambda: bench.posts)
    bench.clock.go_on(TIMEOUT_SECONDS)
    assert await owner.drain() is None
    assert bench.ids() == ["p1"]


async def test_a_send_of_a_process_that_stood_still_is_waited_for_from_when_it_was_given_up(
    bench: Bench,
):
    owner = bench.owner()
    begun = asyncio.Event()

    def after_standing_still() -> float:
        bench.clock.go_on(60)
        begun.set()
        return 8.0

    bench.slack.faults.slow("chat.postMessage", 0.1)
    await owner.say(samples.QUESTION)
    sending = asyncio.create_task(owner.drain(seconds_left=after_standing_still))
    await begun.wait()
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    assert await owner.drain() == bench.clock() + TIMEOUT_SECONDS
    bench.clock.go_on(TIMEOUT_SECONDS)
    assert await owner.drain() is None
    assert bench.ids() == ["p1"]


async def test_an_owner_whose_lease_was_lost_trusts_its_memory_no_more(bench: Bench):
    owner = bench.owner()
    bench.slack.faults.drop_answer("chat.postMessage")
    await owner.say(samples.QUESTION)
    await owner.drain()
    before = owner.lease
    assert before is not None
    owner.poster.lost(before)
    await owner.claim()
    at = await owner.drain()
    assert at == bench.clock() + TIMEOUT_SECONDS
    # A lease that ended before this one began says nothing of it.
    owner.poster.lost(before)
    bench.clock.go_on(TIMEOUT_SECONDS)
    assert await owner.drain() is None
    assert bench.ids() == ["p1"]


async def test_a_new_owner_finds_what_the_former_one_posted_and_did_not_note(bench: Bench):
    former, new = bench.owner(), bench.owner()
    bench.slack.faults.drop_answer("chat.postMessage")
    await former.say(samples.QUESTION, samples.LINE)
    await former.drain()
    await new.claim()
    at = await new.drain()
    assert at == bench.clock() + TIMEOUT_SECONDS
    assert sends(bench) == 1
    bench.clock.go_on(TIMEOUT_SECONDS)
    assert await new.drain() is None
    assert bench.ids() == ["p1", "p2"]


async def test_a_new_owner_posts_its_own_entries_without_a_look(bench: Bench):
    former, new = bench.owner(), bench.owner()
    await former.say(samples.QUESTION)
    await former.drain()
    await new.claim()
    await new.say(samples.LINE, start=2)
    assert await new.drain() is None
    assert bench.ids() == ["p1", "p2"]
    assert not any(call.method == "conversations.replies" for call in bench.slack.calls)


async def test_an_owner_that_gave_the_case_up_for_a_rate_limit_goes_on_without_a_look(
    bench: Bench,
):
    owner = bench.owner()
    bench.slack.faults.rate_limited(5, "chat.postMessage")
    await owner.say(samples.QUESTION)
    await owner.drain()
    bench.slack.faults.clear()
    await owner.claim()
    assert await owner.drain() is None
    assert bench.ids() == ["p1"]
    assert not any(call.method == "conversations.replies" for call in bench.slack.calls)


async def test_an_owner_that_had_a_successor_in_between_looks_again(bench: Bench):
    first, second = bench.owner(), bench.owner()
    bench.slack.faults.rate_limited(5, "chat.postMessage")
    await first.say(samples.QUESTION)
    await first.drain()
    bench.slack.faults.clear()
    bench.slack.faults.drop_answer("chat.postMessage")
    await second.claim()
    bench.clock.go_on(TIMEOUT_SECONDS)
    await second.drain()
    await first.claim()
    assert await first.drain_when_told() is None
    assert bench.ids() == ["p1"]


async def test_the_parts_of_a_long_reply_are_not_repeated_after_a_crash(bench: Bench):
    former, new = bench.owner(), bench.owner()
    await former.say(LONG_REPLY)
    task = asyncio.create_task(former.drain())
    await bench.slack.until(lambda: len(bench.posts) == 2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await new.claim()
    assert await new.drain_when_told() is None
    assert bench.ids() == ["p1", "p1#2", "p1#3", "p1#4"]


async def test_the_parts_of_a_long_reply_are_not_repeated_after_a_lost_answer(bench: Bench):
    owner = bench.owner()
    await owner.say(samples.LINE)
    await owner.drain()
    bench.slack.faults.drop_answer("chat.postMessage")
    await owner.say(LONG_REPLY, start=2)
    assert await owner.drain_when_told() is None
    assert bench.ids() == ["p1", "p2", "p2#2", "p2#3", "p2#4"]


async def test_the_parts_of_a_long_reply_that_are_out_stay_out_while_the_rest_waits(bench: Bench):
    owner = bench.owner()
    bench.slack.faults.drop_answer("chat.postMessage")
    await owner.say(LONG_REPLY)
    await owner.drain()
    bench.slack.faults.server_error("chat.postMessage")
    assert await owner.drain_when_told() is not None
    assert await owner.drain_when_told() is None
    assert bench.ids() == ["p1", "p1#2", "p1#3", "p1#4"]
    assert sends(bench) == 5


async def test_a_change_whose_answer_was_lost_is_simply_repeated(bench: Bench):
    owner = bench.owner()
    await owner.say(samples.PICKER)
    bench.slack.faults.drop_answer("chat.update")
    await owner.say(samples.STATUS_LINE, update_of="p1", start=2)
    assert await owner.drain_when_told() is None
    assert "Asha Rao" in bench.posts[0].text


async def test_a_line_in_a_cards_place_is_posted_once_by_two_owners(bench: Bench):
    former, new = bench.owner(ELSEWHERE), bench.owner(ELSEWHERE)
    await former.say(samples.APPROVAL)
    await former.drain()
    bench.slack.faults.refuse("chat.update", "edit_window_closed", times=2)
    bench.slack.faults.drop_answer("chat.postMessage")
    await former.say(samples.carded(outcome=samples.APPROVED), update_of="p1", start=2)
    await former.drain()
    await new.claim()
    assert await new.drain_when_told() is None
    assert [post_id_of(message) for message in bench.at_root("approvals")] == ["p1", "p2"]


async def test_another_apps_message_with_our_metadata_is_not_taken_for_ours(bench: Bench):
    former, new = bench.owner(), bench.owner()
    await former.say(samples.QUESTION)
    payload = {"post_id": "p1", "case_id": bench.case.case_id}
    await bench.slack.other_app().post(
        "support-cases",
        "Fooled you",
        metadata={"event_type": POST_METADATA, "event_payload": payload},
        thread=bench.root,
    )
    await new.claim()
    assert await new.drain_when_told() is None
    forged, ours = bench.posts
    assert forged.text == "Fooled you"
    assert "photo of the damage" in ours.text


async def test_a_card_of_another_case_with_the_same_post_id_is_not_taken_for_this_ones(
    bench: Bench,
):
    other_root = await bench.slack.person("Ravi").post("support-cases", "Another")
    other = Bench(bench.slack, bench.store, bench.clock, other_root)
    owner = bench.owner(ELSEWHERE)
    await owner.say(samples.APPROVAL)
    await owner.drain()
    former, new = other.owner(ELSEWHERE), other.owner(ELSEWHERE)
    await former.say(samples.APPROVAL)
    await new.claim()
    assert await new.drain_when_told() is None
    assert len(bench.at_root("approvals")) == 2


@pytest.mark.parametrize("has_replies", [True, False])
async def test_a_stray_of_a_former_owner_is_swept_from_the_channels_root(
    bench: Bench, has_replies: bool
):
    former, new = bench.owner(), bench.owner()
    if has_replies:
        await bench.slack.person("Meena").reply(bench.root, "me too")
    await bench.slack.person("Ravi").delete(bench.root)
    bench.slack.faults.drop_answer("chat.postMessage")
    await former.say(samples.QUESTION)
    await former.drain()
    assert len(bench.at_root("support-cases")) == 1
    await new.claim()
    assert await new.drain_when_told() is None
    assert bench.at_root("support-cases") == []
    assert bench.dead_roots == [bench.case.case_id]


async def test_nothing_is_sent_when_the_lease_has_no_time_left(bench: Bench):
    owner = bench.owner()
    await owner.say(samples.QUESTION)
    with pytest.raises(LeaseLost):
        await owner.drain(seconds_left=0.0)
    assert not bench.slack.calls
    assert await owner.drain() is None
    assert bench.ids() == ["p1"]


async def test_what_an_owner_posts_after_its_lease_was_taken_is_not_posted_again(bench: Bench):
    former, new = bench.owner(), bench.owner()
    await former.say(samples.QUESTION)
    await new.claim()
    with pytest.raises(LeaseLost):
        await former.drain()
    assert await new.drain_when_told() is None
    assert bench.ids() == ["p1"]


async def test_while_slack_is_away_the_tries_grow_apart_up_to_a_minute(bench: Bench):
    owner = bench.owner(url=NO_SERVER)
    await owner.say(samples.QUESTION)
    waits: list[float] = []
    for _ in range(9):
        at = await owner.drain()
        assert at is not None
        waits.append(at - bench.clock())
        bench.clock.go_on(waits[-1])
    assert waits == [1, 2, 4, 8, 16, 32, LONGEST_WAIT_SECONDS, 60, 60]


async def test_a_token_that_is_refused_keeps_the_posts_until_it_is_mended(
    bench: Bench, caplog: pytest.LogCaptureFixture
):
    owner = bench.owner()
    bench.slack.faults.refuse("chat.postMessage", "token_revoked")
    await owner.say(Line(text="Hello"))
    assert await owner.drain() == bench.clock() + 1
    assert "token_revoked" in caplog.text
    bench.clock.go_on(1)
    assert await owner.drain() is None
    assert bench.ids() == ["p1"]
