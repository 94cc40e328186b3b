"""Payments of unknown outcome: looked up, sent again with the same key, given to a person."""

from __future__ import annotations

import logging

import pytest

from agent.approval import Found
from agent.refunds.ports import Payment, RefundStatus
from agent.tools import HandOff, Later, Result
from tests.agent.bench import NOW
from tests.agent.refunds.desk import FAILED, HOUR, PAID, UNKNOWN, Desk

MINUTE = 60.0
RECEIPT = "Your refund of ₹500.00 is approved and is being confirmed."
LATER = Later(
    seconds=30.0,
    line="The refund of ₹500.00 is approved; the payment is not confirmed yet.",
    receipt=RECEIPT,
)
KNOWN = "The payment that was not confirmed is known now."


def asked(desk: Desk) -> list[str]:
    return [what for what, _ in desk.provider.asked]


async def test_an_unknown_outcome_is_asked_about_again_in_half_a_minute(desk: Desk) -> None:
    desk.provider.pays = UNKNOWN
    assert await desk.propose("500") == LATER
    assert (await desk.row()).status is RefundStatus.UNKNOWN


async def test_what_a_look_up_finds_is_the_outcome_and_nothing_is_sent(desk: Desk) -> None:
    row = await desk.unknown()
    desk.provider.finds = PAID
    assert isinstance(await desk.propose("500"), Result)
    assert desk.provider.asked == [("look up", row)]
    assert (await desk.row()).status is RefundStatus.PAID


async def test_what_no_look_up_finds_is_sent_again_with_the_same_key_for_a_day(desk: Desk) -> None:
    row = await desk.unknown()
    desk.clock.go_on(24 * HOUR - 1)
    await desk.propose("500")
    assert desk.provider.asked == [("look up", row), ("pay", row)]


async def test_after_a_day_it_is_only_looked_up(desk: Desk) -> None:
    row = await desk.unknown()
    desk.clock.go_on(24 * HOUR)
    assert isinstance(await desk.propose("500"), HandOff)
    assert desk.provider.asked == [("look up", row)]
    assert await desk.row() == row


async def test_what_was_decided_and_never_sent_is_sent_within_a_day(desk: Desk) -> None:
    await desk.decide(await desk.asked())
    desk.clock.go_on(24 * HOUR - 1)
    assert isinstance(await desk.propose(), Result)
    assert asked(desk) == ["pay"]


async def test_what_may_have_been_sent_a_day_ago_is_only_looked_up(desk: Desk) -> None:
    await desk.decide(await desk.asked())
    desk.clock.go_on(24 * HOUR)
    assert isinstance(await desk.propose(), HandOff)
    assert asked(desk) == ["look up"]
    assert (await desk.row()).status is RefundStatus.INTENDED
    desk.provider.finds = PAID
    assert isinstance(await desk.propose(), Result)
    assert asked(desk) == ["look up", "look up"]


async def test_it_is_looked_up_for_a_quarter_of_an_hour(desk: Desk) -> None:
    await desk.unknown()
    desk.clock.go_on(15 * MINUTE - 1)
    assert await desk.propose("500") == LATER


async def test_after_a_quarter_of_an_hour_a_person_takes_it_unsettled(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    await desk.unknown()
    desk.clock.go_on(15 * MINUTE)
    assert await desk.propose("500") == HandOff(
        reason="The refund of ₹500.00 is approved, not yet confirmed by the payment system.",
        receipt=RECEIPT,
        unsettled=True,
    )
    [record] = caplog.records
    assert (record.name, record.levelno) == ("agent.refunds.tools", logging.ERROR)
    assert record.getMessage() == "run_1:call_1: refund of ₹500.00 approved, not yet confirmed"


@pytest.mark.parametrize(
    ("payment", "detail"),
    [
        (PAID, "₹500.00 was paid, reference R1."),
        (FAILED, "The payment of ₹500.00 failed; nothing was paid."),
    ],
    ids=["paid", "failed"],
)
async def test_after_a_handoff_the_later_outcome_is_found_for_staff(
    desk: Desk, payment: Payment, detail: str
) -> None:
    row = await desk.unknown()
    desk.provider.finds = payment
    found = await desk.approvals.look_up(row.key, None, token=1)
    assert found == Found(text=f"{KNOWN} {detail}", card=None)
    assert desk.provider.asked == [("look up", row)]
    assert (await desk.row()).status == payment.status


async def test_the_later_outcome_brings_its_card_up_to_date(desk: Desk) -> None:
    request = await desk.asked()
    await desk.decide(request)
    desk.provider.finds = PAID
    found = await desk.approvals.look_up(request.key, request.card, token=1)
    card = await desk.approvals.current(request)
    assert card.outcome is not None
    assert found == Found(text=f"{KNOWN} ₹2,499.00 was paid, reference R1.", card=card)


@pytest.mark.parametrize("finds", [None, UNKNOWN])
async def test_while_nobody_knows_there_is_nothing_to_tell_and_nothing_is_paid(
    desk: Desk, finds: Payment | None
) -> None:
    row = await desk.unknown()
    desk.provider.finds = finds
    assert await desk.approvals.look_up(row.key, None, token=1) is None
    assert asked(desk) == ["look up"]
    assert await desk.row() == row


async def test_an_outcome_that_is_known_already_is_told_without_asking(desk: Desk) -> None:
    await desk.propose("500")
    desk.provider.asked.clear()
    found = await desk.approvals.look_up("run_1:call_1", None, token=1)
    assert found == Found(text=f"{KNOWN} ₹500.00 was paid, reference R1.", card=None)
    assert desk.provider.asked == []


async def test_a_request_that_no_lead_saw_is_withdrawn_and_nothing_is_asked_of_the_provider(
    desk: Desk,
) -> None:
    request = await desk.asked()
    desk.provider.finds = PAID
    found = await desk.approvals.look_up(request.key, request.card, token=1)
    card = await desk.approvals.current(request)
    assert found == Found(text=f"{KNOWN} Nothing was paid.", card=card)
    assert card.outcome is not None
    assert (card.outcome.verdict, card.outcome.at) == ("withdrawn", NOW)
    assert desk.provider.asked == []


async def test_a_call_that_failed_before_its_row_was_written_paid_nothing(desk: Desk) -> None:
    request = await desk.asked()
    found = await desk.approvals.look_up("run_9:call_9", request.card, token=1)
    assert found == Found(text=f"{KNOWN} Nothing was paid.", card=None)
    assert desk.provider.asked == []


async def test_of_a_declined_request_nothing_was_paid(desk: Desk) -> None:
    request = await desk.asked()
    declined = await desk.decide(request, "decline")
    found = await desk.approvals.look_up(request.key, request.card, token=1)
    assert found == Found(text=f"{KNOWN} Nothing was paid.", card=declined.card)
