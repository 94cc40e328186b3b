"""The ledger under many threads and two engines on one SQLite file."""

from __future__ import annotations

from collections import Counter

from agent.refunds.ports import RESERVING, Decided, Payment, Refund, RefundStatus
from storage.shop import Shop
from tests.storage.shop.world import NOON, RULES, approve, at_once, decline, proposal, waiting


async def test_twenty_deciders_at_once_make_one_decision(shop: Shop, same_shop: Shop) -> None:
    asked = await waiting(shop)

    async def decide(number: int) -> Decided:
        lead = f"U_{number}"
        click = approve(asked, lead) if number % 3 else decline(asked, lead)
        return await (shop, same_shop)[number % 2].ledger.decide(asked.key, click, RULES)

    decisions = at_once(20, decide)
    results = Counter(decided.result for decided in decisions)
    assert results["already_decided"] == 19
    assert results["approved"] + results["declined"] == 1
    assert len({decided.refund for decided in decisions}) == 1


async def test_a_decision_and_an_expiry_at_once_make_one_outcome(
    shop: Shop, same_shop: Shop
) -> None:
    asked = await waiting(shop)

    async def end(number: int) -> Refund | None:
        if number % 2:
            return (
                await shop.ledger.decide(asked.key, approve(asked, f"U_{number}"), RULES)
            ).refund
        return await same_shop.ledger.close(asked.key, RefundStatus.EXPIRED, at=NOON, token=1)

    assert len(set(at_once(8, end))) == 1


async def test_two_leads_at_once_are_two_approvals(shop: Shop, same_shop: Shop) -> None:
    asked = await waiting(shop, proposal("6203", 14_990_000, customer_id="cust_meera"))

    async def decide(number: int) -> str:
        click = approve(asked, f"U_{number}", approvers_now=["U_0", "U_1"])
        return (await (shop, same_shop)[number].ledger.decide(asked.key, click, RULES)).result

    assert sorted(at_once(2, decide)) == ["approved", "first_of_two"]


async def test_one_key_proposed_at_once_is_one_row(shop: Shop, same_shop: Shop) -> None:
    async def propose(number: int) -> Refund:
        return await (shop, same_shop)[number % 2].ledger.propose(proposal(), RULES)

    assert len(set(at_once(10, propose))) == 1
    assert len(await shop.ledger.history("4471")) == 1


async def test_proposals_at_once_never_take_more_than_was_paid_nor_pass_the_limit(
    shop: Shop, same_shop: Shop
) -> None:
    async def propose(number: int) -> Refund:
        asked = proposal("4480", 40_000, key=f"run_{number}:call_1")
        return await (shop, same_shop)[number % 2].ledger.propose(asked, RULES)

    proposed = at_once(12, propose)
    assert Counter(refund.status for refund in proposed) == {"intended": 2, "waiting": 10}

    async def decide(number: int) -> str:
        refund = proposed[number]
        ledger = (shop, same_shop)[number % 2].ledger
        return (await ledger.decide(refund.key, approve(refund), RULES)).result

    at_once(12, decide)
    rows = await shop.ledger.history("4480")
    assert sum(refund.amount_paise for refund in rows if refund.status in RESERVING) == 200_000
    assert {refund.refusal for refund in rows if refund.status is RefundStatus.REFUSED} == {
        "above_refundable"
    }


async def test_automatic_refunds_on_several_orders_at_once_stay_within_the_limit(
    shop: Shop, same_shop: Shop
) -> None:
    async def propose(number: int) -> Refund:
        order_id = ("4471", "4480", "4502")[number % 3]
        asked = proposal(order_id, 45_000, key=f"run_{number}:call_1")
        return await (shop, same_shop)[number % 2].ledger.propose(asked, RULES)

    automatic = [refund for refund in at_once(9, propose) if refund.automatic]
    assert sum(refund.amount_paise for refund in automatic) == 90_000


async def test_one_key_paid_at_once_is_one_payout(shop: Shop, same_shop: Shop) -> None:
    refund = await shop.ledger.propose(proposal("4502", 89_900), RULES)

    async def pay(number: int) -> Payment:
        return await (shop, same_shop)[number % 2].payments.pay(refund)

    assert len(set(at_once(10, pay))) == 1
