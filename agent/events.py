"""What a reply, a decision, an edit, a click or a timer does to a case and its run.

Everything from outside comes through `apply`, oldest first, and nothing else changes a case on
behalf of somebody outside. Every click gets its answer here.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace

from agent import opening
from agent.case import (
    Addressed,
    Asked,
    Case,
    CustomerChosen,
    Decided,
    Deleted,
    Edited,
    Entry,
    Event,
    Feedback,
    GaveBack,
    Message,
    NotACase,
    Picker,
    TookOver,
    Words,
    WrongCustomer,
)
from agent.claimed import Claimed
from agent.decisions import decide
from agent.endings import hand_off, is_decided, remember, settle, show_card, start_run
from agent.harness import Harness, request_of
from agent.messages import reply_content
from agent.ports import StoredEvent
from agent.run import FINAL, Pending, Status
from agent.text import cut, plain_words
from agent.timers import apply_timers, look_up_unsettled

log = logging.getLogger(__name__)

NOTE_MARK = "//"

_KEPT_WORDS = 30
_KEPT_NOTES = 50
_KEPT_FEEDBACK = 20


async def apply(h: Harness, c: Claimed) -> None:
    """Take in all that is stored for the case and what is due."""
    # What the last save told is older than a turn that came after it.
    stored = await (c.inbox_now() if c.unsaved else c.inbox())
    if c.unsaved and (stored or c.case.unsettled):
        # A turn that was paid for: what comes now may fail.
        await c.save()
    if any(isinstance(each.event.fact, CustomerChosen) for each in stored):
        # One read of the thread at this moment fills the gaps that Slack's delivery left.
        await h.read_thread(c.case_id)
        stored = await c.inbox_now()
    for event, ids in _edits_folded_in(stored):
        if c.carrying_out:
            # What a lead approved is paid before anything else is looked at, a take-over too.
            break
        if c.unsaved and c.run is not None and c.run.status in FINAL:
            # A save holds one run, and this event may start another: the last one's end goes first.
            await c.save()
        await _apply_one(h, c, event)
        if c.carrying_out and isinstance(event.fact, TookOver | Deleted):
            # A decision that another worker made came first; this event waits for its payment.
            break
        c.done_with(*ids)
    await apply_timers(h, c)
    await look_up_unsettled(h, c)


async def _apply_one(h: Harness, c: Claimed, event: Event) -> None:
    if not c.known:
        c.open(Case(case_id=c.case_id, agent=h.agent.name, opened_at=float(event.ts)))
    match event.fact:
        case Message() as fact:
            await _message(h, c, event, fact)
        case Edited() as fact:
            await _edited(h, c, fact)
        case Deleted() as fact:
            await _deleted(h, c, fact)
        case CustomerChosen() as fact:
            await _customer_chosen(h, c, fact)
        case WrongCustomer() as fact:
            await _wrong_customer(h, c, fact)
        case NotACase() as fact:
            _not_a_case(c, fact)
        case Decided() as fact:
            await decide(h, c, event, fact)
        case TookOver() as fact:
            await _took_over(h, c, fact)
        case GaveBack() as fact:
            await _gave_back(h, c, fact)
        case Feedback() as fact:
            _feedback(c, fact)
        case Asked() as fact:
            opening.asked(c, fact, at=float(event.ts))
        case Addressed() as fact:
            opening.addressed(c, fact, at=float(event.ts))


# Words -----------------------------------------------------------------------------------------


async def _message(h: Harness, c: Claimed, event: Event, fact: Message) -> None:
    if fact.first:
        c.amend(author=fact.author, openers=_with(c.case.openers, fact.author))
    case = c.case
    if case.closed:
        return
    words = Words(
        message_id=fact.message_id,
        author=fact.author,
        text=plain_words(fact.text),
        photos=fact.photos,
    )
    if _is_note(words.text):
        c.amend(notes=(*case.notes, words)[-_KEPT_NOTES:])
        return
    if c.run is None or case.customer_id is None:
        c.amend(words=_kept(case.words, words))
        if case.status_post is None:
            c.amend(status_post=c.say(Picker(words=cut(words.text, 200))))
        return
    run = c.run
    if run.status is Status.HANDED_OFF:
        # A colleague has the case: the thread's words are theirs from then on, not the customer's.
        before = float(event.ts) < (run.ended_at or 0.0)
        remember(c, Entry(who="customer" if before else "staff", text=words.text))
        return
    if run.status is Status.DONE:
        c.amend(words=_kept(case.words, words))
        await start_run(h, c, [words])
        return
    if not run.proposed:
        c.amend(words=_kept(case.words, words))
    if words.text:
        remember(c, Entry(who="customer", text=words.text))
    c.update(photo_links=(*run.photo_links, *words.links))
    if run.status is Status.WAITING_CUSTOMER and run.pending is not None:
        asked = await h.store.posted(c.case_id, run.pending.post_id)
        unseen = asked is None or event.ts < asked.message_id
        _answer(c, run.pending, words, before_the_question=unseen)
        return
    await _hear(h, c, (*run.heard, words))


def _kept(words: tuple[Words, ...], newest: Words) -> tuple[Words, ...]:
    """The first ones say what the case is about, the latest how it stands."""
    kept = (*words, newest)
    return kept if len(kept) <= _KEPT_WORDS else (kept[0], *kept[1 - _KEPT_WORDS :])


def _is_note(text: str) -> bool:
    return text.startswith(NOTE_MARK)


async def _hear(h: Harness, c: Claimed, heard: tuple[Words, ...]) -> None:
    """Words for the model's next message; while a lead is asked, a new version of the card shows
    them."""
    run = c.running
    if heard == run.heard:
        return
    c.update(heard=heard)
    if run.status is Status.WAITING_APPROVAL and run.pending is not None:
        await _show_anew(h, c, run.pending)


def _answer(c: Claimed, pending: Pending, words: Words, *, before_the_question: bool) -> None:
    """The reply is the waited call's result."""
    c.answer(pending.call_id, reply_content([words], before_the_question=before_the_question))
    c.note("result", call_id=pending.call_id, tool=pending.tool, is_error=False)
    c.update(
        status=Status.RUNNING,
        pending=None,
        waiting_since=None,
        last_words=cut(words.text, 600),
    )


async def _show_anew(h: Harness, c: Claimed, pending: Pending) -> None:
    """What the customer wrote changed while a lead is asked: a new version of the card says so."""
    card = await h.approvals().show_anew(request_of(c.running, pending, token=c.token))
    if is_decided(card):
        settle(c, pending, card)
        return
    shown = show_card(c, pending, card)
    c.update(pending=replace(pending, card=shown))


def _edits_folded_in(stored: Iterable[StoredEvent]) -> list[tuple[Event, tuple[str, ...]]]:
    """The events with the ids each stands for: an edit or deletion of a message that is still in
    the inbox changes it there."""
    events: list[tuple[Event, tuple[str, ...]]] = []
    places: dict[str, int] = {}
    for each in stored:
        event, fact = each.event, each.event.fact
        if isinstance(fact, Message):
            places[fact.message_id] = len(events)
        elif isinstance(fact, Edited | Deleted) and fact.message_id in places:
            place = places[fact.message_id]
            before, ids = events[place]
            if isinstance(fact, Edited) and isinstance(before.fact, Message):
                changed = replace(before, fact=replace(before.fact, text=fact.text))
                events[place] = (changed, (*ids, event.event_id))
                continue
            if isinstance(fact, Deleted) and not fact.first:
                events[place] = (event, (*ids, event.event_id))
                continue
        events.append((event, (event.event_id,)))
    return events


async def _edited(h: Harness, c: Claimed, fact: Edited) -> None:
    text = plain_words(fact.text)

    def others(words: tuple[Words, ...]) -> tuple[Words, ...]:
        return tuple(each for each in words if each.message_id != fact.message_id)

    def changed(words: tuple[Words, ...]) -> tuple[Words, ...]:
        return tuple(
            replace(each, text=text) if each.message_id == fact.message_id else each
            for each in words
        )

    case, run = c.case, c.run
    if _is_note(text):
        # Somebody forgot the mark: what the model hasn't read yet, it won't.
        note = Words(message_id=fact.message_id, author="", text=text)
        c.amend(words=others(case.words), notes=(*others(case.notes), note)[-_KEPT_NOTES:])
        if run is not None:
            await _hear(h, c, others(run.heard))
        return
    c.amend(words=changed(case.words), notes=changed(case.notes))
    if run is None or run.status in FINAL:
        return
    unread = [each for each in run.heard if each.message_id == fact.message_id]
    # A correction that waits to be read has no author: a newer one takes its place.
    if unread and unread[0].author:
        await _hear(h, c, changed(run.heard))
    elif not any(each.message_id == fact.message_id for each in case.notes):
        correction = f"(a correction of an earlier message) {text}"
        words = Words(message_id=fact.message_id, author="", text=correction)
        await _hear(h, c, (*others(run.heard), words))


async def _deleted(h: Harness, c: Claimed, fact: Deleted) -> None:
    if not fact.first:
        kept = tuple(each for each in c.case.words if each.message_id != fact.message_id)
        c.amend(words=kept)
        if c.run is not None and c.run.status not in FINAL:
            heard = tuple(x for x in c.run.heard if x.message_id != fact.message_id)
            await _hear(h, c, heard)
        return
    if c.run is not None:
        reason = "The thread's first message was deleted."
        if not await hand_off(h, c, reason, to_customer=False, told="elsewhere"):
            return
    c.amend(closed="deleted")


# Whose case it is ------------------------------------------------------------------------------


async def _customer_chosen(h: Harness, c: Claimed, fact: CustomerChosen) -> None:
    case = c.case
    if case.closed:
        c.tell(fact.by, fact.place, "This thread is no case any more.")
        return
    if case.customer_id is not None:
        text = f"This case is {case.customer_name}'s already, chosen by {{person}}."
        c.tell(fact.by, fact.place, text, person=case.chosen_by)
        return
    name = await h.customers(fact.customer_id)
    if name is None:
        c.tell(fact.by, fact.place, "The shop has no such customer. Choose another.")
        return
    c.amend(
        customer_id=fact.customer_id,
        customer_name=name,
        chosen_by=fact.by,
        openers=_with(case.openers, fact.by),
    )
    await start_run(h, c, case.words)


async def _wrong_customer(h: Harness, c: Claimed, fact: WrongCustomer) -> None:
    run = c.run
    if run is None or run.status in FINAL or c.case.customer_id is None:
        c.tell(fact.by, fact.place, "There is no running work to mend here.")
        return
    if run.proposed:
        text = "A refund was already proposed for this customer. Take the case over instead."
        c.tell(fact.by, fact.place, text)
        return
    words = c.case.words
    reason = "The wrong customer was chosen."
    if not await hand_off(h, c, reason, to_customer=False, told="nowhere"):
        return
    c.amend(
        customer_id=None,
        customer_name="",
        chosen_by="",
        history=(),
        # The reaction goes with the old run; the status line becomes the picker again.
        shown=c.case.shown.partition("|")[0] + "|",
    )
    c.say(Picker(words=cut(words[0].text if words else "", 200)), update_of=c.case.status_post)


def _not_a_case(c: Claimed, fact: NotACase) -> None:
    if c.case.customer_id is not None:
        text = f"This is {c.case.customer_name}'s case already; take it over instead."
        c.tell(fact.by, fact.place, text)
    else:
        c.amend(closed="not_a_case", chosen_by=fact.by, words=())


# Taking over and giving back -------------------------------------------------------------------


async def _took_over(h: Harness, c: Claimed, fact: TookOver) -> None:
    if c.run is None or c.run.status in FINAL:
        c.tell(fact.by, fact.place, "There is no running work to take over here.")
        return
    await hand_off(h, c, "A colleague took the case over.")


async def _gave_back(h: Harness, c: Claimed, fact: GaveBack) -> None:
    run = c.run
    if run is None or run.status is not Status.HANDED_OFF or c.case.customer_id is None:
        c.tell(fact.by, fact.place, "The agent has this case already, or it has no customer.")
        return
    if c.case.closed:
        c.tell(fact.by, fact.place, "The thread's first message is gone; open a new case.")
        return
    c.amend(words=())
    await start_run(h, c, [], given_back=True)


def _feedback(c: Claimed, fact: Feedback) -> None:
    told = f"{fact.run_id} {'good' if fact.good else 'bad'} {fact.by}"
    if told not in c.case.feedback:
        c.amend(feedback=(*c.case.feedback, told)[-_KEPT_FEEDBACK:])
    c.tell(fact.by, fact.place, "Thank you, that is kept with the case.")


def _with(openers: tuple[str, ...], user: str) -> tuple[str, ...]:
    return openers if user in openers else (*openers, user)
