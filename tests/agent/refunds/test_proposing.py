"""What a proposal becomes, and what the model is told of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import update

from agent.approval import CardFact
from agent.errors import ToolError
from agent.refunds.ports import RefundStatus, Refusal
from agent.refunds.tools import refusal_words
from agent.tools import HandOff, Pause, Result
from storage.shop.database import refunds
from tests.agent.bench import NOW
from tests.agent.refunds.desk import EXPLANATION, FAILED, PAID, Desk


async def test_up_to_the_limit_it_is_paid_at_once_and_told_as_issued(desk: Desk) -> None:
    result = await desk.propose("145.05", " 4471 ", reason="wrong_item")
    assert result == Result(
        content={
            "status": "issued",
            "amount_rupees": "145.05",
            "reference": "R1",
            "arrives_in": "3–5 days",
        },
        receipt="Your refund of ₹145.05 was issued, reference R1, arrives in 3–5 days.",
    )
    row = await desk.row()
    assert (row.status, row.automatic) == (RefundStatus.PAID, True)
    assert (row.run_id, row.call_id, row.customer_id) == ("run_1", "call_1", "cust_asha")
    assert (row.order_id, row.amount_paise) == ("4471", 14_505)
    assert (row.reason, row.explanation) == ("wrong_item", EXPLANATION)
    context = desk.context(order_id=" 4471 ", amount_rupees="145.05", reason="wrong_item")
    assert (row.key, row.digest) == (context.key, context.digest())
    [(asked, sent)] = desk.provider.asked
    assert asked == "pay"
    assert (sent.key, sent.amount_paise) == (row.key, 14_505)


@pytest.mark.parametrize(("order_id", "days"), [("4471", "3–5 days"), ("4480", "5–7 days")])
async def test_the_customer_is_told_how_long_the_way_of_payment_takes(
    desk: Desk, order_id: str, days: str
) -> None:
    result = await desk.propose("100", order_id)
    assert isinstance(result, Result)
    assert isinstance(result.content, dict)
    assert result.content["arrives_in"] == days
    assert result.receipt.endswith(f"arrives in {days}.")


async def test_the_same_call_again_is_told_alike_and_pays_nothing(desk: Desk) -> None:
    first = await desk.propose("500")
    assert await desk.propose("500") == first
    assert len(desk.provider.asked) == 1


async def test_above_the_limit_it_waits_with_a_card_for_the_lead(desk: Desk) -> None:
    pause = await desk.propose("2499", " 4471 ")
    assert isinstance(pause, Pause)
    assert pause.card is not None
    assert (pause.card.key, pause.card.title) == ("run_1:call_1", "Refund ₹2,499.00 to Asha Rao")
    assert desk.provider.asked == []


async def test_the_card_tells_what_was_refunded_on_the_order_before(desk: Desk) -> None:
    await desk.propose("500")
    pause = await desk.propose("1999", call_id="call_2")
    assert isinstance(pause, Pause)
    assert pause.card is not None
    earlier = CardFact(label="Earlier refunds", value="₹500.00 paid on 21 Sep 2026")
    assert earlier in pause.card.facts


async def test_what_a_lead_approved_is_paid_and_their_note_is_told(desk: Desk) -> None:
    request = await desk.asked()
    await desk.decide(request, note="Fine")
    result = await desk.propose()
    assert isinstance(result, Result)
    assert result.content == {
        "status": "issued",
        "amount_rupees": "2499.00",
        "reference": "R1",
        "arrives_in": "3–5 days",
        "note_of_the_lead": "Fine",
    }
    assert [asked for asked, _ in desk.provider.asked] == ["pay"]


async def test_of_a_smaller_amount_both_amounts_are_told(desk: Desk) -> None:
    request = await desk.asked()
    await desk.decide(request, amount_paise=150_000)
    result = await desk.propose()
    assert isinstance(result, Result)
    assert result.content == {
        "status": "issued",
        "amount_rupees": "1500.00",
        "reference": "R1",
        "arrives_in": "3–5 days",
        "asked_for_rupees": "2499.00",
        "changed_by_a_lead": True,
    }
    assert result.receipt == (
        "Your refund of ₹1,500.00 was issued, reference R1, arrives in 3–5 days."
    )
    [(_, sent)] = desk.provider.asked
    assert sent.amount_paise == 150_000


@pytest.mark.parametrize("amount_paise", [None, 150_000])
async def test_what_was_not_decided_about_this_very_refund_is_not_paid(
    desk: Desk, amount_paise: int | None
) -> None:
    request = await desk.asked()
    await desk.decide(request, amount_paise=amount_paise)
    await change_row(desk, decision_digest="of another amount")
    with pytest.raises(RuntimeError, match=r"^run_1:call_1: the decision was not about this"):
        await desk.propose()
    assert desk.provider.asked == []
    assert (await desk.row()).status is RefundStatus.INTENDED


@pytest.mark.parametrize(
    ("note", "words"), [("", ""), ("No photo", ' Their note: "No photo".')], ids=["bare", "note"]
)
async def test_a_decline_is_told_with_the_leads_note(desk: Desk, note: str, words: str) -> None:
    request = await desk.asked()
    await desk.decide(request, "decline", note=note)
    assert await desk.propose() == (
        f"Declined by a support lead.{words} Nothing was paid. You may offer what the policies"
        " allow instead, or hand off."
    )


async def test_a_payment_that_failed_goes_to_a_person_with_the_providers_words(desk: Desk) -> None:
    desk.provider.pays = FAILED
    assert await desk.propose("500") == HandOff(
        reason="The payment of ₹500.00 failed: account closed"
    )


async def test_an_expired_request_is_told_as_nobodys_answer(desk: Desk) -> None:
    request = await desk.asked()
    await desk.approvals.close(request, "expired", at=NOW)
    assert await desk.propose() == "Nobody answered. Nothing was paid."


async def test_a_withdrawn_request_is_an_error(desk: Desk) -> None:
    request = await desk.asked()
    await desk.approvals.close(request, "withdrawn", at=NOW)
    await fails(desk, "This refund was withdrawn. Nothing was paid. Hand off.")


async def test_too_much_is_refused_with_what_is_left(desk: Desk) -> None:
    await fails(
        desk,
        "₹2,500.00 is more than is refundable on order 4471: ₹2,499.00. Propose at most that.",
        amount_rupees="2500",
    )


async def test_a_missing_order_is_refused_like_any_look_up_of_it(desk: Desk) -> None:
    await fails(
        desk, "No order 0000 for this customer. Ask them to check the number.", order_id="0000"
    )


async def test_what_a_lead_declined_is_refused_when_it_is_proposed_again(desk: Desk) -> None:
    request = await desk.asked()
    await desk.decide(request, "decline")
    await fails(
        desk,
        "A lead declined this same refund in this conversation. Offer what the note and the"
        " policies allow instead, or hand off.",
        call_id="call_2",
    )


@pytest.mark.parametrize(
    ("refusal", "words"),
    [
        (
            "nothing_refundable",
            "Nothing is refundable on order 4471 any more. Tell the customer why.",
        ),
        (
            "above_refundable",
            "₹500.00 is more than is refundable on order 4471: ₹0.00. Propose at most that.",
        ),
        (None, "The refund was refused. Hand off."),
    ],
)
async def test_each_refusal_says_what_to_do(
    desk: Desk, refusal: Refusal | None, words: str
) -> None:
    await desk.propose("500")
    row = replace(await desk.row(), refusal=refusal, refundable_paise=None)
    assert refusal_words(row) == words


async def fails(
    desk: Desk,
    words: str,
    *,
    amount_rupees: str = "2499",
    order_id: str = "4471",
    call_id: str = "call_1",
) -> None:
    with pytest.raises(ToolError) as raised:
        await desk.propose(amount_rupees, order_id, call_id=call_id)
    assert str(raised.value) == words
    assert desk.provider.asked == []


async def change_row(desk: Desk, **values: object) -> None:
    await desk.shop.database.write(
        lambda connection: connection.execute(
            update(refunds).where(refunds.c.idempotency_key == "run_1:call_1").values(**values)
        )
    )


@pytest.mark.parametrize("amount_rupees", ["500", "2499"], ids=["automatic", "for a lead"])
async def test_what_was_stopped_before_it_began_never_begins(
    desk: Desk, amount_rupees: str
) -> None:
    for stopped in (True, False):
        with pytest.raises(ToolError, match="was withdrawn"):
            await desk.propose(amount_rupees, stopped=stopped)
    assert (await desk.row()).status is RefundStatus.WITHDRAWN
    assert desk.provider.asked == []


async def test_what_had_begun_before_it_was_stopped_is_carried_through(desk: Desk) -> None:
    row = await desk.unknown()
    desk.provider.finds = PAID
    assert isinstance(await desk.propose("500", stopped=True), Result)
    assert (await desk.row()).key == row.key
    assert (await desk.row()).status is RefundStatus.PAID
