"""The loop: from wherever a run stopped to where it waits for somebody, or ends.

What comes next follows from the record alone: a turn of the model is concluded, anything else is
answered by asking the model. So a restart at any point goes on where it stopped.
"""

from __future__ import annotations

import json
import logging

from agent import events, telemetry, trace
from agent.asking import ask_claude, charge_lost_call, count_attempt
from agent.calls import answer_calls, reject_calls
from agent.case import Line
from agent.claimed import Claimed
from agent.decisions import settle_decided
from agent.endings import finish, hand_off
from agent.errors import InboxChanged
from agent.harness import Harness
from agent.messages import (
    calls_of,
    harness_block,
    text_of,
    unsendable,
    words_blocks,
)
from agent.run import Json, Run, Status
from agent.turn import Failure, Turn

log = logging.getLogger(__name__)

RETRY_SECONDS = (5.0, 15.0, 45.0)
RETRY_LATER_SECONDS = 120.0
GIVE_UP_SECONDS = 4 * 3600.0
TELL_AFTER_SECONDS = 60.0

WRITE_THE_REPLY = "Write the reply to the customer now."
CALL_OR_REPLY = "Your last turn held no usable call. Call a tool, or write the reply."
CALL_CUT_OFF = "This call was cut off and not executed. Make it again."
REPLY_CUT_OFF = "Your reply was cut off. Write it again in full, but shorter."
SLOW = "This is taking longer than usual. I'll go on by myself; nothing is lost."


async def advance(h: Harness, c: Claimed) -> None:
    """Work on a claimed case until it waits for somebody or something, or is at its end.

    Raises `LeaseLost` when another worker took the case: nothing more may be written then.
    """
    charge_lost_call(h, c)
    await settle_decided(h, c)
    with telemetry.tracer().start_as_current_span("casethread.work") as span:
        await _work(h, c)
        if c.run is not None:
            span.set_attributes(telemetry.run_attributes(c.run))
            telemetry.tell_progress(span, c.run)


async def _work(h: Harness, c: Claimed) -> None:
    while True:
        if not c.carrying_out:
            await events.apply(h, c)
        run = c.run
        if run is None or run.status is not Status.RUNNING or (run.retry_at or 0) > h.now():
            break
        if c.messages[-1]["role"] == "assistant":
            await conclude(h, c, run)
        else:
            await ask(h, c, run)
    if c.unsaved:
        await c.save()


async def ask(h: Harness, c: Claimed, run: Run) -> None:
    """One model call: limits first, then a save, then the request.

    A turn is saved with what follows from it at once, and before anything outside is done.
    """
    if reason := h.limits.reached(run):
        await hand_off(h, c, reason)
    elif run.model not in h.prices:
        log.error("%s: the model %s has no price any more", run.run_id, run.model)
        await hand_off(h, c, f"The model {run.model} is not configured any more; operators know.")
    else:
        if run.heard:
            hear(c)
        if c.unsaved:
            await c.save()
        answer = await ask_claude(h, c)
        if isinstance(answer, Turn):
            await _take(h, c, answer)
            return
        if answer is not None:
            await _failed(h, c, answer)
        await c.save()


async def conclude(h: Harness, c: Claimed, run: Run) -> None:
    """Act on the model's last turn, looking at why it stopped before looking at any call."""
    turn = c.messages[-1]
    match run.stop_reason:
        case "tool_use" if calls_of(turn):
            await answer_calls(h, c)
        case "tool_use":
            await _nudge(h, c, CALL_OR_REPLY)
        case "end_turn" if run.heard:
            # The customer wrote before this turn was saved: it answers too little, go on.
            hear(c, after=reject_calls(c, CALL_CUT_OFF))
        case "end_turn" if text_of(turn):
            await _end(h, c, text_of(turn))
        case "end_turn":
            await _nudge(h, c, WRITE_THE_REPLY)
        case "max_tokens":
            await _cut_off(h, c)
        case "pause_turn" if calls_of(turn):
            # It can't go back with calls that have no results.
            await _nudge(h, c, CALL_OR_REPLY)
        case "pause_turn":
            await ask(h, c, run)
        case reason:
            await hand_off(h, c, f"Claude stopped for a reason we can't act on: {reason}.")


def hear(c: Claimed, after: list[Json] | None = None) -> None:
    """Words that came meanwhile go to the model, behind any results."""
    c.append({"role": "user", "content": [*(after or []), *words_blocks(c.running.heard)]})
    c.update(heard=())


async def _take(h: Harness, c: Claimed, turn: Turn) -> None:
    """Count a turn, trace it, append it whole."""
    run = c.running
    cost = h.price(run).cost(turn.usage)
    c.update(
        steps=run.steps + 1,
        usage=run.usage + turn.usage,
        cost_usd=run.cost_usd + cost,
        last_cost_usd=cost,
        working_seconds=run.working_seconds + turn.seconds,
        stop_reason=turn.stop_reason,
        cuts=run.cuts if turn.stop_reason == "max_tokens" else 0,
        failures=0,
        failing_since=None,
        retry_at=None,
    )
    c.record(trace.step_entry(c.running, turn, cost, at=h.now()))
    problem = unsendable(turn.content, c.messages)
    if turn.stop_reason == "refusal":
        # A stop sign that was stored meanwhile ends the run in its own way.
        if not await c.has_stop_sign():
            details: Json = turn.message.get("stop_details") or {}
            reason = details.get("category") or "no reason"
            await hand_off(h, c, f"Claude refused to answer: {reason}.")
    elif problem is None:
        c.append({"role": "assistant", "content": turn.content})
    elif turn.stop_reason == "max_tokens":
        await _cut_off(h, c)
    else:
        # The API would refuse to take such a turn back: it stays in the trace only.
        c.note("odd_turn", problem=problem, content=json.dumps(turn.content, ensure_ascii=False))
        await _nudge(h, c, WRITE_THE_REPLY if turn.stop_reason == "end_turn" else CALL_OR_REPLY)


async def _end(h: Harness, c: Claimed, text: str) -> None:
    """The last turn is the reply, unless an event arrived first."""
    before = c.snapshot()
    if c.running.crashed:
        await hand_off(h, c, "A system failed while the agent worked; see the log.", reply=text)
    else:
        finish(c, text, at=h.now())
    try:
        await c.save(guarded=True)
    except InboxChanged:
        c.restore(before)


async def _nudge(h: Harness, c: Claimed, text: str) -> None:
    """Once; the second time in a row a person takes over."""
    if c.running.nudges:
        await hand_off(h, c, "Claude twice gave nothing that could be used.")
        return
    results = reject_calls(c, CALL_CUT_OFF)
    c.append({"role": "user", "content": [*results, harness_block(text)]})
    c.update(nudges=1)
    c.note("nudge", text=text)


async def _cut_off(h: Harness, c: Claimed) -> None:
    """Nothing of a cut turn is executed; once more with room, then a person takes over."""
    if c.running.cuts:
        await hand_off(h, c, "Claude's answer was cut off twice.")
        return
    results = reject_calls(c, CALL_CUT_OFF)
    c.append({"role": "user", "content": results or [harness_block(REPLY_CUT_OFF)]})
    c.update(cuts=1)
    c.note("cut_off")


async def _failed(h: Harness, c: Claimed, failure: Failure) -> None:
    """No usable answer: park the run and try again, or hand off when that can't help."""
    run, now = c.running, h.now()
    count_attempt(h, c, failure)
    if failure.history_changed and not run.repaired:
        # Once in a run: without the thinking that the API can't verify.
        log.error("%s: the history does not verify: %s", run.run_id, failure.detail)
        c.update(repaired=True)
        c.note("repair", problem="the API could not verify the conversation's thinking")
        return
    since = run.failing_since or now
    delays = [*RETRY_SECONDS, RETRY_LATER_SECONDS]
    c.update(
        failures=run.failures + 1,
        failing_since=since,
        retry_at=now + delays[min(run.failures, len(delays) - 1)],
    )
    if not failure.temporary:
        log.error("%s: Claude refused for good (%s): %s", run.run_id, failure.what, failure.detail)
        telemetry.count("casethread.claude.refused", what=failure.what)
        await hand_off(h, c, f"Claude can't be used just now ({failure.what}); operators know.")
    elif now - since >= GIVE_UP_SECONDS:
        log.error("%s: no answer from Claude for 4 hours: %s", run.run_id, failure.detail)
        await hand_off(h, c, "Claude could not be reached for 4 hours.")
    else:
        log.warning("%s: no answer from Claude (%s), again later", run.run_id, failure.what)
        if now - since >= TELL_AFTER_SECONDS and not run.told_trouble:
            c.say(Line(text=SLOW))
            c.update(told_trouble=True)
