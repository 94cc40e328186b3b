"""Timers of a pause: a reminder, then expiry, and who wins when an answer comes late."""

from __future__ import annotations

import pytest

from agent.case import (
    Approval,
    ApprovalReminder,
    DecisionLine,
    Handoff,
    Line,
    PrivateLine,
    Question,
)
from agent.endings import COLLEAGUE
from agent.limits import Waiting
from agent.loop import advance
from agent.ports import Posted
from agent.timers import LOOK_FOR_POST_SECONDS, NOBODY_ANSWERED
from bot.local.claude import Turn, say
from tests.agent.bench import CASE, Bench, ask, message, propose

WORDS = "My Bluetooth speaker from order 4471 arrived broken."
HOUR, DAY = 3600.0, 86_400.0
LARGE = propose(2499, "4471")


async def waiting(bench: Bench, turn: Turn) -> None:
    bench.claude.script("speaker", [turn, say("Done.")])
    await bench.open(WORDS)


async def reminded(bench: Bench, turn: Turn) -> None:
    await waiting(bench, turn)
    await bench.go_after(4 * HOUR)


@pytest.mark.parametrize(
    ("turn", "reminder"), [(ask(), Line), (LARGE, ApprovalReminder)], ids=["customer", "lead"]
)
async def test_a_reminder_is_posted_once_and_not_early(
    bench: Bench, turn: Turn, reminder: type[Line] | type[ApprovalReminder]
) -> None:
    await waiting(bench, turn)
    await bench.go_after(4 * HOUR - 1)
    assert bench.shown(reminder) == []
    await bench.go_after(1)
    assert len(bench.shown(reminder)) == 1
    await bench.go_after(HOUR)
    assert len(bench.shown(reminder)) == 1
    assert (await bench.run()).status.startswith("waiting")


@pytest.mark.parametrize("turn", [ask(), LARGE], ids=["customer", "lead"])
async def test_expiry_comes_after_its_grace_without_a_call_of_the_model(
    bench: Bench, turn: Turn
) -> None:
    await reminded(bench, turn)
    await bench.go_after(3 * DAY - 4 * HOUR + 119)
    assert (await bench.run()).status.startswith("waiting")
    await bench.go_after(2)
    run = await bench.run()
    assert run.status == "handed_off"
    assert "Nobody answered" in str(run.reason)
    assert run.results[0]["content"] == NOBODY_ANSWERED
    [handoff] = bench.shown(Handoff)
    assert handoff.text == COLLEAGUE
    assert len(bench.claude.requests) == 1


async def test_an_expired_card_closes_with_its_row_and_says_so(bench: Bench) -> None:
    await reminded(bench, LARGE)
    await bench.go_after(3 * DAY)
    [row] = await bench.refunds("4471")
    assert row.status == "expired"
    assert [each.verdict for each in bench.shown(DecisionLine)] == ["expired"]
    assert bench.card.outcome is not None
    await bench.decide("approve")
    await bench.go()
    [row] = await bench.refunds("4471")
    assert row.status == "expired"
    assert len(bench.shown(PrivateLine)) == 1


async def test_expiry_waits_until_the_thread_could_be_read(bench: Bench) -> None:
    await reminded(bench, ask())
    bench.thread_readable = False
    await bench.go_after(4 * DAY)
    assert (await bench.run()).status == "waiting_customer"
    assert CASE not in await bench.store.ready(limit=10), "it is not read again at once"
    bench.clock.go_on(31)
    assert CASE in await bench.store.ready(limit=10)
    bench.thread_readable = True
    await bench.go()
    assert (await bench.run()).status == "handed_off"


async def test_an_answer_in_time_that_is_found_late_wins(bench: Bench) -> None:
    await reminded(bench, ask())
    bench.undelivered = [bench.event(message("The green one.", bench.clock.tick()))]
    await bench.go_after(4 * DAY)
    run = await bench.run()
    assert (run.status, run.reply) == ("done", "Done.")


async def test_a_click_in_time_that_is_stored_late_wins(bench: Bench) -> None:
    await reminded(bench, LARGE)
    clicked = bench.clock.tick()
    bench.clock.go_on(4 * DAY)
    await bench.decide("approve", ts=clicked)
    await bench.go()
    [row] = await bench.refunds("4471")
    assert (row.status, (await bench.run()).status) == ("paid", "done")


async def test_after_expiry_a_late_answer_is_a_word_in_a_colleagues_case(bench: Bench) -> None:
    await reminded(bench, ask())
    await bench.go_after(4 * DAY)
    await bench.says("The green one.")
    await bench.go()
    assert (await bench.run()).status == "handed_off"
    assert len(bench.claude.requests) == 1


async def test_whoever_was_away_reminds_first_and_expires_an_hour_later(bench: Bench) -> None:
    await waiting(bench, LARGE)
    await bench.go_after(10 * DAY)
    assert len(bench.shown(ApprovalReminder)) == 1
    assert (await bench.run()).status == "waiting_approval"
    await bench.go_after(HOUR - 1)
    assert (await bench.run()).status == "waiting_approval"
    await bench.go_after(122)
    assert (await bench.run()).status == "handed_off"


@pytest.mark.parametrize("turn", [ask(), LARGE], ids=["customer", "lead"])
async def test_a_reminder_that_could_not_be_posted_for_long_leaves_an_hour_from_its_posting(
    bench: Bench, turn: Turn
) -> None:
    await waiting(bench, turn)
    bench.sending = False
    await bench.go_after(4 * HOUR)
    await bench.go_after(5 * DAY)
    assert (await bench.run()).status.startswith("waiting"), "nobody could read the reminder"
    bench.sending = True
    await bench.go_after(31)
    await bench.go_after(HOUR + 118)
    assert (await bench.run()).status.startswith("waiting")
    await bench.go_after(3)
    assert (await bench.run()).status == "handed_off"


async def test_a_reminder_that_can_not_be_posted_yet_is_looked_for_again_a_little_later(
    bench: Bench,
) -> None:
    await waiting(bench, LARGE)
    bench.sending = False
    await bench.go_after(4 * HOUR)
    lease, claimed = await bench.claim()
    await advance(bench.harness, claimed)
    await bench.store.release(lease, due_at=None)
    bench.clock.go_on(4 * DAY)
    _, claimed = await bench.claim()
    await advance(bench.harness, claimed)
    assert claimed.due_at() == bench.clock() + LOOK_FOR_POST_SECONDS


async def test_a_reminder_that_left_no_message_counts_from_when_it_was_saved(
    bench: Bench,
) -> None:
    await waiting(bench, LARGE)
    bench.sending = False
    await bench.go_after(4 * HOUR)
    lease, _ = await bench.claim()
    unsent = [each.post.post_id for each in await bench.store.outbox(lease)]
    nowhere = Posted(channel="", message_id="")
    await bench.store.sent(lease, dict.fromkeys(unsent, nowhere))
    await bench.store.release(lease, due_at=None)
    await bench.go_after(3 * DAY)
    assert (await bench.run()).status == "handed_off"


async def test_an_answer_begins_the_next_wait_anew(bench: Bench) -> None:
    bench.claude.script("speaker", [ask("First?"), ask("Second?"), say("Done.")])
    await bench.open(WORDS)
    await bench.go_after(2 * DAY)
    await bench.says("Yes.")
    await bench.go()
    assert [each.text for each in bench.shown(Question)] == ["First?", "Second?"]
    await bench.go_after(4 * HOUR - 1)
    assert len(bench.shown(Line)) == 1
    await bench.go_after(1)
    assert len(bench.shown(Line)) == 2


async def test_a_short_expiry_has_a_short_grace(bench: Bench) -> None:
    bench.waiting = Waiting(remind_after_seconds=60, expire_after_seconds=100)
    await waiting(bench, LARGE)
    await bench.go_after(60)
    await bench.go_after(49)
    assert (await bench.run()).status == "waiting_approval"
    await bench.go_after(2)
    assert (await bench.run()).status == "handed_off"
    assert len(bench.shown(Approval)) == 2
