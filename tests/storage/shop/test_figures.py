"""Sums for people to look at."""

from __future__ import annotations

from dataclasses import replace

from agent.refunds.ports import Payment, RefundStatus
from storage.shop import Shop
from storage.shop.figures import refunded_since
from tests.storage.shop.world import HOUR, NOON, RULES, Clock, proposal, settle, waiting


async def test_only_what_the_agent_refunded_since_then_is_summed(shop: Shop, clock: Clock) -> None:
    loose = replace(RULES, approval_limit_paise=10_000_000)
    early = await shop.ledger.propose(proposal(amount_paise=10_000), loose)
    await settle(shop, early)
    clock.now = NOON + HOUR
    late = await shop.ledger.propose(proposal(amount_paise=2_000, key="run_1:call_2"), loose)
    assert late.status is RefundStatus.INTENDED
    assert await refunded_since(shop.database, NOON + 1) == 0

    await settle(shop, late)
    failed = await shop.ledger.propose(proposal(amount_paise=3_000, key="run_1:call_3"), loose)
    await settle(shop, failed, Payment(status="failed"))
    await waiting(shop, proposal(amount_paise=200_000, key="run_1:call_4"))

    assert await refunded_since(shop.database, NOON + HOUR) == 2_000
    assert await refunded_since(shop.database, NOON) == 12_000
    # The sample's own refunds were made by no agent.
    assert await refunded_since(shop.database, 0.0) == 12_000
