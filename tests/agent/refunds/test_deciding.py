"""A lead's click on a card, and what the card says after it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Literal

import pytest
from sqlalchemy import update

from agent.approval import CardOutcome, Request, Verdict
from agent.errors import LeaseLost
from agent.refunds.ports import RefundStatus
from agent.tools import Pause
from storage.shop.database import orders
from tests.agent.bench import NOW
from tests.agent.refunds.desk import FAILED, HOUR, UNKNOWN, Desk

LAPTOP = ("149900", "6203")


async def test_an_approval_is_bound_to_the_card_and_shown_on_it(desk: Desk) -> None:
    request = await desk.asked()
    answer = await desk.decide(request, note="Fine", decision_id="click 1")
    assert answer.result == "decided"
    assert answer.card == replace(
        request.card,
        approved_by=("priya",),
        outcome=CardOutcome(
            verdict="approved",
            by="priya",
            at=NOW + HOUR,
            note="Fine",
            detail="₹2,499.00 is being paid.",
        ),
    )
    row = await desk.row()
    assert (row.decision_id, row.decision_digest) == ("click 1", request.card.digest)
    assert await desk.approvals.current(request) == answer.card


async def test_a_smaller_amount_gets_the_digest_of_the_same_call_with_that_amount(
    desk: Desk,
) -> None:
    request = await desk.asked()
    answer = await desk.decide(request, amount_paise=150_050)
    assert answer.result == "decided"
    assert answer.card.title == "Refund ₹1,500.50 to Asha Rao"
    assert answer.card.amount_paise == 150_050
    assert answer.card.outcome is not None
    assert answer.card.outcome.detail == "₹1,500.50 (asked for ₹2,499.00) is being paid."
    smaller = desk.context(**request.input).digest(amount_rupees="1500.50")
    assert (await desk.row()).decision_digest == smaller


async def test_a_decline_is_shown_with_its_note(desk: Desk) -> None:
    request = await desk.asked()
    answer = await desk.decide(request, "decline", by="omar", note="No photo")
    assert answer.result == "decided"
    assert answer.card.outcome == CardOutcome(
        verdict="declined", by="omar", at=NOW + HOUR, note="No photo"
    )


@pytest.mark.parametrize("verdict", ["approve", "decline"])
async def test_a_click_on_another_version_or_digest_is_stale(desk: Desk, verdict: Verdict) -> None:
    request = await desk.asked()
    for old in (replace(request.card, version=2), replace(request.card, digest="of another")):
        answer = await desk.decide(request, verdict, card=old)
        assert (answer.result, answer.card) == ("stale", request.card)


async def test_a_click_on_a_card_without_a_row_is_stale_and_leaves_it_as_it_was(
    desk: Desk,
) -> None:
    request = replace(await desk.asked(), key="run_9:call_9")
    answer = await desk.decide(request)
    assert (answer.result, answer.card) == ("stale", request.card)


async def test_above_the_second_limit_two_leads_approve_and_the_card_names_them(
    desk: Desk,
) -> None:
    request = await desk.asked(*LAPTOP, customer_id="cust_meera")
    assert (request.card.needs_approvals, request.card.approved_by) == (2, ())
    first = await desk.decide(request)
    assert (first.result, first.card.approved_by) == ("first_of_two", ("priya",))
    assert first.card.outcome is None
    still = frozenset({"priya"})
    again = await desk.decide(request, approvers_now=still, decision_id="second click")
    assert (again.result, again.card) == ("already_approved", first.card)
    second = await desk.decide(request, by="omar", approvers_now=still)
    assert (second.result, second.card.approved_by) == ("decided", ("priya", "omar"))


async def test_a_card_that_needs_a_second_lead_by_now_says_so(desk: Desk) -> None:
    request = await desk.asked("9000", "6203", customer_id="cust_meera")
    assert request.card.needs_approvals == 1
    await desk.decide(await desk.asked("2000", "6203", call_id="call_2", customer_id="cust_meera"))
    answer = await desk.decide(request)
    assert (answer.result, answer.card.needs_approvals) == ("first_of_two", 2)


async def test_of_two_leads_the_second_decides_on_the_amount_that_the_first_one_changed(
    desk: Desk,
) -> None:
    request = await desk.asked(*LAPTOP, customer_id="cust_meera")
    first = await desk.decide(request, amount_paise=5_000_000)
    assert first.result == "first_of_two"
    shown = first.card
    assert (shown.version, shown.title) == (2, "Refund ₹50,000.00 to Meera Iyer")
    context = desk.context(customer_id="cust_meera", **request.input)
    assert shown.digest == context.digest(amount_rupees="50000.00")
    assert await desk.propose(*LAPTOP, customer_id="cust_meera") == Pause(card=shown)
    second = await desk.decide(request, card=shown, by="omar", approvers_now=frozenset({"priya"}))
    assert (second.result, second.card.amount_paise) == ("decided", 5_000_000)


async def test_an_amount_that_is_not_smaller_decides_nothing(desk: Desk) -> None:
    request = await desk.asked()
    answer = await desk.decide(request, amount_paise=249_900)
    assert (answer.result, answer.card) == ("not_smaller", request.card)


async def test_a_second_click_is_told_what_was_decided(desk: Desk) -> None:
    request = await desk.asked()
    first = await desk.decide(request, "decline")
    second = await desk.decide(request, by="omar")
    assert (second.result, second.card) == ("already_decided", first.card)


async def test_what_is_not_refundable_any_more_is_refused_and_says_what_was(desk: Desk) -> None:
    request = await desk.asked()
    await desk.propose("500", call_id="call_2")
    answer = await desk.decide(request)
    assert (answer.result, answer.card.needs_approvals) == ("decided", 1)
    assert answer.card.outcome == CardOutcome(
        verdict="refused",
        by="priya",
        at=NOW + HOUR,
        detail="Not paid: only ₹1,999.00 was refundable at that moment.",
    )


async def test_of_an_order_that_changed_hands_nothing_was_refundable(desk: Desk) -> None:
    request = await desk.asked()
    await desk.shop.database.write(
        lambda connection: connection.execute(
            update(orders).where(orders.c.id == "4471").values(customer_id="cust_meera")
        )
    )
    answer = await desk.decide(request)
    assert answer.card.outcome is not None
    assert answer.card.outcome.detail == ("Not paid: only ₹0.00 was refundable at that moment.")


async def test_a_card_shown_anew_has_a_new_version_and_no_approvals(desk: Desk) -> None:
    request = await desk.asked(*LAPTOP, customer_id="cust_meera")
    await desk.decide(request)
    anew = await desk.approvals.show_anew(request)
    assert anew == replace(request.card, version=2)
    assert (await desk.decide(request, by="omar")).result == "stale"


async def test_a_decided_card_is_not_shown_anew(desk: Desk) -> None:
    request = await desk.asked()
    decided = await desk.decide(request, "decline")
    assert await desk.approvals.show_anew(request) == decided.card


@pytest.mark.parametrize(
    ("verdict", "detail"),
    [
        ("expired", "Nobody answered in time. Nothing was paid."),
        ("withdrawn", "A colleague has the case. Nothing was paid."),
    ],
)
async def test_a_card_is_closed_without_a_lead(
    desk: Desk, verdict: Literal["expired", "withdrawn"], detail: str
) -> None:
    request = await desk.asked()
    card = await desk.approvals.close(request, verdict, at=NOW + 1)
    assert card.outcome == CardOutcome(verdict=verdict, at=NOW + 1, detail=detail)
    assert (await desk.row()).status == verdict
    assert await desk.approvals.current(request) == card


async def test_closing_a_decided_card_leaves_its_outcome(desk: Desk) -> None:
    request = await desk.asked()
    decided = await desk.decide(request, "decline")
    assert await desk.approvals.close(request, "expired", at=NOW) == decided.card


Act = Callable[[Desk, Request], Awaitable[object]]
ACTS: dict[str, Act] = {
    "looks": lambda desk, request: desk.approvals.current(request),
    "decides": lambda desk, request: desk.decide(request, "decline"),
    "shows it anew": lambda desk, request: desk.approvals.show_anew(request),
    "closes it": lambda desk, request: desk.approvals.close(request, "expired", at=NOW),
    "looks up": lambda desk, request: desk.approvals.look_up(
        request.key, request.card, token=request.token
    ),
}


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
async def test_an_open_card_is_kept_from_older_owners_of_the_case(desk: Desk, act: Act) -> None:
    request = await desk.asked()
    row = await desk.row()
    await desk.approvals.current(replace(request, token=8))
    with pytest.raises(LeaseLost):
        await act(desk, replace(request, token=7))
    assert await desk.row() == row
    await act(desk, replace(request, token=8))


async def test_a_request_whose_row_is_not_in_this_shop_is_our_fault(desk: Desk) -> None:
    request = replace(await desk.asked(), key="run_9:call_9")
    with pytest.raises(LookupError, match=r"^no refund row run_9:call_9"):
        await desk.approvals.current(request)
    with pytest.raises(LookupError):
        await desk.approvals.close(request, "expired", at=NOW)
    with pytest.raises(LookupError):
        await desk.approvals.show_anew(request)


async def test_the_card_follows_the_payment(desk: Desk) -> None:
    request = await desk.asked()
    await desk.decide(request)
    desk.provider.pays = UNKNOWN
    await desk.propose()
    unknown = await desk.approvals.current(request)
    assert unknown.outcome is not None
    assert unknown.outcome.verdict == "approved"
    assert unknown.outcome.detail == (
        "₹2,499.00: approved, not yet confirmed by the payment system."
    )
    desk.provider.pays = FAILED
    await desk.propose()
    failed = await desk.approvals.current(request)
    assert failed.outcome is not None
    assert failed.outcome.detail == "The payment of ₹2,499.00 failed; nothing was paid."
    assert (await desk.row()).status is RefundStatus.FAILED
