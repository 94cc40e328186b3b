"""What the ledger makes of a proposal: refused, waiting for a lead, or paid at once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError

from agent.refunds.ports import KeyReused, Payment, Refund, RefundStatus, Rules
from storage.shop import Shop
from storage.shop.database import refunds
from storage.shop.ledger import ShopLedger
from tests.storage.shop.world import (
    HOUR,
    NOON,
    RULES,
    Clock,
    Refusing,
    approve,
    decline,
    declined,
    proposal,
    settle,
    waiting,
)


async def test_a_refund_up_to_the_limit_is_intended_at_once(shop: Shop) -> None:
    asked = proposal("8101", 100_000, customer_id="cust_lakshmi")
    refund = await shop.ledger.propose(asked, RULES)
    assert refund.status is RefundStatus.INTENDED
    assert refund.automatic
    assert refund.needs_approvals == 0
    assert (refund.created_at, refund.intended_at) == (NOON, NOON)
    assert refund.refundable_paise is None
    assert await shop.ledger.find(asked.key) == refund


async def test_one_paisa_over_the_limit_waits_for_one_lead(shop: Shop) -> None:
    refund = await shop.ledger.propose(proposal(amount_paise=100_001), RULES)
    assert refund.status is RefundStatus.WAITING
    assert not refund.automatic
    assert (refund.needs_approvals, refund.version) == (1, 1)
    assert refund.shown_digest == refund.digest
    assert refund.intended_at is None


async def test_rupees_with_paise_are_exact(shop: Shop) -> None:
    asked = proposal("6210", 14_505, customer_id="cust_meera")
    refund = await shop.ledger.propose(asked, RULES)
    assert refund.amount_paise == refund.proposed_paise == 14_505
    await settle(shop, refund)
    order = await shop.orders.order("cust_meera", "6210")
    assert order is not None
    assert (order.refunded_paise, order.refundable_paise) == (14_505, 0)


@pytest.mark.parametrize("order_id", ["9001", "0000"])
async def test_another_customers_order_and_a_missing_one_are_refused_alike(
    shop: Shop, order_id: str
) -> None:
    refund = await shop.ledger.propose(proposal(order_id, 10_000), RULES)
    assert refund.status is RefundStatus.REFUSED
    assert refund.refusal == "no_such_order"
    assert refund.refundable_paise is None


async def test_an_order_refunded_in_full_has_nothing_refundable(shop: Shop) -> None:
    asked = proposal("8102", 10_000, customer_id="cust_lakshmi")
    refund = await shop.ledger.propose(asked, RULES)
    assert (refund.status, refund.refusal) == (RefundStatus.REFUSED, "nothing_refundable")
    assert refund.refundable_paise == 0


async def test_more_than_is_refundable_is_refused_and_says_how_much_is(shop: Shop) -> None:
    asked = proposal("8100", 60_001, customer_id="cust_lakshmi")
    refund = await shop.ledger.propose(asked, RULES)
    assert (refund.status, refund.refusal) == (RefundStatus.REFUSED, "above_refundable")
    assert refund.refundable_paise == 60_000
    assert refund.needs_approvals == 0
    assert refund.intended_at is None


async def test_the_last_paisa_is_refundable(shop: Shop) -> None:
    for call, amount_paise in (("call_1", 59_999), ("call_2", 1)):
        asked = proposal("8100", amount_paise, customer_id="cust_lakshmi", key=f"run_1:{call}")
        assert (await shop.ledger.propose(asked, RULES)).status is RefundStatus.INTENDED


@pytest.mark.parametrize("amount_paise", [0, -1])
async def test_an_amount_that_is_not_positive_is_no_proposal(shop: Shop, amount_paise: int) -> None:
    with pytest.raises(ValueError, match=r"^A refund's amount must be positive\.$"):
        await shop.ledger.propose(proposal(amount_paise=amount_paise), RULES)
    assert await shop.ledger.find("run_1:call_1") is None


async def test_splitting_an_order_gains_nothing(shop: Shop) -> None:
    pieces = [
        await shop.ledger.propose(proposal("4480", 70_000, key=f"run_{number}:call_1"), RULES)
        for number in (1, 2, 3)
    ]
    assert [refund.status for refund in pieces] == ["intended", "waiting", "waiting"]


async def test_refunds_that_a_lead_approved_count_on_their_order_for_ever(
    shop: Shop, clock: Clock
) -> None:
    first = await waiting(shop, proposal("4480", 140_000))
    await shop.ledger.decide(first.key, approve(first), RULES)
    clock.now += 1_000 * HOUR
    second = await shop.ledger.propose(proposal("4480", 100, key="run_2:call_1"), RULES)
    assert second.status is RefundStatus.WAITING


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (None, "waiting"),
        (Payment(status="paid", reference="R1"), "waiting"),
        (Payment(status="unknown"), "waiting"),
        (Payment(status="failed", detail="account closed"), "intended"),
    ],
)
async def test_automatic_refunds_on_the_customers_other_orders_count_unless_they_failed(
    shop: Shop, outcome: Payment | None, status: str
) -> None:
    first = await shop.ledger.propose(proposal("4502", 60_000), RULES)
    if outcome is not None:
        await settle(shop, first, outcome)
    second = await shop.ledger.propose(proposal("4480", 40_001, key="run_2:call_1"), RULES)
    assert second.status == status


async def test_automatic_refunds_on_other_orders_count_for_24_hours(
    shop: Shop, clock: Clock
) -> None:
    await settle(shop, await shop.ledger.propose(proposal("4502", 89_900), RULES))
    clock.now = NOON + 24 * HOUR
    still = await shop.ledger.propose(proposal("4480", 70_000, key="run_2:call_1"), RULES)
    assert still.status is RefundStatus.WAITING
    clock.now += 1
    later = await shop.ledger.propose(proposal("4480", 70_000, key="run_3:call_1"), RULES)
    assert later.status is RefundStatus.INTENDED


async def test_refunds_of_other_orders_that_a_lead_approved_do_not_count(shop: Shop) -> None:
    first = await waiting(shop)
    await shop.ledger.decide(first.key, approve(first), RULES)
    second = await shop.ledger.propose(proposal("4502", 89_900, key="run_2:call_1"), RULES)
    assert second.status is RefundStatus.INTENDED


async def test_another_customers_automatic_refunds_do_not_count(shop: Shop) -> None:
    await shop.ledger.propose(proposal("8101", 100_000, customer_id="cust_lakshmi"), RULES)
    second = await shop.ledger.propose(proposal("4502", 89_900, key="run_2:call_1"), RULES)
    assert second.status is RefundStatus.INTENDED


async def test_refunds_that_the_shop_paid_by_hand_use_up_the_order_but_not_the_limit(
    shop: Shop,
) -> None:
    asked = proposal("8100", 60_000, customer_id="cust_lakshmi")
    refund = await shop.ledger.propose(asked, RULES)
    assert refund.status is RefundStatus.INTENDED
    order = await shop.orders.order("cust_lakshmi", "8100")
    assert order is not None
    assert order.refundable_paise == 0


async def test_waiting_rows_reserve_nothing(shop: Shop) -> None:
    await waiting(shop)
    second = await shop.ledger.propose(proposal(key="run_2:call_1"), RULES)
    assert second.status is RefundStatus.WAITING


async def test_the_same_key_gets_the_recorded_outcome_whatever_changed_since(shop: Shop) -> None:
    asked = proposal("4502", 50_000)
    first = await settle(shop, await shop.ledger.propose(asked, RULES))
    rest = await shop.ledger.propose(proposal("4502", 39_900, key="run_2:call_1"), RULES)
    assert rest.status is RefundStatus.INTENDED
    nothing_automatic = Rules(approval_limit_paise=0, second_approval_over_paise=0)
    assert await shop.ledger.propose(asked, nothing_automatic) == first
    assert first.status is RefundStatus.PAID


async def test_the_same_key_gets_a_recorded_refusal_though_it_would_pass_now(shop: Shop) -> None:
    whole = await shop.ledger.propose(proposal("4502", 89_900), RULES)
    late = proposal("4502", 89_900, key="run_2:call_1")
    refused = await shop.ledger.propose(late, RULES)
    await settle(shop, whole, Payment(status="failed", detail="account closed"))
    assert await shop.ledger.propose(late, RULES) == refused
    assert refused.refusal == "nothing_refundable"


@pytest.mark.parametrize(
    "other",
    [
        proposal(amount_paise=249_800),
        proposal("4480", 249_900),
        proposal(customer_id="cust_meera"),
        replace(proposal(), digest="of something else"),
    ],
    ids=["amount", "order", "customer", "digest"],
)
async def test_the_same_key_with_other_arguments_is_an_error(shop: Shop, other: object) -> None:
    first = await waiting(shop)
    assert isinstance(other, type(proposal()))
    with pytest.raises(KeyReused, match=r"^Key run_1:call_1 was used for another"):
        await shop.ledger.propose(other, RULES)
    assert await shop.ledger.history("4471") == [first]


async def test_a_key_that_another_proposal_took_in_between_is_compared_with_it(shop: Shop) -> None:
    first = await waiting(shop)
    behind = Refusing(shop.database, [IntegrityError("INSERT", None, Exception("not unique"))])
    assert await ShopLedger(behind, now=lambda: NOON).propose(proposal(), RULES) == first


async def test_above_the_second_amount_two_leads_are_needed(shop: Shop) -> None:
    watch = proposal("8800", 1_000_000, customer_id="cust_daniel")
    assert (await waiting(shop, watch)).needs_approvals == 1
    dearer = proposal("8800", 1_000_001, customer_id="cust_daniel", key="run_2:call_1")
    assert (await waiting(shop, dearer)).needs_approvals == 2


async def test_the_agents_refunds_on_the_order_count_towards_two_leads(shop: Shop) -> None:
    first = await waiting(shop, proposal("6203", 900_000, customer_id="cust_meera"))
    await shop.ledger.decide(first.key, approve(first), RULES)
    second = proposal("6203", 100_001, customer_id="cust_meera", key="run_2:call_1")
    assert (await waiting(shop, second)).needs_approvals == 2


async def test_after_a_decline_every_further_proposal_on_that_order_waits_for_a_lead(
    shop: Shop, clock: Clock
) -> None:
    await declined(shop, proposal("4480", 140_000))
    clock.now += 1_000 * HOUR
    again = await shop.ledger.propose(proposal("4480", 1, key="run_2:call_1"), RULES)
    assert again.status is RefundStatus.WAITING
    elsewhere = await shop.ledger.propose(proposal("4502", 89_900, key="run_2:call_2"), RULES)
    assert elsewhere.status is RefundStatus.INTENDED


async def test_what_was_declined_is_refused_outright_in_the_same_run(shop: Shop) -> None:
    await declined(shop)
    again = await shop.ledger.propose(proposal(key="run_1:call_2"), RULES)
    assert (again.status, again.refusal) == (RefundStatus.REFUSED, "declined_before")


async def test_another_amount_reason_or_run_may_be_proposed_after_a_decline(shop: Shop) -> None:
    await declined(shop)
    less = await shop.ledger.propose(proposal(key="run_1:call_2", amount_paise=100_000), RULES)
    other = await shop.ledger.propose(proposal(key="run_1:call_3", reason="wrong_item"), RULES)
    another_run = await shop.ledger.propose(proposal(key="run_2:call_1"), RULES)
    assert {less.status, other.status, another_run.status} == {RefundStatus.WAITING}


async def test_what_was_declined_on_one_order_may_be_asked_for_on_another(shop: Shop) -> None:
    await declined(shop, proposal("4480", 140_000))
    elsewhere = proposal("4471", 140_000, key="run_1:call_2")
    assert (await shop.ledger.propose(elsewhere, RULES)).status is RefundStatus.WAITING


async def test_what_nobody_decided_may_be_asked_for_again(shop: Shop) -> None:
    expired = await waiting(shop)
    await shop.ledger.close(expired.key, RefundStatus.EXPIRED, at=NOON, token=1)
    again = await shop.ledger.propose(proposal(key="run_1:call_2"), RULES)
    assert again.status is RefundStatus.WAITING


async def test_an_amount_that_a_first_lead_cut_and_a_second_declined_counts_as_declined(
    shop: Shop,
) -> None:
    laptop = proposal("6203", 14_990_000, customer_id="cust_meera")
    first = await waiting(shop, laptop)
    cut = await shop.ledger.decide(first.key, approve(first, amount_paise=5_000_000), RULES)
    assert cut.refund is not None
    await shop.ledger.decide(first.key, decline(cut.refund, "U_OTHER"), RULES)
    for call, amount_paise in (("call_2", 14_990_000), ("call_3", 5_000_000)):
        again = proposal("6203", amount_paise, customer_id="cust_meera", key=f"run_1:{call}")
        assert (await shop.ledger.propose(again, RULES)).refusal == "declined_before"


async def test_an_orders_history_has_every_row_oldest_first(shop: Shop) -> None:
    asked = proposal("8100", 60_000, customer_id="cust_lakshmi")
    refund = await shop.ledger.propose(asked, RULES)
    refused = await shop.ledger.propose(replace(asked, key="run_1:call_2"), RULES)
    by_hand, *by_agent = await shop.ledger.history("8100")
    assert by_agent == [refund, refused]
    assert (by_hand.status, by_hand.amount_paise) == (RefundStatus.PAID, 500_000)
    assert (by_hand.run_id, by_hand.digest, by_hand.version) == (None, "", 1)


async def test_a_row_that_the_shop_wrote_by_hand_needs_no_more_than_order_and_amount(
    shop: Shop,
) -> None:
    values = {"idempotency_key": "K", "order_id": "4471", "status": "paid", "amount_paise": 100}
    await shop.database.write(lambda connection: connection.execute(insert(refunds).values(values)))
    assert await shop.ledger.find("K") == Refund(
        key="K",
        digest="",
        shown_digest="",
        run_id=None,
        call_id=None,
        customer_id="",
        order_id="4471",
        proposed_paise=100,
        amount_paise=100,
        reason="",
        explanation="",
        status=RefundStatus.PAID,
        automatic=False,
        version=1,
        needs_approvals=0,
    )


async def test_a_history_is_by_time_and_not_by_when_a_row_was_written(
    shop: Shop, clock: Clock
) -> None:
    second = await waiting(shop)
    clock.now -= HOUR
    first = await waiting(shop, proposal(key="run_2:call_1"))
    assert await shop.ledger.history("4471") == [first, second]
