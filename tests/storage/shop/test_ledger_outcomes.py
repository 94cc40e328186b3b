"""How a row leaves waiting without a decision, and what a payment's outcome does to it."""

from __future__ import annotations

from typing import Literal

import pytest

from agent.refunds.ports import Payment, RefundStatus
from storage.shop import Shop
from tests.storage.shop.world import (
    HOUR,
    NOON,
    RULES,
    Clock,
    approve,
    declined,
    proposal,
    settle,
    waiting,
)

Closed = Literal[RefundStatus.EXPIRED, RefundStatus.WITHDRAWN]
CLOSED: list[Closed] = [RefundStatus.EXPIRED, RefundStatus.WITHDRAWN]

PAID = Payment(status="paid", reference="R1")
FAILED = Payment(status="failed", detail="account closed")
UNKNOWN = Payment(status="unknown", detail="timeout")


@pytest.mark.parametrize("status", CLOSED)
async def test_a_waiting_row_is_closed_once_and_can_not_be_decided_after(
    shop: Shop, status: Closed
) -> None:
    asked = await waiting(shop)
    closed = await shop.ledger.close(asked.key, status, at=NOON + HOUR, token=1)
    assert closed is not None
    assert (closed.status, closed.decided_at, closed.decided_by) == (status, NOON + HOUR, None)
    late = await shop.ledger.decide(asked.key, approve(asked), RULES)
    assert (late.result, late.refund) == ("already_decided", closed)


@pytest.mark.parametrize("status", CLOSED)
async def test_closing_a_row_that_was_decided_changes_nothing(shop: Shop, status: Closed) -> None:
    refund = await declined(shop)
    assert await shop.ledger.close(refund.key, status, at=NOON + HOUR, token=1) == refund


async def test_closing_what_is_not_there_gives_nothing(shop: Shop) -> None:
    assert await shop.ledger.close("run_9:call_9", RefundStatus.EXPIRED, at=NOON, token=1) is None


async def test_an_expired_row_does_not_make_further_proposals_wait(shop: Shop) -> None:
    asked = await waiting(shop, proposal("4480", 140_000))
    await shop.ledger.close(asked.key, RefundStatus.EXPIRED, at=NOON, token=1)
    again = await shop.ledger.propose(proposal("4480", 70_000, key="run_1:call_2"), RULES)
    assert again.status is RefundStatus.INTENDED


async def test_showing_a_card_anew_raises_its_version_once(shop: Shop) -> None:
    asked = await waiting(shop)
    first = await shop.ledger.show_anew(asked.key, 1, token=1)
    again = await shop.ledger.show_anew(asked.key, 1, token=1)
    assert first == again
    assert first is not None
    assert first.version == 2
    late = await shop.ledger.decide(asked.key, approve(asked), RULES)
    assert (late.result, late.refund) == ("stale", first)


async def test_only_a_waiting_card_is_shown_anew(shop: Shop) -> None:
    refund = await declined(shop)
    assert await shop.ledger.show_anew(refund.key, 1, token=1) is None
    assert await shop.ledger.show_anew("run_9:call_9", 1, token=1) is None


async def test_a_version_that_was_never_shown_can_not_be_raised(shop: Shop) -> None:
    asked = await waiting(shop)
    with pytest.raises(ValueError, match="no version 2"):
        await shop.ledger.show_anew(asked.key, 2, token=1)


async def test_a_payment_is_recorded_with_its_reference_and_time(shop: Shop, clock: Clock) -> None:
    refund = await shop.ledger.propose(proposal("4502", 89_900), RULES)
    clock.now += HOUR
    paid = await shop.ledger.record(refund.key, PAID)
    assert (paid.status, paid.reference) == (RefundStatus.PAID, "R1")
    assert paid.settled_at == NOON + HOUR
    assert await shop.ledger.find(refund.key) == paid


async def test_a_failure_keeps_the_providers_words(shop: Shop) -> None:
    refund = await shop.ledger.propose(proposal("4502", 89_900), RULES)
    failed = await shop.ledger.record(refund.key, FAILED)
    assert (failed.status, failed.failure) == (RefundStatus.FAILED, "account closed")
    assert failed.settled_at == NOON


@pytest.mark.parametrize("outcome", [PAID, FAILED])
async def test_an_unknown_outcome_keeps_its_reservation_until_it_is_known(
    shop: Shop, outcome: Payment
) -> None:
    refund = await shop.ledger.propose(proposal("4502", 89_900), RULES)
    unknown = await shop.ledger.record(refund.key, UNKNOWN)
    assert (unknown.status, unknown.settled_at) == (RefundStatus.UNKNOWN, None)
    assert unknown.failure is None
    order = await shop.orders.order("cust_asha", "4502")
    assert order is not None
    assert (order.refunded_paise, order.refundable_paise) == (0, 0)
    assert (await shop.ledger.record(refund.key, UNKNOWN)).status is RefundStatus.UNKNOWN
    assert (await shop.ledger.record(refund.key, outcome)).status == outcome.status


async def test_a_reference_known_early_is_kept_when_the_outcome_has_none(shop: Shop) -> None:
    refund = await shop.ledger.propose(proposal("4502", 89_900), RULES)
    await shop.ledger.record(refund.key, Payment(status="unknown", reference="R1"))
    paid = await shop.ledger.record(refund.key, Payment(status="paid"))
    assert (paid.status, paid.reference) == (RefundStatus.PAID, "R1")


@pytest.mark.parametrize("later", [PAID, FAILED, UNKNOWN])
@pytest.mark.parametrize("first", [PAID, FAILED])
async def test_the_first_known_outcome_stands(shop: Shop, first: Payment, later: Payment) -> None:
    refund = await shop.ledger.propose(proposal("4502", 89_900), RULES)
    known = await shop.ledger.record(refund.key, first)
    assert await shop.ledger.record(refund.key, later) == known


async def test_nothing_is_recorded_on_a_row_that_was_not_to_be_paid(shop: Shop) -> None:
    asked = await waiting(shop)
    with pytest.raises(ValueError, match="waiting"):
        await shop.ledger.record(asked.key, PAID)
    refund = await declined(shop, proposal(key="run_2:call_1"))
    with pytest.raises(ValueError, match="declined"):
        await shop.ledger.record(refund.key, PAID)
    with pytest.raises(ValueError, match="no refund"):
        await shop.ledger.record("run_9:call_9", PAID)
    assert await shop.ledger.find(asked.key) == asked


async def test_what_is_not_there_is_not_found(shop: Shop) -> None:
    assert await shop.ledger.find("run_9:call_9") is None
    assert await shop.ledger.history("4471") == []


async def test_a_lead_can_approve_again_on_the_new_version(shop: Shop) -> None:
    asked = await waiting(shop)
    anew = await shop.ledger.show_anew(asked.key, 1, token=1)
    assert anew is not None
    assert (await shop.ledger.decide(asked.key, approve(anew), RULES)).result == "approved"
    assert (await settle(shop, asked)).status is RefundStatus.PAID
