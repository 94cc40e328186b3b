"""What a lead's click does: checks who clicks on what, decides once, and answers every click."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from agent.approval import Answer, Card, LeadDecision
from agent.case import Decided, Event, Message
from agent.claimed import Claimed
from agent.endings import dressed, is_decided, settle, show_card
from agent.harness import Harness, request_of
from agent.run import Pending, Status
from agent.text import cut


class _Private(Protocol):
    """An answer to one click: its text, and whom it names."""

    def __call__(self, text: str, person: str = "") -> None: ...


async def settle_decided(h: Harness, c: Claimed) -> None:
    """A row that a lead decided comes before any other event.

    One that was closed without being saved here waits for what closed it: that comes again.
    """
    run = c.run
    if run is None or run.status is not Status.WAITING_APPROVAL or run.pending is None:
        return
    card = await h.approvals().current(request_of(run, run.pending, token=c.token))
    if is_decided(card):
        settle(c, run.pending, card)


async def decide(h: Harness, c: Claimed, event: Event, fact: Decided) -> None:
    def private(text: str, person: str = "") -> None:
        typed = f' Your note was: "{cut(fact.note, 500)}"' if fact.note else ""
        c.tell(fact.by, fact.place, text + typed, person=person)

    run = c.run
    pending = run.pending if run is not None else None
    if run is None or pending is None or pending.card is None or pending.card.key != fact.key:
        _answer_late(c, event, fact, private)
        return
    if (fact.version, fact.digest) != (pending.card.version, pending.card.digest):
        private("This card has changed since you looked. Look at it again and decide there.")
        return
    if fact.by in c.case.openers and h.four_eyes:
        private("You opened this case, so another lead has to decide.")
        return
    if h.four_eyes and c.case.author is None and not await _openers_are_known(h, c):
        private("I can't check just now who opened this case. Nothing was decided; try again soon.")
        return
    asked = {user: await h.approvers(user) for user in {fact.by, *pending.card.approved_by}}
    if asked[fact.by] == "stranger":
        private("Only support leads who are named as approvers can decide this.")
        return
    if "unknown" in asked.values():
        private("I can't check just now who may approve. Nothing was decided; try again soon.")
        return
    decision = LeadDecision(
        decision_id=event.event_id,
        version=fact.version,
        digest=fact.digest,
        verdict=fact.verdict,
        by=fact.by,
        at=float(event.ts),
        note=fact.note,
        amount_paise=fact.amount_paise,
        approvers_now=frozenset(user for user, status in asked.items() if status == "approver"),
    )
    answer = await h.approvals().decide(request_of(run, pending, token=c.token), decision)
    _answer_decision(c, pending, answer, private)


async def _openers_are_known(h: Harness, c: Claimed) -> bool:
    """A case whose first message never arrived looks for it: its author may not decide. A thread
    that no person began has none."""
    if not await h.read_thread(c.case_id):
        return False
    facts = [each.event.fact for each in await c.inbox_now()]
    return not any(isinstance(fact, Message) and fact.first for fact in facts)


def _answer_decision(c: Claimed, pending: Pending, answer: Answer, private: _Private) -> None:
    match answer.result:
        case "decided":
            settle(c, pending, answer.card)
        case "first_of_two":
            shown = _show_open(c, pending, answer.card)
            c.note("decision", verdict="first_of_two", by=shown.approved_by[-1], key=shown.key)
        case "already_decided":
            _tell_closed(answer.card, private)
            if is_decided(answer.card):
                settle(c, pending, answer.card)
        case "already_approved":
            private("Your approval is kept. A second lead has to approve as well.")
            _show_open(c, pending, answer.card)
        case "not_smaller":
            private("The amount has to be more than zero and less than the one asked for.")
        case _:
            private("This card has changed since you looked. Look at it again and decide there.")
            _show_open(c, pending, answer.card)


def _show_open(c: Claimed, pending: Pending, card: Card) -> Card:
    """The card as its row has it, in the thread and in the record: the row may be ahead of both
    when a worker died between the two."""
    shown = dressed(c.running, card)
    if shown != pending.card:
        show_card(c, pending, card)
        c.update(pending=replace(pending, card=shown))
    return shown


def _answer_late(c: Claimed, event: Event, fact: Decided, private: _Private) -> None:
    """A click on a card that is not open any more, or that this case never had."""
    decided = c.run.decided if c.run is not None else None
    card = decided.card if decided is not None else None
    if card is None or card.key != fact.key:
        _tell_closed(None, private)
    elif card.outcome is None or (card.outcome.by, card.outcome.at) != (fact.by, float(event.ts)):
        # Else it is the deciding click itself, whose row was written and whose save was not.
        _tell_closed(card, private)


def _tell_closed(card: Card | None, private: _Private) -> None:
    outcome = card.outcome if card is not None else None
    if outcome is None or outcome.by is None:
        private("This request is closed; nothing was decided by your click.")
    else:
        private(f"This was already {outcome.verdict} by {{person}}.", outcome.by)
