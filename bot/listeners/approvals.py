"""Deciding on a card: Approve, Decline, Change amount, and the two modals.

An Approve click is stored as it is; the harness answers it. A modal would only waste a lead's time
where the decision can't count, so that is looked at before it opens and again when it comes back.
What is said here is a courtesy: the decision itself is checked where it is applied.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from agent.approval import Card, CardOutcome, Verdict
from agent.case import Decided, Event, ts_of
from agent.ports import Record
from agent.refunds.money import parse_rupees, rupees
from bot.actions import (
    AMOUNT_BLOCK,
    NOTE_BLOCK,
    CardRef,
)
from bot.cards.modals import change_amount_modal, decline_modal
from bot.listeners.desk import FrontDesk
from bot.listeners.payloads import Click, Submission

UNKNOWN_CARD = "I don't know this card any more, so it decides nothing."
STALE_CARD = "The card has changed since. Look at it again, and decide there."
COPY = "This is only a copy of the card, so it decides nothing. Please decide on the card itself."
STALE_MODAL = (
    "The customer added something since. Close this, look at the card again, and decide there."
    " Your note is kept here for copying."
)
OPENER = "You opened this case, so another lead has to decide."
STRANGER = "Only support leads can decide on this."
CANT_CHECK = "I can't check just now whether you may decide. Please try again in a moment."
NOTE_KEPT = "Your note is kept here for copying."
WRONG_AMOUNT = "Write rupees with at most two decimals, like 1499.50."


async def approve(desk: FrontDesk, click: Click) -> str | None:
    ref = _ref(click.value)
    if refusal := await desk.objection_to(click.by):
        return refusal
    if ref is None or await desk.store.case(ref.case_id) is None:
        return UNKNOWN_CARD
    if await _is_copy(desk, ref, click):
        return COPY
    fact = _decided(ref, "approve", by=click.by, place=str(click.place))
    await desk.deliver_click(ref.case_id, click, fact)
    return None


async def ask_for_note(desk: FrontDesk, click: Click) -> str | None:
    ref = _ref(click.value)
    card = await _decidable(desk, ref, click.by, stale=STALE_CARD)
    if ref is None or isinstance(card, str):
        return str(card)
    if await _is_copy(desk, ref, click):
        return COPY
    return await desk.open_modal(click, decline_modal(_carried_on(ref, click), card.title))


async def ask_for_amount(desk: FrontDesk, click: Click) -> str | None:
    ref = _ref(click.value)
    card = await _decidable(desk, ref, click.by, stale=STALE_CARD)
    if ref is None or isinstance(card, str):
        return str(card)
    if card.amount_paise is None:
        return STALE_CARD
    if await _is_copy(desk, ref, click):
        return COPY
    view = change_amount_modal(_carried_on(ref, click), card.title, card.amount_paise)
    return await desk.open_modal(click, view)


async def declined(desk: FrontDesk, submission: Submission) -> Mapping[str, str]:
    ref = _ref(submission.view.private_metadata)
    card = await _decidable(desk, ref, submission.by, stale=STALE_MODAL)
    if ref is None or isinstance(card, str):
        return {NOTE_BLOCK: _keeping_the_note(str(card))}
    await _deliver(desk, ref, submission, "decline")
    return {}


async def amount_changed(desk: FrontDesk, submission: Submission) -> Mapping[str, str]:
    ref = _ref(submission.view.private_metadata)
    card = await _decidable(desk, ref, submission.by, stale=STALE_MODAL)
    if ref is None or isinstance(card, str):
        return {NOTE_BLOCK: _keeping_the_note(str(card))}
    try:
        amount_paise = parse_rupees(submission.typed(AMOUNT_BLOCK))
    except ValueError:
        return {AMOUNT_BLOCK: WRONG_AMOUNT}
    if card.amount_paise is None or amount_paise >= card.amount_paise:
        asked = rupees(card.amount_paise or 0)
        return {AMOUNT_BLOCK: f"Write less than the {asked} asked for, or press Approve instead."}
    await _deliver(desk, ref, submission, "approve", amount_paise=amount_paise)
    return {}


# May it count? ----------------------------------------------------------------------------------


async def _decidable(desk: FrontDesk, ref: CardRef | None, user: str, *, stale: str) -> Card | str:
    """The card as it stands when this person's decision on it can count, or why it can't."""
    if refusal := await desk.objection_to(user):
        return refusal
    record = await desk.store.case(ref.case_id) if ref else None
    if ref is None or record is None:
        return UNKNOWN_CARD
    card = _card(record, ref.key)
    if card is None:
        return UNKNOWN_CARD
    if card.outcome:
        return await _ended(desk, card.outcome, user)
    if (card.version, card.digest) != (ref.version, ref.digest):
        return stale
    if desk.settings.four_eyes and record.case and user in record.case.openers:
        return OPENER
    return await _not_a_lead(desk, user) or card


async def _is_copy(desk: FrontDesk, ref: CardRef, click: Click) -> bool:
    """Whether the card is known to stand elsewhere. Where it isn't known yet, this is the card."""
    posted = await desk.store.posted(ref.case_id, ref.post_id)
    known = posted.message_id if posted else ""
    return known not in ("", click.container.message_ts)


def _card(record: Record, key: str) -> Card | None:
    """The latest run's open card, or the one decided last."""
    asked = (record.run.pending, record.run.decided) if record.run else ()
    cards = (each.card for each in asked if each)
    return next((card for card in cards if card and card.key == key), None)


async def _not_a_lead(desk: FrontDesk, user: str) -> str | None:
    known = await desk.standing_as_lead(user)
    return {"approver": None, "stranger": STRANGER, "unknown": CANT_CHECK}[known]


async def _ended(desk: FrontDesk, outcome: CardOutcome, user: str) -> str:
    """Who decided. By name, because a modal's errors show no mentions."""
    if outcome.verdict == "expired":
        return "This request has expired: nobody answered in time."
    if outcome.verdict == "withdrawn":
        return "This request was withdrawn: a colleague has the case."
    if outcome.by is None:
        who = "Somebody"
    elif outcome.by == user:
        who = "You"
    else:
        who = await desk.people.name(outcome.by) or "Another lead"
    if outcome.verdict == "refused":
        return f"{who} approved this already, but it could no longer be paid."
    return f"{who} {outcome.verdict} this already."


def _keeping_the_note(text: str) -> str:
    return text if text.endswith(NOTE_KEPT) else f"{text} {NOTE_KEPT}"


# The way there ----------------------------------------------------------------------------------


def _ref(value: str) -> CardRef | None:
    try:
        return CardRef.model_validate_json(value)
    except ValidationError:
        return None


def _carried_on(ref: CardRef, click: Click) -> CardRef:
    return ref.model_copy(update={"place": str(click.place)})


def _decided(
    ref: CardRef,
    verdict: Verdict,
    *,
    by: str,
    place: str,
    note: str = "",
    amount: int | None = None,
) -> Decided:
    return Decided(
        key=ref.key,
        version=ref.version,
        digest=ref.digest,
        verdict=verdict,
        by=by,
        place=place,
        note=note,
        amount_paise=amount,
    )


async def _deliver(
    desk: FrontDesk,
    ref: CardRef,
    submission: Submission,
    verdict: Verdict,
    *,
    amount_paise: int | None = None,
) -> None:
    fact = _decided(
        ref,
        verdict,
        by=submission.by,
        place=ref.place,
        note=submission.typed(NOTE_BLOCK),
        amount=amount_paise,
    )
    # A modal carries no time of its own; it counts when it comes in.
    event = Event(event_id=f"view:{submission.view.id}", ts=ts_of(desk.now()), fact=fact)
    await desk.deliver(ref.case_id, event)
