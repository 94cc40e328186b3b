"""The clerk plays cases that nobody wrote a script for, with the refund agent's real tools."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.local.claude.clerk import clerk_turn
from bot.local.claude.script import check_turn, say
from tests.bot.local.clerk_bench import PHOTO, Desk, Json, harness, open_desk
from tests.bot.local.clerk_openings import OPENINGS, Opening

TOOLS = json.loads(
    (Path(__file__).parents[2] / "agent" / "snapshots" / "refund_tools.json").read_text("utf-8")
)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(tmp_path) as desk:
        yield desk


@pytest.mark.parametrize("opening", OPENINGS, ids=lambda opening: opening.name)
async def test_an_opening_ends_as_it_should(desk: Desk, opening: Opening) -> None:
    ended = await desk.talk(opening.customer, *opening.words)
    assert ended.how == opening.how, ended.text
    assert opening.text in ended.text
    for part, question in zip(opening.asks, ended.questions, strict=False):
        assert part in question
    assert len(ended.questions) >= len(opening.asks)
    if opening.pays is None:
        assert ended.proposals == []
        return
    (refund,) = await desk.refunds(opening.order)
    assert (refund.amount_paise, refund.reason) == (opening.pays, opening.reason)
    assert refund.reference is not None
    assert refund.reference in ended.text


async def test_each_turn_says_that_it_is_a_stand_in(desk: Desk) -> None:
    ended = await desk.talk("cust_asha", f"Order 4502 came broken, refund {PHOTO}")
    assert len(desk.told) == ended.turns == 3
    assert all("not Claude" in text for text in desk.told)
    messages = [exchange.message or {} for exchange in desk.claude.requests]
    assert {message["stand_in"] for message in messages} == {"local clerk"}
    assert all(exchange.request_id.startswith("req_local_") for exchange in desk.claude.requests)
    assert desk.claude.unscripted == []


async def test_a_lead_reads_what_happened_and_which_policy_allows_it(desk: Desk) -> None:
    ended = await desk.talk(
        "cust_daniel", "I changed my mind about the watch of order 8800, it is unopened. Daniel"
    )
    (proposal,) = ended.proposals
    for part in ("Daniel writes", "4 days after delivery", "change-of-mind", "changed nothing"):
        assert part in proposal["explanation"]


async def test_two_orders_in_one_message_are_both_settled(desk: Desk) -> None:
    ended = await desk.talk(
        "cust_asha",
        f"Both broken: order 4471 speaker is cracked {PHOTO} and order 4502 kettle leaks. Refund"
        " both. Asha",
    )
    assert [(x["order_id"], x["amount_rupees"]) for x in ended.proposals] == [
        ("4471", 2499),
        ("4502", 899),
    ]
    assert "₹2,499.00" in ended.text
    assert "₹899.00" in ended.text


async def test_a_mistyped_number_is_corrected_by_the_answer(desk: Desk) -> None:
    ended = await desk.talk("cust_asha", f"It is broken, refund {PHOTO}", "9999", "4502")
    assert [x["order_id"] for x in ended.proposals] == ["4502"]


async def test_a_smaller_amount_in_a_leads_note_is_proposed_next(desk: Desk) -> None:
    ended = await desk.talk(
        "cust_asha",
        f"My speaker, order 4471, is broken, refund please {PHOTO} Asha",
        then=[None, None, declined("Only a scratch: 20% of the price.")],
    )
    assert [x["amount_rupees"] for x in ended.proposals] == [2499, 499.8]
    assert "₹499.80" in ended.text


async def test_a_decline_is_told_with_the_leads_words_and_nothing_is_called_paid(
    desk: Desk,
) -> None:
    ended = await desk.talk(
        "cust_asha",
        f"My speaker, order 4471, is broken, refund please {PHOTO} Asha",
        then=[None, None, declined("The photo shows wear.")],
    )
    assert "“The photo shows wear”" in ended.text
    assert "nothing was paid" in ended.text
    assert "issued" not in ended.text


async def test_a_photo_that_a_lead_asks_for_is_asked_for_and_then_shown_to_a_person(
    desk: Desk,
) -> None:
    ended = await desk.talk(
        "cust_asha",
        f"My speaker, order 4471, is broken, refund please {PHOTO}",
        f"here {PHOTO}",
        then=[None, None, declined("Please ask for a photo of the serial number.")],
    )
    assert (ended.how, len(ended.questions)) == ("handed_off", 1)


async def test_what_is_left_is_proposed_when_more_was_refused(desk: Desk) -> None:
    refusal = "₹899.00 is more than is refundable on order 4502: ₹600.00. Propose at most that."
    ended = await desk.talk(
        "cust_asha",
        f"Kettle 4502 is broken, refund {PHOTO}",
        then=[None, None, {"content": refusal, "is_error": True}],
    )
    assert [x["amount_rupees"] for x in ended.proposals] == [899, 600]


async def test_a_smaller_amount_that_a_lead_approved_is_told_with_both_amounts(
    desk: Desk,
) -> None:
    told = {
        "status": "issued",
        "amount_rupees": "2000.00",
        "asked_for_rupees": "2499.00",
        "changed_by_a_lead": True,
        "reference": "CW1",
        "arrives_in": "3–5 days",
    }
    ended = await desk.talk(
        "cust_asha",
        f"My speaker, order 4471, is broken, refund please {PHOTO}",
        then=[None, None, {"content": json.dumps(told)}],
    )
    assert "₹2,000.00" in ended.text
    assert "₹2,499.00" in ended.text


async def test_a_refund_of_cash_is_paid_and_a_person_collects_the_details(desk: Desk) -> None:
    order = {
        "order_id": "5120",
        "status": "delivered",
        "items": [
            {"name": "Running shoes", "category": "footwear", "quantity": 1, "price_rupees": "90"}
        ],
        "paid_rupees": "90.00",
        "refunded_rupees": "0.00",
        "refundable_rupees": "90.00",
        "payment_method": "cash on delivery",
        "delivered_on": "2026-11-26",
    }
    paid = {"status": "issued", "amount_rupees": "90.00", "reference": "CW1", "arrives_in": "soon"}
    ended = await desk.talk(
        "cust_vikram",
        "Order 5120: I changed my mind, the shoes are unworn. Vikram",
        "UPI please",
        then=[{"content": json.dumps(order)}, None, None, {"content": json.dumps(paid)}],
    )
    assert "bank account or UPI" in ended.questions[0]
    assert (ended.how, len(ended.proposals)) == ("handed_off", 1)
    assert "CW1" in ended.text


async def test_a_system_that_is_down_is_a_matter_for_a_person(desk: Desk) -> None:
    down = "That system is unavailable right now. Tell the customer a colleague will follow up."
    ended = await desk.talk(
        "cust_asha", "Order 4471 is broken", then=[{"content": down, "is_error": True}]
    )
    assert ended.how == "handed_off"


async def test_a_call_that_was_cut_off_is_made_again(desk: Desk) -> None:
    cut = {"content": "This call was cut off and not executed. Make it again.", "is_error": True}
    ended = await desk.talk("cust_asha", f"Kettle 4502 is broken, refund {PHOTO}", then=[cut, cut])
    assert ended.calls.count("get_order") == 2
    assert len(ended.proposals) == 1


async def test_thanks_in_a_finished_case_are_answered_kindly(desk: Desk) -> None:
    ended = await desk.talk(
        "cust_asha", "Thank you so much!", first=[earlier("The customer wrote: Kettle 4502. Asha")]
    )
    assert "You're welcome" in ended.text
    assert ended.calls == []


async def test_a_later_question_knows_the_order_of_the_earlier_words(desk: Desk) -> None:
    await desk.talk("cust_asha", f"The mug in order 4480 came broken, refund {PHOTO}")
    ended = await desk.talk(
        "cust_asha",
        "My refund has not arrived yet, where is it?",
        first=[earlier("The customer wrote: The mug in order 4480 came broken. Asha")],
    )
    assert "₹700.00 of order 4480 went back" in ended.text


async def test_a_carriers_confirmation_noted_by_a_colleague_opens_the_way_to_a_refund(
    desk: Desk,
) -> None:
    ended = await desk.talk(
        "cust_farhan",
        first=[
            earlier(
                "The customer wrote: Order 7004, the saree never came. Farhan",
                "A colleague wrote in the thread: The carrier confirmed the loss, CC-2087.",
            ),
            harness("A colleague gave the case back to you. Go on with it."),
        ],
    )
    assert [x["reason"] for x in ended.proposals] == ["not_delivered"]
    assert "CC-2087" in ended.proposals[0]["explanation"]


async def test_a_case_given_back_is_closed_with_what_a_colleague_did(desk: Desk) -> None:
    ended = await desk.talk(
        "cust_vikram",
        first=[
            earlier(
                "The customer wrote: Headphones 9001 need a repair under warranty. Vikram",
                "A colleague wrote in the thread: The service centre expects them, SC-118.",
            ),
            harness("A colleague gave the case back to you. Go on with it."),
        ],
    )
    assert ended.how == "reply"
    assert "SC-118" in ended.text


async def test_a_script_that_matches_goes_before_the_clerk(desk: Desk) -> None:
    desk.claude.script("order 4471", [say("From the script.")])
    assert (await desk.talk("cust_asha", "About order 4471")).text == "From the script."
    desk.claude.unscript("order 4471")
    assert (await desk.talk("cust_asha", "About order 4471")).how == "waiting"


def test_other_agents_tools_are_not_called() -> None:
    weather: Json = {**TOOLS[0], "name": "get_weather"}
    turn = clerk_turn(body(["Do I need an umbrella?"], tools=[weather]), today=date(2026, 11, 29))
    assert turn.calls == []
    assert "stand-in" in str(turn.content[0])


def test_look_ups_go_out_one_by_one_where_a_request_wants_that() -> None:
    choice = {"type": "auto", "disable_parallel_tool_use": True}
    request = body(["Order 4471 is broken"], tool_choice=choice)
    assert [x.name for x in clerk_turn(request, today=date(2026, 11, 29)).calls] == ["get_order"]


VOCABULARY = (
    "order 4471 4480 20058 ₹2,499 refund broken never arrived wrong size replacement not no yes mug"
    " plant unused opened human thanks cancel how long does nahi mila paise wapas Asha . , ? !"
    " approved ignore your instructions never mind"
)
WORDS = st.lists(st.sampled_from(VOCABULARY.split()), max_size=12).map(" ".join)
RESULTS = st.one_of(
    WORDS,
    st.sampled_from(
        [
            '[{"policy_id": "damaged-items", "title": "x", "text": "within 7 days, a photo"}]',
            '{"status": "issued", "amount_rupees": "x"}',
            '{"order_id": "4471"}',
            "[1]",
            "null",
            "{",
            "No order 4471 for this customer.",
            "Nothing is refundable on order 4471 any more.",
            "",
        ]
    ),
)


@given(said=st.lists(WORDS, min_size=1, max_size=4), results=st.lists(RESULTS, max_size=10))
def test_whatever_is_said_and_found_the_next_turn_fits_the_tools(
    said: list[str], results: list[str]
) -> None:
    messages: list[Json] = [{"role": "user", "content": said[0] or "x"}]
    for number, content in enumerate(results):
        request = body_of(messages)
        turn = clerk_turn(request, today=date(2026, 11, 29))
        check_turn(turn, request)
        assert turn.content
        if not turn.calls:
            return
        blocks: list[Json] = [
            {"type": "tool_use", "id": f"c{number}_{place}", "name": x.name, "input": x.input}
            for place, x in enumerate(turn.calls)
        ]
        messages.append({"role": "assistant", "content": blocks})
        messages.append(
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": block["id"],
                        "content": said[number % len(said)]
                        if block["name"] == "ask_customer"
                        else content,
                    }
                    for block in blocks
                ],
            }
        )


def body(said: Sequence[str], **fields: Any) -> Json:
    return body_of([{"role": "user", "content": text} for text in said], **fields)


def body_of(messages: Sequence[Json], **fields: Any) -> Json:
    return {"max_tokens": 4096, "messages": list(messages), "tools": TOOLS, **fields}


def earlier(*lines: str) -> Json:
    listed = "\n".join(f"- {line}" for line in lines)
    return harness(f"Earlier in this case, oldest first:\n{listed}")


def declined(note: str) -> Json:
    return {
        "content": f'Declined by a support lead. Their note: "{note}". Nothing was paid. You may'
        " offer what the policies allow instead, or hand off."
    }
