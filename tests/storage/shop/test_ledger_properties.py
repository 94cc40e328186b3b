"""Whatever is proposed, decided and paid in whatever order: never more than was paid."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from agent.refunds.ports import RESERVING, Decision, Payment, Refund, RefundStatus, Rules
from storage.shop import Shop
from tests.storage.shop.world import HOUR, Clock, approve, decline, open_copy, proposal

PAID_PAISE = {"4471": 249_900, "4480": 210_000, "4502": 89_900}

Way = Literal["approve A", "approve B", "cut", "decline", "close"]
Outcome = Literal["paid", "failed", "unknown"]

amounts = st.sampled_from([1, 14_505, 40_000, 70_000, 89_900, 100_000, 140_000, 249_900])
# Which of the refunds proposed so far, counted around.
numbers = st.integers(0, 5)
proposals = st.tuples(st.just("propose"), st.sampled_from(sorted(PAID_PAISE)), amounts)
ways: st.SearchStrategy[Way] = st.sampled_from(
    ["approve A", "approve A", "approve B", "cut", "decline", "close"]
)
decisions = st.tuples(st.just("decide"), numbers, ways)
outcomes: st.SearchStrategy[Outcome] = st.sampled_from(["paid", "failed", "unknown"])
payments = st.tuples(st.just("pay"), numbers, outcomes)
waits = st.tuples(st.just("wait"), st.sampled_from([1, 25]), st.none())
stories = st.lists(
    st.one_of(proposals, proposals, decisions, decisions, payments, waits), min_size=3, max_size=14
)
# Two leads above ₹1,500, so that short stories come to it.
STORY_RULES = Rules(approval_limit_paise=100_000, second_approval_over_paise=150_000)


@settings(max_examples=60)
@given(story=stories)
def test_no_story_refunds_more_than_was_paid_or_automatically_more_than_the_limit(
    sample_file: Path, story: list[tuple[str, object, object]]
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(shutil.copy(sample_file, Path(folder) / "shop.db"))
        asyncio.run(_live(path, story))


async def _live(path: Path, story: list[tuple[str, object, object]]) -> None:
    clock = Clock()
    shop = open_copy(path, clock)
    keys: list[str] = []
    try:
        for step in story:
            await _act(shop, clock, keys, step)
            await _check(shop, clock)
    finally:
        await shop.close()


async def _act(shop: Shop, clock: Clock, keys: list[str], step: tuple[str, object, object]) -> None:
    match step:
        case ("propose", str(order_id), int(amount_paise)):
            key = f"run_{len(keys) % 2}:call_{len(keys)}"
            await shop.ledger.propose(proposal(order_id, amount_paise, key=key), STORY_RULES)
            keys.append(key)
        case ("wait", int(hours), None):
            clock.now += hours * HOUR
        case ("decide", int(number), str(way)) if keys:
            await _decide(shop, await _found(shop, keys[number % len(keys)]), way)
        case ("pay", int(number), str(outcome)) if keys:
            await _pay(shop, await _found(shop, keys[number % len(keys)]), outcome)
        case _:
            pass


async def _decide(shop: Shop, refund: Refund, way: str) -> None:
    decision: Decision
    match way:
        case "close":
            await shop.ledger.close(refund.key, RefundStatus.EXPIRED, at=0.0, token=1)
            return
        case "decline":
            decision = decline(refund)
        case "cut":
            amount_paise = refund.amount_paise * 2 // 3
            decision = approve(refund, "U_C", amount_paise=amount_paise)
        case _:
            decision = approve(refund, f"U_{way[-1]}", approvers_now=["U_A", "U_B", "U_C"])
    await shop.ledger.decide(refund.key, decision, STORY_RULES)


async def _pay(shop: Shop, refund: Refund, outcome: str) -> None:
    if refund.status not in (RefundStatus.INTENDED, RefundStatus.UNKNOWN):
        return
    match outcome:
        case "paid":
            payment = await shop.payments.pay(refund)
        case "failed":
            payment = Payment(status="failed", detail="account closed")
        case _:
            payment = Payment(status="unknown")
    await shop.ledger.record(refund.key, payment)


async def _found(shop: Shop, key: str) -> Refund:
    refund = await shop.ledger.find(key)
    assert refund is not None
    return refund


async def _check(shop: Shop, clock: Clock) -> None:
    automatic_today = 0
    for order_id, paid_paise in PAID_PAISE.items():
        reserving = [
            refund for refund in await shop.ledger.history(order_id) if refund.status in RESERVING
        ]
        reserved = sum(refund.amount_paise for refund in reserving)
        assert reserved <= paid_paise
        order = await shop.orders.order("cust_asha", order_id)
        assert order is not None
        assert order.refundable_paise == paid_paise - reserved
        for refund in reserving:
            assert refund.automatic or len(refund.approvals) >= refund.needs_approvals >= 1
            assert len({approval.by for approval in refund.approvals}) == len(refund.approvals)
            assert refund.amount_paise <= refund.proposed_paise
            if refund.automatic and refund.created_at >= clock.now - 24 * HOUR:
                automatic_today += refund.amount_paise
        by_leads = sum(refund.amount_paise for refund in reserving if not refund.automatic)
        if by_leads > STORY_RULES.second_approval_over_paise:
            assert max(len(refund.approvals) for refund in reserving) == 2
    assert automatic_today <= STORY_RULES.approval_limit_paise
