"""What follows on a proposal's result, and on money that went back before."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from bot.local.claude.clerk import phrases
from bot.local.claude.clerk.conversation import Made, Passage
from bot.local.claude.clerk.phrases import question, rupees
from bot.local.claude.clerk.steps import (
    Ask,
    Case,
    Do,
    Pass,
    Settled,
    Step,
    amounts_in,
    answers,
    as_number,
    asked,
    issued,
    named,
    policy,
)
from bot.local.claude.clerk.words import names_item

_NOTE = re.compile(r'Their note: "(.*)"\. Nothing was paid', re.DOTALL)
_WANTS_PHOTO = re.compile(r"\b(?:ask|need|send|want|get)\b.{0,40}\b(?:photo|picture|pic)\b", re.I)
_PERCENT = re.compile(r"\b(\d{1,2})\s?%")
_MOST_PROPOSALS = 3


def after_proposal(case: Case) -> Step:
    """The last proposal's result decides."""
    last = case.proposals[-1]
    if told := issued(last):
        return _issued(case, last, told)
    text = last.text.lower()
    if not last.is_error and "declined" in text:
        return _declined(case, last)
    if last.is_error and "more than is refundable" in text:
        return _what_is_left(case, last)
    if last.is_error and "nothing is refundable" in text:
        return already_refunded(case)
    return Pass(why=f"The refund on order {case.order.order_id} can't be made: {last.text}")


def already_refunded(case: Case) -> Step:
    """Nothing is left to give back, or the customer asks where earlier money is."""
    order = case.order
    cancelled = order.status == "cancelled"
    found = policy(case.conversation, "cancelled" if cancelled else "times")
    if isinstance(found, Do):
        return found
    if order.refunded <= 0:
        return Pass(why=f"Order {order.order_id} has nothing to refund, and nothing was refunded.")
    parts = [
        f"Your order {order.order_id} was cancelled, and" if cancelled else "Our records show that",
        f"{rupees(order.refunded)} of order {order.order_id} went back to you already"
        if not cancelled
        else f"{rupees(order.refunded)} went back to you by itself",
    ]
    text = " ".join(parts) + f", the way you paid ({order.payment_method})."
    if order.refundable <= 0:
        text += " So nothing is left to refund."
    if how_long := _how_long(found, order.payment_method):
        text += f" It can take {how_long} to arrive."
    return Settled(text=text, why=f"{rupees(order.refunded)} was refunded before.")


def _issued(case: Case, made: Made, told: dict[str, Any]) -> Step:
    amount = Decimal(str(told.get("amount_rupees")))
    reference = str(told.get("reference"))
    items = _proposed_items(case, made)
    if case.is_cash:
        wish = answers(case.conversation, "payout") or "nothing"
        return Pass(
            why=f"{rupees(amount)} for order {case.order.order_id} was issued (reference"
            f" {reference}). It was paid in cash: collect {case.name or 'the customer'}'s bank or"
            f" UPI details on the secure page. Asked which, they said: “{wish}”."
        )
    way = case.order.payment_method
    text = phrases.issued(
        amount,
        items,
        reference,
        str(told.get("arrives_in")),
        case.language,
        way=f"{way} account" if way.lower() == "upi" else way,
    )
    if told.get("changed_by_a_lead"):
        text += f" That is what could be approved of the {rupees(_asked_for(told))} asked for."
    if made.input.get("reason") in ("changed_mind", "wrong_item"):
        text += f" {phrases.keep_unused(items, case.language)}"
    return Settled(text=text, why=f"Issued, reference {reference}.")


def _asked_for(told: dict[str, Any]) -> Decimal:
    return Decimal(str(told.get("asked_for_rupees", 0)))


def _declined(case: Case, last: Made) -> Step:
    """Read the note: it may offer a smaller amount, or ask for a photo."""
    found = _NOTE.search(last.text)
    note = " ".join(found[1].split()) if found else ""
    asked_for = Decimal(str(last.input.get("amount_rupees")))
    if (offer := _offer(note, asked_for)) and len(case.proposals) < _MOST_PROPOSALS:
        return _propose_again(case, last, offer, f"As in the lead's note: {note}")
    if _WANTS_PHOTO.search(note):
        made = case.conversation.made
        if any(each in asked(case.conversation, "photo") for each in made[made.index(last) :]):
            return Pass(why=f"A lead declined: “{note}” The customer has answered to that since.")
        shown = phrases.shown_by_photo(str(last.input.get("reason")), case.language)
        items = _proposed_items(case, last)
        text = question("photo", case.language, items=items, shown=shown)
        return Ask(text=text, why="The lead's note asks for a photo.")
    words = f" This is what they wrote: “{note.rstrip('.')}”." if note else ""
    return Settled(
        text=f"I asked our support lead about {rupees(asked_for)} for order"
        f" {case.order.order_id}, and it was not approved, so nothing was paid.{words} I'm sorry"
        " that I have no better news.",
        why="A lead declined; nothing was paid.",
    )


def _offer(note: str, asked_for: Decimal) -> Decimal | None:
    """A smaller amount that the note names, or a percentage of what was asked for."""
    smaller = [amount for amount in amounts_in(note) if 0 < amount < asked_for]
    if smaller:
        return smaller[-1]
    if (percent := _PERCENT.search(note)) and int(percent[1]):
        return (asked_for * int(percent[1]) / 100).quantize(Decimal("0.01"))
    return None


def _what_is_left(case: Case, last: Made) -> Step:
    left = [amount for amount in amounts_in(last.text) if amount > 0]
    if not left or len(case.proposals) >= _MOST_PROPOSALS:
        return Pass(why=f"The refund on order {case.order.order_id} can't be made: {last.text}")
    return _propose_again(case, last, left[-1], f"Only {rupees(left[-1])} is left on this order.")


def _propose_again(case: Case, last: Made, amount: Decimal, why: str) -> Step:
    return Do(
        name="propose_refund",
        input={
            "order_id": case.order.order_id,
            "amount_rupees": as_number(amount),
            "reason": last.input.get("reason"),
            "explanation": f"{why} Before: {last.input.get('explanation')}"[:900],
        },
        why=why,
    )


def _proposed_items(case: Case, made: Made) -> str:
    items = list(case.order.items)
    own = [item for item in items if names_item(str(made.input.get("explanation")), item.name)]
    return named(own or items)


def _how_long(found: Passage | None, method: str) -> str | None:
    """The time that the policy gives for this way of paying."""
    for line in found.text.splitlines() if found else []:
        days = re.search(r"(\d+\s?[–-]\s?\d+ (?:business )?days)", line)
        if days and method.lower() in line.lower():
            return days[1]
    return None
