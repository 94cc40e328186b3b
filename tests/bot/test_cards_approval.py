from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from agent.approval import CardFact, CardOutcome
from agent.case import Approval
from bot.actions import APPROVE, CHANGE_AMOUNT, DECLINE, CardRef
from bot.cards.approval import approval
from bot.cards.message import Audience, Message
from tests.bot import card_samples as samples


def card(content: Approval, audience: Audience = samples.LEADS_ELSEWHERE) -> Message:
    return approval(content, case_id=samples.CASE_ID, audience=audience, link=None)


def buttons(message: Message) -> list[dict[str, Any]]:
    return [e for block in message.blocks if block["type"] == "actions" for e in block["elements"]]


def text_of(message: Message) -> str:
    return json.dumps(message.blocks, ensure_ascii=False)


def test_records_come_before_the_customers_words_and_those_before_the_agents():
    shown = text_of(card(samples.APPROVAL))
    places = [
        shown.index(words)
        for words in (
            "Bluetooth speaker",
            "The customer wrote:",
            "The customer's last answer:",
            "Photo 1",
            "The agent's explanation",
            '"Approve"',
        )
    ]
    assert places == sorted(places)


def test_an_open_card_has_three_buttons_bound_to_its_version():
    found = buttons(card(samples.APPROVAL))
    assert [button["action_id"] for button in found] == [APPROVE, CHANGE_AMOUNT, DECLINE]
    assert [button.get("style") for button in found] == ["primary", None, "danger"]
    assert not any("confirm" in button for button in found)
    for button in found:
        ref = CardRef.model_validate_json(button["value"])
        assert (ref.case_id, ref.key, ref.version) == (samples.CASE_ID, samples.CARD.key, 1)
        assert ref.digest == samples.CARD.digest


@pytest.mark.parametrize("amount_paise", [None, 1])
def test_an_amount_that_cannot_be_smaller_has_no_change_button(amount_paise: int | None):
    found = buttons(card(samples.carded(amount_paise=amount_paise)))
    assert [button["action_id"] for button in found] == [APPROVE, DECLINE]


def test_the_first_of_two_approvals_is_named_and_the_card_stays_open():
    shown = card(samples.carded(needs_approvals=2, approved_by=(samples.PRIYA,)))
    assert f"1 of 2:* <@{samples.PRIYA}> approved" in text_of(shown)
    assert buttons(shown)


def test_a_card_for_two_leads_says_so_from_the_start():
    assert "Needs 2 leads" in text_of(card(samples.carded(needs_approvals=2)))


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (samples.APPROVED, f"*Approved* by <@{samples.PRIYA}> · <!date^1790000600^"),
        (CardOutcome(verdict="declined", by=samples.OMAR), f"*Declined* by <@{samples.OMAR}>"),
        (CardOutcome(verdict="expired"), "*Expired*, because nobody answered"),
        (CardOutcome(verdict="withdrawn"), "*Withdrawn*, no decision is needed any more"),
        (
            CardOutcome(verdict="refused", by=samples.PRIYA, detail="Already refunded."),
            f"*Approved* by <@{samples.PRIYA}>, but not carried out",
        ),
    ],
)
def test_a_decided_card_says_who_and_how_and_has_no_buttons(outcome: CardOutcome, words: str):
    shown = card(samples.carded(outcome=outcome))
    assert words in text_of(shown)
    assert words in shown.text
    assert outcome.detail in text_of(shown)
    assert not buttons(shown)


def test_the_leads_note_is_on_the_decided_card():
    assert "Fine." in text_of(card(samples.carded(outcome=samples.APPROVED)))


def test_a_card_that_nobody_can_decide_says_so_to_the_openers():
    shown = card(samples.APPROVAL, samples.NOBODY)
    assert "Nobody can decide this" in text_of(shown)
    assert {"type": "user", "user_id": samples.RAVI} in [
        element
        for block in shown.blocks
        if block["type"] == "rich_text"
        for part in block["elements"]
        for element in part["elements"]
    ]
    assert f"<@{samples.RAVI}>" in shown.text


def test_a_card_that_nobody_can_decide_prefers_the_handoff_mention():
    audience = replace(samples.LEADS_ELSEWHERE, approvers=())
    shown = card(samples.APPROVAL, audience)
    assert "S0LEADS001" in text_of(shown)
    assert samples.RAVI not in text_of(shown)


def test_records_that_do_not_fit_are_counted():
    facts = tuple(CardFact(label=f"Fact {number}", value="x") for number in range(1, 101))
    shown = text_of(card(samples.carded(facts=facts)))
    assert "Fact 30" in shown
    assert "Fact 31" not in shown
    assert "70 more records are not shown here." in shown


def test_the_latest_additions_are_shown():
    added = tuple(f"addition {number}" for number in range(1, 9))
    shown = text_of(card(samples.carded(added=added)))
    assert "addition 8" in shown
    assert "addition 1" not in shown
