"""The calls of a step: reads side by side, then effects one by one, each answered exactly once.

All results go back in one user message, in the order of the calls, before any other words.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

from agent import telemetry
from agent.case import Approval, Entry, Line, Question
from agent.claimed import Claimed
from agent.endings import dressed, hand_off, remember, show_card, watch
from agent.errors import InboxChanged
from agent.harness import Harness, request_of
from agent.messages import calls_of, earlier_results, reply_content, tool_result, words_blocks
from agent.run import Json, Pending, Status
from agent.tools import Called, Context, Kind, Pause, call_tool

ONE_AT_A_TIME = "One question or refund at a time; try again after the first is answered."
NOT_CONFIRMED = (
    "Not done: what became of an earlier one in this case is not known yet. Pass the case on."
)
CASE_PASSED_ON = "Not done: the case was passed to a colleague."


async def answer_calls(h: Harness, c: Claimed) -> None:
    """Go on with the last turn's calls until all have a result, or one needs somebody.

    What has a result is never run again. Returns early when an event has to be looked at first.
    """
    c.update(nudges=0)
    await _answer_reads(h, c)
    for call in c.open_calls():
        if _would_repeat(h, c, call):
            c.answer(call["id"], NOT_CONFIRMED, is_error=True)
            c.note("result", call_id=call["id"], tool=call["name"], is_error=True)
            continue
        # Started before this worker came: what became of it, only its own records know.
        resumed = c.running.started == call["id"]
        if not await _may_start(h, c, call):
            return
        if resumed:
            # Who has lost the case meanwhile finds out before anything is done outside.
            await c.save()
        stopped = resumed and await c.has_stop_sign(anew=False)
        called = await _timed_call(h, c, call, stopped=stopped)
        if called.pause is not None and not _answered_already(c, call, called.pause):
            await _pause(h, c, call, called.pause)
            return
        if called.later is not None:
            _park(h, c, called)
            await _follow_card(h, c, call)
            await c.save()
            return
        if called.text is not None:
            await _take_result(h, c, call, called)
        if called.hand_off is not None:
            if called.hand_off.unsettled:
                watch(c, call["id"], now=h.now())
            await _pass_on(h, c, called.hand_off.reason)
            return
        if c.open_calls():
            await c.save()
    _send_results(c)
    await c.save()


def reject_calls(c: Claimed, text: str) -> list[Json]:
    """An error result for each call of the last turn: none of them is executed."""
    calls = calls_of(c.messages[-1])
    for call in calls:
        c.note("result", call_id=call["id"], tool=call["name"], is_error=True)
    return [tool_result(call["id"], text, is_error=True) for call in calls]


async def _answer_reads(h: Harness, c: Claimed) -> None:
    """Run the calls that change nothing side by side; an effect's start keeps their results.

    One that needs a person or time after all is left open, for its turn among the others.
    """
    reads = [call for call in c.open_calls() if _kind(h, call) == "reads"]
    if not reads:
        return
    # They may take long, and the turn was paid for.
    await c.save()
    started = time.monotonic()
    done = await asyncio.gather(*(_call(h, c, call) for call in reads))
    for call, called in zip(reads, done, strict=True):
        if called.text is not None and called.hand_off is None:
            await _take_result(h, c, call, called)
    _worked(c, time.monotonic() - started)


def _would_repeat(h: Harness, c: Claimed, call: Json) -> bool:
    """Whether this effect may be one that was carried out already, and nobody knows.

    A model that was told of a failure tries again, under a new key that nothing stops.
    """
    unknown = c.case.unsettled and c.running.started != call["id"]
    return bool(unknown) and _kind(h, call) == "effect"


async def _may_start(h: Harness, c: Claimed, call: Json) -> bool:
    """Put down that this effect is under way, unless an event arrived that may forbid it."""
    run = c.running
    if _kind(h, call) != "effect" or run.started == call["id"]:
        return True
    before = c.snapshot()
    # From the first proposal on the customer can't be exchanged, so the words are not needed.
    c.update(started=call["id"], proposed=True)
    c.amend(words=())
    try:
        await c.save(guarded=True)
    except InboxChanged:
        c.restore(before)
        return False
    return True


async def _timed_call(h: Harness, c: Claimed, call: Json, *, stopped: bool) -> Called:
    started = time.monotonic()
    called = await _call(h, c, call, stopped=stopped)
    _worked(c, time.monotonic() - started)
    return called


async def _call(h: Harness, c: Claimed, call: Json, *, stopped: bool = False) -> Called:
    with telemetry.tracer().start_as_current_span(
        "casethread.tool",
        attributes={"gen_ai.tool.name": call["name"], "gen_ai.tool.call.id": call["id"]},
    ) as span:
        context = _context(h, c, call, stopped=stopped)
        called = await call_tool(h.agent.tool_table, call["name"], context, call["input"])
        span.set_attribute("casethread.tool.is_error", called.is_error)
    return called


def _context(h: Harness, c: Claimed, call: Json, *, stopped: bool = False) -> Context:
    run = c.running
    return Context(
        customer_id=run.customer_id,
        customer_name=c.case.customer_name,
        agent=run.agent,
        run_id=run.run_id,
        call_id=call["id"],
        tool=call["name"],
        arguments=call["input"],
        now=h.now(),
        stopped=stopped,
        earlier=earlier_results(c.messages),
    )


async def _take_result(h: Harness, c: Claimed, call: Json, called: Called) -> None:
    c.answer(call["id"], called.text or "", is_error=called.is_error)
    c.note("result", call_id=call["id"], tool=call["name"], is_error=called.is_error)
    run = c.running
    if called.crashed and _kind(h, call) == "effect" and h.agent.approvals is not None:
        # What it did before it failed is not known.
        watch(c, call["id"], now=h.now())
        if run.later_since is not None:
            c.update(receipts=(*run.receipts, run.later_receipt))
            run = c.running
    c.update(
        crashed=run.crashed or called.crashed,
        retry_at=None,
        later_since=None,
    )
    if called.receipt is not None:
        c.update(receipts=(*run.receipts, called.receipt))
        remember(c, Entry(who="record", text=called.receipt))
        c.note("payment", call_id=call["id"], text=called.receipt)
    await _follow_card(h, c, call)


async def _follow_card(h: Harness, c: Claimed, call: Json) -> None:
    """What became of the approved effect, on its card."""
    run = c.running
    decided = run.decided
    if decided is not None and decided.call_id == call["id"] and decided.card is not None:
        card = dressed(run, await h.approvals().current(request_of(run, decided, token=c.token)))
        if card != decided.card:
            shown = show_card(c, decided, card)
            c.update(decided=replace(decided, card=shown))


def _answered_already(c: Claimed, call: Json, pause: Pause) -> bool:
    """A question that the customer's words answer before it is asked is not asked."""
    run = c.running
    if pause.question is None or not run.heard:
        return False
    c.answer(call["id"], reply_content(run.heard, before_the_question=True))
    c.note("result", call_id=call["id"], tool=call["name"], is_error=False)
    c.update(heard=())
    return True


async def _pause(h: Harness, c: Claimed, call: Json, pause: Pause) -> None:
    """Wait for a person: the question or card goes out with the save that makes the run wait."""
    before = c.snapshot()
    run, now = c.running, h.now()
    for other in c.open_calls():
        if other["id"] != call["id"]:
            c.answer(other["id"], ONE_AT_A_TIME, is_error=True)
            c.note("result", call_id=other["id"], tool=other["name"], is_error=True)
    card = None if pause.card is None else dressed(run, pause.card)
    if card is None:
        to = (c.case.author,) if c.case.author else c.case.openers
        post_id = c.say(Question(text=pause.question or "", to=to))
    else:
        post_id = c.say(Approval(card=card, openers=c.case.openers, run_id=run.run_id))
    kind = "customer" if card is None else "approval"
    c.update(
        status=Status.WAITING_CUSTOMER if card is None else Status.WAITING_APPROVAL,
        waiting_since=now,
        pending=Pending(
            kind=kind,
            call_id=call["id"],
            tool=call["name"],
            input=call["input"],
            digest=_context(h, c, call).digest(),
            post_id=post_id,
            since=now,
            card=card,
        ),
    )
    c.note("pause", waits_for=kind, question=pause.question, title=card.title if card else None)
    try:
        await c.save(guarded=card is None)
    except InboxChanged:
        # Perhaps the answer: look before asking.
        c.restore(before)


def _park(h: Harness, c: Claimed, called: Called) -> None:
    """The outcome isn't known yet: the same call is made again later."""
    if called.later is None:
        return
    run, now = c.running, h.now()
    if run.later_since is None:
        c.say(Line(text=called.later.line))
    c.update(
        later_since=run.later_since or now,
        later_receipt=called.later.receipt,
        retry_at=now + called.later.seconds,
    )
    c.note("line", text=called.later.line)


async def _pass_on(h: Harness, c: Claimed, reason: str) -> None:
    for call in c.open_calls():
        c.answer(call["id"], CASE_PASSED_ON, is_error=True)
        c.note("result", call_id=call["id"], tool=call["name"], is_error=True)
    _send_results(c)
    await hand_off(h, c, reason)
    await c.save()


def _send_results(c: Claimed) -> None:
    """One user message: every call's result in the calls' order, then what was heard meanwhile."""
    run = c.running
    results = {result["tool_use_id"]: result for result in run.results}
    ordered = [results[call["id"]] for call in calls_of(c.messages[-1])]
    c.append({"role": "user", "content": [*ordered, *words_blocks(run.heard)]})
    c.update(results=(), started=None, heard=())


def _kind(h: Harness, call: Json) -> Kind:
    """What an unknown tool would do is nothing: it only gets its error."""
    known = h.agent.tool_table.get(call["name"])
    return known.kind if known is not None else "reads"


def _worked(c: Claimed, seconds: float) -> None:
    c.update(working_seconds=c.running.working_seconds + seconds)
