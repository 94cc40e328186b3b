"""How a run starts and how it ends: with a reply, or in the hands of a person."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from agent import telemetry
from agent.approval import Card
from agent.case import Approval, DecisionLine, Entry, Handoff, Notice, Reply, Unsettled, Words
from agent.claimed import Claimed
from agent.harness import Harness, request_of
from agent.messages import harness_block, user, words_blocks
from agent.run import FINAL, Pending, Run, Status
from agent.text import cut

COLLEAGUE = "I've passed your request to a colleague, who will reply within a few hours."
UNCONFIRMED = "A payment of it is not confirmed; what became of it will be told here."

LOOK_AGAIN_SECONDS = 120.0
_HISTORY_ENTRIES = 20
_HISTORY_CHARACTERS = 500
_QUOTED_CHARACTERS = 600
_WHO = {
    "customer": "The customer wrote",
    "reply": "You replied",
    "record": "From our records",
    "staff": "A colleague wrote in the thread",
}


async def start_run(
    h: Harness, c: Claimed, words: Sequence[Words], *, given_back: bool = False
) -> None:
    """A new run with new counters and today's prompt, which knows the case's history."""
    case = c.case
    if case.customer_id is None:
        raise RuntimeError(f"case {case.case_id} has no customer")
    # A new choice of customer gets nothing of the old run: the history went with it.
    blocks = [harness_block(_summary(case.history))] if case.history else []
    if given_back:
        blocks.append(harness_block("A colleague gave the case back to you. Go on with it."))
    blocks += words_blocks(words)
    if not blocks:
        blocks = [harness_block("The thread holds no words of the customer yet.")]
    said = "\n".join(each.text for each in words)
    now = h.now()
    await h.store.freeze(h.agent.digest, h.agent.frozen)
    c.start(
        Run(
            run_id=_run_id(case.case_id, len(case.run_ids) + 1),
            case_id=case.case_id,
            customer_id=case.customer_id,
            agent=h.agent.name,
            model=h.agent.model,
            frozen=h.agent.digest,
            status=Status.RUNNING,
            opened_at=now,
            proposed=c.run is not None and c.run.proposed,
            first_words=cut(said, _QUOTED_CHARACTERS),
            photo_links=tuple(link for each in words for link in each.links),
        ),
        [user(*blocks)],
    )
    c.note("start", customer_id=case.customer_id, run_number=len(c.case.run_ids))
    remember(c, *(Entry(who="customer", text=each.text) for each in words if each.text))


def finish(c: Claimed, text: str, *, at: float) -> None:
    """The run is done: its reply goes to the thread."""
    run = c.running
    c.update(status=Status.DONE, reply=text, ended_at=at, waiting_since=None)
    c.say(Reply(text=text, run_id=run.run_id))
    c.note("end", status="done")
    remember(c, Entry(who="reply", text=text))


async def hand_off(
    h: Harness,
    c: Claimed,
    reason: str,
    *,
    to_customer: bool = True,
    told: Literal["in_thread", "elsewhere", "nowhere"] = "in_thread",
    reply: str | None = None,
) -> bool:
    """The run ends in the hands of a person, who is told; an open card is closed.

    `to_customer` False: no words for the customer are posted. `reply`: the agent's own words are
    posted for the customer instead of ours. `told` is where staff read it: elsewhere when the
    thread is gone, nowhere when who did it sees it anyway. What was paid in this run is always
    told. False when a lead's decision came first: the run goes on with that, and has not ended.
    """
    run = c.running
    if run.status in FINAL:
        return True
    pending = run.pending
    if pending is not None and pending.card is not None and not await _withdraw(h, c, pending):
        return False
    run = c.running
    if run.later_since is not None and run.started is not None:
        watch(c, run.started, now=h.now())
        c.update(receipts=(*run.receipts, run.later_receipt))
        run = c.running
    if any(each.key.startswith(f"{run.run_id}:") for each in c.case.unsettled):
        reason = f"{reason} {UNCONFIRMED}"
    text = ""
    if reply is not None:
        c.say(Reply(text=reply, run_id=run.run_id))
        remember(c, Entry(who="reply", text=reply))
        text = "\n\n".join(run.receipts)
    elif to_customer:
        text = "\n\n".join([*run.receipts, COLLEAGUE])
        remember(c, Entry(who="reply", text=text))
    c.update(
        status=Status.HANDED_OFF,
        pending=None,
        reason=reason,
        reply=reply,
        retry_at=None,
        waiting_since=None,
        ended_at=h.now(),
    )
    if told == "in_thread":
        c.say(Handoff(text=text, reason=reason, run_id=run.run_id, openers=c.case.openers))
    elif told == "elsewhere":
        words = " ".join([reason, *run.receipts])
        c.say(Notice(text=f"{run.run_id}: {words}", to=c.case.openers))
    c.note("end", status="handed_off", reason=reason)
    telemetry.count("casethread.runs.handed_off", agent=run.agent)
    return True


async def give_up(h: Harness, c: Claimed) -> None:
    """The work on this case fails again and again by our fault: a person gets it, and is told."""
    if c.run is None or c.run.status in FINAL:
        return
    if c.carrying_out and c.run.started is not None and h.agent.approvals is not None:
        # It may be paid by now, or be paid by a worker that was thought dead.
        watch(c, c.run.started, now=h.now())
    if await hand_off(h, c, "Working on this case keeps failing; operators find why in the log."):
        await c.save()


def watch(c: Claimed, call_id: str, *, now: float) -> None:
    """Look this call's outcome up until it is known, for staff."""
    run = c.running
    asked = run.decided if run.decided is not None and run.decided.call_id == call_id else None
    unsettled = Unsettled(
        key=f"{run.run_id}:{call_id}",
        look_at=now + LOOK_AGAIN_SECONDS,
        post_id=asked.post_id if asked is not None else None,
        card=asked.card if asked is not None else None,
    )
    c.amend(unsettled=(*c.case.unsettled, unsettled))


async def _withdraw(h: Harness, c: Claimed, pending: Pending) -> bool:
    """Close the open card. False when a lead's decision was there first: that comes first now."""
    card = await h.approvals().close(
        request_of(c.running, pending, token=c.token), "withdrawn", at=h.now()
    )
    if is_decided(card):
        settle(c, pending, card)
        return False
    show_card(c, pending, card)
    c.note("decision", verdict="withdrawn", key=card.key)
    return True


def is_decided(card: Card) -> bool:
    """By a lead. The other verdicts close a card on behalf of an event or a timer."""
    verdict = card.outcome.verdict if card.outcome is not None else None
    return verdict in ("approved", "declined", "refused")


def settle(c: Claimed, pending: Pending, card: Card) -> None:
    """The card is decided: show it, say it, and let the waited call be carried out."""
    shown = show_card(c, pending, card)
    c.update(
        status=Status.RUNNING,
        pending=None,
        waiting_since=None,
        decided=replace(pending, card=shown),
        started=pending.call_id,
    )
    tell_decision(c, shown)
    if (outcome := shown.outcome) is not None:
        c.note(
            "decision",
            verdict=outcome.verdict,
            by=outcome.by,
            key=shown.key,
            amount_paise=shown.amount_paise,
            note=outcome.note,
        )


def show_card(c: Claimed, pending: Pending, card: Card) -> Card:
    """Bring the message of a card up to date; returns the card as shown."""
    shown = dressed(c.running, card)
    content = Approval(card=shown, openers=c.case.openers, run_id=c.running.run_id)
    c.say(content, update_of=pending.post_id)
    return shown


def tell_decision(c: Claimed, card: Card) -> None:
    """The one line in the thread about a decided card."""
    if (outcome := card.outcome) is None:
        return
    c.say(
        DecisionLine(
            verdict=outcome.verdict, title=card.title, by=outcome.by, detail=outcome.detail
        )
    )
    told = f"{card.title}: {outcome.verdict}"
    remember(c, Entry(who="record", text=f"{told} ({outcome.note})" if outcome.note else told))


def dressed(run: Run, card: Card) -> Card:
    """A card with the customer's words, which the tool that asks does not know."""
    return replace(
        card,
        first_words=run.first_words,
        last_words=run.last_words,
        added=tuple(each.text for each in run.heard if each.text),
        photos=run.photo_links,
    )


def remember(c: Claimed, *entries: Entry) -> None:
    """Add to the case's history, which stays bounded in entries and in characters."""
    told = [Entry(who=each.who, text=cut(each.text, _HISTORY_CHARACTERS)) for each in entries]
    c.amend(history=(*c.case.history, *told)[-_HISTORY_ENTRIES:])


def _summary(history: Sequence[Entry]) -> str:
    # One line each: a line break in somebody's words could pass for an entry of another's.
    lines = [f"- {_WHO[each.who]}: {' '.join(each.text.split())}" for each in history]
    return "Earlier in this case, oldest first:\n" + "\n".join(lines)


def _run_id(case_id: str, number: int) -> str:
    """The same for the same run of the same case: 60 bits are plenty for one installation."""
    digest = hashlib.sha256(f"{case_id}#{number}".encode()).digest()
    return "run_" + base64.b32encode(digest).decode().lower()[:12]
