"""What is due without anybody doing something: reminders, expiry, looking up what was unknown."""

from __future__ import annotations

from dataclasses import replace

from agent.case import Approval, ApprovalReminder, Line, Notice
from agent.claimed import Claimed
from agent.endings import LOOK_AGAIN_SECONDS, hand_off, settle, show_card, tell_decision
from agent.harness import Harness, request_of
from agent.run import Pending

NOBODY_ANSWERED = "Nobody answered."
# For an hour every two minutes, then hourly.
LOOKS_SOON = 30
LOOK_LATE_SECONDS = 3_600.0
READ_AGAIN_SECONDS = 30.0
"""When the thread of an expired pause can't be read."""
LOOK_FOR_POST_SECONDS = 5.0
"""When the reminder of an expired pause is not posted yet."""


async def apply_timers(h: Harness, c: Claimed) -> None:
    """A reminder, then expiry, when a pause lasts too long."""
    run = c.run
    if run is None or run.pending is None or run.waiting_since is None:
        return
    pending, now = run.pending, h.now()
    if now < h.waiting.pause_due_at(pending):
        return
    if pending.reminded_at is None:
        if pending.card is not None:
            post_id = c.say(ApprovalReminder(title=pending.card.title))
        else:
            reminder = Line(text="Still waiting for the customer's reply.", to=c.case.openers)
            post_id = c.say(reminder)
        c.update(pending=replace(pending, reminded_at=now, reminder_post=post_id))
        c.note("reminder", waits_for=pending.kind)
        return
    if pending.reminder_post is not None:
        # While Slack is away nobody reads it, and who can't read it has no time to answer.
        posted = await h.store.posted(c.case_id, pending.reminder_post)
        if posted is None:
            c.rest_until(now + LOOK_FOR_POST_SECONDS)
            return
        reminded_at = max(pending.reminded_at, float(posted.message_id or 0))
        pending = replace(pending, reminded_at=reminded_at, reminder_post=None)
        c.update(pending=pending)
        if now < h.waiting.pause_due_at(pending):
            return
    # An answer in time may be in the thread and not here yet: it wins, so look before closing.
    if not await h.read_thread(c.case_id):
        c.rest_until(now + READ_AGAIN_SECONDS)
        return
    if len(await c.inbox_now()) > 0:
        return
    await _expire(h, c, pending)


async def _expire(h: Harness, c: Claimed, pending: Pending) -> None:
    if pending.card is not None:
        card = await h.approvals().close(
            request_of(c.running, pending, token=c.token), "expired", at=h.now()
        )
        if card.outcome is not None and card.outcome.verdict != "expired":
            settle(c, pending, card)
            return
        shown = show_card(c, pending, card)
        tell_decision(c, shown)
        c.update(decided=replace(pending, card=shown), pending=None)
    c.answer(pending.call_id, NOBODY_ANSWERED, is_error=True)
    c.note("result", call_id=pending.call_id, tool=pending.tool, is_error=True)
    who = "customer" if pending.kind == "customer" else "support lead"
    await hand_off(h, c, f"Nobody answered in time: no {who} did.")


async def look_up_unsettled(h: Harness, c: Claimed) -> None:
    """What became of payments that nobody knew of at a handoff; staff read it when it is known."""
    now = h.now()
    due = [each for each in c.case.unsettled if each.look_at <= now] if c.known else []
    for each in due:
        found = await h.approvals().look_up(each.key, each.card, token=c.token)
        kept = tuple(one for one in c.case.unsettled if one.key != each.key)
        if found is None:
            wait = LOOK_AGAIN_SECONDS if each.looks < LOOKS_SOON else LOOK_LATE_SECONDS
            again = replace(each, looks=each.looks + 1, look_at=now + wait)
            c.amend(unsettled=(*kept, again))
            continue
        c.amend(unsettled=kept)
        if c.case.closed == "deleted":
            c.say(Notice(text=found.text, to=c.case.openers))
        else:
            c.say(Line(text=found.text, to=c.case.openers))
        if each.post_id is not None and found.card is not None:
            run_id = each.key.partition(":")[0]
            card = Approval(card=found.card, openers=c.case.openers, run_id=run_id)
            c.say(card, update_of=each.post_id)
        c.note("payment", key=each.key, text=found.text)
