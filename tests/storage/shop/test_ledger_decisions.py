"""What a lead's decision does to a waiting row."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from agent.refunds.ports import Decided, LeadApproval, Payment, Refund, RefundStatus, Rules
from storage.shop import Shop
from tests.storage.shop.world import (
    HOUR,
    NOON,
    RULES,
    Clock,
    approve,
    decline,
    declined,
    digest,
    proposal,
    settle,
    waiting,
)

LAPTOP = proposal("6203", 14_990_000, customer_id="cust_meera")


def row(decided: Decided) -> Refund:
    assert decided.refund is not None
    return decided.refund


async def test_an_approval_turns_the_row_into_intended(shop: Shop, clock: Clock) -> None:
    asked = await waiting(shop)
    clock.now += 2 * HOUR
    decided = await shop.ledger.decide(asked.key, approve(asked, note="Fine"), RULES)
    assert decided.result == "approved"
    refund = row(decided)
    assert refund.status is RefundStatus.INTENDED
    assert not refund.automatic
    assert (refund.decided_by, refund.decided_at) == ("U_LEAD", NOON + HOUR)
    assert refund.approvals == (LeadApproval(by="U_LEAD", at=NOON + HOUR),)
    assert refund.decision_digest == asked.digest
    assert refund.intended_at == NOON + 2 * HOUR
    assert refund.note == "Fine"
    assert await shop.ledger.find(asked.key) == refund


async def test_a_decline_decides_and_keeps_its_note(shop: Shop) -> None:
    refund = await declined(shop)
    assert refund.status is RefundStatus.DECLINED
    assert (refund.decided_by, refund.note) == ("U_LEAD", "No photo")
    assert refund.decision_digest is None
    assert refund.intended_at is None


async def test_the_second_of_two_clicks_is_told_that_it_was_decided(shop: Shop) -> None:
    asked = await waiting(shop)
    await shop.ledger.decide(asked.key, approve(asked), RULES)
    second = await shop.ledger.decide(asked.key, decline(asked, "U_OTHER"), RULES)
    assert second.result == "already_decided"
    assert row(second).status is RefundStatus.INTENDED
    assert row(second).decided_by == "U_LEAD"


async def test_a_decision_that_comes_twice_gets_its_first_result(shop: Shop) -> None:
    asked = await waiting(shop)
    click = approve(asked)
    assert (await shop.ledger.decide(asked.key, click, RULES)).result == "approved"
    paid = await settle(shop, asked)
    assert await shop.ledger.decide(asked.key, click, RULES) == Decided(
        result="approved", refund=paid
    )


async def test_a_decline_that_comes_twice_gets_its_first_result(shop: Shop) -> None:
    asked = await waiting(shop)
    click = decline(asked)
    results = [(await shop.ledger.decide(asked.key, click, RULES)).result for _ in range(2)]
    assert results == ["declined", "declined"]


async def test_a_decision_on_no_refund_is_no_decision(shop: Shop) -> None:
    asked = await waiting(shop)
    decided = await shop.ledger.decide("run_9:call_9", approve(asked), RULES)
    assert decided == Decided(result="no_such_refund", refund=None)


@pytest.mark.parametrize("verdict", ["approve", "decline"])
@pytest.mark.parametrize("wrong", [{"version": 2}, {"version": 0}, {"digest": "of another card"}])
async def test_a_decision_on_another_version_or_digest_changes_nothing(
    shop: Shop, verdict: str, wrong: dict[str, object]
) -> None:
    asked = await waiting(shop)
    click = approve(asked) if verdict == "approve" else decline(asked)
    decided = await shop.ledger.decide(asked.key, replace(click, **wrong), RULES)
    assert decided == Decided(result="stale", refund=asked)
    assert await shop.ledger.find(asked.key) == asked


async def test_above_ten_thousand_two_different_leads_approve(shop: Shop) -> None:
    asked = await waiting(shop, LAPTOP)
    assert asked.needs_approvals == 2
    first = await shop.ledger.decide(asked.key, approve(asked, "U_A", note="ok"), RULES)
    assert first.result == "first_of_two"
    assert row(first).status is RefundStatus.WAITING
    assert (row(first).version, row(first).decided_by) == (1, None)

    again = approve(asked, "U_A", decision_id="second click", approvers_now=["U_A"])
    assert await shop.ledger.decide(asked.key, again, RULES) == Decided(
        result="already_approved", refund=row(first)
    )

    second = approve(asked, "U_B", approvers_now=["U_A"], note="fine")
    decided = await shop.ledger.decide(asked.key, second, RULES)
    assert decided.result == "approved"
    assert [approval.by for approval in row(decided).approvals] == ["U_A", "U_B"]
    assert row(decided).decided_by == "U_B"
    assert row(decided).note == "ok\nfine"


async def test_a_first_approval_that_comes_twice_counts_once(shop: Shop) -> None:
    asked = await waiting(shop, LAPTOP)
    click = approve(asked, "U_A")
    results = [(await shop.ledger.decide(asked.key, click, RULES)).result for _ in range(2)]
    assert results == ["first_of_two", "first_of_two"]
    refund = await shop.ledger.find(asked.key)
    assert refund is not None
    assert len(refund.approvals) == 1


async def test_one_decline_decides_after_a_first_approval(shop: Shop) -> None:
    asked = await waiting(shop, LAPTOP)
    await shop.ledger.decide(asked.key, approve(asked, "U_A"), RULES)
    decided = await shop.ledger.decide(asked.key, decline(asked, "U_B"), RULES)
    assert decided.result == "declined"
    assert row(decided).status is RefundStatus.DECLINED


async def test_an_approval_by_someone_who_is_no_approver_any_more_is_void(shop: Shop) -> None:
    asked = await waiting(shop, LAPTOP)
    await shop.ledger.decide(asked.key, approve(asked, "U_GONE"), RULES)
    second = approve(asked, "U_B", approvers_now=[])
    decided = await shop.ledger.decide(asked.key, second, RULES)
    assert decided.result == "first_of_two"
    assert [approval.by for approval in row(decided).approvals] == ["U_B"]


async def test_a_new_version_of_the_card_voids_the_first_approval(shop: Shop) -> None:
    asked = await waiting(shop, LAPTOP)
    await shop.ledger.decide(asked.key, approve(asked, "U_A", note="ok"), RULES)
    anew = await shop.ledger.show_anew(asked.key, 1, token=1)
    assert anew is not None
    assert (anew.version, anew.approvals, anew.note) == (2, (), "")
    assert anew.shown_digest == asked.digest
    decided = await shop.ledger.decide(
        asked.key, approve(anew, "U_B", approvers_now=["U_A"]), RULES
    )
    assert decided.result == "first_of_two"


async def test_a_smaller_amount_is_approved_instead(shop: Shop) -> None:
    asked = await waiting(shop)
    decided = await shop.ledger.decide(asked.key, approve(asked, amount_paise=150_000), RULES)
    refund = row(decided)
    assert decided.result == "approved"
    assert (refund.proposed_paise, refund.amount_paise) == (249_900, 150_000)
    assert refund.decision_digest == digest(asked.key, "4471", 150_000)
    assert refund.digest == asked.digest


@pytest.mark.parametrize("amount_paise", [0, -1, 249_900, 250_000])
async def test_an_amount_that_is_not_smaller_changes_nothing(shop: Shop, amount_paise: int) -> None:
    asked = await waiting(shop)
    click = approve(asked, amount_paise=amount_paise)
    decided = await shop.ledger.decide(asked.key, click, RULES)
    assert decided == Decided(result="not_smaller", refund=asked)


@pytest.mark.parametrize("amount_paise", [1, 249_899])
async def test_any_smaller_amount_can_be_approved(shop: Shop, amount_paise: int) -> None:
    asked = await waiting(shop)
    click = approve(asked, amount_paise=amount_paise)
    assert row(await shop.ledger.decide(asked.key, click, RULES)).amount_paise == amount_paise


async def test_a_digest_without_an_amount_changes_nothing(shop: Shop) -> None:
    asked = await waiting(shop)
    click = replace(approve(asked), amount_digest="of another amount")
    refund = row(await shop.ledger.decide(asked.key, click, RULES))
    assert (refund.amount_paise, refund.decision_digest) == (249_900, asked.digest)


async def test_a_changed_amount_without_its_digest_is_an_error(shop: Shop) -> None:
    asked = await waiting(shop)
    click = replace(approve(asked, amount_paise=1_000), amount_digest=None)
    with pytest.raises(ValueError, match=r"^A changed amount comes with its digest\.$"):
        await shop.ledger.decide(asked.key, click, RULES)


async def test_an_amount_cut_below_the_second_amount_needs_one_lead(shop: Shop) -> None:
    asked = await waiting(shop, LAPTOP)
    decided = await shop.ledger.decide(asked.key, approve(asked, amount_paise=1_000_000), RULES)
    assert decided.result == "approved"
    assert row(decided).needs_approvals == 1


async def test_a_changed_amount_voids_the_first_approval_and_shows_a_new_version(
    shop: Shop,
) -> None:
    asked = await waiting(shop, LAPTOP)
    await shop.ledger.decide(asked.key, approve(asked, "U_A"), RULES)
    cut = approve(asked, "U_B", amount_paise=5_000_000, approvers_now=["U_A"])
    changed = await shop.ledger.decide(asked.key, cut, RULES)
    assert changed.result == "first_of_two"
    shown = row(changed)
    assert [approval.by for approval in shown.approvals] == ["U_B"]
    assert (shown.version, shown.amount_paise) == (2, 5_000_000)
    assert shown.shown_digest == digest(asked.key, "6203", 5_000_000)
    assert shown.digest == asked.digest

    old_card = await shop.ledger.decide(
        asked.key, approve(asked, "U_C", approvers_now=["U_B"]), RULES
    )
    assert old_card.result == "stale"
    twice = await shop.ledger.decide(asked.key, cut, RULES)
    assert twice == Decided(result="first_of_two", refund=shown)

    decided = await shop.ledger.decide(
        asked.key, approve(shown, "U_C", approvers_now=["U_B"]), RULES
    )
    assert decided.result == "approved"
    assert row(decided).amount_paise == 5_000_000
    assert row(decided).decision_digest == shown.shown_digest
    assert [approval.by for approval in row(decided).approvals] == ["U_B", "U_C"]


async def test_a_lead_who_changes_the_amount_they_approved_still_counts_once(shop: Shop) -> None:
    asked = await waiting(shop, LAPTOP)
    await shop.ledger.decide(asked.key, approve(asked, "U_A"), RULES)
    cut = approve(asked, "U_A", amount_paise=5_000_000, approvers_now=["U_A"])
    changed = await shop.ledger.decide(asked.key, cut, RULES)
    assert changed.result == "first_of_two"
    assert [approval.by for approval in row(changed).approvals] == ["U_A"]


async def test_typing_the_amount_that_the_card_shows_approves_it_as_it_stands(shop: Shop) -> None:
    asked = await waiting(shop, LAPTOP)
    first = row(
        await shop.ledger.decide(asked.key, approve(asked, "U_A", amount_paise=5_000_000), RULES)
    )
    same = approve(first, "U_B", amount_paise=5_000_000, approvers_now=["U_A"])
    decided = await shop.ledger.decide(asked.key, same, RULES)
    assert decided.result == "approved"
    assert [approval.by for approval in row(decided).approvals] == ["U_A", "U_B"]


async def test_a_refund_that_became_too_large_is_refused_at_the_moment_of_paying(
    shop: Shop,
) -> None:
    asked = await waiting(shop, proposal("4480", 210_000))
    other = await waiting(shop, proposal("4480", 140_000, key="run_2:call_1"))
    await shop.ledger.decide(other.key, approve(other), RULES)
    click = approve(asked, "U_B")
    decided = await shop.ledger.decide(asked.key, click, RULES)
    assert decided.result == "refused"
    refund = row(decided)
    assert (refund.status, refund.refusal) == (RefundStatus.REFUSED, "above_refundable")
    assert refund.refundable_paise == 70_000
    assert refund.decided_by == "U_B"
    assert (refund.needs_approvals, refund.intended_at) == (0, None)
    assert await shop.ledger.decide(asked.key, click, RULES) == decided


async def test_an_order_that_changed_hands_is_not_paid_to_its_former_owner(
    shop: Shop, shop_file: Path
) -> None:
    asked = await waiting(shop)
    refused = await declined(shop, proposal(amount_paise=200_000, key="run_1:call_2"))
    with sqlite3.connect(shop_file) as connection:
        connection.execute("UPDATE orders SET customer_id = 'cust_meera' WHERE id = '4471'")
    connection.close()
    decided = await shop.ledger.decide(asked.key, approve(asked), RULES)
    assert (decided.result, row(decided).refusal) == ("refused", "no_such_order")
    again = proposal(amount_paise=refused.amount_paise, key="run_1:call_3")
    assert (await shop.ledger.propose(again, RULES)).refusal == "no_such_order"


async def test_a_smaller_amount_may_still_fit_what_is_left(shop: Shop) -> None:
    asked = await waiting(shop, proposal("4480", 210_000))
    other = await waiting(shop, proposal("4480", 140_000, key="run_2:call_1"))
    await shop.ledger.decide(other.key, approve(other), RULES)
    decided = await shop.ledger.decide(asked.key, approve(asked, amount_paise=70_000), RULES)
    assert decided.result == "approved"


async def test_how_many_leads_are_needed_is_asked_again_at_the_moment_of_paying(
    shop: Shop,
) -> None:
    asked = await waiting(shop, proposal("8800", 900_000, customer_id="cust_daniel"))
    assert asked.needs_approvals == 1
    other = proposal("8800", 200_000, customer_id="cust_daniel", key="run_2:call_1")
    second = await waiting(shop, other)
    await shop.ledger.decide(second.key, approve(second), RULES)
    decided = await shop.ledger.decide(asked.key, approve(asked), RULES)
    assert decided.result == "first_of_two"
    assert row(decided).needs_approvals == 2


async def test_a_lead_whose_approval_is_enough_now_decides_by_approving_again(shop: Shop) -> None:
    asked = await waiting(shop, LAPTOP)
    await shop.ledger.decide(asked.key, approve(asked, "U_A"), RULES)
    raised = Rules(approval_limit_paise=100_000, second_approval_over_paise=20_000_000)
    again = approve(asked, "U_A", decision_id="second click", approvers_now=["U_A"])
    decided = await shop.ledger.decide(asked.key, again, raised)
    assert decided.result == "approved"
    assert [approval.by for approval in row(decided).approvals] == ["U_A"]


async def test_a_failed_payment_gives_its_amount_back(shop: Shop) -> None:
    asked = await waiting(shop)
    await shop.ledger.decide(asked.key, approve(asked), RULES)
    await settle(shop, asked, Payment(status="failed", detail="account closed"))
    again = await waiting(shop, proposal(key="run_2:call_1"))
    decided = await shop.ledger.decide(again.key, approve(again), RULES)
    assert decided.result == "approved"
